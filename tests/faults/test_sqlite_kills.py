"""A process is killed in the middle of a commit or of a checkpoint, at a write that is chosen by chance."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest
from disk import KILLS as WAYS
from disk import Hurt
from load import Findings, Ledger, settled

import webtable
from nightly import examples

pytestmark = pytest.mark.faults
KILLS = int(os.environ.get("WEBTABLE_FAULT_KILLS", examples(3, 100)))
"""How often a process is killed in each."""
PAGES = 120


def killed(path, ledger, hurt):
    """Return whether a process that writes was killed as *hurt* says; it always ends."""
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("disk.py")), path, ledger, str(PAGES), json.dumps(asdict(hurt))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as writer:
        said = writer.stdout.read()
        writer.stdin.close()
    return said == b"killed\n" and writer.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.timeout(120 + 10 * KILLS)
@pytest.mark.parametrize("where", ["commit", "checkpoint"])
def test_what_a_writer_that_is_killed_in_a_write_of_sqlite_has_acknowledged_stays(tmp_path, where):
    path, ledger = tmp_path / "killed.db", tmp_path / "ledger"
    webtable.open(str(path), create=True).close()
    Ledger(ledger)
    chance = random.Random(where)
    hits = Counter()
    for turn in range(KILLS):
        way = WAYS[turn % len(WAYS)]
        hits[way] += killed(path, ledger, Hurt(way, log=where == "commit", at=chance.randrange(1, 3_000)))
        with webtable.open(str(path)) as table:
            found = settled(table, Ledger(ledger), Findings())
        assert found.is_clean, f"kill {turn}, {way}: {found}"
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    _, stored = Ledger(ledger).read()
    acknowledged = sum(map(len, stored.values()))
    print(f"\n{where}: {hits.total()} of {KILLS} kills hit a write ({dict(hits)}), {acknowledged:,} acknowledged")
    assert hits.total() == KILLS
    assert stored
