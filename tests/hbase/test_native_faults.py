"""HBase by its own protocol when something breaks: connections, servers, tables and the process itself."""

from __future__ import annotations

import os
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
from proxy import Fault, FaultProxy, Weather
from rpc_server import varint

from webtable.errors import StoreError, StoreUnavailable, TableNotFound
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, ShellCommand, TableSchema
from webtable.store import Cell, NewCell, Put, Row, StoreURL, Wanted
from webtable.store.deadline import Deadline, until
from webtable.store.hbase import NativeStore
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.connection import ServerError
from webtable.store.hbase.native.servers import CLIENT
from webtable.store.hbase.native.store import address_of

pytestmark = pytest.mark.hbase

ROWS = 3000
EVERYTHING = [KeyRange()]


def puts(count=ROWS, value=b"x" * 500):
    return [Put(b"%05d" % number, [NewCell(b"f:a", 1000, value)]) for number in range(count)]


def keys(rows):
    return [row.key for row in rows]


ALL_KEYS = [put.row for put in puts()]


@pytest.fixture
def settings(native_url):
    return address_of(StoreURL.parse(native_url)).settings()


@pytest.fixture
def store(settings):
    with NativeStore(**settings) as store:
        yield store


@pytest.fixture
def table(store):
    name = f"fault_{uuid.uuid4().hex[:12]}"
    store.create_table(TableSchema(name, (FamilySchema("f", versions=3),), (b"01000", b"02000")))
    yield name
    if name in store.tables():
        store.drop_table(name)


@pytest.fixture
def filled(store, table):
    assert store.write(table, puts()) == [None] * ROWS
    return table


@pytest.fixture
def hurt(store, table, settings):
    """The same store, with its region server behind a proxy."""
    server = store.regions(table)[0].server
    reached = settings["rename"].get(server, server)
    with FaultProxy(int(reached.rpartition(":")[2])) as proxy:
        rename = {**settings["rename"], server: f"127.0.0.1:{proxy.port}"}
        with NativeStore(**{**settings, "rename": rename, "timeout": 20.0}) as hurt:
            yield hurt, proxy


FAULTS = [
    Fault("cut", "reply", 100),
    Fault("reset", "reply", 150),
    Fault("cut", "request", 100),
    Fault("reset", "request", 300),
    Fault("refuse"),
    Fault("stall", "reply", 100, seconds=0.3),
    Fault("delay", "reply", seconds=0.01),
    Fault("half-close", "reply", 100),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}-{fault.way}")
def test_whatever_happens_to_a_connection_all_rows_come_once_in_order(hurt, filled, fault):
    store, proxy = hurt
    proxy.next(fault)

    assert keys(store.scan(filled, EVERYTHING)) == ALL_KEYS

    proxy.reset_all()
    proxy.next(fault)
    assert keys(store.scan(filled, EVERYTHING, reverse=True)) == ALL_KEYS[::-1]
    assert proxy.injected()[fault.kind] == 2


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}-{fault.way}")
def test_whatever_happens_to_a_connection_what_is_acknowledged_is_stored(hurt, store, table, fault):
    hurt_store, proxy = hurt
    proxy.next(fault)

    assert hurt_store.write(table, puts()) == [None] * ROWS

    assert proxy.injected()[fault.kind] == 1
    assert keys(store.scan(table, EVERYTHING)) == ALL_KEYS
    assert [row and row.key for row in hurt_store.read(table, ALL_KEYS)] == ALL_KEYS


