"""Scanners stay on the connection that they were opened on, and rows that were not this call has not believed."""

from __future__ import annotations

import contextlib
import shlex
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import docker
import happybase
import pytest
from gateways import HOST, RoundRobin, RowsThrift1, RowsThrift2, put, thrift_server

from webtable.errors import StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store.deadline import Deadline
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.shared import scans as shared_scans
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.shared.filters import Selection, check_scanned
from webtable.store.hbase.thrift.connection import thrift1, thrift2
from webtable.store.hbase.thrift.thrift1 import ScannerPieces
from webtable.store.rows import Row, Wanted
from webtable.testing.stores import counted_store

ROWS = [b"%05d" % number for number in range(3000)]
FOREIGN = [b"%05dx" % number for number in range(3000)]


@pytest.fixture
def pair(servers) -> tuple[RowsThrift1, RowsThrift1, RoundRobin]:
    """Two gateways, each with scanners of its own, and a balancer in front of them that leads to the first."""
    first, second = RowsThrift1(pages=ROWS, other=FOREIGN), RowsThrift1(pages=ROWS, other=FOREIGN)
    for handler in (first, second):
        servers.append(thrift_server(thrift1.Hbase, handler))
    balancer = RoundRobin((HOST, servers[0].port))
    servers.append(balancer)
    return first, second, balancer


def foreign_scanners(port: int, count: int) -> None:
    """Open scanners on the other table, as another client of the gateway at *port* has them."""
    with contextlib.closing(happybase.Connection(HOST, port)) as other:
        for _ in range(count):
            other.client.scannerOpenWithScan(b"other", thrift1.TScan(), {})


def keys_of(rows) -> list[bytes]:
    return [row.key for row in rows]


def test_a_scan_does_not_go_on_with_another_scan_s_rows_on_the_gateway_that_took_the_place_of_its_own(pair, servers):
    _, _, balancer = pair
    foreign_scanners(servers[1].port, 9)
    with HBaseStore(HOST, balancer.port) as store:
        rows = store.scan("pages", [KeyRange()])
        found = [next(rows).key for _ in range(100)]
        balancer.targets = [(HOST, servers[1].port)]
        balancer.cut()
        time.sleep(0.1)  # until the store could see it

        found += keys_of(rows)

    assert found == ROWS


def test_a_scan_whose_connection_is_in_use_does_not_ask_another_gateway_for_its_scanner(pair, servers):
    first, second, balancer = pair
    balancer.targets = [(HOST, server.port) for server in servers[:2]]
    with HBaseStore(HOST, balancer.port, pool_size=2) as store:
        _, calls = counted_store(store)
        rows = store.scan("pages", [KeyRange()])
        found = [next(rows).key for _ in range(100)]
        for server in servers[:2]:
            foreign_scanners(server.port, 9)
        first.held.clear()
        second.held.clear()
        busy = threading.Thread(target=store.tables)
        busy.start()
        while calls["getTableNames"] < 1:
            time.sleep(0.01)

        found += keys_of(rows)

        first.held.set()
        second.held.set()
        busy.join()
    assert found == ROWS


def test_more_scans_than_connections_each_have_their_own_rows(pair, servers):
    first, second, balancer = pair
    balancer.targets = [(HOST, server.port) for server in servers[:2]]
    for handler in (first, second):
        handler.tables |= {b"t%d" % n: [b"%05d-%d" % (number, n) for number in range(600)] for n in range(12)}

    def scanned(n: int) -> bool:
        return keys_of(store.scan(f"t{n}", [KeyRange()])) == first.tables[b"t%d" % n]

    with HBaseStore(HOST, balancer.port, pool_size=3) as store, ThreadPoolExecutor(12) as threads:
        found = list(threads.map(scanned, [*range(12)] * 4))
        open_connections = store._gateways[0].pool._open()

    assert found == [True] * 48
    assert open_connections <= 3


@pytest.mark.slow
def test_a_scan_that_nobody_disturbs_keeps_its_scanner(pair):
    first, _, balancer = pair
    with HBaseStore(HOST, balancer.port) as store:
        _, calls = counted_store(store)
        rows = store.scan("pages", [KeyRange()])
        found = [next(rows).key]
        for key in ROWS[1:]:
            found.append(next(rows).key)
            store.read("pages", [key])

        assert found == ROWS
        assert calls["scannerOpenWithScan"] == 2  # the first one asks for no more than the first piece
    assert not first.scanners or list(rows) == []


def test_a_scanner_that_the_gateway_has_forgotten_is_opened_anew_behind_the_last_row(pair):
    first, _, balancer = pair
    with HBaseStore(HOST, balancer.port) as store:
        rows = store.scan("pages", [KeyRange()])
        found = [next(rows).key for _ in range(100)]
        first.scanners.clear()

        found += keys_of(rows)

    assert found == ROWS


