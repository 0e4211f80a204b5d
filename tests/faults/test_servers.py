"""HBase itself is killed, paused and started again while it is written to and read from. Takes minutes."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

import pytest
from load import Ledger, Load, settled

import webtable

pytestmark = [pytest.mark.faults, pytest.mark.hbase, pytest.mark.timeout(900)]
PAUSES = [5, 40, 100]


@contextmanager
def under_load(server, tmp_path, name):
    """Write and read while the block runs, then compare what is there with what was acknowledged."""
    url = server.url.format(table=f"servers_{os.getpid()}_{name}")
    ledger = Ledger(tmp_path / "ledger")
    with webtable.open(url, create=True) as table:
        with Load(table, ledger, pages=200) as load:
            time.sleep(5)
            before = load.findings.acknowledged
            yield
            time.sleep(10)
        found = settled(table, ledger, load.findings)
    print(f"\n{name}: {found}")
    assert found.is_clean, str(found)
    assert found.acknowledged > before > 0


def test_hbase_is_killed_and_started_again(server, tmp_path):
    with under_load(server, tmp_path, "killed"):
        server.restart()


@pytest.mark.parametrize("seconds", PAUSES)
def test_a_gateway_is_paused(server, tmp_path, seconds):
    with under_load(server, tmp_path, f"gateway_{seconds}"), server.paused("thrift2.ThriftServer"):
        time.sleep(seconds)


@pytest.mark.parametrize("seconds", PAUSES)
def test_hbase_is_paused(server, tmp_path, seconds):
    with under_load(server, tmp_path, f"hbase_{seconds}"), server.paused("HMaster"):
        time.sleep(seconds)
