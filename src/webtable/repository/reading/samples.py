"""Row keys of a scan, all or some of them, and the parts of about the same size that they cut it into."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from webtable.errors import InvalidArgument
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.rowkey import KeyRange
from webtable.rowkey.ranges import clipped

if TYPE_CHECKING:
    from webtable.store import Row, Store

MOST_KEYS = 10_000
"""How many row keys are read at most: a scan of fewer rows is cut exactly."""
KEYS_A_PART = 64
"""How many sampled keys of a part suffice: its rows then differ from the average by some 12 %."""
WEIGHED_ROWS = 64
"""Of how many rows the values are read, to estimate their size."""
MOST_ROUNDS = 3
"""How often evenly spaced places are looked up, as long as a part has fewer keys than FEWEST_A_PART."""
FEWEST_A_PART = 16
_SPACED_BYTES = 8


class KeySample(NamedTuple):
    """Some keys of a scan in order, each standing for the same number of rows, and how many rows there are."""

    keys: Sequence[bytes]
    rows: int | None

    def spread(self) -> Sequence[bytes]:
        """Return some of the keys, spread over all, whose rows tell how large a row is."""
        return self.keys[:: -(-len(self.keys) // WEIGHED_ROWS)] if self.keys else ()


class CutPart(NamedTuple):
    """A range of keys, and how many rows and bytes of values it has, by estimate."""

    keys: KeyRange
    rows: int | None
    bytes: int | None


def check_number(n: object) -> None:
    """Raise `InvalidArgument` for an *n* that is no number of parts."""
    if type(n) is not int or n < 1:
        raise InvalidArgument(f"n={n!r} must be a whole number, 1 or more")


def cut_at(sample: KeySample, n: int, row_bytes: int) -> list[CutPart]:
    """Return *n* ranges that together are all keys, with about as many rows each, of *row_bytes* bytes."""
    keys, rows = sample
    # No cut is empty, as that would be the end of the table.
    cuts = [keys[number * len(keys) // n] if keys else b"\0" for number in range(1, n)]
    at = [0, *(bisect_left(keys, cut) for cut in cuts), len(keys)]
    parts = []
    for place, (start, stop) in enumerate(zip([b"", *cuts], [*cuts, b""], strict=True)):
        part_rows = None if rows is None else round(rows * (at[place + 1] - at[place]) / max(1, len(keys)))
        parts.append(CutPart(KeyRange(start, stop), part_rows, None if part_rows is None else part_rows * row_bytes))
    return parts


def all_keys(store: Store, spec: ScanSpec) -> KeySample | None:
    """Return all keys of a scan of few rows, None if it has more."""
    limited = ScanSpec(spec.table, spec.ranges, spec.wanted, limit=MOST_KEYS + 1)
    keys = [row.key for row in in_storage_order(store, limited, None)]
    return KeySample(keys, len(keys)) if len(keys) <= MOST_KEYS else None


def spaced(store: Store, spec: ScanSpec, n: int) -> KeySample:
    """Return keys at evenly spaced places of the ranges, which stand for nobody knows how many rows.

    Where keys lie together most places lead to the same few, as after a salt; then places between these are tried.
    """
    sampled: set[bytes] = set()
    # Splits of regions are no measure: their number depends on the store, and a file has none.
    ranges = list(spec.ranges)
    for _ in range(MOST_ROUNDS):
        sampled |= _keys_at_places(store, spec, ranges, -(-n * KEYS_A_PART // len(ranges)))
        if len(sampled) >= n * FEWEST_A_PART:
            break
        parts = pairwise([b"", *sorted(sampled), b""])
        ranges = [keys for start, stop in parts for keys in clipped(spec.ranges, KeyRange(start, stop))]
    return KeySample(sorted(sampled), None)


def _keys_at_places(store: Store, spec: ScanSpec, ranges: Sequence[KeyRange], count: int) -> set[bytes]:
    """Return the first keys after *count* evenly spaced places of each of the *ranges*."""
    bounds = [
        [
            keys[0].key if keys else None
            for keys in store.first_rows(spec.table, ranges, 1, spec.wanted, reverse=reverse)
        ]
        for reverse in (False, True)
    ]
    places = [
        keys.after(place)
        for keys, low, high in zip(ranges, *bounds, strict=True)
        if low is not None and high is not None
        for place in between(low, high, count)
    ]
    first_rows = store.first_rows(spec.table, places, 1, spec.wanted)
    return {rows[0].key for rows in first_rows if rows}


def between(low: bytes, high: bytes, count: int) -> list[bytes]:
    """Return *count* evenly spaced keys from *low* on, before *high*.

    >>> between(b"a", b"c", 2)
    [b'a', b'b']
    """
    shared = next((at for at, (byte, other) in enumerate(zip(low, high, strict=False)) if byte != other), len(low))
    size = shared + _SPACED_BYTES
    first, last = (int.from_bytes(key[:size].ljust(size, b"\0")) for key in (low, high))
    places = (first + (last - first) * number // count for number in range(count))
    return [place.to_bytes(size).rstrip(b"\0") for place in places]


def mean_bytes(rows: Sequence[Row | None]) -> int:
    """The bytes of values of one of *rows*, on average."""
    sizes = [sum(len(cell.value) for cells in row.cells.values() for cell in cells) for row in rows if row]
    return sum(sizes) // max(1, len(sizes))
