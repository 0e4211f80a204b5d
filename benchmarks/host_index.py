"""What does the host index gain, or cost, a scan of a domain that is on few of the 256 salts?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.material import made_up_pages
from benchmarks.measuring import Result, Run, compare, stopwatch

if TYPE_CHECKING:
    from benchmarks.setting import Setting
    from webtable import WebTable

NEEDS = frozenset({"hbase"})
DOMAIN = "looked-up.example"
HOSTS = [DOMAIN, *(f"h{number}.{DOMAIN}" for number in range(1, 5))]
PAGES = 5_000
OTHERS = 50_000


def run(setting: Setting) -> list[Result]:
    """Ask two tables of the same pages in turn: one with the host index alone, one without any."""
    with setting.hbase_table(["host"]) as table, setting.hbase_table() as without:
        for one in (table, without):
            _load(one, setting)
        return [
            _compared(table, without, f"the first 20 of {setting.scaled(PAGES):,} pages", 20, setting.pairs(30)),
            _compared(table, without, f"all {setting.scaled(PAGES):,} pages", None, setting.pairs(7)),
        ]


def _load(table: WebTable, setting: Setting) -> None:
    with table.writer() as writer:
        for page in made_up_pages(setting.scaled(PAGES), HOSTS):
            writer.put(page)
        for page in made_up_pages(setting.scaled(OTHERS), [f"www.other-{number}.example" for number in range(1_000)]):
            writer.put(page)


def _compared(table: WebTable, without: WebTable, what: str, limit: int | None, pairs: int) -> Result:
    def asked(one: WebTable) -> Run:
        with stopwatch() as watch:
            found = list(one.pages(DOMAIN, limit=limit))
        return Run(watch.seconds, len(found), [(page.url, page.title) for page in found])

    salts = len(without.pages(DOMAIN).explain().ranges)
    return compare(
        f"{what} of a domain of {len(HOSTS)} hosts, with the host index",
        f"the same without it, by {salts} ranges",
        target=round(1 / 1.1, 2),
        ours=lambda: asked(table),
        peer=lambda: asked(without),
        pairs=pairs,
        unit="ms",
        note=f"{len(table.pages(DOMAIN).explain().ranges)} ranges with the index; 0.91 is 1.1 times as slow; tables of "
        "16 regions that hold ten times as many pages of 1,000 other domains",
    )
