"""A store copied into a file beside those who write to it: of one moment, whole or not there."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import webtable
from webtable import Page
from webtable.errors import CapabilityError, InvalidArgument, StoreError, StoreRefused
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put
from webtable.store.sqlite import SQLiteStore, upkeep
from webtable.store.sqlite.opening import PAGE_SIZE
from webtable.testing import ListeningStore

AT = datetime(2026, 3, 1, tzinfo=UTC)


def put(row, value=b"x" * 3000):
    return Put(row, [NewCell(b"f:a", 1000, value)])


@pytest.fixture
def store(tmp_path):
    with SQLiteStore(tmp_path / "crawl.db", create=True) as store:
        for name in ("a", "b"):
            store.create_table(TableSchema(name, (FamilySchema("f"),)))
        store.write("a", [put(b"%05d" % number) for number in range(3_000)])
        yield store


def rows(path, table):
    with SQLiteStore(path) as copy:
        return [row.key for row in copy.scan(table, [KeyRange()])]


def test_a_backup_is_a_store_with_all_tables_and_one_file(store, tmp_path):
    size = store.backup(tmp_path / "b.db")

    assert size == (tmp_path / "b.db").stat().st_size > 3_000 * 3_000
    assert sorted(path.name for path in tmp_path.glob("b.db*")) == ["b.db"]
    assert rows(tmp_path / "b.db", "a") == [b"%05d" % number for number in range(3_000)]
    assert rows(tmp_path / "b.db", "b") == []


def test_a_backup_can_be_read_by_its_owner_alone(store, tmp_path):
    store.backup(tmp_path / "b.db")

    assert (tmp_path / "b.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_a_backup_beside_a_writer_is_of_one_moment_and_comes_to_its_end(store, tmp_path, monkeypatch):
    monkeypatch.setattr(upkeep, "PAGES_AT_ONCE", 8)
    written, asked = [], threading.Event()

    def write():
        # What is in b was in a before: a copy of several moments would have more of b than of a.
        while not asked.is_set():
            row = b"w%05d" % len(written)
            with store.transaction():
                store.write("a", [put(row)])
                store.write("b", [put(row)])
            written.append(row)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while not written:
            time.sleep(0.001)
        before = len(written)
        store.backup(tmp_path / "b.db", lambda _: time.sleep(0.001))
        after = len(written)
    finally:
        asked.set()
        writer.join()

    there = [row for row in rows(tmp_path / "b.db", "a") if row.startswith(b"w")]
    assert there == rows(tmp_path / "b.db", "b")
    assert before <= len(there) < after


@pytest.mark.parametrize("name", ["b.db", "b.db-wal", "b.db-journal"])
def test_a_backup_overwrites_nothing(store, tmp_path, name):
    (tmp_path / name).write_text("mine")

    with pytest.raises(InvalidArgument, match=name):
        store.backup(tmp_path / "b.db")

    assert (tmp_path / name).read_text() == "mine"


def test_a_link_that_leads_nowhere_is_not_followed_or_replaced(store, tmp_path):
    (tmp_path / "b.db").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InvalidArgument, match="exists already"):
        store.backup(tmp_path / "b.db")

    assert (tmp_path / "b.db").is_symlink()
    assert not (tmp_path / "elsewhere").exists()


def test_a_missing_directory_is_named(store, tmp_path):
    with pytest.raises(InvalidArgument, match="there is no directory"):
        store.backup(tmp_path / "no" / "b.db")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("enough")])
def test_a_backup_that_is_ended_leaves_nothing(store, tmp_path, monkeypatch, error):
    monkeypatch.setattr(upkeep, "PAGES_AT_ONCE", 8)

    def ended(size):
        if size:
            raise error

    with pytest.raises(type(error)):
        store.backup(tmp_path / "b.db", ended)

    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("crawl.db")] == []
    assert len(list(store.scan("a", [KeyRange()]))) == 3_000


def test_what_was_put_there_meanwhile_stays(store, tmp_path):
    with pytest.raises(InvalidArgument, match="exists already"):
        store.backup(tmp_path / "b.db", lambda _: (tmp_path / "b.db").write_text("mine"))

    assert (tmp_path / "b.db").read_text() == "mine"


def test_a_full_disk_is_told_and_nothing_is_left(store, tmp_path, monkeypatch):
    connect = sqlite3.connect

    def small(*args, **options):
        connection = connect(*args, **options)
        if str(args[0]).endswith(".part"):
            connection.execute("PRAGMA max_page_count=20")
        return connection

    monkeypatch.setattr(upkeep.sqlite3, "connect", small)

    with pytest.raises(StoreRefused, match=r"b\.db: the disk is full"):
        store.backup(tmp_path / "b.db")

    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("crawl.db")] == []


def test_a_damaged_store_makes_no_backup_and_says_what_helps(store, tmp_path):
    path = tmp_path / "crawl.db"
    store.close()
    with path.open("r+b") as file:
        for page in range(80, 120):
            file.seek(page * PAGE_SIZE)
            file.write(b"\xff" * PAGE_SIZE)

    with SQLiteStore(path) as damaged, pytest.raises(StoreError, match="webtable backup rescue"):
        damaged.backup(tmp_path / "b.db")

    assert not (tmp_path / "b.db").exists()


def test_a_process_that_is_killed_half_way_leaves_nothing_that_looks_like_a_backup(store, tmp_path):
    code = """
        import os, signal, sys
        from pathlib import Path
        from webtable.store.sqlite import SQLiteStore, upkeep
        upkeep.PAGES_AT_ONCE = 8
        told = lambda size: size > 8_000_000 and os.kill(os.getpid(), signal.SIGKILL)
        SQLiteStore(sys.argv[1]).backup(Path(sys.argv[2]), told)
    """
    arguments = [str(tmp_path / "crawl.db"), str(tmp_path / "b.db")]

    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), *arguments], check=False, env=os.environ)

    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "b.db").exists()
    left = next(path for path in tmp_path.iterdir() if path.name.endswith(".part"))
    with pytest.raises(StoreError, match=r"empty file|not an SQLite database|another program"):
        SQLiteStore(left)
    assert store.backup(tmp_path / "b.db") > 8_000_000


def test_a_web_table_is_backed_up_and_the_file_is_it_again(tmp_path):
    pages = [Page(url=f"https://example.com/{number}", body=b"%d" % number, fetched_at=AT) for number in range(9)]
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        with table.writer() as writer:
            writer.put_many(pages)
        table.maintenance.backup(str(tmp_path / "b.db"))
        table.delete(pages[3].url)

    with webtable.open(tmp_path / "b.db") as again:
        assert [page.body for page in again.pages("example.com", columns=["body"])] == [page.body for page in pages]
        assert again.maintenance.verify(webtable.ALL).is_sound


def test_a_store_around_another_one_hands_it_on(store, tmp_path):
    calls = []

    ListeningStore(store, calls.append).backup(tmp_path / "b.db")

    assert [call.name for call in calls] == ["backup"]
    assert (tmp_path / "b.db").exists()


def test_a_store_in_memory_says_that_there_is_no_file(memory_url):
    with webtable.open(memory_url, create=True) as table, pytest.raises(CapabilityError, match="webtable export"):
        table.maintenance.backup("b.db")

    assert not Path("b.db").exists()


def test_a_backup_reads_as_sound_to_sqlite_alone(store, tmp_path):
    store.backup(tmp_path / "b.db")

    with closing(sqlite3.connect(f"{(tmp_path / 'b.db').as_uri()}?mode=ro&immutable=1", uri=True)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
