"""Regions are split, moved and merged, and tables disabled, while they are written to and read from. Takes minutes."""

from __future__ import annotations

import time

import pytest
from load import page_of
from servers import started, under_load

from webtable.errors import StoreRefused, WriteFailed

pytestmark = [pytest.mark.faults, pytest.mark.hbase, pytest.mark.nightly, pytest.mark.timeout(900)]
REGIONS = 4
"""The tables begin with regions from 40, 80 and c0 on; all keys of pages and most of indexes begin with their salt."""


@pytest.fixture(scope="module")
def server():
    """An HBase with two region servers, so that a region has somewhere to go."""
    with started(HBASE_REGIONSERVERS="2") as made:
        yield made


@pytest.fixture(params=["thrift1", "thrift2"])
def loaded(request, server, tmp_path):
    """What has a load go by the one gateway, or with both."""
    through = server.url_of_thrift1 if request.param == "thrift1" else None

    def loaded(name):
        name = f"regions_{name}_{request.param}"
        return under_load(server.url, tmp_path, name, through=through, regions=REGIONS)

    return loaded


def starts(server, table):
    return [start for start, _ in server.regions("list", table)]


def test_regions_are_split(server, loaded):
    with loaded("split") as load:
        table = load.table.table
        server.regions("split", table, "20")
        server.regions("split", table, "60")
        server.regions("split", f"{table}_url_idx", "a")

        assert starts(server, table) == ["", "20", "40", "60", "80", "c0"]

    assert not load.findings.errors


def test_regions_move_to_another_server(server, loaded):
    with loaded("moved") as load:
        before = dict(server.regions("list", load.table.table))
        for start in before:
            server.regions("move", load.table.table, start or "0")

        after = dict(server.regions("list", load.table.table))
        assert all(before[start] != after[start] for start in before)

    assert not load.findings.errors


def test_neighbouring_regions_are_merged(server, loaded):
    with loaded("merged") as load:
        server.regions("merge", load.table.table, "0")
        server.regions("merge", load.table.table, "80")

        assert starts(server, load.table.table) == ["", "80"]

    assert not load.findings.errors


@pytest.mark.parametrize("which", ["", "_url_idx"], ids=["pages", "index"])
def test_a_table_is_disabled_and_enabled_again(server, loaded, which):
    with loaded(f"disabled{which}") as load:
        server.regions("disable", load.table.table + which)
        with pytest.raises((StoreRefused, WriteFailed), match=f"{which}' is disabled"):
            load.table.put(page_of(0, 10_000))
        time.sleep(5)
        server.regions("enable", load.table.table + which)

    assert set(load.findings.errors) == {"TableDisabled"}
