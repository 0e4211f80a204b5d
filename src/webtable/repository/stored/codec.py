"""Pages as cells, and cells as pages."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec
from msgspec.structs import force_setattr, replace

from webtable._checksums import RIGHT, UNREADABLE
from webtable._clock import milliseconds, possible_moment
from webtable.errors import CellTooLarge, DamagedRow
from webtable.page.page import BLANK, LINK_BYTES, Page
from webtable.page.parts import LinkCounts
from webtable.repository.stored.content import ContentCodec
from webtable.repository.stored.named_columns import EXTRA_COLUMNS, checked_fields
from webtable.repository.stored.page_state import CAPTURED, Deleted, Stored, Unreadable
from webtable.repository.stored.values import MOST_UNPACKED, JSONValue, checked_json, json_of, unpacked_size
from webtable.store import NewCell, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from webtable.repository.stored.content import Packed
    from webtable.schema import Layout
    from webtable.store import Cell

_BESIDE_VALUE = 65_536
"""How many bytes of a cell are reserved besides its value: the store's limit includes the row key and the names."""


class _Extent(msgspec.Struct):
    size: int | None = None
    outlink_count: int | None = None


_PAGES = JSONValue(Page)
_COUNTS = JSONValue(LinkCounts)
_DELETED = JSONValue(Deleted)
_decode_page = _PAGES.decode
_decode_extent = msgspec.json.Decoder(_Extent).decode