def test_in_bad_weather_every_call_ends_with_what_it_should(hurt, store, table):
    hurt_store, proxy = hurt
    proxy.weather(Weather(seed=7, within=1_000_000, kinds=("cut", "reset", "stall", "refuse")))

    def part(number):
        some = [Put(b"%d/%03d" % (number, row), [NewCell(b"f:a", 1000, b"v" * 2000)]) for row in range(300)]
        stored = []
        for at in range(0, 300, 50):  # a call that is larger than what a connection lives for would never be made
            outcomes = hurt_store.write(table, some[at : at + 50])
            stored += [put.row for put, outcome in zip(some[at:], outcomes, strict=False) if outcome is None]
        found = keys(hurt_store.scan(table, [KeyRange(b"%d/" % number, b"%d0" % number)]))
        return stored, found

    with ThreadPoolExecutor(6) as threads:
        results = list(threads.map(part, range(6)))

    for stored, found in results:
        assert stored == found
        assert len(stored) == 300
    assert len(keys(store.scan(table, EVERYTHING))) == 1800
    assert proxy.injected().total() > proxy.injected()["connections"] > 0


def test_a_server_that_answers_nothing_ends_the_call_at_its_deadline(store, filled, settings):
    server = store.regions(filled)[0].server
    reached = settings["rename"].get(server, server)
    with FaultProxy(int(reached.rpartition(":")[2])) as proxy:
        proxy.weather(Weather(seed=1, within=1, kinds=("mute",)))
        rename = {**settings["rename"], server: f"127.0.0.1:{proxy.port}"}
        # hbase:meta is on that server too, so the master is asked first, and the regions then.
        with NativeStore(**{**settings, "rename": rename, "timeout": 1.5}) as mute:
            began = time.monotonic()
            with pytest.raises(StoreUnavailable):
                mute.read(filled, [b"00001"])
            outcomes = mute.write(filled, puts(3))

    assert time.monotonic() - began < 8
    assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes)


def test_a_thread_that_gives_up_does_not_disturb_the_calls_of_others(store, filled, settings):
    with NativeStore(**settings) as quick:

        def impatient():
            gone = 0
            for _ in range(50):
                try:
                    with until(Deadline(0.002)):
                        list(quick.scan(filled, EVERYTHING))
                except StoreUnavailable:
                    gone += 1
            return gone

        def patient():
            return [len(keys(quick.scan(filled, EVERYTHING))) for _ in range(10)]

        with ThreadPoolExecutor(4) as threads:
            hasty, calm = threads.submit(impatient), [threads.submit(patient) for _ in range(3)]
            assert all(task.result() == [ROWS] * 10 for task in calm)
        assert hasty.result()


def test_a_scanner_that_has_expired_is_opened_again_after_the_last_row(store, filled, monkeypatch):
    rows = store.scan(filled, EVERYTHING)
    first = [next(rows).key for _ in range(500)]

    lose_all_scanners(store, filled, monkeypatch)

    assert first + keys(rows) == ALL_KEYS


def lose_all_scanners(store, table, monkeypatch):
    """Make the next call of each scanner one of a scanner that HBase does not know."""
    send, lost = store._servers.send, []

    def once(server, service, method, request, *args):
        if method == "Scan" and request.scanner_id and not lost:
            lost.append(request.scanner_id)
            request.scanner_id += 1
        return send(server, service, method, request, *args)

    monkeypatch.setattr(store._servers, "send", once)


def test_a_region_that_splits_during_a_scan_loses_and_repeats_no_row(store, filled):
    rows = store.scan(filled, EVERYTHING)
    first = [next(rows).key for _ in range(40)]

    split(store, filled, b"00500")

    assert first + keys(rows) == ALL_KEYS
    assert len(store.regions(filled)) == 4
    assert keys(store.scan(filled, EVERYTHING, reverse=True)) == ALL_KEYS[::-1]


def test_a_region_that_splits_during_writes_takes_them_all(store, table):
    assert store.write(table, puts(10)) == [None] * 10
    threading.Thread(target=split, args=(store, table, b"00500")).start()

    outcomes = [outcome for _ in range(5) for outcome in store.write(table, puts())]

    assert outcomes == [None] * 5 * ROWS
    assert keys(store.scan(table, EVERYTHING)) == ALL_KEYS


def split(store, table, key):
    deadline = Deadline(30)
    region = store._cluster.regions(table, deadline).of(key)
    request = pb.SplitTableRegionRequest(
        region_info=region.info, split_row=key, nonce_group=1, nonce=uuid.uuid4().int >> 70
    )
    started = store._cluster.ask_master("SplitRegion", request, pb.ProcedureStarted, deadline)
    store._tables.finished("SplitRegion", started.proc_id, table, deadline)


