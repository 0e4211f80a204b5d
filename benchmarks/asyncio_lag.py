"""How long does a loop of asyncio wait while 1,000 pages a second are put?"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.material import made_up_pages
from benchmarks.measuring import Result
from webtable import aio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.setting import Setting
    from webtable import Page

NEEDS = frozenset[str]()
HOSTS = [f"h{number}.aio.example" for number in range(40)]
BODY_BYTES = 6_000
RATE = 1_000
BEAT = 0.002
"""How long the task sleeps that tells how late it is woken."""
INTERVALS = (0.005, 0.0005)
"""How long a thread keeps the interpreter while another one wants it: as Python has it, and a tenth of that."""


def run(setting: Setting) -> list[Result]:
    """Put pages at that rate into fresh files, with each switch interval, and sleep as long in such a loop, in turn."""
    pages = list(made_up_pages(setting.scaled(6_000), HOSTS, body_bytes=BODY_BYTES))
    turns = [
        (asyncio.run(_idle(len(pages) / RATE)), [_putting_with(setting, pages, interval) for interval in INTERVALS])
        for _ in range(setting.pairs(3))
    ]
    idle = median(lag for lag, _ in turns)
    sides = zip(*(putting for _, putting in turns), strict=True)
    return [
        Result(
            f"asyncio, lag of the loop (99th percentile) while {len(pages):,} generated pages "
            f"({BODY_BYTES / 1000:.0f} KB each) are put, sys.setswitchinterval({interval})",
            "the same loop without puts",
            f"{median(lag for lag, _ in side):.1f} ms",
            f"{idle:.1f} ms",
            median(lag for lag, _ in side),
            5,
            at_most=True,
            unit=" ms",
            note="without what the thread of the loop waited for a processor that other programs had; runs: "
            + ", ".join(f"{lag:.1f} ms at {rate:,.0f} pages/s" for lag, rate in side),
        )
        for interval, side in zip(INTERVALS, sides, strict=True)
    ]


async def _idle(seconds: float) -> float:
    """Return the lag of a loop that does nothing else."""
    beating = asyncio.ensure_future(_lags(ended := asyncio.Event()))
    await asyncio.sleep(seconds)
    ended.set()
    return _p99(await beating)


def _putting_with(setting: Setting, pages: Sequence[Page], interval: float) -> tuple[float, float]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(interval)
    try:
        return asyncio.run(_putting(setting, pages))
    finally:
        sys.setswitchinterval(before)


async def _putting(setting: Setting, pages: Sequence[Page]) -> tuple[float, float]:
    """Return the lag while *pages* are put, and how many were put a second."""
    async with aio.open(setting.new_file(), create=True) as table:
        beating = asyncio.ensure_future(_lags(ended := asyncio.Event()))
        async with table.writer() as writer:
            began = time.perf_counter()
            for number, page in enumerate(pages):
                await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
                await writer.put(page)
            rate = len(pages) / (time.perf_counter() - began)
        ended.set()
        assert writer.stored == len(pages)
        return _p99(await beating), rate


async def _lags(ended: asyncio.Event) -> list[float]:
    """Return, in milliseconds, how much later than asked each of many sleeps ended."""
    found = []
    while not ended.is_set():
        began, waited = time.perf_counter(), _waited()
        await asyncio.sleep(BEAT)
        late = time.perf_counter() - began - BEAT - (_waited() - waited)
        found.append(max(0.0, late) * 1000)
    return found


def _waited() -> float:
    """Return for how many seconds this thread was ready and had no processor; 0 where the system does not tell."""
    told = Path("/proc/thread-self/schedstat")
    return int(told.read_text(encoding="ascii").split()[1]) / 1e9 if told.exists() else 0.0


def _p99(lags: Sequence[float]) -> float:
    return sorted(lags)[int(len(lags) * 0.99)]
