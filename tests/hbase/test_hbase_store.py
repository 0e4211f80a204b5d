"""The HBase adapter: what it does when a gateway fails it, by fake gateways; and what only a real HBase can show."""

from __future__ import annotations

import re
import socket
import struct
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from random import Random
from types import SimpleNamespace
from typing import Any

import happybase
import pytest
from gateways import HOST, FakeThrift1, Proxy, Server, fake_store, page_keys, put, thrift_server
from hypothesis import given
from hypothesis import strategies as st

from webtable.errors import (
    CapabilityError,
    InvalidArgument,
    NotAStore,
    StoreError,
    StoreRefused,
    StoreUnavailable,
    TableNotFound,
)
from webtable.rowkey import KeyRange, merged, prefix_range
from webtable.rowkey.ranges import groups_of
from webtable.schema import FamilySchema, TableSchema
from webtable.store import (
    EVERYTHING,
    MAX_CELL,
    Cell,
    Containing,
    Delete,
    NewCell,
    Put,
    Row,
    StoreURL,
    Wanted,
)
from webtable.store.deadline import Deadline
from webtable.store.hbase import HBaseStore, NativeStore
from webtable.store.hbase.shared import filters
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.shared.filters import Selection, expression, selection
from webtable.store.hbase.shared.scans import FirstRows, overlap, pieces_of
from webtable.store.hbase.shared.sockets import Workers
from webtable.store.hbase.shared.write import stages
from webtable.store.hbase.thrift import thrift1 as happybase_calls
from webtable.store.hbase.thrift.connection import Connection, thrift1, thrift2
from webtable.store.hbase.thrift.gateway import Connector, Pool
from webtable.store.hbase.thrift.thrift1 import ScannerPieces
from webtable.store.hbase.thrift.thrift2 import StatelessPieces
from webtable.store.url import HostPort
from webtable.testing.stores import counted_store

# --- fake gateways ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_answer_to_a_timed_out_call_is_never_given_to_the_next_one(servers):
    handler = FakeThrift1()
    with fake_store(servers, handler, timeout=3.0) as store:
        handler.delays[2] = 2.5

        found = [store.tables(), store.tables(), store.tables()]

    assert found == [["call-3"], ["call-4"], ["call-5"]]


@pytest.mark.slow
def test_a_gateway_that_hangs_ends_in_an_error_within_the_deadline(servers):
    handler = FakeThrift1()
    with fake_store(servers, handler, timeout=1.0) as store:
        handler.delays = dict.fromkeys(range(2, 20), 30.0)
        begin = time.monotonic()

        with pytest.raises(StoreUnavailable, match=store.name):
            store.tables()

        assert time.monotonic() - begin < 8  # of 30


def test_a_gateway_that_trickles_ends_in_an_error_within_the_deadline(servers):
    def trickle(client: socket.socket) -> None:
        client.recv(100)
        for _ in range(100):
            client.sendall(b"\x80")
            time.sleep(0.1)

    servers.append(Server(trickle))
    connect = Connector(HostPort(HOST, servers[-1].port), 1)
    begin = time.monotonic()

    with closing(connect(Deadline(1.0))) as connection, pytest.raises((TimeoutError, Exception)):
        connection.call("getTableNames", deadline=Deadline(0.5))

    assert time.monotonic() - begin < 5  # of 10


def test_a_reply_with_another_number_is_not_believed(servers):
    def stale(client: socket.socket) -> None:
        client.recv(1000)
        client.sendall(struct.pack("!iI", -2147418110, 13) + b"getTableNames" + struct.pack("!i", 41) + b"\x00")

    servers.append(Server(stale))
    connect = Connector(HostPort(HOST, servers[-1].port), 1)

    with closing(connect(Deadline(1.0))) as connection, pytest.raises(WrongReply):
        connection.call("getTableNames", deadline=Deadline(1.0))


def test_a_store_that_was_closed_says_so(servers):
    store = fake_store(servers, FakeThrift1())
    store.close()

    with pytest.raises(StoreError, match="closed"):
        store.tables()


# --- what is at the port ---------------------------------------------------------------------------------------------


def test_nothing_at_the_port_is_unavailable_and_named():
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(StoreUnavailable, match=f"{HOST}:{port}"):
        HBaseStore(HOST, port)


def test_a_server_that_says_nothing_is_unavailable(servers):
    servers.append(Server(lambda client: time.sleep(30)))

    with pytest.raises(StoreUnavailable):
        HBaseStore(HOST, servers[-1].port, timeout=0.2)


def test_an_http_server_is_called_one(servers):
    def http(client: socket.socket) -> None:
        data = client.recv(1000)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n" if data.startswith(b"GET") else b"HTTP/1.1 400 Bad Request\r\n\r\n")

    servers.append(Server(http))

    with pytest.raises(NotAStore, match="HTTP server"):
        HBaseStore(HOST, servers[-1].port, timeout=1.0)


