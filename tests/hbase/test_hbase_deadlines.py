"""One call of a caller's has one deadline, whatever it waits for, and its error says which gateway and why."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest
from gateways import HOST, RowsThrift1, RowsThrift2, Server, Valve, put, thrift_server

from webtable.errors import StoreError, StoreUnavailable
from webtable.rowkey import KeyRange, prefix_range
from webtable.schema import FamilySchema, TableSchema
from webtable.store import Containing, Delete, TimeRange, Wanted
from webtable.store.deadline import Deadline, until
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.shared.failures import repeated
from webtable.store.hbase.shared.sockets import Workers
from webtable.store.hbase.thrift.connection import thrift1, thrift2

ROWS = [b"%05d" % number for number in range(3000)]
TIME = 0.4  # a busy machine takes 0.15 s before anything is sent
MARGIN = 15.0  # of a busy machine; what has no deadline takes 30 s

RANGES = [KeyRange(b"", b"1"), KeyRange(b"2")]
"""All rows are in the first, and there are two, so that they are one call of Thrift2."""

Call = Callable[[HBaseStore], Any]


def written(store: HBaseStore, *mutations: Any) -> None:
    for outcome in store.write("pages", mutations):
        if outcome:
            raise outcome


CALLS: dict[str, Call] = {
    "put": lambda store: written(store, put(b"a"), put(b"b", timestamp=2)),
    "put to an unknown family": lambda store: written(store, put(b"a", column=b"g:q")),
    "delete": lambda store: written(store, Delete(b"a", 1), Delete(b"b", 1, [b"f:q"])),
    "read": lambda store: store.read("pages", ROWS[:250]),
    "read of versions": lambda store: store.read("pages", ROWS[:2], Wanted(versions=3, time_range=TimeRange(0, 10))),
    "read_cells": lambda store: store.read_cells("pages", ROWS[:3], b"f", limit=3),
    "scan": lambda store: list(store.scan("pages", [KeyRange()])),
    "scan of two ranges": lambda store: list(store.scan("pages", RANGES)),
    "scan of words": lambda store: list(
        store.scan("pages", [KeyRange()], Wanted(containing=Containing(b"f:q", ("a",))))
    ),
    "scan backwards": lambda store: list(store.scan("pages", [KeyRange(b"0", b"1"), KeyRange(b"2")], reverse=True)),
    "first_rows": lambda store: store.first_rows("pages", [prefix_range(b"%02d" % n) for n in range(20)], 3),
    "first_rows of overlapping ranges": lambda store: store.first_rows("pages", [KeyRange(), KeyRange(b"0")], 3),
    "first_rows backwards": lambda store: store.first_rows(
        "pages", [KeyRange(b"0", b"1"), KeyRange()], 3, reverse=True
    ),
    "tables": lambda store: store.tables(),
    "describe": lambda store: store.describe("pages"),
    "regions": lambda store: store.regions("pages"),
    "create_table": lambda store: store.create_table(TableSchema("new", (FamilySchema("f"),))),
    "drop_table": lambda store: store.drop_table("pages"),
}


BY_THRIFT2 = (
    "read of versions",
    "read_cells",
    "scan of two ranges",
    "first_rows",
    "first_rows of overlapping ranges",
)
"""What goes to a Thrift2 gateway where there is one."""
ASKED = [*(("thrift1", call) for call in CALLS), *(("thrift2", call) for call in BY_THRIFT2)]


class Gateways:
    """A Thrift1 and a Thrift2 gateway behind valves, and which of the two a store asks."""

    def __init__(self, servers: list[Server], asked: int) -> None:
        self.handlers = RowsThrift1(pages=ROWS), RowsThrift2(pages=ROWS)
        servers.append(thrift_server(thrift1.Hbase, self.handlers[0]))
        servers.append(thrift_server(thrift2.THBaseService, self.handlers[1]))
        self.valves = Valve(servers[0].port), Valve(servers[1].port)
        servers.extend(self.valves)
        self.handler = self.handlers[asked]
        self.asked = self.valves[asked]
        self._second = self.valves[1].port if asked else None

    def store(self, **options: Any) -> HBaseStore:
        return HBaseStore(HOST, self.valves[0].port, thrift2=self._second, **options)


@pytest.fixture(params=["thrift1", "thrift2"])
def gateways(request: pytest.FixtureRequest, servers: list[Server]) -> Gateways:
    return Gateways(servers, request.param == "thrift2")


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds + MARGIN


def an_error_of(call: Call, store: HBaseStore) -> str:
    with pytest.raises(StoreUnavailable) as raised, until(Deadline(TIME)):
        call(store)
    return str(raised.value)


@pytest.mark.parametrize(("gateways", "call"), ASKED, indirect=["gateways"])
def test_a_call_to_a_gateway_that_does_not_answer_ends_in_time_and_says_which_one(gateways, call):
    with gateways.store() as store:
        gateways.asked.shut()

        with ends_within(TIME):
            error = an_error_of(CALLS[call], store)

    assert f"{HOST}:{gateways.asked.port}" in error
    assert re.search(r"no answer within \d\.\d s|connections are in use: .* for up to \d\.\d s", error)


@pytest.mark.usefixtures("manual_clock")
@pytest.mark.parametrize(("gateways", "call"), ASKED, indirect=["gateways"])
def test_a_call_to_a_gateway_that_is_gone_ends_in_time_and_says_which_one(gateways, call):
    with gateways.store() as store:
        gateways.asked.close()

        with ends_within(TIME):
            error = an_error_of(CALLS[call], store)

    assert f"{HOST}:{gateways.asked.port}" in error
    assert "Connection refused" in error or "closed the connection" in error


@pytest.mark.parametrize("call", ["read of versions", "scan of two ranges", "first_rows"])
def test_without_a_deadline_of_the_caller_s_a_call_has_the_store_s(gateways, call):
    with gateways.store() as store:
        store.timeout = TIME  # not that of opening it, which takes longer on a machine that is busy
        gateways.asked.shut()

        with ends_within(TIME), pytest.raises(StoreUnavailable):
            CALLS[call](store)


@pytest.mark.parametrize("asked", [0, 1])
def test_opening_a_store_ends_in_time(servers, asked):
    gateways = Gateways(servers, 1)
    gateways.valves[asked].shut()

    with ends_within(TIME), pytest.raises(StoreUnavailable, match=f"{HOST}:{gateways.valves[asked].port}"):
        gateways.store(timeout=TIME)


def test_a_name_that_is_not_resolved_in_time_says_so(monkeypatch):
    resolve = socket.getaddrinfo

    def slow(host: str, *arguments: Any, flags: int = 0, **options: Any) -> Any:
        if not flags:
            time.sleep(5)
        return resolve(host, *arguments, flags=flags, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slow)

    with ends_within(TIME), pytest.raises(StoreUnavailable, match="'crawl-1' was not resolved in time"):
        HBaseStore("crawl-1", timeout=TIME)


# --- scans -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_one_row_of_a_scan_of_many_empty_ranges_has_one_deadline(servers, manual_clock):
    gateways = Gateways(servers, 0)
    slow = gateways.handler.scannerOpenWithScan
    gateways.handler.scannerOpenWithScan = lambda *args: (manual_clock.sleep(0.05), slow(*args))[1]
    with gateways.store(timeout=1.0) as store:
        rows = store.scan("pages", [prefix_range(b"x%03d" % salt) for salt in range(256)])

        with ends_within(1.0), pytest.raises(StoreUnavailable, match=r"after \d+ pieces without a row"):
            next(rows)


def test_each_row_of_a_scan_has_a_deadline_of_its_own(gateways, manual_clock):
    with gateways.store(timeout=1.0) as store:
        found = []
        for row in store.scan("pages", RANGES):
            found.append(row.key)
            if len(found) % 1400 == 0:
                manual_clock.passed += 0.6

    assert found == ROWS


def shut_at_the_fourth_piece(gateways: Gateways) -> None:
    """Let no answer through from the fourth piece of a scan on, which is read ahead while the third one is used."""

    def shut(rows: list[Any]) -> list[Any]:
        gateways.asked.shut()
        return rows

    gateways.handler.wrong = [list, list, list, shut]


@pytest.mark.slow
def test_a_piece_that_was_read_ahead_in_vain_is_asked_for_again_when_it_is_wanted(gateways):
    # The piece is asked for again on a new connection, within the same time: a busy machine needs more than a second.
    with gateways.store(timeout=4.0) as store:
        shut_at_the_fourth_piece(gateways)
        rows = store.scan("pages", RANGES)
        found = [next(rows).key for _ in range(300)]
        time.sleep(4.1)
        gateways.asked.open()

        found += [row.key for row in rows]

    assert found == ROWS
    assert not gateways.handler.wrong


def test_leaving_a_scan_does_not_wait_for_the_piece_that_is_read_ahead(gateways):
    with gateways.store(timeout=20.0) as store:
        shut_at_the_fourth_piece(gateways)
        rows = store.scan("pages", RANGES)
        for _ in range(300):
            next(rows)

        with ends_within(0.0):
            rows.close()

        gateways.asked.open()


# --- what calls wait for ---------------------------------------------------------------------------------------------


def test_who_waits_for_a_connection_is_told_what_the_others_wait_for(gateways):
    with gateways.store(pool_size=1) as store:
        read = CALLS["read of versions"]
        read(store)  # so that the connection is there, and has been greeted
        gateways.asked.shut()
        busy = threading.Thread(target=lambda: suppressed(lambda: read(store)))
        busy.start()
        while not any(gateway.pool._lent for gateway in store._gateways):
            time.sleep(0.01)

        error = an_error_of(read, store)

        gateways.asked.open()
        busy.join()
    assert re.search(r"all 1 connections are in use: 1 get\w+ for up to \d\.\d s", error)
    assert f"{HOST}:{gateways.asked.port}" in error


def suppressed(call: Callable[[], Any]) -> None:
    with suppress(StoreError):
        call()


def test_a_call_does_not_wait_for_threads_that_are_busy_with_others(gateways):
    release = threading.Event()
    with gateways.store() as store:
        for _ in range(20):
            store._workers.submit(lambda: release.wait(30))

        with ends_within(0.0):
            found = store.read("pages", ROWS[:900])

        release.set()
    assert [row.key for row in found] == ROWS[:900]


def test_jobs_that_no_thread_has_begun_are_done_by_who_waits_for_them():
    release = threading.Event()
    with closing(Workers(1, "test")) as workers:
        workers.submit(lambda: release.wait(30))

        assert workers.map(lambda number: number * 2, range(9)) == [number * 2 for number in range(9)]
        release.set()


def test_an_error_of_several_attempts_says_how_many_there_were_and_how_it_began():
    def attempt() -> None:
        kind, reason = causes.pop(0) if causes else (ConnectionRefusedError, "nobody is there")
        raise StoreUnavailable(reason) from kind(reason)

    causes = [(ConnectionResetError, "it went away"), (ConnectionRefusedError, "nobody is there")]

    with pytest.raises(StoreUnavailable) as raised:
        repeated(attempt, Deadline(TIME))

    assert re.fullmatch(
        r"nobody is there \(the last of \d+ attempts in \d\.\d s; the first one: it went away\)", str(raised.value)
    )
