"""Delete markers of the embedded store: how long a delete hides, and that what hides nothing goes away."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest

from webtable._clock import clock as system_clock
from webtable.errors import NewerFormat, StoreRefused
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store.rows import Delete, NewCell, Put
from webtable.store.sqlite import SQLiteStore, writes
from webtable.store.sqlite.sweeps import DELETES_HIDE, SLICE

FAMILIES = (
    FamilySchema("f"),
    FamilySchema("hour", ttl=3600),
    FamilySchema("kept", versions=3, min_versions=1, ttl=3600),
)
DAY = 86_400_000


@pytest.fixture
def path(tmp_path):
    return tmp_path / "crawl.db"


@pytest.fixture
def clock(monkeypatch):
    """The store's clock, to be set forward: `clock.now += …`."""

    class Clock:
        now = time.time_ns() // 1_000_000

    monkeypatch.setattr(system_clock, "nanoseconds", lambda: Clock.now * 1_000_000)
    return Clock


@pytest.fixture
def store(path, clock):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        yield store


def put(row, column=b"f:a", timestamp=1000):
    return Put(row, [NewCell(column, timestamp, b"x")])


def keys(store):
    return [row.key for row in store.scan("t", [KeyRange()])]


def markers(path, family="f"):
    with closing(sqlite3.connect(path)) as connection:
        [(number,)] = connection.execute("SELECT id FROM families WHERE name = ?", (family,))
        return connection.execute(f"SELECT count(*) FROM deletes_{number}").fetchone()[0]


def fill(store, count, prefix=b"new", column=b"f:a", timestamp=1000):
    for start in range(0, count, 500):
        names = [b"%b/%d/%06d" % (prefix, system_clock.milliseconds(), number) for number in range(start, start + 500)]
        assert set(store.write("t", [put(name, column, timestamp) for name in names])) == {None}


def test_markers_go_away_a_day_after_their_deletes_as_others_write(store, path, clock):
    store.write("t", [Delete(b"old/%05d" % number, 5000, [b"f:"]) for number in range(3000)])

    clock.now += DAY - 1000
    fill(store, 10 * SLICE)
    before = markers(path)
    clock.now += 2000
    fill(store, 4 * SLICE)

    assert before == 3000
    assert markers(path) == 0


def test_deletes_that_go_on_and_on_leave_as_many_markers_as_a_day_has(store, path, clock):
    left = []

    for day in range(6):
        store.write("t", [Delete(b"%d/%05d" % (day, number), 5000, [b"f:a"]) for number in range(SLICE)])
        left.append(markers(path))
        clock.now += DAY + 1

    assert max(left) <= 3 * SLICE


def test_a_delete_hides_what_is_older_for_a_day_at_least(store, clock):
    store.write("t", [Delete(b"a", 5000), Delete(b"b", 5000, [b"f:a"]), Delete(b"c", 5000, [b"f:a"], exact=True)])

    clock.now += DELETES_HIDE - 1
    fill(store, 4 * SLICE)
    store.write("t", [put(b"a"), put(b"b"), put(b"c", timestamp=5000)])

    assert store.read("t", [b"a", b"b", b"c"]) == [None, None, None]


def test_a_delete_that_comes_again_hides_for_another_day(store, path, clock):
    store.write("t", [Delete(b"a", 5000, [b"f:a"])])
    clock.now += DAY
    store.write("t", [Delete(b"a", 3000, [b"f:a"])])

    clock.now += DAY - 1
    fill(store, 4 * SLICE)
    store.write("t", [put(b"a", timestamp=4000)])

    assert markers(path) == 1
    assert store.read("t", [b"a"]) == [None]


def test_a_marker_that_is_older_than_the_ttl_goes_at_once_but_where_cells_outlive_it(store, path, clock):
    old, new = clock.now - 2 * 3_600_000, clock.now - 60_000
    for column in (b"f:a", b"hour:a", b"kept:a"):
        store.write("t", [Delete(b"old", old, [column]), Delete(b"new", new, [column])])

    for column in (b"f:a", b"hour:a", b"kept:a"):
        fill(store, 2 * SLICE, column=column, timestamp=clock.now)

    assert [markers(path, family) for family in ("f", "hour", "kept")] == [2, 1, 2]


def test_processes_that_write_little_sweep_for_their_part(path, clock):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        store.write("t", [Delete(b"old/%05d" % number, 5000, [b"f:"]) for number in range(100)])
    clock.now += DAY + 1

    for turn in range(200):
        with SQLiteStore(path) as store:
            store.write("t", [put(b"%d/%03d" % (turn, number)) for number in range(100)])
        if not markers(path):
            break

    assert markers(path) == 0


@pytest.mark.slow
def test_a_sweep_looks_at_a_slice_and_not_at_all_behind_it(store):
    fill(store, 6 * SLICE, column=b"hour:a", timestamp=system_clock.milliseconds())
    steps = []
    with store._file.exclusive() as connection:
        connection.set_progress_handler(lambda: steps.append(1), 1000)

    fill(store, SLICE, prefix=b"a", column=b"hour:a", timestamp=system_clock.milliseconds())
    few = len(steps)
    with store._file.exclusive() as connection:
        connection.set_progress_handler(None, 0)
    fill(store, 30 * SLICE, column=b"hour:a", prefix=b"more", timestamp=system_clock.milliseconds())
    with store._file.exclusive() as connection:
        connection.set_progress_handler(lambda: steps.append(1), 1000)
    fill(store, SLICE, prefix=b"b", column=b"hour:a", timestamp=system_clock.milliseconds())

    assert len(steps) - few < 3 * few


def test_a_file_that_a_later_webtable_takes_over_is_not_written_to(store, path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=99")

    [outcome] = store.write("t", [put(b"a")])

    assert isinstance(outcome, NewerFormat)
    assert "crawl.db has file format 99" in str(outcome)


# ---- deletes of one timestamp --------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [None, [b"f:"], [b"f:a", b"f:"]])
def test_a_delete_of_one_timestamp_names_its_columns(store, columns):
    store.write("t", [put(b"a")])

    [outcome] = store.write("t", [Delete(b"a", 1000, columns, exact=True)])

    assert isinstance(outcome, StoreRefused)
    assert "exact" in str(outcome)
    assert keys(store) == [b"a"]


def test_compact_forgets_deletes_of_one_timestamp_too(store, path):
    store.write("t", [put(b"a"), Delete(b"a", 1000, [b"f:a"], exact=True)])

    store.compact(["t"])

    assert markers(path) == 0
    store.write("t", [put(b"a")])
    assert keys(store) == [b"a"]


def test_a_put_reads_no_more_markers_than_it_has_cells_however_many_its_row_has(store, clock, monkeypatch):
    columns = [b"f:%d" % number for number in range(1000)]
    store.write("t", [Delete(b"row", 1000, columns)])
    read = []
    markers = writes._markers
    monkeypatch.setattr(writes, "_markers", lambda *given: read.append(markers(*given)) or read[-1])

    outcomes = store.write("t", [Put(b"row", [NewCell(b"f:7", 900, b"old"), NewCell(b"f:new", 900, b"new")])])

    assert outcomes == [None]
    assert [len(found) for found in read] == [1]
    (row,) = store.read("t", [b"row"])
    assert row.cells.keys() == {b"f:new"}
