"""Scans across salts: a range becomes a range a salt, and the rows come in the order of their unsalted keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from webtable.repository.scanning.merge import Merge, rest_behind
from webtable.repository.stored.pieces import in_full
from webtable.rowkey import KeyRange
from webtable.store import EVERYTHING, Row, Store, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    ranges = spec.ranges if after is None else [rest_behind(keys, after, spec.reverse) for keys in spec.ranges]
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
        else [rest_behind(keys, _salt_of(keys, unsalted) + after, spec.reverse) for keys in spec.ranges]
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
    merge = Merge(store, merged, unsalted, keep=is_light)
    left = spec.limit
    for row in merge if is_light else in_full(store, spec, iter(merge)):
        yield row
        if left is not None and (left := left - 1) == 0:
            return
    if merge.left is not None:
        rest = replace(spec, ranges=[merge.left], limit=left)
        yield from in_storage_order(store, rest, None)


def behind(keys: KeyRange, row: bytes, unsalted: Callable[[bytes], bytes], *, reverse: bool) -> KeyRange:
    """Return what is left of a range behind the row key *row*, of this range or another one of a scan in key order."""
    place = _salt_of(keys, unsalted) + unsalted(row)
    # The row in this place differs from *row* in its salt only: the lower salt comes first.
    if reverse:
        return keys.before(place if place >= row else place + b"\x00")
    return keys.after(place) if place <= row else KeyRange(max(keys.start, place), keys.stop)


def _salt_of(keys: KeyRange, unsalted: Callable[[bytes], bytes]) -> bytes:
    return keys.start[: len(keys.start) - len(unsalted(keys.start))]
