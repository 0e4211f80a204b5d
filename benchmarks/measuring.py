"""How everything here is measured: both sides in turn, the same work, the same outcome, medians."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import NamedTuple

import psutil


class Spent(NamedTuple):
    """Processor seconds of all threads of the client, the gateways and HBase."""

    client: float
    gateways: float = 0.0
    hbase: float = 0.0

    def plus(self, other: Spent, sign: int = 1) -> Spent:
        """Return the sum of both, or with -1 as *sign* the difference."""
        return Spent(*(part + sign * more for part, more in zip(self, other, strict=True)))

    def shown(self, items: int) -> str:
        """Return the microseconds of each part for one of *items*, without gateways and HBase where there are none."""
        parts = self if self.gateways or self.hbase else self[:1]
        return f"{' + '.join(f'{part / items * 1e6:,.0f}' for part in parts)} µs"


@cache
def spending() -> Callable[[], Spent]:
    """Return a function that returns the seconds so far; all HBase processes of this machine are taken for its own.

    Linux counts those of other processes in hundredths of a second. A process that has ended keeps what it had.
    """
    seconds: dict[psutil.Process, float] = {}

    def of(processes: list[psutil.Process]) -> float:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                seconds[process] = float(times.user + times.system)
        return sum(seconds.get(process, 0.0) for process in processes)

    java = [process for process in psutil.process_iter(["cmdline"]) if _HBASE in _command(process)]
    gateways = [process for process in java if "ThriftServer" in _command(process)]
    servers = [process for process in java if process not in gateways]
    return lambda: Spent(_of_client(), of(gateways), of(servers))


_HBASE = "org.apache.hadoop.hbase"


def _of_client() -> float:
    ended = os.times()  # of processes that this one has started
    return time.process_time() + ended.children_user + ended.children_system


def _command(process: psutil.Process) -> str:
    return " ".join(process.info["cmdline"] or [])


_spent: list[Spent] = []
"""What the last stopwatch has counted, until a `Run` takes it."""


@dataclass(slots=True)
class Stopwatch:
    """The seconds that the block of `stopwatch` took; 0 before it ends."""

    seconds: float = 0.0


@contextmanager
def tidied() -> Iterator[None]:
    """Have what was made before the block (the prepared pages) out of the way of the garbage collector.

    Within a block that has it already nothing is done: tidying up takes longer than the answer to a question.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Time the block, `tidied`."""
    with tidied():
        watch = Stopwatch()
        so_far = spending()
        before = so_far()
        start = time.perf_counter()
        yield watch
        watch.seconds = time.perf_counter() - start
        _spent[:] = [so_far().plus(before, -1)]


def wait_until_idle(seconds: float = 30.0) -> None:
    """Wait, at most *seconds*, until the machine is idle: HBase flushes and compacts what the other side wrote."""
    deadline = time.monotonic() + seconds
    while psutil.cpu_percent(interval=0.5) > 10 and time.monotonic() < deadline:
        pass


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one side: its time, how many items it worked through, and what tells that the work was done.

    Both sides of a comparison must come to the same *proof*: counts, or a digest of what was stored or returned.
    """

    seconds: float
    items: int
    proof: object
    spent: Spent | None = field(default_factory=lambda: _spent.pop() if _spent else None, compare=False)
    """The processor time that the stopwatch has counted, if one has measured the run."""


Side = Callable[[], Run]


@dataclass(frozen=True, slots=True)
class Result:
    """A row of the table of results. `figure` is held against `target`: at least that, or with `at_most` at most.

    None is for a figure that is told and not held against anything.
    """

    what: str
    against: str
    ours: str
    peer: str
    figure: float
    target: float | None
    at_most: bool = False
    unit: str = "×"
    note: str = ""
    processor: str = ""
    """The processor time of both sides for each item: of the client, the gateways and HBase."""

    @property
    def met(self) -> bool:
        """Whether the target is reached; there may be none to reach."""
        if self.target is None:
            return True
        return self.figure <= self.target if self.at_most else self.figure >= self.target

    @property
    def shown_figure(self) -> str:
        """The figure as the table shows it."""
        return f"{self.figure:.2f}{self.unit}" if self.unit == "×" else f"{self.figure:,.0f}{self.unit}"

    @property
    def shown_target(self) -> str:
        """The target as the table shows it."""
        if self.target is None:
            return "–"
        return f"{'≤' if self.at_most else '≥'} {self.target:g}{self.unit}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A benchmark that was not run, and why."""

    what: str
    why: str


def compare(
    what: str,
    against: str,
    *,
    target: float | None,
    ours: Side,
    peer: Side,
    pairs: int,
    warm_up: bool = True,
    unit: str = "pages/s",
    note: str = "",
) -> Result:
    """Run *ours* and *peer* in turn, *pairs* times, and return the median of how many times as fast ours was.

    The ratio is taken pair by pair, because a shared machine is faster in some minutes than in others. A first run of
    each, where *warm_up* has it, is not counted. *unit* is `ms` for the time of a whole run, else a rate of its items.
    Raises `AssertionError` where the sides did not come to the same proof.
    """

    def run(side: Side) -> Run:
        _spent.clear()  # of what had no run
        return side()

    runs = [(run(ours), run(peer)) for _ in range(pairs + warm_up)]
    return compared(what, against, runs, target=target, warm_up=warm_up, unit=unit, note=note)


def compared(
    what: str,
    against: str,
    runs: list[tuple[Run, Run]],
    *,
    target: float | None,
    warm_up: bool = True,
    unit: str = "pages/s",
    note: str = "",
) -> Result:
    """Return what `compare` returns, from *runs* of both sides; for more sides than two that run in turn."""
    for mine, other in runs:
        assert (mine.items, mine.proof) == (other.items, other.proof), (
            f"{what}: not the same outcome: {mine.items:,} items, {str(mine.proof)[:200]}; "
            f"{against}: {other.items:,} items, {str(other.proof)[:200]}"
        )
    counted = runs[warm_up:]
    ratio = median(other.seconds / mine.seconds for mine, other in counted)
    return Result(
        what,
        against,
        _shown([mine for mine, _ in counted], unit),
        _shown([other for _, other in counted], unit),
        ratio,
        target,
        note=note,
        processor="; ".join(filter(None, (_processor([side[at] for side in counted]) for at in (0, 1)))),
    )


def _processor(runs: list[Run]) -> str:
    spent = [run.spent for run in runs if run.spent is not None]
    if len(spent) < len(runs):
        return ""
    total = Spent(*map(sum, zip(*spent, strict=True)))
    return total.shown(sum(run.items for run in runs) or len(runs))


def _shown(runs: list[Run], unit: str) -> str:
    if unit == "ms":
        return f"{median(run.seconds for run in runs) * 1000:,.1f} ms"
    return f"{median(run.items / run.seconds for run in runs):,.0f} {unit}"
