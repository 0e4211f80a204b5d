"""Run the benchmarks side by side: `python -m benchmarks [NAME...]`."""

from __future__ import annotations

import argparse
import importlib
import logging
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from benchmarks import against, report
from benchmarks.crawl import HOSTS
from benchmarks.measuring import LeftOut, Result
from benchmarks.setting import setting

NAMES = (
    "keys",
    "composite_keys",
    "advice",
    "advised",
    "advised_order",
    "keyed_tables",
    "extraction",
    "full_text",
    "similarity",
    "writer_time",
    "index_time",
    "hbase_write",
    "hbase_ingest",
    "ingest_workers",
    "corpus_indexed",
    "parallel_reading",
    "hbase_site_scan",
    "hbase_listing",
    "slow_link",
    "region_servers",
    "hbase_frames",
    "hbase_fanout",
    "hbase_first_pages",
    "host_index",
    "hbase_indexed_ingest",
    "hbase_in_flight",
    "hbase_native",
    "hbase_thrift2",
    "hbase_questions",
    "spark",
    "single_get",
    "deletes",
    "index_storage",
    "verify_links",
    "embedded_ingest",
    "embedded_scan",
    "embedded_frames",
    "explorer",
    "asyncio_lag",
    "scrapy",
    "memory",
    "hostile_inputs",
    "startup",
)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmarks that *arguments* name, all by default; the exit code is 1 where a target is missed."""
    options = _options(arguments)
    logging.disable(logging.WARNING)  # warcio's, of URLs with spaces
    console = Console(width=140 if not sys.stdout.isatty() else None)
    names = options.names or NAMES
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in names}
    needs = frozenset().union(*(module.NEEDS | getattr(module, "LIKES", set()) for module in modules.values()))
    results: list[Result | LeftOut] = []
    given = {name: getattr(options, name) for name in ("hbase", "corpus", "quick", "largest")}
    with setting(**given, needs=needs) as here:
        here = replace(here, by_native=options.native)
        if options.native and here.native is None:
            raise SystemExit("--native needs an HBase in a container here, or WEBTABLE_HBASE_NATIVE_URL")
        if options.against:
            against.show(against.compare_commits(names, options.against, here, options.turns), options.against, console)
            return 0
        for name, module in modules.items():
            lacking = sorted(resource for resource in module.NEEDS if resource in here.missing)
            if lacking:
                results.append(LeftOut(name, "; ".join(here.missing[resource] for resource in lacking)))
                continue
            start = time.monotonic()
            results += module.run(here)
            console.print(f"[dim]{name}: {time.monotonic() - start:.0f} s[/dim]")
        machine = report.machine(report.hbase(here, options.hbase_version))
    report.show(results, console)
    if options.write:
        command = shlex.join(["python", "-m", "benchmarks", *(sys.argv[1:] if arguments is None else arguments)])
        options.write.write_text(report.markdown(results, command, machine), encoding="utf-8")
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"which of {', '.join(NAMES)}; all by default")
    parser.add_argument("--hbase", metavar="URL", help="a running HBase (WEBTABLE_HBASE_URL); by default one in Docker")
    parser.add_argument("--hbase-version", metavar="X", help="for the page; by default that of docker/hbase")
    parser.add_argument("--native", action="store_true", help="measure webtable by HBase's own protocol")
    parser.add_argument("--corpus", metavar="DIR", type=Path, help="the WARC files (WEBTABLE_CORPUS)")
    parser.add_argument("--quick", action="store_true", help="a few seconds each, only to see that they run")
    parser.add_argument(
        "--largest",
        metavar="N",
        type=int,
        default=100_000,
        help=f"pages of the largest table in hbase_questions, full_text and explorer, a multiple of {HOSTS} (100,000)",
    )
    parser.add_argument("--write", metavar="FILE", type=Path, help="also write the results there, as Markdown")
    parser.add_argument(
        "--against", metavar="COMMIT", help="run that commit's code in turn with this, and print the ratio"
    )
    parser.add_argument("--turns", metavar="N", type=int, default=3, help="turns of --against (default: 3)")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(NAMES)):
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    if options.largest < HOSTS or options.largest % HOSTS:
        parser.error(f"--largest {options.largest} is no multiple of {HOSTS}")
    return options


if __name__ == "__main__":
    sys.exit(main())
