"""Scans across salts: a range over the pages becomes a range a salt, and their rows come in the order of the URL key.

With several ranges the first rows of each are read in one move (`Store.first_rows`) and merged; a range that runs dry
is read on, together with those that soon will. So memory holds a piece a range, whatever the number of rows.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from webtable.rowkey import KeyRange, WebKey
from webtable.store import Row, Store

if TYPE_CHECKING:
    from webtable.page import Page
    from webtable.repository.codec import PageCodec

MERGE_ROWS = 8_192
"""How many rows (without bodies) a merge holds at most, over all its ranges, but one a range at least."""
BODY_ROWS = 64
"""How many rows are read at once where bodies are added to rows that were merged without them."""
READ_AHEAD_BYTES = 8 * 2**20
"""How many bytes of pages are read ahead of the caller."""
PIECE_ROWS = 1_024
"""How many rows are read ahead at most."""
FIRST_ROWS = 128
"""How many rows are made before a thread is started to read ahead: most questions have fewer answers."""


@dataclass(frozen=True, slots=True)
class ScanSpec:
    """A scan over one table: its ranges (one a salt), its stored columns, where it goes on and how many rows it has."""

    table: str
    ranges: Sequence[KeyRange]
    columns: Sequence[bytes]
    limit: int | None = None


def in_storage_order(store: Store, spec: ScanSpec, after: bytes | None) -> Iterator[Row]:
    """Yield the rows of all ranges in the order of their row keys, those behind the row key *after*."""
    ranges = [keys if after is None else keys.after(after) for keys in spec.ranges]
    ranges = [keys for keys in ranges if not keys.is_empty()]
    return store.scan(spec.table, ranges, columns=spec.columns, limit=spec.limit) if ranges else iter(())


def in_key_order(store: Store, spec: ScanSpec, key: WebKey, codec: PageCodec, after: bytes | None) -> Iterator[Row]:
    """Yield the rows of all ranges in the order of their keys without the salt, those behind *after*."""
    ranges = [keys if after is None else _behind(keys, key, after) for keys in spec.ranges]
    ranges = [keys for keys in ranges if not keys.is_empty()]
    if len(ranges) <= 1:
        return in_storage_order(store, replace(spec, ranges=ranges), None)
    return _across(store, replace(spec, ranges=ranges), key, codec)


def _across(store: Store, spec: ScanSpec, key: WebKey, codec: PageCodec) -> Iterator[Row]:
    light = replace(spec, columns=[codec.columns.page])
    is_light = list(spec.columns) == light.columns
    merge = _Merge(store, light, key, keep=is_light)
    left = spec.limit
    for row in merge if is_light else _with_columns(store, spec, iter(merge)):
        yield row
        if left is not None and (left := left - 1) == 0:
            return
    if merge.left is not None:
        yield from store.scan(spec.table, [merge.left], columns=spec.columns, limit=left)


def _behind(keys: KeyRange, key: WebKey, unsalted: bytes) -> KeyRange:
    salt = keys.start[: len(keys.start) - len(key.unsalted(keys.start))]
    return keys.after(salt + unsalted)


@dataclass(slots=True)
class _Cursor:
    """One range of a merge: the rows at hand, and what is left behind them (None: nothing)."""

    rows: deque[Row]
    rest: KeyRange | None

    def take(self, rows: list[Row], wanted: int) -> None:
        self.rows.extend(rows)
        # Fewer rows than asked for are all that there are.
        self.rest = self.rest.after(rows[-1].key) if self.rest and len(rows) >= wanted else None


class _Merge:
    """The rows of several ranges in the order of their keys without the salt, until a single range is left.

    Then `left` is what is left of it, to be read as one range; with *keep* without the rows that are at hand.
    """

    def __init__(self, store: Store, spec: ScanSpec, key: WebKey, *, keep: bool) -> None:
        self._store = store
        self._spec = spec
        self._unsalted = key.unsalted
        self._keep = keep
        self.left: KeyRange | None = None

    def __iter__(self) -> Iterator[Row]:
        ranges = self._spec.ranges
        first = min(self._spec.limit or BODY_ROWS, max(1, MERGE_ROWS // len(ranges)))
        cursors = [_Cursor(deque(), keys) for keys in ranges]
        self._read_on(cursors, first)
        # The number breaks ties between equal keys (a page has one salt, so there are none) before rows are compared.
        heads = [
            (self._unsalted(cursor.rows[0].key), number, cursor)
            for number, cursor in enumerate(cursors)
            if cursor.rows
        ]
        heapq.heapify(heads)
        piece = min(max(first, MERGE_ROWS // max(1, len(heads))), PIECE_ROWS)
        while len(heads) > 1:
            _, number, cursor = heads[0]
            yield cursor.rows.popleft()
            if not cursor.rows and cursor.rest:
                low = [other for _, _, other in heads if other.rest and len(other.rows) <= piece // 4]
                self._read_on(low, piece)
            if cursor.rows:
                heapq.heapreplace(heads, (self._unsalted(cursor.rows[0].key), number, cursor))
            else:
                heapq.heappop(heads)
        if heads:
            yield from self._last(heads[0][2])

    def _last(self, cursor: _Cursor) -> Iterator[Row]:
        if self._keep:
            yield from cursor.rows
            self.left = cursor.rest
        elif cursor.rest:
            self.left = KeyRange(cursor.rows[0].key, cursor.rest.stop)
        else:
            self.left = KeyRange(cursor.rows[0].key, cursor.rows[-1].key + b"\x00")

    def _read_on(self, cursors: Sequence[_Cursor], wanted: int) -> None:
        ranges = [cursor.rest for cursor in cursors if cursor.rest]
        found = self._store.first_rows(self._spec.table, ranges, wanted, columns=self._spec.columns)
        for cursor, rows in zip(cursors, found, strict=True):
            cursor.take(rows, wanted)


def _with_columns(store: Store, spec: ScanSpec, rows: Iterator[Row]) -> Iterator[Row]:
    # Bodies are read only for the rows that are given out, in the merge's order.
    size = BODY_ROWS if spec.limit is None else min(BODY_ROWS, spec.limit)
    while piece := list(islice(rows, size)):
        found = store.read(spec.table, [row.key for row in piece], columns=spec.columns)
        yield from (row for row in found if row is not None)


def read_ahead(rows: Iterator[Row], make: Callable[[Row], Page | None]) -> Generator[Page]:
    """Yield what *make* makes of each row (None: nothing), making the next piece while the caller works on this one."""
    piece, more = _piece(rows, make, FIRST_ROWS)
    if not more:
        yield from piece
        return
    with ThreadPoolExecutor(1, thread_name_prefix="webtable-read-ahead") as executor:
        while more:
            coming: Future[tuple[list[Page], bool]] = executor.submit(lambda: _piece(rows, make, PIECE_ROWS))
            yield from piece
            piece, more = coming.result()
        yield from piece


def _piece(rows: Iterator[Row], make: Callable[[Row], Page | None], most: int) -> tuple[list[Page], bool]:
    """Return the pages of the next rows, *most* of them or up to READ_AHEAD_BYTES, and whether there may be more."""
    made: list[Page] = []
    size = 0
    for count, row in enumerate(rows, 1):
        one = make(row)
        if one is not None:
            made.append(one)
            size += len(one.html or b"") + 100 * len(one.outlinks or ())
        if count >= most or size >= READ_AHEAD_BYTES:
            return made, True
    return made, False
