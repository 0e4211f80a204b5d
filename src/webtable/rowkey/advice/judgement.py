"""The judgement on a design: its score, and the reasons for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from webtable.rowkey.advice.costs import QuestionCost, measure_questions
from webtable.rowkey.advice.measures import HOT, CellSize, Lengths, Writes, measure_lengths, measure_writes
from webtable.rowkey.ranges import key_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.rowkey.advice.costs import Inquiry
    from webtable.rowkey.advice.design import Design

UNANSWERED = 12.0
"""What a question counts that has no ranges: as much as one with two thousand."""
UNSPLIT = 0.25
"""How much of the heat of a key that is split by the keys themselves is that of a table of one region."""
_WIDE = 1.1
"""From how many rows for each one wanted on they are worth a word."""


class WrittenTable(NamedTuple):
    """The table that is written to: its regions, the servers that they are on, the keys of a moment, and a cell."""

    regions: int
    servers: int
    window: int
    cell: CellSize


class Judgement(msgspec.Struct, frozen=True):
    """A design, measured. Lower scores are better.

    `score` is `heat` times `reading`. `heat` says how many times over its fair share the hottest region is at any
    moment, 1 at least; a quarter of it is that of a table of one region, where only the keys themselves say how to
    split it, which a new table cannot know. `reading` is the mean over the questions, by their weights, of 1 +
    log2(ranges): a question of one range counts 1, each doubling of the ranges, or of the rows that are read for each
    one wanted, 1 more, and one that cannot be answered 12.
    """

    name: str
    declaration: str
    score: float
    heat: float
    reading: float
    why: tuple[str, ...]
    writes: Writes
    lengths: Lengths
    questions: tuple[QuestionCost, ...]


def judged(design: Design, items: Sequence[Any], table: WrittenTable, asked: Sequence[Inquiry]) -> Judgement:
    """Return what becomes of *table* when *items* are written to it by *design*, and what is *asked* of it."""
    keys = [design.encode(item) for item in items]
    writes = measure_writes(design, items, keys, table.regions, table.servers, table.window)
    lengths = measure_lengths(keys, table.cell)
    costs = measure_questions(design, writes.splits, asked, keys)
    hindsight = max(1.0, writes.hottest_at_once / writes.fair)
    heat = (1 - UNSPLIT) * hindsight + UNSPLIT / writes.fair if design.splits.by_sample else hindsight
    reading = sum(cost.weight * _dearness(cost) for cost in costs) / sum(cost.weight for cost in costs)
    why = [*_of_writes(writes, table.regions, design), *_of_questions(costs), *filter(None, [design.note])]
    why.append(_of_lengths(lengths, table.cell))
    return Judgement(design.name, design.declaration, heat * reading, heat, reading, tuple(why), writes, lengths, costs)


def _dearness(cost: QuestionCost) -> float:
    if cost.ranges is None:
        return UNANSWERED
    return min(UNANSWERED, 1 + math.log2(max(1.0, cost.ranges)) + math.log2(_filtered(cost)))


def _filtered(cost: QuestionCost) -> float:
    """Return how many rows are read for one; of the latest one a range is read, which the ranges count already."""
    return 1.0 if cost.order else max(1.0, cost.rows_for_one or 1.0)


def _of_writes(writes: Writes, regions: int, design: Design) -> list[str]:
    share, chance = f"{writes.hottest_at_once:.0%}", f"where chance alone would make it {writes.fair:.0%}"
    count, hot = len(writes.heat), writes.hottest
    is_one_owners = hot.share > HOT * writes.fair_in_the_end and hot.owner_share > 0.5 and count > 1
    reasons = []
    if not writes.is_hot:
        reasons.append(f"writes are spread: at any moment the hottest region takes {share} of them, {chance}")
    else:
        reasons.append(f"hot: at any moment one region takes {share} of the writes, {chance}")
        if max(writes.ascending, writes.descending) > 0.9:
            order = "the order" if writes.ascending > 0.9 else "the reverse of the order"
            moved = f"the keys come in {order} in which they sort, so the hot region only moves, even if all are even"
            reasons.append(": ".join(filter(None, [f"{moved} in the end", design.remedy_of_order])))
        elif not is_one_owners and writes.owner_at_once > writes.hottest_at_once / 2:
            reasons.append(
                f"{writes.owner_at_once:.0%} of the writes of a moment are for one {design.owners}: {design.remedy}"
            )
    if is_one_owners:
        reasons.append(
            f"the region from {key_text(hot.start) or 'the beginning'} takes {hot.share:.0%} of all writes, "
            f"{hot.owner_share:.0%} of them for {hot.owner}: {design.remedy}"
        )
    if design.splits.by_sample:
        reasons.append("split by these keys themselves, with hindsight: without it a new table is one region")
        if count < regions:
            reasons.append(f"only {count} of {regions} regions: there are too few different keys")
    elif count < regions:
        reasons.append(f"only {count} of {regions} regions can be split off before there is data")
    return reasons


def _of_questions(costs: Sequence[QuestionCost]) -> list[str]:
    by_ranges: dict[str, list[str]] = {}
    for cost in costs:
        if cost.ranges is not None:
            number = f"{cost.ranges:,.0f} {_ranges(cost.ranges)}"
            by_ranges.setdefault(number, []).append(cost.question)
    reasons = [f"{number} for {'; '.join(names)}" for number, names in by_ranges.items()]
    reasons += [
        f"{cost.question} is the last row of its {_ranges(cost.ranges)}: a reverse scan"
        for cost in costs
        if cost.ranges is not None and cost.order == "reverse scan"
    ]
    reasons += [
        f"reads {_filtered(cost):,.1f} rows for each one wanted of {cost.question}"
        for cost in costs
        if cost.ranges is not None and _filtered(cost) > _WIDE
    ]
    return [*reasons, *(_no_answer(cost) for cost in costs if cost.ranges is None)]


def _ranges(count: float) -> str:
    return "range" if round(count) == 1 else "ranges"


def _no_answer(cost: QuestionCost) -> str:
    """Return the line of what cannot be answered: the reason, what helps, and what is read as the key is."""
    if not cost.instead:
        read = "it reads all rows"
    else:
        rows = "all its" if cost.rows_for_one is None else f"{cost.rows_for_one:,.0f}"
        read = f"it reads {rows} rows for each one wanted ({cost.instead})"
    sort = ", and sorts them" if cost.order == "sort" else ""
    counted = "" if cost.weight else " (not counted)"
    return f"cannot answer {cost.question}{counted}: {cost.reason}; {cost.remedy}; without that {read}{sort}"


def _of_lengths(lengths: Lengths, cell: CellSize) -> str:
    with_names = lengths.share_with_names
    names = "" if with_names is None else f", {with_names:.0%} with the names of family and column"
    return f"keys of {lengths.mean:.0f} bytes (p99 {lengths.p99}): {lengths.share:.0%} of {cell}{names}"