def test_a_thrift2_gateway_in_the_place_of_thrift1_is_told_from_it(servers):
    servers.append(thrift_server(thrift2.THBaseService, SimpleNamespace(getThriftServerType=lambda: 2)))

    with pytest.raises(NotAStore, match=rf"\?thrift2={servers[-1].port}"):
        HBaseStore(HOST, servers[-1].port)


def test_a_thrift1_gateway_in_the_place_of_thrift2_is_told_from_it(servers):
    servers.append(thrift_server(thrift1.Hbase, FakeThrift1()))

    with pytest.raises(NotAStore, match="Thrift1 gateway answers"):
        HBaseStore(HOST, servers[-1].port, thrift2=servers[-1].port)


def test_a_gateway_that_hangs_up_at_once_may_have_another_transport_or_protocol(servers):
    servers.append(Server(lambda client: client.recv(4)))

    with pytest.raises(StoreUnavailable, match=r"closed the connection .was it started with -f, -c"):
        HBaseStore(HOST, servers[-1].port, timeout=1.0)


@pytest.mark.parametrize("scheme", ["hbase", "hbase+http", "hbase+https"])
@pytest.mark.parametrize(
    "option", ["transport=framed", "thrift2=9091&protocol=compact", "transport=buffered&timeout=1"]
)
def test_an_option_for_another_transport_or_protocol_is_refused_with_what_serves_instead(scheme, option):
    with pytest.raises(InvalidArgument, match=r"start the gateway without -f, -c.*hbase\+native://"):
        HBaseStore.table_of(StoreURL.parse(f"{scheme}://localhost/crawl?{option}"))


def test_a_create_that_does_nothing_is_found_out(servers):
    """HBase 1.x: createTable is an empty method that succeeds."""

    def missing(*_: Any) -> None:
        raise thrift1.IOError(message=b"org.apache.hadoop.hbase.TableNotFoundException: pages")

    handler = SimpleNamespace(
        getThriftServerType=lambda: 2,
        createTable=lambda *_: None,
    )
    happybase = FakeThrift1()
    happybase.getColumnDescriptors = missing
    servers.append(thrift_server(thrift1.Hbase, happybase))
    servers.append(thrift_server(thrift2.THBaseService, handler))
    store = HBaseStore(HOST, servers[0].port, thrift2=servers[1].port)

    with store, pytest.raises(StoreRefused, match=r"not there.*create 'pages'"):
        store.create_table(TableSchema("pages", (FamilySchema("f"),), (b"5",)))


# --- the pool --------------------------------------------------------------------------------------------------------


class FakeConnection:
    def __init__(self) -> None:
        self.closed = False
        self.quiet = True
        self.scanners: set[object] = set()
        self.busy = ("scannerGetList", 0.0)
        self.socket = SimpleNamespace(is_quiet=lambda: self.quiet)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def pool() -> Pool:
    return Pool(lambda _: FakeConnection(), size=2, max_age=50.0, name="hbase://x")


def lent(pool: Pool) -> Any:
    with pool.connection(Deadline(1)) as connection:
        return connection


def test_a_connection_is_used_again(pool):
    assert lent(pool) is lent(pool)


def test_a_connection_that_lay_idle_for_long_is_closed(pool, manual_clock):
    first = lent(pool)
    manual_clock.passed = 51.0

    second = lent(pool)

    assert second is not first
    assert first.closed


def test_a_connection_on_which_something_came_unasked_is_closed(pool):
    first = lent(pool)
    first.quiet = False

    assert lent(pool) is not first
    assert first.closed


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_connection_that_saw_an_exception_is_closed(pool, error):
    with pytest.raises(error), pool.connection(Deadline(1)) as connection:
        raise error

    assert connection.closed
    assert lent(pool) is not connection


def test_no_more_connections_are_open_than_the_pool_has_and_the_wait_ends(pool):
    with (
        pool.connection(Deadline(1)),
        pool.connection(Deadline(1)),
        pytest.raises(StoreUnavailable, match="all 2 connections"),
        pool.connection(Deadline(0.05)),
    ):
        pass


def test_the_error_of_a_full_pool_says_what_the_connections_are_in_use_for(pool, manual_clock):
    began = manual_clock.monotonic()
    pool.failed(StoreUnavailable("the gateway went away"))
    manual_clock.passed = 6.0
    with pool.connection(Deadline(1)) as first, pool.connection(Deadline(1)) as second:
        first.busy = ("scannerGetList", began)
        second.busy = ("getMultiple", began + 4.0)

        with pytest.raises(StoreUnavailable) as raised, pool.connection(Deadline(0.05)):
            pass

    assert "1 scannerGetList for up to 6.0 s" in str(raised.value)
    assert "1 getMultiple for up to 2.0 s; 6.0 s ago: the gateway went away" in str(raised.value)


