"""Designs ranked by score, and the crawls for which the ranking holds, by the number of hosts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from webtable._shown.text import plural
from webtable.rowkey.advice.judgement import Judgement, share_text
from webtable.rowkey.advice.measures import HOT, fair_share
from webtable.rowkey.advice.questions import MOST_DERIVED
from webtable.rowkey.urls import split_url
from webtable.rowkey.web_salt import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
