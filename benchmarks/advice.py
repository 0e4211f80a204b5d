"""How long does it take to judge six designs on a million URLs, and in how much memory?"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks.measuring import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.setting import Setting

NEEDS = frozenset[str]()

URLS = 1_000_000
LIMIT_MB = 500


def run(setting: Setting) -> list[Result]:
    """Let a process of its own judge the designs, and look at its resident memory every 20 ms."""
    count = setting.scaled(URLS)
    command = [sys.executable, "-m", "benchmarks.advice", str(count)]
    start = time.monotonic()
    most = 0.0
    with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True) as child:
        process = psutil.Process(child.pid)
        while child.poll() is None:
            most = max(most, process.memory_info().rss / 1e6)
            time.sleep(0.02)
        assert child.stdout is not None
        said = child.stdout.read().split()
    seconds = time.monotonic() - start
    assert (child.returncode, said[0]) == (0, str(count)), f"{command}: exit code {child.returncode}, said {said}"
    return [
        Result(
            f"advice on six designs by {count:,} URLs",
            "–",
            f"{seconds:.1f} s, at most {most:.0f} MB",
            f"{said[1]} measured",
            most,
            LIMIT_MB,
            at_most=True,
            unit=" MB",
        )
    ]


def urls(count: int) -> Iterator[str]:
    """Yield so many URLs of a thousand hosts."""
    for number in range(count):
        yield f"https://www.site{number * 7919 % 1000}.example/{number % 17}/page-{number}?id={number}"


if __name__ == "__main__":
    from webtable.rowkey.advice import advise

    judged = advise(urls(int(sys.argv[1])))
    print(judged.keys, judged.measured)
