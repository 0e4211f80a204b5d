"""Scans across salts: a range becomes one range for each salt, and rows come in the order of their unsalted keys.

The first rows of each range are read in one call (`Store.first_rows`) and merged. When the rows of a range are used up,
more of it are read, together with those of other ranges that are nearly used up. So memory holds a limited number of
rows for each range, however many there are.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from webtable.repository.page_storage.cells import BODY_BYTES, BODY_ROWS, together
from webtable.rowkey import KeyRange
from webtable.store import EVERYTHING, Row, Store, Wanted

# Of rows of 10 MB these are 80 MB, before any size is known.
FIRST_UNWEIGHED = 8
"""How many rows are read first if their size is unknown."""


class ScanSpec(msgspec.Struct, frozen=True):
    """A scan over one table: its ranges (one for each salt), the columns wanted, and a limit of rows.

    `expected` is how many rows of each range the caller is likely to take, if there is no limit. `weight` estimates the
    size in bytes of a whole row, from the columns that are merged. Rows whose key `keep` refuses are left out, and
    do not count for the limit.
    """

    table: str
    ranges: Sequence[KeyRange]
    wanted: Wanted = EVERYTHING
    limit: int | None = None
    reverse: bool = False
    expected: int | None = None
    weight: Callable[[Row], int] | None = None
    keep: Callable[[bytes], bool] | None = None

    def kept(self, rows: Callable[[ScanSpec], Iterator[Row]]) -> Iterator[Row]:
        """The *rows* of this scan that are to be kept, as many as its limit allows."""
        if self.keep is None:
            return rows(self)
        keep = self.keep
        kept = (row for row in rows(msgspec.structs.replace(self, keep=None, limit=None)) if keep(row.key))
        return kept if self.limit is None else islice(kept, self.limit)


def in_storage_order(store: Store, spec: ScanSpec, after: bytes | None) -> Iterator[Row]:
    """Yield the rows of all ranges in the order of their row keys, those after the row key *after*."""
    if spec.keep is not None:
        return spec.kept(lambda unkept: in_storage_order(store, unkept, after))
    ranges = spec.ranges if after is None else [rest_after(keys, after, spec.reverse) for keys in spec.ranges]
    ranges = [keys for keys in ranges if not keys.is_empty()]
    if not ranges:
        return iter(())
    return store.scan(spec.table, ranges, spec.wanted, limit=spec.limit, reverse=spec.reverse)


def in_key_order(
    store: Store, spec: ScanSpec, unsalted: Callable[[bytes], bytes], light: Sequence[bytes] | None, after: bytes | None
) -> Iterator[Row]:
    """Yield the rows of all ranges in the order of their *unsalted* keys, those after the unsalted key *after*.

    Each range must have a single salt. Of keys that differ only in their salt, the lower salt comes first. The columns
    *light* are read for all rows that are merged (None: the keys alone), the others only for rows that are yielded.
    """
    if spec.keep is not None:
        return spec.kept(lambda unkept: in_key_order(store, unkept, unsalted, light, after))
    ranges = (
        spec.ranges
        if after is None
        else [rest_after(keys, _salt_of(keys, unsalted) + after, spec.reverse) for keys in spec.ranges]
    )
    ranges = [keys for keys in ranges if not keys.is_empty()]
    # Pages of a host have one salt: nothing needs to be merged.
    if len(ranges) <= 1:
        return in_storage_order(store, msgspec.structs.replace(spec, ranges=ranges), None)
    return _across(store, msgspec.structs.replace(spec, ranges=ranges), unsalted, light)


def _across(
    store: Store, spec: ScanSpec, unsalted: Callable[[bytes], bytes], light: Sequence[bytes] | None
) -> Iterator[Row]:
    # Bodies are read only for rows that come out of the merge: of most ranges more are read than are taken.
    changes: dict[str, Any] = {"keys_only": True} if light is None else {"columns": light}
    merged = msgspec.structs.replace(spec, wanted=msgspec.structs.replace(spec.wanted, **changes))
    is_light = merged == spec
    merge = Merge(store, merged, unsalted, keep=is_light)
    remaining = spec.limit
    for row in merge if is_light else in_full(store, spec, iter(merge)):
        yield row
        if remaining is not None and (remaining := remaining - 1) == 0:
            return
    if merge.left is not None:
        rest = msgspec.structs.replace(spec, ranges=[merge.left], limit=remaining)
        yield from in_storage_order(store, rest, None)


def remaining(keys: KeyRange, row: bytes, unsalted: Callable[[bytes], bytes], *, reverse: bool) -> KeyRange:
    """Return the rest of a range after the row key *row* of the same or another range, in a scan in key order."""
    place = _salt_of(keys, unsalted) + unsalted(row)
    # A row with this key differs from *row* only in its salt, and the lower salt comes first.
    if reverse:
        return keys.before(place if place >= row else place + b"\x00")
    return keys.after(place) if place <= row else KeyRange(max(keys.start, place), keys.stop)


def _salt_of(keys: KeyRange, unsalted: Callable[[bytes], bytes]) -> bytes:
    return keys.start[: len(keys.start) - len(unsalted(keys.start))]


def in_full(store: Store, spec: ScanSpec, rows: Iterator[Row]) -> Iterator[Row]:
    """Yield *rows* in their order with all columns of *spec*: bodies are read only for the rows that are yielded.

    If the scan has weights, a row that is no longer found by its key is yielded as it was.
    """
    limit = BODY_ROWS if spec.limit is None else min(BODY_ROWS, spec.limit)
    if spec.weight is not None:
        weigh = spec.weight
        for piece in together(((row, weigh(row)) for row in rows), limit):
            whole_rows = store.read(spec.table, [row.key for row in piece], Wanted(spec.wanted.columns))
            yield from (whole or row for row, whole in zip(piece, whole_rows, strict=True))
        return
    for read_rows in _unweighed(store, spec, rows, limit):
        yield from (row for row in read_rows if row is not None)


def _unweighed(store: Store, spec: ScanSpec, rows: Iterator[Row], limit: int) -> Iterator[list[Row | None]]:
    """Yield whole rows, as many at once as would take `BODY_BYTES` if all were as large as the largest."""
    count = FIRST_UNWEIGHED
    while piece := [row.key for row in islice(rows, min(count, limit))]:
        whole_rows = store.read(spec.table, piece, Wanted(spec.wanted.columns))
        yield whole_rows
        largest = max(
            sum(len(cell.value) for cells in row.cells.values() for cell in cells) if row else 0 for row in whole_rows
        )
        count = min(max(BODY_BYTES // (largest + 1), 1), count * 2)


MERGE_ROWS = 8_192
"""How many rows (without bodies) a merge holds at most, over all its ranges; but at least one for each range."""
MERGE_PIECE = 1_024
"""How many further rows of a range are read at once at most."""


class _Cursor(msgspec.Struct):
    """One range of a merge: the rows that were read, from *at* on, and the rest of the range (None if it is empty)."""

    rest: KeyRange | None
    rows: list[Row] = msgspec.field(default_factory=list)
    at: int = 0

    def __len__(self) -> int:
        return len(self.rows) - self.at

    def take(self, rows: list[Row], wanted: int, *, reverse: bool) -> None:
        self.rows, self.at = self.rows[self.at :] + rows, 0
        # Fewer rows than requested are the last ones.
        rest = rest_after(self.rest, rows[-1].key, reverse) if self.rest and len(rows) >= wanted else None
        self.rest = None if rest is None or rest.is_empty() else rest


class _Backwards:
    """A place in a reverse merge, which takes the last place first."""

    __slots__ = ("place",)

    def __init__(self, place: tuple[bytes, bytes]) -> None:
        self.place = place

    def __lt__(self, other: _Backwards) -> bool:
        return other.place < self.place


# A heap holds one row of each range. One that runs dry is read on together with those that soon will, so the calls
# become few however many salts there are.
class Merge:
    """The rows of several ranges in the order of their unsalted keys, until a single range is left.

    Then `left` is the rest of that range, to be read alone; with *keep* the rows that were read are yielded first.
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
        cursors = [_Cursor(keys) for keys in ranges]
        self._read_on(cursors, first)
        # No two rows have the same place, so cursors are never compared.
        heads = [(self._place(cursor.rows[0]), cursor) for cursor in cursors if cursor]
        heapq.heapify(heads)
        piece = min(max(first, MERGE_ROWS // max(1, len(heads))), MERGE_PIECE)
        while len(heads) > 1:
            _, cursor = heads[0]
            yield cursor.rows[cursor.at]
            cursor.at += 1
            if not cursor and cursor.rest:
                low = [other for _, other in heads if other.rest and len(other) <= piece // 4]
                self._read_on(low, piece)
            if not cursor:
                heapq.heappop(heads)
                continue
            place = self._place(cursor.rows[cursor.at])
            # The second smallest item of a heap is one of these two.
            if place < heads[1][0] and (len(heads) == 2 or place < heads[2][0]):
                yield from self._run(cursor, min(heads[1:3])[0])
                place = self._place(cursor.rows[cursor.at])
            heapq.heapreplace(heads, (place, cursor))
        if heads:
            yield from self._last(heads[0][1])

    def _run(self, cursor: _Cursor, other: Any) -> Sequence[Row]:
        """Take the rows before the place of an *other* range's first row, except the last row that was read.

        There may be many: all pages of a host have the same salt.
        """
        rows, at, last = cursor.rows, cursor.at, len(cursor.rows) - 1
        low, step = at, 1
        while low + step < last and self._place(rows[low + step]) < other:
            low, step = low + step, 2 * step
        cursor.at = bisect_left(rows, other, low, min(low + step, last), key=self._place)
        return rows[at : cursor.at]

    def _place(self, row: Row) -> Any:
        place = (self._unsalted(row.key), row.key)
        return _Backwards(place) if self._spec.reverse else place

    def _last(self, cursor: _Cursor) -> Iterator[Row]:
        if self._keep:
            yield from cursor.rows[cursor.at :]
            self.left = cursor.rest
            return
        near, far = cursor.rows[cursor.at].key, cursor.rows[-1].key
        if self._spec.reverse:
            self.left = KeyRange(cursor.rest.start if cursor.rest else far, near + b"\x00")
        else:
            self.left = KeyRange(near, cursor.rest.stop if cursor.rest else far + b"\x00")

    def _read_on(self, cursors: Sequence[_Cursor], wanted: int) -> None:
        spec = self._spec
        ranges = [cursor.rest for cursor in cursors if cursor.rest]
        pieces = self._store.first_rows(spec.table, ranges, wanted, spec.wanted, reverse=spec.reverse)
        for cursor, rows in zip(cursors, pieces, strict=True):
            cursor.take(rows, wanted, reverse=spec.reverse)


def rest_after(keys: KeyRange, after: bytes, reverse: bool) -> KeyRange:
    """Return the rest of a range after the row key *after*; in *reverse* the part before it."""
    return keys.before(after) if reverse else keys.after(after)
