"""Which ranges are asked together for their first rows: some of those in neighbouring regions in one call."""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.rowkey.ranges import KeyRange

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_RANGES: Final = 32
"""How many ranges a call has at most: each has filters of its own, which the region server shows every cell to."""
_MOST_ROWS: Final = 4096
"""How many rows a call brings at most, but those of one range at least."""


class RangePart(NamedTuple):
    """The part of a range that lies in one group of regions."""

    keys: KeyRange
    owner: int


def groups_of(ranges: Sequence[KeyRange], bounds: Sequence[bytes], most: int) -> list[list[RangePart]]:
    """Return the parts of *ranges* in at most *most* groups of neighbouring regions, each group in key order.

    *bounds* are the first keys of the regions behind the first one. Wrong bounds cost time, never rows.

    >>> [[part.keys for part in group] for group in groups_of([KeyRange(b"a", b"c"), KeyRange(b"d", b"")], [b"b"], 2)]
    [[KeyRange(start=b'a', stop=b'b')], [KeyRange(start=b'b', stop=b'c'), KeyRange(start=b'd', stop=b'')]]
    """
    regions: dict[int, list[RangePart]] = {}
    for owner, keys in enumerate(ranges):
        if keys.is_empty():
            continue
        first = bisect_right(bounds, keys.start)
        last = bisect_right(bounds, keys.stop) if keys.stop else len(bounds)
        for region in range(first, last + 1):
            start = max(keys.start, bounds[region - 1]) if region else keys.start
            stop = keys.stop
            if region < len(bounds):
                stop = min(stop, bounds[region]) if stop else bounds[region]
            part = RangePart(KeyRange(start, stop), owner)
            if not part.keys.is_empty():
                regions.setdefault(region, []).append(part)
    in_order = [sorted(regions[region]) for region in sorted(regions)]
    size = -(-len(in_order) // most) or 1
    return [list(chain.from_iterable(in_order[at : at + size])) for at in range(0, len(in_order), size)]


def calls_of(groups: Sequence[list[RangePart]], limit: int) -> list[list[RangePart]]:
    """Return the parts of *groups* whose first *limit* rows come in one call each."""
    size = max(1, min(_MOST_RANGES, _MOST_ROWS // limit))
    return [group[at : at + size] for group in groups for at in range(0, len(group), size)]