def test_a_connection_with_a_scanner_is_lent_by_name_and_to_others_only_when_there_is_no_other(pool):
    first = lent(pool)
    first.scanners.add("a scanner")
    second = lent(pool)

    with pool.connection(Deadline(1)) as plain, pool.connection(Deadline(1)) as robbed:
        assert (plain, robbed) == (second, first)
        with pytest.raises(StoreUnavailable, match="in use"), pool.connection(Deadline(1), first, only=True):
            pass
    with pool.connection(Deadline(1), second) as named, pool.connection(Deadline(1), first, only=True) as scanned:
        assert (named, scanned) == (second, first)


def test_a_connection_in_use_is_closed_when_it_comes_back_to_a_closed_pool(pool):
    with pool.connection(Deadline(1)) as connection:
        pool.close()

    assert connection.closed


# --- pieces, groups and stages against a model -----------------------------------------------------------------------


class ModelClient:
    """Thrift2 over a sorted list of keys; every third call fails where it is told to."""

    def __init__(self, keys: list[bytes], bounds: Sequence[bytes] = ()) -> None:
        self.keys = sorted(keys)
        self.asked: list[int] = []
        self.bounds = list(bounds)

    def place_in_region(self, key: bytes, ranges: list[KeyRange]) -> int:
        """Return how many keys of its range come before *key* in its region."""
        start = max((bound for bound in [b"", *self.bounds] if bound <= key), default=b"")
        [keys] = [r for r in ranges if key in r]
        return sum(start <= one < key and one in keys for one in self.keys)

    def rows(
        self,
        table: str,
        ranges: list[KeyRange],
        wanted: Selection,
        limit: int,
        deadline: Deadline,
        *,
        each: int | None = None,
        bounds: Sequence[bytes] = (),
    ) -> list[Row]:
        self.asked.append(limit)
        found = [key for key in self.keys if any(key in r for r in ranges)]
        if each is not None:
            found = [key for key in found if self.place_in_region(key, ranges) < each]
        return [Row(key, {b"f:q": (Cell(1, key),)}) for key in found[:limit]]


keys = st.binary(min_size=1, max_size=2).map(lambda b: bytes(x % 4 for x in b))
ranges = st.lists(st.tuples(keys, keys | st.just(b"")).map(lambda t: KeyRange(*t)), max_size=6)


@given(st.sets(keys), ranges, st.none() | st.integers(1, 9), st.integers(1, 3))
def test_a_scan_by_pieces_gives_each_row_once_and_in_order(stored, wanted_ranges, limit, first_piece):
    client = ModelClient(list(stored))
    pieces = StatelessPieces(client, "t", merged(wanted_ranges), Selection(), limit)
    pieces._size.rows = first_piece
    pieces._size.learn = lambda rows: None

    inline = SimpleNamespace(is_worker=lambda: True)
    found = [row.key for piece in pieces_of(pieces, inline, lambda: Deadline(10)) for row in piece]

    expected = sorted(key for key in stored if any(key in r for r in wanted_ranges))
    assert found == expected[:limit]


bounds_of_regions = st.lists(keys, unique=True).map(sorted)


@pytest.mark.slow
@given(st.sets(keys), ranges, bounds_of_regions, bounds_of_regions, st.integers(1, 4), st.integers(1, 4))
def test_first_rows_are_the_first_of_each_range_whatever_the_regions(
    stored, wanted_ranges, bounds, real_bounds, limit, groups
):
    apart = [r for place, r in enumerate(wanted_ranges) if not overlap([*wanted_ranges[:place], r])]
    if overlap(apart):
        return
    inline = SimpleNamespace(map=lambda job, items: [job(item) for item in items])
    client = ModelClient(list(stored), real_bounds)

    found = FirstRows(client, inline, "t", Selection(), limit, Deadline(10), bounds).of(apart, groups)

    assert [[row.key for row in rows] for rows in found] == [sorted(k for k in stored if k in r)[:limit] for r in apart]


class BusyClient(ModelClient):
    """One that does not find in time what it has to search for."""

    def rows(self, table: str, ranges: list[KeyRange], wanted: Selection, *args: Any, **kwargs: Any) -> list[Row]:
        if wanted.search:
            raise StoreUnavailable("no answer in time")
        return super().rows(table, ranges, wanted, *args, **kwargs)