class Encoded:
    """A message that webtable never sends, by its fields."""

    def __init__(self, **fields):
        self._fields = fields

    def SerializeToString(self):
        return b"".join(
            bytes([int(name[1:]) << 3 | 2]) + varint(len(value)) + value
            for name, values in self._fields.items()
            for value in values
        )


def specifiers(regions, kind):
    """Return the regions as the master wants them: by their names (1), or by the last part of those (2)."""
    names = [region.name if kind == 1 else region.name.split(b".")[-2] for region in regions]
    return [pb.RegionSpecifier(type=kind, value=name).SerializeToString() for name in names]


def told(store, method, request, response=pb.ProcedureStarted):
    return store._cluster.ask_master(method, request, response, Deadline(30))


@pytest.mark.parametrize("reverse", [False, True])
def test_regions_that_merge_during_a_scan_lose_and_repeat_no_row(store, filled, reverse):
    rows = store.scan(filled, EVERYTHING, reverse=reverse)
    found = [next(rows).key for _ in range(40)]
    regions = store._cluster.regions(filled, Deadline(5)).regions

    for pair in (regions[:2], regions[1:]):  # the second pair is known under its old names
        try:
            started = told(store, "MergeTableRegions", Encoded(f1=specifiers(pair, 2)))
            store._tables.finished("MergeTableRegions", started.proc_id, filled, Deadline(30))
        except ServerError as exc:
            assert pair is not regions[:2] or exc.moved  # noqa: PT017 - one of them is not there any longer
        found += [next(rows).key for _ in range(1000)]

    assert found + keys(rows) == sorted(ALL_KEYS, reverse=reverse)
    assert len(store.regions(filled)) < 3


@contextmanager
def closed_for(store, table, seconds):
    """Have the first region of *table* closed now, and opened again after so long."""
    regions = store._cluster.regions(table, Deadline(5)).regions[:1]
    for one in specifiers(regions, 1):
        told(store, "UnassignRegion", Encoded(f1=[one]), pb.EmptyMsg)

    def reopen():
        time.sleep(seconds)
        for one in specifiers(regions, 1):
            told(store, "AssignRegion", Encoded(f1=[one]), pb.EmptyMsg)

    thread = threading.Thread(target=reopen)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def test_regions_that_are_closed_for_a_while_keep_calls_waiting_and_lose_nothing(store, filled):
    rows, backwards = store.scan(filled, EVERYTHING), store.scan(filled, EVERYTHING, reverse=True)
    first, last = [next(rows).key for _ in range(100)], [next(backwards).key for _ in range(100)]

    with closed_for(store, filled, 0.5), ThreadPoolExecutor(4) as threads:
        tasks = [
            threads.submit(lambda: first + keys(rows)),
            threads.submit(lambda: (last + keys(backwards))[::-1]),
            threads.submit(lambda: keys(store.read(filled, ALL_KEYS))),
        ]
        written = threads.submit(store.write, filled, puts(value=b"new"))

        assert all(task.result(30) == ALL_KEYS for task in tasks)
        assert written.result(30) == [None] * ROWS

    assert {row.cells[b"f:a"][0].value for row in store.scan(filled, EVERYTHING)} == {b"new"}


