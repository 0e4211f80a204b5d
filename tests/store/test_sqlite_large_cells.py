"""Cells of a file may be as large as SQLite takes; an option of its URL lowers that, for writing and reading."""

from __future__ import annotations

import os
import sqlite3

import pytest

from webtable.errors import InvalidArgument, StoreRefused
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import MAX_CELL, Delete, NewCell, Put, Wanted, open_store

LARGE = 20_000_000


def put(row: bytes, value: bytes) -> Put:
    return Put(row, [NewCell(b"f:v", 1000, value)])


@pytest.fixture
def file(tmp_path):
    """A file with a table, and in it a row with a large cell between two with small ones."""
    path = tmp_path / "cells.db"
    with open_store(path, create=True)[0] as store:
        store.create_table(TableSchema("t", (FamilySchema("f"),)))
        assert store.write("t", [put(b"a", b"x"), put(b"b", bytes(LARGE)), put(b"c", b"x")]) == [None] * 3
    return path


def test_a_cell_may_have_as_many_bytes_as_sqlite_takes(file):
    with open_store(file)[0] as store:
        limit = sqlite3.connect(":memory:").getlimit(sqlite3.SQLITE_LIMIT_LENGTH)

        assert store.capabilities.max_cell == limit > MAX_CELL


@pytest.mark.slow
def test_a_large_cell_is_read_replaced_and_deleted_as_any_other(file):
    value = os.urandom(LARGE)
    with open_store(file)[0] as store:
        store.write("t", [put(b"b", value)])
        [row] = store.read("t", [b"b"])
        keys = [row.key for row in store.scan("t", [KeyRange()])]
        store.write("t", [Delete(b"b", 1000)])

        assert row.value(b"f:v") == value
        assert keys == [b"a", b"b", b"c"]
        assert store.read("t", [b"b"]) == [None]


def test_a_cell_over_the_limit_of_the_url_is_refused_and_the_others_are_stored(file):
    with open_store(f"sqlite:{file}?max_cell=5MB")[0] as store:
        outcomes = store.write("t", [put(b"d", bytes(4_900_000)), put(b"e", bytes(5_000_000)), put(b"f", b"x")])

        assert store.capabilities.max_cell == 5_000_000
        assert [type(outcome) for outcome in outcomes] == [type(None), StoreRefused, type(None)]
        assert "at most 5,000,000" in str(outcomes[1])


def test_a_cell_over_the_limit_of_the_url_is_not_read_and_the_message_names_the_option(file):
    with open_store(f"sqlite:{file}?max_cell=5MB")[0] as store:
        with pytest.raises(StoreRefused, match="max_cell=5,000,000") as raised:
            list(store.scan("t", [KeyRange()]))

        assert "damaged" not in str(raised.value)
        assert [row.key for row in store.scan("t", [KeyRange(b"a", b"b")], Wanted())] == [b"a"]


def test_a_limit_over_that_of_sqlite_is_that_of_sqlite(file):
    with open_store(f"sqlite:{file}?max_cell=5000GB")[0] as store:
        assert store.capabilities.max_cell == sqlite3.connect(":memory:").getlimit(sqlite3.SQLITE_LIMIT_LENGTH)


@pytest.mark.parametrize("size", ["big", "0", "-1", "", "1000", "1MB"])
def test_a_limit_that_is_none_or_below_that_of_own_cells_is_refused(file, size):
    with pytest.raises(InvalidArgument, match="max_cell="):
        open_store(f"sqlite:{file}?max_cell={size}")