def test_a_search_that_takes_too_long_lets_the_rows_through():
    stored = [b"%03d" % number for number in range(100)]
    wanted = selection(Wanted([b"f:q"], containing=Containing(b"f:title", ("word",))))
    inline = SimpleNamespace(map=lambda job, items: [job(item) for item in items], is_worker=lambda: True)
    pieces = StatelessPieces(BusyClient(stored), "t", [KeyRange()], wanted, None)
    first = FirstRows(BusyClient(stored), inline, "t", wanted, 3, Deadline(10), [])

    scanned = [row.key for piece in pieces_of(pieces, inline, lambda: Deadline(10)) for row in piece]
    [found] = first.of([KeyRange(b"05")], 1)

    assert scanned == stored
    assert [row.key for row in found] == stored[50:53]


cased = st.sampled_from("aAiİıkK\u212a\u0307sSßẞſσςΣåÅ\u212bǆǅᾀᾈéÉ'\\QE.*[]{}^$ \n\0日😀")
texts = st.text(cased | st.characters(codec="utf-8"), max_size=8)


@given(texts, texts, texts)
def test_an_expression_finds_a_word_wherever_the_lower_case_does(before, word, behind):
    for value in (before + word + behind, (before + word + behind).upper(), (before + word + behind).swapcase()):
        for part in (word, word.lower(), word.upper(), value.lower()[1:4], value[2:]):
            found = expression(part)
            if found is not None and part.lower() in value.lower():
                assert re.search(re.sub(r"\\x\{(\w+)\}", lambda m: rf"\U{int(m[1], 16):08x}", found), value)


def test_an_expression_has_nothing_to_quote():
    found = expression("".join(map(chr, range(1, 300))))

    assert re.fullmatch(r"(\[?([a-zA-Z0-9]|\\x\{[0-9a-f]+\})+\]?\??)+", found)


def test_a_word_that_is_sure_to_be_nowhere_or_everywhere_is_not_searched_for():
    for words in ((), ("",), ("a\ufffd",), ("", "\ufffd")):
        assert selection(Wanted(containing=Containing(b"f:title", words))) == selection(EVERYTHING)


@given(ranges, st.lists(keys, unique=True).map(sorted), st.integers(1, 5))
def test_groups_of_regions_hold_every_key_of_every_range_once(wanted_ranges, bounds, most):
    groups = groups_of(wanted_ranges, bounds, most)

    assert len(groups) <= most
    for key in {bytes(k) for r in wanted_ranges for k in r if k} | set(bounds):
        owners = Counter(part.owner for group in groups for part in group if key in part.keys)
        assert owners == Counter(owner for owner, r in enumerate(wanted_ranges) if key in r)


def test_rows_do_not_wait_for_each_other():
    mutations = [put(b"a"), Delete(b"a", 1), put(b"b"), Delete(b"b", 1)]

    assert stages(mutations, range(4)) == [[0, 2], [1, 3]]


def test_two_puts_of_one_cell_are_not_in_one_batch():
    mutations = [put(b"a"), put(b"a", timestamp=2), put(b"a", value=b"w"), Delete(b"a", 1), put(b"a")]

    assert [stage for stage in stages(mutations, range(5)) if stage] == [[0, 1], [2], [3], [4]]


def test_the_bytes_of_a_filter_are_those_of_the_protocol_buffers():
    name = b"org.apache.hadoop.hbase.filter.MultiRowRangeFilter"
    row_range = b"\x0a\x01a\x10\x01\x1a\x01b\x20\x00"

    assert filters.row_ranges([KeyRange(b"a", b"b")]) == b"\x0a\x32" + name + b"\x12\x0c\x0a\x0a" + row_range


# --- a real HBase ----------------------------------------------------------------------------------------------------


def cut_every_connection(proxies: tuple[Proxy, Proxy], sizes: list[int]) -> None:
    left = list(sizes)
    for proxy in proxies:
        proxy.plan = lambda: left.pop() if left else None


@pytest.mark.hbase
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_over_a_failing_network_neither_loses_nor_doubles_a_row(through_proxies, proxies, pages, reverse):
    through_proxies.tables()
    for gateway in through_proxies._gateways:
        gateway.pool.forget_idle()
    cut_every_connection(proxies, [0, 10, 300_000, 40_000, 5_000, 100_000])

    found = [row.key for row in through_proxies.scan(pages, [KeyRange()], reverse=reverse)]

    assert found == sorted(page_keys(), reverse=reverse)
    assert sum(proxy.cuts for proxy in proxies) > 3


@pytest.mark.hbase
def test_a_write_over_a_failing_network_is_stored_once(through_proxies, proxies, scratch, space):
    through_proxies.write(scratch, [put(space(b"zz"))])
    for gateway in through_proxies._gateways:
        gateway.pool.forget_idle()
    cut_every_connection(proxies, [0, 1, 2, 0, 3])
    mutations = [put(space(b"%04d" % number), timestamp=number + 10, value=b"new") for number in range(300)]

    outcomes = through_proxies.write(scratch, mutations)

    assert outcomes == [None] * 300
    rows = through_proxies.read(scratch, [mutation.row for mutation in mutations], Wanted(versions=3))
    assert [row.cells[b"f:q"] for row in rows if row] == [[Cell(n + 10, b"new")] for n in range(300)]


