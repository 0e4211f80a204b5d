"""What a question has found is kept on disk, and is gone afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from webtable.repository.reading.temporary_tables import TemporaryTables

NUMBERS = "CREATE TABLE numbers (number INTEGER)"


def test_nothing_is_left_on_disk(tmp_path):
    code = """
import os, signal
from webtable.repository.reading.temporary_tables import TemporaryTables
scratch = TemporaryTables("CREATE TABLE numbers (number INTEGER)")
scratch.fill("numbers", ((b"x" * 1000,) for _ in range(60_000)), 1)
folder = os.environ["SQLITE_TMPDIR"]
descriptors = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
files = [os.readlink(one) for one in descriptors if os.path.lexists(one)]
print(any(folder in file for file in files), os.listdir(folder), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = {**os.environ, "SQLITE_TMPDIR": str(tmp_path)}

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)

    assert run.stdout == "True []\n", run.stderr
    assert list(Path(tmp_path).iterdir()) == []


def test_a_full_disk_is_an_error_that_names_the_directory():
    with (
        TemporaryTables(NUMBERS, "PRAGMA max_page_count = 20") as scratch,
        pytest.raises(OSError, match=r"TMPDIR.* full"),
    ):
        scratch.fill("numbers", ((b"x" * 1_000,) for _ in range(1_000)), 1)


def test_what_goes_wrong_while_rows_come_is_raised_as_it_is():
    def rows():
        yield (1,)
        raise KeyError("page")

    with TemporaryTables(NUMBERS) as scratch, pytest.raises(KeyError, match="page"):
        scratch.fill("numbers", rows(), 1)


def test_rows_are_read_while_others_are_put_and_may_be_left():
    with TemporaryTables(NUMBERS, "CREATE TABLE seen (number INTEGER PRIMARY KEY)") as scratch:
        scratch.fill("numbers", ((number,) for number in range(5)), 1)
        for (number,) in scratch.rows("SELECT number FROM numbers ORDER BY number"):
            scratch.fill("seen", [(number // 2,)], 1)
        rest = scratch.rows("SELECT number FROM numbers ORDER BY number DESC")

        assert next(rest) == (4,)
        assert list(scratch.rows("SELECT number FROM seen")) == [(0,), (1,), (2,)]
        assert scratch.first("SELECT number FROM seen WHERE number > ?", (5,)) is None
