"""What a shell completes: commands, profiles, indexes and columns."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import webtable


@pytest.fixture(autouse=True)
def store() -> None:
    """A table with two indexes, and a profile of it."""
    webtable.open("webtable.db", create=True, indexes=["time", "size"]).close()
    webtable.open("other.db", create=True, indexes=["status"]).close()
    Path("webtable.toml").write_text(
        '[profiles.prod]\nstore = "other.db"\n[profiles.test]\nstore = "hbase://nowhere/t"'
    )


def completed(line: str) -> list[str]:
    """Return what bash is offered behind *line*."""
    words = line.split(" ")
    environment = {"_WEBTABLE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    program = "from webtable.cli import main; main()"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("webtable -s ", ["prod", "test"]),
        ("webtable -s p", ["prod"]),
        ("webtable index drop ", ["size", "time"]),
        ("webtable index add l", ["link"]),
        ("webtable index add s", ["similarity", "status"]),
        ("webtable -s prod index verify ", ["status"]),
        ("webtable -s test index drop s", ["similarity", "size", "status"]),
        ("webtable indexed t", ["time"]),
        ("webtable pages --columns url,ti", ["url,title", "url,title_pixels"]),
        ("webtable most", ["most-linked"]),
        ("webtable index re", ["rebuild", "repair"]),
    ],
)
def test_a_shell_is_offered_what_there_is(line, offered):
    assert completed(line) == offered


def test_a_config_file_that_cannot_be_read_completes_nothing():
    Path("webtable.toml").write_text("profiles")

    assert completed("webtable -s ") == []
