"""The embedded store among others: processes that write together, long writes, and disks that fail now and then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest
from disk import Hurt
from load import Ledger, Load, settled

import webtable
from nightly import examples
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put

pytestmark = [pytest.mark.faults, pytest.mark.slow]
SECONDS = float(os.environ.get("WEBTABLE_FAULT_SECONDS", examples(1, 75)))
"""How long others write."""
TIMEOUT = 3
PAGES = 120


@pytest.fixture
def url(tmp_path):
    """The URL of a table that is there."""
    found = f"sqlite:{tmp_path / 'together.db'}?timeout={TIMEOUT}"
    webtable.open(found, create=True).close()
    return found


@contextmanager
def another_writer(url, ledger, findings, hurt=None):
    """Let another process write to all pages while the block runs, and add what came of it to *findings*."""
    command = [sys.executable, str(Path(__file__).with_name("disk.py")), url, ledger, str(PAGES)]
    with subprocess.Popen(
        [*command, json.dumps(asdict(hurt)) if hurt else ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        yield
        said, _ = writer.communicate()
    found = json.loads(said)
    findings.acknowledged += found["acknowledged"]
    findings.errors += Counter(found["errors"])
    findings.calls += Counter(found["calls"])
    for bad in ("lost", "wrong", "late", "untyped"):
        getattr(findings, bad).extend(found[bad])


def test_two_processes_write_while_others_read(url, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    with webtable.open(url) as table:
        with (
            Load(table, ledger, writers=0, readers=1, pages=PAGES) as load,
            another_writer(url, tmp_path / "ledger", load.findings),
            another_writer(url, tmp_path / "ledger", load.findings),
        ):
            time.sleep(SECONDS)
        found = settled(table, ledger, load.findings)

    print(f"\ntwo processes that write: {dict(found.calls)}, {found}")
    assert found.is_clean, str(found)
    assert found.acknowledged
    assert found.calls["get"]


@pytest.mark.parametrize("seconds", [pytest.param(0.7, id="shorter"), pytest.param(1.5 * TIMEOUT, id="longer")])
def test_a_long_write_holds_up_no_reader_and_writers_no_longer_than_their_deadline(url, tmp_path, seconds):
    rows = [b"%03d" % number for number in range(100)]
    ledger = Ledger(tmp_path / "ledger")
    with webtable.open(url) as table, webtable.open(url) as long:
        long.store.create_table(TableSchema("long", (FamilySchema("f"),)))
        with (
            Load(table, ledger, writers=1, readers=2, pages=PAGES) as load,
            another_writer(url, tmp_path / "ledger", load.findings),
        ):
            time.sleep(0.3)
            before, began = load.findings.calls.copy(), time.monotonic()
            with long.store.transaction():
                for turn, row in enumerate(rows):
                    assert long.store.write("long", [Put(row, [NewCell(b"f:q", 1, bytes(10_000))])]) == [None]
                    time.sleep(seconds / len(rows))
                    assert turn % 10 or not list(table.store.scan("long", [KeyRange()]))
            reads, took = load.findings.calls - before, time.monotonic() - began
            time.sleep(0.5)
        found = settled(table, ledger, load.findings)
        stored = [row.key for row in table.store.scan("long", [KeyRange()])]

    print(f"\na write of {took:.1f} s: {dict(reads)} meanwhile, {found}")
    assert found.is_clean, str(found)
    assert stored == rows
    assert reads["get"] > 10
    assert found.errors or seconds < TIMEOUT, str(found)


@pytest.mark.parametrize(
    ("what", "log"),
    [
        pytest.param("fails", True, id="commits-fails"),
        pytest.param("disk full", True, id="commits-disk full", marks=pytest.mark.nightly),
        pytest.param("fails", False, id="checkpoints-fails", marks=pytest.mark.nightly),
        pytest.param("disk full", False, id="checkpoints-disk full"),
    ],
)
def test_a_disk_that_fails_now_and_then_loses_nothing(url, tmp_path, what, log):
    ledger = Ledger(tmp_path / "ledger")
    # One early write is hurt in any case: on a busy machine there may be few.
    hurt = Hurt(what, log=log, share=0.002, at=40) if log else Hurt(what, log=log, share=0.05, at=1)
    with webtable.open(url) as table:
        for _ in range(12):
            with (
                Load(table, ledger, writers=0, readers=1, pages=PAGES) as load,
                another_writer(url, tmp_path / "ledger", load.findings, hurt),
                another_writer(url, tmp_path / "ledger", load.findings),
            ):
                time.sleep(SECONDS)
            found = settled(table, ledger, load.findings)
            if found.calls["hurt"] and (found.errors or not log):
                break  # a busy machine may leave the process that is hurt no turn to write

    print(f"\n{'commits' if log else 'checkpoints'} of which a write {what}: {found.calls['hurt']} times, {found}")
    assert found.is_clean, str(found)
    assert found.calls["hurt"]
    assert found.errors or not log, str(found)  # of a checkpoint that fails nobody is told: the log has it all
