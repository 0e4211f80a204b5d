"""The question for hosts, which the host index answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from webtable.errors import InvalidArgument
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing
from webtable.repository.answers.results import Results
from webtable.repository.hosts.entries import HostEntries, with_pages
from webtable.repository.indexes.index import HOST, HOST_COUNTS
from webtable.repository.questions.pages import TableQuestion
from webtable.repository.reading.scope import PLAIN_KEY
from webtable.schema import INDEX_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from webtable.repository.answers.pictures import Amount
    from webtable.repository.answers.results import Explanation, Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Scope


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
        """Draw a bar for each of the 20 largest hosts, by pages or bytes, and one for the others; return the axes.

        *ax* are axes of matplotlib to draw on; without them a figure is made. Raises `MissingExtra` without matplotlib,
        `InvalidArgument`, and what the question raises.
        """
        from webtable.repository.answers.pictures import draw_hosts

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


class HostsQuestion(TableQuestion[Host]):
    """Which hosts of a domain have pages."""

    listing = LISTING

    def __init__(self, context: TableContext, scope: Scope, window: Window) -> None:
        super().__init__(context, scope, window)
        if scope.place is not None and not scope.place.is_whole_host:
            raise InvalidArgument(f"site={str(scope.place)!r} is a part of one host: name a domain or a host")
        self.title: str = f"hosts of the {scope}" if scope.place is not None else "hosts"
        self._entries = HostEntries(context, scope.place, self.title)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Host]:
        for name, counts in with_pages(self.context, self._entries.rows(after, expected), damage):
            yield Host(name) if counts is None else Host(name, counts.pages, counts.bytes, counts.counted_at)

    def place(self, result: Host) -> bytes:
        return PLAIN_KEY.host_ranges(result.name)[0].start

    def explain(self) -> Explanation:
        self._entries.table()  # raises `IndexNeeded`
        note = "each host is checked: its first row is looked for, 64 hosts at once"
        return self.plan((INDEX_COLUMN, HOST_COUNTS), self._entries.ranges(), note, index=HOST.name)

    def answer(self) -> Hosts:
        results = super().answer()
        return Hosts(self, results.order, results.limit, results.after)