def test_a_scanner_that_moved_on_is_not_used_where_its_rows_could_not_be_read():
    asked: list[tuple[KeyRange, object]] = []

    class Client:
        """One that fails to read versions the first time."""

        gateway = SimpleNamespace(name="hbase://x", log=None)
        failures = 1

        def translated(self, table, results, wanted, deadline):
            if self.failures:
                self.failures -= 1
                raise StoreUnavailable("no answer")
            return [Row(result.row, {}) for result in results]

        def close(self, *_):
            pass

    class Scan(ScannerPieces):
        """One whose scanners bring rows."""

        def _attempt(self, keys, count, deadline):
            asked.append((keys, self._scanner))
            self._scanner = object()
            return [SimpleNamespace(row=b"a")]

    pieces = Scan(Client(), "pages", [KeyRange()], Selection(versions=3), None)
    with pytest.raises(StoreUnavailable):
        pieces.next(Deadline(5))

    found = pieces.next(Deadline(5))

    assert keys_of(found) == [b"a"]
    assert asked == [(KeyRange(), None)] * 2


# --- answers that are none -------------------------------------------------------------------------------------------

WRONG_SCANS = {
    "falling": lambda rows: rows[::-1],
    "the same row twice": lambda rows: [*rows[:-1], rows[-2]],
    "from before the range": lambda rows: [row_like(rows[0], b"00000"), *rows[1:]],
    "from behind the range": lambda rows: [*rows[:-1], row_like(rows[0], b"02000")],
    "more than were asked for": lambda rows: [*rows, *(row_like(rows[0], rows[-1].row + b"%d" % n) for n in range(9))],
    "without a key": lambda rows: [row_like(rows[0], None), *rows[1:]],
}
WRONG_READS = {
    "another row": lambda rows: [row_like(rows[0], b"02000"), *rows[1:]],
    "another order": lambda rows: rows[::-1],
    "a row twice": lambda rows: [rows[0], *rows[:-1]],
    "too many": lambda rows: [*rows, rows[-1]],
}


def row_like(row, key):
    return type(row)(**{**vars(row), "row": key})


@pytest.fixture(params=["thrift1", "thrift2"])
def told(request, servers) -> tuple[HBaseStore, RowsThrift1 | RowsThrift2]:
    """A store, and the gateway that it reads from."""
    one, two = RowsThrift1(pages=ROWS), RowsThrift2(pages=ROWS)
    servers.append(thrift_server(thrift1.Hbase, one))
    servers.append(thrift_server(thrift2.THBaseService, two))
    second = servers[1].port if request.param == "thrift2" else None
    with HBaseStore(HOST, servers[0].port, thrift2=second, timeout=1.0) as store:
        yield store, two if second else one


# With a gap without a row between them, so that they are two.
RANGES = [KeyRange(b"01000", b"01049x"), KeyRange(b"01050", b"01100")]
VERSIONS = Wanted(versions=2)


@pytest.mark.parametrize(
    ("told", "reverse"), [("thrift1", False), ("thrift1", True), ("thrift2", False)], indirect=["told"]
)
@pytest.mark.parametrize("wrong", WRONG_SCANS)
def test_rows_that_a_scan_did_not_ask_for_are_asked_for_again(told, wrong, reverse):
    store, gateway = told
    gateway.wrong.append(WRONG_SCANS[wrong])
    ranges = RANGES if isinstance(gateway, RowsThrift2) else [KeyRange(b"01000", b"01100")]

    found = keys_of(store.scan("pages", ranges, reverse=reverse))

    assert found == sorted(ROWS[1000:1100], reverse=reverse)
    assert not gateway.wrong


@pytest.mark.parametrize("wrong", WRONG_SCANS)
def test_the_first_rows_that_nobody_asked_for_are_asked_for_again(told, wrong):
    store, gateway = told
    gateway.wrong.append(WRONG_SCANS[wrong])

    [found] = store.first_rows("pages", [KeyRange(b"01000", b"01100")], 50)

    assert keys_of(found) == ROWS[1000:1050]


@pytest.mark.parametrize("wrong", WRONG_READS)
def test_a_read_that_brings_other_rows_is_repeated(told, wrong):
    store, gateway = told
    gateway.wrong.append(WRONG_READS[wrong])

    found = store.read("pages", ROWS[:9], VERSIONS)

    assert keys_of(found) == ROWS[:9]


@pytest.mark.slow
def test_a_gateway_that_goes_on_giving_wrong_rows_ends_in_an_error_that_says_so(told):
    store, gateway = told
    gateway.always = WRONG_SCANS["from behind the range"]

    with pytest.raises(StoreUnavailable, match=r"rows came from b'01000' to b'02000', where b'01000' to b'01100'"):
        list(store.scan("pages", RANGES if isinstance(gateway, RowsThrift2) else [KeyRange(b"01000", b"01100")]))


