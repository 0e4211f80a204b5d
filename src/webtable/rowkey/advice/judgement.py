"""The judgement of a design: its score, the reasons in words, and the rows of its heat map."""

from __future__ import annotations

import math
import re
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
"""The reading cost of a question without ranges: as much as one with two thousand."""
UNSPLIT = 0.25
"""The part of one-region heat in the heat of a key whose split points come from the keys themselves."""
_WIDE = 1.1
"""The number of rows read for each row wanted from which it is mentioned."""


class WrittenTable(NamedTuple):
    """The table of the measurement: its regions and servers, the keys of a moment, and the size of a cell."""

    regions: int
    servers: int
    window: int
    cell: CellSize


class Judgement(msgspec.Struct, frozen=True):
    """A design, measured. Lower scores are better.

    `score` is `heat` times `reading`. `heat` is the share of the hottest region at any moment over its fair share, at
    least 1; a quarter of it is that of a table of one region if the split points follow from the keys only, which a new
    table does not have. `reading` is the weighted mean over the questions of 1 + log2(ranges): a question with one
    range counts 1, each doubling of the ranges, or of the rows read for each row wanted, adds 1, and a question that
    cannot be answered counts 12.
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
    """Return the judgement of *design* when *items* are written to *table* and it is *asked* these questions."""
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
    """Return the rows read for one; for the latest row a row of each range is read, which the ranges count already."""
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
    """Return the line of a question without ranges: the reason, the remedy, and what is read without it."""
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


MOST_ROWS = 128
_MOST_COLUMNS = 96

_LABEL = 22
"""How many characters of a split point are shown; a longer one is shortened in the middle."""
_SIGN = re.compile(r"\\x[0-9A-F]{2}|.")


def share_text(share: float) -> str:
    """Return a share as percent, with a decimal only if it is small.

    >>> share_text(0.341), share_text(0.0162), share_text(0)
    ('34%', '1.6%', '0%')
    """
    return f"{share:.1%}" if 0 < share < 0.0995 else f"{share:.0%}"


def start_text(key: bytes) -> str:
    r"""Return the first key of a region, with spaces made visible; "(beginning)" for the first region.

    >>> start_text(b" x"), start_text(b"")
    ('\\x20x', '(beginning)')
    """
    return key_text(key).replace(" ", r"\x20") or "(beginning)"


def shared_start(low: bytes, high: bytes) -> int:
    """Return the length of the common prefix of two keys."""
    return next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))


def label(start: bytes, shared: int) -> str:
    """Return a label for the first key of a region; a long key without the common prefix, shortened in the middle."""
    text = start_text(start)
    if len(text) > _LABEL and shared > 2:
        text = f"…{start_text(start[shared:])}" if start[shared:] else text
    if len(text) > _LABEL:
        # An escape such as \\xFF stays whole.
        signs = [(sign.start(), sign.end(), sign[0]) for sign in _SIGN.finditer(text)]
        head = "".join(sign for _, end, sign in signs if end <= _LABEL - 7)
        tail = "".join(sign for start, _, sign in signs if start >= len(text) - 6)
        text = f"{head}…{tail}"
    return text


class Scale(NamedTuple):
    """The shares of a moment's writes, and of all rows, of the darkest colour and the longest bar."""

    at_once: float
    rows: float


class HeatRow(NamedTuple):
    """One or several neighbouring regions: the first of them, the key that it begins with, and shares of the writes."""

    region: int
    start: bytes
    moments: tuple[float, ...]
    rows: float


def scale_of(designs: Sequence[Judgement]) -> Scale:
    """Return a common scale for pictures of *designs*, the shares rounded up to whole tenths.

    It goes up to at least twice the share of the hottest region by chance, so that evenly distributed writes look pale.
    """
    rows = [row for design in designs for row in rows_of(design)]
    even = min(1.0, 2 * max(design.writes.fair for design in designs))
    return Scale(_tenths(max(even, *(max(row.moments) for row in rows))), _tenths(max(row.rows for row in rows)))


def rows_of(judgement: Judgement) -> list[HeatRow]:
    """Return the rows of the picture; if there are too many regions, a row is the hottest of several neighbours."""
    writes = judgement.writes
    columns = _columns([sum(counts) for counts in zip(*writes.heat, strict=True)])
    totals = [sum(sum(region[column]) for region in writes.heat) for column in columns]
    everything = sum(totals)
    starts = (b"", *writes.splits)
    rows = [
        HeatRow(
            number,
            starts[number],
            tuple(sum(region[column]) / total for column, total in zip(columns, totals, strict=True)),
            sum(region) / everything,
        )
        for number, region in enumerate(writes.heat)
    ]
    group = -(-len(rows) // MOST_ROWS)
    return [_hottest(rows[at : at + group]) for at in range(0, len(rows), group)]


def _hottest(rows: Sequence[HeatRow]) -> HeatRow:
    moments = tuple(map(max, zip(*(row.moments for row in rows), strict=True)))
    return HeatRow(rows[0].region, rows[0].start, moments, max(row.rows for row in rows))


def _columns(counts: Sequence[int]) -> list[slice]:
    """Return the windows of each column; a much shorter last window is joined with the one before."""
    group = -(-len(counts) // _MOST_COLUMNS)
    starts = list(range(0, len(counts), group))
    # With very few keys a share is high by chance.
    if len(starts) > 1 and 2 * sum(counts[starts[-1] :]) < sum(counts[starts[-2] : starts[-1]]):
        starts.pop()
    return [slice(start, stop) for start, stop in zip(starts, [*starts[1:], len(counts)], strict=True)]


def _tenths(share: float) -> float:
    return -(-round(share * 1000) // 100) / 10
