"""How much faster is HBase's own protocol than Thrift2, and how much processor time does each way to HBase take?"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import webtable
from benchmarks.material import corpus_pages, made_up_pages
from benchmarks.measuring import LeftOut, Result, Run, Spent, compare, spending, stopwatch, wait_until_idle
from benchmarks.plain import HTML, METADATA_COLUMNS, put_all
from webtable import ALL, HostOnly
from webtable.rowkey import WebKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.setting import Setting
    from webtable import Page

NEEDS = frozenset({"hbase", "corpus"})
SITES = [f"site-{number}.example" for number in range(50)]
WRITTEN = 3_000
WAYS = ("native", "Thrift2", "HappyBase")
_TICK = 0.01
"""Linux counts the processor time of a process in hundredths of a second."""


def run(setting: Setting) -> list[Result | LeftOut]:
    """Make frames by both protocols; then write and scan by each way, and look at the processes."""
    if setting.native is None:
        return [LeftOut("HBase's own protocol", "no URL of the same HBase by it")]
    return [_frames(setting), *_processor_time(setting)]


def _frames(setting: Setting) -> Result:
    with setting.hbase_table() as table:
        with table.writer() as writer:
            count = writer.put_many(made_up_pages(setting.scaled(100_000), SITES, body_bytes=500))
        urls = [setting.url_of(table.table, by_native=by_native) for by_native in (True, False)]
        with webtable.open(urls[0]) as native, webtable.open(urls[1]) as thrift:

            def batches(of: webtable.WebTable) -> Run:
                with stopwatch() as watch:
                    rows = sum(batch.num_rows for batch in of.pages(ALL).to_arrow())
                return Run(watch.seconds, rows, rows)

            return compare(
                f"{count:,} pages of HBase, their metadata: pages(...).to_arrow()",
                "the same through Thrift2",
                target=2,
                ours=lambda: batches(native),
                peer=lambda: batches(thrift),
                pairs=setting.pairs(5),
            )


def _processor_time(setting: Setting) -> Iterator[Result]:
    pages = corpus_pages(setting.warc_files)[: setting.scaled(WRITTEN)]
    hosts = sorted({page.url.split("/")[2] for page in pages})
    spent: dict[str, list[list[Spent]]] = {}
    for _ in range(setting.pairs(3) + 1):
        for way in WAYS:
            each = _happybase(setting, pages) if way == "HappyBase" else _webtable(setting, pages, hosts, way)
            spent.setdefault(way, []).append(list(each))
    for number, what in enumerate(("writing", "reading, with bodies", "listing")):
        sides = {way: _middle([one[number] for one in runs[1:]]) for way, runs in spent.items()}
        for peer in WAYS[1:]:
            yield Result(
                f"processor time of {what} {len(pages):,} pages by HBase's own protocol: client + gateways + HBase",
                f"{'webtable through ' if peer == 'Thrift2' else ''}{peer}",
                _shown(sides["native"]),
                _shown(sides[peer]),
                sum(sides[peer]) / max(sum(sides["native"]), _TICK),
                1.5 if what == "writing" and peer == "HappyBase" else None,
            )


def _webtable(setting: Setting, pages: list[Page], hosts: list[str], way: str) -> Iterator[Spent]:
    with replace(setting, by_native=way == "native").hbase_table() as table:

        def write() -> None:
            with table.writer() as writer:
                for page in pages:
                    writer.put(page)

        def read(columns: list[str]) -> int:
            return sum(1 for host in hosts for _ in table.pages(HostOnly(host), columns=columns))

        yield _spent(setting, write)
        yield _spent(setting, lambda: read(["body"]))
        yield _spent(setting, lambda: read(["title"]))


def _happybase(setting: Setting, pages: list[Page]) -> Iterator[Spent]:
    key = WebKey()
    keys = {page.url: key.encode(page.url) for page in pages}
    with setting.happybase_table() as table:

        def read(columns: list[bytes]) -> int:
            return sum(1 for _ in table.scan(columns=columns, batch_size=100))

        yield _spent(setting, lambda: put_all(table, pages, keys))
        yield _spent(setting, lambda: read([HTML, *METADATA_COLUMNS]))
        yield _spent(setting, lambda: read(list(METADATA_COLUMNS)))


def _spent(setting: Setting, do: Callable[[], object]) -> Spent:
    if not setting.quick:
        wait_until_idle()
    so_far = spending()
    before = so_far()
    do()
    return so_far().plus(before, -1)


def _shown(spent: Spent) -> str:
    return " + ".join(f"{part:.2f}" for part in spent) + f" = {sum(spent):.2f} s"


def _middle(runs: list[Spent]) -> Spent:
    return Spent(*(median(parts) for parts in zip(*runs, strict=True)))
