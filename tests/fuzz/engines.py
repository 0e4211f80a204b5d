"""What makes inputs: hypothesis by what it knows of their structure, atheris by the code that they reach.

python tests/fuzz/engines.py atheris urls 10000 7 FILE     a process that `run.py` starts
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

STUCK_SECONDS = 60
"""How long an input may take until its process is ended."""


def run_hypothesis(name: str, inputs: int, seed: int, current: Path) -> None:
    """Run so many inputs that hypothesis makes; it makes no input twice."""
    from guard import Guard
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from targets import TARGETS

    guard = Guard(TARGETS[name], current)

    def run(data: bytes) -> None:
        signal.setitimer(signal.ITIMER_REAL, STUCK_SECONDS)  # its signal ends the process, whatever it is at
        guard.run(data)

    options = settings(
        max_examples=inputs,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seeded(seed)(options(given(TARGETS[name].inputs())(run)))()
    signal.setitimer(signal.ITIMER_REAL, 0)
    guard.save()


def run_atheris(name: str, inputs: int, seed: int, current: Path) -> None:
    """Run so many inputs that atheris makes: changed ones of those that have reached new code of webtable."""
    import atheris

    # Only modules that are imported here tell what is reached in them.
    with atheris.instrument_imports(include=["webtable"]):
        for module in ("webtable.cli", "webtable.formats", "webtable.repository", "webtable.store.hbase.native.store"):
            importlib.import_module(module)
    from guard import Guard
    from targets import TARGETS

    target = TARGETS[name]
    guard = Guard(target, current)

    def run(data: bytes) -> None:
        guard.run(data)
        if guard.tally.inputs >= inputs:
            guard.save()
            sys.stdout.flush()
            os._exit(0)

    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(target.seeds()):
            Path(folder, f"{number:04d}").write_bytes(data)
        options = [f"-seed={seed}", f"-max_len={target.longest}", f"-timeout={STUCK_SECONDS}", "-rss_limit_mb=4096"]
        options += ["-len_control=0", "-print_funcs=0", f"-artifact_prefix={folder}/", folder]
        atheris.Setup([sys.argv[0], *options], run)
        atheris.Fuzz()


ENGINES: dict[str, Callable[[str, int, int, Path], None]] = {"hypothesis": run_hypothesis, "atheris": run_atheris}

if __name__ == "__main__":
    ENGINES[sys.argv[1]](sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
