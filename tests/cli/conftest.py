"""The command line in an empty directory, in a pipe or on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from running import Run, webtable_command


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WEBTABLE_STORE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture
def run() -> Run:
    """Run `webtable` with these arguments, as in a pipe."""
    return webtable_command


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the commands believe that they write to a terminal of 100 columns."""
    for name, module in list(sys.modules.items()):
        if name.startswith("webtable.cli.") and hasattr(module, "on_terminal"):
            monkeypatch.setattr(module, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