@pytest.mark.hbase
def test_first_rows_over_a_failing_network_are_complete(through_proxies, proxies, pages):
    salts = [prefix_range(b"%02x:" % salt) for salt in range(256)]
    cut_every_connection(proxies, [0, 100, 3_000, 20_000] * 3)

    found = through_proxies.first_rows(pages, salts, 3)

    expected = [[key for key in page_keys() if key in keys][:3] for keys in salts]
    assert [[row.key for row in rows] for rows in found] == expected


@pytest.mark.hbase
def test_a_scan_goes_on_when_its_scanner_is_gone(gateways, pages):
    with HBaseStore(HOST, gateways[0]) as store:
        pieces = ScannerPieces(store._client, pages, [KeyRange()], Selection(), None)
        found = pieces.next(Deadline(30)) + pieces.next(Deadline(30))
        with closing(happybase.Connection(HOST, gateways[0])) as other:
            other.client.scannerClose(pieces._scanner.number)

        while not pieces.done:
            found += pieces.next(Deadline(30))

    assert [row.key for row in found] == page_keys()


@pytest.mark.hbase
def test_a_slow_consumer_costs_a_new_scanner_and_no_row(gateways, pages, monkeypatch):
    monkeypatch.setattr(happybase_calls, "_IDLE_SECONDS", 0.0)
    with HBaseStore(HOST, gateways[0]) as store:
        _, calls = counted_store(store)
        found = [row.key for row in store.scan(pages, [KeyRange()])]

        assert found == page_keys()
        assert calls["scannerOpenWithScan"] > 3
        assert calls["scannerClose"] == calls["scannerOpenWithScan"]


@pytest.mark.hbase
def test_a_scan_that_is_left_closes_its_scanner(gateways, pages):
    with HBaseStore(HOST, gateways[0]) as store:
        _, calls = counted_store(store)
        for _, _row in zip(range(200), store.scan(pages, [KeyRange()]), strict=False):
            pass

        assert calls["scannerClose"] == calls["scannerOpenWithScan"]


@pytest.mark.hbase
def test_all_ranges_of_a_fan_out_are_one_call(gateways, pages):
    salts = [KeyRange(b"%02x:" % salt, b"%02x:00100" % salt) for salt in range(256)]
    expected = [key for key in page_keys() if any(key in keys for keys in salts)]
    with HBaseStore(HOST, gateways[0], thrift2=gateways[1]) as store:
        _, calls = counted_store(store)
        found = [row.key for row in store.scan(pages, salts, Wanted(keys_only=True))]
        scanned = calls["getScannerResults"]
        first = store.first_rows(pages, salts, 100, Wanted(keys_only=True))

        assert found == expected
        assert scanned == 1
        assert [row.key for rows in first for row in rows] == expected
        assert calls["getScannerResults"] - scanned == 8


@pytest.mark.hbase
@pytest.mark.parametrize("known", [None, [], [b"08", b"8", b"81:02", b"e"]])
@pytest.mark.parametrize("word", [None, "7"])
@pytest.mark.parametrize("keys_only", [False, True])
def test_first_rows_of_any_ranges_are_those_of_a_model(gateways, pages, known, word, keys_only, monkeypatch):
    draw = Random(7)
    with HBaseStore(HOST, gateways[0], thrift2=gateways[1]) as store:
        if known is not None:
            monkeypatch.setattr(store._table_cache, "region_bounds", lambda *_: known)
        wanted = Wanted(keys_only=keys_only, containing=None if word is None else Containing(b"f:title", (word,)))

        for limit in (1, 3, 20, 200):
            ends = sorted(draw.sample(page_keys(), 90))
            # Full ranges, ranges of a row or two, and empty ones between two rows.
            ranges = [KeyRange(a, draw.choice([b, a + b"0", a])) for a, b in zip(ends[::2], ends[1::2], strict=True)]
            draw.shuffle(ranges)
            found = store.first_rows(pages, ranges, limit, wanted)

            rows = [key for key in page_keys() if word is None or word.encode() in key]
            assert [[row.key for row in some] for some in found] == [
                [key for key in rows if key in keys][:limit] for keys in ranges
            ]


