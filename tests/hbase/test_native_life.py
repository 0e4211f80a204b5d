"""HBase by its own protocol over the life of a process: forks, spawned ones, interrupts, and its end."""

from __future__ import annotations

import gc
import multiprocessing
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from test_hbase_processes import in_child

from webtable.errors import StoreError
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import Delete, NewCell, Put, StoreURL, Wanted
from webtable.store.hbase import NativeStore

pytestmark = [
    pytest.mark.hbase,
    # Python 3.12 and later warn of every fork of a process with threads, which is what is tested here.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

KEYS = [b"%05d" % number for number in range(2000)]
EVERYTHING = [KeyRange()]


def puts(keys=KEYS, size=300):
    return [Put(key, [NewCell(b"f:a", 1000, b"x" * size)]) for key in keys]


def opened(native_url):
    return NativeStore.from_url(StoreURL.parse(native_url))


def scanned(store, table):
    return [row.key for row in store.scan(table, EVERYTHING)]


@pytest.fixture
def store(native_url):
    with opened(native_url) as store:
        yield store


@pytest.fixture(scope="module")
def table(native_url):
    name = f"life_{uuid.uuid4().hex[:12]}"
    with opened(native_url) as store:
        store.create_table(TableSchema(name, (FamilySchema("f"),), (b"00700",)))
        assert store.write(name, puts()) == [None] * len(KEYS)
        yield name
        store.drop_table(name)


def connections_made(store):
    return sum(one.opened for one in store.servers())


def connections_lost(store):
    return sum(one.dropped for one in store.servers())


def uses(store, table):
    assert scanned(store, table) == KEYS
    assert store.write(table, puts(KEYS[:50])) == [None] * 50
    assert [row.key for row in store.read(table, KEYS[:300])] == KEYS[:300]
    assert len(store.first_rows(table, [KeyRange(b"00", b"01"), KeyRange(b"01")], 3)) == 2


def test_children_forked_while_calls_are_in_flight_work_and_disturb_none_of_them(store, table):
    uses(store, table)
    before, over = connections_lost(store), threading.Event()

    def goes_on():
        rounds = 0
        while not over.is_set():
            uses(store, table)
            rounds += 1
        return rounds

    with ThreadPoolExecutor(4) as threads:
        tasks = [threads.submit(goes_on) for _ in range(4)]
        try:
            statuses = [in_child(lambda: uses(store, table)) for _ in range(5)]
        finally:
            over.set()
        assert all(task.result(20) for task in tasks)

    assert statuses == [0] * 5
    assert connections_lost(store) == before


def test_locks_that_a_thread_held_at_the_fork_are_free_in_the_child(store, table):
    uses(store, table)
    begun, over = threading.Event(), threading.Event()
    connections = list(store._servers._connections.values())
    locks = [store._cluster._locating, store._servers._lock, *store._servers._locks.values()]
    locks += [connection._lock for connection in connections]

    def hold():
        for lock in locks:
            lock.acquire()
        begun.set()
        over.wait(60)
        for lock in locks:
            lock.release()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    status = in_child(lambda: uses(store, table))
    over.set()
    thread.join()

    assert status == 0
    uses(store, table)


def test_what_a_child_leaves_is_open_in_the_parent(store, table):
    rows = store.scan(table, EVERYTHING)
    found = [next(rows).key for _ in range(100)]
    before = connections_made(store)

    def leave():
        rows.close()
        store.close()
        gc.collect()

    status = in_child(leave)

    found += [row.key for row in rows]
    assert status == 0
    assert found == KEYS
    assert connections_made(store) == before


def read_by_url(url, table):
    with opened(url) as store:
        uses(store, table)


def test_a_spawned_process_opens_the_store_by_its_url(native_url, table):
    process = multiprocessing.get_context("spawn").Process(target=read_by_url, args=(native_url, table))
    process.start()
    process.join(30)

    assert process.exitcode == 0


def test_a_program_that_leaves_the_store_open_ends_at_once_and_says_so(native_url, table):
    program = (
        "import sys; from webtable.rowkey import KeyRange; from webtable.store import StoreURL\n"
        "from webtable.store.hbase import NativeStore\n"
        "store = NativeStore.from_url(StoreURL.parse(sys.argv[1]))\n"
        "rows = store.scan(sys.argv[2], [KeyRange()]); print(next(rows).key)\n"
    )

    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program, native_url, table], capture_output=True, text=True, timeout=30
    )

    assert (done.returncode, done.stdout) == (0, "b'00000'\n")
    assert [line for line in done.stderr.splitlines() if "Warning" in line and "left open" not in line] == []
    assert "ResourceWarning: hbase+native://" in done.stderr


