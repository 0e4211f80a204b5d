"""How do the rate, the memory and the time of each question grow with a table, from 10,000 pages to 10,000,000?

    python -m benchmarks.scale crawl.db --pages 3000000 --results scale.jsonl

It fills one table with bodies of 0.1 to 3 KB, or by --corpus with those of real pages. At 10,000, 30,000, 100,000 …
pages it asks every question of `benchmarks.questions`, counts the links anew and walks through all rows, which
--walks-to leaves out of large tables. Each size is a line of the results, written when it is measured. Ended early, the
same command goes on behind the last line.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import webtable
from benchmarks import space
from benchmarks.bodies import real_bodies, with_body, words
from benchmarks.crawl import Crawl
from benchmarks.measuring import stopwatch, tidied
from benchmarks.questions import QUESTIONS, Question
from webtable.repository.indexes.index import WEB_INDEXES
from webtable.repository.maintenance.summary import regions_of
from webtable.testing.stores import counted_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from webtable import WebTable

    Body = Callable[[str], bytes]

ASKS = 100
WARM_UP = 3
REGIONS = 16
COUNTS = Path("/proc/self/io")


class Size(msgspec.Struct, frozen=True):
    """What was measured of a table with so many `pages`, of a crawl of `planned` ones that ended at `end`.

    `pages_per_second` is the rate since the size before. `questions` has the 50th and the 99th percentile of the
    milliseconds of each, `walks` the seconds of what reads the whole table, or all that has changed. `memory_mb` is the
    most that the process has had so far. `calls` are those of one answer to each question, `bytes` what each table
    takes: pages of the file, or files of a container of `docker/hbase` (nothing is known of another HBase). `written`
    is how many bytes the process has written for each page since the size before, to its files and connections; where
    several `writers` stored the pages, memory and bytes of these are not counted.
    """

    pages: int
    planned: int
    end: datetime
    pages_per_second: float
    memory_mb: float
    questions: dict[str, tuple[float, float]]
    walks: dict[str, float]
    regions: int
    calls: dict[str, int] = {}
    bytes: dict[str, int] = {}
    written: float = 0.0
    writers: int = 1


def main(arguments: list[str] | None = None) -> int:
    """Fill the table that *arguments* name, and measure it at each size."""
    options = _options(arguments)
    known = read(options.results)
    planned = known[0].planned if known else options.pages
    crawl = Crawl.until_now(planned) if not known else Crawl(planned, known[0].end)
    done = known[-1].pages if known else 0
    new: dict[str, Any] = {} if done else {"create": True, "indexes": tuple(WEB_INDEXES), "regions": REGIONS}
    file = None if "://" in options.store else Path(options.store)
    with (
        _bodies(options.corpus) as body,
        webtable.open(options.store, **new) as table,
        ProcessPoolExecutor(options.writers, multiprocessing.get_context("spawn")) as processes,
        options.results.open("ab") as results,
    ):

        def store(numbers: range) -> None:
            if options.writers == 1:
                _store(table, crawl, body, numbers)
                return
            apart = partial(_store_apart, options.store, crawl, options.corpus)
            parts = [numbers[place :: options.writers] for place in range(options.writers)]
            list(processes.map(apart, parts))

        for pages in sizes(options.pages):
            if pages > done:
                size = measured(table, crawl, range(done, pages), file, store, pages <= options.walks_to)
                size = msgspec.structs.replace(size, writers=options.writers)
                results.write(msgspec.json.encode(size) + b"\n")
                results.flush()
                print(msgspec.json.format(msgspec.json.encode(size), indent=1).decode(), flush=True)
                done = pages
    return 0


def sizes(most: int) -> Iterator[int]:
    """Yield the sizes at which is measured.

    >>> list(sizes(1_000_000))
    [10000, 30000, 100000, 300000, 1000000]
    """
    return takewhile(lambda size: size <= most, (10**power * digit for power in count(4) for digit in (1, 3)))


def read(results: Path) -> list[Size]:
    """Return the sizes that a file of results has, none where there is no file."""
    lines = results.read_bytes().splitlines() if results.exists() else []
    return [msgspec.json.decode(line, type=Size) for line in lines]


def _bodies(corpus: Path | None) -> AbstractContextManager[Body]:
    return nullcontext(words) if corpus is None else real_bodies(sorted(corpus.glob("*.warc.gz")))


def _store(table: WebTable, crawl: Crawl, body: Body, numbers: range) -> None:
    with table.writer() as writer:
        for number in numbers:
            writer.put(with_body(crawl.page(number), body))


def _store_apart(store: str, crawl: Crawl, corpus: Path | None, numbers: range) -> None:
    with _bodies(corpus) as body, webtable.open(store) as table:
        _store(table, crawl, body, numbers)


def measured(
    table: WebTable,
    crawl: Crawl,
    numbers: range,
    file: Path | None,
    store: Callable[[range], None],
    with_walks: bool = True,
) -> Size:
    """Let *store* put the pages with these *numbers*, the last ones of the *table*, and return what is measured then.

    *file* is where the table is, None for HBase. The walks are made only *with_walks*; without them inlinks stay
    counted as at the size before.
    """
    before = _written()
    with stopwatch() as storing:
        store(numbers)
    written = (_written() - before) / len(numbers)
    walks = {"refresh_links": _seconds(table.links.refresh)} if with_walks else {}
    questions = {question.name: _percentiles(lambda: question.ours(table, crawl)) for question in QUESTIONS}  # noqa: B023
    calls = {question.name: _calls(table, crawl, question) for question in QUESTIONS}
    if with_walks:
        walks["stats"] = _seconds(lambda: table.stats(webtable.ALL, by=("status",)))
        walks["verify_index time"] = _seconds(lambda: table.indexes.verify("time"))
    return Size(
        numbers.stop,
        crawl.count,
        crawl.end,
        len(numbers) / storing.seconds,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        questions,
        walks,
        len(regions_of(table).regions),
        calls,
        sizes_of(table, file),
        written,
    )


def _written() -> int:
    """Return how many bytes this process has written, as Linux counts them; 0 elsewhere."""
    if not COUNTS.exists():
        return 0
    return int(dict(line.split(": ") for line in COUNTS.read_text().splitlines())["wchar"])


def sizes_of(table: WebTable, file: Path | None) -> dict[str, int]:
    """Return the bytes that the tables of *table* take, by what they are; none where nobody can look at its files.

    They are in *file*, or in a container of `docker/hbase` where that is None.
    """
    tables = space.tables_of(table)
    if file is not None:
        return space.in_file(file, tables)
    container = space.container_of(table.table)
    if container is None:
        return {}
    for name in tables.values():
        space.regions(container, "flush", name)
    return space.on_hbase(container, tables)


def _seconds(walk: Callable[[], object]) -> float:
    with stopwatch() as watch:
        walk()
    return watch.seconds


def _percentiles(ask: Callable[[], list[Any]]) -> tuple[float, float]:
    taken = []
    with tidied():
        for _ in range(WARM_UP + ASKS):
            start = time.perf_counter()
            assert ask(), "nothing found"
            taken.append((time.perf_counter() - start) * 1000)
    settled = sorted(taken[WARM_UP:])
    return settled[ASKS // 2], settled[ASKS * 99 // 100]


def _calls(table: WebTable, crawl: Crawl, question: Question) -> int:
    counted, calls = counted_table(table)
    before = calls.total()
    question.ours(counted, crawl)
    return calls.total() - before


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__.splitlines()[0])
    parser.add_argument("store", help="a file, or hbase://host:port/table?thrift2=port; the table is left there")
    parser.add_argument("--pages", type=int, default=10_000_000, help="how many (default: 10,000,000)")
    parser.add_argument("--writers", type=int, default=1, help="how many processes store pages (default: 1)")
    parser.add_argument("--walks-to", type=int, default=sys.maxsize, metavar="PAGES", help="walk to this size only")
    parser.add_argument("--corpus", metavar="DIR", type=Path, help="take the bodies of these WARC files")
    parser.add_argument("--results", type=Path, default=Path("scale.jsonl"), help="where a line goes for each size")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