@pytest.mark.hbase
def test_full_ranges_between_empty_ones_come_in_one_call_that_brings_little_more(gateways, pages, monkeypatch):
    empty = [KeyRange(b"%02x:~" % salt, b"%02x:~~" % salt) for salt in range(20) if salt not in (3, 13)]
    ranges = sorted([*empty, KeyRange(b"03:", b"03;"), KeyRange(b"0d:", b"0d;")])
    with HBaseStore(HOST, gateways[0], thrift2=gateways[1]) as store:
        monkeypatch.setattr(store._table_cache, "region_bounds", lambda *_: [])
        heard: list[Any] = []
        monitored, calls = counted_store(store)
        rows = store._client.rows
        store._client.rows = lambda *args, **kwargs: heard.append(rows(*args, **kwargs)) or heard[-1]

        found = monitored.first_rows(pages, ranges, 5)

        assert [len(some) for some in found if some] == [5, 5]
        assert calls["getScannerResults"] == 1
        # The first row of a range may count for one before it.
        assert 10 <= sum(map(len, heard)) <= 12


@pytest.mark.hbase
def test_ranges_that_a_region_begins_with_take_no_call_more(gateways, pages):
    salts = [KeyRange(b"%02x:" % salt, b"%02x;" % salt) for salt in range(256)]
    with HBaseStore(HOST, gateways[0], thrift2=gateways[1]) as store:
        monitored, calls = counted_store(store)

        found = monitored.first_rows(pages, salts, 5, Wanted(keys_only=True))

        assert [len(rows) for rows in found] == [5] * 256
        assert calls["getScannerResults"] == 8


@pytest.mark.hbase
def test_a_reversed_scan_of_many_ranges_crosses_regions(hbase, pages):
    salts = [prefix_range(b"%02x:00" % salt) for salt in range(0, 256, 9)]

    found = [row.key for row in hbase.scan(pages, salts, reverse=True)]

    assert found == [key for key in reversed(page_keys()) if any(key in keys for keys in salts)]


@pytest.mark.hbase
def test_the_last_rows_of_many_ranges_cross_regions(hbase, pages):
    ranges = [prefix_range(b"%02x:" % salt) for salt in range(0, 256, 9)] + [KeyRange(b"2", b"b3"), KeyRange()]

    found = hbase.first_rows(pages, ranges, 40, reverse=True)

    expected = [[key for key in reversed(page_keys()) if key in keys][:40] for keys in ranges]
    assert [[row.key for row in rows] for rows in found] == expected


@pytest.mark.hbase
def test_the_last_rows_over_a_failing_network_are_complete(through_proxies, proxies, pages):
    salts = [prefix_range(b"%02x:" % salt) for salt in range(0, 256, 5)]
    cut_every_connection(proxies, [0, 100, 3_000, 20_000] * 3)

    found = through_proxies.first_rows(pages, salts, 3, reverse=True)

    assert [[row.key for row in rows] for rows in found] == [
        [key for key in reversed(page_keys()) if key in keys][:3] for keys in salts
    ]