class PageCodec(ContentCodec):
    """Converts pages to the cells of a layout, and rows to pages; raises `DamagedRow` for a damaged row."""

    def __init__(self, layout: Layout, max_cell: int) -> None:
        super().__init__(layout, max_cell)
        self._page = self.columns.page
        self._plain = [(name, self.columns.plain[name]) for name in layout.plain_columns]

    def select(self, columns: Sequence[str] | None) -> list[bytes]:
        """Return the stored columns for the page columns *columns* (None: only the metadata).

        Raises `UnknownColumn` for a name that a page does not have.
        """
        wanted = checked_fields(columns)
        extra = {"body": self.columns.body, "outlinks": self.columns.urls, "link_counts": self.columns.links}
        chosen = [self.columns.page, *(extra[name] for name in EXTRA_COLUMNS if name in wanted)]
        return self.with_checksums(chosen)

    def cells(
        self, row: bytes, page: Page, before: Page | None, content: Packed | None, *, with_metadata: bool = True
    ) -> list[NewCell]:
        """Return the cells of *page*, and of its *content* if that is to be written; *before* is the stored page.

        Raises `CellTooLarge` if one of them is too large.
        """
        timestamp = milliseconds(page.fetched_at)
        cells = self.metadata_cells(row, timestamp, page, before) if with_metadata else []
        if content is not None:
            cells += self.content_cells(row, timestamp, page, content)
        self.check_sizes(page, cells)
        return cells

    def metadata_cells(self, row: bytes, timestamp: int, page: Page, before: Page | None) -> list[NewCell]:
        """Return the cells of the page's metadata; *before* is the page as it is stored."""
        cells = [NewCell(self.columns.page, timestamp, checked_json(bare(page), row, timestamp))]
        for name, column in self._plain:
            text = _plain_text(getattr(page, name))
            # An empty value replaces an outdated one; if there was no value, none is written.
            if text or (before is not None and getattr(before, name) is not None):
                cells.append(NewCell(column, timestamp, text))
        return cells

    def check_sizes(self, page: Page, cells: Sequence[NewCell]) -> None:
        """Raise `CellTooLarge` if one of the cells of *page* is over the store's limit, or too long uncompressed."""
        most, unpacked = self.max_cell - _BESIDE_VALUE, max(MOST_UNPACKED, self.max_cell)
        for cell in cells:
            if len(cell.value) > most:
                raise self._too_large(page, cell, f"takes {len(cell.value):,} bytes in the store", most)
            if unpacked_size(cell.value) > unpacked:
                raise self._too_large(page, cell, f"has {unpacked_size(cell.value):,} bytes", unpacked)

    def _too_large(self, page: Page, cell: NewCell, size: str, most: int) -> CellTooLarge:
        remedy = CellTooLarge.CUTS if cell.column == self.columns.body else ""
        return CellTooLarge(f"{page.url[:200]}: {cell.column.decode()} {size}; the limit is {most:,}{remedy}")

    def page(self, row: Row) -> Page | None:
        """Return the page of a row, or None if the row is not a page (it may only have inlinks).

        Its body and links are omitted if the newest stored ones are not those of the page: see `is_stale`.
        """
        cells = row.cells.get(self._page)
        if not cells:
            return None
        timestamp, value = cells[0]
        try:
            # The checksum covers the bytes, their row and their timestamp, and so the URL and the date in them. It is
            # inlined here (see `webtable._checksums`) because a listing does it for every row.
            if crc32(value, crc32(row.key, timestamp ^ timestamp >> 32)) == RIGHT:
                page = _decode_page(value)
            else:
                page = _PAGES.read(value, row.key, timestamp)
        except UNREADABLE as exc:
            raise self.damaged(row.key, self.columns.page, exc) from exc
        return page if len(row.cells) == 1 else self.fill(page, row)

    def pages(self, rows: Sequence[Row]) -> Sequence[Page | None]:
        """Return what `page` does for each of *rows*, in less time; raises `DamagedRow` for the first damaged one."""
        column = self._page
        try:
            pages = _PAGES.read_all([(key, *cells[column][0]) for key, cells in rows if column in cells])
        except UNREADABLE:
            return [self.page(row) for row in rows]
        if len(pages) == len(rows) and all(len(cells) == 1 for _, cells in rows):
            return pages
        each = iter(pages)
        return [self.fill(next(each), row) if column in row.cells else None for row in rows]

    def weight(self, columns: Collection[bytes]) -> Callable[[Row], int]:
        """Return a function that estimates, from a row's metadata, its bytes in the stored *columns*."""
        with_html = self.columns.body in columns or self.family in columns
        with_links = self.columns.urls in columns

        def weight(row: Row) -> int:
            stored = row.value(self.columns.page)
            if stored is None:
                return 0
            try:
                extent = _decode_extent(stored)
            except UNREADABLE:
                return 0  # the error is raised where the page is read
            body = (extent.size or 0) if with_html else 0
            return body + (LINK_BYTES * (extent.outlink_count or 0) if with_links else 0)

        return weight

    def fill(self, page: Page, row: Row) -> Page:
        """Set the fields of *page* that *row* has in separate cells; no other code may hold *page* yet."""
        cells, names = row.cells, self.columns
        if names.links in cells:
            force_setattr(page, "link_counts", self.counts(row))
        content_at = page._content_at  # not by `stored`: each page of a listing comes here
        if content_at is None:
            return page
        at = milliseconds(content_at)
        if not self._compress and (captures := cells.get(names.capture)) and captures[0].timestamp != at:
            return page
        if page.has_body and (body := cells.get(names.body)) and body[0].timestamp == at:
            force_setattr(page, "body", self.body(row, body[0]))
        if page.outlink_count is not None and (links := cells.get(names.urls)) and links[0].timestamp == at:
            force_setattr(page, "outlinks", self.links(row, links[0]))
        return page

    def counts(self, row: Row) -> LinkCounts | None:
        """Return the counts of links to *row*, or None if they were not counted; *row* need not be a page."""
        cells = row.cells.get(self.columns.links)
        return None if not cells else self.read(_COUNTS, row, self.columns.links, cells[0])

    def is_stale(self, page: Page, row: Row) -> bool:
        """Whether *row* has a body or links that are not those of *page*, which was filled from it.

        That is so after a late capture, one that was fetched before *page* and after its content was stored.
        """
        return (page.has_body and page.body is None and self.columns.body in row.cells) or (
            page.outlink_count is not None and page.outlinks is None and self.columns.urls in row.cells
        )

    def wanted(self, columns: Collection[bytes]) -> tuple[bool, bool]:
        """Return whether the body and whether the links are among the stored *columns*."""
        names = self.columns
        return names.body in columns or self.family in columns, names.urls in columns

    def lacks(self, page: Page, columns: Collection[bytes]) -> bool:
        """Whether *page*, which was read with the stored *columns*, lacks content that it should have there.

        Links are expected only of a page with a body, or with their digest: a crawler may have given a count of links
        without the links.
        """
        return (page.has_body and page.body is None and self.wanted(columns)[0]) or (
            page.outlinks is None
            and page.outlink_count is not None
            and (page.has_body or page.stored.links_digest is not None)
            and self.columns.urls in columns
        )

    def lacking(self, page: Page, columns: Collection[bytes]) -> list[bytes]:
        """Return which of `body_and_links` the *page* lacks, in the sense of `lacks`."""
        named = zip(self.body_and_links, self.wanted(columns), strict=True)
        return [column for column, is_wanted in named if is_wanted and self.lacks(page, [column])]

    def stored(self, row: Row) -> Stored:
        """Return the state of a page from its row, read with the columns of captures and of deletes."""
        deleted = self.deleted(row)
        try:
            page = self.page(row)
        except DamagedRow as exc:
            unreadable = Unreadable(row.cells[self.columns.page][0].timestamp, exc)
            return Stored(deleted=deleted, unreadable=unreadable)
        return Stored(deleted=deleted) if page is None else Stored(page, self.versions(row), deleted)

    def deleted(self, row: Row) -> Deleted | None:
        """Return what a delete hides in *row*, or None if there was no delete."""
        cells = row.cells.get(self.columns.deleted)
        if not cells:
            return None
        try:
            return self.read(_DELETED, row, self.columns.deleted, cells[0])
        except DamagedRow:
            return Deleted(possible_moment(cells[0].timestamp))

    def deleted_cell(self, row: bytes, deleted: Deleted) -> NewCell:
        """Return the cell that marks a delete in *row*."""
        timestamp = milliseconds(deleted.until)
        return NewCell(self.columns.deleted, timestamp, checked_json(deleted, row, timestamp))

    def version(self, row: Row, capture: Cell, body: Cell | None, links: Cell | None = None) -> Page:
        """Return a version of a page, for its history."""
        fetched_at, fields = self.capture(row, capture)
        try:
            url = self._key.url_of(row.key)
        except ValueError as exc:
            raise self.damaged(row.key, self.columns.capture, exc) from exc
        return replace(
            BLANK,
            **{name: getattr(fields, name) for name in CAPTURED},
            url=url,
            # Another capture of the same millisecond may have left its body or links.
            body=None if body is None or fields.digest is None else self.body(row, body),
            fetched_at=fetched_at,
            outlinks=None if links is None or not fields.has_links else self.links(row, links),
            _content_at=fetched_at,
        )


def bare(page: Page) -> Page:
    """Return *page* with the fields of its metadata cell, which are those that an index gets.

    The payload digest of stored content is in its capture alone: a listing would pay for it.
    """
    digest = page._payload_digest if page.same_as is not None else None
    return replace(page, body=None, outlinks=None, link_counts=None, _payload_digest=digest)


def as_stored(page: Page) -> Page:
    """Return *page* as it will be read from its metadata cell."""
    return _decode_page(json_of(bare(page)))


def _plain_text(value: object) -> bytes:
    if value is None:
        return b""
    if isinstance(value, datetime):
        if value.tzinfo is not UTC:
            with suppress(OverflowError):  # in the first or the last hours of the calendar
                value = value.astimezone(UTC)
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()
    return str(value).encode("utf-8", "replace")
