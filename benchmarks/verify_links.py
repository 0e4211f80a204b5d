"""How fast are the inlinks of a table compared with its pages, and how does that grow as the links of a page do?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING

import webtable
from benchmarks.measuring import LeftOut, Result, stopwatch
from benchmarks.setting import REGIONS, Setting
from webtable import Link, Page
from webtable.testing.stores import counted_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webtable import WebTable

NEEDS = frozenset[str]()
LIKES = frozenset({"hbase"})

PAGES = 5_000
LINKS = 60
"""How many links each of them has: half to pages that all of its host link to, half to some of the others."""
HOSTS = 20
WIDE = (10_000, 40_000)
TIMES = 3
INDEXES = ["link"]


def run(setting: Setting) -> list[Result | LeftOut]:
    """Compare a table of many pages on each store, and two tables of one page with very many links."""
    count = setting.scaled(PAGES)
    with webtable.open(setting.new_file(), create=True, indexes=INDEXES) as table:
        _load(table, _site(count))
        results: list[Result | LeftOut] = [_rate(table, "embedded", count, setting)]
    results.append(_growth(setting))
    if setting.hbase is None:
        return [*results, LeftOut("comparing links on HBase", setting.missing.get("hbase", "no HBase"))]
    with setting.hbase_table_url() as url:
        with webtable.open(url, create=True, regions=REGIONS, indexes=INDEXES) as table:
            _load(table, _site(count))
            setting.flush(table.table)
            results.append(_rate(table, "HBase", count, setting))
        with webtable.open(url.partition("?")[0]) as table:
            results.append(_rate(table, "HBase, Thrift1 alone", count, setting))
    return results


def _load(table: WebTable, pages: Iterable[Page]) -> None:
    with table.writer() as writer:
        for page in pages:
            writer.put(page)
    table.links.refresh()


def _site(count: int) -> Iterator[Page]:
    now = datetime.now(UTC) - timedelta(hours=1)
    for number in range(count):
        host = f"https://host-{number % HOSTS}.example"
        shared = [f"{host}/shared/{place}" for place in range(LINKS // 2)]
        others = [(number * 31 + place * 997) % count for place in range(LINKS - len(shared))]
        targets = [*shared, *(f"https://host-{other % HOSTS}.example/{other}" for other in others)]
        links = tuple(Link(target, "the text of an anchor") for target in dict.fromkeys(targets))
        yield Page(url=f"{host}/{number}", fetched_at=now, outlinks=links)


def _rate(table: WebTable, store: str, count: int, setting: Setting) -> Result:
    table, made = counted_table(table)
    times = setting.pairs(TIMES)
    seconds, links = _compared(table, times)
    calls = made.total() / times
    return Result(
        f"{store}, comparing the links of {count:,} pages that have {links:,} (verify_index)",
        "–",
        f"{count / seconds:,.0f} pages/s, {links / seconds:,.0f} links/s",
        "–",
        links / seconds,
        None,
        unit=" links/s",
        note=f"links and counts, {calls:,.0f} calls of the store; the pages are on {HOSTS} hosts, half of their links "
        "lead to pages that all of the host link to",
    )


def _growth(setting: Setting) -> Result:
    seconds = []
    sizes = [setting.scaled(size) for size in WIDE]
    for size in sizes:
        links = tuple(Link(f"https://host.example/{number}", "an anchor") for number in range(size))
        page = Page(url="https://host.example/", fetched_at=datetime.now(UTC) - timedelta(hours=1), outlinks=links)
        with webtable.open(setting.new_file(), create=True, indexes=INDEXES) as table:
            _load(table, [page])
            seconds.append(_compared(table, setting.pairs(TIMES))[0])
    return Result(
        f"embedded, comparing the links of a page that has {sizes[1]:,}",
        f"of one that has {sizes[0]:,}",
        f"{seconds[1] * 1000:,.0f} ms",
        f"{seconds[0] * 1000:,.0f} ms",
        seconds[1] / seconds[0],
        6,
        at_most=True,
        note="linear is 4",
    )


def _compared(table: WebTable, times: int) -> tuple[float, int]:
    """Return the median of the seconds that a comparison takes, and how many links there are."""
    seconds = []
    for _ in range(times):
        with stopwatch() as watch:
            drift = table.indexes.verify("link", settle=0)
        assert drift.is_empty, drift
        seconds.append(watch.seconds)
    return median(seconds), sum(page.outlink_count or 0 for page in table.pages(webtable.ALL))
