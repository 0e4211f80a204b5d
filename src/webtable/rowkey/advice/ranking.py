"""The judgement of a design: its score with the reasons; and the crawls for which a ranking holds."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from webtable.display.text import plural
from webtable.rowkey.advice.costs import (
    HOT,
    CellSize,
    Inquiry,
    Lengths,
    QuestionCost,
    Writes,
    fair_share,
    measure_lengths,
    measure_questions,
    measure_writes,
)
from webtable.rowkey.ranges import key_text
from webtable.rowkey.urls import split_url
from webtable.rowkey.web import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.rowkey.advice.designs import Design


# --- Judgements -------------------------------------------------------------------------------------------------------


LEAST_ROWS = 1 << 20
"""The rows of the table for a scan of all of it, if fewer keys are measured: a smaller table needs no design."""
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

    `score` is `heat` times `reading` plus `scanning`. `heat` is the share of the hottest region at any moment over its
    fair share, at least 1; a quarter of it is that of a table of one region if the split points follow from the keys
    only, which a new table does not have. `reading` and `scanning` are parts of the weighted mean over the questions:
    of those with ranges, and of those without. A question with ranges counts 1 + log2(ranges), and each doubling of
    the rows read for each row wanted adds 1. One without reads the whole table, as if each row were a range, of a
    million rows at least, or the rows of a wider question; all regions take part in that, so the heat of one is no
    matter. `verdict` says what counts for and against the design in a line, and `why` has all reasons.
    """

    name: str
    declaration: str
    score: float
    heat: float
    reading: float
    scanning: float
    verdict: str
    why: tuple[str, ...]
    writes: Writes
    lengths: Lengths
    questions: tuple[QuestionCost, ...]


def judged(design: Design, items: Sequence[Any], table: WrittenTable, inquiries: Sequence[Inquiry]) -> Judgement:
    """Return the judgement of *design* when *items* are written to *table* and asked for by *inquiries*."""
    keys = [design.encode(item) for item in items]
    writes = measure_writes(design, items, keys, table.regions, table.servers, table.window)
    lengths = measure_lengths(keys, table.cell)
    costs = measure_questions(design, writes.splits, inquiries, keys)
    # Nobody has the keys when a table is new: without split points it is one region, whose share is 1.
    hindsight = max(1.0, writes.hottest_at_once / writes.fair)
    heat = (1 - UNSPLIT) * hindsight + UNSPLIT / writes.fair if design.splits.by_sample else hindsight
    weight = sum(cost.weight for cost in costs)
    reading = sum(cost.weight * _dearness(cost, len(keys)) for cost in costs if cost.ranges is not None) / weight
    scanning = sum(cost.weight * _dearness(cost, len(keys)) for cost in costs if cost.ranges is None) / weight
    why = [*_of_writes(writes, table.regions, design), *_of_questions(costs), *filter(None, [design.note])]
    why.append(_of_lengths(lengths, table.cell))
    return Judgement(
        design.name,
        design.declaration,
        heat * reading + scanning,
        heat,
        reading,
        scanning,
        _verdict(writes, costs),
        tuple(why),
        writes,
        lengths,
        costs,
    )


def _dearness(cost: QuestionCost, rows: int) -> float:
    # Logarithms, since 256 ranges are not 256 times as bad: they are read side by side.
    scan = 1 + math.log2(max(rows, LEAST_ROWS))
    if cost.ranges is None and (not cost.instead or cost.order or cost.rows_for_one is None):
        return scan
    ranges = cost.instead_ranges if cost.ranges is None else cost.ranges
    return min(scan, 1 + math.log2(max(1.0, ranges)) + math.log2(_filtered(cost)))


