"""The question for crawls: bursts of fetching with pauses in between, found from the dates of the captures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable._clock import milliseconds, moment_of
from webtable.errors import DamagedRow
from webtable.page.page import Page
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing, ListingOption
from webtable.repository.answers.tokens import number_of
from webtable.repository.arguments import DURATIONS, duration_of, said_duration
from webtable.repository.indexes.index import HIGHEST_SIZE
from webtable.repository.page_storage.state import DAMAGED_CAPTURE
from webtable.repository.questions.rows import SortedQuestion
from webtable.repository.reading.scan import in_storage_order
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.rowkey.web import host_and_rest
from webtable.store import Row
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.repository.answers.results import Window
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.repository.reading.scope import Scope


HOSTS_BYTES = 4 * 2**20
"""How many bytes of host names are in memory at most."""

_TABLE = "CREATE TABLE captures (at INTEGER, host BLOB, size INTEGER)"
_HOSTS = "CREATE TABLE hosts (host BLOB PRIMARY KEY) WITHOUT ROWID"
_SORTED = {
    "newest": "SELECT at, host, size FROM captures WHERE ? IS NULL OR at < ? ORDER BY at DESC",
    "oldest": "SELECT at, host, size FROM captures WHERE ? IS NULL OR at > ? ORDER BY at",
}
_NAME_BYTES = 100

Capture = tuple[int, bytes, int]
"""The time of a fetch in epoch milliseconds, the host of the page, and the bytes of its body."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """A burst of fetching, from its first capture (`begin`) to its last one (`end`).

    `captures` is the number of its stored captures, `bytes` the size of their bodies, `hosts` how many hosts they have.
    """

    begin: datetime
    end: datetime
    captures: int
    bytes: int
    hosts: int


CRAWLS = declared(
    Crawl,
    "crawl",
    # In full, because `compare` takes them: rounded to the minute they would leave captures out.
    column("begin", "moment"),
    column("end", "moment"),
    column("captures", "count", width=12),
    column("bytes", "bytes", heading="size"),
    column("hosts", "count"),
)


LISTING = Listing(
    "crawls",
    CRAWLS,
    orders=("newest", "oldest"),
    options=(
        SITE,
        ListingOption("gap", f"A longer pause ends a crawl: {DURATIONS}.", default="6h", metavar="TIME"),
    ),
    examples=("webtable crawls all", "webtable crawls example.com --gap 2d --order oldest"),
    help="""List the crawls, the newest first: begin and end, and how many captures, bytes and hosts.

    Only stored captures count: the newest of each page, and each that brought new content.
    """,
    of_command="`webtable compare HOST --since END --until END` compares the site as two crawls left it, by their ends "
    "as listed here.",
)


class CrawlsQuestion(SortedQuestion[Crawl]):
    """Which crawls the captures of a scope are from."""

    notes: Sequence[str] = ("the list of versions of each page is read too",)

    def __init__(self, frame: Frame, scope: Scope, window: Window, gap: timedelta | str) -> None:
        super().__init__(frame, scope, window, LISTING)
        self.gap: timedelta = duration_of("gap", gap)
        self.title: str = f"crawls{self.pages.label_after('of')} with pauses over {said_duration(self.gap)}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Crawl]:
        order = self.window.order
        begin = None if after is None else max(number_of(after), 0)
        with TemporaryTables(_TABLE, _HOSTS) as scratch:
            scratch.fill("captures", self._captures(damage), 3)
            captures = scratch.rows(_SORTED[order], (begin, begin))
            gap = self.gap // timedelta(milliseconds=1)
            yield from _bursts(captures, gap, _Hosts(scratch), backwards=order == "newest")

    def place(self, result: Crawl) -> bytes:
        return b"%d" % milliseconds(result.begin if self.window.order == "newest" else result.end)

    def _captures(self, damage: Damage) -> Iterator[Capture]:
        """Yield the stored captures: the newest of each page, which may repeat its content, and all its versions."""
        frame = self.frame
        names, versions = frame.codec.columns, frame.layouts.recent().versions
        spec = replace(self.spec(), wanted=Wanted([names.page, names.capture], versions=versions))
        for row in in_storage_order(frame.store, spec, None):
            page = frame.pages.each(Row(row.key, {names.page: row.cells.get(names.page, ())}))
            if isinstance(page, DamagedRow):
                damage.add(page)
            if not isinstance(page, Page):
                continue
            host = host_and_rest(page.url)[0].encode()
            sizes = {milliseconds(page.fetched_at): page.size}
            for version in frame.codec.versions(row):
                if version.capture is DAMAGED_CAPTURE:
                    damage.add(frame.codec.damaged(row.key, names.capture, ValueError("it cannot be read")))
                else:
                    sizes.setdefault(milliseconds(version.at), version.capture.size)
            for at, size in sizes.items():
                yield at, host, min(size or 0, HIGHEST_SIZE)


def _bursts(captures: Iterator[Capture], gap: int, hosts: _Hosts, *, backwards: bool) -> Iterator[Crawl]:
    """Yield the bursts of *captures*, which come in the order of their dates, or in reverse if *backwards*."""
    first = last = count = total = 0

    def crawl() -> Crawl:
        begin, end = sorted((first, last))
        return Crawl(moment_of(begin), moment_of(end), count, total, hosts.counted())

    for at, host, size in captures:
        pause = last - at if backwards else at - last
        if count and pause > gap:
            yield crawl()
            count = total = 0
        if not count:
            first = at
        last, count, total = at, count + 1, total + size
        hosts.add(host)
    if count:
        yield crawl()


class _Hosts:
    """Counts distinct hosts: up to HOSTS_BYTES of their names in memory, the others in *scratch*."""

    def __init__(self, scratch: TemporaryTables) -> None:
        self._scratch = scratch
        self._names: set[bytes] = set()
        self._bytes = 0
        self._is_spilled = False

    def add(self, host: bytes) -> None:
        """Add a host, which may have been added before."""
        if host in self._names:
            return
        self._names.add(host)
        self._bytes += len(host) + _NAME_BYTES
        if self._bytes > HOSTS_BYTES:
            self._spill()

    def counted(self) -> int:
        """Return how many distinct hosts were added, and reset the count."""
        count = len(self._names)
        if self._is_spilled:
            self._spill()
            ((count,),) = self._scratch.rows("SELECT count(*) FROM hosts")
            self._scratch.run("DELETE FROM hosts")
        self._names, self._bytes, self._is_spilled = set(), 0, False
        return count

    def _spill(self) -> None:
        self._scratch.fill("hosts", ((name,) for name in sorted(self._names)), 1)
        self._names, self._bytes, self._is_spilled = set(), 0, True
