"""Gateways out of workers or left alone for a minute, and an HBase whose disk is full. Takes minutes."""

from __future__ import annotations

import os
import re
import socket
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import islice

import pytest
from load import Ledger, Load, settled
from proxy import HOST
from servers import container

import webtable
from webtable.errors import StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put
from webtable.store.hbase import HBaseStore

pytestmark = [pytest.mark.faults, pytest.mark.hbase, pytest.mark.nightly, pytest.mark.timeout(900)]
PORTS = THRIFT1, THRIFT2, FEW1, FEW2 = 9090, 9091, 9190, 9191
"""Inside of the container; the last two are those of gateways with few workers."""
WORKERS = 2
TIMEOUT = 15.0
IDLE_SECONDS = 65
"""A gateway closes a connection on which nothing has come for 60 s (`hbase.thrift.server.socket.read.timeout`)."""
READY_SECONDS = 300
MUTE = "it accepted the connection and answered nothing"
DISK = 200
"""Megabytes of the disk that is to be full."""


class Box:
    """A container in which HBase is started by hand: its disk is in memory, and stays when HBase ends."""

    def __init__(self, container):
        self._container = container
        container.reload()
        published = container.attrs["NetworkSettings"]["Ports"]
        self.ports = {port: int(published[f"{port}/tcp"][0]["HostPort"]) for port in PORTS}

    def run(self, command):
        return self._container.exec_run(["bash", "-c", command])

    def start(self):
        """Start HBase, and return when it answers."""
        self._container.exec_run(["bash", "/opt/hbase/start.sh"], detach=True)
        assert self.answers(READY_SECONDS)

    def answers(self, seconds):
        """Return whether HBase answers within some seconds."""
        deadline = time.monotonic() + seconds
        while self.run("bash /opt/hbase/health.sh").exit_code:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.5)
        return True

    def is_running(self):
        return self.run("grep -qs '[H]Master' /proc/[0-9]*/cmdline").exit_code == 0

    def stop(self):
        """Kill HBase and its gateways."""
        self.run(
            "for p in /proc/[0-9]*; do grep -qs '[h]base/start.sh\\|[j]ava' $p/cmdline && kill -9 ${p#/proc/}; done"
        )
        while self.is_running():
            time.sleep(0.5)

    def start_gateway(self, name, port):
        """Start one more gateway, with few workers."""
        java = ["bash", "/opt/hbase/java.sh", "-Xmx128m", "-XX:+UseSerialGC"]
        gateway = [f"org.apache.hadoop.hbase.{name}.ThriftServer", "start", "-p", str(port)]
        workers = ["-m", str(WORKERS), "-w", str(WORKERS)]
        self._container.exec_run([*java, *gateway, *workers], detach=True, user="hbase")

    @contextmanager
    def taken(self, port, count=WORKERS):
        """Let idle connections have *count* workers of a gateway; they are closed in the end."""
        with ExitStack() as stack:
            for _ in range(count):
                stack.enter_context(closing(socket.create_connection((HOST, self.ports[port]))))
            time.sleep(0.5)
            yield
        time.sleep(0.5)


@pytest.fixture(scope="module")
def box():
    published = dict.fromkeys(PORTS, (HOST, None))
    by_hand = {"command": ["infinity"], "entrypoint": "sleep", "init": True}
    heaps = {"HBASE_HEAP": "1g", "THRIFT_HEAP": "256m"}
    with container(published, heaps, tmpfs={"/data": f"size={DISK}m"}, **by_hand) as running:
        made = Box(running)
        made.start()
        yield made


@pytest.fixture(scope="module")
def few(box):
    """The same, with a gateway of each kind that has few workers."""
    for name, port in (("thrift", FEW1), ("thrift2", FEW2)):
        box.start_gateway(name, port)
    for options in ({"port": box.ports[FEW1]}, {"port": box.ports[THRIFT1], "thrift2": box.ports[FEW2]}):
        for _ in range(60):
            with suppress(StoreUnavailable):
                HBaseStore(HOST, **options, timeout=TIMEOUT).close()
                break
            time.sleep(1)
    return box


def opened(box, *, thrift2, other=False):
    """Open the store by a gateway that has few workers, and with *other* by one that has many as well."""
    ports = box.ports
    if not thrift2:
        others = [(HOST, ports[THRIFT1])] if other else []
        return HBaseStore(HOST, ports[FEW1], others=others, timeout=TIMEOUT)
    return HBaseStore(HOST, ports[THRIFT1], thrift2=ports[FEW2], timeout=TIMEOUT)


@pytest.fixture(params=[pytest.param(False, id="thrift1"), pytest.param(True, id="thrift2")])
def thrift2(request):
    return request.param


