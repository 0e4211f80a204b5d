"""What only the SQLite adapter can show: its file, its processes, its disk and its query plans."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
import warnings
from contextlib import closing, contextmanager

import pytest

import webtable
from webtable.errors import (
    InvalidArgument,
    NewerFormat,
    NotAStore,
    OlderFormat,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
    TableNotFound,
)
from webtable.rowkey import KeyRange
from webtable.schema import ALL_VERSIONS, FamilySchema, TableSchema
from webtable.store import EVERYTHING, Cell, Containing, Delete, NewCell, Put, TimeRange, Wanted, open_store
from webtable.store.sqlite import SQLiteStore, reader
from webtable.store.sqlite.opening import PAGE_SIZE

HOUR = 3_600_000
FAMILIES = (FamilySchema("f"), FamilySchema("three", versions=3), FamilySchema("hour", versions=3, ttl=3600))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "crawl.db"


@pytest.fixture
def store(path):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        yield store


def put(row, value=b"x", column=b"f:a", timestamp=1000):
    return Put(row, [NewCell(column, timestamp, value)])


def keys(store, wanted=EVERYTHING):
    return [row.key for row in store.scan("t", [KeyRange()], wanted)]


def stored_cells(path, family):
    """Count the cells that are physically there."""
    with closing(sqlite3.connect(path)) as connection:
        [(number,)] = connection.execute("SELECT id FROM families WHERE name = ?", (family,))
        return connection.execute(f"SELECT count(*) FROM cells_{number}").fetchone()[0]


IMPORTS = "from webtable.store.rows import *; from webtable.store.sqlite import SQLiteStore; import os, sys, time\n"


@contextmanager
def python(code, *arguments):
    """Run *code* in a process of its own, which is gone at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", IMPORTS + textwrap.dedent(code), *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


# ---- what is a store -----------------------------------------------------------------------------------------------


def test_a_missing_file_is_not_created_unasked(path):
    with pytest.raises(TableNotFound, match="create=True, or on the command line with webtable create"):
        SQLiteStore(path)

    assert not path.exists()


def test_a_missing_directory_is_refused_by_name(tmp_path):
    with pytest.raises(StoreRefused, match="no/where"):
        SQLiteStore(tmp_path / "no" / "where" / "crawl.db", create=True)


def test_a_directory_is_no_store(tmp_path):
    with pytest.raises(NotAStore, match="directory"):
        SQLiteStore(tmp_path, create=True)


@pytest.mark.parametrize("create", [False, True])
def test_a_file_of_another_format_is_left_alone(path, create):
    content = b"<html>" * 5000
    path.write_bytes(content)

    with pytest.raises(NotAStore, match=r"crawl\.db"):
        SQLiteStore(path, create=create)

    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_database_of_another_program_is_left_alone(path, create, journal):
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA journal_mode={journal}")
        other.execute("CREATE TABLE notes (text)")
    content = path.read_bytes()

    with pytest.raises(NotAStore, match=r"crawl\.db.*another program"):
        SQLiteStore(path, create=create)

    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_an_empty_file_becomes_a_store_only_when_that_is_asked_for(path):
    path.touch()

    with pytest.raises(NotAStore, match="empty"):
        SQLiteStore(path)
    assert path.stat().st_size == 0
    with SQLiteStore(path, create=True) as store:
        assert store.tables() == []


def test_a_file_of_a_later_format_is_not_opened(store, path):
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=99")

    with pytest.raises(NewerFormat, match="file format 99, of a later webtable; this one reads 2"):
        SQLiteStore(path)


def test_a_file_of_before_the_first_release_is_not_opened(store, path):
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=1")

    with pytest.raises(OlderFormat, match="file format 1, which no release has written; this one reads 2: export it"):
        SQLiteStore(path)


def test_create_opens_a_store_that_is_there(store, path):
    store.write("t", [put(b"a")])

    with SQLiteStore(path, create=True) as again:
        assert keys(again) == [b"a"]


