"""A store after a fork: the child has connections, threads and locks of its own; and a store that nobody closed."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
import traceback
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from gateways import HOST, RowsThrift1, RowsThrift2, page_keys, put, thrift_server

from nightly import examples
from webtable.errors import NotAStore, OtherProcess, StoreError
from webtable.rowkey import KeyRange, prefix_range
from webtable.store.deadline import Deadline
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.thrift.connection import thrift1, thrift2
from webtable.store.metrics import Counts
from webtable.testing.stores import counted_store

# Python 3.12 and later warn of every fork of a process with threads, which is what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

ROWS = [b"%05d" % number for number in range(3000)]


def in_child(job: Callable[[], object]) -> int:
    """Return 0 where *job* returned in a forked child, 1 where it raised, and -SIGALRM where it hung."""
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(30)
            job()
            status = 0
        except BaseException:  # noqa: BLE001 - the child must not go on as a second pytest
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture(params=["thrift1", "thrift2"])
def faked(request, servers) -> Iterator[HBaseStore]:
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS)))
    servers.append(thrift_server(thrift2.THBaseService, RowsThrift2(pages=ROWS)))
    with HBaseStore(HOST, servers[0].port, thrift2=servers[1].port if request.param == "thrift2" else None) as store:
        yield store


def read_all(store: HBaseStore) -> None:
    assert [row.key for row in store.read("pages", ROWS[:900])] == ROWS[:900]
    assert [row.key for row in store.scan("pages", [KeyRange()])] == ROWS
    assert sum(map(len, store.first_rows("pages", [prefix_range(b"%03d" % n) for n in range(30)], 5))) == 150


def test_a_child_reads_by_connections_and_threads_of_its_own(faked, servers):
    read_all(faked)
    before = sum(server.connections for server in servers)

    status = in_child(lambda: read_all(faked))

    by_child = sum(server.connections for server in servers)
    faked.read("pages", ROWS[:9])
    assert status == 0
    assert by_child > before
    assert sum(server.connections for server in servers) == by_child  # the parent's are as good as before


@contextmanager
def held(*locks: object) -> Iterator[None]:
    """Hold *locks* in another thread."""
    begun, over = threading.Event(), threading.Event()

    def hold() -> None:
        for lock in locks:
            lock.acquire()
        begun.set()
        over.wait(60)
        for lock in locks:
            lock.release()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    yield
    over.set()
    thread.join()


def test_locks_that_a_thread_held_at_the_moment_of_the_fork_are_free_in_the_child(faked):
    read_all(faked)
    faked.on_call = counter = Counts()
    pools = [gateway.pool._changed for gateway in faked._gateways]

    with held(*pools, counter._lock, faked._workers._threads._lock):
        status = in_child(lambda: read_all(faked))

    assert status == 0


def test_what_a_child_closes_is_open_in_the_parent(faked, servers):
    rows = faked.scan("pages", [KeyRange()])
    found = [next(rows).key for _ in range(100)]
    before = sum(server.connections for server in servers)

    def leave() -> None:
        rows.close()
        faked.close()
        gc.collect()

    status = in_child(leave)

    found += [row.key for row in rows]
    assert status == 0
    assert found == ROWS
    assert sum(server.connections for server in servers) == before


@pytest.mark.parametrize("taken", [1, 100, 300, 2500])
def test_a_scan_of_the_parent_s_goes_on_right_in_a_child_or_says_whose_it_is(faked, taken):
    rows = faked.scan("pages", [KeyRange()])
    found = [next(rows).key for _ in range(taken)]

    def go_on() -> None:
        more = []
        try:
            for row in rows:
                more.append(row.key)
        except OtherProcess:
            assert found + more == ROWS[: len(found + more)]
        else:
            assert found + more == ROWS

    status = in_child(go_on)

    assert status == 0
    assert found + [row.key for row in rows] == ROWS


# --- real ones -------------------------------------------------------------------------------------------------------


def new_name() -> bytes:
    return b"x" + uuid.uuid4().hex.encode()


def reads_and_writes(store: HBaseStore, table: str, name: bytes) -> None:
    keys = page_keys()
    assert store.write(table, [put(name + b"%02d" % n) for n in range(20)]) == [None] * 20
    assert [row.key for row in store.read(table, keys[::20])] == keys[::20]
    assert [row.key for row in store.scan(table, [prefix_range(name)])] == [name + b"%02d" % n for n in range(20)]
    assert len(list(store.scan(table, [prefix_range(b"%02x:" % n) for n in range(256)]))) == 4000


def opened(ports: tuple[int, int | None], table: str, name: bytes) -> None:
    with HBaseStore(HOST, ports[0], thrift2=ports[1]) as store:
        reads_and_writes(store, table, name)


@contextmanager
def busy(store: HBaseStore, table: str) -> Iterator[list[BaseException]]:
    """Keep two threads reading, writing and scanning in *store*."""
    errors: list[BaseException] = []
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            try:
                reads_and_writes(store, table, new_name())
            except BaseException as exc:  # noqa: BLE001 - the test looks at it
                errors.append(exc)
                return

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    yield errors
    over.set()
    for thread in threads:
        thread.join()


@pytest.mark.hbase
@pytest.mark.parametrize(
    ("start", "times"), [("fork", examples(by_day=2, by_night=20)), pytest.param("spawn", 2, marks=pytest.mark.nightly)]
)
def test_children_read_and_write_while_the_parent_goes_on(hbase, gateways, with_thrift2, growing_pages, start, times):
    context = multiprocessing.get_context(start)
    ports = gateways[0], gateways[1] if with_thrift2 else None
    statuses = []

    with busy(hbase, growing_pages) as errors:
        for _ in range(0, times, 2):
            # Two children at once, each begun wherever the parent's threads are at that moment.
            children = [
                context.Process(
                    target=reads_and_writes if start == "fork" else opened,
                    args=(hbase if start == "fork" else ports, growing_pages, new_name()),
                )
                for _ in range(2)
            ]
            for child in children:
                child.start()
                time.sleep(0.003)
            for child in children:
                child.join(60)
                statuses.append(child.exitcode)
                child.kill()

    assert errors == []
    assert statuses == [0] * times


@pytest.mark.hbase
def test_a_real_scanner_of_the_parent_s_outlives_a_child_that_scans(gateways, growing_pages):
    with HBaseStore(HOST, gateways[0]) as store:
        rows = store.scan(growing_pages, [KeyRange()])
        found = [next(rows).key for _ in range(100)]
        _, calls = counted_store(store)

        status = in_child(lambda: reads_and_writes(store, growing_pages, new_name()))

        assert status == 0
        for row in rows:
            if row.key < b"x":
                found.append(row.key)
        assert found == page_keys()
        assert calls["scannerOpenWithScan"] == 0


# --- stores that nobody closed ---------------------------------------------------------------------------------------


def test_a_store_that_was_left_open_is_named_and_its_connections_are_closed(servers):
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS)))
    store = HBaseStore(HOST, servers[0].port)
    name = store.name
    store.read("pages", ROWS[:900])
    sockets = [connection.socket for _, connection in store._gateways[0].pool._idle]

    with pytest.warns(ResourceWarning, match=f"{name}: the store was left open; close"):
        del store

    assert sockets
    assert not any(sock.is_open() for sock in sockets)


def test_a_store_that_was_closed_or_never_open_goes_without_a_word(servers):
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store = HBaseStore(HOST, servers[0].port)
        store.close()
        del store
        with pytest.raises(NotAStore):
            HBaseStore(HOST, servers[0].port, thrift2=servers[0].port)
        with pytest.raises(StoreError):
            HBaseStore(HOST, 1, timeout=0.5)
        gc.collect()


def test_a_forked_child_does_not_warn_of_its_parent_s_store(faked):
    def leave() -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            faked.__del__()
        assert not caught

    assert in_child(leave) == 0


def test_threads_end_with_their_store(servers):
    servers.append(thrift_server(thrift1.Hbase, RowsThrift1(pages=ROWS)))
    of_others = set(threading.enumerate())  # a store that other tests share has threads of this name as well
    with HBaseStore(HOST, servers[0].port) as store:
        read_all(store)
        ours = [
            thread
            for thread in threading.enumerate()
            if thread.name.startswith("webtable-hbase") and thread not in of_others
        ]

    until = Deadline(10.0)
    while any(thread.is_alive() for thread in ours) and until.left():
        time.sleep(0.01)
    assert ours
    assert not any(thread.is_alive() for thread in ours)
