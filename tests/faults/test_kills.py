"""A process that writes is killed at random moments and run again: what it has acknowledged stays."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from load import Findings, Ledger, settled
from story import told

import webtable
from nightly import examples

pytestmark = pytest.mark.faults
KILLS = int(os.environ.get("WEBTABLE_FAULT_KILLS", examples(3, 100)))
"""How often the process is killed."""
PAGES = 120


@pytest.fixture(params=["sqlite", pytest.param("hbase", marks=pytest.mark.hbase)])
def url(request, tmp_path):
    """The URL of a table that is there."""
    if request.param == "sqlite":
        found = str(tmp_path / "killed.db")
    else:
        server, _, options = request.getfixturevalue("hbase_url").partition("?")
        found = f"{server}/killed_{os.getpid()}?{options}"
    webtable.open(found, create=True).close()
    return found


@pytest.mark.slow
def test_what_a_killed_writer_has_acknowledged_stays(url, tmp_path):
    ledger = tmp_path / "ledger"
    Ledger(ledger)
    chance = random.Random(1)
    for _ in range(KILLS):
        before = ledger.stat().st_size
        with subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("load.py")), url, str(ledger), str(PAGES)]
        ) as writer:
            while ledger.stat().st_size == before:
                assert writer.poll() is None
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 1))
            writer.kill()

    with webtable.open(url) as table, told(table) as story:
        found = settled(table, Ledger(ledger), Findings())

    _, stored = Ledger(ledger).read()
    acknowledged = sum(map(len, stored.values()))
    print(f"\n{type(table.store.wrapped).__name__}: {KILLS} kills, {acknowledged:,} acknowledged; {found}")
    assert found.is_clean, str(found)
    assert stored
    assert story.contradictions() == []
    assert (story.after.failed, story.after.damaged) == (0, 0)
