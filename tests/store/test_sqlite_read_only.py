"""Readers of a file that they may not write, while others begin to write it; tests/faults has other users and disks."""

from __future__ import annotations

from pathlib import Path

import pytest

import webtable
from webtable import Page
from webtable.errors import StoreRefused, StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.store.sqlite import SQLiteStore, connections


def made(path: Path, *titles: str) -> Path:
    with webtable.open(path, create=True) as table:
        for title in titles:
            table.put(Page(url=f"https://example.com/{title}", body=f"<title>{title}</title>".encode()))
    path.chmod(0o644)
    return path


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A store that this process opens as if it might not write."""
    path = made(tmp_path / "crawl.db", "a")
    monkeypatch.setattr("webtable.store.sqlite.connections.is_read_only", lambda _: True)
    with webtable.open(path) as table:
        monkeypatch.undo()
        yield table


def titles(table) -> list[str | None]:
    return [page.title for page in table.pages()]


def test_a_reader_goes_over_to_the_log_when_somebody_begins_to_write(tmp_path, reader):
    before = titles(reader)

    with webtable.open(tmp_path / "crawl.db") as writer:
        writer.put(Page(url="https://example.com/b", body=b"<title>b</title>"))
        meanwhile = titles(reader)
    after = titles(reader)

    assert (before, meanwhile, after) == (["a"], ["a", "b"], ["a", "b"])


def test_a_read_during_which_somebody_begins_to_write_fails_and_the_next_one_is_right(tmp_path, monkeypatch):
    path = made(tmp_path / "crawl.db", "a")
    monkeypatch.setattr("webtable.store.sqlite.connections.is_read_only", lambda _: True)
    with SQLiteStore(path) as store:
        monkeypatch.undo()
        with pytest.raises(StoreUnavailable, match="read again"), store._file.reader():
            made(path, "b")

        assert len(list(store.scan("pages", [KeyRange()]))) == 2


def test_writes_are_refused_with_the_reason(reader):
    with pytest.raises(StoreRefused, match="read-only for this user"):
        reader.delete("https://example.com/a")


def test_a_file_of_its_own_is_not_read_only(tmp_path):
    assert not connections.is_read_only(made(tmp_path / "crawl.db", "a"))
    assert not connections.is_read_only(tmp_path / "new.db")
