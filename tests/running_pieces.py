"""Running pieces of Python, each in a child of one process that has imported before what they need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

Run: TypeAlias = Callable[[str, Path], tuple[int, str]]
"""Runs a piece of Python in a folder; returns its exit code and what it wrote."""


@contextmanager
def pieces_run_after(*imported: str, warnings: str, path: Sequence[str] = ()) -> Iterator[Run]:
    """Start a process that has imported those modules, with an option of `-W` and more folders of modules."""
    command = [sys.executable, "-W", warnings, str(Path(__file__).with_name("snippets.py")), *imported]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*path, os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        told, answers = process.stdin, process.stdout
        assert told is not None
        assert answers is not None

        def run(code: str, folder: Path) -> tuple[int, str]:
            print(json.dumps({"code": code, "folder": str(folder)}), file=told, flush=True)
            code_of_exit, wrote = json.loads(answers.readline())
            return code_of_exit, wrote

        yield run
        told.close()
