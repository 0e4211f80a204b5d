"""How long does each question take that an index answers, how does that grow, and how long does a filter scan take?"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from itertools import count, takewhile
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.crawl import DOMAINS, HOSTS, Crawl
from benchmarks.measuring import Result, Run, compare, stopwatch, tidied
from benchmarks.plain_questions import PlainQuestions
from benchmarks.questions import QUESTIONS, ROWS, Question
from webtable.repository.indexes.index import WEB_INDEXES
from webtable.rowkey import WebKey
from webtable.testing.stores import counted_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.setting import Setting
    from webtable import WebTable

NEEDS = frozenset({"hbase"})
TRY_SIZES = (200, 400, 800)
ASKS = 100
WARM_UP = 3
COMPARED_ASKS = 10
"""How often ours is asked for each time that the peer is, which takes far longer."""
MAIN = ("fetched last", "errors", "links to a page")
"""The questions of the main table."""
MANY = 1_000_000
"""From so many pages on the peer is asked once, as its scan takes minutes, and in its first way only."""


def run(setting: Setting) -> list[Result]:
    """Ask tables of several sizes in turn, and then the largest and a plain table of the same pages."""
    crawls = [Crawl.until_now(size) for size in (TRY_SIZES if setting.quick else sizes(setting.largest))]
    with ExitStack() as stack:
        tables = [stack.enter_context(setting.hbase_table(tuple(WEB_INDEXES))) for _ in crawls]
        for table, crawl in zip(tables, crawls, strict=True):
            _load(table, crawl)
            setting.flush(table.table)
        with tidied():
            asked = [_asked(question, tables, crawls, ASKS // 10 if setting.quick else ASKS) for question in QUESTIONS]
        peer = stack.enter_context(_plain(setting, crawls[-1]))
        with tidied():
            compared = [
                _compared(question, tables[-1], peer, crawls[-1], setting) for question in QUESTIONS if question.peer
            ]
    return [_slowest(asked, crawls[-1]), *(_growth(one, crawls) for one in asked), *compared]


def run_main(setting: Setting) -> list[Result]:
    """Ask a few of the questions of the largest table and of a plain table of the same pages, for the main table."""
    crawl = Crawl.until_now(TRY_SIZES[-1] if setting.quick else setting.largest)
    with setting.hbase_table(tuple(WEB_INDEXES)) as table, _plain(setting, crawl) as peer:
        _load(table, crawl)
        setting.flush(table.table)
        with tidied():
            asked = [question for question in QUESTIONS if question.name in MAIN]
            return [_compared(question, table, peer, crawl, setting) for question in asked]


def sizes(largest: int) -> list[int]:
    """Return the sizes at which is measured: the powers of ten from 1,000 on, up to *largest*, and that.

    >>> sizes(20_000)
    [1000, 10000, 20000]
    """
    return [*takewhile(lambda size: size < largest, (10**power for power in count(3))), largest]


def _load(table: WebTable, crawl: Crawl) -> None:
    with table.writer() as writer:
        for page in crawl.pages():
            writer.put(page)
    table.links.refresh()


@contextmanager
def _plain(setting: Setting, crawl: Crawl) -> Iterator[str]:
    """Lend the name of the peer's table of *crawl*."""
    inlinks = crawl.inlinks()
    with setting.happybase_table() as table:
        name = table.name.decode()
        PlainQuestions(table, WebKey(), ROWS).store(crawl.pages(), inlinks)
        setting.flush(name)
        yield name


