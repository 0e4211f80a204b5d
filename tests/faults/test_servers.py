"""HBase itself is killed, paused and started again while it is written to and read from. Takes minutes."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

import pytest
from load import Ledger, Load, settled
from story import TROUBLE, told

import webtable

pytestmark = [pytest.mark.faults, pytest.mark.hbase, pytest.mark.nightly, pytest.mark.timeout(900)]
PAUSES = [5, 40, 100]


@contextmanager
def under_load(server, tmp_path, name):
    """Write and read while the block runs, then compare what is there with what was acknowledged.

    The block is given the story of it, which must agree with itself and with the errors.
    """
    url = server.url.format(table=f"servers_{os.getpid()}_{name}")
    ledger = Ledger(tmp_path / "ledger")
    with webtable.open(url, create=True) as table:
        with told(table) as story, Load(table, ledger, pages=200) as load:
            until = time.monotonic() + 60
            while not load.findings.acknowledged and time.monotonic() < until:
                time.sleep(0.1)
            time.sleep(5)
            before = load.findings.acknowledged
            yield story
            time.sleep(10)
        found = settled(table, ledger, load.findings)
    print(f"\n{name}: {found}; told {dict(story.events())}, away {story.away()}")
    assert found.is_clean, str(found)
    assert found.acknowledged > before > 0
    assert story.contradictions(found.errors) == []


def test_hbase_is_killed_and_started_again(server, tmp_path):
    with under_load(server, tmp_path, "killed") as story:
        began = time.time()
        server.restart()
        ended = time.time()

    assert story.of("dropped")
    away = [(since, until) for _, since, until in story.away() if until is not None]
    assert away, "no gateway is told as down and up again"
    assert all(began <= since for since, _ in away)
    assert max(until for _, until in away) < ended + 10
    assert not any(gateway.is_down for gateway in story.after.servers)


@pytest.mark.parametrize("seconds", PAUSES)
def test_a_gateway_is_paused(server, tmp_path, seconds):
    with under_load(server, tmp_path, f"gateway_{seconds}") as story, server.paused("thrift2.ThriftServer"):
        time.sleep(seconds)

    assert story.of(*TROUBLE)


@pytest.mark.parametrize("seconds", PAUSES)
def test_hbase_is_paused(server, tmp_path, seconds):
    with under_load(server, tmp_path, f"hbase_{seconds}") as story, server.paused("HMaster"):
        time.sleep(seconds)

    assert story.of(*TROUBLE)