def test_a_gateway_whose_workers_are_all_taken_is_told_from_a_slow_one_in_time(few, thrift2):
    with few.taken(FEW2 if thrift2 else FEW1):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match=re.escape(MUTE)):
            opened(few, thrift2=thrift2)
        took = time.monotonic() - began

    assert took < 1.2 * TIMEOUT
    opened(few, thrift2=thrift2).close()


def test_a_call_that_needs_a_worker_where_none_is_left_says_so_in_time(few, thrift2):
    def call():
        return store.read_cells("hbase:meta", [b"x"], b"info", limit=1) if thrift2 else store.tables()

    with opened(few, thrift2=thrift2) as store:
        call()
        for gateway in store._gateways:
            gateway.pool.forget_idle()
        time.sleep(0.5)
        with few.taken(FEW2 if thrift2 else FEW1):
            began = time.monotonic()
            with pytest.raises(StoreUnavailable, match=re.escape(MUTE)):
                call()
            took = time.monotonic() - began

        assert took < 1.2 * TIMEOUT
        assert isinstance(call(), list)


def test_a_call_goes_on_with_another_gateway_where_the_workers_of_one_are_taken(few):
    with opened(few, thrift2=False, other=True) as store:
        for gateway in store._gateways:
            gateway.pool.forget_idle()
        time.sleep(0.5)
        with few.taken(FEW1):
            took = []
            for _ in range(20):
                began = time.monotonic()
                store.tables()
                took.append(time.monotonic() - began)
            began = time.monotonic()
            opened(few, thrift2=False, other=True).close()
            opening = time.monotonic() - began

    print(f"\nanother gateway in the place of one without workers: the slowest call took {max(took):.1f} s")
    assert max(took) < TIMEOUT
    assert opening < 1.2 * TIMEOUT


def test_a_minute_of_idleness_between_calls_and_in_a_scan_is_no_error(box):
    rows = [b"%04d" % number for number in range(3_000)]
    with (
        HBaseStore(HOST, box.ports[THRIFT1], timeout=TIMEOUT) as by_one,
        HBaseStore(HOST, box.ports[THRIFT1], thrift2=box.ports[THRIFT2], timeout=TIMEOUT) as by_two,
    ):
        by_one.create_table(TableSchema("idle", (FamilySchema("f"),)))
        assert by_one.write("idle", [Put(row, [NewCell(b"f:q", 1, bytes(500))]) for row in rows]) == [None] * len(rows)
        stores = by_one, by_two
        scans = [store.scan("idle", [KeyRange()]) for store in stores]
        begun = [[row.key for row in islice(scan, 10)] for scan in scans]

        time.sleep(IDLE_SECONDS)
        took, outcomes = [], []
        for store in stores:
            began = time.monotonic()
            outcomes += store.write("idle", [Put(b"9999", [NewCell(b"f:q", 1, b"")])])
            assert store.read("idle", rows[:1])[0].key == rows[0]
            took.append(time.monotonic() - began)
        found = [[*first, *(row.key for row in scan)] for first, scan in zip(begun, scans, strict=True)]

    assert outcomes == [None, None]
    assert [keys[: len(rows)] for keys in found] == [rows, rows]
    assert max(took) < TIMEOUT


def free(box):
    """Return how many kilobytes are left on the disk."""
    return int(box.run("df --output=avail /data | tail -1").output)


def test_what_was_acknowledged_before_the_disk_of_hbase_was_full_is_there_afterwards(box, tmp_path):
    url = f"hbase://{HOST}:{box.ports[THRIFT1]}/full_{os.getpid()}?thrift2={box.ports[THRIFT2]}&timeout=10"
    ledger = Ledger(tmp_path / "ledger")
    with webtable.open(url, create=True) as table:
        with Load(table, ledger, pages=200) as load:
            while not load.findings.acknowledged:
                time.sleep(1)
            before = load.findings.acknowledged
            assert not box.run(f"head -c {free(box) - 1_000}K /dev/zero > /data/ballast").exit_code
            full = time.monotonic()
            while free(box) and time.monotonic() < full + 120:
                time.sleep(0.5)
            left = free(box)
            time.sleep(40)
            ended = not box.is_running()
        box.run("rm /data/ballast")
        restarted = not box.answers(60)
        if restarted:
            box.stop()
            box.start()
        found = settled(table, ledger, load.findings)

    after = "ended" if ended else "was started again" if restarted else "went on"
    print(f"\nHBase with {left} KB left {after}; {before:,} were acknowledged before, in all {found}")
    # On the local file system of this image HBase may acknowledge what its log has no room for, and keep it in memory.
    assert not left
    assert found.acknowledged >= before > 0
    assert found.is_clean, str(found)
