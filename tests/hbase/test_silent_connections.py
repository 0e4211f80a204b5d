"""A connection that has fallen silent is dropped and counted, and its calls are made on another one within seconds."""

from __future__ import annotations

import logging
import socket
import struct
import threading

import pytest
from gateways import HOST, Proxy, RowsThrift1, thrift_server
from rpc_server import reply, rpc_server

from webtable.errors import StoreUnavailable
from webtable.store.deadline import Deadline
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.native import connection as module
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.cluster import Cluster
from webtable.store.hbase.native.servers import CLIENT, Servers
from webtable.store.hbase.shared.sockets import connected
from webtable.store.hbase.thrift import gateway
from webtable.store.hbase.thrift.connection import thrift1
from webtable.store.url import HostPort

LONG = 30.0
BLOCK = bytes(20_000_000)
"""More than the system keeps of what nobody reads."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    for name, seconds in {"_QUIET_SECONDS": 0.1, "_PROBE_SECONDS": 0.2, "_LEAST_LOOK": 0.01}.items():
        monkeypatch.setattr(module, name, seconds)
    monkeypatch.setattr(gateway, "_IDLE_SECONDS", 0.0)
    monkeypatch.setattr(gateway, "_PROBE_SECONDS", 0.2)


class Calls:
    """Calls to a server that answers as *answer* does."""

    def __init__(self, port: int) -> None:
        self.reached = {"rs1": f"127.0.0.1:{port}"}
        self.servers = Servers("hbase+native://test", self.reached, None, "test")
        self.server = HostPort("rs1", 16020)
        self.cluster = Cluster("hbase+native://test", None, self.servers)

    def ask(self, method="Get", seconds=LONG, cells=b""):
        def attempt(soon):
            sent = self.servers.send(self.server, CLIENT, method, pb.EmptyMsg(), pb.EmptyMsg, soon, cells)
            return sent.wait(soon).message

        return self.cluster.retried(attempt, None, method, Deadline(seconds))

    @property
    def metrics(self):
        [metrics] = self.servers.state()
        return metrics


@pytest.fixture
def calls():
    """Make calls to an `rpc_server` with this answer; the connections are closed before it ends."""
    made = []

    def calling(server):
        made.append(Calls(server.port))
        return made[-1]

    yield calling
    for each in made:
        each.servers.close()


class Silence:
    """Answers at once, but on connections that are there when it falls silent, of which the last gets *half* bytes."""

    def __init__(self):
        self.known, self.silent, self.half = set(), set(), 0

    def __call__(self, connection, number, method):
        self.known.add(connection)
        if connection not in self.silent:
            connection.sendall(reply(number, cells=b"x" * 100))
        elif self.half:
            connection.sendall(reply(number, cells=b"x" * 100)[: self.half])
            self.half = 0

    def fall(self, half=0):
        self.silent, self.half = set(self.known), half


@pytest.mark.parametrize("half", [0, 2, 5, 50], ids=["nothing", "half a length", "half a header", "half an answer"])
def test_a_call_on_a_connection_that_has_fallen_silent_is_answered_on_another(calls, caplog, half):
    caplog.set_level(logging.INFO, "webtable")
    answers = Silence()
    with rpc_server(answers) as server:
        called = calls(server)
        called.ask()
        answers.fall(half)

        assert called.ask() == pb.EmptyMsg()

        metrics = called.metrics
        assert (len(server.connections), metrics.opened, metrics.dropped, metrics.is_down) == (2, 2, 1, False)
        assert [record.event for record in caplog.records] == ["dropped", "retry"]
        assert "has fallen silent" in caplog.text
        assert caplog.records[0].server == metrics.name


def damaged_length(number):
    data = bytearray(reply(number))
    data[0] |= 0x08  # 128 MB more, which is below the longest answer
    return bytes(data)


def damaged_cells(number):
    header = pb.ResponseHeader(call_id=number)
    header.cell_block_meta.length = 1000
    part = header.SerializeToString()
    body = bytes([len(part)]) + part + b"\x00" + b"cells"
    return struct.pack(">I", len(body) + 9000) + body


DAMAGED = {
    "its length": damaged_length,
    "its number": lambda number: reply(number + 64),
    "the length of its cells": damaged_cells,
    "its header": lambda _: struct.pack(">I", 20) + b"\x13" + b"\xff" * 19,
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_answer_costs_its_connection_and_no_time(calls, damaged, monkeypatch):
    monkeypatch.setattr(module, "_QUIET_SECONDS", LONG)
    answers = iter([reply, damaged, *[reply] * 5])

    def answer(connection, number, method):
        connection.sendall(next(answers)(number))

    with rpc_server(answer) as server:
        called = calls(server)

        for _ in range(6):
            called.ask()

        assert (called.metrics.opened, called.metrics.dropped) == (2, 1)


def test_a_call_that_is_not_answered_in_time_is_made_on_another_connection(calls, monkeypatch):
    monkeypatch.setattr(module, "_SILENT_SECONDS", 0.1)
    answered = threading.Event()

    def answer(connection, number, method):
        if method != "Lost" or answered.is_set():
            connection.sendall(reply(number))
        else:
            answered.set()

    with rpc_server(answer) as server:
        called = calls(server)
        called.ask()
        monkeypatch.setattr(module, "_PROBES", {})

        assert called.ask("Lost", 0.9) == pb.EmptyMsg()

        assert (called.metrics.opened, called.metrics.dropped) == (2, 1)


def test_a_slow_call_keeps_its_connection_as_long_as_the_server_answers_at_all(calls):
    probed = []

    def answer(connection, number, method):
        if method == "Multi":  # what the server is asked meanwhile
            probed.append(number)
        if method == "Slow":
            slow.append((connection, number))
        else:
            connection.sendall(reply(number))
        if len(probed) == 3 and slow:
            connection, number = slow.pop()
            connection.sendall(reply(number))

    slow: list = []
    with rpc_server(answer) as server:
        called = calls(server)
        called.ask()

        assert called.ask("Slow") == pb.EmptyMsg()

        assert len(probed) == 3
        assert (called.metrics.opened, called.metrics.dropped) == (1, 0)


def test_a_server_that_has_never_answered_is_looked_for_again(calls):
    def answer(connection, number, _):
        if len(server.connections) > 2:
            connection.sendall(reply(number))

    with rpc_server(answer) as server:
        called = calls(server)

        assert called.ask() == pb.EmptyMsg()

        assert (called.metrics.opened, called.metrics.dropped) == (3, 2)


def test_a_server_that_takes_nothing_any_longer_has_lost_the_connection(calls):
    with rpc_server(lambda connection, number, _: connection.sendall(reply(number))) as server:
        called = calls(server)
        called.ask()
        server.reading.clear()
        threading.Timer(0.6, server.reading.set).start()

        assert called.ask(cells=BLOCK) == pb.EmptyMsg()

        # On a busy machine the next one may be given up as well before the server reads again.
        assert called.metrics.dropped >= 1


def test_a_server_that_stops_and_comes_back_is_down_and_up_in_the_log_and_the_metrics(calls, caplog):
    caplog.set_level(logging.INFO, "webtable")

    def answer(connection, number, _):
        connection.sendall(reply(number))

    with rpc_server(answer) as server:
        called = calls(server)
        called.ask()
        assert not called.metrics.is_down
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="Connection refused"):
            called.ask(seconds=0.2)

    assert called.metrics.is_down
    with rpc_server(answer) as server:
        called.reached["rs1"] = f"127.0.0.1:{server.port}"
        called.ask()
        called.ask()
        assert not called.metrics.is_down
        assert (called.metrics.opened, called.metrics.dropped) == (2, 1)

    told = [(record.event, record.levelname) for record in caplog.records if record.event in ("down", "up")]
    assert told == [("down", "WARNING"), ("up", "INFO")]
    assert {record.server for record in caplog.records if record.event in ("down", "up")} == {called.metrics.name}


def test_a_server_that_takes_connections_and_answers_nothing_is_down(calls, monkeypatch):
    monkeypatch.setattr(module, "_SILENT_SECONDS", 0.1)
    with rpc_server(lambda *_: None) as server:
        called = calls(server)
        with pytest.raises(StoreUnavailable):
            called.ask(seconds=0.5)

        assert called.metrics.is_down


def test_a_gateway_is_asked_something_quick_on_a_connection_that_was_idle(servers, caplog):
    caplog.set_level(logging.INFO, "webtable")
    rows = [b"a"]
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(pages=rows)))
    proxy = SilentProxy(servers[0].port)
    servers.append(proxy)
    with HBaseStore(HOST, proxy.port, timeout=LONG) as store:
        store.read("pages", rows)
        proxy.silent.set()

        assert [row.key for row in store.read("pages", rows)] == rows

        [metrics] = store.servers()
        assert (metrics.opened, metrics.dropped, metrics.is_down) == (2, 1, False)
    assert [record.event for record in caplog.records] == ["dropped", "retry"]


class SilentProxy(Proxy):
    """Passes nothing on, on connections that are there when `silent` is set."""

    def __init__(self, port: int) -> None:
        self.silent = threading.Event()
        super().__init__(port)

    def _pass_on(self, client: socket.socket) -> None:
        is_new = self.silent.is_set()
        with socket.create_connection((HOST, self.target)) as gateway:
            threading.Thread(target=self._copy, args=(client, gateway), daemon=True).start()
            while data := gateway.recv(4096):
                if is_new or not self.silent.is_set():
                    client.sendall(data)


def test_connections_are_kept_alive_by_the_system():
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = connected("127.0.0.1", server.getsockname()[1], Deadline(5))
        with made:
            assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            if hasattr(socket, "TCP_KEEPIDLE"):  # Linux; its own default is two hours
                assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 60