class Stop(KeyboardInterrupt):
    """As by Ctrl-C, from a timer."""


@pytest.fixture
def timer():
    """Have `Stop` raised in so many seconds, wherever this thread is."""

    def stop(*_):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # where Python cannot raise it
def test_interrupts_at_any_moment_leave_a_store_that_all_threads_can_use(native_url, table, timer):
    chance, over, stopped = random.Random(5), threading.Event(), 0

    def others():
        while not over.is_set():
            assert len(store.read(table, KEYS[:50])) == 50
            time.sleep(0.001)

    with opened(native_url) as store, ThreadPoolExecutor(2) as threads:
        tasks = [threads.submit(others) for _ in range(2)]
        try:
            for _ in range(150):
                until = time.monotonic() + 0.5  # an interrupt in a destructor is lost
                try:
                    timer(chance.uniform(0.0005, 0.02))
                    store._cluster.forget(table)
                    while time.monotonic() < until:
                        scanned(store, table)
                        store.write(table, puts(KEYS[:20]))
                except Stop:
                    stopped += 1
                finally:
                    timer(0)
        finally:
            over.set()
        for task in tasks:
            task.result(20)
        began = time.monotonic()
        uses(store, table)

        assert time.monotonic() - began < 10
    assert stopped > 100


def test_many_threads_with_small_and_large_calls_get_what_is_theirs(store, table):
    sizes = [10, 1000, 100_000, 3_000_000]

    def part(number):
        key, size = b"thread/%02d" % number, sizes[number % len(sizes)]
        for attempt in range(4):
            value = b"%d/%d/" % (number, attempt) + b"v" * size
            assert store.write(table, [Put(key, [NewCell(b"f:b", attempt, value)])]) == [None]
            [row] = store.read(table, [key], Wanted((b"f:b",)))
            assert row.cells[b"f:b"][0].value == value
            assert [row.key for row in store.scan(table, [KeyRange(key, key + b"\x00")])] == [key]
            assert len(store.first_rows(table, [KeyRange(b"00", b"01")], 50)[0]) == 50

    try:
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(part, range(16)))
    finally:
        for number in range(16):
            store.write(table, [Delete(b"thread/%02d" % number, 2**40)])


def test_close_ends_calls_in_other_threads_with_the_error_of_a_closed_store(native_url, table):
    # Other tests of the session may have left threads of their own.
    before = {thread.ident for thread in threading.enumerate()}
    store = opened(native_url)

    def goes_on():
        while True:
            store.write(table, puts(KEYS[:20]))
            store.read(table, KEYS[:50])
            scanned(store, table)

    with ThreadPoolExecutor(6) as threads:
        tasks = [threads.submit(goes_on) for _ in range(6)]
        time.sleep(0.3)
        began = time.monotonic()
        store.close()
        errors = [task.exception(20) for task in tasks]

    assert time.monotonic() - began < 5
    assert {type(error) for error in errors} == {StoreError}
    assert all("the store is closed" in str(error) for error in errors)
    left = [thread for thread in threading.enumerate() if thread.ident not in before]
    # Connections are closed without waiting for the threads that read them.
    for thread in left:
        thread.join(10)
    assert [thread.name for thread in left if thread.is_alive()] == []
