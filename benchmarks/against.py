"""This code and another commit's, each with the benchmarks of its own, in turn on the same HBase and corpus."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.measuring import LeftOut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from benchmarks.setting import Setting

CHECKOUT = Path(__file__).parents[1]
_NUMBER = re.compile(r"\d[\d.,]*")
FIGURE = re.compile(r"(?<![\w.])(?P<number>[\d,]+(?:\.\d+)?) ?(?P<unit>[^\s,;\d][^\s,;]*)")


@dataclass(frozen=True, slots=True)
class Change:
    """What a row of a benchmark showed with both: a figure of each turn, and how many times as good the new is."""

    what: str
    unit: str
    new: tuple[float, ...]
    old: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """One of each turn; over 1 means that the new code is better: more a second, or less time or memory."""
        pairs = zip(self.new, self.old, strict=True)
        return [new / old if self.unit.endswith("/s") else old / new for new, old in pairs]


def compare_commits(names: Sequence[str], commit: str, setting: Setting, turns: int) -> list[Change | LeftOut]:
    """Run the benchmarks *names* of this checkout and of *commit* in turn, *turns* times after a short warm-up.

    Each side is a process with its own `benchmarks` and `src`, since their API may differ; what they have in common is
    the table of results that both write. A benchmark that *commit* lacks is left out. Raises `CalledProcessError`
    where a side fails, with its output on the terminal.
    """
    other = checkout(commit, setting.folder / "other")
    changes: list[Change | LeftOut] = []
    for name in names:
        if not (other / "benchmarks" / f"{name}.py").is_file():
            changes.append(LeftOut(name, f"{commit} has no such benchmark"))
            continue
        for tree in (CHECKOUT, other):
            _figures(tree, name, setting, "--quick")  # compiles the modules
        results = [(_figures(CHECKOUT, name, setting), _figures(other, name, setting)) for _ in range(turns)]
        changes += matched(name, results)
    return changes


def checkout(commit: str, folder: Path) -> Path:
    """Write the files of *commit* into *folder*, which is new, and return it."""
    packed = subprocess.run(["git", "archive", commit], cwd=CHECKOUT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def matched(name: str, turns: Iterable[tuple[dict[str, str], dict[str, str]]]) -> list[Change]:
    """Return a change for each row that both sides of all *turns* have: in the same place, or of the same text.

    Where texts are compared, numbers in them may differ: those of a turn are part of the names of some rows.
    """
    sides = list(turns)
    pages = [page for both in sides for page in both]
    if len({len(page) for page in pages}) > 1:
        named = [{_NUMBER.sub("", what): (what, figure) for what, figure in page.items()} for page in pages]
        common = [what for what in named[0] if all(what in page for page in named)]
        pages = [dict(page[what] for what in common) for page in named]
    changes = []
    for rows in zip(*(page.items() for page in pages), strict=True):
        figures = [_figure(text) for _, text in rows]
        units = {unit for _, unit in figures}
        if len(units) == 1:
            found = [figure for figure, _ in figures]
            changes.append(Change(f"{name}: {rows[0][0]}", units.pop(), tuple(found[::2]), tuple(found[1::2])))
    return changes


def rows_of(page: str) -> dict[str, str]:
    """Return the column `ours` of each row of the results in *page*, the Markdown of `--write`."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    return {cells[0]: cells[1] for cells in rows if FIGURE.search(cells[1]) and not cells[1].startswith("left out")}


def show(changes: Sequence[Change | LeftOut], commit: str, console: Console) -> None:
    """Print the changes as a table, with the median and the range of the ratios."""
    table = Table(
        "what", "this code", commit, "ratio", "of all turns", title=f"this code against {commit}", show_lines=True
    )
    for change in changes:
        if isinstance(change, LeftOut):
            table.add_row(change.what, "left out", change.why)
            continue
        ratios = change.ratios
        table.add_row(
            change.what,
            f"{median(change.new):,.1f} {change.unit}",
            f"{median(change.old):,.1f} {change.unit}",
            f"{median(ratios):.2f}×",
            f"{min(ratios):.2f} to {max(ratios):.2f}",
        )
    console.print(table)


def _figures(tree: Path, name: str, setting: Setting, *options: str) -> dict[str, str]:
    page = setting.folder / "turn.md"
    page.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks", name, "--write", str(page), *options]
    if setting.quick and "--quick" not in options:
        command.append("--quick")
    command += ["--hbase", setting.hbase] if setting.hbase else []
    command += ["--corpus", str(setting.corpus)] if setting.corpus else []
    path = os.pathsep.join([str(tree), str(tree / "src")])
    done = subprocess.run(
        command, cwd=tree, env={**os.environ, "PYTHONPATH": path}, check=False, capture_output=True, text=True
    )
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        done.check_returncode()
    return rows_of(page.read_text(encoding="utf-8"))


def _figure(text: str) -> tuple[float, str]:
    """Return the first number of *text* and its unit: `p50 18.3 ms, 17.8 ms` is 18.3 and `ms`."""
    found = FIGURE.search(text)
    assert found is not None, text
    return float(found["number"].replace(",", "")), found["unit"]
