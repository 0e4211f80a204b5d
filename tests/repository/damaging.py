"""Cells that are damaged on purpose, on any store, and a site with links whose rows they are."""

from __future__ import annotations

from dataclasses import dataclass

from webtable import Link, Page, WebTable
from webtable.store import Delete, NewCell, Put, Wanted

PAGE, CAPTURE, HTML, URLS, COUNTS = (
    b"metadata:page",
    b"content:capture",
    b"content:html",
    b"outlinks:urls",
    b"metadata:links",
)


def cell_of(table: WebTable, url: str, column: bytes):
    """Return the newest cell of a column of a page."""
    (row,) = table.store.read(table.table, [table.key.encode(url)], Wanted([column]))
    return row.cells[column][0]


def damage(table: WebTable, url: str, column: bytes = PAGE, value: bytes | None = b"\xff") -> None:
    """Put *value* in the place of the newest cell of a column; None flips a bit in the middle of it."""
    cell = cell_of(table, url, column)
    if value is None:
        value = flipped(cell.value, len(cell.value) // 2)
    write(table, table.table, table.key.encode(url), column, cell.timestamp, value)


def write(table: WebTable, name: str, row: bytes, column: bytes, timestamp: int, value: bytes) -> None:
    assert table.store.write(name, [Put(row, [NewCell(column, timestamp, value)])]) == [None]


def remove(table: WebTable, name: str, row: bytes, timestamp: int = 2**62) -> None:
    assert table.store.write(name, [Delete(row, timestamp)]) == [None]


def flipped(value: bytes, at: int, bit: int = 0) -> bytes:
    return value[:at] + bytes([value[at] ^ 1 << bit]) + value[at + 1 :]


@dataclass
class Web:
    """Four pages of a site: `/` links to the others, and `/gone` is an error page."""

    site: object

    def __post_init__(self):
        self.table = self.site.table
        self.url = self.site.url
        links = tuple(Link(self.url(path), path) for path in ("/a", "/b", "/gone", "/new"))
        self.pages = [
            self.site.page("/", body=b"<p>home, sweet home</p>" * 9, outlinks=links),
            self.site.page("/a", body=b"<p>the word salt</p>" * 9, outlinks=(Link(self.url("/b"), "b"),)),
            self.site.page("/b", body=b"<p>the word salt too</p>" * 9),
            self.site.page("/gone", body=b"gone", status=404),
        ]
        self.site.store(*self.pages)

    def urls(self, *paths: str) -> list[str]:
        return [self.url(path) for path in paths]


def found(pages) -> list[str]:
    return [one.url if isinstance(one, Page) else one for one in pages]
