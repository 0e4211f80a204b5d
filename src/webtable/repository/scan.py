"""Scans across salts: a range over the rows becomes a range a salt, and they come in the order of their unsalted keys.

With several ranges the first rows of each are read in one move (`Store.first_rows`) and merged; a range that runs dry
is read on, together with those that soon will. So memory holds a piece a range, whatever the number of rows.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from webtable.errors import DamagedRow
from webtable.page import LINK_BYTES, Page
from webtable.rowkey import KeyRange
from webtable.store import EVERYTHING, Row, Store, Wanted
from webtable.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webtable.repository.damage import Damage

T = TypeVar("T")

MERGE_ROWS = 8_192
"""How many rows (without bodies) a merge holds at most, over all its ranges, but one a range at least."""
BODY_ROWS = 64
"""How many rows are read at once at most where bodies are added to rows that were merged without them."""
BODY_BYTES = 8 * 2**20
"""How many bytes are read at once where bodies are, but one row at least."""
FIRST_UNWEIGHED = 8
"""How many rows are read first where nothing tells how large they are."""
READ_AHEAD_BYTES = 8 * 2**20
"""How many bytes of pages are read ahead of the caller."""
PIECE_ROWS = 1_024
"""How many rows are read ahead at most."""
FIRST_ROWS = 128
"""How many rows are made before a thread is started to read ahead: most questions have fewer answers."""


@dataclass(frozen=True, slots=True)
class ScanSpec:
    """A scan over one table: its ranges (one a salt), what is wanted of each row, and how many rows it has.

    `expected` is how many rows of each range the caller is likely to take, where there is no limit. `weight` tells by
    the columns that are merged about how many bytes a row has in all.
    """

    table: str
    ranges: Sequence[KeyRange]
    wanted: Wanted = EVERYTHING
    limit: int | None = None
    reverse: bool = False
    expected: int | None = None
    weight: Callable[[Row], int] | None = None


def in_storage_order(store: Store, spec: ScanSpec, after: bytes | None) -> Iterator[Row]:
    """Yield the rows of all ranges in the order of their row keys, those behind the row key *after*."""
    ranges = spec.ranges if after is None else [_rest(keys, after, spec.reverse) for keys in spec.ranges]
    ranges = [keys for keys in ranges if not keys.is_empty()]
    if not ranges:
        return iter(())
    return store.scan(spec.table, ranges, spec.wanted, limit=spec.limit, reverse=spec.reverse)


def in_key_order(
    store: Store, spec: ScanSpec, unsalted: Callable[[bytes], bytes], light: Sequence[bytes] | None, after: bytes | None
) -> Iterator[Row]:
    """Yield the rows of all ranges in the order of their *unsalted* keys, those behind the unsalted key *after*.

    Each range must be below one salt. Of keys that differ in their salt only, the lower salt comes first. The columns
    *light* are read of all rows that are merged (None: the keys alone), the others of those that are given out.
    """
    ranges = (
        spec.ranges
        if after is None
        else [_rest(keys, _salt_of(keys, unsalted) + after, spec.reverse) for keys in spec.ranges]
    )
    ranges = [keys for keys in ranges if not keys.is_empty()]
    if len(ranges) <= 1:
        return in_storage_order(store, replace(spec, ranges=ranges), None)
    return _across(store, replace(spec, ranges=ranges), unsalted, light)


def _across(
    store: Store, spec: ScanSpec, unsalted: Callable[[bytes], bytes], light: Sequence[bytes] | None
) -> Iterator[Row]:
    changes: dict[str, Any] = {"keys_only": True} if light is None else {"columns": light}
    merged = replace(spec, wanted=replace(spec.wanted, **changes))
    is_light = merged == spec
    merge = _Merge(store, merged, unsalted, keep=is_light)
    left = spec.limit
    for row in merge if is_light else _with_columns(store, spec, iter(merge)):
        yield row
        if left is not None and (left := left - 1) == 0:
            return
    if merge.left is not None:
        rest = replace(spec, ranges=[merge.left], limit=left)
        yield from in_storage_order(store, rest, None)


def _rest(keys: KeyRange, after: bytes, reverse: bool) -> KeyRange:
    return keys.before(after) if reverse else keys.after(after)


def behind(keys: KeyRange, row: bytes, unsalted: Callable[[bytes], bytes], *, reverse: bool) -> KeyRange:
    """Return what is left of a range behind the row key *row*, of this range or another one of a scan in key order."""
    place = _salt_of(keys, unsalted) + unsalted(row)
    # The row in this place differs from *row* in its salt only: the lower salt comes first.
    if reverse:
        return keys.before(place if place >= row else place + b"\x00")
    return keys.after(place) if place <= row else KeyRange(max(keys.start, place), keys.stop)


def _salt_of(keys: KeyRange, unsalted: Callable[[bytes], bytes]) -> bytes:
    return keys.start[: len(keys.start) - len(unsalted(keys.start))]


@dataclass(slots=True)
class _Cursor:
    """One range of a merge: the rows at hand, and what is left behind them (None: nothing)."""

    rows: deque[Row]
    rest: KeyRange | None

    def take(self, rows: list[Row], wanted: int, *, reverse: bool) -> None:
        self.rows.extend(rows)
        # Fewer rows than asked for are all that there are.
        rest = _rest(self.rest, rows[-1].key, reverse) if self.rest and len(rows) >= wanted else None
        self.rest = None if rest is None or rest.is_empty() else rest


class _Backwards:
    """A place in a merge that takes the last one first."""

    __slots__ = ("place",)

    def __init__(self, place: tuple[bytes, bytes]) -> None:
        self.place = place

    def __lt__(self, other: _Backwards) -> bool:
        return other.place < self.place


class _Merge:
    """The rows of several ranges in the order of their keys without the salt, until a single range is left.

    Then `left` is what is left of it, to be read as one range; with *keep* without the rows that are at hand.
    """

    def __init__(self, store: Store, spec: ScanSpec, unsalted: Callable[[bytes], bytes], *, keep: bool) -> None:
        self._store = store
        self._spec = spec
        self._unsalted = unsalted
        self._keep = keep
        self.left: KeyRange | None = None

    def __iter__(self) -> Iterator[Row]:
        ranges = self._spec.ranges
        first = min(self._spec.limit or self._spec.expected or BODY_ROWS, max(1, MERGE_ROWS // len(ranges)))
        cursors = [_Cursor(deque(), keys) for keys in ranges]
        self._read_on(cursors, first)
        # No two rows have one place, so that cursors are never compared.
        heads = [(self._place(cursor), cursor) for cursor in cursors if cursor.rows]
        heapq.heapify(heads)
        piece = min(max(first, MERGE_ROWS // max(1, len(heads))), PIECE_ROWS)
        while len(heads) > 1:
            _, cursor = heads[0]
            yield cursor.rows.popleft()
            if not cursor.rows and cursor.rest:
                low = [other for _, other in heads if other.rest and len(other.rows) <= piece // 4]
                self._read_on(low, piece)
            if cursor.rows:
                heapq.heapreplace(heads, (self._place(cursor), cursor))
            else:
                heapq.heappop(heads)
        if heads:
            yield from self._last(heads[0][1])

    def _place(self, cursor: _Cursor) -> Any:
        key = cursor.rows[0].key
        place = (self._unsalted(key), key)
        return _Backwards(place) if self._spec.reverse else place

    def _last(self, cursor: _Cursor) -> Iterator[Row]:
        if self._keep:
            yield from cursor.rows
            self.left = cursor.rest
            return
        near, far = cursor.rows[0].key, cursor.rows[-1].key
        if self._spec.reverse:
            self.left = KeyRange(cursor.rest.start if cursor.rest else far, near + b"\x00")
        else:
            self.left = KeyRange(near, cursor.rest.stop if cursor.rest else far + b"\x00")

    def _read_on(self, cursors: Sequence[_Cursor], wanted: int) -> None:
        spec = self._spec
        ranges = [cursor.rest for cursor in cursors if cursor.rest]
        found = self._store.first_rows(spec.table, ranges, wanted, spec.wanted, reverse=spec.reverse)
        for cursor, rows in zip(cursors, found, strict=True):
            cursor.take(rows, wanted, reverse=spec.reverse)


def _with_columns(store: Store, spec: ScanSpec, rows: Iterator[Row]) -> Iterator[Row]:
    # Bodies are read only for the rows that are given out, in the merge's order.
    most = BODY_ROWS if spec.limit is None else min(BODY_ROWS, spec.limit)
    if spec.weight is not None:
        weigh = spec.weight
        pieces: Iterable[list[bytes]] = together(((row.key, weigh(row)) for row in rows), most)
        found: Iterator[list[Row | None]] = (
            store.read(spec.table, piece, Wanted(spec.wanted.columns)) for piece in pieces
        )
    else:
        found = _unweighed(store, spec, rows, most)
    for some in found:
        yield from (row for row in some if row is not None)


def _unweighed(store: Store, spec: ScanSpec, rows: Iterator[Row], most: int) -> Iterator[list[Row | None]]:
    """Yield the rows in full, as many at once as would take `BODY_BYTES` if all were as large as the largest."""
    count = FIRST_UNWEIGHED
    while piece := [row.key for row in islice(rows, min(count, most))]:
        found = store.read(spec.table, piece, Wanted(spec.wanted.columns))
        yield found
        largest = max(
            sum(len(cell.value) for cells in row.cells.values() for cell in cells) if row else 0 for row in found
        )
        count = min(max(BODY_BYTES // (largest + 1), 1), count * 2)


def together(weighed: Iterable[tuple[T, int]], most: int = BODY_ROWS) -> Iterator[list[T]]:
    """Yield what is *weighed*, each with its bytes, in lists of `BODY_BYTES` and of *most* items at most.

    >>> list(together([("a", 5 * 2**20), ("b", 5 * 2**20), ("c", 1)]))
    [['a'], ['b', 'c']]
    """
    some: list[T] = []
    total = 0
    for one, weight in weighed:
        if some and (len(some) == most or total + weight > BODY_BYTES):
            yield some
            some, total = [], 0
        some.append(one)
        total += weight
    if some:
        yield some


def read_ahead(rows: Iterator[Row], make: Callable[[Row], Page | None], damage: Damage) -> Generator[Page]:
    """Yield what *make* makes of each row (None: nothing), making the next piece while the caller works on this one.

    Where it raises `DamagedRow`, that is told to *damage* when the caller comes there.
    """
    piece = _Piece.of(rows, make, FIRST_ROWS)
    if not piece.has_more:
        yield from piece.pages(damage)
        return
    with closing(Threads(1, "webtable-read-ahead")) as threads:
        while True:
            coming = threads.submit(lambda: _Piece.of(rows, make, PIECE_ROWS))
            yield from piece.pages(damage)
            piece = coming.result()
            if not piece.has_more:
                break
        yield from piece.pages(damage)


@dataclass(slots=True)
class _Piece:
    """The pages of some rows, and whether there may be more."""

    made: list[Page | DamagedRow]
    has_more: bool = False
    is_damaged: bool = False

    @classmethod
    def of(cls, rows: Iterator[Row], make: Callable[[Row], Page | None], most: int) -> _Piece:
        """Return the pages of the next rows, *most* of them or up to READ_AHEAD_BYTES."""
        made: list[Page | DamagedRow] = []
        is_damaged = False
        count = size = 0
        for count, row in enumerate(islice(rows, most), 1):  # noqa: B007 - how many there were is told at the end
            try:
                one = make(row)
            except DamagedRow as exc:
                made.append(exc)
                is_damaged = True
                continue
            if one is None:
                continue
            made.append(one)
            if one.html is not None or one.outlinks is not None:
                size += len(one.html or b"") + LINK_BYTES * len(one.outlinks or ())
                if size >= READ_AHEAD_BYTES:
                    return cls(made, True, is_damaged)
        return cls(made, count == most, is_damaged)

    def pages(self, damage: Damage) -> Iterable[Page]:
        """Return the pages; the damaged rows among them are told to *damage* on the way."""
        return damage.sift(self.made) if self.is_damaged else self.made  # type: ignore[return-value]