def test_regions_that_stay_closed_are_an_error_at_the_deadline_of_each_thread(store, filled, settings):
    with NativeStore(**{**settings, "timeout": 1.5}) as hasty:
        hasty.read(filled, [b"00001"])
        with closed_for(store, filled, 2.5), ThreadPoolExecutor(8) as threads:

            def seconds(call):
                began = time.monotonic()
                with pytest.raises(StoreUnavailable):
                    made(hasty, filled, call)
                return time.monotonic() - began

            took = list(threads.map(seconds, ["read", "scan", "write", "first_rows"] * 2))

        assert keys(hasty.scan(filled, EVERYTHING)) == ALL_KEYS
    assert max(took) < 3


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scanner_that_somebody_has_closed_is_opened_again(store, filled, settings, monkeypatch, reverse):
    send, numbers = store._servers.send, []

    def noted(server, service, method, request, *args):
        if method == "Scan" and request.scanner_id:
            numbers.append((server, request.scanner_id))
        return send(server, service, method, request, *args)

    monkeypatch.setattr(store._servers, "send", noted)
    rows = store.scan(filled, EVERYTHING, reverse=reverse)
    found = [next(rows).key for _ in range(100)]
    with NativeStore(**settings) as other:
        for server, number in set(numbers):
            closing = pb.ScanRequest(scanner_id=number, number_of_rows=0, close_scanner=True)
            other._servers.ask(server, CLIENT, "Scan", closing, pb.ScanResponse, Deadline(5))

    assert found + keys(rows) == sorted(ALL_KEYS, reverse=reverse)
    assert numbers


def test_a_server_that_hangs_ends_the_calls_of_all_threads_at_their_deadlines(store, filled, settings):
    server = store.regions(filled)[0].server
    reached = settings["rename"].get(server, server)
    with FaultProxy(int(reached.rpartition(":")[2])) as proxy:
        rename = {**settings["rename"], server: f"127.0.0.1:{proxy.port}"}
        with NativeStore(**{**settings, "rename": rename, "timeout": 2.0}) as hurt, ThreadPoolExecutor(8) as threads:
            hurt.read(filled, [b"00001"])  # so that the hang comes later than the connection
            proxy.reset_all()
            proxy.weather(Weather(seed=1, within=1, kinds=("mute",)))

            def seconds(call):
                began = time.monotonic()
                with pytest.raises(StoreUnavailable):
                    made(hurt, filled, call)
                return time.monotonic() - began

            took = list(threads.map(seconds, ["read", "scan", "write", "first_rows"] * 4))

            proxy.weather(None)
            with suppress(StoreUnavailable):  # a connection that was made late may have to be found silent yet
                hurt.read(filled, [b"00001"])
            assert keys(hurt.scan(filled, EVERYTHING)) == ALL_KEYS
    assert max(took) < 3.5


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}-{fault.way}")
def test_whatever_happens_to_a_connection_first_rows_and_cells_are_those_asked_for(hurt, filled, fault):
    store, proxy = hurt
    ranges = [KeyRange(b"%03d" % number, b"%03d" % (number + 1)) for number in range(30)]
    proxy.next(fault)

    first = store.first_rows(filled, ranges, 3)

    assert [keys(rows) for rows in first] == [[b"%03d%02d" % (number, row) for row in range(3)] for number in range(30)]
    proxy.reset_all()
    proxy.next(fault)
    cells = store.read_cells(filled, ALL_KEYS[:250], b"f", limit=2)
    assert [[column for column, _ in row] for row in cells] == [[b"f:a"]] * 250


@pytest.mark.parametrize("call", ["read", "scan", "write", "first_rows"])
def test_a_disabled_table_is_an_error_at_once(store, filled, call):
    store.read(filled, [b"00001"])  # the regions are known
    store.run(ShellCommand("disable", (filled,)))
    try:
        began = time.monotonic()
        with pytest.raises(StoreError, match="is disabled; in the HBase shell: enable"):
            made(store, filled, call)
        assert time.monotonic() - began < 10
    finally:
        store.run(ShellCommand("enable", (filled,)))
    assert keys(store.scan(filled, EVERYTHING)) == ALL_KEYS


@pytest.mark.parametrize("call", ["read", "scan", "write", "first_rows"])
def test_a_table_that_another_program_has_dropped_is_not_found(store, filled, settings, call):
    store.read(filled, [b"00001"])
    with NativeStore(**settings) as other:
        other.drop_table(filled)

    with pytest.raises(TableNotFound):
        made(store, filled, call)


