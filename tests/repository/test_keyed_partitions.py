"""Scans of keyed tables in parts: together they are the scan, apart they have nothing in common."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

import parallel_functions as functions
import webtable.aio
from store_differences import on_every_store
from webtable import ALL, KeyedTable, parallel
from webtable.errors import DamagedRow, InvalidArgument, LayoutMismatch, TableNotFound, UnknownColumn
from webtable.repository.reading import samples
from webtable.rowkey import (
    CompositeKey,
    Date,
    HashedKey,
    HashSalt,
    RandomSalt,
    ReverseTimestamp,
    Text,
    Timestamp,
    UInt,
    between,
)
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put, open_store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROWS = 90
LATEST = CompositeKey(Text("id", terminator=b"\0"), ReverseTimestamp("time"))
KEYS = {
    "latest first": LATEST,
    "salted by hash": CompositeKey(HashSalt(of="id", buckets=16), Text("id", terminator=b"\0"), Timestamp("time")),
    "salted at random": CompositeKey(RandomSalt(("a-", "b-", "c-")), Timestamp("time"), Text("id")),
    "a day before and the time behind": CompositeKey(Date("time"), Text("id", terminator=b"\0"), Timestamp("time")),
    "hashed": HashedKey(LATEST),
}
SCANS = {
    "all": lambda table: table.scan(ALL),
    "one": lambda table: table.scan(id="s1"),
    "times of one": lambda table: table.scan(id="s1", time=between(minutes(10), minutes(60))),
    "times": lambda table: table.scan(time=between(minutes(10.5), minutes(60.5))),
    "a column": lambda table: table.scan(ALL, columns=["d:even"]),
}
ANSWERED = {
    "latest first": ("all", "one", "times of one", "a column"),
    "salted by hash": ("all", "one", "times of one", "a column"),
    "salted at random": ("all", "times", "a column"),
    "a day before and the time behind": ("all", "times"),
    "hashed": ("all", "a column"),
}


def minutes(count: float) -> datetime:
    return NOON + timedelta(minutes=count)


@pytest.fixture
def table(new_url) -> Iterator[Callable[..., KeyedTable]]:
    """Make a new table with a key."""
    tables: list[KeyedTable] = []

    def make(key, **options) -> KeyedTable:
        tables.append(KeyedTable.open(new_url(), key, create=True, **options))
        return tables[-1]

    yield make
    for table in tables:
        table.close()


def filled(table: KeyedTable) -> KeyedTable:
    """Store rows of three ids, a minute apart."""
    table.put_many(
        ({"id": f"s{number % 3}", "time": minutes(number)}, {"d:even" if number % 2 == 0 else "d:odd": b"%d" % number})
        for number in range(ROWS)
    )
    return table


def pickled(parts):
    return pickle.loads(pickle.dumps(parts))


@pytest.mark.parametrize("key", KEYS)
def test_together_the_parts_are_the_scan_and_no_row_is_in_two(table, key):
    stored = filled(table(KEYS[key]))

    for name in ANSWERED[key]:
        scan = SCANS[name]
        parts = pickled(scan(stored).partitions(4))

        found = [record for part in parts for record in part.pages()]
        assert len(parts) == 4
        assert sorted(found, key=lambda one: one.key) == sorted(scan(stored), key=lambda one: one.key)
        assert found
        assert len({one.key for one in found}) == len(found)


def test_parts_are_of_one_size_and_say_it(table):
    stored = filled(table(LATEST))

    parts = stored.scan(ALL).partitions(5)

    assert [part.rows for part in parts] == [len(list(part.pages())) for part in parts] == [18] * 5
    assert all(part.bytes == part.rows for part in parts)
    assert [part.rows for part in stored.scan(id="s1").partitions(3)] == [10] * 3
    assert sum(part.rows for part in stored.scan(ALL).partitions(200)) == ROWS
    assert [(part.rows, list(part.pages())) for part in stored.scan(id="s9").partitions(2)] == [(0, [])] * 2


def test_a_scan_of_many_rows_is_cut_at_even_distances(table, monkeypatch):
    monkeypatch.setattr(samples, "MOST_KEYS", 10)
    stored = filled(table(KEYS["salted by hash"]))

    parts = stored.scan(ALL).partitions(3)

    assert [part.rows for part in parts] == [None] * 3
    assert sorted(record.key for part in parts for record in part.pages()) == [one.key for one in stored.scan(ALL)]


@pytest.mark.parametrize("key", ["salted at random", "salted by hash", "hashed"])
def test_parts_of_many_rows_are_of_about_one_size_also_if_they_are_more_than_salts(tmp_path, monkeypatch, key):
    monkeypatch.setattr(samples, "MOST_KEYS", 100)
    with KeyedTable.open(tmp_path / "t.db", KEYS[key], create=True) as stored:
        stored.put_many(({"id": f"s{number}", "time": minutes(number)}, {"d:x": b"1"}) for number in range(2_000))

        counts = [len(list(part.pages())) for part in stored.scan(ALL).partitions(8)]

        assert sum(counts) == 2_000
        assert max(counts) < 1.6 * 250


@on_every_store
def test_a_part_of_a_scan_is_read_again_and_as_a_table_of_arrow(table, adapter):
    stored = filled(table(LATEST))
    if adapter == "memory":
        with pytest.raises(InvalidArgument, match="cannot be opened by another process"):
            stored.scan(ALL).partitions(2)
        return

    first, _ = pickled(stored.scan(ALL, columns=["d:even"]).partitions(2))

    records = list(first.pages())
    assert list(first.pages()) == records
    found = first.to_arrow().read_all()
    assert found.schema.names == ["id", "time", "timestamp", "cells"]
    assert found.to_pylist() == [
        {**one.values, "timestamp": one.timestamp, "cells": list(one.cells.items())} for one in records
    ]
    with first.open() as answer:
        assert answer.count() == first.rows == len(records)
        assert answer.to_pandas(["key"])["key"].tolist() == [one.key for one in records]
        batch = answer.page(5)
        assert batch.next_token is not None
    with pytest.raises(UnknownColumn, match="celsius"):
        first.to_arrow(["celsius"])


def test_a_scan_that_was_begun_is_divided_as_a_whole(table):
    scan = filled(table(LATEST)).scan(ALL)
    next(iter(scan))

    assert sum(len(list(part.pages())) for part in scan.partitions(2)) == ROWS


def test_the_whole_of_a_large_table_is_permitted_to_its_parts(table, large_store):
    parts = filled(table(LATEST)).scan(ALL).partitions(1)

    assert len(list(parts[0].pages())) == ROWS


def test_what_cannot_be_divided_is_refused(table):
    stored = filled(table(LATEST))
    after = stored.scan(ALL).first().key

    for options in ({"limit": 5}, {"limit": 0}, {"after": after}, {"reverse": True}):
        with pytest.raises(InvalidArgument, match="cannot be divided"):
            stored.scan(ALL, **options).partitions(2)
    for n in (0, 1.5, None):
        with pytest.raises(InvalidArgument, match="n="):
            stored.scan(ALL).partitions(n)


def test_rows_with_other_keys_are_left_out_and_told_or_an_error(table):
    for is_strict in (False, True):
        stored = filled(table(LATEST, strict=is_strict))
        stored.store.write(stored.table, [Put(b"odd", [NewCell(b"d:x", 1, b"x")])])

        (part,) = pickled(KeyedTable(stored.store, stored.table, LATEST, strict=is_strict).scan(ALL).partitions(1))

        if is_strict:
            with pytest.raises(DamagedRow):
                list(part.pages())
        else:
            with part.open() as answer:
                assert answer.count() == ROWS
                assert [one.row for one in answer.damaged] == [b"odd"]


def test_a_table_that_was_created_anew_with_another_key_is_refused(tmp_path):
    file = tmp_path / "t.db"
    with KeyedTable.open(file, LATEST, create=True) as stored:
        (part,) = filled(stored).scan(ALL).partitions(1)
    assert len(list(part.pages())) == ROWS

    file.unlink()
    with pytest.raises(TableNotFound):
        list(part.pages())
    KeyedTable.open(file, CompositeKey(UInt("id", 4)), create=True).close()

    with pytest.raises(LayoutMismatch, match="other keys"):
        list(part.pages())


def test_a_table_of_another_program_is_read_without_a_declaration(new_url):
    store, name = open_store(new_url(), create=True)
    with store:
        store.create_table(TableSchema(name, (FamilySchema("d"),)))
        parts = pickled(filled(KeyedTable(store, name, LATEST)).scan(ALL).partitions(2))

        assert sum(len(list(part.pages())) for part in parts) == ROWS


def test_processes_read_a_scan(tmp_path):
    with KeyedTable.open(tmp_path / "t.db", LATEST, create=True) as stored:
        filled(stored)

        found = list(parallel.map(stored.scan(ALL), functions.row_keys, workers=2, partitions=3))

        assert sorted(key for keys in found for key in keys) == [one.key for one in stored.scan(ALL)]


def test_asyncio_has_parts_of_scans_too(tmp_path):
    async def parts():
        async with webtable.aio.KeyedTable.open(tmp_path / "t.db", LATEST, create=True) as stored:
            await stored.put({"id": "a", "time": NOON}, {"d:x": b"1"})
            return await stored.scan(ALL).partitions(2)

    assert [record.cells for part in asyncio.run(parts()) for record in part.pages()] == [{"d:x": b"1"}]
