"""Measurements of a design: the distribution of its writes over regions and time, and the length of its keys."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.rowkey.advice.design import Design

HOT = 1.5
"""How many times its fair share makes a region hot."""
MOST_COLUMNS = 192
"""The most columns of a heat map, limited by the width of a picture and by memory."""
_SIZE_OF_A_CELL = 20
"""Bytes of a cell besides row, family, qualifier and value: lengths, timestamp and type (reference guide, KeyValue)."""


class Hot(msgspec.Struct, frozen=True):
    """The hottest region: its place, its first key, its share of all writes, and its largest owner."""

    region: int
    start: bytes
    share: float
    owner: str
    owner_share: float


class Writes(msgspec.Struct, frozen=True):
    """The distribution of writes. All shares are from 0 to 1.

    `heat[region][column]` counts writes in the order of arrival; a column is a window, or several if there are more
    than 192. `hottest_at_once` is the share of the hottest region in a window, on average over all writes,
    `hottest_server` that of the hottest server; `fair` and `fair_server` are what they would be if every key went to a
    random region. `hottest` is the hottest region in the end, and `fair_in_the_end` its fair share.
    `owner_at_once` is the share of a window's writes for one owner, on average; `ascending` is the share of keys that
    sort after the key a window before, `descending` that of those before it. Gini and max over mean include all wanted
    regions: those that cannot be split off have no rows.
    """

    splits: tuple[bytes, ...]
    heat: tuple[tuple[int, ...], ...]
    hottest_at_once: float
    hottest_server: float
    hottest: Hot
    fair: float
    fair_server: float
    fair_in_the_end: float
    owner_at_once: float
    ascending: float
    descending: float
    gini: float
    max_over_mean: float

    @property
    def is_hot(self) -> bool:
        """Whether the hottest region has much more than its fair share at a moment."""
        return self.hottest_at_once >= HOT * self.fair


class Lengths(msgspec.Struct, frozen=True):
    """The length of the keys in bytes, and their share of a stored cell, with and without family and qualifier.

    `share_with_names` is None if no column was given, because the length of its name is unknown then.
    """

    mean: float
    p99: int
    longest: int
    share: float
    share_with_names: float | None


class CellSize(NamedTuple):
    """The cell with which a key is compared: its `family:qualifier` if known, and the bytes of its value."""

    column: str | None = None
    value_bytes: int = 600

    def __str__(self) -> str:
        named = "" if self.column is None else f" {self.column}"
        return f"a cell{named} with {self.value_bytes:,} bytes"


def measure_writes(
    design: Design, items: Sequence[Any], keys: Sequence[bytes], regions: int, servers: int, window: int
) -> Writes:
    """Return the distribution of *keys*, those of *items* in the order of arrival, in windows of *window* keys."""
    splits = design.splits.points(regions, keys)
    places = [bisect_right(splits, key) for key in keys]
    owners = [design.owner(item) for item in items]
    count, size = len(splits) + 1, min(window, len(places))
    windows = -(-len(places) // window)
    columns = min(windows, MOST_COLUMNS)
    heat = [[0] * columns for _ in range(count)]
    busiest = busiest_server = one_owner = 0
    for number in range(windows):
        part = slice(number * window, (number + 1) * window)
        writes = Counter(places[part])
        on_servers: Counter[int] = Counter()
        for region, written in writes.items():
            heat[region][number * columns // windows] += written
            on_servers[region % servers] += written
        busiest += max(writes.values())
        busiest_server += max(on_servers.values())
        one_owner += max(Counter(owners[part]).values())
    ascending, descending = _in_order(keys, window)
    totals = [*map(sum, heat), *[0] * (regions - count)]
    return Writes(
        splits=tuple(splits),
        heat=tuple(map(tuple, heat)),
        hottest_at_once=busiest / len(places),
        hottest_server=busiest_server / len(places),
        hottest=_hot(owners, places, totals, splits),
        fair=fair_share(regions, size),
        # If the regions are not a multiple of the servers, one server has more of them.
        fair_server=max(fair_share(min(servers, regions), size), -(-regions // servers) / regions),
        fair_in_the_end=fair_share(regions, len(places)),
        owner_at_once=one_owner / len(places),
        ascending=ascending,
        descending=descending,
        gini=gini(totals),
        max_over_mean=max(totals) * regions / len(places),
    )


def measure_lengths(keys: Sequence[bytes], cell: CellSize) -> Lengths:
    """Return the lengths of *keys*, and their share of *cell*."""
    lengths = sorted(map(len, keys))
    mean = sum(lengths) / len(lengths)
    names = 0 if cell.column is None else len(cell.column.replace(":", "", 1).encode())
    whole = _SIZE_OF_A_CELL + mean + names + cell.value_bytes
    p99 = lengths[min(len(lengths) - 1, math.ceil(0.99 * len(lengths)) - 1)]
    with_names = None if cell.column is None else (mean + names) / whole
    return Lengths(mean, p99, lengths[-1], mean / whole, with_names)


def gini(counts: Sequence[int]) -> float:
    """Return the Gini coefficient of *counts*: 0 if all are equal, near 1 if one has everything.

    >>> gini([5, 5, 5, 5]), gini([0, 0, 0, 20])
    (0.0, 0.75)
    """
    total, number = sum(counts), len(counts)
    weighted = sum(rank * count for rank, count in enumerate(sorted(counts), 1))
    return 2 * weighted / (number * total) - (number + 1) / number if total else 0.0


def fair_share(places: int, size: int) -> float:
    """Return the average share of the busiest of *places*, if *size* writes go to places at random.

    That is the mean maximum of *places* counts, taken as independent Poisson variables: accurate to some hundredths of
    the result, even for few writes.

    >>> round(fair_share(16, 1_000_000), 3), round(fair_share(16, 100), 2), fair_share(16, 1)
    (0.063, 0.11, 1.0)
    """
    if places == 1:
        return 1.0
    even = size / places
    spread = math.sqrt(even)
    # The mean of a count is the sum over k of the probability that it exceeds k, which is 1 below `least`.
    least = max(0, math.floor(even - 10 * spread - 10))
    mean, at_most = float(least), 0.0
    for count in range(least, math.ceil(even + 12 * spread + 30)):
        at_most += math.exp(count * math.log(even) - even - math.lgamma(count + 1))
        mean += 1 - min(1.0, at_most) ** places
    return min(1.0, max(mean, 1.0) / size)


def _in_order(keys: Sequence[bytes], window: int) -> tuple[float, float]:
    """Return the shares of *keys* that sort after, and before, the key a window earlier."""
    # Neighbouring keys would not do: the pages of one host may come in order, but the hosts in random order.
    pairs = list(zip(keys, keys[window:], strict=False))
    count = max(1, len(pairs))
    return sum(one < other for one, other in pairs) / count, sum(one > other for one, other in pairs) / count


def _hot(owners: Sequence[str], places: Sequence[int], totals: Sequence[int], splits: Sequence[bytes]) -> Hot:
    region = max(range(len(totals)), key=totals.__getitem__)
    counts = Counter(owner for owner, place in zip(owners, places, strict=True) if place == region)
    (owner, count), *_ = counts.most_common(1)
    start = splits[region - 1] if region else b""
    return Hot(region, start, totals[region] / len(places), owner, count / totals[region])
