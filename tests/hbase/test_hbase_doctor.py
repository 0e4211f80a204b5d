"""What the doctor tells of gateways: which one answers how, or what is there in its place; none makes it hang."""

from __future__ import annotations

import socket
import threading
import time
from urllib.parse import urlsplit

import pytest
from gateways import HOST, FakeThrift1, Server, thrift_server

import webtable
from webtable.store.hbase.thrift.connection import thrift1
from webtable.store.hbase.thrift.store import HBaseStore


def state_of(url, check, **options):
    """Return the check of that name in the diagnosis of *url*."""
    found = [one for one in webtable.doctor(url, **options) if one.check == check]
    return found[0]


def serving(servers):
    servers.append(thrift_server(thrift1.Hbase, FakeThrift1()))
    return servers[-1].port


def test_something_else_that_listens_there_is_named(servers):
    servers.append(Server(lambda client: client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")))
    port = servers[-1].port

    check = state_of(f"hbase://{HOST}:{port}/crawl", f"gateway {HOST}:{port}")

    assert check.state == "failed"
    assert "SSH-2.0" in check.finding
    assert "9090" in check.fix


@pytest.mark.slow
def test_a_gateway_that_never_answers_costs_no_more_than_the_time(servers):
    silent = threading.Event()
    servers.append(Server(lambda client: silent.wait(30)))
    port = servers[-1].port
    began = time.monotonic()

    diagnosis = webtable.doctor(f"hbase://{HOST}:{port}/crawl?thrift2={port}", timeout=1)

    silent.set()
    assert time.monotonic() - began < 15  # of 30
    assert diagnosis.failed


@pytest.mark.slow
def test_a_gateway_without_threads_left_is_a_warning(servers):
    free = threading.Semaphore(3)
    gateway = thrift_server(thrift1.Hbase, FakeThrift1())
    servers.append(gateway)

    def only_some(client: socket.socket) -> None:
        if not free.acquire(timeout=5):
            return
        try:
            gateway._serve(client)
        finally:
            free.release()

    servers.append(Server(only_some))
    port = servers[-1].port

    check = state_of(f"hbase://{HOST}:{port}/crawl", f"connections {HOST}:{port}", timeout=2)

    assert check.state == "warning"
    assert check.finding.startswith("3 of 8 connections at once")
    assert "maxWorkerThreads" in check.fix


@pytest.mark.slow
@pytest.mark.usefixtures("manual_clock")
def test_an_old_gateway_is_a_warning(servers):
    port = serving(servers)

    check = state_of(f"hbase://{HOST}:{port}/crawl?pool=2", f"connections {HOST}:{port}", timeout=4)

    assert (check.state, "before 2.x" in check.finding) == ("warning", True)


@pytest.mark.hbase
def test_one_of_two_gateways_that_is_away_is_a_warning(gateways):
    with socket.socket() as free:
        free.bind((HOST, 0))
        away = free.getsockname()[1]

    diagnosis = webtable.doctor(f"hbase://{HOST}:{gateways[0]},{HOST}:{away}/none_{away}?pool=2")

    states = {one.check: one.state for one in diagnosis}
    assert (states[f"gateway {HOST}:{gateways[0]}"], states[f"gateway {HOST}:{away}"]) == ("ok", "warning")
    assert [one.check for one in diagnosis.failed] == ["layout"]


@pytest.mark.hbase
def test_a_thrift2_gateway_in_the_place_of_thrift1_is_told_with_its_option(gateways):
    port = gateways[1]

    check = state_of(f"hbase://{HOST}:{port}/crawl", f"gateway {HOST}:{port}")

    assert check.state == "failed"
    assert f"?thrift2={port}" in check.fix


@pytest.mark.hbase
def test_a_table_of_real_regions_is_well_and_all_pages_on_few_of_them_are_told_as_the_picture_does(hbase_url):
    base = urlsplit(hbase_url)
    name = f"doctor_{time.time_ns()}"
    url = base._replace(path=f"/{name}").geturl()
    webtable.create(url, regions=8, indexes=[])
    try:
        with webtable.open(url) as table, table.writer() as writer:
            for number in range(50):
                writer.put(webtable.Page(url=f"https://example.com/{number}", body=b"x"))

        checks = {one.check: one for one in webtable.doctor(url, deep=True)}
        with webtable.open(url) as table:
            label = table.stats(webtable.ALL, by="region").plot().get_xlabel().replace("\n", " ")

        assert checks["splits"].finding in label
        assert checks["clock"].is_ok
        assert checks["regions"].is_ok
        assert checks["splits"].finding.startswith("8 regions: 1 (")
        assert ", 7 (" in checks["splits"].finding
        assert checks["splits"].state == "warning"
        assert checks["digests"].finding.startswith("50 bodies of 50 pages")
    finally:
        with HBaseStore(base.hostname, base.port) as store:
            for table_name in store.tables():
                if table_name.startswith(name):
                    store.drop_table(table_name)