def test_a_path_may_hold_what_means_something_in_a_url(tmp_path):
    path = tmp_path / "50% off?mode=memory#1.db"

    SQLiteStore(path, create=True).close()

    assert path.stat().st_size > 0
    SQLiteStore(path).close()


def test_names_are_never_sql(path):
    name = 'x"; DROP TABLE families; --'
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema(name, (FamilySchema("f'\"`"),)))
        store.write(name, [put(b"a", column=b"f'\"`:q")])

        assert [row.value(b"f'\"`:q") for row in store.scan(name, [KeyRange()])] == [b"x"]
        assert store.tables() == [name]


@pytest.mark.parametrize("name", [":memory:", "file::memory:", "file::memory:?cache=shared", "file:x?mode=memory"])
def test_a_database_in_memory_is_no_store_and_no_file_is_made_of_that_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)

    for opened in (
        lambda: SQLiteStore(name, create=True),
        lambda: open_store(name, create=True),
        lambda: open_store(f"sqlite:{name}", create=True),
        lambda: open_store(f"sqlite:///{name}" if name == ":memory:" else name, create=True),
        lambda: webtable.open(name, create=True),
        lambda: webtable.create(name),
    ):
        with pytest.raises(InvalidArgument, match=r"no store in memory.*temporary directory.*\./:memory:"):
            opened()

    assert list(tmp_path.iterdir()) == []


def test_a_file_may_have_the_name_all_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    open_store("./:memory:", create=True)[0].close()

    assert [path.name for path in tmp_path.iterdir()] == [":memory:"]


# ---- a store that is left open -------------------------------------------------------------------------------------


def test_a_store_that_is_left_open_is_warned_of_and_its_connections_are_closed(path):
    left = SQLiteStore(path, create=True)
    connections = left._file._connections

    with pytest.warns(ResourceWarning, match=r"crawl\.db: the store was left open; close\(\) it, or open it in a with"):
        del left

    assert connections.open == set()


def test_neither_a_closed_store_nor_one_that_never_was_is_warned_of(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        closed = SQLiteStore(path, create=True)
        closed.close()
        del closed
        with pytest.raises(TableNotFound):
            SQLiteStore(path.with_name("none.db"))
        gc.collect()


def test_a_store_that_was_inherited_is_not_warned_of(path):
    code = """
        import gc
        store = SQLiteStore(sys.argv[1], create=True)
        if not os.fork():
            del store
            gc.collect()
            sys.exit()
        os.wait()
        store.close()
    """
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORTS + textwrap.dedent(code), path], capture_output=True, text=True
    )

    assert (process.returncode, process.stderr) == (0, "")


# ---- threads and processes -----------------------------------------------------------------------------------------


def test_two_processes_write_at_once(store, path):
    code = """
        with SQLiteStore(sys.argv[1]) as store:
            for i in range(150):
                key = f"{sys.argv[2]}/{i:03}".encode()
                assert store.write("t", [Put(key, [NewCell(b"f:a", 1, b"x")])]) == [None]
    """
    with python(code, path, "a") as first, python(code, path, "b") as second:
        for i in range(150):
            assert store.write("t", [put(b"c/%03d" % i)]) == [None]
        codes = [first.wait(60), second.wait(60)]

    assert codes == [0, 0]
    assert keys(store) == [b"%s/%03d" % (name, i) for name in (b"a", b"b", b"c") for i in range(150)]


def test_a_killed_process_leaves_all_that_it_was_told_is_stored(store, path):
    code = """
        store = SQLiteStore(sys.argv[1])
        for i in range(1_000_000):
            assert store.write("t", [Put(b"%06d" % i, [NewCell(b"f:a", 1, b"x" * 5000)])]) == [None]
            print(i, flush=True)
    """
    with python(code, path) as writer:
        acknowledged = [int(writer.stdout.readline()) for _ in range(200)]
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += [int(line) for line in writer.stdout]

    found = list(store.scan("t", [KeyRange()]))

    assert [row.key for row in found[: len(acknowledged)]] == [b"%06d" % i for i in acknowledged]
    assert {row.value(b"f:a") for row in found} == {b"x" * 5000}
    assert store.write("t", [put(b"after")]) == [None]


