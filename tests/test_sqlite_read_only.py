"""Files that this user may not write: they open for reading, and nothing is made beside them."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import webtable
from webtable import Page
from webtable.errors import StoreRefused, StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.store.sqlite import SQLiteStore, read_only

NOBODY = 65_534
OPENS = """
import os, pickle, sys, tempfile, webtable
from webtable.errors import WebTableError

def tried(path):
    said = []
    try:
        with webtable.open(path) as table:
            said += [page.title for page in table.pages()]
            table.put(webtable.Page(url="https://example.com/new", body=b"x"))
            said.append("written")
    except WebTableError as error:
        said.append(str(error))
    return said

with tempfile.TemporaryDirectory() as folder:  # so that all modules are imported while they can be read
    webtable.create(folder + "/crawl.db")
    tried(folder + "/crawl.db")
    tried(folder + "/missing.db")
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
sys.stdout.buffer.write(pickle.dumps(tried(sys.argv[1])))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that other users can reach, as those of pytest cannot be."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


def made(path: Path, *titles: str) -> Path:
    with webtable.open(path, create=True) as table:
        for title in titles:
            table.put(Page(url=f"https://example.com/{title}", body=f"<title>{title}</title>".encode()))
    path.chmod(0o644)
    return path


def as_another_user(path: Path) -> list[str]:
    """Return the titles that a user who may not write there finds, and what came of writing."""
    command = [sys.executable, "-c", OPENS, str(path), str(NOBODY)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    said: list[str] = pickle.loads(done.stdout)
    return said


def test_a_file_in_a_read_only_directory_opens_for_reading_and_nothing_is_made_beside_it(folder):
    path = made(folder / "crawl.db", "a", "b")
    folder.chmod(0o555)

    *titles, refusal = as_another_user(path)

    assert titles == ["a", "b"]
    assert "read-only for this user" in refusal
    assert [one.name for one in folder.iterdir()] == ["crawl.db"]


def test_a_file_of_another_user_in_a_directory_of_all_opens_for_reading(folder):
    path = made(folder / "crawl.db", "a")
    folder.chmod(0o777)
    path.chmod(0o444)

    *titles, refusal = as_another_user(path)

    assert (titles, "read-only for this user" in refusal) == (["a"], True)
    assert [one.name for one in folder.iterdir()] == ["crawl.db"]


def test_what_the_owner_has_just_written_is_read_while_the_owner_has_the_file_open(folder):
    path = made(folder / "crawl.db", "a")
    with webtable.open(path) as table:
        table.put(Page(url="https://example.com/b", body=b"<title>b</title>"))
        for beside in folder.iterdir():
            beside.chmod(0o644)
        folder.chmod(0o555)

        *titles, _ = as_another_user(path)

        assert titles == ["a", "b"]


@pytest.fixture
def reader(folder, monkeypatch):
    """A store that this process opens as if it might not write."""
    path = made(folder / "crawl.db", "a")
    monkeypatch.setattr("webtable.store.sqlite.connections.is_read_only", lambda _: True)
    with webtable.open(path) as table:
        monkeypatch.undo()
        yield table


def titles(table) -> list[str | None]:
    return [page.title for page in table.pages()]


def test_a_reader_goes_over_to_the_log_when_somebody_begins_to_write(folder, reader):
    before = titles(reader)

    with webtable.open(folder / "crawl.db") as writer:
        writer.put(Page(url="https://example.com/b", body=b"<title>b</title>"))
        meanwhile = titles(reader)
    after = titles(reader)

    assert (before, meanwhile, after) == (["a"], ["a", "b"], ["a", "b"])


def test_a_read_during_which_somebody_begins_to_write_fails_and_the_next_one_is_right(folder, monkeypatch):
    path = made(folder / "crawl.db", "a")
    monkeypatch.setattr("webtable.store.sqlite.connections.is_read_only", lambda _: True)
    with SQLiteStore(path) as store:
        monkeypatch.undo()
        with pytest.raises(StoreUnavailable, match="read again"), store._file.reader():
            made(path, "b")

        assert len(list(store.scan("pages", [KeyRange()]))) == 2


def test_writes_are_refused_with_the_reason(reader):
    with pytest.raises(StoreRefused, match="read-only for this user"):
        reader.delete("https://example.com/a")


def test_a_file_of_its_own_is_not_read_only(folder):
    assert not read_only.is_read_only(made(folder / "crawl.db", "a"))
    assert not read_only.is_read_only(folder / "new.db")
