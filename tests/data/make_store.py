"""Make a small store as the webtable that is imported writes it: `python make_store.py FILE`, as README.md tells."""

from __future__ import annotations

import gzip
import sqlite3
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import webtable
from webtable import Page

try:
    from webtable import Index
except ImportError:  # of before there were indexes
    Index = None


def words(page):
    return [page.title or "none"]


WORDS = Index and Index("words", words)
HOST = "https://example.com"


def captures():
    """Return all captures, in the order in which they are put."""

    def page(day, path, html=None, **values):
        return Page(url=f"{HOST}{path}", html=html, fetched_at=datetime(2026, 1, day, tzinfo=UTC), **values)

    long = b"<html lang=en><title>Home</title><h1>Home</h1>" + b"<p>word</p>" * 100
    return [
        page(1, "/", b"<html lang=en><title>Old</title><a href=/a>A</a><a href=/gone>Gone</a>"),
        page(2, "/", long + b"<a href=/a rel=nofollow>A</a><a href=/b>B</a>"),
        page(3, "/a", b"<html lang=de-AT><title>A</title><a href=/>Home</a>"),
        page(3, "/b", b"<html lang=de><title>B</title>", last_modified=datetime(2025, 12, 1, tzinfo=UTC)),
        page(3, "/missing", b"Not here", status_code=404),
        page(3, "/old", status_code=301, redirect_to=f"{HOST}/a"),
        page(4, "/b", b"<html lang=de><title>B</title>"),
        page(4, "/gone", b"<html><title>Gone</title><a href=/a>A</a>"),
        page(4, "/twin", b"<html lang=de><title>B</title>"),
        page(5, "/alone", b"<html><title>A alone</title>"),
        page(5, "/%C3%A9?b=2&a=1", b"<html lang=fr><title>\xc3\x89t\xc3\xa9</title>", content_type="text/html"),
        Page(url="https://docs.example.org/", html=b"<title>Docs</title><a href=https://example.com/b>B</a>",
             fetched_at=datetime(2026, 1, 6, tzinfo=UTC)),
    ]  # fmt: skip


def fill(table):
    """Put all captures, a 304 and a delete, and count the links."""
    if Index and hasattr(table, "add_index"):
        table.add_index("make_store:WORDS")
    with table.writer() as writer:
        for page in captures():
            writer.put(page)
            writer.flush()
    at = datetime(2026, 1, 7, tzinfo=UTC)
    if hasattr(table, "put_not_modified"):
        table.put_not_modified(f"{HOST}/a", fetched_at=at)
    else:
        table.put(Page(url=f"{HOST}/a", html=table.get(f"{HOST}/a").html, fetched_at=at))
    if hasattr(table, "refresh_links"):
        table.refresh_links()
    table.delete(f"{HOST}/gone")


def dump(path, into):
    """Write the SQL of the store at *path*, compressed."""
    with closing(sqlite3.connect(path)) as connection:
        numbers = [f"PRAGMA {name}={connection.execute(f'PRAGMA {name}').fetchone()[0]};" for name in NUMBERS]
        sql = "\n".join([*numbers, *connection.iterdump()])
    Path(into).write_bytes(gzip.compress(sql.encode(), 9, mtime=0))


def load(dumped, path):
    """Make the store at *path* again."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(gzip.decompress(Path(dumped).read_bytes()).decode())


NUMBERS = ("application_id", "user_version")

if __name__ == "__main__":
    sys.modules["make_store"] = sys.modules["__main__"]  # where the table says that its index is
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / "crawl.db"
        with webtable.open(new, create=True, ttl=None) as table:
            fill(table)
        dump(new, sys.argv[1])