def test_of_two_processes_that_create_a_table_one_is_refused(path):
    SQLiteStore(path, create=True).close()
    code = """
        from webtable.schema import *
        from webtable.errors import StoreRefused
        with SQLiteStore(sys.argv[1], create=True) as store:
            print("ready", flush=True)
            while not os.path.exists(sys.argv[1] + ".go"): pass
            for i in range(20):
                try:
                    store.create_table(TableSchema(f"t{i}", (FamilySchema("f"),)))
                    print("created")
                except StoreRefused:
                    print("refused")
    """
    with python(code, path) as first, python(code, path) as second:
        for process in (first, second):
            process.stdout.readline()
        path.with_name("crawl.db.go").touch()
        first_results, second_results = (process.stdout.read().split() for process in (first, second))
        codes = [first.wait(60), second.wait(60)]

    assert codes == [0, 0]
    assert sorted(first_results + second_results) == ["created"] * 20 + ["refused"] * 20


def test_processes_that_create_the_file_at_once_get_one_store(path):
    code = """
        with SQLiteStore(sys.argv[1], create=True) as store:
            print(store.tables())
    """
    with python(code, path) as a, python(code, path) as b, python(code, path) as c:
        results = [(process.stdout.read(), process.wait(60)) for process in (a, b, c)]

    assert results == [("[]\n", 0)] * 3


def test_a_forked_child_uses_connections_of_its_own(store):
    store.write("t", [put(b"a")])

    child = os.fork()
    if not child:
        try:
            fine = keys(store) == [b"a"] and store.write("t", [put(b"child")]) == [None]
        finally:
            os._exit(0 if fine else 1)
    _, status = os.waitpid(child, 0)

    assert status == 0
    assert store.write("t", [put(b"parent")]) == [None]
    assert keys(store) == [b"a", b"child", b"parent"]


def test_a_second_store_on_the_file_leaves_the_locks_of_the_first(store, path):
    # To open and close a file anywhere in a process drops the locks that the process holds on it.
    with store._file.writer() as connection:
        connection.execute("DELETE FROM tables WHERE name = 'none'")
        SQLiteStore(path, timeout=0.1).close()

        with python(
            'assert SQLiteStore(sys.argv[1], timeout=0.1).write("t", [Put(b"x", [NewCell(b"f:a", 1, b"")])]) != [None]',
            path,
        ) as other:
            assert other.wait(60) == 0


