"""What is found of the file of an embedded store, its log, its disk and its rights."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections import namedtuple

import pytest

import webtable
from webtable.store.health import Check
from webtable.store.sqlite import SQLiteStore, upkeep

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "crawl.db"
    with webtable.open(path, create=True) as table, table.writer() as writer:
        for number in range(200):
            writer.put(webtable.Page(url=f"https://example.com/{number}", body=os.urandom(3_000)))
    return path


def found(path, name) -> Check:
    """Return the check of that name."""
    with SQLiteStore(path) as store:
        (check,) = [one for one in store.health("pages") if one.check == name]
        return check


def test_of_a_file_without_trouble_all_is_well(path):
    with SQLiteStore(path) as store:
        checks = list(store.health("pages"))

    assert [one.check for one in checks] == ["integrity", "log", "disk", "permissions", "processes"]
    assert all(one.is_ok for one in checks)


def test_a_damaged_file_fails_with_what_can_be_read_of_it(path):
    with path.open("r+b") as file:
        file.seek(30 * 8192)  # behind the catalogue, so that it opens
        file.write(bytes(60 * 8192))

    diagnosis = webtable.doctor(path)

    (integrity,) = [one for one in diagnosis.failed if one.check == "integrity"]
    assert "\n" not in integrity.finding
    assert "damaged" in integrity.finding
    assert "webtable backup rescue FILE" in integrity.finding + integrity.fix


def test_a_row_that_is_out_of_order_is_damage_of_the_file(path):
    with sqlite3.connect(path) as connection:
        (number,) = connection.execute("SELECT id FROM families WHERE name = 'metadata'").fetchone()
        (key,) = connection.execute(f"SELECT row FROM cells_{number} LIMIT 1 OFFSET 20").fetchone()
    connection.close()
    content = path.read_bytes()
    path.write_bytes(content.replace(key, b"\x7f" + key[1:]))

    (integrity,) = webtable.doctor(path).failed[:1]

    assert "not in PRIMARY KEY order" in integrity.finding


def test_a_check_that_takes_too_long_is_ended(path, monkeypatch):
    monkeypatch.setattr(upkeep, "_STEPS", 1)
    with SQLiteStore(path, timeout=1e-6) as store:
        check = upkeep.integrity(store._file)

        assert check.state == "warning"
        assert "did not finish" in check.finding
        assert "pages" in store.tables()


@pytest.mark.parametrize(("free", "state"), [(1, "failed"), (200_000_000, "warning"), (10**12, "ok")])
def test_a_disk_that_fills_up_is_told_in_time(path, monkeypatch, free, state):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 0, free))
    monkeypatch.setattr(upkeep, "LEAST_FREE", 100_000_000)
    monkeypatch.setattr(upkeep, "_size_of", lambda _: 10**9)

    assert found(path, "disk").state == state


def test_a_log_that_nobody_copies_back_is_a_warning(path, monkeypatch):
    monkeypatch.setattr(upkeep, "LARGE_LOG", 1_000)
    with SQLiteStore(path) as store:
        with webtable.open(path) as table:
            table.put(webtable.Page(url="https://example.com/new", body=b"x"))

        (log,) = [one for one in store.health("pages") if one.check == "log"]

    assert log.state == "warning"


def test_a_file_that_others_may_write_to_is_a_warning(path):
    path.chmod(0o666)

    check = found(path, "permissions")

    assert (check.state, check.finding) == ("warning", "666: other users may write to it")


def test_a_file_on_a_network_is_a_warning(path, monkeypatch, tmp_path):
    (tmp_path / "mounts").write_text(f"disk / ext4 rw 0 0\nserver:/crawls {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr(upkeep, "_PROCESSES", tmp_path)

    check = found(path, "file-system")

    assert (check.state, "nfs4" in check.finding) == ("warning", True)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells who has a file open")
def test_another_process_is_named_that_has_the_file_open(path):
    program = f"import webtable; t = webtable.open({str(path)!r}); t.get('https://example.com/1'); print(); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()

        check = found(path, "processes")

        other.communicate(b"\n")
    assert f"{other.pid} (python" in check.finding


def test_the_space_that_is_free_is_what_compact_gives_back(path):
    with webtable.open(path) as table:
        for number in range(150):
            table.delete(f"https://example.com/{number}")
        table.store.compact([])
        before = table.store.space()
        table.store.drop_table("pages")
        table.store.create_table(webtable.schema.Layout().table_schema("pages"))
        dropped = table.store.space()

        freed = table.store.compact([])

    assert before.free == 0
    assert dropped.free > 0
    assert freed >= dropped.free * 0.9
