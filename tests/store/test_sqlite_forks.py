"""Forks of a process whose store is in use: the child has a store that works, the parent one that is whole."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from contextlib import closing, contextmanager

import pytest

from nightly import examples
from webtable.errors import StoreError, WebTableError
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store.rows import NewCell, Put
from webtable.store.sqlite import SQLiteStore, connections

# Python 3.12 warns of every fork of a process with threads, which is what this is about.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

FAMILIES = (FamilySchema("f"),)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "crawl.db"


@pytest.fixture
def store(path):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        yield store


def put(row, value=b"x"):
    return Put(row, [NewCell(b"f:a", 1000, value)])


def keys(store):
    return [row.key for row in store.scan("t", [KeyRange()])]


def forked(job):
    """Run *job* in a forked child and return its exit code: 0 where it was done."""
    child = os.fork()
    if not child:
        code = 1
        try:
            job()
            code = 0
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check_whole(path):
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@contextmanager
def busy(*jobs):
    """Do each of *jobs* over and over in a thread of its own, until the end of the block."""
    done, failures = threading.Event(), []

    def over_and_over(job):
        number = 0
        while not done.is_set():
            try:
                job(number)
            except BaseException as exc:  # noqa: BLE001
                failures.append(exc)
                return
            number += 1

    threads = [threading.Thread(target=over_and_over, args=[job]) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join(60)
    assert failures == []


def run(code, *arguments):
    """Run *code* in an interpreter of its own that takes warnings for errors, and return what it prints."""
    imports = (
        "import os, sys, threading, time; from webtable.rowkey import KeyRange; "
        "from webtable.store.rows import *; from webtable.store.sqlite import SQLiteStore\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-W",
            "ignore::DeprecationWarning",
            "-c",
            imports + textwrap.dedent(code),
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
def test_children_read_and_write_while_threads_of_the_parent_do(store, path):
    count = examples(by_day=15, by_night=50)

    def child(number):
        assert b"first" in keys(store)
        assert store.write("t", [put(b"child/%02d" % number)]) == [None]
        assert store.read("t", [b"child/%02d" % number])[0] is not None
        with store.transaction():
            assert store.write("t", [put(b"child/%02d/b" % number)]) == [None]

    def write(number):
        assert store.write("t", [put(b"parent/%06d" % number, b"x" * 3000)]) == [None]

    store.write("t", [put(b"first")])
    with busy(write, lambda _: keys(store), lambda _: store.read("t", [b"first"])):
        codes = [forked(lambda number=number: child(number)) for number in range(count)]

    assert codes == [0] * count
    found = keys(store)
    assert [key for key in found if key.startswith(b"child")] == [
        b"child/%02d%s" % (number, end) for number in range(count) for end in (b"", b"/b")
    ]
    check_whole(path)


def test_what_a_child_was_told_is_stored_is_there_when_the_parent_closes_first(store, path):
    # The last connection of a process that is alone removes the log.
    told, go = os.pipe()

    child = os.fork()
    if not child:
        code = 1
        try:
            ok = store.write("t", [put(b"before")]) == [None]
            os.close(go)
            os.read(told, 1)
            ok &= store.write("t", [put(b"after")]) == [None]
            code = 0 if ok else 1
        finally:
            os._exit(code)
    with SQLiteStore(path) as other:
        last = time.monotonic() + 60
        while keys(other) != [b"before"] and time.monotonic() < last:
            time.sleep(0.01)
    store.close()
    os.close(go)
    os.close(told)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert status == 0
    with SQLiteStore(path) as again:
        assert keys(again) == [b"after", b"before"]


def test_the_parent_goes_on_behind_a_fork(store, path):
    store.write("t", [put(b"a")])
    scan = store.scan("t", [KeyRange()])
    next(scan)

    code = forked(lambda: store.close())

    assert code == 0
    assert list(scan) == []
    assert store.write("t", [put(b"b")]) == [None]
    assert keys(store) == [b"a", b"b"]


def test_a_scan_that_the_parent_has_begun_goes_on_in_the_child(store):
    names = [b"%04d" % number for number in range(1000)]
    store.write("t", [put(name) for name in names])
    scan = store.scan("t", [KeyRange()])
    begun = [next(scan).key for _ in range(10)]

    def child():
        assert begun + [row.key for row in scan] == names

    assert forked(child) == 0
    assert begun + [row.key for row in scan] == names


def test_a_child_that_ends_as_others_do_leaves_the_parent_s_store(path):
    printed = run(
        """
        from webtable.schema import *
        with SQLiteStore(sys.argv[1], create=True) as store:
            store.create_table(TableSchema("t", (FamilySchema("f"),)))
            store.write("t", [Put(b"a", [NewCell(b"f:a", 1, b"x")])])
            scan = store.scan("t", [KeyRange()])
            if not os.fork():
                assert len(list(scan)) == 1
                store.write("t", [Put(b"child", [NewCell(b"f:a", 1, b"x")])])
                sys.exit()
            assert os.wait()[1] == 0
            store.write("t", [Put(b"b", [NewCell(b"f:a", 1, b"x")])])
            print([row.key for row in store.scan("t", [KeyRange()])])
    """,
        path,
    )

    assert printed == "[b'a', b'b', b'child']\n"
    check_whole(path)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_multiprocessing_share_the_file(store, path, method):
    context = multiprocessing.get_context(method)

    workers = [context.Process(target=worker, args=(str(path), number)) for number in range(4)]
    for process in workers:
        process.start()
    for number in range(20):
        assert store.write("t", [put(b"parent/%02d" % number)]) == [None]
    for process in workers:
        process.join(60)

    assert [process.exitcode for process in workers] == [0] * 4
    assert len(keys(store)) == 20 + 4 * 20
    check_whole(path)


def worker(path, number):
    with SQLiteStore(path) as store:
        for turn in range(20):
            assert store.write("t", [put(b"worker/%d/%02d" % (number, turn))]) == [None]


# ---- from the inside -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["transaction", "reader", "writer"])
def test_a_fork_from_inside_of_a_block_does_not_hang_and_leaves_the_file_to_the_parent(store, path, where):
    def child():
        for call in (
            lambda: keys(store),
            lambda: store.tables(),
            lambda: SQLiteStore(path),
            lambda: next(iter(store.write("t", [put(b"b")]))),
        ):
            with pytest.raises(StoreError, match="forked while"):
                call()
        store.close()

    inside = {"transaction": store.transaction, "reader": store._file.reader, "writer": store._file.writer}[where]
    with inside():
        if where == "transaction":
            store.write("t", [put(b"a")])
        begun = time.monotonic()
        code = forked(child)
        waited = time.monotonic() - begun

    assert code == 0
    assert waited < connections.PATIENCE
    assert store.write("t", [put(b"b")]) == [None]
    assert keys(store) == ([b"a", b"b"] if where == "transaction" else [b"b"])
    check_whole(path)


def test_the_block_of_the_parent_stores_nothing_in_the_child(store, path):
    child = None
    try:
        with store.transaction():
            store.write("t", [put(b"a")])
            child = os.fork()
    except WebTableError as exc:
        os._exit(0 if child == 0 and "forked while" in str(exc) else 1)
    if child == 0:
        os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert keys(store) == [b"a"]
    check_whole(path)


def test_connections_that_were_in_use_are_never_closed_in_the_child(path):
    # Closed as the interpreter ends, this one would roll back what the parent is just writing.
    printed = run(
        """
        from webtable.schema import *
        store = SQLiteStore(sys.argv[1], create=True)
        store.create_table(TableSchema("t", (FamilySchema("f"),)))
        with store.transaction():
            store.write("t", [Put(b"a", [NewCell(b"f:a", 1, b"x" * 500_000)])])
            child = os.fork()
            if child:
                assert os.wait()[1] == 0
                store.write("t", [Put(b"b", [NewCell(b"f:a", 1, b"x")])])
            else:
                sys.exit()
        print([row.key for row in store.scan("t", [KeyRange()])])
        store.close()
    """,
        path,
    )

    assert printed == "[b'a', b'b']\n"
    check_whole(path)


def test_a_fork_waits_no_longer_than_it_has_patience(store, path, monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 0.2)
    inside, done = threading.Event(), threading.Event()

    def hold():
        with store._file.reader():
            inside.set()
            done.wait(60)

    def child():
        with pytest.raises(StoreError, match="forked while"):
            keys(store)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(60)
    code = forked(child)
    done.set()
    thread.join(60)

    assert code == 0
    assert store.write("t", [put(b"a")]) == [None]
    check_whole(path)


def test_threads_that_wait_for_their_turn_do_not_hold_up_a_fork(store):
    started = threading.Event()

    def write():
        started.set()
        store.write("t", [put(b"waiting")])

    with store._file.writer():
        thread = threading.Thread(target=write)
        thread.start()
        started.wait(60)
        begun = time.monotonic()
        code = forked(lambda: None)
        waited = time.monotonic() - begun
    thread.join(60)

    assert code == 0
    assert waited < connections.PATIENCE
    assert keys(store) == [b"waiting"]


def test_a_thread_that_waits_for_another_process_does_not_hold_up_a_fork(path):
    with (
        SQLiteStore(path, create=True, timeout=20) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        store.create_table(TableSchema("t", FAMILIES))
        other.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=lambda: store.write("t", [put(b"waiting")]))
        thread.start()
        time.sleep(0.1)

        code = forked(lambda: None)
        other.execute("ROLLBACK")
        thread.join(60)

        assert code == 0
        assert keys(store) == [b"waiting"]
