"""What a design does to a table: where the writes go, region by region and moment by moment; what questions cost."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from webtable.errors import NoRange, UnknownField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.rowkey.advice.design import Design

RANGES_A_CALL = 1_000
"""How many ranges the Thrift2 gateway is asked for in one call (`webtable.store.hbase`)."""
CALLS_A_SCANNER = 3
"""A scanner of the Thrift1 gateway is opened, read and closed, a range each."""
_ASKED = 24
_SIZE_OF_A_CELL = 20
"""Bytes of a cell besides row, family, qualifier and value: lengths, timestamp and type (reference guide, KeyValue)."""


class QuestionCost(msgspec.Struct, frozen=True):
    """What a question costs: its ranges, and the gateway calls of its first rows; or why it has no answer.

    The numbers are means over some of the keys. `calls` are those with a Thrift2 gateway, `calls_without` those of
    HappyBase alone.
    """

    question: str
    ranges: float | None
    calls: float | None
    calls_without: float | None
    reason: str = ""


class Hot(msgspec.Struct, frozen=True):
    """The hottest region: its place, its first key, its share of all writes, and who makes how much of that."""

    region: int
    start: bytes
    share: float
    owner: str
    owner_share: float


class Writes(msgspec.Struct, frozen=True):
    """Where the writes go. All shares are from 0 to 1.

    `heat[region][window]` counts them in the order of arrival. `hottest_at_once` is the share of the hottest region in
    a window, on average over the windows, `hottest_server` that of the hottest server; `hottest` is the share of the
    hottest region in the end. `fair` is what `hottest_at_once` would be, were every key put into a region at random.
    """

    splits: tuple[bytes, ...]
    heat: tuple[tuple[int, ...], ...]
    hottest_at_once: float
    hottest_server: float
    hottest: Hot
    fair: float
    fair_server: float
    gini: float
    max_over_mean: float


class Lengths(msgspec.Struct, frozen=True):
    """Bytes of the keys, and the share of a stored cell that they have, alone and with family and qualifier."""

    mean: float
    p99: int
    longest: int
    share: float
    share_with_names: float


class Cell(NamedTuple):
    """The cell whose size the key is held against: `family:qualifier`, and the bytes of its value."""

    column: str = "metadata:page"
    value_bytes: int = 600


def measure_writes(design: Design, items: Sequence[Any], keys: Sequence[bytes], regions: int, servers: int,
                   window: int) -> Writes:
    """Return where *keys*, those of *items* in the order of arrival, go, *window* of them at a time."""
    splits = design.splits.points(regions, keys)
    places = [bisect_right(splits, key) for key in keys]
    count = len(splits) + 1
    windows = [Counter(places[at:at + window]) for at in range(0, len(places), window)]
    totals = [sum(one[region] for one in windows) for region in range(count)]
    size = min(window, len(places))
    return Writes(
        splits=tuple(splits),
        heat=tuple(tuple(one[region] for one in windows) for region in range(count)),
        hottest_at_once=_at_once(windows, lambda region: region),
        hottest_server=_at_once(windows, lambda region: region % servers),
        hottest=_hot(design, items, places, totals, splits),
        fair=_fair(regions, size),
        fair_server=_fair(min(servers, regions), size),
        gini=gini(totals),
        max_over_mean=max(totals) * count / sum(totals),
    )


def measure_lengths(keys: Sequence[bytes], cell: Cell) -> Lengths:
    """Return how long *keys* are, and what that is of *cell*."""
    lengths = sorted(map(len, keys))
    mean = sum(lengths) / len(lengths)
    names = len(cell.column.replace(":", "", 1).encode())
    whole = _SIZE_OF_A_CELL + mean + names + cell.value_bytes
    p99 = lengths[min(len(lengths) - 1, math.ceil(0.99 * len(lengths)) - 1)]
    return Lengths(mean, p99, lengths[-1], mean / whole, (mean + names) / whole)


def measure_questions(design: Design, items: Sequence[Any]) -> tuple[QuestionCost, ...]:
    """Return what each question of *design* costs, asked of some of *items*."""
    asked = items[:: max(1, len(items) // _ASKED)][:_ASKED]
    costs = []
    for question, ask in design.questions.items():
        try:
            ranges = [len(ask(item)) for item in asked]
        except (NoRange, UnknownField) as exc:
            costs.append(QuestionCost(question, None, None, None, str(exc)))
            continue
        mean = sum(ranges) / len(ranges)
        if question in design.gets:
            calls = calls_without = 1.0  # a call reads many rows
        else:
            calls = sum(math.ceil(count / RANGES_A_CALL) for count in ranges) / len(ranges)
            calls_without = mean * CALLS_A_SCANNER
        costs.append(QuestionCost(question, mean, calls, calls_without))
    return tuple(costs)


def gini(counts: Sequence[int]) -> float:
    """Return the Gini coefficient of *counts*: 0 where all are the same, near 1 where one has everything.

    >>> gini([5, 5, 5, 5]), gini([0, 0, 0, 20])
    (0.0, 0.75)
    """
    total, number = sum(counts), len(counts)
    weighted = sum(rank * count for rank, count in enumerate(sorted(counts), 1))
    return 2 * weighted / (number * total) - (number + 1) / number if total else 0.0


def _at_once(windows: Sequence[Counter[int]], place: Any) -> float:
    """Return the share of the busiest place in a window, the mean over all writes."""
    busiest = total = 0
    for one in windows:
        sums: Counter[int] = Counter()
        for region, count in one.items():
            sums[place(region)] += count
        busiest += max(sums.values())
        total += one.total()
    return busiest / total


def _hot(design: Design, items: Sequence[Any], places: Sequence[int], totals: Sequence[int],
         splits: Sequence[bytes]) -> Hot:
    region = max(range(len(totals)), key=totals.__getitem__)
    owners = Counter(design.owner(item) for item, place in zip(items, places, strict=True) if place == region)
    (owner, count), *_ = owners.most_common(1)
    start = splits[region - 1] if region else b""
    return Hot(region, start, totals[region] / len(places), owner, count / totals[region])


def _fair(places: int, size: int) -> float:
    """Return the share of the busiest of *places* where *size* writes go to each with equal chance.

    The mean of the greatest of so many counts, by the normal approximation; exact where there is one place.
    """
    if places == 1:
        return 1.0
    even = 1 / places
    return min(1.0, even + math.sqrt(2 * math.log(places) * even * (1 - even) / size))
