"""A store file of a stranger: opening and using it runs nothing that is in it, and takes no memory that it names."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import webtable
from webtable.errors import NotAStore, StoreError
from webtable.store import open_store


@pytest.fixture
def file(tmp_path, sample_pages) -> Path:
    path = tmp_path / "crawl.db"
    with webtable.open(path, create=True) as table:
        table.put(sample_pages[0])
    return path


def changed(file: Path, *statements: str) -> None:
    """Run *statements* on the file, as its maker could."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        for statement in statements:
            connection.execute(statement)


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT x'61', n, n, zeroblob(1000000) FROM r"
SCHEMAS = {
    "a view in the place of a table": ["ALTER TABLE cells_1 RENAME TO other", f"CREATE VIEW cells_1 AS {ENDLESS}"],
    "a view beside the tables": ["CREATE VIEW mine AS SELECT 1"],
    "a trigger on writes": [
        "CREATE TRIGGER t AFTER INSERT ON cells_1 BEGIN DELETE FROM tables; SELECT randomblob(1e9); END"
    ],
    "a trigger on a view": ["CREATE VIEW v AS SELECT 1", "CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN SELECT 1; END"],
    "an index on an expression": ["CREATE INDEX i ON cells_1 (length(hex(value)))"],
    "an index of another": ["CREATE INDEX i ON cells_1 (timestamp)"],
    "a generated column": ["ALTER TABLE cells_1 ADD COLUMN g AS (length(zeroblob(1000000000)))"],
    "a check": ["CREATE TABLE deletes_99 (row BLOB CHECK (length(hex(row)) > 0))"],
    "a default that is computed": ["CREATE TABLE deletes_99 (row BLOB DEFAULT (randomblob(1000)))"],
    "a table of another": ["CREATE TABLE notes (row BLOB)"],
    "a virtual table": ["CREATE VIRTUAL TABLE cells_99 USING fts5(row)"],
    "a comment in a definition": ["CREATE TABLE cells_99 (row BLOB /* , CHECK (1) */)"],
    "a name in quotes": ['CREATE TABLE "cells_99" (row BLOB)'],
    "a definition that was put there by hand": [
        "UPDATE sqlite_schema SET sql = replace(sql, 'value BLOB', 'value BLOB AS (zeroblob(9e8))') "
        "WHERE name = 'cells_1'"
    ],
}


@pytest.mark.parametrize("statements", SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_that_could_run_is_refused_before_anything_is_read(file, statements):
    changed(file, *statements)
    before = file.read_bytes()

    with pytest.raises((NotAStore, StoreError)):
        webtable.open(file)

    assert file.read_bytes() == before


def test_the_refusal_names_what_is_there(file):
    changed(file, 'CREATE VIEW "mine\n\x1b[2J" AS SELECT 1')

    with pytest.raises(NotAStore, match=r"it has the view 'mine\\n\\x1b\[2J', which no store has"):
        webtable.open(file)


def test_a_store_that_was_analyzed_is_one(file, sample_pages):
    changed(file, "ANALYZE")

    with webtable.open(file) as table:
        assert table.get(sample_pages[0].url) is not None


def test_numbers_of_families_that_are_sql_are_run_by_nobody(file, sample_pages):
    attack = "1 WHERE 0 UNION SELECT zeroblob(1), zeroblob(1), 1, zeroblob(1)"
    changed(
        file,
        "CREATE TABLE copy AS SELECT * FROM families",
        "DROP TABLE families",
        "CREATE TABLE families (id TEXT, table_id INTEGER, name TEXT, options TEXT, swept BLOB, swept_deletes BLOB)",
        f"INSERT INTO families SELECT '{attack}', table_id, name, options, x'', x'' FROM copy",
        "DROP TABLE copy",
    )

    with pytest.raises(StoreError, match="has a damaged description"), webtable.open(file) as table:
        table.get(sample_pages[0].url)


def test_the_settings_that_keep_a_schema_from_running_hold_for_readers_and_writers(file):
    url = f"sqlite:{file}?max_cell=10MiB"
    with open_store(url)[0] as store, store._file.reader() as reading, store._file.writer() as writing:
        for connection in (reading, writing):
            assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
            assert connection.execute("PRAGMA cell_size_check").fetchone() == (1,)
            assert connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH) < 12 * 2**20
            with pytest.raises(sqlite3.OperationalError, match="not authorized"):
                connection.execute("SELECT load_extension('libc.so.6')")


MEASURED = """
import resource, sys
from webtable.errors import WebTableError
from webtable.rowkey import KeyRange
from webtable.store import Wanted, open_store

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open_store(sys.argv[1])[0] as store:
    try:
        list(store.scan("pages", [KeyRange()], Wanted()))
    except WebTableError as error:
        print(type(error).__name__)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("column", ["value", "qualifier", "row"])
def test_a_cell_over_the_limit_of_the_url_takes_no_memory(file, column):
    with closing(sqlite3.connect(file)) as connection:
        families = connection.execute(
            "SELECT families.id FROM families JOIN tables ON tables.id = table_id WHERE tables.name = 'pages'"
        ).fetchall()
    for (family,) in families:
        first = f"SELECT row, qualifier, timestamp FROM cells_{family} LIMIT 1"
        changed(
            file,
            f"UPDATE cells_{family} SET {column} = zeroblob(50000000) WHERE (row, qualifier, timestamp) = ({first})",
        )

    url = f"sqlite:{file}?max_cell=10MiB"
    ended = subprocess.run([sys.executable, "-c", MEASURED, url], capture_output=True, text=True, check=True)

    *errors, kilobytes = ended.stdout.split()
    assert set(errors) == {"StoreRefused"}
    assert int(kilobytes) < 40_000


def test_a_cell_that_announces_more_bytes_than_the_file_has_takes_no_memory(file):
    families = "SELECT families.id FROM families JOIN tables ON tables.id = table_id WHERE tables.name = 'pages'"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        (family,) = connection.execute(f"{families} AND families.name = 'content'").fetchone()
        connection.execute(f"UPDATE cells_{family} SET value = zeroblob(3000000) WHERE qualifier = x'68746d6c'")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = file.read_bytes()
    cell = data.index(_varint(2 * 3_000_000 + 12))  # how a record says that a value has so many bytes
    begin = data.rindex(_varint(3_000_000)[:2], 0, cell)  # how many bytes the record has
    most = _varint(2**28 - 1)
    file.write_bytes(data[:begin] + most + data[begin + 4 : cell] + most + data[cell + 4 :])

    ended = subprocess.run([sys.executable, "-c", MEASURED, str(file)], capture_output=True, text=True, check=True)

    *errors, kilobytes = ended.stdout.split()
    assert errors == ["StoreRefused"]
    assert int(kilobytes) < 40_000


def _varint(number: int) -> bytes:
    """Return *number* as SQLite writes one of 22 to 28 bits."""
    first, *others = (number >> shift & 0x7F for shift in (21, 14, 7, 0))
    return bytes([first | 0x80, others[0] | 0x80, others[1] | 0x80, others[2]])


@pytest.mark.parametrize(
    "options",
    [
        "[" * 100_000,
        '{"versions": 1e999}',
        '{"versions": ' + "9" * 5000 + "}",
        '{"ttl": [1]}',
        '{"x": 1}',
        "7",
        "",
        "null",
    ],
)
def test_what_a_catalogue_says_is_believed_only_as_far_as_it_can_be(file, options):
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE families SET options = ?", (options,))

    with pytest.raises(StoreError, match="has a damaged description"):
        webtable.open(file)
