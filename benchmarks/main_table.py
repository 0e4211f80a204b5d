"""The table of docs/benchmarks.md: `python -m benchmarks.main_table` measures its rows in one run and writes it.

A row that was not measured, because HBase or the corpus is missing, keeps its older figures and their date.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
import time
import traceback
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from benchmarks import report
from benchmarks.measuring import LeftOut, Result
from benchmarks.setting import Setting, setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RESULTS = Path(__file__).with_name("results") / "main.json"
PAGE = RESULTS.parents[2] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- table begins: made by benchmarks/main_table.py -->", "<!-- table ends -->"
PAIRS = 3
"""How often both sides of a row run at most: the whole table is to be measured in an hour."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: the result of *benchmark* with *what* and *against* in its names."""

    question: str
    peer: str
    benchmark: str
    what: str = ""
    against: str = ""
    native: bool = False
    """Whether webtable reaches HBase by HBase's own protocol."""

    def is_of(self, result: Result) -> bool:
        """Whether *result* is the figure of this row."""
        return self.what in result.what and self.against in result.against


class Figure(msgspec.Struct, frozen=True):
    """What was measured for the question of a row, when and where.

    *ratio* over 1 means that webtable is faster; None if the two do not do the same work.
    """

    webtable: str
    peer: str
    ratio: float | None
    date: str
    machine: str
    processor: str = ""
    """The processor time of each item, of both sides, where it was measured."""


