"""What is still to be read of a damaged file comes into a new one, past the damage."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

import webtable
from webtable.cli.app import app
from webtable.errors import CapabilityError, InvalidArgument, StoreRefused, TableNotFound
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import StoreURL, adapter_of
from webtable.store.memory import MemoryStore
from webtable.store.rows import Delete, NewCell, Put
from webtable.store.sqlite import SQLiteStore
from webtable.store.sqlite.opening import PAGE_SIZE

COUNT = 4_000
VALUES = {b"%06d" % number: b"%d " % number * 20 for number in range(COUNT)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with as many rows as there are `VALUES`, some 60 pages, and a row that was deleted."""
    file = tmp_path / "crawl.db"
    with SQLiteStore(file, create=True) as store:
        store.create_table(TableSchema("t", (FamilySchema("f", versions=2), FamilySchema("g", ttl=10**9))))
        store.create_table(TableSchema("u", (FamilySchema("f"),), (b"m",)))
        store.write("t", [Put(row, [NewCell(b"f:q", 7, value)]) for row, value in VALUES.items()])
        store.write("u", [Put(b"x", [NewCell(b"f:large", 7, b"y" * 100_000)]), Delete(b"gone", 9)])
    return file


def pages_of(path: Path, table: str) -> list[int]:
    """Return the numbers of the pages at the end of the tree of an SQLite table, from 0 on."""
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    content, found, left = path.read_bytes(), [], [root]
    while left:
        number = left.pop()
        page = content[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
        if page[0] == 10:
            found.append(number - 1)
            continue
        places = [
            int.from_bytes(page[at : at + 2], "big") for at in range(12, 12 + 2 * int.from_bytes(page[3:5], "big"), 2)
        ]
        left += [int.from_bytes(page[place : place + 4], "big") for place in places]
        left.append(int.from_bytes(page[8:12], "big"))
    return found


def damage(path: Path, pages: list[int]) -> None:
    with path.open("r+b") as file:
        for number in pages:
            file.seek(number * PAGE_SIZE)
            file.write(random.Random(number).randbytes(PAGE_SIZE))


def rescued(path: Path) -> tuple[int, dict[bytes, bytes]]:
    """Return how many places could not be read, and the rows that came."""
    target = path.with_name("rescued.db")
    done = SQLiteStore.rescue(StoreURL.parse(str(path)), target)
    with SQLiteStore(target) as store:
        return done.places, {row.key: row.value(b"f:q") for row in store.scan("t", [KeyRange()])}


def test_of_a_sound_file_everything_comes(path):
    places, rows = rescued(path)

    assert (places, rows) == (0, VALUES)
    with SQLiteStore(path) as before, SQLiteStore(path.with_name("rescued.db")) as after:
        assert [after.describe(name) for name in after.tables()] == [before.describe(name) for name in before.tables()]
        assert after.read("u", [b"x"]) == before.read("u", [b"x"])
        after.write("u", [Put(b"gone", [NewCell(b"f:q", 8, b"hidden")])])
        assert after.read("u", [b"gone"]) == [None]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_all_but_what_was_in_the_damaged_pages_comes(path, count):
    leaves = pages_of(path, "cells_1")
    hurt = random.Random(count).sample(leaves, count)
    damage(path, hurt)

    places, rows = rescued(path)

    assert 1 <= places <= count
    assert len(leaves) > 20
    assert len(rows) >= COUNT - count * 1.5 * COUNT / len(leaves)
    assert rows.items() <= VALUES.items()


def test_what_is_left_of_a_file_that_was_cut_short_comes(path):
    os.truncate(path, path.stat().st_size // 2)

    places, rows = rescued(path)

    assert places > 0
    assert len(rows) > COUNT // 10
    assert rows.items() <= VALUES.items()


def test_the_log_beside_the_file_is_read_too(path):
    with SQLiteStore(path) as store:
        store.write("t", [Put(b"last", [NewCell(b"f:q", 7, b"in the log")])])
        log = path.with_name("crawl.db-wal")
        assert log.stat().st_size > 0

        _, rows = rescued(path)

    assert rows == {**VALUES, b"last": b"in the log"}


def test_what_cannot_be_rescued_says_why_and_leaves_no_file(path):
    target, url = path.with_name("rescued.db"), StoreURL.parse(str(path))
    damage(path, [0])

    with pytest.raises(StoreRefused, match=r"crawl\.db: which tables it has cannot be read"):
        SQLiteStore.rescue(url, target)
    with pytest.raises(InvalidArgument, match="exists already"):
        SQLiteStore.rescue(url, path)
    with pytest.raises(TableNotFound):
        SQLiteStore.rescue(StoreURL.parse("none.db"), target)
    with pytest.raises(CapabilityError):
        MemoryStore.rescue(StoreURL.parse("memory:x"), target)
    assert [one.name for one in path.parent.iterdir()] == ["crawl.db"]


@pytest.mark.slow
def test_the_advice_for_a_damaged_store_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with webtable.open("crawl.db", create=True, compression="none") as table, table.writer() as writer:
        for number in range(300):
            writer.put(webtable.Page(url=f"https://a.example/{number}", body=b"%d " % number * 500))
    damage(Path("crawl.db"), [next(iter(pages_of(Path("crawl.db"), "cells_2")))])

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, words)
        return done.exit_code, done.output

    code, said = run("-s", "crawl.db", "export", "out", "all")
    rescue = run("-s", "crawl.db", "backup", "rescue", "rescued.db")
    repaired = run("-s", "rescued.db", "index", "repair", "--all")
    exported = run("-s", "rescued.db", "export", "again", "all")

    assert (code, adapter_of("crawl.db")) == (3, SQLiteStore)
    assert "webtable -s crawl.db backup rescue FILE writes all that can still be read into a new file" in said
    assert (rescue[0], "1 place of the file cannot be read" in rescue[1]) == (1, True)
    assert repaired[0] in (0, 1)
    assert int(exported[1].split()[0]) > 200
