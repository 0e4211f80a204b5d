"""One writer at a time: what takes effect together, who waits for whom, for how long, and what they are told."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress

import pytest

from webtable.errors import StoreError, StoreRefused, StoreUnavailable, TableNotFound
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store.deadline import Deadline, until
from webtable.store.rows import Cell, Delete, NewCell, Put
from webtable.store.sqlite import SQLiteStore, connections
from webtable.store.sqlite.connections import FairLock

FAMILIES = (FamilySchema("f"), FamilySchema("three", versions=3))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "crawl.db"


@pytest.fixture
def store(path):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        store.create_table(TableSchema("u", FAMILIES))
        yield store


def put(row, value=b"x"):
    return Put(row, [NewCell(b"f:a", 1000, value)])


def keys(store, table="t"):
    return [row.key for row in store.scan(table, [KeyRange()])]


@contextmanager
def thread(job):
    """Run *job* in a thread that has ended when the block has."""
    other = threading.Thread(target=job, name="other")
    other.start()
    try:
        yield
    finally:
        other.join(60)


@contextmanager
def fails_as_a_whole(store):
    """Let every write fail that needs another page, as on a full disk."""
    with store._file.reader() as connection:
        [(pages,)] = connection.execute("PRAGMA page_count").fetchall()
    writer = store._file._connections.writer
    writer.execute(f"PRAGMA max_page_count={pages}")
    try:
        yield
    finally:
        writer.execute("PRAGMA max_page_count=1073741823")


# ---- together ------------------------------------------------------------------------------------------------------


def test_what_is_written_together_is_seen_at_once_by_others(store, path):
    with SQLiteStore(path) as other:
        with store.transaction():
            assert store.write("t", [put(b"a")]) == [None]
            assert store.write("u", [put(b"b")]) == [None]
            seen = keys(other), keys(other, "u")

        assert seen == ([], [])
        assert (keys(other), keys(other, "u")) == ([b"a"], [b"b"])


def test_transactions_have_numbers_by_which_a_writer_knows_whether_others_have_written(store, path):
    store.write("t", [put(b"a")])
    since = store.last_transaction()
    with store.transaction() as first:
        store.write("t", [put(b"b")])
        running = store.last_transaction()
    with store.transaction() as second:
        pass
    with SQLiteStore(path) as other:
        other.write("t", [put(b"c")])
    with store.transaction() as third, store.transaction() as inner:
        pass

    assert (first, running, second) == (since + 1, since, since + 2)
    assert third == inner == second + 2


def test_the_thread_of_the_block_reads_what_it_has_written(store):
    store.write("t", [put(b"a"), put(b"b")])
    begun = store.scan("t", [KeyRange()])
    others = []

    with store.transaction():
        store.write("t", [put(b"c"), Delete(b"a", 5000)])
        with thread(lambda: others.append(keys(store))):
            pass

        assert list(begun) == list(store.scan("t", [KeyRange()]))
        assert keys(store) == [b"b", b"c"]
        assert store.read("t", [b"a", b"c"])[0] is None
        assert store.read_cells("t", [b"c"], b"f", limit=1) == [[(b"f:a", Cell(1000, b"x"))]]
        assert [[row.key for row in rows] for rows in store.first_rows("t", [KeyRange()], 5)] == [[b"b", b"c"]]

    assert others == [[b"a", b"b"]]


def test_an_exception_takes_back_all_of_the_block(store):
    with suppress(ZeroDivisionError), store.transaction():
        store.write("t", [put(b"a")])
        store.create_table(TableSchema("new", FAMILIES))
        with store.transaction():
            store.write("u", [put(b"b")])
        1 / 0  # noqa: B018

    assert (keys(store), keys(store, "u"), store.tables()) == ([], [], ["t", "u"])
    assert store.write("t", [put(b"after")]) == [None]
    assert keys(store) == [b"after"]


def test_a_block_in_a_block_is_stored_with_the_outer_one(store, path):
    with SQLiteStore(path) as other:
        with store.transaction():
            with store.transaction():
                store.write("t", [put(b"a")])
            seen = keys(other)
            store.write("t", [put(b"b")])

        assert seen == []
        assert keys(other) == [b"a", b"b"]


def test_tables_are_created_changed_and_dropped_as_a_part_of_the_block(store, path):
    with SQLiteStore(path) as other, store.transaction():
        store.create_table(TableSchema("new", FAMILIES))
        store.set_family("t", FamilySchema("more"))
        store.drop_table("u")
        store.write("new", [put(b"a")])

        assert store.tables() == ["new", "t"]
        assert other.tables() == ["t", "u"]
        assert keys(store, "new") == [b"a"]

    assert (store.tables(), keys(store, "new")) == (["new", "t"], [b"a"])
    assert store.describe("t").schema.family("more") == FamilySchema("more")


def test_a_refused_mutation_or_a_missing_table_does_not_end_the_block(store):
    with store.transaction():
        [first, second] = store.write("t", [put(b""), put(b"a")])
        with pytest.raises(TableNotFound):
            store.write("none", [put(b"a")])
        with pytest.raises(StoreRefused, match="exists already"):
            store.create_table(TableSchema("t", FAMILIES))
        store.write("t", [put(b"b")])

    assert isinstance(first, StoreRefused)
    assert second is None
    assert keys(store) == [b"a", b"b"]


def test_a_write_that_fails_as_a_whole_takes_back_the_block_and_all_behind_it(store):
    store.write("t", [put(b"before")])
    outcomes = []

    with fails_as_a_whole(store), pytest.raises(StoreRefused, match="disk is full"), store.transaction():
        assert store.write("t", [put(b"a")]) == [None]
        outcomes += store.write("t", [put(b"b", bytes(1_000_000)), put(b"")])
        # SQLite has rolled back: these would be transactions of their own.
        outcomes += store.write("t", [put(b"c")])
        with pytest.raises(StoreRefused, match="disk is full"):
            keys(store)
        with pytest.raises(StoreRefused, match="disk is full"):
            store.create_table(TableSchema("new", FAMILIES))

    assert [str(outcome).rpartition(": ")[2] for outcome in outcomes[::2]] == ["the disk is full"] * 2
    assert "row key" in str(outcomes[1])
    assert keys(store) == [b"before"]
    assert store.write("t", [put(b"after")]) == [None]


def test_a_write_that_is_interrupted_takes_back_the_block(store, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(StoreError, match="interrupted"), store.transaction():
        store.write("t", [put(b"a")])
        with monkeypatch.context() as patch:
            patch.setattr("webtable.store.sqlite.store.Mutations.apply", interrupted)
            with suppress(KeyboardInterrupt):
                store.write("t", [put(b"b")])
        store.write("t", [put(b"c")])

    assert keys(store) == []


def test_a_full_disk_at_the_commit_is_an_error_of_the_block(store, monkeypatch):
    class Failing:
        def __init__(self, connection):
            self._connection = connection

        def __getattr__(self, name):
            return getattr(self._connection, name)

        def execute(self, statement, *parameters):
            if statement == "COMMIT":
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR
                raise error
            return self._connection.execute(statement, *parameters)

    store.write("t", [put(b"before")])
    writer = store._file._connections.writer
    store._file._connections.writer = Failing(writer)

    with pytest.raises(StoreUnavailable, match="disk I/O error"), store.transaction():
        store.write("t", [put(b"a")])
    store._file._connections.writer = writer

    assert keys(store) == [b"before"]
    assert store.write("t", [put(b"after")]) == [None]


def test_a_store_that_is_closed_in_a_block_stores_nothing_of_it(store, path):
    with pytest.raises(StoreError, match="closed"), store.transaction():
        store.write("t", [put(b"a")])
        store.close()

    with SQLiteStore(path) as again:
        assert keys(again) == []


def test_to_compact_is_no_part_of_a_block(store):
    with store.transaction():
        store.write("t", [put(b"a")])
        with pytest.raises(StoreRefused, match="part of a transaction"):
            store.compact([])

    assert keys(store) == [b"a"]


def test_blocks_of_threads_and_processes_come_one_after_another(store, path):
    def count(name, times):
        for _ in range(times):
            with store.transaction():
                [row] = store.read("t", [b"count"])
                store.write("t", [put(b"count", b"%d" % (int(row.value(b"f:a")) + 1))])

    store.write("t", [put(b"count", b"0")])
    code = """
        store = SQLiteStore(sys.argv[1])
        for _ in range(50):
            with store.transaction():
                [row] = store.read("t", [b"count"])
                number = int(row.value(b"f:a")) + 1
                store.write("t", [Put(b"count", [NewCell(b"f:a", 1000, b"%d" % number)])])
        store.close()
    """
    with process(code, path) as other, ThreadPoolExecutor(3) as threads:
        list(threads.map(count, "abc", [50] * 3))
        assert other.wait(60) == 0

    assert store.read("t", [b"count"])[0].value(b"f:a") == b"200"


def test_writers_gain_nothing_from_writing_side_by_side():
    assert SQLiteStore.capabilities.writes_concurrently is False


# ---- who waits for whom --------------------------------------------------------------------------------------------


@contextmanager
def process(code, *arguments):
    imports = "from webtable.store.rows import *; from webtable.store.sqlite import SQLiteStore; import os, sys, time\n"
    other = subprocess.Popen(
        [sys.executable, "-c", imports + textwrap.dedent(code), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield other
    finally:
        other.kill()
        other.communicate()


def until_waiting(turns, count):
    last = time.monotonic() + 30
    while len(turns._waiting) < count and time.monotonic() < last:
        time.sleep(0.002)
    assert len(turns._waiting) >= count


def test_writers_of_a_process_come_in_the_order_in_which_they_asked(store):
    turns, order = store._file._connections.turns, []

    def write(number):
        with store.transaction():
            order.append(number)

    with ThreadPoolExecutor(6) as threads, store.transaction():
        for number in range(6):
            threads.submit(write, number)
            until_waiting(turns, number + 1)

    assert order == list(range(6))


def test_a_turn_that_was_given_up_goes_to_the_next(store):
    turns = FairLock()
    assert turns.take("first", 0)
    results = []

    with thread(lambda: results.append(turns.take("second", 0.01))):
        pass
    with thread(lambda: (results.append(turns.take("third", 60)), turns.give_back())):
        until_waiting(turns, 1)
        turns.give_back()

    assert results == [False, True]
    assert turns.take("fourth", 0)


def test_who_waits_too_long_is_told_which_thread_writes_and_what(path):
    with SQLiteStore(path, create=True, timeout=0.2) as store:
        store.create_table(TableSchema("t", FAMILIES))
        outcomes = []
        write = thread(lambda: outcomes.extend(store.write("t", [put(b"a")])))
        with store._file.writer("writing to table 't'"), write:
            pass

    assert isinstance(outcomes[0], StoreUnavailable)
    told = r"locked for over \d\.\d s by the thread 'MainThread', which has been writing to table 't' for \d\.\d s"
    assert re.search(told, str(outcomes[0]))


def test_who_waits_too_long_is_told_which_process_writes(store, path):
    code = """
        store = SQLiteStore(sys.argv[1])
        with store.transaction():
            print("ready", flush=True)
            sys.stdin.read()
    """
    with process(code, path) as other, SQLiteStore(path, timeout=0.2) as impatient:
        other.stdout.readline()

        [outcome] = impatient.write("t", [put(b"a")])

    assert isinstance(outcome, StoreUnavailable)
    named = f"by process {other.pid} (python" if connections.LOCKS.exists() else "by another process"
    assert "locked for over" in str(outcome)
    assert named in str(outcome)


def test_another_connection_of_the_process_is_told_as_such_or_not_at_all(store, path, tmp_path, monkeypatch):
    with closing(sqlite3.connect(path, isolation_level=None)) as other, SQLiteStore(path, timeout=0.1) as impatient:
        other.execute("BEGIN IMMEDIATE")
        [known] = impatient.write("t", [put(b"a")])
        monkeypatch.setattr(connections, "LOCKS", tmp_path / "none")
        [unknown] = impatient.write("t", [put(b"a")])

    assert "by another" in str(known)
    assert "by another process" in str(unknown)


@pytest.mark.slow
def test_the_wait_for_threads_and_for_processes_is_one(path):
    with SQLiteStore(path, create=True, timeout=3.0) as store:
        store.create_table(TableSchema("t", FAMILIES))
        outcomes, waited, turns = [], [], store._file._connections.turns

        def write():
            begun = time.monotonic()
            outcomes.extend(store.write("t", [put(b"a")]))
            waited.append(time.monotonic() - begun)

        assert turns.take("writing", 0)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with thread(write):
                until_waiting(turns, 1)
                time.sleep(2.0)
                turns.give_back()

    assert isinstance(outcomes[0], StoreUnavailable)
    assert waited[0] < 4.5  # not five, of which three are for the other connection


def test_a_call_ends_with_the_deadline_of_its_caller(store, path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()

        with until(Deadline(0.2)):
            outcomes = store.write("t", [put(b"a")]) + store.write("t", [put(b"a")])
        waited = time.monotonic() - begun

    assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 2
    assert waited < 5


@pytest.mark.slow
def test_opening_and_reading_end_with_the_deadline_too(path):
    with SQLiteStore(path, create=True, timeout=0.3) as store:
        store.create_table(TableSchema("t", FAMILIES))
        scan = store.scan("t", [KeyRange()])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("PRAGMA locking_mode=EXCLUSIVE")
            store._file.before_fork()  # gives up the connections of the store, and with them its locks
            other.execute("BEGIN IMMEDIATE")
            begun = time.monotonic()

            for call in (lambda: keys(store), lambda: list(scan), lambda: SQLiteStore(path, timeout=0.3)):
                with pytest.raises(StoreUnavailable, match="locked"):
                    call()
            waited = time.monotonic() - begun

    assert waited < 10
