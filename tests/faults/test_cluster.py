"""A cluster loses a region server, its master or a gateway while it is written to and read from. Takes minutes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from cluster import HOSTS, TIMEOUT, running
from load import page_of, wrong_in
from proxy import HOST
from servers import under_load

import webtable

sys.path.append(str(Path(__file__).parents[1] / "hbase"))
from gateways import RoundRobin

pytestmark = [pytest.mark.faults, pytest.mark.hbase, pytest.mark.cluster, pytest.mark.timeout(900)]
REGIONS = 4


@pytest.fixture(scope="module")
def cluster():
    with running("gateway1", "gateway2") as made:
        yield made


def loaded(cluster, tmp_path, name, **options):
    return under_load(cluster.url, tmp_path, f"cluster_{name}", regions=REGIONS, **options)


def servers_of(cluster, table):
    """Return the names of the region servers that have regions of *table*."""
    return {server.partition(",")[0] for _, server in cluster.regions("list", table)}


def test_a_region_server_is_killed_and_started_again(cluster, tmp_path):
    with loaded(cluster, tmp_path, "regionserver", after=20) as load:
        assert servers_of(cluster, load.table.table) == {"regionserver1", "regionserver2"}
        cluster.kill("regionserver1")
        time.sleep(40)
        assert servers_of(cluster, load.table.table) == {"regionserver2"}
        cluster.start("regionserver1")


def test_the_master_is_killed_and_started_again(cluster, tmp_path):
    with loaded(cluster, tmp_path, "master") as load:
        cluster.kill("master")
        time.sleep(10)
        cluster.start("master")
        cluster.wait("gateway1")

    assert not load.findings.errors


def test_one_of_two_gateways_is_killed_and_comes_back(cluster, tmp_path):
    with loaded(cluster, tmp_path, "gateway") as load:
        cluster.kill("gateway1")
        time.sleep(15)
        cluster.start("gateway1")

    assert not load.findings.errors


def test_a_region_moves_and_a_split_table_lies_on_both_servers(cluster, tmp_path):
    with loaded(cluster, tmp_path, "moved") as load:
        table = load.table.table
        before = dict(cluster.regions("list", table))
        cluster.regions("move", table, "40")
        cluster.regions("split", table, "20")
        cluster.regions("move", table, "20")

        after = dict(cluster.regions("list", table))
        assert before["40"] != after["40"]
        assert after["20"] != after[""]
        assert servers_of(cluster, table) == {"regionserver1", "regionserver2"}

    assert not load.findings.errors


@pytest.mark.parametrize("with_thrift2", [False, True], ids=["thrift1", "thrift2"])
def test_a_gateway_is_replaced_in_the_middle_of_a_scan_behind_a_balancer(cluster, with_thrift2):
    first, second = (RoundRobin(*((host, port) for host in HOSTS)) for port in cluster.ports)
    also = f"&thrift2={second.port}" if with_thrift2 else ""
    name = f"cluster_balanced_{with_thrift2}"
    with webtable.open(cluster.url.format(table=name), create=True, regions=REGIONS, indexes=[]) as direct:
        with direct.writer() as writer:
            for number in range(2_000):
                writer.put(page_of(number, 1))
        with webtable.open(f"hbase://{HOST}:{first.port}/{name}?timeout={TIMEOUT}{also}") as table:
            expected = [page.url for page in direct.pages(webtable.ALL)]
            scan = iter(table.pages(webtable.ALL, columns=["body"]))
            found = [next(scan) for _ in range(100)]
            cluster.kill("gateway1")
            found += [next(scan) for _ in range(900)]
            cluster.start("gateway1")
            cluster.kill("gateway2")
            found += scan
            cluster.start("gateway2")
    first.close()
    second.close()

    assert [page.url for page in found] == expected
    assert not [what for page in found if (what := wrong_in(page))]
    assert len(expected) == 2_000