def test_a_connection_that_brought_a_wrong_answer_is_closed(told, servers):
    store, gateway = told
    store.read("pages", ROWS[:2], VERSIONS)
    before = sum(server.connections for server in servers)
    gateway.wrong.append(WRONG_READS["another row"])

    store.read("pages", ROWS[:2], VERSIONS)

    assert sum(server.connections for server in servers) == before + 1


def test_a_reversed_scan_may_begin_at_the_row_behind_its_range():
    check_scanned([b"c", b"b", b"a"], KeyRange(b"a", b"c"), 3, reverse=True)

    with pytest.raises(WrongReply):
        check_scanned([b"c", b"b", b"a"], KeyRange(b"b", b"c"), 3, reverse=True)


# --- two real gateways -----------------------------------------------------------------------------------------------

ANOTHER = """
for process in /proc/[0-9]*; do
  mapfile -d '' -t words < "$process/cmdline" || continue
  [[ " ${words[*]}" == *"hbase.thrift.ThriftServer start -p 9090" ]] || continue
  echo $$ > "/tmp/gateway-$PORT.pid"
  words[-1]=$PORT
  exec "${words[@]}"
done
"""
"""Starts another Thrift1 gateway with the options of the first."""


class OwnGateway:
    """A Thrift1 gateway of the HBase in *container*, started and killed as often as one likes."""

    def __init__(self, container) -> None:
        self._container = container
        host = next(net["IPAddress"] for net in container.attrs["NetworkSettings"]["Networks"].values())
        self.address = host, 20_000 + uuid.uuid4().int % 10_000

    def start(self) -> None:
        self._container.exec_run(
            ["bash", "-c", ANOTHER], environment={"PORT": str(self.address[1])}, detach=True, user="hbase"
        )
        until = Deadline(120.0)
        while True:
            with (
                contextlib.suppress(Exception),
                contextlib.closing(happybase.Connection(*self.address, timeout=5000)) as connection,
            ):
                connection.tables()
                return
            assert until.left(), "the gateway does not come up"
            time.sleep(0.2)

    def kill(self) -> None:
        file = shlex.quote(f"/tmp/gateway-{self.address[1]}.pid")
        self._container.exec_run(["bash", "-c", f"kill -9 $(cat {file}); rm {file}"])


@pytest.fixture
def own_gateways(gateways) -> Iterator[tuple[OwnGateway, OwnGateway]]:
    """Two gateways that are new: both number their scanners from 0."""
    with contextlib.closing(docker.from_env()) as engine, contextlib.ExitStack() as stack:
        holds = [
            container
            for container in engine.containers.list()
            if any(
                str(gateways[0]) == binding["HostPort"]
                for bindings in container.ports.values()
                for binding in bindings or ()
            )
        ]
        if not holds:
            pytest.skip("the HBase of WEBTABLE_HBASE_URL is in no container here")
        pair = OwnGateway(holds[0]), OwnGateway(holds[0])
        for gateway in pair:
            stack.callback(gateway.kill)
            gateway.start()
        yield pair


@pytest.fixture
def six_tables(gateways) -> Iterator[dict[str, list[bytes]]]:
    """Tables of 1,500 rows with the same keys but for their ends."""
    stem = f"hbase_{uuid.uuid4().hex[:8]}"
    tables = {f"{stem}_{n}": [b"%05d-%02d" % (number, n) for number in range(1500)] for n in range(6)}
    with HBaseStore(HOST, gateways[0], thrift2=gateways[1]) as store:
        for name, keys in tables.items():
            store.create_table(TableSchema(name, (FamilySchema("f"),)))
            store.write(name, [put(key) for key in keys])
        yield tables
        for name in tables:
            store.drop_table(name)


@pytest.mark.hbase
def test_scans_through_a_balancer_bring_their_own_rows_while_a_gateway_is_killed_and_replaced(
    own_gateways, six_tables, servers, monkeypatch
):
    monkeypatch.setattr(shared_scans, "_MOST_ROWS", 50)
    stays, dies = own_gateways
    balancer = RoundRobin(stays.address, dies.address)
    servers.append(balancer)

    def scanned(name: str) -> bool:
        found = []
        for row in store.scan(name, [KeyRange()]):
            found.append(row.key)
            time.sleep(0.0005)
        return found == six_tables[name]

    with HBaseStore(HOST, balancer.port, pool_size=4) as store, ThreadPoolExecutor(12) as threads:
        scans = [threads.submit(scanned, name) for name in [*six_tables] * 6]
        time.sleep(1.5)
        dies.kill()
        balancer.targets = [stays.address]
        time.sleep(0.5)
        dies.start()
        balancer.targets = [stays.address, dies.address]
        balancer.cut()

        found = [scan.result() for scan in scans]

    assert found == [True] * 36