ROWS = (
    Row("Make row keys of URLs", "w3lib `canonicalize_url`", "keys"),
    Row("Extract what a page of the corpus says", "selectolax, title and links alone", "extraction"),
    Row("Start, and get a page from a file", "`python -c pass`; with typer imported", "startup", "get URL"),
    Row("Write prepared pages of 33 KB, HBase", "HappyBase", "hbase_write"),
    Row("Ingest WARC files, HBase", "warcio, selectolax, HappyBase", "hbase_ingest", against="selectolax"),
    Row("Ingest WARC files, HBase", "warcio, `html.parser`, HappyBase", "hbase_ingest", against="html.parser"),
    Row("Write with seven indexes, HBase", "without an index", "hbase_indexed_ingest", "all seven indexes"),
    Row("Ingest WARC files with seven indexes, HBase", "without an index", "corpus_indexed", "HBase"),
    Row("Ingest WARC files in two processes, HBase", "in one process", "ingest_workers"),
    Row("Crawl by Scrapy into HBase", "Scrapy, nothing stored", "scrapy", "in HBase,"),
    Row("Crawl by Scrapy, a writer process, HBase", "Scrapy, nothing stored", "scrapy", "HBase by a writer process"),
    Row("Get a page with its body, HBase", "HappyBase `row`", "single_get", "from HBase"),
    Row("Scan a site with bodies, HBase", "HappyBase, bodies and metadata", "hbase_site_scan", against="12 metadata"),
    Row("Scan a site with bodies, HBase", "HappyBase, bodies alone", "hbase_site_scan", against="bodies alone"),
    Row("List a site without bodies, HBase", "HappyBase", "hbase_listing"),
    Row("100 pages of a domain in 256 ranges, HBase", "HappyBase, 8 threads", "hbase_fanout"),
    Row("20 last fetched of 100,000 pages, HBase", "HappyBase, scan and sort", "hbase_questions", "fetched last"),
    Row("20 errors of 100,000 pages, HBase", "HappyBase, filter scan", "hbase_questions", "errors"),
    Row("20 links to one of 100,000 pages, HBase", "HappyBase, filter scan", "hbase_questions", "links to a page"),
    Row("Write prepared pages, native", "HappyBase", "hbase_write", native=True),
    Row("Processor time of writing, native", "HappyBase", "hbase_native", "writing", "HappyBase", native=True),
    Row("Write with seven indexes and 60 links, native", "without", "hbase_indexed_ingest", "60 links", native=True),
    Row(
        "Write with seven indexes and 60 links, native",
        "the same rows put raw",
        "hbase_indexed_ingest",
        "60 links",
        "put raw",
        native=True,
    ),
    Row("Get a page with its body, native", "HappyBase `row`", "single_get", "from HBase", native=True),
    Row("Scan a site with bodies, native", "HappyBase, bodies and metadata", "hbase_site_scan", "", "12 meta", True),
    Row("Scan a site with bodies, native", "HappyBase, bodies alone", "hbase_site_scan", "", "bodies alone", True),
    Row("List a site without bodies, native", "HappyBase", "hbase_listing", native=True),
    Row("100 pages of a domain in 256 ranges, native", "HappyBase, 8 threads", "hbase_fanout", native=True),
    Row("`to_arrow()` of 100,000 pages, native", "the same by Thrift2", "hbase_native", "to_arrow", native=True),
    Row("Write pages, SQLite", "`sqlite3`, cells prepared", "embedded_ingest", "through a writer, digests"),
    Row("Ingest WARC files with seven indexes, SQLite", "without an index", "corpus_indexed", "a file"),
    Row("Crawl by Scrapy into a file, SQLite", "Scrapy, nothing stored", "scrapy", "in a file,"),
    Row("Crawl by Scrapy, a writer process, SQLite", "Scrapy, nothing stored", "scrapy", "a file by a writer process"),
    Row("Get a page with its body, SQLite", "`sqlite3`", "single_get", "from a file"),
    Row("Scan sites with bodies, SQLite", "`sqlite3`", "embedded_scan", "Page objects with bodies"),
    Row("List sites without bodies, SQLite", "`sqlite3`", "embedded_scan", "Page objects without bodies"),
    Row("`to_pandas()` of 100,000 pages, SQLite", "`DataFrame` of a list of pages", "embedded_frames", "to_pandas"),
)
NAMES = tuple(dict.fromkeys(row.benchmark for row in ROWS))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all rows, or those of the benchmarks that are named, and write the table; 1 where a benchmark failed."""
    options = _options(arguments)
    logging.disable(logging.WARNING)  # warcio's, of URLs with spaces
    failed = [] if options.table else _measure(options)
    if options.results == RESULTS:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), read(RESULTS)), encoding="utf-8")
    return int(bool(failed))


def _measure(options: argparse.Namespace) -> list[str]:
    """Measure, and return the names of the benchmarks that raised: their rows keep what they have."""
    given = {name: getattr(options, name) for name in ("hbase", "corpus", "quick")}
    failed = []
    with setting(**given, largest=100_000, needs=frozenset({"hbase", "corpus"})) as here:
        here = replace(here, most_pairs=PAIRS)
        machine = report.machine(report.hbase(here, options.hbase_version))
        for name, native in dict.fromkeys((row.benchmark, row.native) for row in ROWS):
            if (options.names and name not in options.names) or (native and not here.native):
                continue
            start = time.monotonic()
            try:
                found = _results(importlib.import_module(f"benchmarks.{name}"), replace(here, by_native=native))
                keep(found, name, machine, options.results, native=native)
            except Exception:  # noqa: BLE001 (the others are measured all the same)
                traceback.print_exc()
                failed.append(name)
            print(f"{name}{', native' if native else ''}: {time.monotonic() - start:.0f} s", flush=True)
    return failed


def _results(module: Any, here: Setting) -> list[Result]:
    missing = [here.missing[name] for name in sorted(module.NEEDS) if name in here.missing]
    if missing:
        print(f"left out: {'; '.join(missing)}")
        return []
    run = module.run_main if hasattr(module, "run_main") else module.run
    return [result for result in run(here) if not isinstance(result, LeftOut)]


def keep(results: Iterable[Result], benchmark: str, machine: str, file: Path, *, native: bool = False) -> None:
    """Store the figures of the rows of *benchmark*, by that protocol, in *file*, in place of older ones."""
    figures = read(file) if file.is_file() else {}
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    for row in ROWS:
        asked = (row.benchmark, row.native) == (benchmark, native)
        found = [one for one in results if asked and row.is_of(one)]
        if found:
            first = found[0]
            ratio = round(first.figure, 2) if first.unit == "×" else None
            figures[key(row)] = Figure(first.ours, first.peer, ratio, today, machine, first.processor)
    text = msgspec.json.format(msgspec.json.encode(figures), indent=1)
    file.write_bytes(text + b"\n")


def key(row: Row) -> str:
    """Return the name of *row* in the file of results."""
    return f"{row.question}; {row.peer}"


def read(file: Path) -> dict[str, Figure]:
    """Return the figures in *file* by the names of their rows."""
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Figure])


def written(page: str, figures: dict[str, Figure]) -> str:
    """Return *page* with the table of *figures* between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no place for the table: {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{table(figures)}\n\n{END}{after}"


def table(figures: dict[str, Figure]) -> str:
    """Return the rows of which there are figures as Markdown, and below them the machines."""
    machines = {name: chr(ord("A") + number) for number, name in enumerate(dict.fromkeys(_machines(figures)))}
    lines = [
        "| question | benchmark | webtable | peer | ratio | processor time | date, machine |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        if key(row) in figures:
            one = figures[key(row)]
            ratio = "–" if one.ratio is None else f"{one.ratio:.2f}"
            where = f"{one.date}, {machines[one.machine]}"
            cells = (f"{one.peer}: {row.peer}", ratio, one.processor or "–", where)
            lines.append(f"| {row.question} | `{row.benchmark}` | {one.webtable} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"Machine {letter}: {name}.\n" for name, letter in machines.items())]).rstrip()


def _machines(figures: dict[str, Figure]) -> Iterable[str]:
    return (figures[key(row)].machine for row in ROWS if key(row) in figures)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.main_table", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"which of {', '.join(NAMES)}; all by default")
    parser.add_argument("--hbase", metavar="URL", help="a running HBase (WEBTABLE_HBASE_URL); by default one in Docker")
    parser.add_argument("--hbase-version", metavar="X", help="for the page; by default that of docker/hbase")
    parser.add_argument("--corpus", metavar="DIR", type=Path, help="the WARC files (WEBTABLE_CORPUS)")
    parser.add_argument("--results", metavar="FILE", type=Path, default=RESULTS, help="by default those of the page")
    parser.add_argument("--table", action="store_true", help="measure nothing: write the table of the results again")
    parser.add_argument("--quick", action="store_true", help="a few seconds each, to see that they run; with --results")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(NAMES)):
        parser.error(f"no row is of {unknown[0]!r}; there are {', '.join(NAMES)}")
    if options.quick and options.results == RESULTS:
        parser.error("--quick measures nothing that belongs on the page: give --results another file")
    return options


if __name__ == "__main__":
    sys.exit(main())