def _verdict(writes: Writes, costs: Sequence[QuestionCost]) -> str:
    """Return in a line what counts for and against a design: heat, ranges, and questions without an answer."""
    weighed = [cost for cost in costs if cost.weight]
    ranges = [cost.ranges for cost in weighed if cost.ranges is not None]
    mean = sum(ranges) / len(ranges) if ranges else 0
    merits: list[str] = []
    faults: list[str] = []
    share = (
        f"{share_text(writes.hottest_at_once)} of a moment's writes in one region, {share_text(writes.fair)} by chance"
    )
    (faults if writes.is_hot else merits).append(share if writes.is_hot else "even writes")
    if ranges:
        (merits if mean < 2 else faults).append(f"{mean:,.0f} {_ranges(mean)} a question")
    if len(ranges) < len(weighed):
        faults.append(f"{len(weighed) - len(ranges)} of {plural(len(weighed), 'question')} without an answer")
    elif len(weighed) > 1:
        merits.append(f"an answer to all {len(weighed)} questions")
    return "; ".join(
        f"{name} {', '.join(points)}" for name, points in (("for:", merits), ("against:", faults)) if points
    )


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
        # A tenth may come out of order.
        if max(writes.ascending, writes.descending) > 0.9:
            order = "the order" if writes.ascending > 0.9 else "the reverse of the order"
            moved = f"the keys come in {order} in which they sort, so the hot region only moves, even if all are even"
            reasons.append(": ".join(filter(None, [f"{moved} in the end", design.remedy_of_order])))
        elif not is_one_owners and writes.owner_at_once > writes.hottest_at_once / 2:
            reasons.append(
                f"{writes.owner_at_once:.0%} of the writes of a moment are for one {design.owners}: {design.fix}"
            )
    if is_one_owners:
        reasons.append(
            f"the region from {key_text(hot.start) or 'the beginning'} takes {hot.share:.0%} of all writes, "
            f"{hot.owner_share:.0%} of them for {hot.owner}: {design.fix}"
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
    """Return the line of a question without ranges: the reason, the fix, and what is read without it."""
    if not cost.instead:
        read = "it reads all rows"
    else:
        rows = "all its" if cost.rows_for_one is None else f"{cost.rows_for_one:,.0f}"
        read = f"it reads {rows} rows for each one wanted ({cost.instead})"
    sort = ", and sorts them" if cost.order == "sort" else ""
    counted = "" if cost.weight else " (not counted)"
    return f"cannot answer {cost.question}{counted}: {cost.reason}; {cost.fix}; without that {read}{sort}"


def _of_lengths(lengths: Lengths, cell: CellSize) -> str:
    with_names = lengths.share_with_names
    names = "" if with_names is None else f", {with_names:.0%} with the names of family and column"
    return f"keys of {lengths.mean:.0f} bytes (p99 {lengths.p99}): {lengths.share:.0%} of {cell}{names}"


def share_text(share: float) -> str:
    """Return a share as percent, with a decimal only if it is small.

    >>> share_text(0.341), share_text(0.0162), share_text(0)
    ('34%', '1.6%', '0%')
    """
    return f"{share:.1%}" if 0 < share < 0.0995 else f"{share:.0%}"


# --- Crawls -----------------------------------------------------------------------------------------------------------
#
# A ranking holds for crawls of as many hosts as the one that was measured.


class CrawlScope(msgspec.Struct, frozen=True):
    """The crawl that was measured: the number of hosts and registered domains, and the largest host with its share.

    `enough` is how many hosts of equal size it takes until chance alone puts at most 1.5 times its fair share into one
    of the regions.
    """

    hosts: int
    domains: int
    largest: str
    largest_share: float
    enough: int

    @property
    def is_few(self) -> bool:
        """Whether there are too few hosts to distribute over the regions, even if all are of equal size."""
        return self.hosts < self.enough


def scope_of(urls: Iterable[str], regions: int) -> CrawlScope:
    """Return the scope of *urls*, for a table of so many *regions*."""
    counts = Counter(split_url(url).host for url in urls)  # of the sample, as far as the keys are one
    ((largest, count),) = counts.most_common(1)
    domains = len(set(map(registered_domain, counts)))
    return CrawlScope(len(counts), domains, largest, count / counts.total(), hosts_that_spread(regions))


def hosts_that_spread(regions: int) -> int:
    """Return how many hosts of equal size it takes until the busiest region has less than 1.5 times its fair share.

    It is rounded up to two digits, as a rule of thumb.

    >>> hosts_that_spread(1), hosts_that_spread(16)
    (1, 230)
    """
    # 10,000 regions, the most that are measured, take less than a million.
    counts = range(1, 2**20)
    hosts = counts[bisect_left(counts, True, key=lambda hosts: fair_share(regions, hosts) <= HOT / regions)]
    unit: int = 10 ** max(0, len(str(hosts)) - 2)
    return -(-hosts // unit) * unit


def sentences_of(scope: CrawlScope, regions: int, *, is_sampled: bool) -> tuple[str, ...]:
    """Return sentences on the crawls for which the verdict holds, and on whether hosts spread over the regions."""
    where = " (counted among the URLs that were measured)" if is_sampled else ""
    share = share_text(scope.largest_share) if scope.largest_share >= 0.001 else "less than 0.1%"
    measured = (
        f"the verdict holds for crawls like this one: {plural(scope.hosts, 'host')} of "
        f"{plural(scope.domains, 'domain')}{where}, of which the largest, {scope.largest}, has {share} of the URLs"
    )
    enough = f"{scope.hosts:,} hosts are enough to spread over {regions:,} regions"
    if regions == 1:
        return (measured,)
    if scope.is_few:
        busiest = fair_share(regions, scope.hosts)
        spread = (
            f"{plural(scope.hosts, 'host')} cannot spread over {regions:,} regions by a salt of the host: chance "
            f"alone gives one region {busiest:.0%} of them, where {1 / regions:.1%} would be even; some "
            f"{scope.enough:,} hosts of one size can"
        )
    elif scope.largest_share > HOT / regions:
        spread = (
            f"{enough}, but {scope.largest} alone has more than the fair share of a region, {1 / regions:.1%}: only a "
            "salt of the URL spreads that"
        )
    else:
        spread = f"{enough} by a salt of the host"
    return measured, spread
