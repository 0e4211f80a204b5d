"""How long do the filter scans take that a plain table of as many pages needs for the questions of `benchmarks.scale`?

    python -m benchmarks.scale_peers 'hbase://localhost:9090?thrift2=9091' --pages 1000000

It stores so many made-up pages without bodies in a table of its own by HappyBase, with the columns that each question
filters by, asks each once, and drops the table.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from benchmarks.crawl import Crawl
from benchmarks.measuring import stopwatch
from benchmarks.plain_questions import PlainQuestions
from benchmarks.questions import QUESTIONS, ROWS
from benchmarks.setting import Setting, setting
from webtable.rowkey import WebKey


class FilterScans(msgspec.Struct, frozen=True):
    """The milliseconds of each question in a plain table of so many `pages`."""

    pages: int
    milliseconds: dict[str, float]


def main(arguments: list[str] | None = None) -> int:
    """Ask a plain table, and write what it took."""
    options = _options(arguments)
    with setting(
        hbase=options.hbase, corpus=None, quick=False, largest=options.pages, needs=frozenset({"hbase"})
    ) as made:
        found = measured(made, Crawl.until_now(options.pages))
    options.results.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    return 0


def measured(made: Setting, crawl: Crawl) -> FilterScans:
    """Store the pages of *crawl* in a plain table, and return how long each question takes there."""
    taken = {}
    with made.happybase_table() as table:
        name = table.name.decode()
        PlainQuestions(table, WebKey(), ROWS).store(crawl.pages(), crawl.inlinks())
        made.flush(name)
        for question in QUESTIONS:
            if question.peer is None:
                continue
            # A gateway closes a connection that was idle for a minute, and HappyBase opens none anew.
            with made.happybase() as connection, stopwatch() as watch:
                assert question.peer(PlainQuestions(connection.table(name), WebKey(), ROWS), crawl)
            taken[question.name] = watch.seconds * 1000
            print(f"{question.name}: {taken[question.name]:,.0f} ms", flush=True)
    return FilterScans(crawl.count, taken)


def read(results: Path) -> FilterScans:
    """Return what was measured."""
    return msgspec.json.decode(results.read_bytes(), type=FilterScans)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_peers", description=__doc__.splitlines()[0])
    parser.add_argument("hbase", help="hbase://host:port?thrift2=port")
    parser.add_argument("--pages", type=int, default=1_000_000, help="how many (default: 1,000,000)")
    parser.add_argument("--results", type=Path, default=Path("scale-peers.json"), help="where they are written")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
