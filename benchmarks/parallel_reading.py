"""How much faster do two processes than one read all pages of a table with their bodies, and count their words?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import webtable
from benchmarks.measuring import LeftOut, Result, Run, compare, stopwatch
from webtable import Page, parallel

if TYPE_CHECKING:
    from benchmarks.setting import Setting
    from webtable import WebTable
    from webtable.answers import Pages

NEEDS = frozenset[str]()
LIKES = frozenset({"hbase"})
_WORD = re.compile(rb"\w+")


def words_of(pages: Pages) -> tuple[int, int]:
    """Return how many pages and words there are; the workers call it."""
    count = words = 0
    for page in pages:
        count, words = count + 1, words + len(_WORD.findall(page.body or b""))
    return count, words


def run(setting: Setting) -> list[Result | LeftOut]:
    """Read generated pages from a file and from HBase, by two processes and by one in turn."""
    with webtable.open(setting.new_file(), create=True) as table:
        results: list[Result | LeftOut] = [_compared(setting, table, "a file")]
    if setting.hbase is None:
        return [*results, LeftOut("pages read by two processes, HBase", setting.missing.get("hbase", "no HBase"))]
    with setting.hbase_table(("url",)) as table:
        return [*results, _compared(setting, table, "HBase")]


def _compared(setting: Setting, table: WebTable, where: str) -> Result:
    count = 1_000 if setting.quick else 20_000
    body = b"<p>%d some words of a page, which are counted" + b" and counted" * 800
    with table.writer() as writer:
        for number in range(count):
            writer.put(Page(url=f"https://h{number % 97}.example/{number}", body=body % number))
    answer = table.pages(webtable.ALL, columns=["body"], order="storage")

    def by_two() -> Run:
        with stopwatch() as watch:
            counted = list(parallel.map(answer, words_of, workers=2, ordered=False))
        pages, words = (sum(one) for one in zip(*counted, strict=True))
        return Run(watch.seconds, pages, words)

    def by_one() -> Run:
        with stopwatch() as watch:
            pages, words = words_of(answer)
        return Run(watch.seconds, pages, words)

    return compare(
        f"words of {count:,} pages of {where} counted by two processes (parallel.map)",
        "one process",
        target=1.6,
        ours=by_two,
        peer=by_one,
        pairs=setting.pairs(3),
    )
