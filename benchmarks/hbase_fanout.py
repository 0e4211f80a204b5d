"""How long does a question take that goes to all 256 salts and finds 100 rows?"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import happybase

from benchmarks.material import made_up_pages
from benchmarks.measuring import Result, Run, compare, stopwatch

if TYPE_CHECKING:
    from benchmarks.setting import Setting
    from webtable.rowkey import KeyRange

NEEDS = frozenset({"hbase"})
DOMAIN = "wanted.example"
THREADS = 8


def run(setting: Setting) -> list[Result]:
    """Hide 100 pages of a domain, each on a host of its own, among the pages of others."""
    others = made_up_pages(setting.scaled(50_000), [f"www.other-{number}.example" for number in range(1_000)])
    wanted = made_up_pages(100, [f"h{number}.{DOMAIN}" for number in range(100)])
    with setting.hbase_table() as table:
        with table.writer() as writer:
            for pages in (others, wanted):
                for page in pages:
                    writer.put(page)
        ranges = table.key.subtree_ranges(DOMAIN)
        host, port = setting.happybase_address
        pool = happybase.ConnectionPool(THREADS, host=host, port=port)
        name = table.table

        def some(mine: list[KeyRange]) -> list[bytes]:
            with pool.connection() as connection:
                peer = connection.table(name)
                return [
                    row
                    for keys in mine
                    for row, _ in peer.scan(row_start=keys.start, row_stop=keys.stop, columns=[b"metadata:page"])
                ]

        def threads() -> Run:
            with stopwatch() as watch:
                found = [row for rows in executor.map(some, parts) for row in rows]
            return Run(watch.seconds, len(found), sorted(map(table.key.url_of, found)))

        def ours() -> Run:
            with stopwatch() as watch:
                found = list(table.pages(DOMAIN))
            return Run(watch.seconds, len(found), sorted(page.url for page in found))

        parts = [ranges[number::THREADS] for number in range(THREADS)]
        with ThreadPoolExecutor(THREADS) as executor:
            return [
                compare(
                    f"{len(ranges)} salted ranges, 100 pages in all, in key order",
                    f"HappyBase, {THREADS} threads of {len(parts[0])} ranges each, the same column",
                    target=5,
                    ours=ours,
                    peer=threads,
                    pairs=setting.pairs(15),
                    unit="ms",
                    note=f"a table of 16 regions, without indexes, with {setting.scaled(50_000):,} pages of other "
                    "domains",
                )
            ]