def made(store, table, call):
    if call == "read":
        store.read(table, [b"00001"])
    elif call == "scan":
        list(store.scan(table, EVERYTHING))
    elif call == "first_rows":
        store.first_rows(table, [KeyRange(b"00", b"01"), KeyRange(b"02", b"03")], 1)
    else:
        [outcome] = store.write(table, puts(1))
        if outcome is not None:
            raise outcome


def test_a_table_made_again_with_other_regions_is_read_by_those(store, filled, settings):
    store.read(filled, [b"00001"])
    with NativeStore(**settings) as other:
        other.drop_table(filled)
        other.create_table(TableSchema(filled, (FamilySchema("f"),), (b"00700",)))
        other.write(filled, puts(1000))

    assert keys(store.scan(filled, EVERYTHING)) == ALL_KEYS[:1000]
    assert store.write(filled, puts()) == [None] * ROWS


def test_a_row_larger_than_an_answer_comes_whole(store, table):
    wide = [NewCell(b"f:%04d" % number, 1000, os.urandom(60_000)) for number in range(100)]
    assert store.write(table, [Put(b"wide", wide), *puts(3)]) == [None] * 4

    *_, row = store.scan(table, EVERYTHING)

    assert row == Row(b"wide", {cell.column: (Cell(1000, cell.value),) for cell in wide})
    assert keys(store.scan(table, EVERYTHING, Wanted(keys_only=True))) == [*ALL_KEYS[:3], b"wide"]


def test_a_forked_child_reads_and_writes_while_the_parent_does(store, filled):
    rows = store.scan(filled, EVERYTHING)
    first = [next(rows).key for _ in range(100)]
    child = os.fork()
    if not child:
        code = 1
        try:
            if keys(store.scan(filled, EVERYTHING)) == ALL_KEYS and store.write(filled, puts(5)) == [None] * 5:
                code = 0
        finally:
            os._exit(code)

    assert first + keys(rows) == ALL_KEYS
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert keys(store.scan(filled, EVERYTHING)) == ALL_KEYS


def test_a_store_that_is_closed_refuses_calls_also_those_in_other_threads(filled, settings):
    store = NativeStore(**settings)

    def scans():
        while True:
            list(store.scan(filled, EVERYTHING))

    with ThreadPoolExecutor(3) as threads:
        tasks = [threads.submit(scans) for _ in range(3)]
        time.sleep(0.2)
        store.close()
        assert all(isinstance(task.exception(timeout=20), StoreError) for task in tasks)
    with pytest.raises(StoreError, match="is closed"):
        store.read(filled, [b"1"])


def test_a_store_that_is_left_open_warns(settings):
    stores = [NativeStore(**settings)]

    with pytest.warns(ResourceWarning, match=r"hbase\+native://.* was left open"):
        stores.clear()


def test_an_interrupt_leaves_a_store_that_can_be_used(store, filled, monkeypatch):
    from webtable.store.hbase.native.connection import Wire

    more = Wire.receive

    def interrupted(self, wanted, deadline):
        monkeypatch.setattr(Wire, "receive", more)
        raise KeyboardInterrupt

    monkeypatch.setattr(Wire, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(store.scan(filled, EVERYTHING))

    assert keys(store.scan(filled, EVERYTHING)) == ALL_KEYS


def test_all_threads_use_one_connection_to_a_server(store, filled):
    with ThreadPoolExecutor(16) as threads:
        counts = list(threads.map(lambda _: len(keys(store.scan(filled, EVERYTHING))), range(32)))

    assert counts == [ROWS] * 32
    assert len([one for one in store.servers() if CLIENT in one.name]) == 1
    assert all((one.opened, one.dropped) == (1, 0) for one in store.servers())


def test_the_metrics_count_the_connections_that_were_made_and_lost(hurt, filled):
    store, proxy = hurt
    store.read(filled, [b"00001"])
    proxy.next(Fault("reset", "reply", 150))
    proxy.reset_all()

    assert keys(store.scan(filled, EVERYTHING)) == ALL_KEYS

    [client] = [one for one in store.servers() if CLIENT in one.name]
    assert (client.opened, client.dropped, client.in_use, client.idle) == (3, 2, 0, 1)
