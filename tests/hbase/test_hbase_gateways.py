"""Several gateways to one HBase: they are tried in turn, and calls go on with the next one where one is away."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from gateways import HOST, RoundRobin, RowsThrift1, RowsThrift2, Server, put, thrift_server
from proxy import Fault, FaultProxy

from webtable.errors import InvalidArgument, NotAStore, StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.store.deadline import Deadline, until
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.thrift.connection import thrift1, thrift2
from webtable.store.hbase.thrift.store import address_of
from webtable.store.rows import Wanted
from webtable.store.url import StoreURL

ROWS = [b"%05d" % number for number in range(3000)]
SECOND = "127.0.0.2"  # Linux has all of 127/8


# --- the URL ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("hbase://g1:9190,g2:9290/crawl?thrift2=9091", ["g1:9190", "g2:9290"]),
        ("hbase://g1,g2/crawl", ["g1:9090", "g2:9090"]),
        ("hbase://g1,[::1]:9190,[fe80::2]/crawl", ["g1:9090", "[::1]:9190", "[fe80::2]:9090"]),
        ("hbase://[::1]/crawl", ["[::1]:9090"]),
        ("hbase://G1/crawl", ["g1:9090"]),
    ],
)
def test_a_url_names_one_gateway_or_several(url, addresses):
    address = address_of(StoreURL.parse(url))

    assert [str(one) for one in address.gateways] == addresses
    assert address.table == "crawl"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("hbase://g1,,g2/crawl", "must name a host"),
        ("hbase://g1,/crawl", "must name a host"),
        ("hbase:///crawl", "must name a host"),
        ("hbase:crawl", "must name a host"),
        ("hbase://g1:90,g2:x/crawl", "Port could not be cast"),
        ("hbase://g1:99999/crawl", "Port out of range"),
        ("hbase://g1,g2,g1:9090/crawl", "names the gateway g1:9090 twice"),
        ("hbase://g1/a%20b", "'a b': a name in HBase has letters, digits"),
        ("hbase://g1/-x", "'-x': a name in HBase has letters, digits"),
    ],
)
def test_a_url_with_a_wrong_gateway_is_refused(url, reason):
    with pytest.raises(InvalidArgument, match=reason):
        address_of(StoreURL.parse(url))


# --- fake gateways ---------------------------------------------------------------------------------------------------


class Pair:
    """Two gateways of each kind, on two addresses with the same ports."""

    def __init__(self, servers: list[Server], with_thrift2: bool) -> None:
        self._all = servers
        self.service = thrift2.THBaseService if with_thrift2 else thrift1.Hbase
        kind = RowsThrift2 if with_thrift2 else RowsThrift1
        self.handlers = [kind(pages=ROWS), kind(pages=ROWS)]
        first = thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS))
        self._second: int | None = None
        servers += [first, thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS), host=SECOND, port=first.port)]
        if with_thrift2:
            self.asked = [self.started(0, 0)]
            self._second = self.asked[0].port
            self.asked.append(self.started(1, self._second))
        else:
            for server in servers[-2:]:
                server.close()
            self.asked = [self.started(0, first.port), self.started(1, first.port)]
        self.port = first.port

    def started(self, place: int, port: int) -> Server:
        server = thrift_server(self.service, self.handlers[place], host=(HOST, SECOND)[place], port=port)
        self._all.append(server)
        return server

    def store(self, **options) -> HBaseStore:
        return HBaseStore(HOST, self.port, others=[(SECOND, self.port)], thrift2=self._second, **options)

    def name(self, place: int) -> str:
        return f"{(HOST, SECOND)[place]}:{self.asked[place].port}"

    def stop(self, place: int) -> None:
        self.asked[place].close()

    def start(self, place: int) -> None:
        self.asked[place] = self.started(place, self.asked[place].port)


@pytest.fixture
def pair(servers, with_thrift2) -> Pair:
    return Pair(servers, with_thrift2)


def calls_of(pair: Pair) -> list[int]:
    """Count the reads of both gateways from now on, in the list that is returned."""
    counts = [0, 0]
    for place, handler in enumerate(pair.handlers):
        name = "getMultiple" if hasattr(handler, "getMultiple") else "getRowsWithColumnsTs"
        told = getattr(handler, name)

        def counted(*arguments, place=place, told=told):
            counts[place] += 1
            return told(*arguments)

        setattr(handler, name, counted)
    return counts


def read_some(store: HBaseStore, times: int = 20) -> None:
    """Read versions, which is what Thrift2 is asked for where it is there."""
    for _ in range(times):
        assert [row.key for row in store.read("pages", ROWS[:3], Wanted(versions=2))] == ROWS[:3]


def test_the_name_of_the_store_names_all_gateways(pair):
    with pair.store() as store:
        assert store.name == f"hbase://{HOST}:{pair.port},{SECOND}:{pair.port}"


def test_calls_go_to_the_first_gateway_as_long_as_it_works(pair):
    counts = calls_of(pair)
    with pair.store() as store:
        read_some(store, 20)

    assert counts == [20, 0]


@pytest.mark.parametrize("down", [0, 1])
def test_a_store_opens_with_one_gateway_down(pair, down):
    pair.stop(down)
    counts = calls_of(pair)
    with pair.store() as store:
        read_some(store)

    assert (counts[down], counts[1 - down]) == (0, 20)


def test_calls_go_on_while_a_gateway_is_stopped_and_come_back_to_it(pair):
    counts = calls_of(pair)
    with pair.store(timeout=5.0) as store:
        read_some(store)
        pair.stop(0)
        began = time.monotonic()
        read_some(store)
        seconds = time.monotonic() - began
        pair.start(0)
        read_some(store)
        stayed = list(counts)
        pair.stop(1)
        read_some(store)

    assert seconds < 2.0
    assert stayed == [20, 40]  # with the one that works
    assert counts == [40, 40]


def test_a_scan_whose_gateway_is_stopped_goes_on_behind_its_last_row_with_the_other(pair):
    with pair.store(timeout=5.0) as store:
        for stopped in (0, 1):
            rows = store.scan("pages", [KeyRange()])
            found = [next(rows).key for _ in range(100)]
            pair.stop(stopped)
            found += [row.key for row in rows]
            pair.start(stopped)

            assert found == ROWS


def test_scans_stay_with_the_connections_they_were_opened_on(servers):
    pair = Pair(servers, False)
    with pair.store() as store:
        scans = [store.scan("pages", [KeyRange()]) for _ in range(6)]
        found: list[list[bytes]] = [[] for _ in scans]
        for _ in ROWS:
            for keys, rows in zip(found, scans, strict=True):
                keys.append(next(rows).key)

    assert found == [ROWS] * 6
    # The first scanner of each scan asks for no more than the first piece, so there are two.
    assert [handler.opened for handler in pair.handlers] == [12, 0]


def test_when_all_gateways_are_down_one_error_names_each_with_its_reason(pair):
    with pair.store() as store:
        read_some(store)
        pair.stop(0)
        pair.stop(1)

        began = time.monotonic()
        with pytest.raises(StoreUnavailable) as raised, until(Deadline(0.5)):
            read_some(store, 1)

    assert time.monotonic() - began < 5
    assert "table 'pages': connecting: none of 2 gateways can be used: " in str(raised.value)
    for place in (0, 1):
        assert f"{pair.name(place)}: [Errno 111] Connection refused" in str(raised.value)


def test_opening_with_all_gateways_down_names_each_with_its_reason(pair):
    pair.stop(0)
    pair.stop(1)

    with pytest.raises(StoreUnavailable) as raised:
        pair.store()

    for place in (0, 1):
        assert f"nothing listens at {pair.name(place)}" in str(raised.value)


def test_a_gateway_of_another_kind_before_them_is_named_when_the_store_is_opened(servers):
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS)))
    servers.append(thrift_server(thrift2.THBaseService, RowsThrift2(pages=ROWS)))

    with pytest.raises(NotAStore, match=f"a Thrift2 gateway answers at {HOST}:{servers[1].port} where Thrift1"):
        HBaseStore(HOST, servers[1].port, others=[(HOST, servers[0].port)])


@pytest.mark.slow
def test_a_gateway_that_comes_back_as_another_kind_is_not_used(servers):
    pair = Pair(servers, False)
    pair.stop(0)
    with pair.store(timeout=1.0) as store:
        pair.service = thrift2.THBaseService
        pair.handlers[0] = RowsThrift2(pages=[])
        pair.start(0)
        read_some(store)
        pair.stop(1)

        with pytest.raises(StoreUnavailable, match="a Thrift2 gateway answers where Thrift1 is expected"):
            read_some(store, 1)


@pytest.mark.slow
def test_threads_read_while_gateways_come_and_go(pair):
    failures: list[Exception] = []
    over = threading.Event()

    def reads() -> None:
        try:
            while not over.is_set():
                read_some(store, 1)
        except Exception as error:  # noqa: BLE001 - it is the result
            failures.append(error)

    with pair.store(timeout=10.0, pool_size=2) as store:
        threads = [threading.Thread(target=reads) for _ in range(6)]
        for thread in threads:
            thread.start()
        for place in (0, 1, 0, 1):
            pair.stop(place)
            time.sleep(0.2)
            pair.start(place)
            time.sleep(0.4)
        over.set()
        for thread in threads:
            thread.join()

    assert not failures


# --- accepted, and not served ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_call_goes_on_with_another_gateway_where_one_accepts_connections_and_serves_none(servers):
    servers += [thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS)) for _ in range(2)]
    with (
        FaultProxy(servers[0].port) as mute,
        HBaseStore(HOST, mute.port, others=[(HOST, servers[1].port)], timeout=3.0) as store,
    ):
        mute.next(*[Fault("mute")] * 50)
        began = time.monotonic()

        read_some(store, 20)

        seconds = time.monotonic() - began
        assert mute.injected()["mute"] > 0
    assert seconds < 3.0  # the time of one call


@pytest.mark.slow
def test_when_all_gateways_serve_no_connection_the_error_says_so_of_each(servers):
    servers += [thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS)) for _ in range(2)]
    with FaultProxy(servers[0].port) as first, FaultProxy(servers[1].port) as second:
        others = [(HOST, second.port)]
        with HBaseStore(HOST, first.port, others=others) as store:
            for proxy in (first, second):
                proxy.next(*[Fault("mute")] * 50)

            with pytest.raises(StoreUnavailable) as raised, until(Deadline(1.0)):
                store.read("pages", ROWS[:3])

    said = str(raised.value)
    assert "it accepted the connection and answered nothing (is it out of worker threads?)" in said
    assert f"{HOST}:{first.port}: " in said
    assert f"{HOST}:{second.port}: " in said


@pytest.mark.slow
def test_one_gateway_that_serves_no_connection_is_told_from_a_slow_answer(servers):
    servers.append(thrift_server(thrift1.Hbase, rows := RowsThrift1(pages=ROWS)))
    mute = "accepted the connection and answered nothing"
    with FaultProxy(servers[0].port) as proxy, HBaseStore(HOST, proxy.port) as store:
        proxy.next(Fault("mute"))
        with pytest.raises(StoreUnavailable, match=rf"no answer within 0\.\d s: it {mute}"), until(Deadline(0.9)):
            store.tables()
        store.read("pages", ROWS[:3])
        rows.held.clear()
        with pytest.raises(StoreUnavailable, match=r"no answer within 0\.\d s$"), until(Deadline(0.3)):
            store.tables()
        rows.held.set()


@pytest.mark.slow
def test_a_connection_that_is_served_is_kept_where_another_one_is_not(servers):
    servers.append(thrift_server(thrift1.Hbase, rows := RowsThrift1(pages=ROWS)))
    with FaultProxy(servers[0].port) as proxy, HBaseStore(HOST, proxy.port, timeout=3.0) as store:
        store.tables()
        proxy.next(*[Fault("mute")] * 50)
        rows.held.clear()
        with ThreadPoolExecutor(2) as threads:
            served = threads.submit(store.tables)
            while not store._gateways[0].pool.in_use():
                time.sleep(0.01)
            waiting = threads.submit(store.read, "pages", ROWS[:3])
            while not proxy.injected()["mute"]:
                time.sleep(0.01)
            rows.held.set()

            assert served.result() == ["pages"]
            assert [row.key for row in waiting.result()] == ROWS[:3]


@pytest.mark.slow
def test_a_first_call_that_takes_long_is_not_said_to_have_no_thread(servers):
    servers.append(thrift_server(thrift1.Hbase, rows := RowsThrift1(pages=ROWS)))
    with HBaseStore(HOST, servers[0].port) as store:
        rows.held.clear()

        with pytest.raises(StoreUnavailable, match=r"getTableNames: no answer within \d\.\d s$"), until(Deadline(0.5)):
            store.tables()
        rows.held.set()


@pytest.mark.slow
def test_opening_a_store_whose_gateway_serves_no_connection_says_so(servers):
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS)))
    with FaultProxy(servers[0].port) as proxy:
        proxy.next(*[Fault("mute")] * 9)

        with pytest.raises(StoreUnavailable, match=r"answered nothing \(is it out of worker threads\?\)"):
            HBaseStore(HOST, proxy.port, timeout=1.0)


# --- a real HBase ----------------------------------------------------------------------------------------------------


@pytest.fixture
def proxied(gateways) -> Iterator[tuple[FaultProxy, FaultProxy]]:
    with FaultProxy(gateways[0]) as first, FaultProxy(gateways[0]) as second:
        yield first, second


@pytest.mark.hbase
def test_scans_and_writes_over_two_proxies_go_on_while_one_resets_all_its_connections(proxied, pages):
    (first, second), value = proxied, uuid.uuid4().bytes
    with HBaseStore(HOST, first.port, others=[(HOST, second.port)], timeout=20.0) as store:
        before = [row.key for row in store.scan(pages, [KeyRange()])]
        rows = store.scan(pages, [KeyRange()])
        found = [next(rows).key for _ in range(500)]
        outcomes = []
        for proxy in (first, second):
            proxy.reset_all()
            proxy.next(*[Fault("refuse")] * 3)
            outcomes += store.write(pages, [put(key, timestamp=9, value=value) for key in before[:200]])
            found += [next(rows).key for _ in range(500)]
        found += [row.key for row in rows]
        written = store.read(pages, before[:200])

    assert found == before
    assert outcomes == [None] * 400
    assert [row.cells[b"f:q"][0].value for row in written] == [value] * 200


@pytest.mark.hbase
def test_scans_and_writes_by_two_thrift2_gateways_go_on_when_one_is_closed(gateways, pages, servers):
    ports = []
    for target in gateways:
        servers.append(RoundRobin((HOST, target)))
        ports.append(servers[-1].port)
        other = RoundRobin((HOST, target), host=SECOND, port=servers[-1].port)
        servers.append(other)
    with HBaseStore(HOST, ports[0], others=[(SECOND, ports[0])], thrift2=ports[1], timeout=20.0) as store:
        before = [row.key for row in store.scan(pages, [KeyRange()])]
        rows = store.scan(pages, [KeyRange(b"", b"8"), KeyRange(b"80")])  # of which Thrift2 makes one call
        found = [next(rows).key for _ in range(500)]
        for server in servers[:3:2]:
            server.close()
        outcomes = store.write(pages, [put(key, timestamp=9, value=b"new") for key in before[:200]])
        found += [row.key for row in rows]

    assert found == before
    assert outcomes == [None] * 200
