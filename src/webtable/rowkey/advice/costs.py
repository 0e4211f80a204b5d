"""What is measured of a design: how its writes are distributed, how long its keys are, and what its questions cost.

The cost of a question has its ranges, calls, the rows read for each row wanted, and how the latest row is found.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from webtable.errors import NoRange, UnknownField
from webtable.rowkey.advice.questions import Question
from webtable.rowkey.fields.field import Between, between
from webtable.rowkey.ranges import KeyRange, calls_of, groups_of

if TYPE_CHECKING:
    from webtable.rowkey.advice.designs import Design


# --- Writes and lengths -----------------------------------------------------------------------------------------------


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
    # A region is the place among the split points; on its server are all whose number has the same remainder.
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
    # Regions that cannot be split off count as empty ones: what was wanted is an even share of all of them.
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
    lengths = sorted(map(len, keys))  # every cell repeats the whole key, so its length is space and transfer
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
    return sum(before < key for before, key in pairs) / count, sum(before > key for before, key in pairs) / count


def _hot(owners: Sequence[str], places: Sequence[int], totals: Sequence[int], splits: Sequence[bytes]) -> Hot:
    region = max(range(len(totals)), key=totals.__getitem__)
    counts = Counter(owner for owner, place in zip(owners, places, strict=True) if place == region)
    (owner, count), *_ = counts.most_common(1)
    start = splits[region - 1] if region else b""
    return Hot(region, start, totals[region] / len(places), owner, count / totals[region])


# --- The cost of a question -------------------------------------------------------------------------------------------


GROUPS = 8
"""How many groups of neighbouring regions the ranges of a question form: one for each connection of a store."""
CALLS_A_SCANNER = 3
"""The calls for each range with Thrift1: a scanner is opened, read and closed."""
_MOST_COUNTED = 4_096
"""The most ranges of a question, for all items together, in which rows are counted."""
Order = Literal["", "as stored", "reverse scan", "sort"]

_SAMPLED = 24
_PART = 10
"""A range of time or value includes a tenth of all rows."""

ValueOf = Callable[[Any, str], Any]


class Inquiry(NamedTuple):
    """A question, asked with the values of some *items*: the conditions for each, and the number of rows it wants.

    A named question of a design has no conditions. `wanted` is the mean over the items, None if unknown; for the latest
    row it is 1.
    """

    question: Question
    items: Sequence[Any]
    conditions: Sequence[Mapping[str, Any]] = ()
    wanted: float | None = None


def inquiries(
    questions: Sequence[Question], named: Collection[str], items: Sequence[Any], value_of: ValueOf
) -> list[Inquiry]:
    """Return *questions* with the values that *value_of* finds in some of *items*."""
    sampled = items[:: max(1, len(items) // _SAMPLED)][:_SAMPLED]
    return [
        Inquiry(question, sampled) if str(question) in named else _inquiry(question, sampled, items, value_of)
        for question in questions
    ]


def _inquiry(question: Question, sampled: Sequence[Any], items: Sequence[Any], value_of: ValueOf) -> Inquiry:
    in_order = {name: _sorted([value_of(item, name) for item in items]) for name in question.between}
    conditions = [
        {name: value_of(item, name) for name in question.given}
        | {name: between(since := value_of(item, name), _until(in_order[name], since)) for name in question.between}
        for item in sampled
    ]
    wanted = 1.0 if question.latest else _wanted(question, conditions, items, value_of)
    return Inquiry(question, sampled, conditions, wanted)


def _sorted(values: list[Any]) -> list[Any]:
    """Return *values* sorted; empty if they cannot be sorted."""
    try:
        return sorted(values)
    except TypeError:
        return []


def _until(values: Sequence[Any], since: Any) -> Any:
    """Return the value a tenth of all *values* after *since*; None if there is none."""
    place = max(bisect_left(values, since) + len(values) // _PART, bisect_right(values, since)) if values else 0
    return values[place] if place < len(values) else None


def _wanted(
    question: Question, conditions: Sequence[Mapping[str, Any]], items: Sequence[Any], value_of: ValueOf
) -> float | None:
    """Return how many of *items* meet the conditions, on average; None if values cannot be compared."""
    if len(question.between) > 1:
        return None
    # By the values of the question, the sorted values of which it takes a range: so each condition is two bisections.
    groups: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    ranged = question.between[0] if question.between else None
    try:
        for item in items:
            values = tuple(value_of(item, name) for name in question.given)
            groups[values].append(0 if ranged is None else value_of(item, ranged))
        for group in groups.values():
            group.sort()
    except TypeError:
        return None
    counts = (
        _count(groups[tuple(condition[name] for name in question.given)], ranged and condition[ranged])
        for condition in conditions
    )
    return sum(counts) / len(conditions)


def _count(group: Sequence[Any], condition: Any) -> int:
    if condition is None:
        return len(group)
    stop = len(group) if condition.until is None else bisect_left(group, condition.until)
    return stop - bisect_left(group, condition.since)


class QuestionCost(msgspec.Struct, frozen=True):
    """The cost of a question: its ranges, and the gateway calls for its first rows; or why it cannot be answered.

    The numbers are means over some of the keys. `calls` are those with a Thrift2 gateway, `calls_without` those with
    Thrift1 only. It counts `weight` times for the score, 0 if it was derived in addition to questions of the user.

    `rows_read` and `rows_wanted` are rows of those that were measured; for the latest row one is read in each range,
    and one is wanted. Without ranges, `reason` says why, `fix` what would help, and `rows_read` are those of the
    question `instead`, in `instead_ranges`, which are filtered, or of the whole table if that is empty. `order` says
    how the latest row is found: as the first row of its ranges, as the last, or among all of them.
    """

    question: str
    ranges: float | None
    calls: float | None
    calls_without: float | None
    reason: str = ""
    fix: str = ""
    instead: str = ""
    weight: float = 1.0
    rows_read: float = 0.0
    rows_wanted: float | None = None
    order: Order = ""
    instead_ranges: float = 1.0

    @property
    def rows_for_one(self) -> float | None:
        """The number of rows read for each row wanted; None if unknown."""
        return None if self.rows_wanted is None else self.rows_read / max(1.0, self.rows_wanted)


def measure_questions(
    design: Design, splits: Sequence[bytes], inquiries: Sequence[Inquiry], keys: Sequence[bytes]
) -> tuple[QuestionCost, ...]:
    """Return the cost of each of *inquiries* for *design*, in a table of *keys* with these *splits*."""
    in_order = sorted(keys)  # the rows of a range are counted by two bisections
    return tuple(_cost(design, splits, inquiry, in_order) for inquiry in inquiries)


def _cost(design: Design, splits: Sequence[bytes], inquiry: Inquiry, keys: Sequence[bytes]) -> QuestionCost:
    question, name = inquiry.question, str(inquiry.question)
    is_named = name in design.questions
    order: Order = ""
    try:
        if is_named:
            each = [design.questions[name](item) for item in inquiry.items]
        elif not question.latest:
            each = _ranges(design, inquiry.conditions)
        else:
            newest = [design.key.latest(**design.conditions(values)) for values in inquiry.conditions]
            each = [latest.ranges for latest in newest]
            order = "reverse scan" if newest[0].backwards else "as stored"
    except (NoRange, UnknownField) as exc:
        return _unanswered(design, inquiry, exc, keys)
    mean = sum(map(len, each)) / len(each)
    if name in design.gets:
        calls = calls_without = 1.0  # a call reads many rows
    else:
        calls = sum(len(calls_of(groups_of(ranges, splits, GROUPS), 1)) for ranges in each) / len(each)
        calls_without = mean * CALLS_A_SCANNER
    read = _rows_read(each, keys, at_most=1 if order else len(keys))
    return QuestionCost(
        name,
        mean,
        calls,
        calls_without,
        weight=question.weight,
        rows_read=read,
        # A named question has ranges of exactly its own rows.
        rows_wanted=read if is_named else inquiry.wanted,
        order=order,
    )


def _ranges(design: Design, conditions: Sequence[Mapping[str, Any]]) -> list[list[KeyRange]]:
    return [design.key.ranges(**design.conditions(values)) for values in conditions]


def _unanswered(design: Design, inquiry: Inquiry, exc: NoRange | UnknownField, keys: Sequence[bytes]) -> QuestionCost:
    """Return the cost without ranges: reading those of a wider question, or the whole table."""
    question = inquiry.question
    reason, fix = (exc.reason, exc.fix) if isinstance(exc, NoRange) else (str(exc), "put it into the key")
    if str(question) not in design.questions:  # a named question is not made of values
        names = ", ".join(question.names)
        newest = " and ".join(filter(None, [names, "the time, newest first"]))
        fix += f", or add an index by {newest if question.latest else names}"
    read, instead, ranges = float(len(keys)), "", 1.0
    for wider, each in _wider(design, inquiry):
        rows = _rows_read(each, keys, at_most=len(keys))
        if rows < read:
            read, instead, ranges = rows, wider, sum(map(len, each)) / len(each)
    order: Order = "sort" if question.latest else ""
    return QuestionCost(
        str(question), None, None, None, reason, fix, instead, question.weight, read, inquiry.wanted, order, ranges
    )


def _wider(design: Design, inquiry: Inquiry) -> Iterator[tuple[str, list[list[KeyRange]]]]:
    """Yield wider questions for which *design* has ranges, with these ranges."""
    names = inquiry.question.names if inquiry.conditions else ()
    for count in range(len(names), 0, -1):
        for kept in combinations(names, count):
            try:
                each = _ranges(design, [{name: values[name] for name in kept} for values in inquiry.conditions])
            except (NoRange, UnknownField):
                continue
            yield ", ".join(_label(name, inquiry.conditions[0][name]) for name in kept), each


def _label(name: str, condition: Any) -> str:
    return f"{name} between" if isinstance(condition, Between) else name


def _rows_read(each: Sequence[Sequence[KeyRange]], keys: Sequence[bytes], *, at_most: int) -> float:
    """Return how many of *keys* are in the ranges of an item, on average, counting *at_most* so many for each range."""
    # An item may have 65,536 ranges; items are alike, so a few tell as much.
    longest = max(map(len, each), default=1) or 1
    counted = each[: max(1, _MOST_COUNTED // longest)]
    return sum(min(at_most, _rows_in(within, keys)) for ranges in counted for within in ranges) / len(counted)


def _rows_in(within: KeyRange, keys: Sequence[bytes]) -> int:
    start = bisect_left(keys, within.start)
    return max(0, (bisect_left(keys, within.stop) if within.stop else len(keys)) - start)
