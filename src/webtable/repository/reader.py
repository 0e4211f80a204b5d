"""Rows read as pages, each with the content that is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable.repository.captures import Stored
from webtable.repository.codec import PageCodec, milliseconds
from webtable.repository.scan import together
from webtable.store import Row, Store, TimeRange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.page import Link, Page
    from webtable.store import Cell


class PageReader:
    """Reads pages from one table."""

    def __init__(self, store: Store, table: str, codec: PageCodec) -> None:
        self._store = store
        self._table = table
        self._codec = codec

    def read(self, rows: Sequence[bytes], columns: Sequence[str]) -> list[Page | None]:
        """Return the page of each of *rows*, None where there is none; *columns* as `PageCodec.select` takes them."""
        found = self._store.read(self._table, rows, columns=self._codec.select(columns))
        return [row and self.page(row) for row in found]

    def each(self, rows: Sequence[bytes], columns: Sequence[str]) -> Iterator[Page | None]:
        """Yield what `read` returns; bodies and links are read for as many rows at once as take 8 MiB."""
        if len(rows) == 1 or not {"html", "outlinks"}.intersection(columns):
            yield from self.read(rows, columns)
            return
        names, wanted = self._codec.columns, self._codec.select(columns)
        content = [column for column in wanted if column in (names.html, names.urls)]
        known = self._store.read(self._table, rows, columns=[one for one in wanted if one not in content])
        weight = self._codec.weight(content)
        for some in together((row, 0 if row is None else weight(row)) for row in known):
            keys = [row.key for row in some if row is not None]
            found = iter(self._store.read(self._table, keys, columns=content) if keys else ())
            for row in some:
                body = next(found) if row else None
                yield row and self.page(row if body is None else Row(row.key, {**row.cells, **body.cells}))

    def weights(self, rows: Sequence[bytes], columns: Sequence[str]) -> list[int]:
        """Return about how many bytes each of *rows* has in the page columns *columns*; 0 where it is no page."""
        weight = self._codec.weight(self._codec.select(columns))
        found = self._store.read(self._table, rows, columns=[self._codec.columns.page])
        return [0 if row is None else weight(row) for row in found]

    def stored(self, rows: Sequence[bytes], versions: int) -> list[Stored]:
        """Return what is stored of the page of each of *rows*: its newest capture and its versions, without bodies."""
        columns = [self._codec.columns.page, self._codec.columns.deleted, self._codec.columns.capture]
        found = self._store.read(self._table, rows, columns=columns, versions=versions)
        return [Stored() if row is None else self._codec.stored(row) for row in found]

    def links_of(self, pages: Sequence[tuple[bytes, Page]]) -> list[Sequence[Link]]:
        """Return the stored links of each of *pages*, each with its row."""
        urls = self._codec.columns.urls
        found = self._store.read(self._table, [row for row, _ in pages], columns=[urls], versions=2)
        return [
            [] if stored is None else self._links(stored, page)
            for stored, (_, page) in zip(found, pages, strict=True)
        ]

    def links_and_older(self, pages: Sequence[tuple[bytes, Page]]) -> list[tuple[Sequence[Link], Sequence[Link]]]:
        """Return the stored links of each of *pages*, each with its row, and those of the content before it."""
        urls = self._codec.columns.urls
        found = self._store.read(self._table, [row for row, _ in pages], columns=[urls], versions=2)
        both: list[tuple[Sequence[Link], Sequence[Link]]] = []
        for stored, (_, page) in zip(found, pages, strict=True):
            at = None if page.content_at is None else milliseconds(page.content_at)
            cells = stored.cells[urls] if stored and at is not None else ()
            older = [cell for cell in cells if at is not None and cell.timestamp < at]
            links = self._links(stored, page) if stored else []
            both.append((links, self._codec.links(stored, older[0]) if stored and older else []))
        return both

    def links(self, row: Row, cell: Cell) -> Sequence[Link]:
        """Return the links that a cell of *row* holds."""
        return self._codec.links(row, cell)

    def _links(self, stored: Row, page: Page) -> Sequence[Link]:
        at = page.content_at and milliseconds(page.content_at)
        for cell in stored.cells[self._codec.columns.urls]:
            if cell.timestamp == at:
                return self._codec.links(stored, cell)
        return self.content_of(stored.key, page).outlinks or []

    def page(self, row: Row) -> Page | None:
        """Return the page of *row*, None where it is none."""
        page = self._codec.page(row)
        if page is None or len(row.cells) == 1 or not self._codec.is_stale(page, row):
            return page
        own = self.content_of(row.key, page)
        wanted = row.cells.keys()
        return replace(
            page,
            html=own.html if self._codec.columns.html in wanted else None,
            outlinks=own.outlinks if self._codec.columns.urls in wanted else None,
        )

    def contents_of(self, pages: Sequence[tuple[bytes, Page]]) -> list[Page]:
        """Return each of *pages*, each with its row, with the body and the links under its `content_at`."""
        columns = [self._codec.columns.html, self._codec.columns.urls]
        filled: list[Page] = []
        for some in together((one, one[1].size or 0) for one in pages):
            found = self._store.read(self._table, [row for row, _ in some], columns=columns)
            for stored, (row, page) in zip(found, some, strict=True):
                if stored is not None and not self._codec.is_stale(page, stored):
                    filled.append(self._codec.fill(replace(page, html=None, outlinks=None), stored))
                else:
                    filled.append(self.content_of(row, page))
        return filled

    def content_of(self, row: bytes, page: Page) -> Page:
        """Return *page* with the body and the links that were stored under its `content_at`."""
        if page.content_at is None:
            return page
        timestamp = milliseconds(page.content_at)
        columns = [self._codec.columns.html, self._codec.columns.urls]
        (found,) = self._store.read(
            self._table, [row], columns=columns, time_range=TimeRange(timestamp, timestamp + 1)
        )
        bare = replace(page, html=None, outlinks=None)
        return self._codec.fill(bare, found) if found else bare