@pytest.fixture
def cells_brought(hbase: HBaseStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many cells each answer of a gateway has."""
    counts: list[int] = []
    call = Connection.call

    def counted(*args: Any, **options: Any) -> Any:
        answer = call(*args, **options)
        if isinstance(answer, list):
            counts.append(sum(len(getattr(row, "columnValues", None) or getattr(row, "columns", ())) for row in answer))
        return answer

    monkeypatch.setattr(Connection, "call", counted)
    return counts


@pytest.fixture(scope="module")
def wide(gateways: tuple[int, int]) -> Iterator[str]:
    """A table with rows of no, 50,000 and one column in the family f, between single cells of f, g and m."""
    name = f"hbase_{uuid.uuid4().hex[:12]}"
    with HBaseStore(HOST, gateways[0], thrift2=gateways[1]) as store:
        store.create_table(TableSchema(name, tuple(FamilySchema(family) for family in "fgm"), (b"5",)))
        columns = [b"f:%05d" % number for number in range(50_000)]
        store.write(
            name,
            [
                Put(b"4", [NewCell(column, 1, b"v") for column in columns]),
                *(put(b"%d" % n, column=b"m:title", value=b"Page %d" % n) for n in range(1, 9)),
                put(b"7", column=b"g:x"),
                put(b"8", column=b"f:x"),
            ],
        )
        yield name
        store.drop_table(name)


@pytest.mark.hbase
@pytest.mark.parametrize("keys_only", [False, True])
def test_a_row_of_50_000_columns_is_read_in_bounded_pieces(hbase, wide, cells_brought, keys_only):
    found, left = [], KeyRange()
    while piece := hbase.read_cells(wide, [b"4"], b"f", left, limit=7_000, keys_only=keys_only)[0]:
        found += [column for column, _ in piece]
        left = left.after(piece[-1][0].removeprefix(b"f:"))

    assert found == [b"f:%05d" % number for number in range(50_000)]
    assert cells_brought == [7_000] * 7 + [1_000, 0]


@pytest.mark.hbase
def test_neighbours_are_read_in_pieces_together_by_thrift1(gateways, scratch, space):
    rows = [space(b"%04d" % number) for number in range(400)]
    with HBaseStore(HOST, gateways[0], pool_size=4) as store:
        _, calls = counted_store(store)
        store.write(scratch, [put(row, column=b"f:x") for row in rows])

        near = store.read_cells(scratch, rows, b"f", limit=10, keys_only=True)
        near_calls = calls["scannerOpenWithScan"]
        far = store.read_cells(scratch, rows[::40], b"f", limit=10, keys_only=True)
        far_calls = calls["scannerOpenWithScan"] - near_calls

    assert near == [[(b"f:x", Cell(1, b""))]] * 400
    assert far == near[::40]
    assert near_calls <= 4 * 5  # of 2, 8, 32 and the other rows in each of four threads
    assert far_calls == 10


@pytest.mark.hbase
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (None, "12345678"),
        ([b"f:"], "48"),
        ([b"f:", b"g:"], "478"),
        ([b"f:", b"f:x", b"m:title"], "12345678"),
        ([b"f:00000", b"f:49999", b"g:x"], "47"),
    ],
)
def test_a_key_is_one_cell_of_a_row_however_many_it_has(hbase, wide, cells_brought, columns, expected, reverse):
    scanned = list(hbase.scan(wide, [KeyRange()], Wanted(columns, keys_only=True), reverse=reverse))
    [first] = hbase.first_rows(wide, [KeyRange()], 9, Wanted(columns, keys_only=True), reverse=reverse)

    keys = expected[::-1] if reverse else expected
    assert [row.key.decode() for row in scanned] == [row.key.decode() for row in first] == list(keys)
    assert sum(cells_brought) == 2 * len(expected)


@pytest.mark.hbase
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (None, "12345678"),
        ([b"f:"], "48"),
        ([b"f:", b"g:"], "478"),
        ([b"f:", b"m:title"], "12345678"),
        ([b"f:00000", b"f:49999", b"g:x"], "47"),
    ],
)
def test_a_key_that_is_searched_for_is_two_cells_of_a_row(hbase, wide, cells_brought, columns, expected, reverse):
    asked = Wanted(columns, keys_only=True, containing=Containing(b"m:title", ("PAGE",)))
    scanned = list(hbase.scan(wide, [KeyRange()], asked, reverse=reverse))
    [first] = hbase.first_rows(wide, [KeyRange()], 9, asked, reverse=reverse)

    keys = expected[::-1] if reverse else expected
    assert [row.key.decode() for row in scanned] == [row.key.decode() for row in first] == list(keys)
    assert sum(cells_brought) <= 2 * 2 * len(expected)


@pytest.mark.hbase
@pytest.mark.parametrize("reverse", [False, True])
def test_a_search_over_many_ranges_crosses_regions_and_brings_only_what_is_found(
    gateways, hbase, pages, cells_brought, reverse
):
    salts = [prefix_range(b"%02x:" % salt) for salt in range(0, 256, 3)]
    asked = Wanted([b"f:q"], containing=Containing(b"f:title", ("11", "A")))

    scanned = [row.key for row in hbase.scan(pages, salts, asked, reverse=reverse)]
    first = hbase.first_rows(pages, salts, 1, asked, reverse=reverse)

    expected = [key for key in page_keys() if b"11" in key and b"a" in key and any(key in keys for keys in salts)]
    assert scanned == sorted(expected, reverse=reverse)
    ends = [[key for key in scanned if key in keys][:1] for keys in salts]
    assert [[row.key for row in rows] for rows in first] == ends
    assert sum(cells_brought) <= 2 * len(expected)


@pytest.mark.hbase
def test_a_search_brings_the_large_cells_of_other_families_whole(hbase, wide):
    body = bytes(400_000)
    bodies = [NewCell(b"g:1", 1, body), NewCell(b"g:2", 1, body)]
    prefix = b"x" + uuid.uuid4().hex.encode()
    rows = [Put(prefix + b"%02d" % n, [NewCell(b"m:title", 1, b"large %d" % n), *bodies]) for n in range(12)]
    hbase.write(wide, rows)
    asked = Wanted([b"g:"], containing=Containing(b"m:title", ("LARGE 1",)))

    found = list(hbase.scan(wide, [prefix_range(prefix)], asked))

    hbase.write(wide, [Delete(row.row, 1) for row in rows])
    assert [row.key for row in found] == [prefix + b"01", prefix + b"10", prefix + b"11"]
    assert all(row.cells == {b"g:1": (Cell(1, body),), b"g:2": (Cell(1, body),)} for row in found)


@pytest.mark.hbase
def test_the_guilty_of_a_batch_have_their_reasons_and_the_others_are_stored(hbase, scratch, space):
    mutations = [
        put(space(b"1")),
        put(space(b"2"), column=b"nope:q"),
        put(space(b"3"), value=bytes(MAX_CELL)),
        put(space(b"4"), timestamp=-1),
        put(b"x" * 40_000),
        put(space(b"5")),
    ]

    outcomes = hbase.write(scratch, mutations)

    reasons = ["family 'nope'", "10,485,7", "timestamp of -1", "a row key has"]
    assert [outcome is None for outcome in outcomes] == [True, False, False, False, False, True]
    assert all(isinstance(o, StoreRefused) and r in str(o) for o, r in zip(outcomes[1:5], reasons, strict=True))
    assert all(hbase.read(scratch, [space(b"1"), space(b"5")]))


@pytest.mark.hbase
def test_a_family_that_went_away_is_refused_by_the_gateway_row_by_row(hbase, scratch, space):
    hbase._table_cache._families[scratch] = {b"f", b"gone"}
    mutations = [put(space(b"y%d" % n), column=b"gone:q" if n == 5 else b"f:q") for n in range(9)]

    outcomes = hbase.write(scratch, mutations)

    assert [n for n, outcome in enumerate(outcomes) if outcome] == [5]
    assert "has no family 'gone'" in str(outcomes[5])
    assert repr(space(b"y5")) in str(outcomes[5])


@pytest.mark.hbase
def test_a_dropped_table_is_not_found_by_a_store_that_knew_it(hbase, gateways):
    name = f"hbase_{uuid.uuid4().hex[:12]}"
    with HBaseStore(HOST, gateways[0], thrift2=gateways[1]) as other:
        other.create_table(TableSchema(name, (FamilySchema("f"),)))
        hbase.write(name, [put(b"a")])
        other.drop_table(name)

    with pytest.raises(TableNotFound, match=name):
        hbase.write(name, [put(b"a")])
    with pytest.raises(TableNotFound, match=name):
        list(hbase.scan(name, [KeyRange()]))


@pytest.mark.hbase
def test_a_changed_family_keeps_the_options_that_webtable_does_not_know(gateways, native_url, own_table):
    with (
        HBaseStore(HOST, gateways[0], thrift2=gateways[1]) as store,
        NativeStore.from_url(StoreURL.parse(native_url)) as native,
    ):
        name = thrift2.TTableName(qualifier=own_table.encode())
        gateway, deadline = store._gateways[1], Deadline(20)
        family = gateway.call("getTableDescriptor", name, deadline=deadline).columns[0]
        family.cacheDataOnWrite = True
        gateway.call("modifyColumnFamily", name, family, deadline=deadline)

        native.set_family(own_table, FamilySchema("f", versions=5, ttl=1000))

        assert store.describe(own_table).schema.families == (FamilySchema("f", versions=5, ttl=1000),)
        assert gateway.call("getTableDescriptor", name, deadline=deadline).columns[0].cacheDataOnWrite


@pytest.mark.hbase
def test_a_table_in_a_new_namespace_brings_the_namespace(native_url):
    name = f"ns{uuid.uuid4().hex[:8]}:pages"
    with NativeStore.from_url(StoreURL.parse(native_url)) as store:
        store.create_table(TableSchema(name, (FamilySchema("f"),), (b"5",)))
        store.write(name, [put(b"a")])

        assert name in store.tables()
        assert [row.key for row in store.scan(name, [KeyRange()])] == [b"a"]
        store.drop_table(name)


@pytest.mark.hbase
def test_thrift1_says_what_to_run_where_it_has_no_call(gateways):
    with HBaseStore(HOST, gateways[0]) as store:
        with pytest.raises(CapabilityError, match=r"create 'x'.*SPLITS"):
            store.create_table(TableSchema("x", (FamilySchema("f"),), (b"5",)))
        with pytest.raises(CapabilityError, match="block_size of family 'f'"):
            store.create_table(TableSchema("x", (FamilySchema("f", block_size=8192),)))
        with pytest.raises(CapabilityError, match="alter 'x'"):
            store.set_family("x", FamilySchema("f"))
        with pytest.raises(StoreRefused, match="create_namespace 'nowhere'"):
            store.create_table(TableSchema("nowhere:x", (FamilySchema("f"),)))


@pytest.mark.hbase
def test_many_threads_share_a_store(hbase, pages):
    keys = page_keys()
    with closing(Workers(24, "test")) as workers:
        found = [workers.submit(lambda k=keys[n * 7]: hbase.read(pages, [k])[0].key) for n in range(400)]

        assert [future.result() for future in found] == [keys[n * 7] for n in range(400)]
