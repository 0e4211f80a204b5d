"""The question for hosts, which the host index answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from webtable.errors import InvalidArgument
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.explanation import Explanation
from webtable.repository.answers.results import Results, Slice
from webtable.repository.indexes.index import HOST, HOST_COUNTS
from webtable.repository.questions.host_entries import HostEntries, with_pages
from webtable.repository.questions.listing import SITE, Listing
from webtable.repository.questions.similar_hosts import site_meant
from webtable.repository.scanning.scope import PLAIN_KEY, Scope
from webtable.schema import INDEX_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from webtable.repository.frame import Frame
    from webtable.repository.pictures.treemap import Amount
    from webtable.repository.scanning.damage import Damage


@dataclass(frozen=True, slots=True)
class Host:
    """A host that has pages: their number and the bytes of their bodies, as of `counted_at`.

    The counts are None until `TableLinks.refresh` has counted.
    """

    name: str
    pages: int | None = None
    bytes: int | None = None
    counted_at: datetime | None = None


HOSTS = declared(
    Host,
    "host",
    column("name", share=3),
    column("pages", "count"),
    column("bytes", "bytes", heading="size"),
    column("counted_at", "time", heading="counted"),
)


@dataclass(frozen=True, slots=True)
class Hosts(Results[Host]):
    """The hosts that have pages, as `Results` that can be plotted."""

    def plot(self, by: Amount = "pages", *, ax: Axes | None = None) -> Axes:
        """Draw a treemap of the hosts within their registered domains, by pages or bytes, and return the axes.

        The 40 largest domains with their 25 largest hosts have areas of their own, and the others share one. *ax* are
        axes of matplotlib to draw on; without them a figure is made. Raises `MissingExtra` without matplotlib and
        squarify, `InvalidArgument`, and what the question raises.
        """
        from webtable.repository.pictures.treemap import draw_hosts

        return draw_hosts(self, by, ax)


LISTING = Listing(
    "hosts",
    HOSTS,
    orders=("url",),
    options=(SITE,),
    examples=("webtable hosts example.com", "webtable hosts --format csv > hosts.csv"),
    indexes=(HOST,),
    has_counts=True,
    help="""List the hosts that have pages, with how many pages and bytes: of a domain, or all of them.

    The counts are those of the last refresh of the links.
    """,
    of_command="`links refresh` and, at its end, `ingest` count again; `stats` counts now.",
)


def hosts(frame: Frame, scope: Scope, part: Slice) -> Hosts:
    """Return what `WebTable.hosts` does."""
    LISTING.check(part)
    if scope.place is not None and not scope.place.is_whole_host:
        raise InvalidArgument(f"site={str(scope.place)!r} is a part of one host: name a domain or a host")
    question = f"hosts of the {scope}" if scope.place is not None else "hosts"
    entries = HostEntries(frame, scope.place, question)

    def run(after_place: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Host]:
        for name, counts in with_pages(frame, entries.rows(after_place, at_most), damage):
            yield Host(name) if counts is None else Host(name, counts.pages, counts.bytes, counts.counted_at)

    def explain() -> Explanation:
        ranges = entries.ranges()
        calls = frame.store.describe_calls(entries.table(), ranges, each=len(ranges) > 1)
        columns = (INDEX_COLUMN.decode(), HOST_COUNTS.decode())
        note = "each host is checked: its first row is looked for, 64 hosts at once"
        return Explanation(question, part.order, columns, tuple(ranges), tuple(calls), HOST.name, (note,))

    def place(found: Host) -> bytes:
        return PLAIN_KEY.host_ranges(found.name)[0].start

    after = part.starts_after(question)
    meant = partial(site_meant, frame, scope)
    return Hosts(question, part.order, part.limit, after, run, place, explain, frame.damage, HOSTS, _meant=meant)
