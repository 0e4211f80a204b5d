"""Is what the advisor foretells of a row key what a real HBase of 16 regions then shows?"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import space
from benchmarks.measuring import LeftOut, Result
from benchmarks.setting import REGIONS, Setting
from webtable.rowkey.advice import WEB_DESIGNS, advise, web_design
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put, open_store
from webtable.testing.stores import counted_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.rowkey.advice import Design, Judgement
    from webtable.store import Store

NEEDS = frozenset({"hbase"})

URLS = 100_000
HOSTS = 2_000
HOSTS_OF_A_DOMAIN = 4
VALUE_BYTES = 600
COLUMN = "metadata:page"
ASKED = 24
FIRST = 1
TARGET = 10.0


class Shown(NamedTuple):
    """What HBase shows of a design: the share of its busiest region, the bytes of a row, the calls of each question."""

    share: float
    row_bytes: float
    calls: dict[str, float]


def run(setting: Setting) -> list[Result | LeftOut]:
    """Write a crawl whose hosts are as unequal as those of the web by each design, and look at its regions."""
    what = "the advisor's prediction"
    if setting.hbase is None:
        return [LeftOut(what, setting.missing.get("hbase", "no HBase"))]
    urls = list(zipf_urls(setting.scaled(URLS)))
    advice = advise(urls, regions=REGIONS, column=COLUMN, value_bytes=VALUE_BYTES)
    results: list[Result | LeftOut] = []
    for judgement in sorted(advice.designs, key=lambda one: WEB_DESIGNS.index(one.name)):
        shown = _shown(setting, urls, judgement)
        if shown is None:
            return [
                LeftOut(what, f"{setting.hbase} is no container of docker/hbase here, whose regions could be asked")
            ]
        results.append(_result(judgement, shown))
    return results


def zipf_urls(count: int, hosts: int = HOSTS) -> Iterator[str]:
    """Yield so many different URLs in no order; the n-th host has a share of 1/n of what the first has (Zipf's law)."""
    draw = Random(count)
    shares = list(accumulate(1 / rank for rank in range(1, hosts + 1)))
    for number in range(count):
        host = bisect_right(shares, draw.random() * shares[-1])
        domain = host // HOSTS_OF_A_DOMAIN
        yield f"https://h{host}.site{domain}.example/section-{draw.randrange(97)}/page-{number}.html"


def _shown(setting: Setting, urls: Sequence[str], judgement: Judgement) -> Shown | None:
    design = web_design(judgement.name)
    with setting.hbase_table_url() as url:
        store, table = open_store(url)
        with store:
            store.create_table(TableSchema(table, (FamilySchema("metadata"),), judgement.writes.splits))
            container = space.container_of(table)
            if container is None:
                return None
            _write(store, table, design, urls)
            writes = Counter({start: int(count) for start, count in space.regions(container, "writes", table)})
            setting.flush(table)
            row_bytes = space.on_hbase(container, {"rows": table})["rows"] / len(urls)
            return Shown(max(writes.values()) / writes.total(), row_bytes, _calls(store, table, judgement, urls))


def _write(store: Store, table: str, design: Design, urls: Sequence[str]) -> None:
    draw = Random(0)
    for place in range(0, len(urls), 1_000):
        cells = [NewCell(COLUMN.encode(), 1, draw.randbytes(VALUE_BYTES)) for _ in urls[place : place + 1_000]]
        puts = [Put(design.encode(url), [cell]) for url, cell in zip(urls[place:], cells, strict=False)]
        assert not any(store.write(table, puts))


def _calls(store: Store, table: str, judgement: Judgement, urls: Sequence[str]) -> dict[str, float]:
    """Return how many calls the first rows of each question that has an answer take, on average over some URLs."""
    design = web_design(judgement.name)
    asked = urls[:: len(urls) // ASKED][:ASKED]
    counted, calls = counted_store(store)
    taken = {}
    for question in _foretold(judgement):
        ask = design.questions[question]
        before = calls.total()
        for url in asked:
            if question in design.gets:
                counted.read(table, [one.start for one in ask(url)])
            else:
                counted.first_rows(table, ask(url), FIRST)
        taken[question] = (calls.total() - before) / len(asked)
    return taken


def _result(judgement: Judgement, shown: Shown) -> Result:
    foretold = _foretold(judgement)
    pairs = {
        "busiest region": (judgement.writes.hottest.share, shown.share),
        "bytes of a row": (_row_bytes(judgement), shown.row_bytes),
        **{question: (calls, shown.calls[question]) for question, calls in foretold.items()},
    }
    apart = {what: 100 * abs(said / seen - 1) for what, (said, seen) in pairs.items()}
    worst = max(apart, key=apart.__getitem__)
    return Result(
        f"what the advisor foretells of '{judgement.name}', and {REGIONS} regions then show",
        "–",
        f"{judgement.writes.hottest.share:.1%} of the writes, {_row_bytes(judgement):.0f} bytes a row",
        f"{shown.share:.1%}, {shown.row_bytes:.0f} bytes",
        apart[worst],
        TARGET,
        at_most=True,
        unit=" %",
        note=f"the greatest difference is that of the {worst}; "
        + ", ".join(
            f"{question} {calls:g} and {shown.calls[question]:g} calls" for question, calls in foretold.items()
        ),
    )


def _foretold(judgement: Judgement) -> dict[str, float]:
    return {cost.question: cost.calls for cost in judgement.questions if cost.calls is not None}


def _row_bytes(judgement: Judgement) -> float:
    """Return the bytes of a row, whose only cell is the one that the share of the key is of."""
    return judgement.lengths.mean / judgement.lengths.share
