"""Designs ranked by score, and the crawls for which the ranking holds, by the number of hosts."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from webtable.display.text import plural
from webtable.rowkey.advice.costs import (
    HOT,
    CellSize,
    Lengths,
    QuestionCost,
    Writes,
    fair_share,
    measure_lengths,
    measure_questions,
    measure_writes,
)
from webtable.rowkey.advice.questions import MOST_DERIVED
from webtable.rowkey.ranges import key_text
from webtable.rowkey.urls import split_url
from webtable.rowkey.web import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.rowkey.advice.costs import Inquiry
    from webtable.rowkey.advice.designs import Design


# --- The judgement of a design: its score, the reasons in words, and the rows of its heat map -------------------------


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


# ----------------------------------------------------------------------------------------------------------------------


DEFAULT = "host"
"""The default design of web tables."""
_SALTS = (DEFAULT, "domain", "url", "none")
_COMPARED_ONLY = ("hash", "random")
"""Designs that are measured for comparison: no web table can have them."""
_MOST_TRIED = 2**24


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
    counts = Counter(split_url(url).host for url in urls)
    ((largest, most),) = counts.most_common(1)
    domains = len(set(map(registered_domain, counts)))
    return CrawlScope(len(counts), domains, largest, most / counts.total(), hosts_that_spread(regions))


def hosts_that_spread(regions: int) -> int:
    """Return how many hosts of equal size it takes until the busiest region has less than 1.5 times its fair share.

    >>> hosts_that_spread(1), hosts_that_spread(16)
    (1, 230)
    """
    low, high = 0, 1
    while high < _MOST_TRIED and fair_share(regions, high) > HOT / regions:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fair_share(regions, middle) > HOT / regions else (low, middle)
    return _rounded_up(high)


def _rounded_up(number: int) -> int:
    """Return *number* rounded up to two significant digits, as a rule of thumb."""
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // unit) * unit


def sentences_of(scope: CrawlScope, ranked: Sequence[Judgement], regions: int, *, is_sampled: bool) -> tuple[str, ...]:
    """Return sentences on the crawls for which the verdict holds, and on its difference from the default."""
    said = [_measured_on(scope, is_sampled=is_sampled), *_of_spread(scope, regions)]
    place = next((at for at, design in enumerate(ranked, 1) if design.name == DEFAULT), 0)
    best = next((design for design in ranked if design.name not in _COMPARED_ONLY), None)
    if place and len(ranked) > 1 and best is ranked[place - 1]:
        which = "of these designs" if place == 1 else "of the designs that a web table can have"
        said.append(f"{DEFAULT}, the default of web tables, is the best {which} here too")
    elif place and best is not None:
        default = ranked[place - 1]
        reasons = "; ".join([*_why_hot(scope, default), *_why_dear(best, default)])
        said.append(f"{DEFAULT}, the default of web tables, comes in place {place} of {len(ranked)} here: {reasons}")
        said.append(_advice(scope, best, default))
    return tuple(said)


def _measured_on(scope: CrawlScope, *, is_sampled: bool) -> str:
    where = " (counted among the URLs that were measured)" if is_sampled else ""
    return (
        f"the verdict holds for crawls like this one: {plural(scope.hosts, 'host')} of "
        f"{plural(scope.domains, 'domain')}{where}, of which the largest, {scope.largest}, has "
        f"{_share(scope.largest_share)} of the URLs"
    )


def _of_spread(scope: CrawlScope, regions: int) -> list[str]:
    if regions == 1:
        return []
    if scope.is_few:
        busiest = fair_share(regions, scope.hosts)
        return [
            f"{plural(scope.hosts, 'host')} cannot spread over {regions:,} regions by a salt of the host: chance "
            f"alone gives one region {busiest:.0%} of them, where {1 / regions:.1%} would be even; some "
            f"{scope.enough:,} hosts of one size can"
        ]
    if scope.largest_share > HOT / regions:
        return [
            f"{scope.hosts:,} hosts are enough to spread over {regions:,} regions, but {scope.largest} alone has more "
            f"than the fair share of a region, {1 / regions:.1%}: only a salt of the URL spreads that"
        ]
    return [f"{scope.hosts:,} hosts are enough to spread over {regions:,} regions by a salt of the host"]


def _why_hot(scope: CrawlScope, default: Judgement) -> list[str]:
    if not default.writes.is_hot:
        return ["its writes are spread"]
    writes = default.writes
    if writes.owner_at_once >= HOT * writes.fair:
        share = f"{writes.owner_at_once:.0%}"
        return [
            f"its writes are hot because {share} of those of a moment are for one host, however many hosts there are"
        ]
    if scope.is_few:
        return ["its writes are hot because the hosts are so few, and would not be with many"]
    return ["its writes are hot because those of a moment are of too few hosts"]


def _why_dear(best: Judgement, default: Judgement) -> list[str]:
    cheaper = {cost.question: cost.ranges for cost in best.questions}
    reasons = []
    for cost in default.questions:
        other = cheaper.get(cost.question)
        if cost.weight and cost.ranges is not None and cost.calls is not None and other and cost.ranges > other:
            calls = f"{plural(round(cost.calls), 'call')} where there is a Thrift2 gateway"
            reasons.append(f"{cost.question} takes {cost.ranges:,.0f} ranges in place of {other:,.0f}, in {calls}")
    return reasons


def _advice(scope: CrawlScope, best: Judgement, default: Judgement) -> str:
    made = f" (create --salt {best.name})" if best.name in _SALTS else ""
    if scope.is_few:
        return (
            f"take {best.name}{made} if these hosts are all that the table will have; if not, judge by a crawl of more "
            "hosts"
        )
    if default.writes.is_hot and default.heat > best.heat:
        return f"take {best.name}{made} where crawls are like this one"
    notes = {
        "domain": "it is not the default because it needs one version of the Public Suffix List for ever",
        "none": "it is not the default because it is split by keys that a new table does not have",
    }
    note = f"; {notes[best.name]}" if best.name in notes else ""
    return f"take {best.name}{made} where those questions are asked often, else {DEFAULT}{note}"


def _share(share: float) -> str:
    return share_text(share) if share >= 0.001 else "less than 0.1%"


class Ranking(msgspec.Struct, frozen=True):
    """Designs for a row key, the best first, and the measured keys; see `Advice`."""

    designs: tuple[Judgement, ...]
    keys: int
    measured: int
    margin: float
    regions: int
    servers: int
    window: int
    column: str | None
    value_bytes: int
    skipped: int
    first_skipped: str
    scope: CrawlScope | None = None
    holds_for: tuple[str, ...] = ()
    not_asked: tuple[str, ...] = ()

    @property
    def best(self) -> Judgement:
        """The design with the lowest score."""
        return self.designs[0]

    @property
    def measure(self) -> str:
        """A line about the measured keys."""
        sampled = (
            ""
            if not self.margin
            else (f" ({self.measured:,} of them measured, evenly through time: shares in the end ±{self.margin:.1%})")
        )
        regions = f"{plural(self.regions, 'region')} on {plural(self.servers, 'server')}"
        return f"{plural(self.keys, 'key')}{sampled}, {regions}, {self.window:,} at a moment"

    @property
    def said_of_all(self) -> tuple[str, ...]:
        """Sentences about all designs: the crawls for which the verdict holds, and the questions not asked."""
        if not self.not_asked:
            return self.holds_for
        left_out = f"questions that were derived are {MOST_DERIVED} at most; left out: {'; '.join(self.not_asked)}"
        return (*self.holds_for, left_out)

    def __getitem__(self, name: str) -> Judgement:
        for design in self.designs:
            if design.name == name:
                return design
        raise KeyError(name)