class Asked(NamedTuple):
    """What a question took at each size: its seconds in ascending order, and its calls of the gateways."""

    name: str
    seconds: list[list[float]]
    calls: list[float]

    def milliseconds(self, percent: int) -> list[float]:
        """Return what so many percent of the asks took at most, at each size."""
        return [times[(len(times) - 1) * percent // 100] * 1000 for times in self.seconds]


def _asked(question: Question, tables: list[WebTable], crawls: list[Crawl], asks: int) -> Asked:
    seconds: list[list[float]] = [[] for _ in tables]
    made = [counted_store(table.store)[1] for table in tables]
    for ask in range(asks + WARM_UP):
        for table, crawl, times in zip(tables, crawls, seconds, strict=True):
            with stopwatch() as watch:
                found = question.ours(table, crawl)
            assert found, f"{question.name}: nothing found among {crawl.count:,} pages"
            if ask >= WARM_UP:
                times.append(watch.seconds)
    calls = [counts.total() / (asks + WARM_UP) for counts in made]
    return Asked(question.name, [sorted(times) for times in seconds], calls)


def _growth(asked: Asked, crawls: list[Crawl]) -> Result:
    middle, worst = asked.milliseconds(50), asked.milliseconds(99)
    return Result(
        f"{asked.name}, among {', '.join(f'{crawl.count:,}' for crawl in crawls)} pages",
        "itself at the first size",
        f"p50 {_listed(middle)} ms, p99 {_listed(worst)} ms",
        f"p50 {middle[0]:.1f} ms",
        middle[-1] / middle[0],
        2,
        at_most=True,
        note=f"{_listed(asked.calls)} calls of the gateways",
    )


def _listed(figures: list[float]) -> str:
    return ", ".join(f"{figure:.1f}" for figure in figures)


def _slowest(asked: list[Asked], crawl: Crawl) -> Result:
    slowest = max(asked, key=lambda one: one.milliseconds(50)[-1])
    middle, worst = slowest.milliseconds(50)[-1], slowest.milliseconds(99)[-1]
    return Result(
        f"the slowest of {len(asked)} questions: {slowest.name}, among {crawl.count:,} pages",
        "–",
        f"p50 {middle:.1f} ms, p99 {worst:.1f} ms",
        "–",
        middle,
        100,
        at_most=True,
        unit=" ms",
        note=f"the first {ROWS} results of each; tables of 16 regions with all indexes, of {HOSTS} hosts on {DOMAINS} "
        "domains, without bodies, flushed to files; the sizes are asked in turn. HappyBase is asked on a table of the "
        "same keys, flushed too, which has 12 metadata columns, and what else is asked by as a column of its own",
    )


def _compared(question: Question, table: WebTable, name: str, crawl: Crawl, setting: Setting) -> Result:
    # A gateway closes a connection that was idle for a minute, and HappyBase opens none anew.
    with setting.happybase() as connection:
        plain = PlainQuestions(connection.table(name), WebKey(), ROWS)
        return _against(question, table, plain, crawl, setting)


def _against(question: Question, table: WebTable, plain: PlainQuestions, crawl: Crawl, setting: Setting) -> Result:
    peer, lean = question.peer, question.lean
    assert peer is not None
    is_long = crawl.count >= MANY
    note = "HappyBase was asked once, without a first run that does not count" if is_long else ""
    if lean is not None and not is_long:
        timed = _timed(lambda: lean(plain, crawl))
        assert timed.proof == question.ours(table, crawl), f"{question.name}: not the same in two steps"
        note = (
            f"in two steps, a scan of that column alone and a read of {ROWS} rows, HappyBase took "
            f"{timed.seconds * 1000:,.0f} ms"
        )
    return compare(
        f"{question.name}, among {crawl.count:,} pages",
        f"HappyBase, {question.against}",
        target=100,
        ours=lambda: _timed(lambda: question.ours(table, crawl), COMPARED_ASKS),
        peer=lambda: _timed(lambda: peer(plain, crawl)),
        pairs=1 if is_long else setting.pairs(3),
        warm_up=not is_long,
        unit="ms",
        note=note,
    )


def _timed(ask: Callable[[], list[Any]], times: int = 1) -> Run:
    seconds = []
    for _ in range(times):
        with stopwatch() as watch:
            found = ask()
        seconds.append(watch.seconds)
    return Run(median(seconds), len(found), found)
