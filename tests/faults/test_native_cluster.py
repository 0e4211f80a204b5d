"""A cluster loses its region servers and its master while it is used by HBase's own protocol. Takes minutes."""

from __future__ import annotations

import time
from contextlib import contextmanager

import pytest
from cluster import running
from native_scans import scanned
from servers import under_load

import webtable

pytestmark = [pytest.mark.faults, pytest.mark.hbase, pytest.mark.cluster, pytest.mark.timeout(900)]
REGIONS = 4


@pytest.fixture(scope="module")
def cluster():
    with running("master", "regionserver1", "regionserver2") as made:
        made.compose("up", "--detach", "--no-build", "master2")  # later, so that it is the second one
        yield made


@contextmanager
def used(cluster, tmp_path, name, **options):
    """Write, read and scan while the block runs; it is given the load, the table that is scanned, and the scans."""
    static = f"native_{name}_scanned"
    with (
        under_load(cluster.native_url, tmp_path, f"native_{name}", regions=REGIONS, **options) as load,
        scanned(cluster.native_url, static) as scans,
    ):
        yield load, static, scans


def split(cluster, table, key):
    """Split a region, which may still be opening where it was moved."""
    for _ in range(30):
        try:
            return cluster.regions("split", table, key)
        except AssertionError as exc:
            if "is not OPEN" not in str(exc):
                raise
        time.sleep(1)
    pytest.fail(f"the region of {key} does not open")


def test_both_region_servers_are_killed_one_after_the_other(cluster, tmp_path):
    with used(cluster, tmp_path, "killed", after=20) as (load, static, _):
        for server, other in (("regionserver1", "regionserver2"), ("regionserver2", "regionserver1")):
            cluster.kill(server)
            time.sleep(30)
            for table in (load.table.table, static):
                assert {name.partition(",")[0] for _, name in cluster.regions("list", table)} == {other}
            cluster.start(server)
            time.sleep(10)


def test_regions_are_moved_and_split_in_the_middle_of_scans_and_writes(cluster, tmp_path):
    with used(cluster, tmp_path, "moved") as (load, static, scans):
        for table in (static, load.table.table):
            before = dict(cluster.regions("list", table))
            for key in ("", "40", "80", "c0"):
                cluster.regions("move", table, key or "0")
            after = dict(cluster.regions("list", table))
            assert all(before[start] != after[start] for start in before)
            for key in ("20", "60", "a0"):
                split(cluster, table, key)
            cluster.regions("move", table, "60")
            assert len(cluster.regions("list", table)) == 7

    assert not load.findings.errors
    assert not set(scans) - {"forwards", "backwards"}


def test_another_master_takes_over_and_calls_find_it(cluster, tmp_path):
    with used(cluster, tmp_path, "master") as (load, _, scans):
        for master in ("master", "master2"):
            cluster.kill(master)
            time.sleep(20)
            url = cluster.native_url.format(table=f"native_of_{master}")
            webtable.open(url, create=True).close()  # by the other one
            load.table.store.tables()
            cluster.start(master)
            time.sleep(5)

    assert not load.findings.errors
    assert not set(scans) - {"forwards", "backwards"}
