"""Inlinks as cells: a row of the web table has a column for each page that links to it.

    inlinks:https://example.com/        it links here now: the anchor text, and its rel behind a zero byte
    inlinks:-https://example.org/       it did once, up to the cell's date

Like the entries of an index they are hints: what holds is what the linking page has as its outlinks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webtable.errors import InvalidURL
from webtable.page import Link
from webtable.repository.moments import hints_at, milliseconds, now_in_milliseconds
from webtable.repository.removals import removals
from webtable.rowkey import KeyRange, WebKey, canonical_url
from webtable.store import NewCell, Put

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.page import Page
    from webtable.repository.indexes.upkeep import Hints

PAST = b"-"
CURRENT_SOURCES = KeyRange(PAST + b"\xff", b"")
PAST_SOURCES = KeyRange(PAST, PAST + b"\xff")


class Inlinks(NamedTuple):
    """How the inlinks of one web table are written."""

    table: str
    family: bytes
    key: WebKey

    def add_all(self, hints: Hints, owner: int, page: Page, links: Iterable[Link]) -> set[bytes]:
        """Add to *hints* the inlinks that *links* of *page* make, and return the rows that they are in."""
        cells = self.cells(page, links)
        for row, cell in cells:
            hints.put(owner, self.table, row, cell)
        return {row for row, _ in cells}

    def cells(self, page: Page, links: Iterable[Link] | None = None) -> list[tuple[bytes, NewCell]]:
        """Return the inlinks that *links* (the page's own by default) make, each with its row."""
        timestamp, column = milliseconds(hints_at(page)), self.column(page.url)
        rows = self.rows((page.outlinks or ()) if links is None else links)
        return [(row, NewCell(column, timestamp, inlink_value(link))) for row, link in rows.items()]

    def column(self, source: str) -> bytes:
        """Return the column of the page *source*, which links here."""
        return self.family + b":" + source.encode()

    def past_column(self, source: str) -> bytes:
        """Return the column of the page *source*, which linked here once."""
        return self.family + b":" + PAST + source.encode()

    def add(self, hints: Hints, owner: int, page: Page, before: Page | None, old: Iterable[Link]) -> set[bytes]:
        """Add to *hints* what becomes of the inlinks when *page* takes the place of what was stored *before*.

        *old* are the links of *before*, or of a capture that was stored before the very same *page*. Returns the rows
        that gain or lose one. Those that stay are written anew where the page says so (`inlinks_at`), or where their
        anchor or rel is another one.
        """
        links, stored = self.rows(page.outlinks or ()), self.rows(old)
        timestamp, column = milliseconds(hints_at(page)), self.column(page.url)
        for row, link in links.items():
            if page.inlinks_at is None or stored.get(row) != link:
                hints.put(owner, self.table, row, NewCell(column, timestamp, inlink_value(link)))
        gone = stored.keys() - links.keys()
        now = now_in_milliseconds()
        for row in gone:
            self.remove(hints, owner, row, page.url, stored[row], timestamp - 1, before, now, timestamp)
        return gone | (links.keys() - stored.keys())

    def remove(
        self,
        hints: Hints,
        owner: int,
        row: bytes,
        source: str,
        link: Link,
        until: int,
        before: Page | None,
        now: int,
        gone_at: int | None = None,
    ) -> None:
        """Add to *hints* that the page *source* links to the page at *row* no more: the link becomes history.

        It went away at *gone_at*, *now* by default; *before* is the page as it was when it had the link.
        """
        past = NewCell(self.past_column(source), now if gone_at is None else gone_at, inlink_value(link))
        hints.remove(owner, self.table, Put(row, [past]))
        dates = [hints_at(before), before.content_at, before.inlinks_at] if before is not None else []
        for delete in removals(row, self.column(source), until, dates, now):
            hints.remove(owner, self.table, delete)

    def rows(self, links: Iterable[Link]) -> dict[bytes, Link]:
        """Return *links* by the rows that they lead to; those that lead to no web page are left out."""
        rows: dict[bytes, Link] = {}
        for link in links:
            try:
                rows.setdefault(self.key.encode(link.url), link)
            except InvalidURL:
                continue
        return rows


def inlink_value(link: Link) -> bytes:
    """Return the value of an inlink."""
    text = f"{link.anchor}\0{link.rel}" if link.rel else link.anchor
    return text.encode("utf-8", "replace")


def link_of(url: str, value: bytes) -> Link:
    """Return the link to *url* that `inlink_value` was given."""
    anchor, _, rel = value.decode("utf-8", "replace").partition("\0")
    return Link(url, anchor, rel)


def link_to(target: str, links: Sequence[Link]) -> Link | None:
    """Return the first of *links* that leads to the canonical URL *target*."""
    exact = next((link for link in links if link.url == target), None)
    return exact or next((link for link in links if _canonical(link.url) == target), None)


def _canonical(url: str) -> str | None:
    try:
        return canonical_url(url)
    except InvalidURL:
        return None
