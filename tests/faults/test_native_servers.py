"""HBase is killed, paused and started again while it is used by its own protocol, and leases of scans end. Minutes."""

from __future__ import annotations

import time
from contextlib import contextmanager
from itertools import islice

import pytest
from native_scans import EXPECTED, fill, scanned
from servers import under_load

from webtable.rowkey import KeyRange
from webtable.store import StoreURL
from webtable.store.hbase import NativeStore

pytestmark = [pytest.mark.faults, pytest.mark.hbase, pytest.mark.nightly, pytest.mark.timeout(900)]
LEASE_SECONDS = 75
"""A region server forgets a scanner that nothing is asked of for 60 s, and looks for such ones every 10 s."""


@contextmanager
def used(server, tmp_path, name):
    """Write, read and scan while the block runs, and for a while before and after it."""
    with (
        under_load(server.native_url, tmp_path, f"native_{name}") as load,
        scanned(server.native_url, f"native_{name}_scanned"),
    ):
        time.sleep(5)
        yield load
        time.sleep(15)


def test_hbase_is_killed_twice_and_started_again(server, tmp_path):
    with used(server, tmp_path, "killed"):
        for _ in range(2):
            server.restart()
            time.sleep(5)


@pytest.mark.parametrize("seconds", [5, 40])
def test_hbase_is_paused(server, tmp_path, seconds):
    with used(server, tmp_path, f"paused_{seconds}"), server.paused("HMaster"):
        time.sleep(seconds)


def test_scans_go_on_behind_their_last_rows_when_their_leases_have_ended(server):
    with NativeStore.from_url(StoreURL.parse(server.native_url.format(table="leases"))) as store:
        fill(store, "leases")
        scans = {way: store.scan("leases", [KeyRange()], reverse=way == "backwards") for way in EXPECTED}
        found = {way: [row.key for row in islice(scan, 100)] for way, scan in scans.items()}
        before = store.events()["retry"]
        time.sleep(LEASE_SECONDS)
        for way, scan in scans.items():
            found[way] += [row.key for row in scan]
        lost = store.events()["retry"] - before

    assert found == EXPECTED
    assert lost >= len(scans)
