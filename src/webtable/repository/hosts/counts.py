"""Counts of the pages of hosts, in parts of about 64 neighbouring rows, so that only changed parts are counted again.

A part begins where the rows of a host begin (with each of its salts), and at each page whose row key hashes to a cut.
So the parts depend on the pages alone: concurrent counts of the same pages arrive at the same parts without knowing of
each other. Each part is a cell of the host's entry in the host index:

    ref:part-{row key}      the pages from this key up to the next part, and their bytes
    ref:counts              the sum of all parts

The timestamp of a cell is a moment that had passed before its rows were read. So of two concurrent counts the one with
the later moment stays, which has read all changes that the other had to count; and counting a batch twice, or twice at
once, gives the same result as counting it once. Only if clocks differ can a count be wrong after two concurrent counts
of the same host. It becomes right again when a page near by changes, or when the host index is rebuilt.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from webtable._checksums import UNREADABLE
from webtable._clock import clock, moment_of, now_in_milliseconds
from webtable.errors import DamagedRow, InvalidURL, KeyFormatError
from webtable.page.page import BLANK
from webtable.repository.context import TableContext
from webtable.repository.indexes.index import HOST, HOST_COUNTS, HostCounts
from webtable.repository.page_storage.cells import JSONValue, cells_of, checked_json, together, written
from webtable.repository.reading.read_ahead import Damage
from webtable.rowkey import KeyRange, WebKey, merged
from webtable.rowkey.web import host_and_rest
from webtable.schema import index_table_name
from webtable.store import NewCell, Put
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from webtable.store import Row


# --- Changed rows -----------------------------------------------------------------------------------------------------
#
# They are kept in bounded memory until their pages are counted: the rows of a part of a host are in many entries of the
# queue, and counted entry by entry each would read most of a large table.


MOST_BYTES: Final = 32 * 2**20
"""About how much memory changes may take before they are joined; sorting them takes twice as much again."""
_A_ROW: Final = 75
"""About how many bytes a row, or an end of a span, takes there besides its key."""
_A_SPAN: Final = 70
"""The bytes that the pair of both ends takes besides them."""
_CUTS: Final = 4
"""How many of 256 rows begin a new part."""
PART_ROWS: Final = 256 // _CUTS
"""How many rows a part has on average."""

Span = tuple[bytes, bytes]
"""The first and the last row that have changed; the same row twice if only one has."""


class HostChange(NamedTuple):
    """The rows of one host that are to be counted: those in *spans*, or all of them if it *is_whole*."""

    host: str
    spans: Sequence[Span]
    is_whole: bool


@dataclass(slots=True)
class HostChanges:
    """Rows to be counted, whose page is new, deleted or has another size, and hosts to be counted as a *whole*."""

    key: WebKey
    damage: Damage
    """Gets the rows that are not valid row keys."""
    whole: set[str] = field(default_factory=set)
    weight: int = 0
    """How many bytes of memory the changes take."""
    _rows: set[bytes] = field(default_factory=set)
    _spans: list[Span] = field(default_factory=list)

    def add(self, rows: Iterable[bytes], whole: Iterable[str] = ()) -> None:
        """Add *rows*, and the hosts that are to be counted as a *whole*."""
        rows, whole = set(rows) - self._rows, set(whole) - self.whole
        self._rows |= rows
        self.whole |= whole
        self.weight += sum(_A_ROW + len(name) for name in (*rows, *whole))

    def join(self) -> None:
        """Free memory: join neighbouring rows that no cut divides to spans of a first and a last row.

        A span may contain rows, and whole parts, that have not changed. These are few if most rows of a host have
        changed, as when it is first stored; if few have, most of the host is read for them. A row at which a part
        begins stays the first of its span.
        """
        joined: list[Span] = []
        before = ""
        for host, (first, last) in self._by_rows():
            if joined and host == before and (first == joined[-1][0] or not is_cut(first)):
                joined[-1] = joined[-1][0], max(joined[-1][1], last)
            else:
                joined.append((first, last))
            before = host
        self._rows = {first for first, last in joined if first == last}
        self._spans = [span for span in joined if span[0] != span[1]]
        ends = chain.from_iterable(self._spans)
        self.weight = _A_SPAN * len(self._spans) + sum(
            _A_ROW + len(name) for name in chain(self._rows, ends, self.whole)
        )

    def of_hosts(self) -> Iterator[HostChange]:
        """Yield the changes of each host."""
        uncounted, spans = set(self.whole), self._by_rows()
        if self.key.salt.source == "url":  # with other salts the rows of a host are neighbours
            spans = iter(sorted(spans))
        for host, of_host in groupby(spans, key=itemgetter(0)):
            yield HostChange(host, [span for _, span in of_host], host in uncounted)
            uncounted.discard(host)
        for host in sorted(uncounted):
            yield HostChange(host, (), is_whole=True)

    def _by_rows(self) -> Iterator[tuple[str, Span]]:
        """Yield the spans with their hosts, in the order of their rows."""
        host, stop = "", b"\x00"  # rows before *stop* have the same host, so their keys need not be decoded
        for first, last in sorted([*self._spans, *((row, row) for row in self._rows)]):
            if stop and first >= stop:
                try:
                    host, _ = host_and_rest(self.key.url_of(first))
                    keys = self.key.host_range_of(first, host)
                except (KeyFormatError, InvalidURL) as exc:
                    self.damage.add(DamagedRow(first, None, f"the queue: {exc}"))
                    continue
                if keys is None:
                    self.damage.add(DamagedRow(first, None, f"the queue: the row does not belong to {host}"))
                    continue
                stop = keys.stop
            yield host, (first, last)


def is_cut(row: bytes) -> bool:
    """Whether a part begins at the page with the key *row*, as it does at one row of 64."""
    # Nobody decides where to divide, so two runs write the same cells.
    return hashlib.md5(row, usedforsecurity=False).digest()[0] < _CUTS


Sized = tuple[bytes, int]
"""The key of a page, and the size of its body in bytes."""
MOST_BETWEEN = 16
"""How many rows outside the spans a scan may read before the next span; opening another scan costs as much."""
MOST_ALONE = 4
"""After how many successive scans that reached only one span each span gets its own scan."""


@dataclass(frozen=True, slots=True)
class SpanReader:
    """Reads the pages in spans of keys of one web table; unreadable rows are added to *damage*."""

    context: TableContext
    damage: Damage

    def read(self, spans: Sequence[KeyRange]) -> Iterator[Sized]:
        """Yield the pages in *spans*, in the order of their keys."""
        for row in self._rows(merged(spans)):
            try:
                page = self.context.codec.page(row)
            except DamagedRow as exc:
                self.damage.add(exc)
                continue
            if page is not None:
                yield row.key, page.size or 0

    def _rows(self, spans: list[KeyRange]) -> Iterator[Row]:
        # Where each range is a call of its own (HBase), one scan that reads a few rows in between is cheaper.
        if self.context.store.capabilities.scans_ranges_separately:
            at = alone = 0
            while at < len(spans) and alone < MOST_ALONE:
                begun = at
                at = yield from self._near(spans, at)
                alone = alone + 1 if at == begun + 1 else 0
            spans = spans[at:]
        if spans:
            yield from self._scan(spans)

    def _near(self, spans: Sequence[KeyRange], at: int) -> Generator[Row, None, int]:
        """Yield the rows of the spans that one scan from the place *at* reaches, and return the place after them."""
        between = 0
        for row in self._scan([KeyRange(spans[at].start, spans[-1].stop)]):
            while at < len(spans) and spans[at].stop and row.key >= spans[at].stop:
                at += 1
                between = 0
            if at < len(spans) and row.key >= spans[at].start:
                yield row
            elif (between := between + 1) > MOST_BETWEEN:
                return at
        return len(spans)

    def _scan(self, spans: Sequence[KeyRange]) -> Iterator[Row]:
        return self.context.store.scan(self.context.table, spans, Wanted([self.context.codec.columns.page]))


# --- Counts -----------------------------------------------------------------------------------------------------------


HOSTS_AT_ONCE = 100
MOST_PAGES = 100_000
"""How many pages are in memory at once; if hosts have more, each host is read by itself, and no pages are kept."""
PAGE_BYTES = 200
"""About how many bytes the key of a page and its size take in memory."""
PIECE = 10_000
_FAMILY = b"ref"
_PART = b"part-"
_PARTS = KeyRange(_PART, b"part.")
REPORT_EVERY = 1_000
"""After how many pages the progress is reported."""

Counts = tuple[int, int]
"""The number of pages, and the bytes of their bodies."""
NONE: Counts = 0, 0


class HostPart(msgspec.Struct, frozen=True):
    """The pages of a part of a host, and the bytes of their bodies."""

    pages: int
    bytes: int


_PART_VALUES = JSONValue(HostPart)


@dataclass(frozen=True, slots=True)
class _Stored:
    """The stored parts of a host, by the keys at which they begin, and the newest of their timestamps."""

    parts: Mapping[bytes, Counts]
    newest: int
    is_damaged: bool = False
    """Whether a part cannot be read; then all parts are counted."""


@dataclass(frozen=True, slots=True)
class HostCounter:
    """Counts the pages of the hosts of one web table."""

    context: TableContext
    damage: Damage
    on_pages: Callable[[int], None] | None = None
    """Called from time to time with the number of pages read since the last call."""

    def count(self, changes: HostChanges) -> int:
        """Count the parts that have changed, write the sums to the entries of the hosts, and return how many hosts."""
        hosts = filter(self._is_host, changes.of_hosts())
        total = 0
        while batch := list(islice(hosts, HOSTS_AT_ONCE)):
            entries = [HOST.entries(replace(BLANK, url=f"https://{change.host}/"), b"")[0] for change in batch]
            stored = self._stored(entries)
            timestamp = _over(max(parts.newest for parts in stored))
            counting = [_Host(self.context.key, change, parts) for change, parts in zip(batch, stored, strict=True)]
            for group in together(((entry, host), host.weight) for entry, host in zip(entries, counting, strict=True)):
                counted = self._counted([host for _, host in group])
                puts = (_puts(entry, parts, timestamp) for (entry, _), parts in zip(group, counted, strict=True))
                self._write(list(chain.from_iterable(puts)))
            self._add_up(entries)
            total += len(batch)
        return total

    def _counted(self, hosts: Sequence[_Host]) -> list[dict[bytes, Counts]]:
        """Return the changed parts of each of *hosts*, whose pages are read together."""
        counts = [host.counted() for host in hosts]
        needed = {place: next(count) for place, count in enumerate(counts)}
        done: dict[int, dict[bytes, Counts]] = {}
        # Each host asks for the pages of its parts, perhaps several times; what all ask for is read in one scan.
        while needed:
            pages = self._pages_of(needed)
            for place in list(needed):
                try:
                    needed[place] = counts[place].send(pages[place])
                except StopIteration as end:
                    done[place] = end.value
                    del needed[place]
        return [done[place] for place in range(len(hosts))]

    def _pages_of(self, needed: Mapping[int, Sequence[KeyRange]]) -> Mapping[int, Iterable[Sized]]:
        """Return the pages in the spans that each host *needed*, in one scan for all if they are few."""
        pages = SpanReader(self.context, self.damage)
        pages_of: dict[int, list[Sized]] = {place: [] for place in needed}
        spans = sorted((keys, place) for place, ranges in needed.items() for keys in ranges)
        starts = [keys.start for keys, _ in spans]
        if len(needed) > 1:
            for count, page in enumerate(self._reported(pages.read([keys for keys, _ in spans]))):
                if count == MOST_PAGES:
                    break
                pages_of[spans[bisect_right(starts, page[0]) - 1][1]].append(page)
            else:
                return pages_of
        return {place: self._reported(pages.read(ranges)) for place, ranges in needed.items()}

    def _reported(self, pages: Iterator[Sized]) -> Iterator[Sized]:
        if self.on_pages is None:
            return pages
        return _reporting(pages, self.on_pages)

    def _add_up(self, entries: Sequence[bytes]) -> None:
        """Write the sums of the parts of hosts to their entries."""
        rows = self.context.store.read(self._index, entries, Wanted([HOST_COUNTS]))
        newest = max((row.cells[HOST_COUNTS][0].timestamp for row in rows if row is not None), default=-1)
        timestamp = _over(newest)
        puts = []
        for entry, stored in zip(entries, self._stored(entries), strict=True):
            pages, size = (sum(counts[at] for counts in stored.parts.values()) for at in (0, 1))
            counts = checked_json(HostCounts(pages, size, moment_of(timestamp)), entry, timestamp)
            puts.append(Put(entry, [NewCell(HOST_COUNTS, timestamp, counts)]))
        self._write(puts)

    def _is_host(self, change: HostChange) -> bool:
        try:
            return bool(self.context.key.host_ranges(change.host))
        except InvalidURL as exc:
            self.damage.add(DamagedRow(change.host.encode("utf-8", "replace"), None, f"the queue: {exc}"))
            return False

    def _stored(self, entries: Sequence[bytes]) -> list[_Stored]:
        stored = []
        by_entry = groupby(cells_of(self.context.store, self._index, _FAMILY, entries, _PARTS), key=itemgetter(0))
        for entry, pieces in by_entry:
            parts, newest, is_damaged = dict[bytes, Counts](), -1, False
            for column, cell in chain.from_iterable(cells for _, cells in pieces):
                newest, start = max(newest, cell.timestamp), column[len(_FAMILY) + 1 + len(_PART) :]
                try:
                    part = _PART_VALUES.read(cell.value, entry, cell.timestamp)
                except UNREADABLE:
                    is_damaged, parts[start] = True, NONE
                    continue
                if (part.pages, part.bytes) != NONE:
                    parts[start] = part.pages, part.bytes
            stored.append(_Stored(parts, newest, is_damaged))
        return stored

    @property
    def _index(self) -> str:
        return index_table_name(self.context.table, HOST.name)

    def _write(self, puts: Sequence[Put]) -> None:
        written(self.context.store, self._index, puts)


class _Host:
    """A host that has changed; *stored* are its parts."""

    def __init__(self, key: WebKey, change: HostChange, stored: _Stored) -> None:
        self._ranges = sorted(key.host_ranges(change.host))
        self._starts = [keys.start for keys in self._ranges]
        self._spans = change.spans
        self._stored = stored.parts
        self._is_whole = change.is_whole or stored.is_damaged

    @property
    def weight(self) -> int:
        """About how many bytes of memory the pages to be read take; for a whole host the maximum is assumed."""
        a_part = PART_ROWS if self._stored else 1  # if nothing was counted yet, the changes are all rows of the host
        return PAGE_BYTES * (MOST_PAGES if self._is_whole else len(self._spans) * a_part)

    def counted(self) -> Generator[Sequence[KeyRange], Iterable[Sized], dict[bytes, Counts]]:
        """Return the parts with changes, as they are now; a part that no longer exists has 0 pages.

        Yields the key ranges of the pages that it needs, and is sent these pages.
        """
        stored = self._stored
        moved = {first for first, _ in self._spans if is_cut(first)} | (set(stored) if self._is_whole else set())
        while True:
            # A part that began at a changed row may no longer exist: then the part before it continues.
            bounds = sorted({*self._starts, *(stored.keys() - moved)})
            touched = {bisect_right(bounds, row) - 1 for row in moved}
            for first, last in self._spans:
                touched.update(range(bisect_right(bounds, first) - 1, bisect_right(bounds, last)))
            counting = range(len(bounds)) if self._is_whole else sorted(touched)
            pages = yield [self._span(bounds, at) for at in counting]
            parts, cuts = _counts_of(pages, bounds, counting)
            ends = {bounds[at + end] for at in counting for end in (0, 1) if at + end < len(bounds)}
            gone = ends.difference(cuts, self._starts)
            if not gone:
                break
            # The pages of these cuts are being deleted: the parts before and after such a cut become one.
            moved |= gone
        past = {row for row in moved if is_cut(row) and row not in cuts}
        # Even if nothing is stored yet: a count that began to read earlier may write it later.
        emptied = past | {bounds[at] for at in touched} | (set(stored) if self._is_whole else set())
        return dict.fromkeys(emptied, NONE) | {start: counts for start, counts in parts.items() if counts != NONE}

    def _span(self, bounds: Sequence[bytes], at: int) -> KeyRange:
        """Return the key range of a part with the first key of the next, to see whether that still begins there."""
        stop = self._ranges[bisect_right(self._starts, bounds[at]) - 1].stop
        return KeyRange(bounds[at], min([stop, *(bound + b"\0" for bound in bounds[at + 1 : at + 2])]))


def _counts_of(
    pages: Iterable[Sized], bounds: Sequence[bytes], counting: Sequence[int]
) -> tuple[dict[bytes, Counts], set[bytes]]:
    """Count *pages* into the parts that begin at the *bounds* with the places *counting*.

    A part also begins at a page that is a cut but not one of the bounds. Returns the parts, and all cuts.
    """
    parts: dict[bytes, Counts] = dict.fromkeys((bounds[at] for at in counting), NONE)
    cuts: set[bytes] = set()
    start = b""
    for key, size in pages:
        at = bisect_right(bounds, key) - 1
        start = max(start, bounds[at])
        if is_cut(key):
            cuts.add(key)
            start = key
        if bounds[at] in parts:
            count, total = parts.get(start, NONE)
            parts[start] = count + 1, total + size
    return parts, cuts


def _reporting(pages: Iterator[Sized], on_pages: Callable[[int], None]) -> Iterator[Sized]:
    count = 0
    for count, page in enumerate(pages, 1):
        yield page
        if count % REPORT_EVERY == 0:
            on_pages(REPORT_EVERY)
    on_pages(count % REPORT_EVERY)


def _over(newest: int) -> int:
    """Wait until a moment later than *newest* is over, and return it in epoch milliseconds; reads see all up to it."""
    now = now_in_milliseconds()
    moment = max(now, newest + 1)
    clock.sleep(min(moment + 1 - now, 5) / 1000)
    return moment


def _puts(entry: bytes, parts: Mapping[bytes, Counts], timestamp: int) -> list[Put]:
    cells = [
        NewCell(_FAMILY + b":" + _PART + start, timestamp, checked_json(HostPart(*counts), entry, timestamp))
        for start, counts in parts.items()
    ]
    # In pieces, so that no put of a large host becomes a request of many megabytes.
    return [Put(entry, cells[at : at + PIECE]) for at in range(0, len(cells), PIECE)]