def test_a_store_locked_for_longer_than_the_timeout_is_unavailable(store, path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other, SQLiteStore(path, timeout=0.2) as impatient:
        other.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()

        outcomes = impatient.write("t", [put(b"a"), put(b"b")])

        assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 2
        assert "locked" in str(outcomes[0])
        assert time.monotonic() - begun < 5
        assert keys(impatient) == []


def test_the_timeout_holds_for_threads_that_wait_for_each_other(path):
    with SQLiteStore(path, create=True, timeout=0.2) as store:
        store.create_table(TableSchema("t", FAMILIES))
        outcomes = []
        with store._file.writer():
            thread = threading.Thread(target=lambda: outcomes.extend(store.write("t", [put(b"a")])))
            thread.start()
            thread.join(10)

        assert [type(outcome) for outcome in outcomes] == [StoreUnavailable]


def test_a_slow_scan_does_not_keep_the_log_from_being_emptied(store, path):
    store.write("t", [put(b"%04d" % i, bytes(1000)) for i in range(3000)])
    scan = store.scan("t", [KeyRange()])
    next(scan)

    with closing(sqlite3.connect(path)) as other:
        busy, _, left = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    assert (busy, left) == (0, 0)
    assert sum(1 for _ in scan) == 2999


def test_a_scan_holds_a_bounded_piece_in_memory(store):
    for start in range(0, 400, 50):
        store.write("t", [put(b"%04d" % i, bytes(200_000)) for i in range(start, start + 50)])
    scan = store.scan("t", [KeyRange()])
    tracemalloc.start()

    held = [(len(row.value(b"f:a")), tracemalloc.get_traced_memory()[0])[1] for row in scan]
    tracemalloc.stop()

    assert len(held) == 400
    assert max(held) < 5_000_000


def test_a_search_for_what_is_not_there_gives_an_answer_again_and_again(store, monkeypatch):
    store.write("t", [put(b"%04d" % i, b"nothing") for i in range(500)])
    monkeypatch.setattr(reader, "SEARCH_SECONDS", 0.0)
    monkeypatch.setattr(reader, "PIECE_SECONDS", 0.0)
    taken = []
    monkeypatch.setattr(
        "webtable.store.sqlite.store.next_piece", lambda *given: taken.append(given) or reader.next_piece(*given)
    )

    found = keys(store, Wanted(containing=Containing(b"f:a", ("word",))))

    assert found == [b"%04d" % i for i in range(500)]
    assert len(taken) >= 500


def test_a_row_in_pieces_holds_a_piece_in_memory(store):
    for start in range(0, 400, 50):
        columns = [b"three:%04d" % i for i in range(start, start + 50)]
        store.write("t", [Put(b"wide", [NewCell(column, 1000, bytes(200_000)) for column in columns])])
    tracemalloc.start()

    found, left = 0, KeyRange()
    while cells := store.read_cells("t", [b"wide"], b"three", left, limit=10)[0]:
        found += len(cells)
        left = left.after(cells[-1][0].removeprefix(b"three:"))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found == 400
    assert most < 10_000_000


def test_columns_of_a_family_whose_options_were_changed_come_once_with_their_newest_cell(store):
    old = time.time_ns() // 1_000_000 - 600_000
    cells = [NewCell(column, old + i, b"%d" % i) for column in (b"three:a", b"three:b", b"hour:a") for i in range(3)]
    store.write("t", [Put(b"row", cells)])
    store.set_family("t", FamilySchema("three"))
    store.set_family("t", FamilySchema("hour", versions=3, min_versions=1, ttl=60))

    newest = Cell(old + 2, b"2")
    assert store.read_cells("t", [b"row"], b"three", limit=2) == [[(b"three:a", newest), (b"three:b", newest)]]
    assert store.read_cells("t", [b"row"], b"hour", limit=2) == [[(b"hour:a", newest)]]


# ---- what goes away ------------------------------------------------------------------------------------------------


def test_versions_beyond_the_limit_are_removed_by_the_write_itself(store, path):
    for timestamp in range(1, 21):
        store.write("t", [put(b"a", column=b"three:q", timestamp=timestamp), put(b"a", timestamp=timestamp)])

    assert stored_cells(path, "three") == 3
    assert stored_cells(path, "f") == 1


def test_only_the_columns_that_are_there_lose_versions(store, path):
    columns = [b"f:%03d" % number for number in range(150)]
    store.write("t", [Put(b"row", [NewCell(column, 1, b"v") for column in columns[:100]])])

    store.write("t", [Put(b"row", [NewCell(column, 2, b"w") for column in columns[50:]])])

    (row,) = store.read("t", [b"row"])
    assert {column: cells[0].timestamp for column, cells in row.cells.items()} == {
        column: 1 if column < b"f:050" else 2 for column in columns
    }
    assert stored_cells(path, "f") == 150


def test_a_new_column_of_a_row_is_added_without_a_delete(store):
    store.write("t", [put(b"a", column=b"f:a")])
    statements = []
    with store._file.writer() as connection:
        connection.set_trace_callback(statements.append)

    store.write("t", [put(b"a", column=b"f:b")])

    assert [statement for statement in statements if statement.startswith("INSERT")]
    assert not [statement for statement in statements if statement.startswith("DELETE")]


def test_expired_cells_go_away_as_others_are_written(store, path):
    now = time.time_ns() // 1_000_000
    expired = [put(b"old/%05d" % i, column=b"hour:a", timestamp=now - 3_599_000) for i in range(1000)]
    store.write("t", expired)
    assert stored_cells(path, "hour") == 1000
    store.set_family("t", FamilySchema("hour", versions=3, ttl=60))

    for i in range(10):
        store.write("t", [put(b"new/%d/%04d" % (i, j), column=b"hour:a", timestamp=now) for j in range(500)])

    assert stored_cells(path, "hour") == 5000


@pytest.mark.slow
def test_a_sweep_goes_on_where_the_last_process_left_it(store, path):
    now = time.time_ns() // 1_000_000
    store.write("t", [put(b"%05d" % i, column=b"hour:a", timestamp=now) for i in range(5000)])
    store.set_family("t", FamilySchema("hour", versions=3, ttl=1))
    time.sleep(max(0.0, (now + 1100) / 1000 - time.time()))
    left = []

    for i in range(5):
        with SQLiteStore(path) as another:
            new = [put(b"new/%d/%05d" % (i, j), column=b"hour:a", timestamp=now + HOUR) for j in range(2000)]
            another.write("t", new)
        left.append(stored_cells(path, "hour") - 2000 * (i + 1))

    assert left == sorted(left, reverse=True)
    assert left[-1] == 0


def test_compact_removes_what_nobody_sees_and_gives_the_space_back(store, path):
    now = time.time_ns() // 1_000_000
    store.write("t", [put(b"%04d" % i, bytes(900), b"three:a", now - t) for i in range(500) for t in range(3)])
    old = now - HOUR + 60_000
    store.write("t", [put(b"%04d" % i, bytes(900), b"hour:a", old + t) for i in range(500) for t in range(2)])
    store.write("t", [put(b"%04d" % i, bytes(900)) for i in range(500)])
    store.write("t", [Delete(b"%04d" % i, now, [b"f:"]) for i in range(400)])
    store.set_family("t", FamilySchema("three"))
    store.set_family("t", FamilySchema("hour", versions=3, min_versions=1, ttl=60))
    before = list(store.scan("t", [KeyRange()], Wanted(versions=9)))

    freed = store.compact(store.tables())

    assert (stored_cells(path, "three"), stored_cells(path, "hour"), stored_cells(path, "f")) == (500, 500, 100)
    assert list(store.scan("t", [KeyRange()], Wanted(versions=9))) == before
    assert freed > 1_000_000
    assert path.stat().st_size < 500 * 900 * 3


def test_compact_forgets_deletes_as_a_major_compaction_does(store):
    store.write("t", [Delete(b"a", 2000), put(b"a", timestamp=1500)])
    assert keys(store) == []

    store.compact(store.tables())

    assert keys(store) == []
    store.write("t", [put(b"a", timestamp=1500)])
    assert keys(store) == [b"a"]


def test_a_column_s_versions_count_before_the_time_range(store):
    store.write("t", [put(b"a", b"old", timestamp=1000), put(b"a", b"new", timestamp=2000)])

    assert store.read("t", [b"a"], Wanted(time_range=TimeRange(0, 1500))) == [None]


def test_fewer_versions_hold_at_once_and_before_the_time_range(store):
    store.write("t", [put(b"a", b"%d" % t, b"three:a", t) for t in (1000, 2000, 3000)])

    store.set_family("t", FamilySchema("three", versions=2))

    [row] = store.read("t", [b"a"], Wanted(versions=9))
    assert [cell.timestamp for cell in row.cells[b"three:a"]] == [3000, 2000]
    assert store.read("t", [b"a"], Wanted(versions=9, time_range=TimeRange(0, 1500))) == [None]
    store.set_family("t", FamilySchema("three", versions=1))
    assert store.read("t", [b"a"])[0].cells == {b"three:a": ((3000, b"3000"),)}


# ---- a disk that does not do it ------------------------------------------------------------------------------------


def test_a_full_disk_refuses_the_write_and_keeps_the_rest(store):
    store.write("t", [put(b"a")])
    with store._file.exclusive() as connection:
        [(pages,)] = connection.execute("PRAGMA page_count").fetchall()
        connection.execute(f"PRAGMA max_page_count={pages + 2}")

    outcomes = store.write("t", [put(b"b", bytes(1_000_000)), put(b""), put(b"c")])

    assert [str(outcome).rpartition(": ")[2] for outcome in outcomes[::2]] == ["the disk is full"] * 2
    assert [type(outcome) for outcome in outcomes] == [StoreFull, StoreRefused, StoreFull]
    assert "row key" in str(outcomes[1])
    assert keys(store) == [b"a"]
    with store._file.exclusive() as connection:
        connection.execute("PRAGMA max_page_count=1073741823")
    assert store.write("t", [put(b"b", bytes(1_000_000))]) == [None]


def test_a_file_that_may_not_be_written_is_read_and_refuses_writes(store):
    store.write("t", [put(b"a")])
    with store._file.exclusive() as connection:
        connection.execute("PRAGMA query_only=ON")

    [outcome] = store.write("t", [put(b"b")])

    assert isinstance(outcome, StoreRefused)
    assert "read-only" in str(outcome)
    with pytest.raises(StoreRefused, match="read-only"):
        store.drop_table("t")
    assert keys(store) == [b"a"]


def test_a_damaged_file_is_said_to_be_damaged(store, path):
    store.write("t", [put(b"%04d" % i, bytes(1000)) for i in range(1000)])
    store.close()
    content = bytearray(path.read_bytes())
    content[PAGE_SIZE * 16 :] = b"\xaa" * (len(content) - 4096 * 16)
    path.write_bytes(content)

    with SQLiteStore(path) as damaged, pytest.raises(StoreError, match="damaged"):
        list(damaged.scan("t", [KeyRange()]))


# ---- query plans ---------------------------------------------------------------------------------------------------


def test_no_statement_sorts_or_walks_more_than_its_range(store, path):
    store.write("t", [Put(b"%03d" % i, [NewCell(c, 1000, b"v") for c in (b"f:a", b"three:a")]) for i in range(10)])
    store.write("t", [Delete(b"none", 1)])
    statements = []
    for connection in store._file._connections.readers:
        connection.set_trace_callback(statements.append)
    with store._file.exclusive() as connection:
        connection.set_trace_callback(statements.append)

    part = [KeyRange(b"001", b"005")]
    for columns in (None, [b"f:"], [b"f:a", b"f:b"], [b"f:a", b"three:"], [b"hour:a"]):
        for reverse in (False, True):
            for versions, times in ((1, None), (3, None), (1, TimeRange(0, 5000))):
                list(store.scan("t", part, Wanted(columns, versions=versions, time_range=times), reverse=reverse))
            list(store.scan("t", part, Wanted(columns, keys_only=True), reverse=reverse))
            for times in (None, TimeRange(0, 5000)):
                list(
                    store.scan(
                        "t",
                        part,
                        Wanted(columns, time_range=times, containing=Containing(b"three:a", ("V",))),
                        reverse=reverse,
                    )
                )
        store.read("t", [b"001"], Wanted(columns))
    for family, qualifiers in itertools.product((b"f", b"three", b"hour"), (KeyRange(), KeyRange(b"a", b"b"))):
        store.read_cells("t", [b"001"], family, qualifiers, limit=5)
    store.write("t", [put(b"a"), put(b"b", column=b"hour:a"), Delete(b"c", 1, [b"f:a"]), Delete(b"c", 1, [b"f:"])])

    with closing(sqlite3.connect(path)) as connection:
        plans = {
            statement: [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
            for statement in set(statements)
            if "cells_" in statement
        }
    assert len(plans) > 30
    for statement, plan in plans.items():
        assert not [step for step in plan if "TEMP B-TREE" in step or step.startswith("SCAN cells")], statement


def test_a_read_of_some_versions_of_a_row_steps_over_no_others(tmp_path):
    everything = FamilySchema("all", versions=ALL_VERSIONS)
    with SQLiteStore(tmp_path / "store.db", create=True) as store:
        store.create_table(TableSchema("t", (everything,)))
        store.write("t", [Put(b"row", [NewCell(b"all:a", at, b"value") for at in range(5_000)])])
        store.write("t", [Put(b"row", [NewCell(b"all:b", 7, b"other")])])
        steps = []
        with store._file.reader() as connection:
            connection.set_progress_handler(lambda: steps.append(1), 100)

        (newest,) = store.read("t", [b"row"], Wanted([b"all:a", b"all:b"]))
        (some,) = store.read("t", [b"row"], Wanted([b"all:a", b"all:b"], versions=8))
        (dated,) = store.read("t", [b"row"], Wanted([b"all:a"], versions=2, time_range=TimeRange(0, 100)))

    assert newest.cells == {b"all:a": (Cell(4_999, b"value"),), b"all:b": (Cell(7, b"other"),)}
    assert [cell.timestamp for cell in some.cells[b"all:a"]] == list(range(4_999, 4_991, -1))
    assert [cell.timestamp for cell in dated.cells[b"all:a"]] == [99, 98]
    assert len(steps) * 100 < 5_000


def test_a_store_that_has_read_a_table_sees_what_others_make_of_it(store, path):
    store.write("t", [put(b"r", b"old")])
    before = store.read("t", [b"r"], Wanted([b"f:a"]))

    with SQLiteStore(path) as other:
        other.set_family("t", FamilySchema("f", ttl=3600))
        expired = store.read("t", [b"r"], Wanted([b"f:a"]))
        other.drop_table("t")
        other.create_table(TableSchema("t", FAMILIES))
        dropped = store.read("t", [b"r"], Wanted([b"f:a"]))
        other.write("t", [put(b"r", b"new")])
        written = store.read("t", [b"r"], Wanted([b"f:a"]))
        other.drop_table("t")

    assert [before[0].value(b"f:a"), expired, dropped, written[0].value(b"f:a")] == [b"old", [None], [None], b"new"]
    with pytest.raises(TableNotFound):
        store.read("t", [b"r"], Wanted([b"f:a"]))


def test_one_row_has_the_newest_visible_cell_of_each_named_column_of_several_families(store):
    now = time.time_ns() // 1_000_000
    cells = [NewCell(b"f:a", at, b"a%d" % at) for at in (1, 2)]
    cells += [NewCell(b"three:b", at, b"b%d" % at) for at in (7, 5, 6)]
    cells += [NewCell(b"hour:gone", now - 2 * HOUR, b"expired"), NewCell(b"hour:here", now, b"kept")]
    store.write("t", [Put(b"r", [*cells, NewCell(b"f:other", 9, b"not wanted")])])
    columns = [b"hour:here", b"hour:gone", b"three:b", b"f:a", b"f:none"]

    (row,) = store.read("t", [b"r"], Wanted(columns))
    several = store.read("t", [b"q", b"r"], Wanted(columns))

    assert row.cells == {b"f:a": (Cell(2, b"a2"),), b"three:b": (Cell(7, b"b7"),), b"hour:here": (Cell(now, b"kept"),)}
    assert several == [None, row]


def test_a_row_of_more_columns_than_a_statement_names_is_read_as_well(store):
    columns = [b"f:%03d" % number for number in range(reader.MOST_NAMED)] + [b"three:last"]
    store.write("t", [Put(b"r", [NewCell(column, 1, column) for column in columns])])

    (row,) = store.read("t", [b"r"], Wanted(columns))

    assert {column: versions[0].value for column, versions in row.cells.items()} == {c: c for c in columns}
