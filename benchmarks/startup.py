"""How much CPU time does a command need from its start to its end?"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from statistics import median
from typing import TYPE_CHECKING

import webtable
from benchmarks.measuring import Result
from webtable.testing import sample_pages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.setting import Setting

NEEDS = frozenset[str]()

TIMES = 10
MOST_MILLISECONDS = 150


def run(setting: Setting) -> list[Result]:
    """Run commands as the shell does, and the interpreter and the framework by themselves to compare with."""
    file = setting.new_file()
    with webtable.open(file, create=True) as table, table.writer() as writer:
        pages = list(sample_pages())
        for page in pages:
            writer.put(page)
    times = TIMES if not setting.quick else 1
    # As after an installation, also where the environment keeps Python from writing what it has compiled.
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    compiled["PYTHONPYCACHEPREFIX"] = str(setting.folder / "compiled")

    def taken(*arguments: str) -> float:
        return cpu_time(arguments, times, compiled)

    bare, framework = taken("-c", "pass"), taken("-c", "import typer")
    return [
        Result(
            f"webtable {shown}",
            "python -c pass; with typer imported",
            f"{(figure := taken('-m', 'webtable.cli', *words)):.0f} ms",
            f"{bare:.0f} ms; {framework:.0f} ms",
            figure,
            MOST_MILLISECONDS,
            at_most=True,
            unit=" ms",
            note=f"user and system time of the process, the median of {times}",
        )
        for shown, words in _commands(str(file), pages[0].url)
    ]


def _commands(file: str, url: str) -> Sequence[tuple[str, list[str]]]:
    return (
        ("--version", ["--version"]),
        ("--help", ["--help"]),
        ("get URL, embedded", ["-s", file, "get", url]),
        ("get --help", ["get", "--help"]),
    )


def cpu_time(arguments: Sequence[str], times: int, environment: Mapping[str, str]) -> float:
    """Return the milliseconds of CPU, of user and system, that Python needs with these *arguments*; the median."""
    # The first run compiles the modules, and is not counted.
    taken = [_once(arguments, environment) for _ in range(times + 1)][1:]
    return median(taken) * 1000


def _once(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
