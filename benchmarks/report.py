"""The results as a table on the terminal and as a page of the documentation."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from rich.table import Table

from benchmarks.measuring import LeftOut, Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from benchmarks.setting import Setting

HEADINGS = ("what", "ours", "peer", "", "target", "met")


def show(results: Sequence[Result | LeftOut], console: Console) -> None:
    """Print the results as a table."""
    table = Table(*HEADINGS, title="webtable against what one would use without it", show_lines=True)
    for result in results:
        if isinstance(result, LeftOut):
            table.add_row(result.what, "left out", result.why, "", "", "–")
        else:
            table.add_row(
                f"{result.what}\nagainst {result.against}" if result.against != "–" else result.what,
                result.ours,
                result.peer,
                result.shown_figure,
                result.shown_target,
                _met(result, "NO"),
            )
    console.print(table)


def markdown(results: Sequence[Result | LeftOut], command: str, machine: str) -> str:
    """Return the results as a page, with the machine, the date and the command."""
    lines = [
        "# Benchmarks",
        "",
        "Each row is measured in one run, both sides in turn (ours, the peer, ours, the peer …), both with",
        "the same outcome, which is checked. A ratio is the median of the ratios of the pairs; a rate or a time is the",
        "median of its side. Over 1 means that webtable is faster. What each row measures is in the file of its name",
        "in `benchmarks/`.",
        "",
        f"Run on {datetime.now(UTC):%Y-%m-%d} by",
        "",
        f"    {command}",
        "",
        f"on {machine}.",
        "",
        "| what | ours | peer | figure | target | met |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_line(result) for result in results]
    notes = [result for result in results if isinstance(result, Result) and result.note]
    if notes:
        lines += ["", "## Notes", "", *(f"- {result.what}: {result.note}." for result in notes)]
    return "\n".join(lines) + "\n"


def _line(result: Result | LeftOut) -> str:
    if isinstance(result, LeftOut):
        return f"| {result.what} | left out: {result.why.splitlines()[0]} | | | | – |"
    what = f"{result.what}; against {result.against}" if result.against != "–" else result.what
    figure, target = result.shown_figure, result.shown_target
    return f"| {what} | {result.ours} | {result.peer} | {figure} | {target} | {_met(result, '**no**')} |"


def _met(result: Result, missed: str) -> str:
    if result.target is None:
        return "–"
    return "yes" if result.met else missed


def machine(hbase: str | None) -> str:
    """Return what the benchmarks ran on, in a line."""
    memory = psutil.virtual_memory().total / 2**30
    parts = [
        f"{os.cpu_count()} cores of {_cpu()}",
        f"{memory:.0f} GB of memory",
        platform.system(),
        f"Python {platform.python_version()}",
    ]
    return ", ".join([*parts, hbase] if hbase else parts)


def hbase(here: Setting, version: str | None) -> str | None:
    """Return which HBase it was, None where there was none; the gateways do not say its version."""
    if here.hbase is None:
        return None
    pom = Path(__file__).parents[1] / "docker" / "hbase" / "pom.xml"
    found = re.search(r"<hbase\.version>([^<]+)<", pom.read_text(encoding="utf-8")) if pom.is_file() else None
    return f"HBase {version or (found[1] if found else 'of unknown version')}, one node, on the same machine"


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()
