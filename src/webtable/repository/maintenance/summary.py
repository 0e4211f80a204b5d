"""How much a table holds, known without reading it or counted in full; its regions, and a sample of its URLs."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeVar

from webtable.display.text import plural
from webtable.errors import DamagedRow, IndexNeeded, InvalidArgument, KeyFormatError
from webtable.page.page import Page
from webtable.repository.context import TableContext
from webtable.repository.hosts.entries import known_totals
from webtable.repository.indexes.index import HOST
from webtable.repository.keyed_table.table import KeyedTable
from webtable.repository.questions.stats import PROGRESS_PAGES
from webtable.repository.reading.page_counts import PageCounts, grouping
from webtable.repository.upkeep.queue import Pending, RecountQueue
from webtable.rowkey import KeyRange
from webtable.rowkey.ranges import key_text, merged_split_points, split_points
from webtable.schema import web_columns
from webtable.store import Region, Row, Store
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.arguments import Progress
    from webtable.repository.table.web_table import WebTable


FEW: Final = 400
"""A table of at most so many pages is counted at once."""
_MOST_HOSTS: Final = 200_000
"""The most hosts whose counts are added up."""


@dataclass(frozen=True, slots=True)
class TableSummary:
    """The contents of a table: its pages, their stored captures, and the bytes of bodies; None for what is unknown.

    `unpacked` are the bytes of the newest body of each page as it was crawled, as `stats` and `hosts` count them;
    `stored` those of the bodies of all captures as they are stored. `oldest` and `newest` are the dates of the newest
    captures of pages.
    """

    pages: int | None
    captures: int | None
    stored: int | None
    unpacked: int | None
    hosts: int | None
    oldest: datetime | None
    newest: datetime | None
    as_of: datetime | None = None
    """When pages, hosts and `unpacked` were counted last; None if they are current or unknown."""
    pending: Pending | None = None
    """The changes since then that wait to be counted; None if `as_of` is."""
    damaged: int = 0
    """How many rows were skipped because they cannot be read."""

    @property
    def waiting(self) -> int | None:
        """How many rows wait at least for the next refresh; None if nothing was counted before."""
        return None if self.pending is None else self.pending.rows


def table_summary(table: WebTable, *, count: bool = False, on_progress: Progress | None = None) -> TableSummary:
    """The contents of *table*, as far as they are known; with *count* all of it is read and counted.

    Pages, hosts and `unpacked` are the counts of the hosts, exact as of the last `TableLinks.refresh`; `oldest` and
    `newest` come from the index of times. Captures and `stored` are unknown, and without these indexes so is the rest;
    a table of at most 400 pages is counted. *on_progress* is called with the number of pages read.
    """
    context = TableContext.of(table.store, table.table, table.layout)
    if count or context.pages_up_to(FEW + 1) <= FEW:
        return _counted(context, on_progress)
    # Of a large table only what is known without reading it.
    oldest, newest = _dates(table)
    # The queue first: what is counted in between is then reported as waiting, not missed.
    pending = RecountQueue(context.store, context.table).pending() if HOST.name in context.indexes.read() else None
    totals = known_totals(context, _MOST_HOSTS)
    if totals is None:
        return TableSummary(None, None, None, None, None, oldest, newest)
    return TableSummary(totals.pages, None, None, totals.bytes, totals.hosts, oldest, newest, totals.as_of, pending)


def _counted(context: TableContext, on_progress: Progress | None) -> TableSummary:
    names = context.codec.columns
    wanted = Wanted([names.page, names.capture, names.body], versions=context.layouts.recent().versions)
    hosts = grouping("host", key=context.key)
    counts = PageCounts({"host": hosts})
    captures = stored = damaged = 0
    for row in context.scan(wanted):
        page = context.pages.metadata_of(row)
        if not isinstance(page, Page):
            damaged += isinstance(page, DamagedRow)
            continue
        counts.add_dated(row.key, page)
        at = row.cells[names.page][0].timestamp
        versions = row.cells.get(names.capture, ())
        captures += len(versions) + (at not in {cell.timestamp for cell in versions})
        stored += sum(len(cell.value) for cell in row.cells.get(names.body, ()))
        if on_progress is not None and counts.pages % PROGRESS_PAGES == 0:
            on_progress(counts.pages)
    sizes = counts.pages, captures, stored, counts.bytes, len(hosts)
    return TableSummary(*sizes, counts.oldest, counts.newest, damaged=damaged)


def _dates(table: WebTable) -> tuple[datetime | None, datetime | None]:
    """Return when the oldest and the newest page were fetched, by the index of times; None without it."""
    try:
        pages = (next(iter(table.fetched(order=order, limit=1)), None) for order in ("oldest", "newest"))
        oldest, newest = (None if page is None else page.fetched_at for page in pages)
    except IndexNeeded:
        return None, None
    return oldest, newest


# --- Regions, and a sample of URLs that is spread over them -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegionComparison:
    """The regions of a table, in key order, and the split points that were wanted for it, sorted."""

    regions: tuple[Region, ...]
    wanted: tuple[bytes, ...]

    @property
    def actual(self) -> tuple[bytes, ...]:
        """The split points that the table has: the first keys of all regions but the first."""
        return tuple(region.keys.start for region in self.regions if region.keys.start)

    @property
    def missing(self) -> tuple[bytes, ...]:
        """The wanted split points at which no region begins."""
        return tuple(sorted(set(self.wanted).difference(self.actual)))

    @property
    def extra(self) -> tuple[bytes, ...]:
        """The first keys of regions that begin elsewhere: HBase splits regions as they grow."""
        return tuple(sorted(set(self.actual).difference(self.wanted)))

    @property
    def as_wanted(self) -> bool:
        """Whether regions begin where they were wanted and nowhere else."""
        return self.actual == self.wanted

    def __str__(self) -> str:
        """Return a summary line and one for each difference, in key order."""
        count = plural(len(self.regions), "region")
        if self.as_wanted:
            return f"{count}, as wanted"
        missing = [(point, "missing: no region begins at") for point in self.missing]
        extra = [(point, "extra: a region begins at") for point in self.extra]
        lines = [f"{what} {key_text(point)}" for point, what in sorted(missing + extra)]
        return "\n".join([f"{count}, missing: {len(missing):,}, extra: {len(extra):,}", *lines])


def regions_of(table: WebTable | KeyedTable, wanted: Iterable[bytes] | None = None) -> RegionComparison:
    """Return the regions of *table* compared with the split points *wanted*.

    None stands for the split points that `create` gives a new web table with as many regions and the same salt: the
    same number of salts for each region, at most one region for each salt, and no split point without a salt. Raises
    `InvalidArgument` for split points that are not bytes, and for None with a `KeyedTable`, whose key implies none.
    """
    if wanted is not None:
        return compared_regions(table.store, table.table, wanted)
    if isinstance(table, KeyedTable):
        raise InvalidArgument(f"wanted={wanted!r}: give the split points that {table.name} should have")
    regions = tuple(table.store.regions(table.table))
    digits = table.layout.digits
    return RegionComparison(regions, tuple(split_points(min(len(regions), 16**digits), digits)))


def compared_regions(store: Store, table: str, wanted: Iterable[bytes]) -> RegionComparison:
    """Return the regions of the table named *table*, with any keys, compared with the split points *wanted*.

    Raises `InvalidArgument` for split points that are not bytes, `TableNotFound`.
    """
    points = tuple(merged_split_points(wanted))
    return RegionComparison(tuple(store.regions(table)), points)


T = TypeVar("T")

RUN_ROWS = 50
"""How many neighbouring rows are read at one place at most. More would be cheaper, but more often of the same host."""
_PLACES = 16
_PLACES_A_CALL = 16
_PARTS = 8
# Hex digits and hosts consist of these bytes; places between `9` and `a`, for example, would be wasted.
_ALPHABET = b"-./0123456789:abcdefghijklmnopqrstuvwxyz~"
_RANKS = [min(bisect_left(_ALPHABET, byte), len(_ALPHABET) - 1) for byte in range(256)]


def sample_urls(table: WebTable, *, most: int = 20_000) -> list[str]:
    """Return the URLs of at most *most* pages of *table*, those that were fetched first at the front.

    They are read in short runs at places spread over the keys of each region: after a full run the rest of the region
    is cut into eight parts, each with its own place, and so on. Of a table with far fewer pages all URLs are returned.

    The sample is biased: all regions have the same weight however many rows they have, and so do the parts of a region,
    so a host with very many pages has a smaller share of the sample than of the table. *most* URLs and a few hundred
    rows are in memory, and at most some hundreds of calls are made.

    Raises `InvalidArgument` for a *most* below 1.
    """
    if not isinstance(most, int) or most < 1:
        raise InvalidArgument(f"most={most!r} must be at least 1")
    sampler = _Sampler(table, max(1, min(RUN_ROWS, most // _PLACES)))
    regions = _spread(table.store.regions(table.table), most // sampler.run)
    dated_urls: list[tuple[int, str]] = []
    for remaining, region in zip(range(len(regions), 0, -1), regions, strict=True):
        # If a region has too few rows, more are taken from the regions after it.
        dated_urls += sampler.sample(region.keys, (most - len(dated_urls)) // remaining)
    return [url for _, url in sorted(dated_urls)]


class _Sampler:
    """Reads runs of *run* rows of one table."""

    def __init__(self, table: WebTable, run: int) -> None:
        self.run = run
        self._store = table.store
        self._table = table.table
        self._url_of = table.key.url_of
        # Only pages have this column: rows that only have inlinks are not read.
        self._column = web_columns(table.layout.names).page

    def sample(self, keys: KeyRange, limit: int) -> list[tuple[int, str]]:
        """Return at most *limit* pages of the range *keys*: the date of each (epoch milliseconds), and its URL."""
        pages: list[tuple[int, str]] = []
        spans, full = [keys], list[KeyRange]()
        while spans and len(pages) < limit:
            run = min(self.run, limit - len(pages))
            read = dict.fromkeys(_spread(spans, (limit - len(pages)) // run))
            for span, rows in self._runs(list(read), run):
                pages += [dated for row in rows if (dated := self._dated(row)) is not None]
                if len(rows) == run:
                    full.append(span.after(rows[-1].key))
            spans = [span for span in spans if span not in read]
            if not spans and len(pages) < limit:
                spans, full = [part for span in full for part in self._parts(span)], []
        return pages

    def _dated(self, row: Row) -> tuple[int, str] | None:
        try:
            return row.cells[self._column][0].timestamp, self._url_of(row.key)
        except KeyFormatError:
            return None

    def _runs(self, spans: Sequence[KeyRange], run: int) -> Iterator[tuple[KeyRange, list[Row]]]:
        for at in range(0, len(spans), _PLACES_A_CALL):
            piece = spans[at : at + _PLACES_A_CALL]
            yield from zip(piece, self._store.first_rows(self._table, piece, run, Wanted([self._column])), strict=True)

    def _parts(self, span: KeyRange) -> list[KeyRange]:
        """Return *span*, up to its last page, cut into parts between possible keys; an empty list if it is empty."""
        backwards = self._store.scan(self._table, [span], Wanted([self._column], keys_only=True), limit=1, reverse=True)
        last = next(backwards, None)
        if last is None:
            return []
        end = last.key + b"\0"
        cuts = (min(max(cut, span.start), end) for cut in _between(span.start, last.key))
        parts = (KeyRange(start, stop) for start, stop in pairwise([span.start, *cuts, end]))
        # An empty stop would be the end of the table.
        return [part for part in parts if part.stop and not part.is_empty()]


def _between(low: bytes, high: bytes) -> list[bytes]:
    """Return, in order, keys that cut the range from *low* to *high* into equal parts, as far as eight bytes allow."""
    same = next((at for at, (byte, other) in enumerate(zip(low, high, strict=False)) if byte != other), len(low))
    below, above = _number(low[same:]), _number(high[same:])
    return [high[:same] + _key(below + part * (above - below) // _PARTS) for part in range(1, _PARTS)]


def _number(key: bytes) -> int:
    number = 0
    for byte in key[:8].ljust(8, b"\0"):
        number = number * len(_ALPHABET) + _RANKS[byte]
    return number


def _key(number: int) -> bytes:
    letters = bytearray()
    for _ in range(8):
        number, rank = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rank])
    return bytes(reversed(letters))


def _spread(items: Sequence[T], limit: int) -> list[T]:
    """Return *limit* of *items*, evenly spread over them, or all of them if they are fewer."""
    if len(items) <= limit:
        return list(items)
    return [items[(2 * at + 1) * len(items) // (2 * limit)] for at in range(limit)]
