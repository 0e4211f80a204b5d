"""What the embedded store does with the pages of its file: how often a write touches them, where copies are kept."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put
from webtable.store.sqlite import SQLiteStore, connections

OPEN_FILES = Path("/proc/self/fd")


def put(number, value):
    return Put(b"%06d" % number, [NewCell(b"f:q", 1, value)])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "crawl.db"


@pytest.fixture
def store(path):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", (FamilySchema("f"),)))
        store.write("t", [put(number, bytes(900)) for number in range(3000)])
        yield store


def temporary_files():
    """Return the files that SQLite has open beside its databases; it deletes their names at once."""
    links = [one.readlink() for one in OPEN_FILES.iterdir() if one.is_symlink()]
    return [link for link in links if link.name.startswith("etilqs_")]


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="only Linux says which files a process has open")
def test_a_write_copies_no_page_to_a_temporary_file(store):
    with store.transaction():
        store.write("t", [put(number, b"x") for number in range(0, 3000, 20)])

        assert temporary_files() == []


def test_a_transaction_larger_than_the_cache_goes_to_the_log_once_at_its_end(path, monkeypatch):
    small = (*connections.WRITER_SETTINGS, "cache_size=-100")
    monkeypatch.setattr(connections, "WRITER_SETTINGS", small)
    log = path.with_name("crawl.db-wal")
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", (FamilySchema("f"),)))
        before = log.stat().st_size

        with store.transaction():
            store.write("t", [put(number, bytes(900)) for number in range(3000)])
            assert log.stat().st_size == before

        assert log.stat().st_size > 2_000_000


def test_a_compaction_keeps_its_copy_of_the_file_on_disk(store):
    statements = []
    with store._file.exclusive() as connection:
        connection.set_trace_callback(statements.append)

    store.compact(["t"])

    at = statements.index("VACUUM")
    assert statements[at - 1] == "PRAGMA temp_store=FILE"
    with store._file.exclusive() as connection:
        assert connection.execute("PRAGMA temp_store").fetchone() == (2,), "memory again"


def test_a_new_file_has_small_pages_and_one_with_larger_pages_is_used_as_it_is(path, store, tmp_path):
    store.close()
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA page_size").fetchone() == (4096,)
        connection.execute("PRAGMA page_size=8192")
        connection.execute(f"VACUUM INTO '{old}'")

    with SQLiteStore(old) as store:
        store.write("t", [put(5000, b"new")])
        store.compact(["t"])

        assert len(store.read("t", [b"%06d" % number for number in range(3000)])) == 3000
        assert store.read("t", [b"005000"])[0].value(b"f:q") == b"new"
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA page_size").fetchone() == (8192,)
