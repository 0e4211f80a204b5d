"""Fuzz one target or several for long, and print what was run.

    python tests/fuzz/run.py                                  a million inputs for each target
    python tests/fuzz/run.py urls warc --inputs 100000        fewer, for two of them
    python tests/fuzz/run.py urls --engine hypothesis         by one engine
    python tests/fuzz/run.py --processes 2                    two at a time

A twentieth of the inputs is made by hypothesis, 20,000 at most, the others by atheris; all of them by hypothesis where
there is no atheris for a machine. Findings are stored in `tests/fuzz/findings/` as `new-…`, where the tests read them.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from engines import ENGINES
from guard import FINDINGS, Tally, last_input, store, tally_of
from targets import TARGETS

_DEATHS = 20
"""How often a target may end its process until it is left."""
_AT_ONCE = 100_000
"""Inputs of one process: what an engine keeps of them takes memory."""


class Job(NamedTuple):
    """A part of the inputs of one target."""

    target: str
    engine: str
    inputs: int
    seed: int


def jobs(target: str, inputs: int, engine: str | None = None, seed: int = 1) -> Iterator[Job]:
    """Yield the parts of so many inputs."""
    if engine is None and importlib.util.find_spec("atheris") is None:
        engine = "hypothesis"
    structured = {"hypothesis": inputs, "atheris": 0}.get(engine or "", min(inputs // 20, 20_000))
    for name, count in (("hypothesis", structured), ("atheris", inputs - structured)):
        for begin in range(0, count, _AT_ONCE):
            yield Job(target, name, min(_AT_ONCE, count - begin), seed + begin // _AT_ONCE)


def run(job: Job) -> Tally:
    """Run *job* in processes of its own; one that ends on its own is a finding, and another goes on."""
    tally = Tally()
    for death in range(_DEATHS):
        with tempfile.TemporaryDirectory() as folder:
            current = Path(folder, "current")
            arguments = [job.engine, job.target, str(job.inputs - tally.inputs), str(job.seed + 1000 * death), current]
            done = subprocess.run(
                [sys.executable, Path(__file__).parent / "engines.py", *arguments],
                capture_output=True,
                text=True,
            )
            tally.add(tally_of(current))
            if "no interesting inputs" in done.stderr:
                raise RuntimeError(f"{job} saw nothing of what its inputs reach")
            if done.returncode == 0:
                break
            if not current.exists() or not (data := last_input(current)):
                raise RuntimeError(f"{job} did not begin: {done.stderr[-2_000:]}")
            tally.findings[f"the process ended with {done.returncode}"] += 1
            print(f"{job}: ended with {done.returncode} in {store(FINDINGS / job.target, data)}", flush=True)
    return tally


def fuzz(target: str, inputs: int, *, engine: str | None = None, seed: int = 1, processes: int = 1) -> dict[str, Tally]:
    """Return what each engine has run of so many inputs of *target*."""
    parts = list(jobs(target, inputs, engine, seed))
    tallies = {name: Tally() for name in dict.fromkeys(part.engine for part in parts)}
    with ThreadPoolExecutor(processes) as executor:
        for part, tally in zip(parts, executor.map(run, parts), strict=True):
            tallies[part.engine].add(tally)
    return tallies


def lines(target: str, tallies: dict[str, Tally]) -> Iterator[str]:
    """Yield a row of a table for each engine, and the findings."""
    for engine, tally in tallies.items():
        rate = tally.inputs / tally.seconds if tally.seconds else 0.0
        yield (
            f"| {target} | {engine} | {tally.inputs:,} | {rate:,.0f} | {len(tally.findings)} "
            f"| {tally.megabytes:,.0f} MB | {tally.slowest * 1e3:,.0f} ms |"
        )
        yield from (f"  {count:,} x {name}" for name, count in tally.findings.items())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say; 1 where there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help=f"some of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--engine", choices=ENGINES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args(arguments)
    print("| target | engine | inputs | inputs/s | findings | memory | slowest |\n|---|---|---|---|---|---|---|")
    found = False
    for target in given.targets or TARGETS:
        inputs = given.inputs // TARGETS[target].fewer
        tallies = fuzz(target, inputs, engine=given.engine, seed=given.seed, processes=given.processes)
        print("\n".join(lines(target, tallies)), flush=True)
        found |= any(tally.findings for tally in tallies.values())
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
