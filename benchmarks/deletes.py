"""How fast are the pages of a site deleted, with their entries in seven indexes and their links?"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import webtable
from benchmarks.measuring import LeftOut, Result, Run, compare, stopwatch
from webtable import Page

if TYPE_CHECKING:
    from benchmarks.setting import Setting
    from webtable import WebTable

NEEDS = frozenset[str]()
LIKES = frozenset({"hbase"})
LINKS = 20
ALL = ("digest", "host", "link", "size", "status", "time", "url")


def run(setting: Setting) -> list[Result | LeftOut]:
    """Store the pages of a new site for each run, and delete them: together, and one by one."""
    with webtable.open(setting.new_file(), create=True) as table:
        results: list[Result | LeftOut] = [_compared(setting, table, "in a file")]
    if setting.hbase is None:
        return [*results, LeftOut("the pages of a site, on HBase", setting.missing.get("hbase", "no HBase"))]
    with setting.hbase_table(ALL) as table:
        return [*results, _compared(setting, table, "on HBase")]


def _compared(setting: Setting, table: WebTable, where: str) -> Result:
    numbers, size = count(), setting.scaled(2_000)

    def stored() -> tuple[str, list[str]]:
        site = f"deleted{next(numbers)}.example"
        urls = [f"https://{site}/{number}" for number in range(size)]
        links = "".join(f'<a href="/{number}">{number}</a>' for number in range(LINKS))
        with table.writer() as writer:
            for url in urls:
                writer.put(Page(url=url, body=f"<title>{url}</title>{links}".encode(), content_type="text/html"))
        return site, urls

    def together() -> Run:
        site, urls = stored()
        with stopwatch() as watch:
            gone = table.delete_pages(site).pages
        return Run(watch.seconds, len(urls), gone)

    def one_by_one() -> Run:
        _, urls = stored()
        with stopwatch() as watch:
            gone = sum(map(table.delete, urls))
        return Run(watch.seconds, len(urls), gone)

    return compare(
        f"the pages of a site deleted {where}, with seven indexes and {LINKS} links a page",
        "WebTable.delete of each of them",
        target=5,
        ours=together,
        peer=one_by_one,
        pairs=setting.pairs(3),
    )
