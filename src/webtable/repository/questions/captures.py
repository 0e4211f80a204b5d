"""All stored captures of pages, with their bodies; and questions about them: crawls, and revisits that are open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, groupby, islice, zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable._clock import milliseconds, moment_of
from webtable.errors import DamagedRow
from webtable.page.page import Page
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing, ListingOption
from webtable.repository.answers.tokens import number_of
from webtable.repository.arguments import DURATIONS, duration_of, said_duration
from webtable.repository.hosts.entries import narrowed_ranges
from webtable.repository.indexes.index import HIGHEST_SIZE
from webtable.repository.page_storage.cells import BODY_BYTES, BODY_ROWS, together
from webtable.repository.page_storage.state import DAMAGED_CAPTURE, brought, is_repeat
from webtable.repository.questions.page import versions_in
from webtable.repository.questions.pages import PageRows, SortedQuestion, TableQuestion
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.repository.upkeep.revisits import OpenRevisits, page_in, place_of
from webtable.rowkey import KeyRange
from webtable.rowkey.ranges import ALL_KEYS
from webtable.rowkey.web import host_and_rest
from webtable.store import Row, TimeRange
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.answers.results import Explanation, Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Scope


# --- Crawls -----------------------------------------------------------------------------------------------------------
#
# A crawl is a burst of fetching with pauses around it. It is found from the dates of the captures, sorted on disk, as
# no store keeps these in the order of their dates.


HOSTS_BYTES = 4 * 2**20
"""How many bytes of host names are in memory at most."""

_TABLE = "CREATE TABLE captures (at INTEGER, host BLOB, size INTEGER)"
_HOSTS = "CREATE TABLE hosts (host BLOB PRIMARY KEY) WITHOUT ROWID"
_SORTED = {
    "newest": "SELECT at, host, size FROM captures WHERE ? IS NULL OR at < ? ORDER BY at DESC",
    "oldest": "SELECT at, host, size FROM captures WHERE ? IS NULL OR at > ? ORDER BY at",
}
_NAME_BYTES = 100
"""About how many bytes a name in the set of names takes besides its letters."""

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

    listing = LISTING
    notes: Sequence[str] = ("the list of versions of each page is read too",)

    def __init__(self, context: TableContext, scope: Scope, window: Window, gap: timedelta | str) -> None:
        super().__init__(context, scope, window)
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
        # The end of it that was read last: crawls follow each other, so the next one begins behind that date.
        return b"%d" % milliseconds(result.begin if self.window.order == "newest" else result.end)

    def _captures(self, damage: Damage) -> Iterator[Capture]:
        """Yield the stored captures: the newest of each page, which may repeat its content, and all its versions."""
        context = self.context
        names, versions = context.codec.columns, context.layouts.recent().versions
        spec = replace(self.spec(), wanted=Wanted([names.page, names.capture], versions=versions))
        for row in in_storage_order(context.store, spec, None):
            page = context.pages.each(Row(row.key, {names.page: row.cells.get(names.page, ())}))
            if isinstance(page, DamagedRow):
                damage.add(page)
            if not isinstance(page, Page):
                continue
            host = host_and_rest(page.url)[0].encode()
            # The newest capture may repeat content, and then is no version.
            sizes = {milliseconds(page.fetched_at): page.size}
            stored = context.codec.versions(row)
            for version, older in zip_longest(stored, stored[1:]):
                if version.capture is DAMAGED_CAPTURE:
                    damage.add(context.codec.damaged(row.key, names.capture, ValueError("it cannot be read")))
                elif older is None or not is_repeat(version.capture, older.capture):
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
        # Sorted, as its key is then found at the end of the B-tree or near the name before it.
        self._scratch.fill("hosts", ((name,) for name in sorted(self._names)), 1)
        self._names, self._bytes, self._is_spilled = set(), 0, True


# --- Stored captures --------------------------------------------------------------------------------------------------


def kept(
    context: TableContext, scope: Scope, damage: Damage, *, after: str | None = None, urls: KeyRange = ALL_KEYS
) -> Iterator[Page]:
    """Yield the stored captures of the pages of *scope*: the pages by URL, the captures of each oldest first.

    They begin after the URL *after*, and are of pages whose unsalted keys are in *urls*. Each has its body and its
    links, if any. A newest capture that repeats stored content comes after the versions, and without a body if the
    version at its `content_at` has it. If that version is no longer stored, the capture has its own date as
    `content_at`. So does a version without a body, or with the content of an older version; no other version has a
    `content_at`. Open revisits are among them, and say what they repeat.

    Bodies are read 8 MiB at a time, or one by one if a page has more. Captures that cannot be read, or do not match
    their digest, are added to *damage*. Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`.
    """
    ranges = [_inside(context, keys, urls) for keys in narrowed_ranges(context, scope)]
    spec = ScanSpec(context.table, ranges, Wanted(context.codec.select(())), keep=scope.keeps)
    rows = PageRows(context)
    pages = rows.pages(spec, "url", None if after is None else rows.place_of(after, "url"), damage)
    batches = iter(lambda: list(islice(pages, BODY_ROWS)), [])
    names = context.codec.columns
    columns = [names.capture, names.body, names.urls]
    captures = chain.from_iterable(_captures_of(context, piece, columns) for piece in batches)
    revisits = OpenRevisits(context.store, context.table, context.key)
    return damage.sift(_with_open(revisits, captures) if revisits.is_any() else captures)


def _with_open(revisits: OpenRevisits, captures: Iterable[Page | DamagedRow]) -> Iterator[Page | DamagedRow]:
    """Yield *captures* with the open *revisits* of their pages between them."""
    for url, of_page in groupby(captures, key=attrgetter("url")):
        waiting = {} if url is None else {page.fetched_at: page for page in revisits.of_page(url)}
        for capture in of_page:
            if isinstance(capture, Page):
                waiting.pop(capture.fetched_at, None)
                for at in [at for at in waiting if at < capture.fetched_at]:
                    yield waiting.pop(at)
            yield capture
        yield from waiting.values()


def _inside(context: TableContext, keys: KeyRange, urls: KeyRange) -> KeyRange:
    """Return the part of *keys*, which have a single salt, whose unsalted keys are in *urls*."""
    # A range of a scope lies within one salt, and so has its start with it.
    salt = keys.start.removesuffix(context.key.unsalted(keys.start))
    return keys.inside(KeyRange(salt + urls.start, urls.stop and salt + urls.stop))


def _captures_of(context: TableContext, pages: Sequence[Page], columns: Sequence[bytes]) -> Iterator[Page | DamagedRow]:
    versions = context.layouts.recent().versions
    wanted = Wanted([context.codec.columns.capture], versions=versions)
    captures = context.store.read(context.table, [context.key.encode(page.url) for page in pages], wanted)
    weighed = [
        (page, row, sum(version.capture.size or 0 for version in context.codec.versions(row)) if row else 0)
        for page, row in zip(pages, captures, strict=True)
    ]
    for piece in together((entry, entry[-1]) for entry in weighed):
        page, row, weight = piece[0]
        # `together` puts a page of more than BODY_BYTES into a piece of its own.
        if row is not None and weight > BODY_BYTES:
            yield from _with_newest(context, page, _one_by_one(context, row, columns), columns)
            continue
        keys = [context.key.encode(page.url) for page, _, _ in piece]
        rows = context.store.read(context.table, keys, Wanted(columns, versions=versions))
        for (page, _, _), whole in zip(piece, rows, strict=True):
            yield from _with_newest(context, page, () if whole is None else _versions(context, whole), columns)


def _one_by_one(context: TableContext, row: Row, columns: Sequence[bytes]) -> Iterator[Page | DamagedRow]:
    """Yield the versions of *row*, which has its captures, with one body in memory at a time."""
    names = context.codec.columns
    for capture in reversed(row.cells.get(names.capture, ())):
        at = TimeRange(capture.timestamp, capture.timestamp + 1)
        (version,) = context.store.read(context.table, [row.key], Wanted(columns, time_range=at))
        if version is not None:
            yield from _versions(context, version)


def _versions(context: TableContext, row: Row) -> Iterator[Page | DamagedRow]:
    """Yield the versions in *row*, the oldest first, with an error in place of one that is not as its digest says."""
    for _, version in versions_in(context, row, oldest_first=True):
        try:
            if isinstance(version, Page):
                context.pages.check(row.key, version)
        except DamagedRow as exc:
            yield exc
        else:
            yield version


def _with_newest(
    context: TableContext, page: Page, versions: Iterable[Page | DamagedRow], columns: Sequence[bytes]
) -> Iterator[Page | DamagedRow]:
    """Yield *versions* and, if it is not one of them, the newest capture of their *page*.

    If content of the page in *columns* is lost, an error takes the place of its version.
    """
    row, own, lost, before = context.key.encode(page.url), None, False, set()
    for version in versions:
        if isinstance(version, DamagedRow):
            lost = True
            yield version
            continue
        if version.fetched_at == page.stored.content_at:
            whole = replace(page, body=version.body, outlinks=version.outlinks)
            if (error := context.pages.lost(row, whole, columns)) is not None:
                lost = True
                yield error
                continue
            own = version
        # In whatever order captures are put, one with content of its own becomes a version.
        is_new = version.body is not None and brought(version) not in before
        yield replace(version, _content_at=None) if is_new else version
        before.add(brought(version))
    if own is None and not lost and (error := context.pages.lost(row, page, columns)) is not None:
        yield error
    if page.stored.content_at == page.fetched_at:
        return
    if page.stored.content_at is None or (own is not None and brought(page) == brought(own)):
        yield page
    elif own is None:
        # Its content has expired, or cannot be read: it must not be taken for a repeat of another capture.
        yield replace(page, _content_at=page.fetched_at, has_body=False)
    else:
        yield replace(page, body=own.body, outlinks=own.outlinks)


# --- Open revisits ----------------------------------------------------------------------------------------------------
#
# Captures whose content is that of another one, which is not stored. Writers keep them in the table of the queue, in
# the order of URLs, until their originals come (`upkeep.revisits`).


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A capture of the page `url` whose content is not stored: it is that of a capture of the URL `original`.

    `original_at` and `payload_digest` are the date of that capture and the digest of its payload, as the revisit record
    names them; None where it does not.
    """

    url: str
    fetched_at: datetime
    original: str
    original_at: datetime | None
    payload_digest: str | None


UNRESOLVED = declared(
    Unresolved,
    "revisit",
    column("url", "url"),
    column("fetched_at", "time", heading="fetched"),
    column("original", "url"),
    column("original_at", "time", heading="original of"),
    column("payload_digest", "digest"),
    listed=("url", "fetched_at", "original", "original_at"),
)
UNRESOLVED_LISTING = Listing(
    "unresolved",
    UNRESOLVED,
    orders=("url",),
    options=(SITE,),
    examples=(
        "webtable unresolved example.com",
        "webtable unresolved all --columns original,original_at --format csv",
    ),
    help="""List the captures whose content is that of another capture, which is not stored.

    Crawlers write such revisit records for what they have fetched before. They get their content when their originals
    are stored: ingest the files that have these.
    """,
)


class UnresolvedQuestion(TableQuestion[Unresolved]):
    """Which revisits of a scope are open."""

    listing = UNRESOLVED_LISTING

    def __init__(self, context: TableContext, scope: Scope, window: Window) -> None:
        super().__init__(context, scope, window)
        self.title: str = "open revisits" + (f" of {scope}" if scope.place is not None else "")
        self.revisits: OpenRevisits = OpenRevisits(context.store, context.table, context.key)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Unresolved]:
        del expected, damage  # what cannot be read stays out, as it can never be completed
        contains, part = self.scope.contains(), self.context.keys_of(self.context.table)
        for row in self.revisits.rows([self.scope.unsalted()], after):
            page, key = page_in(row), place_of(row).rpartition(b"\0")[0]
            if page is not None and (contains is None or contains(key)) and self.context.key.salted(key) in part:
                original = page.same_as or page.url
                yield Unresolved(page.url, page.fetched_at, original, page._repeats_at, page._payload_digest)

    def place(self, result: Unresolved) -> bytes:
        return self.revisits.place(result.url, result.fetched_at)

    def explain(self) -> Explanation:
        return self.plan(("queue:capture",), (self.revisits.range_of(self.scope.unsalted()),), "rows of the queue")
