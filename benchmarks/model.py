"""What do a billion pages and a hundred billion need: bytes, regions, servers, calls of a question, the hottest region?

    python -m benchmarks.model build/scale.jsonl

It takes what a page costs from one size of `benchmarks.scale` on HBase, foretells the larger sizes from it, and says
how far that is from what was measured there. Then it prints what larger crawls need, as a table of Markdown.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CRAWLS = (10**9, 10**11)
KNOWN_FROM = 100_000
"""The cost of a page is taken from the first size of so many: in smaller tables the fixed parts count."""
WITHIN = 0.20
REAL_PAGE = (87.0e6 + 5.0e6) / 6_208
"""Bytes of a page of the corpus with its links and entries, on HBase (index_storage, 2026-11-21)."""

REPLICAS = 3
"""HDFS keeps each block three times (dfs.replication)."""
REGION = 10e9
"""A region is split when one of its families has 10 GB (hbase.hregion.max.filesize)."""
REGIONS_A_SERVER = 100
"""HBase's reference guide holds 20 to 200 of them for a good number."""
DISK_A_SERVER = 12e12 * 0.7
"""12 TB of disks, of which compactions need some."""
DAYS = 30
"""In which the crawl is to be stored."""
PAGES_A_HOST = 1_000
HOSTS_OF_A_DOMAIN = 4
SALTS = 256
"""Two hexadecimal digits, as a salt has by default."""


@dataclass(frozen=True)
class PageCost:
    """What a page costs: bytes in all tables, of one copy; how many are stored in a second; calls of each question."""

    bytes: float
    pages_per_second: float
    calls: dict[str, int]

    @classmethod
    def between(cls, small: scale.Size, large: scale.Size) -> PageCost:
        """Return what each page cost by which a table grew from *small* to *large*."""
        grown = sum(large.bytes.values()) - sum(small.bytes.values())
        return cls(grown / (large.pages - small.pages), large.pages_per_second, large.calls)


@dataclass(frozen=True)
class Needs:
    """What a crawl needs: bytes of one copy, pages to be stored in a second, regions, and servers for each reason."""

    bytes: float
    rate: float
    regions: int
    servers: dict[str, int]


def needs(pages: int, cost: PageCost) -> Needs:
    """Return what so many *pages* need."""
    stored = pages * cost.bytes
    rate = pages / (DAYS * 86_400)
    regions = max(1, math.ceil(stored / REGION))
    servers = {
        "disks": stored * REPLICAS / DISK_A_SERVER,
        "regions": regions / REGIONS_A_SERVER,
        "rate": rate / cost.pages_per_second,
    }
    return Needs(stored, rate, regions, {reason: math.ceil(count) for reason, count in servers.items()})


def hottest(hosts: int, regions: int, *, together: int = 1, draws: int = 20) -> float:
    """Return the share of the hottest region where the n-th of so many *hosts* has 1/n of the pages of the first.

    Hosts go to regions by chance, *together* with those of their domain, which are next to each other; the mean of so
    many *draws*. A million are drawn, and all behind them are taken as even.

    >>> hottest(1, 16), round(hottest(2_000, 16), 2)
    (1.0, 0.17)
    """
    drawn = 1 / np.arange(1, min(hosts, 1_000_000) + 1)
    total = drawn.sum() + math.log(hosts / drawn.size)
    owners = np.add.reduceat(drawn / total, np.arange(0, drawn.size, together))
    draw = np.random.default_rng(0)
    most = [np.bincount(draw.integers(regions, size=owners.size), owners, regions).max() for _ in range(draws)]
    return float(np.mean(most) + (1 - owners.sum()) / regions)


def predicted(sizes: Sequence[scale.Size]) -> Iterator[tuple[int, str, float, float]]:
    """Yield pages, what it is, what was predicted and what was measured, for all sizes behind the one that is known."""
    known = next(place for place, size in enumerate(sizes) if place and size.pages >= KNOWN_FROM)
    large = sizes[known]
    cost = PageCost.between(sizes[known - 1], large)
    for size in sizes[known + 1 :]:
        stored = sum(large.bytes.values()) + cost.bytes * (size.pages - large.pages)
        yield size.pages, "bytes", stored, sum(size.bytes.values())
        yield size.pages, "pages a second", cost.pages_per_second, size.pages_per_second
        yield size.pages, "calls of all questions", sum(cost.calls.values()), sum(size.calls.values())


def table(cost: PageCost) -> Iterator[str]:
    """Yield the lines of a table of what larger crawls need."""
    real = PageCost(REAL_PAGE, cost.pages_per_second, cost.calls)
    columns = [(pages, one) for one in (cost, real) for pages in CRAWLS]
    found = [needs(pages, one) for pages, one in columns]
    hosts = [pages // PAGES_A_HOST for pages, _ in columns]
    rows = {
        "": [f"10^{math.log10(pages):.0f} pages of {one.bytes / 1e3:.1f} KB" for pages, one in columns],
        "---": ["---"] * len(columns),
        "in HBase's files": [f"{one.bytes / 1e12:,.1f} TB" for one in found],
        f"on disks, {REPLICAS} copies": [f"{one.bytes * REPLICAS / 1e12:,.1f} TB" for one in found],
        f"regions of {REGION / 1e9:.0f} GB": [f"{one.regions:,}" for one in found],
        f"pages a second for {DAYS} days": [f"{one.rate:,.0f}" for one in found],
        "servers": [_servers(one) for one in found],
        f"hottest of {SALTS} regions, host salt": [f"{hottest(count, SALTS):.1%}" for count in hosts],
        "the same, domain salt": [f"{hottest(count, SALTS, together=HOSTS_OF_A_DOMAIN):.1%}" for count in hosts],
        "the same, url salt": [f"{1 / SALTS:.1%}" for _ in hosts],
        "ranges of a subtree, host / domain / url salt": [f"{SALTS} / 1 / {SALTS}" for _ in hosts],
    }
    yield from (f"| {' | '.join([what, *cells])} |" for what, cells in rows.items())


def main(arguments: list[str] | None = None) -> int:
    """Print what was predicted and what was measured, and the table; the exit code is 1 where they are far apart."""
    options = _options(arguments)
    sizes = scale.read(options.results)
    are_near = True
    for pages, what, said, seen in predicted(sizes):
        are_near = are_near and abs(said / seen - 1) <= WITHIN
        print(f"{pages:,} pages: {what}: {said:,.0f} predicted, {seen:,.0f} measured ({said / seen - 1:+.0%})")
    cost = PageCost.between(sizes[-2], sizes[-1])
    print("", *table(cost), "", *(f"{question}: {calls} calls" for question, calls in cost.calls.items()), sep="\n")
    return int(not are_near)


def _servers(one: Needs) -> str:
    reason = max(one.servers, key=one.servers.__getitem__)
    return f"{one.servers[reason]:,}, for their {reason}"


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model", description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="what benchmarks.scale has written, of a table on HBase")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
