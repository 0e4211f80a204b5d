"""The contract of the store port as tests for pytest: what `webtable.store.port` promises, for any store.

In a module of tests, where `open_store` opens the same store once more:

    from webtable.testing.store_contract import *

    @pytest.fixture(scope="session")
    def open_store(tmp_path_factory):
        path = tmp_path_factory.mktemp("store") / "contract.db"
        return lambda: SQLiteStore(path, create=True, max_cell=MAX_CELL)

What a store cannot do it says: by its `capabilities`, by a transaction without a number, or by a `CapabilityError`. The
tests concerned assert that, and that nothing else has happened.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from webtable.errors import CapabilityError, InvalidArgument, StoreError, StoreRefused, TableNotFound
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import (
    EVERYTHING,
    MAX_ROW_KEY,
    Cell,
    Containing,
    Delete,
    Mutation,
    NewCell,
    Put,
    Row,
    Store,
    TimeRange,
    Wanted,
)
from webtable.testing.store_fixtures import Space, new_table, property_examples, space, store, table  # noqa: F401 - exported

HOUR: Final = 3_600_000


def put(row: bytes, column: bytes = b"one:a", value: bytes = b"x", timestamp: int = 1000) -> Put:
    return Put(row, [NewCell(column, timestamp, value)])


def fill(store: Store, table: str, space: Space, names: Iterable[bytes], column: bytes = b"one:a") -> None:
    """Write a row for each of *names*, which is its value too."""
    outcomes = store.write(table, [put(space(name), column, name) for name in names])
    assert outcomes == [None] * len(names)


def names_of(space: Space, rows: Iterable[Row]) -> list[bytes]:
    return [row.key.removeprefix(space.prefix) for row in rows]


def cells_of(row: Row | None) -> dict[bytes, list[tuple[int, bytes]]]:
    return {column: [tuple(cell) for cell in cells] for column, cells in row.cells.items()} if row else {}


# ---- comparing and putting at once -------------------------------------------------------------------------------


def test_a_row_is_put_only_if_a_column_has_the_expected_value(store: Store, table: str, space: Space) -> None:
    def puts(column: bytes, expected: bytes | None, *cells: tuple[bytes, int, bytes]) -> bool:
        made = [NewCell(name, timestamp, value) for name, timestamp, value in cells]
        return store.check_and_put(table, Put(space(b"k"), made), column, expected)

    try:
        assert puts(b"one:a", b"A", (b"one:a", 1, b"B")) is False
    except CapabilityError:
        assert store.read(table, [space(b"k")]) == [None]
        return
    assert puts(b"one:a", None, (b"one:a", 1, b"A"), (b"three:b", 1, b"b")) is True
    assert puts(b"one:a", None, (b"one:a", 2, b"C")) is False
    assert puts(b"one:a", b"B", (b"one:a", 2, b"C")) is False
    assert puts(b"one:a", b"A", (b"one:b", 2, b"D")) is True
    [row] = store.read(table, [space(b"k")])
    assert cells_of(row) == {b"one:a": [(1, b"A")], b"one:b": [(2, b"D")], b"three:b": [(1, b"b")]}


def test_a_row_that_is_compared_in_a_missing_table_or_family_is_an_error(
    store: Store, table: str, space: Space
) -> None:
    with pytest.raises((TableNotFound, CapabilityError)):
        store.check_and_put("missing", Put(b"k", [NewCell(b"one:a", 1, b"")]), b"one:a", None)
    with pytest.raises(StoreError):
        store.check_and_put(table, Put(space(b"k"), [NewCell(b"none:a", 1, b"")]), b"one:a", None)


# ---- rows and their order ----------------------------------------------------------------------------------------


def test_a_row_comes_back_as_it_was_written(store: Store, table: str, space: Space) -> None:
    cells = [NewCell(b"one:a", 1000, b"A"), NewCell(b"one:b", 2000, b""), NewCell(b"three:a", 3000, b"C")]
    store.write(table, [Put(space(b"k"), cells)])

    [row] = store.read(table, [space(b"k")])

    assert row.key == space(b"k")
    assert cells_of(row) == {b"one:a": [(1000, b"A")], b"one:b": [(2000, b"")], b"three:a": [(3000, b"C")]}
    assert isinstance(row.cells[b"one:a"][0], Cell)
    assert row.value(b"one:a") == b"A"
    assert row.value(b"one:missing") is None


@pytest.mark.parametrize("reverse", [False, True])
def test_the_first_rows_are_as_many_as_asked_for_however_wide_they_are(
    store: Store, table: str, space: Space, reverse: bool
) -> None:
    wide = b"x" * 300_000
    for name in (b"a", b"b"):
        store.write(table, [put(space(b"%b%d" % (name, number)), value=wide) for number in range(6)])

    pieces = store.first_rows(table, [space.range(b"a", b"b"), space.range(b"b", b"c")], 6, reverse=reverse)

    assert [len(rows) for rows in pieces] == [6, 6]


def test_rows_come_in_byte_order(store: Store, table: str, space: Space) -> None:
    names = [b"a", b"B", b"a-b", b"a.b", b"a/b", b"a0", b"a:", b"a\x00", b"\0", b"\x7f", b"\x80", b"\xff", b"\xff" * 2]
    fill(store, table, space, names)

    rows = store.scan(table, [KeyRange(space(b""), space(b"\xff" * 9))])

    assert names_of(space, rows) == sorted(names)


def test_keys_qualifiers_and_values_are_any_bytes(store: Store, table: str, space: Space) -> None:
    key, column, value = space(b"\x00\xff\n\x80"), b"one:\xff\x00:\xfe", bytes(range(256))
    store.write(table, [put(key, column, value)])

    [read] = store.read(table, [key], Wanted([column]))
    [scanned] = store.scan(table, [KeyRange(key, key + b"\x00")], Wanted([column]))

    assert read == scanned
    assert read.value(column) == value


def test_a_row_key_has_its_longest_length(store: Store, table: str, space: Space) -> None:
    key = space(b"k" * 16_000)
    store.write(table, [put(key)])

    [row] = store.read(table, [key])

    assert row.key == key


def test_a_value_of_a_megabyte_comes_back_whole(store: Store, table: str, space: Space) -> None:
    value = bytes(range(256)) * 4096
    outcomes = store.write(table, [put(space(bytes([i])), b"one:a", value) for i in range(8)])

    rows = list(store.scan(table, [space.range()]))

    assert outcomes == [None] * 8
    assert [row.value(b"one:a") == value for row in rows] == [True] * 8


def test_the_same_write_twice_leaves_what_one_leaves(store: Store, table: str, space: Space) -> None:
    mutations = [
        put(space(b"a"), b"three:a", b"1", 1000),
        put(space(b"a"), b"three:a", b"2", 2000),
        Delete(space(b"a"), 1500, [b"three:b"]),
        put(space(b"a"), b"three:b", b"3", 2000),
    ]
    store.write(table, mutations)
    once = store.read(table, [space(b"a")], Wanted(versions=3))

    store.write(table, mutations)

    assert store.read(table, [space(b"a")], Wanted(versions=3)) == once
    assert cells_of(once[0]) == {b"three:a": [(2000, b"2"), (1000, b"1")], b"three:b": [(2000, b"3")]}


def test_of_two_cells_at_one_place_the_later_one_stays(store: Store, table: str, space: Space) -> None:
    store.write(table, [put(space(b"a"), value=b"first"), put(space(b"a"), value=b"second")])
    store.write(table, [put(space(b"b"), value=b"first")])
    store.write(table, [put(space(b"b"), value=b"second")])

    rows = store.read(table, [space(b"a"), space(b"b")], Wanted(versions=3))

    assert [cells_of(row) for row in rows] == [{b"one:a": [(1000, b"second")]}] * 2


def test_many_mutations_of_one_row_in_one_call_take_effect_in_their_order(
    store: Store, table: str, space: Space
) -> None:
    values = [b"%d" % i for i in range(20)]

    outcomes = store.write(table, [put(space(b"a"), value=value) for value in values])

    assert outcomes == [None] * 20
    assert store.read(table, [space(b"a")])[0].value(b"one:a") == values[-1]


@pytest.mark.parametrize("size", [10, 40_000])
def test_many_cells_in_one_call_are_stored_as_those_of_many_calls(
    store: Store, table: str, space: Space, size: int
) -> None:
    made = random.Random(size)
    rows = [b"%03d" % i for i in range(60)]
    deletes = [(made.choice(rows), made.randrange(9)) for _ in range(20)]
    puts = [
        (made.choice(rows), made.choice([b"three:a", b"three:b"]), made.randbytes(size), made.randrange(9))
        for _ in range(300)
    ]

    for name, together in ((b"one call", 300), (b"many", 15)):
        store.write(table, [Delete(space(name + row), timestamp) for row, timestamp in deletes])
        for start in range(0, len(puts), together):
            of_call = [put(space(name + row), *cell) for row, *cell in puts[start : start + together]]
            assert store.write(table, of_call) == [None] * together

    first, second = (
        [cells_of(row) for row in store.read(table, [space(name + row) for row in rows], Wanted(versions=3))]
        for name in (b"one call", b"many")
    )
    assert first == second
    assert sum(len(versions) for cells in first for versions in cells.values()) > 150


def test_nothing_to_write_is_no_error(store: Store, table: str, space: Space) -> None:
    assert store.write(table, []) == []
    assert store.write(table, [Put(space(b"k"), []), Delete(space(b"k"), 1000, [])]) == [None, None]
    assert store.read(table, [space(b"k")]) == [None]


# ---- reading rows ------------------------------------------------------------------------------------------------


def test_rows_are_found_among_many_that_do_not_exist(store: Store, table: str, space: Space) -> None:
    there = [number for number in range(200) if number % 9 == 8]
    store.write(table, [Put(space(b"%03d" % number), [NewCell(b"three:q", 1, b"x")]) for number in there])

    rows = store.read(table, [space(b"%03d" % number) for number in range(200)])

    assert [number for number, row in enumerate(rows) if row is not None] == there
    assert all(row is None or row.value(b"three:q") == b"x" for row in rows)


def test_reading_keeps_the_order_asked_for_with_doubles_and_gaps(store: Store, table: str, space: Space) -> None:
    fill(store, table, space, [b"a", b"b"])

    rows = store.read(table, [space(b"b"), space(b"none"), space(b"a"), space(b"b")])

    assert [row and row.value(b"one:a") for row in rows] == [b"b", None, b"a", b"b"]


def test_reading_no_rows_gives_none(store: Store, table: str) -> None:
    assert store.read(table, []) == []


def test_many_rows_are_read_at_once(store: Store, table: str, space: Space) -> None:
    names = [b"%04d" % i for i in range(1500)]
    fill(store, table, space, names)

    rows = store.read(table, [space(name) for name in reversed(names)])

    assert [row.value(b"one:a") for row in rows] == names[::-1]


def test_columns_choose_a_column_or_a_whole_family(store: Store, table: str, space: Space) -> None:
    columns = [b"one:a", b"one:ab", b"one:b", b"three:a", b"three:b"]
    store.write(table, [Put(space(b"k"), [NewCell(column, 1000, column) for column in columns])])

    def chosen(*wanted):
        [read] = store.read(table, [space(b"k")], Wanted(wanted))
        [scanned] = store.scan(table, [space.range()], Wanted(wanted))
        [[first]] = store.first_rows(table, [space.range()], 1, Wanted(wanted))
        assert read == scanned == first
        return sorted(read.cells)

    assert chosen(b"one:a") == [b"one:a"]
    assert chosen(b"one:") == [b"one:a", b"one:ab", b"one:b"]
    assert chosen(b"one:b", b"three:a") == [b"one:b", b"three:a"]
    assert chosen(b"one:", b"one:a", b"three:b") == [b"one:a", b"one:ab", b"one:b", b"three:b"]
    assert chosen(b"one:a", b"one:a", b"one:none") == [b"one:a"]


def test_a_row_without_a_cell_in_the_wanted_columns_does_not_come(store: Store, table: str, space: Space) -> None:
    fill(store, table, space, [b"a", b"c"], b"one:a")
    fill(store, table, space, [b"b"], b"three:a")

    wanted = [b"three:a"]

    assert store.read(table, [space(b"a")], Wanted(wanted)) == [None]
    assert names_of(space, store.scan(table, [space.range()], Wanted(wanted))) == [b"b"]
    assert names_of(space, store.scan(table, [space.range()], Wanted(wanted, keys_only=True))) == [b"b"]
    [first] = store.first_rows(table, [space.range()], 5, Wanted(wanted))
    assert names_of(space, first) == [b"b"]


def test_no_columns_are_not_all_columns(store: Store, table: str, space: Space) -> None:
    fill(store, table, space, [b"a"])

    store.write(table, [Delete(space(b"a"), 5000, [])])

    assert store.read(table, [space(b"a")], Wanted([])) == [None]
    assert list(store.scan(table, [space.range()], Wanted([]))) == []
    assert store.first_rows(table, [space.range()], 1, Wanted([])) == [[]]
    assert store.read(table, [space(b"a")]) != [None]


# ---- scans -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_a_range_includes_its_start_and_leaves_out_its_stop(
    store: Store, table: str, space: Space, reverse: bool
) -> None:
    fill(store, table, space, [b"a", b"a\x00", b"b", b"c", b"c\x00"])

    rows = store.scan(table, [space.range(b"a\x00", b"c")], reverse=reverse)

    expected = [b"a\x00", b"b"]
    assert names_of(space, rows) == (expected[::-1] if reverse else expected)


@pytest.mark.parametrize("reverse", [False, True])
def test_ranges_are_taken_together(store: Store, table: str, space: Space, reverse: bool) -> None:
    names = [b"%02d" % i for i in range(50)]
    fill(store, table, space, names)
    ranges = [
        space.range(b"40", b"42"),
        space.range(b"10", b"20"),
        space.range(b"15", b"25"),  # overlapping
        space.range(b"25", b"27"),  # adjacent
        space.range(b"30", b"30"),
        space.range(b"35", b"33"),  # empty
        space.range(b"12", b"13"),  # inside of another
        space.range(b"48x", b"48y"),  # without a row
    ]

    rows = store.scan(table, ranges, reverse=reverse)

    expected = names[10:27] + names[40:42]
    assert names_of(space, rows) == (expected[::-1] if reverse else expected)


def test_a_scan_of_no_ranges_gives_no_rows(store: Store, table: str) -> None:
    assert list(store.scan(table, [])) == []
    assert store.first_rows(table, [], 5) == []


@pytest.mark.parametrize("reverse", [False, True])
def test_an_open_end_is_the_end_of_the_table(store: Store, new_table: Callable[..., str], reverse: bool) -> None:
    table = new_table(FamilySchema("one"))
    keys = [b"\x00", b"a", b"b", b"c", b"\xff\xff\xff"]
    store.write(table, [put(key) for key in keys])

    def scanned(start, stop):
        row_keys = [row.key for row in store.scan(table, [KeyRange(start, stop)], reverse=reverse)]
        return row_keys[::-1] if reverse else row_keys

    assert scanned(b"", b"") == keys
    assert scanned(b"", b"b") == keys[:2]
    assert scanned(b"b", b"") == keys[2:]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [0, 1, 7, 100, 299, 300, 301])
def test_a_limit_counts_rows_exactly_over_all_ranges(
    store: Store, table: str, space: Space, limit: int, reverse: bool
) -> None:
    names = [b"%03d" % i for i in range(300)]
    fill(store, table, space, names)
    ranges = [space.range(b"%03d" % start, b"%03d" % (start + 10)) for start in range(0, 300, 10)]

    rows = list(store.scan(table, ranges, limit=limit, reverse=reverse))

    assert names_of(space, rows) == (names[::-1] if reverse else names)[:limit]


def test_a_limit_counts_only_rows_that_come(store: Store, table: str, space: Space) -> None:
    fill(store, table, space, [b"%03d" % i for i in range(200)], b"one:a")
    fill(store, table, space, [b"150", b"180", b"190"], b"three:a")

    rows = store.scan(table, [space.range()], Wanted([b"three:"]), limit=2)

    assert names_of(space, rows) == [b"150", b"180"]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("keys_only", [False, True])
def test_a_long_scan_gives_each_row_once_and_in_order(
    store: Store, table: str, space: Space, reverse: bool, keys_only: bool
) -> None:
    names = [b"%05d" % i for i in range(3000)]
    for batch in range(0, 3000, 1000):
        fill(store, table, space, names[batch : batch + 1000])

    scanned = names_of(space, store.scan(table, [space.range()], Wanted(keys_only=keys_only), reverse=reverse))

    assert scanned == (names[::-1] if reverse else names)


@pytest.mark.parametrize("reverse", [False, True])
def test_only_keys_come_without_cells(store: Store, table: str, space: Space, reverse: bool) -> None:
    fill(store, table, space, [b"a", b"b"])
    fill(store, table, space, [b"b", b"c"], b"three:a")

    rows = list(store.scan(table, [space.range()], Wanted(keys_only=True), reverse=reverse))
    [first] = store.first_rows(table, [space.range()], 9, Wanted(keys_only=True), reverse=reverse)

    assert names_of(space, rows) == ([b"c", b"b", b"a"] if reverse else [b"a", b"b", b"c"])
    assert names_of(space, first) == names_of(space, rows)
    assert [dict(row.cells) for row in [*rows, *first]] == [{}] * 6


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("columns", [[b"one:", b"three:"], [b"one:b", b"three:a"], [b"one:", b"three:a", b"hour:"]])
def test_the_keys_of_some_columns_come_whichever_of_them_has_a_cell(
    store: Store, table: str, space: Space, columns: Any, reverse: bool
) -> None:
    fill(store, table, space, [b"a", b"d"], b"one:b")
    fill(store, table, space, [b"b", b"d"], b"three:a")
    fill(store, table, space, [b"c", b"gone"], b"one:b")
    fill(store, table, space, [b"c"], b"three:a")
    store.write(table, [Delete(space(b"c"), 5000, [b"one:"]), Delete(space(b"gone"), 5000, [b"one:b"])])
    fill(store, table, space, [b"other"], b"three:b" if b"three:" not in columns else b"hour:a")

    scanned = names_of(space, store.scan(table, [space.range()], Wanted(columns, keys_only=True), reverse=reverse))
    [first] = store.first_rows(table, [space.range()], 9, Wanted(columns, keys_only=True), reverse=reverse)

    assert scanned == ([b"d", b"c", b"b", b"a"] if reverse else [b"a", b"b", b"c", b"d"])
    assert names_of(space, first) == scanned


def test_the_keys_of_a_time_range_are_those_with_any_cell_in_it(store: Store, table: str, space: Space) -> None:
    for name, times in ((b"a", (1000, 5000)), (b"b", (5000, 1000)), (b"c", (1000, 9000)), (b"d", (3000, 3000))):
        cells = [NewCell(column, time, b"x") for column, time in zip((b"one:a", b"three:a"), times, strict=True)]
        store.write(table, [Put(space(name), cells)])

    rows = store.scan(
        table, [space.range()], Wanted([b"one:a", b"three:"], time_range=TimeRange(4000, 6000), keys_only=True)
    )

    assert names_of(space, rows) == [b"a", b"b"]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_backward_scan_gives_the_same_rows(store: Store, table: str, space: Space, reverse: bool) -> None:
    cells = [NewCell(column, t, b"%d" % t) for column in (b"three:a", b"three:b", b"one:a") for t in (1000, 2000, 3000)]
    store.write(table, [Put(space(b"%d" % i), cells) for i in range(5)])

    rows = list(store.scan(table, [space.range()], Wanted(versions=3), reverse=reverse))

    three = [(3000, b"3000"), (2000, b"2000"), (1000, b"1000")]
    assert [cells_of(row) for row in rows] == [{b"one:a": three[:1], b"three:a": three, b"three:b": three}] * 5


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_goes_on_where_it_was_while_rows_come_and_go(
    store: Store, table: str, space: Space, reverse: bool
) -> None:
    names = [b"%04d" % i for i in range(0, 2000, 2)]
    fill(store, table, space, names)
    scan = store.scan(table, [space.range()], reverse=reverse)
    order = names[::-1] if reverse else names

    scanned = names_of(space, itertools.islice(scan, 10))
    last = int(scanned[-1])
    store.write(
        table, [Delete(space(scanned[-1]), 5000), Delete(space(order[10]), 5000), Delete(space(order[-1]), 5000)]
    )
    fill(store, table, space, [b"%04d" % i for i in range(1, 2000, 2)])
    scanned += names_of(space, scan)

    assert len(scanned) == len(set(scanned))
    assert scanned == sorted(scanned, reverse=reverse)
    gone = {order[10], order[-1]}
    assert set(order) - gone <= set(scanned)
    passed = {b"%04d" % i for i in (range(last, 2000) if reverse else range(last))} - set(scanned[:10])
    assert not passed & set(scanned[10:])


def test_a_scan_may_be_left_before_its_end(store: Store, table: str, space: Space) -> None:
    fill(store, table, space, [b"%03d" % i for i in range(300)])

    for _ in range(30):
        next(store.scan(table, [space.range()]))

    assert len(list(store.scan(table, [space.range()]))) == 300


def test_two_scans_of_one_store_run_side_by_side(store: Store, table: str, space: Space) -> None:
    names = [b"%03d" % i for i in range(400)]
    fill(store, table, space, names)

    pairs = zip(store.scan(table, [space.range()]), store.scan(table, [space.range()], reverse=True), strict=True)

    assert [(a.key, b.key) for a, b in pairs] == [(space(a), space(b)) for a, b in zip(names, names[::-1], strict=True)]


def test_a_row_of_many_columns_comes_whole(store: Store, table: str, space: Space) -> None:
    columns = [b"one:%05d" % i for i in range(6000)]
    store.write(table, [Put(space(b"wide"), [NewCell(column, 1000, b"v") for column in columns]), put(space(b"x"))])

    rows = list(store.scan(table, [space.range()]))

    assert names_of(space, rows) == [b"wide", b"x"]
    assert sorted(rows[0].cells) == columns


# ---- the first rows of many ranges -------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_the_first_rows_of_256_ranges_come_in_the_order_of_the_ranges(
    store: Store, table: str, space: Space, reverse: bool
) -> None:
    fill(store, table, space, [b"%02x:%d" % (salt, i) for salt in range(0, 256, 3) for i in range(5)])
    ranges = [space.range(b"%02x:" % salt, b"%02x;" % salt) for salt in range(256)][::-1]

    pieces = store.first_rows(table, ranges, 2, reverse=reverse)

    assert len(pieces) == 256
    chosen = (4, 3) if reverse else (0, 1)
    expected = [[b"%02x:%d" % (salt, i) for i in chosen] if salt % 3 == 0 else [] for salt in range(256)][::-1]
    assert [names_of(space, rows) for rows in pieces] == expected
    assert pieces[0][0].value(b"one:a") == b"ff:%d" % chosen[0]


def test_first_rows_answer_each_range_by_itself(store: Store, table: str, space: Space) -> None:
    fill(store, table, space, [b"a", b"b", b"c"])
    ranges = [space.range(), space.range(b"b"), space.range(b"b"), space.range(b"b", b"b"), space.range(b"x")]

    first = store.first_rows(table, ranges, 2)
    last = store.first_rows(table, [*ranges, space.range(b"a", b"b")], 2, reverse=True)

    assert [names_of(space, rows) for rows in first] == [[b"a", b"b"], [b"b", b"c"], [b"b", b"c"], [], []]
    assert [names_of(space, rows) for rows in last] == [[b"c", b"b"], [b"c", b"b"], [b"c", b"b"], [], [], [b"a"]]


@pytest.mark.parametrize("reverse", [False, True])
def test_the_first_rows_of_an_open_range_begin_at_the_end_of_the_table(
    store: Store, new_table: Callable[..., str], reverse: bool
) -> None:
    table = new_table(FamilySchema("one"))
    keys = [b"\x00", b"a", b"b", b"\xff\xff\xff"]
    store.write(table, [put(key) for key in keys])
    ranges = [KeyRange(), KeyRange(b"a"), KeyRange(b"", b"b")]

    row_keys = [[row.key for row in rows] for rows in store.first_rows(table, ranges, 2, reverse=reverse)]

    first, last = [keys[:2], keys[1:3], keys[:2]], [keys[:1:-1], keys[:1:-1], keys[1::-1]]
    assert row_keys == (last if reverse else first)


@pytest.mark.parametrize("reverse", [False, True])
def test_first_rows_give_fewer_than_the_limit_only_at_the_end_of_a_range(
    store: Store, table: str, space: Space, reverse: bool
) -> None:
    fill(store, table, space, [b"%d/%03d" % (i, j) for i in range(4) for j in range(120)])
    ranges = [space.range(b"%d/" % i, b"%d0" % i) for i in range(4)]

    pieces = store.first_rows(table, ranges, 100, reverse=reverse)

    assert [len(rows) for rows in pieces] == [100] * 4
    assert [len(rows) for rows in store.first_rows(table, ranges, 200, reverse=reverse)] == [120] * 4


# ---- a row in pieces ---------------------------------------------------------------------------------------------


def columns_of(
    store: Store, table: str, row: bytes, family: bytes, *qualifiers: KeyRange, **options: Any
) -> list[tuple[bytes, Cell]]:
    [cells] = store.read_cells(table, [row], family, *qualifiers, **options)
    return cells


def qualifiers_of(cells: Iterable[tuple[bytes, Cell]], family: bytes = b"three:") -> list[bytes]:
    return [column.removeprefix(family) for column, _ in cells]


def fill_row(
    store: Store, table: str, row: bytes, qualifiers: Iterable[bytes], family: bytes = b"three:", timestamp: int = 1000
) -> None:
    cells = [NewCell(family + qualifier, timestamp, qualifier) for qualifier in qualifiers]
    assert store.write(table, [Put(row, cells)]) == [None]


def test_the_first_columns_of_a_family_come_in_byte_order_with_their_newest_cells(
    store: Store, table: str, space: Space
) -> None:
    names = [b"b", b"a", b"\xff", b"B", b"a\x00", b"\x00", b"a:c", b"last\xff"]
    fill_row(store, table, space(b"k"), names)
    fill_row(store, table, space(b"k"), [b"a"], timestamp=2000)
    fill_row(store, table, space(b"k"), [b"0"], b"one:")
    fill_row(store, table, space(b"k\x00"), [b"0"])

    cells = columns_of(store, table, space(b"k"), b"three", limit=5)

    assert cells == [(b"three:" + name, Cell(2000 if name == b"a" else 1000, name)) for name in sorted(names)[:5]]
    assert isinstance(cells[0][1], Cell)
    assert qualifiers_of(columns_of(store, table, space(b"k"), b"three", limit=99)) == sorted(names)


def test_a_range_of_columns_includes_its_start_and_leaves_out_its_stop(store: Store, table: str, space: Space) -> None:
    fill_row(store, table, space(b"k"), [b"a", b"a\x00", b"b", b"c", b"c\x00"])

    def qualifiers(*keys, limit=9):
        return qualifiers_of(columns_of(store, table, space(b"k"), b"three", KeyRange(*keys), limit=limit))

    assert qualifiers(b"a\x00", b"c") == [b"a\x00", b"b"]
    assert qualifiers(b"b") == [b"b", b"c", b"c\x00"]
    assert qualifiers(b"", b"b") == [b"a", b"a\x00"]
    assert qualifiers(b"a", b"", limit=2) == [b"a", b"a\x00"]
    assert qualifiers(b"c", b"c") == qualifiers(b"d", b"b") == qualifiers(b"x") == qualifiers(limit=0) == []


def test_qualifiers_of_any_bytes_bound_a_range_of_columns(store: Store, table: str, space: Space) -> None:
    parts = [b"'", b"''", b"(", b")", b",", b" ", b"AND", b"\\", b"\x00", b"\xff", b":", b"\n", b"=", "é".encode()]
    names = sorted({b"".join(chosen) for length in (1, 2) for chosen in itertools.product(parts, repeat=length)})
    fill_row(store, table, space(b"k"), names)

    for start, stop in zip(names[::7], names[20::7], strict=False):
        cells = columns_of(store, table, space(b"k"), b"three", KeyRange(start, stop), limit=15, keys_only=True)
        assert qualifiers_of(cells) == [name for name in names if start <= name < stop][:15]


def test_a_wide_row_is_read_in_pieces(store: Store, table: str, space: Space) -> None:
    names = [b"%05d" % i for i in range(2500)]
    fill_row(store, table, space(b"k"), names)

    cells, columns = [], KeyRange()
    while piece := columns_of(store, table, space(b"k"), b"three", columns, limit=400):
        cells += piece
        columns = columns.after(piece[-1][0].removeprefix(b"three:"))

    assert cells == [(b"three:" + name, Cell(1000, name)) for name in names]


def test_columns_without_their_values_have_their_timestamps(store: Store, table: str, space: Space) -> None:
    fill_row(store, table, space(b"k"), [b"a", b"b", b"c"])

    cells = columns_of(store, table, space(b"k"), b"three", KeyRange(b"b"), limit=9, keys_only=True)

    assert cells == [(b"three:b", Cell(1000, b"")), (b"three:c", Cell(1000, b""))]


def test_fewer_columns_than_the_limit_are_the_last_however_large_they_are(
    store: Store, table: str, space: Space
) -> None:
    cells = [NewCell(b"three:%02d" % i, 1000, bytes(200_000)) for i in range(40)]
    store.write(table, [Put(space(b"k"), cells)])

    first = columns_of(store, table, space(b"k"), b"three", limit=30)
    rest = columns_of(store, table, space(b"k"), b"three", KeyRange(b"30"), limit=30)

    assert [column for column, _ in first + rest] == [cell.column for cell in cells]
    assert {len(cell.value) for _, cell in first + rest} == {200_000}


def test_columns_that_are_deleted_or_expired_do_not_come(store: Store, table: str, space: Space) -> None:
    now = int(time.time() * 1000)
    fill_row(store, table, space(b"k"), [b"a", b"b", b"c"], b"hour:", now - 2 * HOUR)
    fill_row(store, table, space(b"k"), [b"b", b"d", b"e", b"f"], b"hour:", now - 1000)
    store.write(table, [Delete(space(b"k"), now, [b"hour:d"])])

    cells = columns_of(store, table, space(b"k"), b"hour", limit=2)

    assert cells == [(b"hour:b", Cell(now - 1000, b"b")), (b"hour:e", Cell(now - 1000, b"e"))]


def test_a_row_without_the_family_has_no_columns_in_it(store: Store, table: str, space: Space) -> None:
    fill_row(store, table, space(b"k"), [b"a"])

    assert columns_of(store, table, space(b"k"), b"one", limit=5) == []
    assert columns_of(store, table, space(b"none"), b"three", limit=5) == []
    assert columns_of(store, table, b"", b"three", limit=5) == []
    assert columns_of(store, table, b"k" * (MAX_ROW_KEY + 1), b"three", limit=5) == []


def test_many_rows_are_read_in_pieces_at_once(store: Store, table: str, space: Space) -> None:
    names = [b"%03d" % i for i in range(250)]
    columns = [NewCell(column, 1000, b"v") for column in (b"three:a", b"three:b", b"three:c")]
    store.write(table, [Put(space(name), columns[: int(name) % 4]) for name in names])

    rows = store.read_cells(table, [space(name) for name in [*names[::-1], b"none", b"003"]], b"three", limit=2)

    expected = [[(cell.column, cell[1:]) for cell in columns[: int(name) % 4][:2]] for name in names]
    assert rows == [*expected[::-1], [], expected[3]]
    assert store.read_cells(table, [], b"three", limit=2) == []


def test_rows_are_read_in_pieces_whatever_lies_between_them(store: Store, table: str, space: Space) -> None:
    widths = [3, 0, 1, 40, 2, 1, 0, 25, 5] * 20
    puts = [
        Put(
            space(b"%03d" % at),
            [NewCell(b"one:x", 1000, b""), *(NewCell(b"three:%02d" % i, 1000, b"") for i in range(n))],
        )
        for at, n in enumerate(widths)
    ]
    assert not any(store.write(table, puts))
    draw = random.Random(20261122)
    in_groups = [at for at in range(180) if at // 20 % 2]

    for places in (range(180), range(0, 180, 7), in_groups, draw.choices(range(200), k=90), [3], [1, 179]):
        rows = store.read_cells(table, [space(b"%03d" % at) for at in places], b"three", limit=4, keys_only=True)

        wide = [widths[at] if at < 180 else 0 for at in places]
        assert [qualifiers_of(cells) for cells in rows] == [[b"%02d" % i for i in range(min(n, 4))] for n in wide]


def test_the_longest_row_key_is_read_in_pieces_too(store: Store, table: str, space: Space) -> None:
    key = space(b"k" * 16_000)
    fill_row(store, table, key, [b"a", b"b"])

    assert qualifiers_of(columns_of(store, table, key, b"three", KeyRange(b"b"), limit=5)) == [b"b"]


# ---- rows that contain words -------------------------------------------------------------------------------------

WORDS_IN_VALUES: Final[list[tuple[str, list[str]]]] = [
    ("HBase row keys", ["hbase", "ROW", "w k", "HBase row keys", ""]),
    ("Straße", ["STRAßE", "straße", "aß"]),
    ("STRAẞE", ["straße", "ße"]),
    ("İSTANBUL", ["stanbul", "i̇s", "i", "i̇", "̇s"]),
    ("TAKSİ", ["taksi", "taksi̇", "TAKSİ"]),
    ("300 \u212a und 5 \u212b", ["k", "300 K", "å"]),
    ("ΟΔΟΣ", ["οδος", "ΟΔΟΣ", "οδο", "ς"]),
    ("ΟΔΟΣ ΟΔΟΣ", ["ς ο", "οδος"]),
    ("ᾈδης ǅep Ꭰ", ["ᾀΔ", "ǆ", "Ǆ", "ꭰ"]),
    ("Привет МИР 日本語 😀", ["привет мир", "本", "😀", "МИР 日"]),
    (r"C:\Temp\Edge \Q.*\E [a-z]+ (x|y)$", [r"\Edge", r"\q.*\e", "[A-Z]+", "(X|Y)$", "\\"]),
    ("it's 'quoted', AND \"more\"", ["'", "IT'S", "', and", "''"[:1], '"more"']),
    ("two\nlines\x00zero\ttab", ["lines", "O\nL", "\x00z", "\t"]),
]


@pytest.mark.parametrize(("value", "words"), WORDS_IN_VALUES)
def test_a_row_that_contains_the_words_is_never_left_out(
    store: Store, table: str, space: Space, value: str, words: Any
) -> None:
    store.write(table, [put(space(b"k"), b"one:t", value.encode())])

    for chosen in [*((word,) for word in words), tuple(words)]:
        containing = Containing(b"one:t", chosen)
        assert containing.holds(value.encode())
        assert names_of(space, store.scan(table, [space.range()], Wanted(containing=containing))) == [b"k"], chosen
        [first] = store.first_rows(table, [space.range()], 5, Wanted(keys_only=True, containing=containing))
        assert names_of(space, first) == [b"k"], chosen


def test_of_any_texts_none_that_contains_the_words_is_left_out(
    store: Store, table: str, property_examples: int
) -> None:
    letters = st.text(st.sampled_from("aAiIİıkKK\u0307sSßẞſσςΣåÅÅǆǅé'\\E") | st.characters(), max_size=6)

    @settings(max_examples=property_examples, deadline=None)
    @given(values=st.lists(letters, min_size=1, max_size=30), words=st.lists(letters, max_size=2), data=st.data())
    def holds(values, words, data):
        prefix = uuid.uuid4().hex.encode() + b"/"
        encoded = [value.encode(errors="replace") for value in values]
        assert store.write(table, [put(prefix + b"%02d" % i, b"one:t", value) for i, value in enumerate(encoded)])
        text = data.draw(st.sampled_from(encoded)).decode()
        at = data.draw(st.integers(0, len(text)))
        for chosen in ((text[at : at + 3].swapcase(),), (text.lower()[at:],), tuple(words)):
            containing = Containing(b"one:t", chosen)
            row_keys = {
                row.key
                for row in store.scan(table, [KeyRange(prefix, prefix + b"\xff")], Wanted(containing=containing))
            }
            assert {prefix + b"%02d" % i for i, value in enumerate(encoded) if containing.holds(value)} <= row_keys

    holds()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("columns", [None, [b"one:t"], [b"one:"], [b"three:a"], [b"three:"], [b"three:", b"one:b"]])
def test_rows_that_do_not_contain_the_words_are_left_out(
    store: Store, table: str, space: Space, columns: Any, reverse: bool
) -> None:
    values = {b"a": b"Alpha beta", b"b": b"beta", b"c": b"BETA alpha", b"d": b"alpha", b"f": b"alphabeta"}
    fill(store, table, space, [*values, b"e"], b"three:a")
    store.write(table, [put(space(name), b"one:t", value) for name, value in values.items()])
    containing = Containing(b"one:t", ("alpha", "Beta"))

    rows = list(store.scan(table, [space.range()], Wanted(columns, containing=containing), reverse=reverse))
    keys = list(
        store.scan(table, [space.range()], Wanted(columns, keys_only=True, containing=containing), reverse=reverse)
    )
    [first] = store.first_rows(table, [space.range()], 9, Wanted(columns, containing=containing), reverse=reverse)

    assert names_of(space, rows) == ([b"f", b"c", b"a"] if reverse else [b"a", b"c", b"f"])
    assert rows == first == store.read(table, [row.key for row in rows], Wanted(columns))
    assert keys == [row._replace(cells={}) for row in rows]


@pytest.mark.parametrize("keys_only", [False, True])
@pytest.mark.parametrize("columns", [[b"three:a"], [b"three:"], [b"three:a", b"hour:"]])
def test_a_row_with_the_words_but_none_of_the_columns_does_not_come(
    store: Store, table: str, space: Space, columns: Any, keys_only: bool
) -> None:
    fill(store, table, space, [b"a", b"b", b"c"], b"one:t")
    fill(store, table, space, [b"b", b"c"], b"one:0")
    fill(store, table, space, [b"c"], b"three:a")

    def wanted(name: str) -> Wanted:
        return Wanted(columns, keys_only=keys_only, containing=Containing(b"one:t", (name,)))

    rows = store.scan(table, [space.range()], wanted("a"))
    names = [names_of(space, store.scan(table, [space.range()], wanted(name))) for name in "bc"]

    assert names_of(space, rows) == []
    assert names == [[], [b"c"]]


@pytest.mark.parametrize("reverse", [False, True])
def test_limits_count_the_rows_that_contain_the_words(store: Store, table: str, space: Space, reverse: bool) -> None:
    names = [b"%03d" % i for i in range(300)]
    store.write(table, [put(space(name), b"one:t", b"even" if int(name) % 2 else b"odd") for name in names])
    ranges = [space.range(b"%03d" % start, b"%03d" % (start + 50)) for start in range(0, 300, 50)]
    containing = Containing(b"one:t", ("EVEN",))

    rows = store.scan(table, ranges, Wanted(containing=containing), limit=60, reverse=reverse)
    firsts = store.first_rows(table, ranges, 20, Wanted(containing=containing), reverse=reverse)

    even = [name for name in names if int(name) % 2]
    assert names_of(space, rows) == (even[::-1] if reverse else even)[:60]
    pieces = [even[start : start + 25] for start in range(0, 150, 25)]
    assert [names_of(space, rows) for rows in firsts] == [(piece[::-1] if reverse else piece)[:20] for piece in pieces]


def test_a_long_scan_for_words_gives_each_row_once_and_in_order(store: Store, table: str, space: Space) -> None:
    names = [b"%05d" % i for i in range(3000)]
    store.write(table, [put(space(name), b"one:t", name) for name in names])

    rows = store.scan(table, [space.range()], Wanted(containing=Containing(b"one:t", ("7",))))

    assert names_of(space, rows) == [name for name in names if b"7" in name]


def test_the_newest_value_is_what_contains_the_words(store: Store, table: str, space: Space) -> None:
    for name, values in ((b"now", (b"old", b"word")), (b"once", (b"word", b"new")), (b"gone", (b"old", b"word"))):
        store.write(table, [put(space(name), b"three:t", value, 1000 + i) for i, value in enumerate(values)])
    store.write(table, [Delete(space(b"gone"), 1000, [b"three:t"]), Delete(space(b"gone"), 1001, [b"three:t"])])
    containing = Containing(b"three:t", ("word",))

    rows = list(store.scan(table, [space.range()], Wanted(versions=3, containing=containing)))

    assert names_of(space, rows) == [b"now"]
    assert cells_of(rows[0]) == {b"three:t": [(1001, b"word"), (1000, b"old")]}


def test_in_a_time_range_its_newest_value_is_what_contains_the_words(store: Store, table: str, space: Space) -> None:
    for name, values in ((b"in", (b"word", b"new")), (b"out", (b"old", b"word"))):
        store.write(table, [put(space(name), b"three:t", value, 1000 + i) for i, value in enumerate(values)])
    containing = Containing(b"three:t", ("word",))

    for time_range in (TimeRange(0, 1001), TimeRange(500, 1001)):
        for keys_only in (False, True):
            rows = store.scan(
                table, [space.range()], Wanted(time_range=time_range, keys_only=keys_only, containing=containing)
            )
            assert names_of(space, rows) == [b"in"]


def test_no_words_leave_out_no_row_with_a_value(store: Store, table: str, space: Space) -> None:
    fill(store, table, space, [b"a", b"b"], b"one:t")

    for words in ((), ("",)):
        rows = store.scan(table, [space.range()], Wanted(containing=Containing(b"one:t", words)))
        assert names_of(space, rows) == [b"a", b"b"]


# ---- versions, time ranges, TTL ----------------------------------------------------------------------------------


def test_a_column_keeps_its_newest_versions_whatever_order_they_come_in(store: Store, table: str, space: Space) -> None:
    times = [3000, 1000, 5000, 2000, 4000]
    for timestamp in times:
        cells = [NewCell(column, timestamp, b"%d" % timestamp) for column in (b"one:a", b"three:a")]
        store.write(table, [Put(space(b"k"), cells)])

    [row] = store.read(table, [space(b"k")], Wanted(versions=10))

    assert cells_of(row) == {
        b"one:a": [(5000, b"5000")],
        b"three:a": [(5000, b"5000"), (4000, b"4000"), (3000, b"3000")],
    }


@pytest.mark.parametrize("versions", [1, 2, 3])
def test_as_many_versions_come_as_are_asked_for_the_newest_first(
    store: Store, table: str, space: Space, versions: int
) -> None:
    store.write(table, [put(space(b"k"), b"three:a", b"%d" % t, t) for t in (1000, 2000, 3000)])

    [read] = store.read(table, [space(b"k")], Wanted(versions=versions))
    [scanned] = store.scan(table, [space.range()], Wanted(versions=versions))

    assert read == scanned
    assert [cell.timestamp for cell in read.cells[b"three:a"]] == [3000, 2000, 1000][:versions]


@pytest.mark.parametrize(
    ("time_range", "expected"),
    [
        (TimeRange(), [3000, 2000, 1000]),
        (TimeRange(since=2000), [3000, 2000]),
        (TimeRange(until=2000), [1000]),
        (TimeRange(2000, 3000), [2000]),
        (TimeRange(1001, 2000), []),
        (TimeRange(2000, 2000), []),
        (TimeRange(0, 3001), [3000, 2000, 1000]),
    ],
)
def test_a_time_range_includes_its_since_and_leaves_out_its_until(
    store: Store, table: str, space: Space, time_range: TimeRange, expected: list[int]
) -> None:
    store.write(table, [put(space(b"k"), b"three:a", b"%d" % t, t) for t in (1000, 2000, 3000)])

    [read] = store.read(table, [space(b"k")], Wanted(versions=3, time_range=time_range))
    scanned = list(store.scan(table, [space.range()], Wanted(versions=3, time_range=time_range)))
    keys = list(store.scan(table, [space.range()], Wanted(time_range=time_range, keys_only=True)))
    backwards = list(store.scan(table, [space.range()], Wanted(versions=3, time_range=time_range), reverse=True))

    assert [t for t, _ in cells_of(read).get(b"three:a", [])] == expected
    assert scanned == backwards == ([read] if read else [])
    assert [dict(row.cells) for row in keys] == ([{}] if read else [])


def test_a_time_range_finds_the_newest_version_inside_of_it(store: Store, table: str, space: Space) -> None:
    store.write(table, [put(space(b"k"), b"three:a", b"%d" % t, t) for t in (1000, 2000, 3000)])

    [row] = store.read(table, [space(b"k")], Wanted(time_range=TimeRange(0, 3000)))

    assert cells_of(row) == {b"three:a": [(2000, b"2000")]}


def test_cells_older_than_the_ttl_do_not_come(store: Store, table: str, space: Space) -> None:
    now = time.time_ns() // 1_000_000
    store.write(
        table,
        [
            put(space(b"new"), b"hour:a", b"new", now - HOUR // 2),
            put(space(b"new"), b"hour:a", b"old", now - 2 * HOUR),
            put(space(b"old"), b"hour:a", b"old", now - 2 * HOUR),
            put(space(b"old"), b"hour:b", b"older", 1000),
        ],
    )

    rows = list(store.scan(table, [space.range()], Wanted(versions=3)))

    assert [cells_of(row) for row in rows] == [{b"hour:a": [(now - HOUR // 2, b"new")]}]
    assert store.read(table, [space(b"old")]) == [None]
    assert names_of(space, store.scan(table, [space.range()], Wanted(keys_only=True))) == [b"new"]
    assert names_of(space, store.scan(table, [space.range()], Wanted(time_range=TimeRange(), keys_only=True))) == [
        b"new"
    ]
    assert [names_of(space, rows) for rows in store.first_rows(table, [space.range()], 5)] == [[b"new"]]


def test_an_expired_cell_does_not_hide_the_row_s_other_families(store: Store, table: str, space: Space) -> None:
    store.write(table, [Put(space(b"k"), [NewCell(b"hour:a", 1000, b"old"), NewCell(b"one:a", 1000, b"kept")])])

    [row] = store.scan(table, [space.range()])

    assert cells_of(row) == {b"one:a": [(1000, b"kept")]}


def test_the_least_versions_outlive_the_ttl(store: Store, new_table: Callable[..., str]) -> None:
    try:
        table = new_table(FamilySchema("f", versions=3, min_versions=2, ttl=3600))
    except CapabilityError as exc:
        assert "min_versions" in str(exc)
        return

    store.write(table, [put(b"k", b"f:a", b"%d" % t, t) for t in (1000, 2000, 3000)])

    assert [cells_of(row) for row in store.scan(table, [KeyRange()], Wanted(versions=3))] == [
        {b"f:a": [(3000, b"3000"), (2000, b"2000")]}
    ]
    assert [cells_of(row) for row in store.read(table, [b"k"])] == [{b"f:a": [(3000, b"3000")]}]
    assert [row.key for row in store.scan(table, [KeyRange()], Wanted(keys_only=True))] == [b"k"]


# ---- deletes -----------------------------------------------------------------------------------------------------


def test_a_delete_of_a_row_removes_all_cells_at_or_below_its_timestamp(store: Store, table: str, space: Space) -> None:
    columns = (b"one:a", b"three:a", b"three:b")
    store.write(table, [Put(space(b"k"), [NewCell(c, t, b"%d" % t)]) for c in columns for t in (1000, 2000, 3000)])

    store.write(table, [Delete(space(b"k"), 2000)])

    [row] = store.read(table, [space(b"k")], Wanted(versions=3))
    assert cells_of(row) == {column: [(3000, b"3000")] for column in columns}


def test_a_row_whose_cells_are_all_deleted_is_gone(store: Store, table: str, space: Space) -> None:
    fill(store, table, space, [b"a", b"b", b"c"])

    outcomes = store.write(table, [Delete(space(b"b"), 1000)])

    assert outcomes == [None]
    assert names_of(space, store.scan(table, [space.range()])) == [b"a", b"c"]
    assert store.read(table, [space(b"b")]) == [None]


def test_a_delete_of_a_family_leaves_the_others(store: Store, table: str, space: Space) -> None:
    store.write(table, [Put(space(b"k"), [NewCell(c, 1000, b"v") for c in (b"one:a", b"one:b", b"three:a")])])

    store.write(table, [Delete(space(b"k"), 1000, [b"one:"])])

    [row] = store.read(table, [space(b"k")])
    assert list(row.cells) == [b"three:a"]


def test_a_delete_of_a_column_removes_all_its_versions_up_to_the_timestamp(
    store: Store, table: str, space: Space
) -> None:
    store.write(table, [put(space(b"k"), c, b"v", t) for c in (b"three:a", b"three:ab") for t in (1000, 2000, 3000)])

    store.write(table, [Delete(space(b"k"), 2000, [b"three:a"])])

    [row] = store.read(table, [space(b"k")], Wanted(versions=3))
    assert [cell.timestamp for cell in row.cells[b"three:a"]] == [3000]
    assert [cell.timestamp for cell in row.cells[b"three:ab"]] == [3000, 2000, 1000]


@pytest.mark.parametrize("columns", [None, [b"three:"], [b"three:a"]])
def test_an_older_put_written_after_a_delete_stays_hidden(store: Store, table: str, space: Space, columns: Any) -> None:
    store.write(table, [put(space(b"k"), b"three:a", b"first", 1000)])
    store.write(table, [Delete(space(b"k"), 2000, columns)])

    outcomes = store.write(table, [put(space(b"k"), b"three:a", b"late", t) for t in (500, 1000, 2000)])

    assert outcomes == [None] * 3
    assert store.read(table, [space(b"k")], Wanted(versions=3)) == [None]
    store.write(table, [put(space(b"k"), b"three:a", b"new", 2001)])
    assert cells_of(store.read(table, [space(b"k")], Wanted(versions=3))[0]) == {b"three:a": [(2001, b"new")]}


def test_a_delete_and_a_put_in_one_call_leave_the_newer_put(store: Store, table: str, space: Space) -> None:
    store.write(
        table,
        [
            put(space(b"k"), b"three:a", b"old", 1000),
            Delete(space(b"k"), 2000),
            put(space(b"k"), b"three:a", b"new", 3000),
            put(space(b"k"), b"three:b", b"hidden", 1500),
        ],
    )

    [row] = store.read(table, [space(b"k")], Wanted(versions=3))

    assert cells_of(row) == {b"three:a": [(3000, b"new")]}


def test_a_later_delete_with_an_older_timestamp_takes_nothing_back(store: Store, table: str, space: Space) -> None:
    store.write(table, [Delete(space(b"k"), 2000), Delete(space(b"k"), 1000)])

    store.write(table, [put(space(b"k"), timestamp=1500)])

    assert store.read(table, [space(b"k")]) == [None]


def test_a_delete_of_several_columns_is_one_delete(store: Store, table: str, space: Space) -> None:
    columns = [b"one:a", b"one:b", b"three:a", b"three:b"]
    store.write(table, [Put(space(b"k"), [NewCell(column, 1000, b"v") for column in columns])])

    store.write(table, [Delete(space(b"k"), 1000, [b"one:b", b"three:a", b"three:none"])])

    assert sorted(store.read(table, [space(b"k")])[0].cells) == [b"one:a", b"three:b"]


def test_a_delete_of_what_is_not_there_is_no_error(store: Store, table: str, space: Space) -> None:
    assert store.write(table, [Delete(space(b"k"), 1000), Delete(space(b"k"), 1000, [b"one:a"])]) == [None, None]


# ---- outcomes and refusals ---------------------------------------------------------------------------------------


def bad_mutations(space: Callable[[bytes], bytes], max_cell: int = 0) -> dict[str, Mutation]:
    return {
        "no row key": put(b""),
        "row key too long": put(b"k" * (MAX_ROW_KEY + 1)),
        "cell too large": put(space(b"big"), b"one:a", bytes(max_cell)),
        "unknown family": put(space(b"bad"), b"nix:a"),
        "unknown family, deleted": Delete(space(b"bad"), 1000, [b"nix:a"]),
        "no family": put(space(b"bad"), b"one"),
        "negative timestamp": put(space(b"bad"), timestamp=-1),
        "timestamp that HBase takes for now": put(space(b"bad"), timestamp=2**63 - 1),
        "delete of all times to come": Delete(space(b"a"), 2**63 - 1),
        "one bad cell of two": Put(space(b"half"), [NewCell(b"one:a", 1000, b"x"), NewCell(b"nix:a", 1000, b"x")]),
    }


def test_a_cell_has_its_largest_size_and_not_a_byte_more(store: Store, table: str, space: Space) -> None:
    # 24 bytes are HBase's own: lengths, timestamp, type
    max_value = store.capabilities.max_cell - 24 - len(space(b"k")) - len(b"onea")

    outcomes = store.write(
        table,
        [
            put(space(b"k"), value=bytes(max_value)),
            put(space(b"x")),
            put(space(b"k"), value=bytes(max_value + 1), timestamp=2000),
        ],
    )

    assert [type(outcome) for outcome in outcomes] == [type(None), type(None), StoreRefused]
    assert f"{store.capabilities.max_cell:,}" in str(outcomes[2])
    [row] = store.read(table, [space(b"k")])
    assert len(row.value(b"one:a")) == max_value


@pytest.mark.parametrize("kind", bad_mutations(lambda key: key))
def test_a_bad_mutation_is_refused_and_spoils_no_other(store: Store, table: str, space: Space, kind: str) -> None:
    bad = bad_mutations(space, store.capabilities.max_cell)[kind]

    outcomes = store.write(table, [put(space(b"a")), bad, put(space(b"b")), Delete(space(b"c"), 1000)])

    assert [type(outcome) for outcome in outcomes] == [type(None), StoreRefused, type(None), type(None)]
    assert names_of(space, store.scan(table, [space.range()])) == [b"a", b"b"]


def test_a_refusal_names_the_table_and_the_family(store: Store, table: str, space: Space) -> None:
    [outcome] = store.write(table, [put(space(b"a"), b"nix:a")])

    assert table in str(outcome)
    assert "nix" in str(outcome)


@pytest.mark.parametrize("columns", [[b"nix:a"], [b"nix:"], [b"one:a", b"nix:a"]])
def test_to_read_an_unknown_family_is_refused(store: Store, table: str, space: Space, columns: Any) -> None:
    fill(store, table, space, [b"a"])

    with pytest.raises(StoreRefused, match="nix"):
        store.read(table, [space(b"a")], Wanted(columns))
    with pytest.raises(StoreRefused, match="nix"):
        list(store.scan(table, [space.range()], Wanted(columns)))
    with pytest.raises(StoreRefused, match="nix"):
        store.first_rows(table, [space.range()], 1, Wanted(columns))
    with pytest.raises(StoreRefused, match="nix"):
        columns_of(store, table, space(b"a"), b"nix", limit=1)


@pytest.mark.parametrize("columns", [None, [b"one:"]])
def test_to_look_for_words_in_an_unknown_family_is_refused(
    store: Store, table: str, space: Space, columns: Any
) -> None:
    containing = Containing(b"nix:a", ("word",))

    for keys_only in (False, True):
        with pytest.raises(StoreRefused, match="nix"):
            list(store.scan(table, [space.range()], Wanted(columns, keys_only=keys_only, containing=containing)))
        with pytest.raises(StoreRefused, match="nix"):
            store.first_rows(table, [space.range()], 1, Wanted(columns, keys_only=keys_only, containing=containing))


def test_a_missing_table_is_said_to_be_missing(store: Store) -> None:
    calls = [
        lambda: store.write("no_such_table", [put(b"a")]),
        lambda: store.read("no_such_table", [b"a"]),
        lambda: list(store.scan("no_such_table", [KeyRange()])),
        lambda: list(store.scan("no_such_table", [KeyRange()], Wanted(keys_only=True), reverse=True)),
        lambda: store.first_rows("no_such_table", [KeyRange()], 1),
        lambda: store.first_rows("no_such_table", [KeyRange()], 1, reverse=True),
        lambda: store.first_rows("no_such_table", [KeyRange()], 1, Wanted(containing=Containing(b"f:t", ("word",)))),
        lambda: list(store.scan("no_such_table", [KeyRange()], Wanted(containing=Containing(b"f:t", ("word",))))),
        lambda: columns_of(store, "no_such_table", b"a", b"f", limit=1),
        lambda: store.describe("no_such_table"),
        lambda: store.drop_table("no_such_table"),
        lambda: store.regions("no_such_table"),
    ]
    if store.capabilities.changes_families:
        calls.append(lambda: store.set_family("no_such_table", FamilySchema("f")))

    for call in calls:
        with pytest.raises(TableNotFound, match="no_such_table"):
            call()


def test_wrong_arguments_are_refused(store: Store, table: str) -> None:
    with pytest.raises(InvalidArgument, match="versions"):
        store.read(table, [b"a"], Wanted(versions=0))
    with pytest.raises(InvalidArgument, match="versions"):
        list(store.scan(table, [KeyRange()], Wanted(versions=0)))
    with pytest.raises(InvalidArgument, match="limit"):
        list(store.scan(table, [KeyRange()], limit=-1))
    with pytest.raises(InvalidArgument, match="limit"):
        store.first_rows(table, [KeyRange()], -1)
    with pytest.raises(InvalidArgument, match="limit"):
        columns_of(store, table, b"a", b"one", limit=-1)
    for column in (b"one", b"one:"):
        with pytest.raises(InvalidArgument, match="containing"):
            list(store.scan(table, [KeyRange()], Wanted(containing=Containing(column, ("word",)))))
        with pytest.raises(InvalidArgument, match="containing"):
            store.first_rows(table, [KeyRange()], 1, Wanted(containing=Containing(column, ("word",))))


def test_a_closed_store_says_so(open_store: Callable[[], Store], table: str) -> None:
    store = open_store()
    scan = store.scan(table, [KeyRange()])
    store.close()

    for call in (
        lambda: store.read(table, [b"a"]),
        lambda: columns_of(store, table, b"a", b"one", limit=1),
        lambda: store.write(table, [put(b"a")]),
        lambda: list(scan),
        store.tables,
    ):
        with pytest.raises(StoreError, match="closed"):
            call()
    store.close()


# ---- many users at once ------------------------------------------------------------------------------------------


def test_another_store_on_the_same_data_sees_what_was_written(
    store: Store, open_store: Callable[[], Store], table: str, space: Space
) -> None:
    fill(store, table, space, [b"a"])

    with open_store() as other:
        fill(other, table, space, [b"b"])
        seen = names_of(space, other.scan(table, [space.range()]))

    assert seen == [b"a", b"b"]
    assert names_of(space, store.scan(table, [space.range()])) == [b"a", b"b"]


def test_a_store_serves_many_threads(store: Store, table: str, space: Space) -> None:
    start = threading.Barrier(12)

    def work(number):
        mine = [b"%02d/%03d" % (number, i) for i in range(60)]
        start.wait()
        for batch in range(0, 60, 20):
            fill(store, table, space, mine[batch : batch + 20])
            assert store.read(table, [space(mine[batch])])[0].value(b"one:a") == mine[batch]
        rows = list(store.scan(table, [space.range(b"%02d/" % number, b"%02d0" % number)]))
        return [row.value(b"one:a") for row in rows] == mine

    with ThreadPoolExecutor(12) as threads:
        results = list(threads.map(work, range(12)))

    assert all(results)
    assert len(list(store.scan(table, [space.range()]))) == 12 * 60


def test_a_put_is_seen_whole_or_not_at_all(store: Store, table: str, space: Space) -> None:
    columns = [b"one:a", b"one:b", b"three:a", b"three:b"]
    done = threading.Event()

    def write():
        for i in range(100):
            cells = [NewCell(column, 1000 + i, b"%d" % i) for column in columns]
            assert store.write(table, [Put(space(b"k"), cells)]) == [None]
        done.set()

    torn = []
    with ThreadPoolExecutor(1) as threads:
        writer = threads.submit(write)
        while not done.is_set() and not writer.done():
            [row] = store.read(table, [space(b"k")])
            if row and len({row.value(column) for column in columns}) != 1:
                torn.append(row)
        writer.result()

    assert torn == []


# ---- tables ------------------------------------------------------------------------------------------------------


def test_a_table_is_described_as_it_was_created(store: Store, new_table: Callable[..., str]) -> None:
    families = (
        FamilySchema("a", versions=3, ttl=86400, bloom="NONE"),
        FamilySchema("b", in_memory=True),
        FamilySchema("c", versions=2, ttl=7776000, bloom="ROWCOL", block_cache=False),
    )
    name = new_table(*families)

    described = store.describe(name)

    assert described.schema.name == name
    for family in families:
        unread = {option: getattr(family, option) for option in described.unread if option != "split_keys"}
        shown = described.schema.family(family.name)
        for option in ("versions", "ttl", "bloom", "in_memory", "block_cache"):
            if option not in unread:
                assert getattr(shown, option) == getattr(family, option)
    assert len(described.schema.families) == 3
    tables = store.tables()  # once: other tests make tables in the same HBase meanwhile
    assert name in tables
    assert tables == sorted(tables)


def test_split_keys_become_regions(store: Store, new_table: Callable[..., str]) -> None:
    splits = (b"4\x00", b"8", b"c\xff")
    try:
        table = new_table(FamilySchema("f"), split_keys=splits)
    except CapabilityError:
        return

    regions = store.regions(table)

    assert store.describe(table).schema.split_keys == splits
    assert [region.keys for region in regions] == [
        KeyRange(b"", b"4\x00"),
        KeyRange(b"4\x00", b"8"),
        KeyRange(b"8", b"c\xff"),
        KeyRange(b"c\xff", b""),
    ]
    keys = [b"%x" % i for i in range(16)]
    store.write(table, [put(key, b"f:a") for key in keys])
    assert [row.key for row in store.scan(table, [KeyRange()])] == keys
    assert [row.key for row in store.scan(table, [KeyRange()], reverse=True)] == keys[::-1]


def test_a_table_without_split_keys_has_one_region(store: Store, table: str) -> None:
    [region] = store.regions(table)

    assert region.keys == KeyRange()


def test_a_table_is_created_only_once(store: Store, new_table: Callable[..., str]) -> None:
    table = new_table(FamilySchema("one"))
    store.write(table, [put(b"a")])

    with pytest.raises(StoreRefused, match=table):
        store.create_table(TableSchema(table, (FamilySchema("other"),)))

    assert [row.key for row in store.scan(table, [KeyRange()])] == [b"a"]


def test_a_dropped_table_is_gone_with_its_rows(store: Store, new_table: Callable[..., str]) -> None:
    table = new_table(FamilySchema("one"))
    store.write(table, [put(b"a")])

    store.drop_table(table)

    assert table not in store.tables()
    with pytest.raises(TableNotFound):
        store.read(table, [b"a"])
    store.create_table(TableSchema(table, (FamilySchema("one"),)))
    assert list(store.scan(table, [KeyRange()])) == []


def test_a_family_is_added_to_a_table_with_rows(store: Store, new_table: Callable[..., str]) -> None:
    table = new_table(FamilySchema("one"))
    store.write(table, [put(b"a")])
    if not store.capabilities.changes_families:
        with pytest.raises(CapabilityError, match="alter"):
            store.set_family(table, FamilySchema("new"))
        return

    store.set_family(table, FamilySchema("new", versions=5))

    assert store.write(table, [put(b"a", b"new:a", b"y")]) == [None]
    assert sorted(store.read(table, [b"a"])[0].cells) == [b"new:a", b"one:a"]
    assert store.describe(table).schema.family("new").versions == 5


def test_a_family_s_options_are_changed_in_place(store: Store, new_table: Callable[..., str]) -> None:
    table = new_table(FamilySchema("one", versions=3), FamilySchema("two"))
    store.write(table, [put(b"a", b"one:a", b"%d" % t, t) for t in (1000, 2000, 3000)])
    changed = FamilySchema("one", versions=2, ttl=None)
    if not store.capabilities.changes_families:
        with pytest.raises(CapabilityError, match="alter"):
            store.set_family(table, changed)
        return

    store.set_family(table, changed)

    assert store.describe(table).schema.family("one").versions == 2
    assert store.describe(table).schema.family("two").versions == 1
    [row] = store.read(table, [b"a"], Wanted(versions=9))
    assert [cell.timestamp for cell in row.cells[b"one:a"]] == [3000, 2000]
    store.set_family(table, FamilySchema("one", versions=2, ttl=3600))
    assert store.read(table, [b"a"]) == [None]


# ---- the embedded store's share: together, and deletes of one timestamp ---------------------------------------------


def test_what_is_done_together_is_done(store: Store, table: str, space: Space) -> None:
    with store.transaction():
        outcomes = store.write(table, [put(space(b"a")), put(space(b"b"))])
        outcomes += store.write(table, [put(space(b"c")), Delete(space(b"a"), 5000)])
        seen = store.read(table, [space(b"a"), space(b"c")])

    assert outcomes == [None] * 4
    assert [row and row.key for row in seen] == [None, space(b"c")]
    assert names_of(space, store.scan(table, [space.range()])) == [b"b", b"c"]


def test_an_exception_out_of_what_is_done_together_comes_through(store: Store, table: str, space: Space) -> None:
    with pytest.raises(ZeroDivisionError), store.transaction() as transaction:
        store.write(table, [put(space(b"a"))])
        1 / 0  # noqa: B018

    names = names_of(space, store.scan(table, [space.range()]))
    assert names == ([b"a"] if transaction is None else [])
    fill(store, table, space, [b"b"])


def test_other_threads_are_served_while_one_writes_together(store: Store, table: str, space: Space) -> None:
    with ThreadPoolExecutor(1) as threads:
        with store.transaction():
            fill(store, table, space, [b"a"])
            read = threads.submit(store.read, table, [space(b"none")]).result(60)
            written = threads.submit(fill, store, table, space, [b"b"])

        written.result(60)

    assert read == [None]
    assert names_of(space, store.scan(table, [space.range()])) == [b"a", b"b"]


# ---- everything at once, against a model ---------------------------------------------------------------------------

ROWS: Final[list[bytes]] = [b"a", b"a\x00", b"b", b"\xff"]
COLUMNS: Final[list[bytes]] = [b"one:a", b"three:a", b"three:b"]
VERSIONS: Final[dict[bytes, int]] = {b"one": 1, b"three": 3}

_timestamps = st.integers(1, 12)
_puts = st.builds(
    lambda row, column, timestamp, value: Put(row, [NewCell(column, timestamp, value)]),
    st.sampled_from(ROWS),
    st.sampled_from(COLUMNS),
    _timestamps,
    st.binary(max_size=3),
)
_deletes = st.builds(
    Delete,
    st.sampled_from(ROWS),
    _timestamps,
    st.none() | st.lists(st.sampled_from([*COLUMNS, b"one:", b"three:"]), min_size=1, max_size=2),
)
_calls = st.lists(st.lists(st.one_of(_puts, _puts, _deletes), min_size=1, max_size=8), min_size=1, max_size=6)


def model(mutations: Iterable[Mutation]) -> dict[bytes, dict[bytes, list[tuple[int, bytes]]]]:
    """What is visible after *mutations*: {row: {column: [(timestamp, value), ...]}}."""
    cells, markers = {}, {}
    for mutation in mutations:
        if isinstance(mutation, Put):
            [(column, timestamp, value)] = mutation.cells
            cells.setdefault((mutation.row, column), {})[timestamp] = value
        else:
            for scope in mutation.columns or [b""]:
                markers.setdefault((mutation.row, scope), []).append(mutation.timestamp)

    rows = {}
    for (row, column), versions in sorted(cells.items()):
        family = column.split(b":")[0]
        hidden = max(
            [0, *itertools.chain.from_iterable(markers.get((row, scope), []) for scope in (b"", family + b":", column))]
        )
        visible = sorted((cell for cell in versions.items() if cell[0] > hidden), reverse=True)[: VERSIONS[family]]
        if visible:
            rows.setdefault(row, {})[column] = visible
    return rows


def test_a_store_shows_what_the_model_shows(store: Store, table: str, property_examples: int) -> None:
    @settings(max_examples=property_examples, deadline=None)
    @given(calls=_calls)
    def holds(calls):
        prefix = uuid.uuid4().hex.encode() + b"/"
        keys = KeyRange(prefix, prefix + b"\xff\xff")
        for mutations in calls:
            renamed = [replace(mutation, row=prefix + mutation.row) for mutation in mutations]
            assert store.write(table, renamed) == [None] * len(renamed)

        expected = model(itertools.chain.from_iterable(calls))
        newest = {row: {column: cells[:1] for column, cells in columns.items()} for row, columns in expected.items()}

        def shown(wanted=EVERYTHING, **options):
            rows = store.scan(table, [keys], wanted, **options)
            return [(row.key.removeprefix(prefix), cells_of(row)) for row in rows]

        assert shown(Wanted(versions=9)) == sorted(expected.items())
        assert shown() == sorted(newest.items())
        assert shown(Wanted(versions=9), reverse=True) == sorted(expected.items(), reverse=True)
        assert [key for key, _ in shown(Wanted(keys_only=True))] == sorted(expected)
        for columns in ([b"three:"], [b"one:", b"three:b"], [b"three:a", b"three:b"]):
            row_names = {
                row for row, cells in expected.items() if any(c in columns or c[:-1] in columns for c in cells)
            }
            assert [key for key, _ in shown(Wanted(columns, keys_only=True))] == sorted(row_names)
        containing = Containing(b"three:a", ("a",))
        containing_rows = {
            row for row, cells in newest.items() if containing.holds(cells.get(b"three:a", [(0, None)])[0][1])
        }
        assert containing_rows <= {key for key, _ in shown(Wanted(containing=containing))} <= set(newest)
        pieces = [columns_of(store, table, prefix + row, b"three", limit=1) for row in ROWS]
        firsts = [[c for c in sorted(newest.get(row, {}).items()) if c[0].startswith(b"three")][:1] for row in ROWS]
        assert [[(column, [tuple(cell)]) for column, cell in cells] for cells in pieces] == firsts
        read = store.read(table, [prefix + row for row in ROWS], Wanted(versions=9))
        assert [cells_of(row) for row in read] == [expected.get(row, {}) for row in ROWS]

    holds()


# ---- deletes of exactly one cell ---------------------------------------------------------------------------------


def versions_of(store: Store, table: str, row: bytes, column: bytes = b"three:a") -> list[int]:
    [stored] = store.read(table, [row], Wanted([column], versions=9))
    return [cell.timestamp for cell in stored.cells[column]] if stored else []


def written_at(store: Store, table: str, row: bytes, *timestamps: int) -> None:
    assert store.write(table, [put(row, b"three:a", b"v", at) for at in timestamps]) == [None] * len(timestamps)


def test_an_exact_delete_leaves_the_older_and_the_newer_cells(store: Store, table: str, space: Space) -> None:
    row = space(b"exact")
    written_at(store, table, row, 1000, 2000, 3000)

    [outcome] = store.write(table, [Delete(row, 2000, [b"three:a"], exact=True)])

    assert outcome is None or isinstance(outcome, CapabilityError)
    assert versions_of(store, table, row) == ([3000, 2000, 1000] if outcome else [3000, 1000])


def test_an_exact_delete_hides_a_later_put_of_its_timestamp_and_of_no_other(
    store: Store, table: str, space: Space
) -> None:
    row = space(b"exact")
    [outcome] = store.write(table, [Delete(row, 2000, [b"three:a"], exact=True)])
    if isinstance(outcome, CapabilityError):
        return
    assert outcome is None

    written_at(store, table, row, 1999, 2000, 2001)

    assert versions_of(store, table, row) == [2001, 1999]


def test_an_exact_delete_of_a_cell_that_is_not_there_deletes_nothing(store: Store, table: str, space: Space) -> None:
    row = space(b"exact")
    written_at(store, table, row, 1000)

    [outcome] = store.write(table, [Delete(row, 2000, [b"three:a", b"one:a"], exact=True)])

    assert outcome is None or isinstance(outcome, CapabilityError)
    assert versions_of(store, table, row) == [1000]


def test_an_exact_delete_is_one_of_many_mutations(store: Store, table: str, space: Space) -> None:
    row = space(b"exact")
    mutations = [
        put(row, b"three:a", b"v", 1000),
        put(row, b"three:a", b"v", 2000),
        Delete(row, 1000, [b"three:a"], exact=True),
        Delete(space(b"other"), 5, [b"one:a"]),
        put(row, b"three:a", b"v", 3000),
    ]

    outcomes = store.write(table, mutations)

    exact = outcomes.pop(2)
    assert exact is None or isinstance(exact, CapabilityError)
    assert outcomes == [None] * 4
    assert versions_of(store, table, row) == ([3000, 2000, 1000] if exact else [3000, 2000])


@pytest.mark.parametrize("columns", [None, [b"three:"], [b"three:a", b"three:"]])
def test_an_exact_delete_of_more_than_columns_is_refused(store: Store, table: str, space: Space, columns: Any) -> None:
    row = space(b"exact")
    written_at(store, table, row, 1000)

    [outcome] = store.write(table, [Delete(row, 1000, columns, exact=True)])

    assert isinstance(outcome, StoreRefused)
    assert versions_of(store, table, row) == [1000]


# ---- health ------------------------------------------------------------------------------------------------------


def test_what_a_store_tells_of_its_health_is_well_and_writes_nothing(
    store: Store, table: str, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, table, space, [b"a"])
    monkeypatch.setattr(store, "_write", lambda *_: pytest.fail("it was written to"))

    checks = list(store.health(table))

    assert [check for check in checks if check.state == "failed"] == []
    assert len({check.check for check in checks}) == len(checks)


def test_the_free_space_of_a_store_is_a_part_of_its_space(store: Store) -> None:
    space = store.space()

    assert space is None or 0 <= space.free < space.bytes


FIXTURES: Final = ("new_table", "property_examples", "space", "store", "table")
__all__ = [name for name in globals() if name.startswith("test_") or name in FIXTURES]
