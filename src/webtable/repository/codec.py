"""Pages as cells, and cells as pages."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import force_setattr, replace

from webtable.errors import CellTooLarge, StoreError, UnknownColumn
from webtable.page import LINK_BYTES, Link, LinkCounts, Page
from webtable.repository.bodies import pack, unpack
from webtable.repository.captures import Capture, Deleted, Stored, Version
from webtable.schema import Layout, web_columns
from webtable.store import MAX_CELL, NewCell, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from webtable.store import Cell

T = TypeVar("T")

EXTRA_COLUMNS = ("html", "outlinks", "link_counts")
"""The columns of a page that are cells of their own, and so are read only where they are asked for."""
PAGE_COLUMNS = tuple(name for name in Page.__struct_fields__ if name != "same_as")
"""Everything that a page has, as `columns=` takes it."""

MAX_VALUE = MAX_CELL - 65_536
"""The largest value of a cell in bytes: the store's limit counts the row key and the names in."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class _Extent(msgspec.Struct):
    size: int | None = None
    outlink_count: int | None = None


_decode_page = msgspec.json.Decoder(Page).decode
_decode_deleted = msgspec.json.Decoder(Deleted).decode
_decode_extent = msgspec.json.Decoder(_Extent).decode
_decode_links = msgspec.json.Decoder(tuple[Link, ...]).decode
_decode_counts = msgspec.json.Decoder(LinkCounts).decode
_encoder = msgspec.json.Encoder()


def milliseconds(moment: datetime) -> int:
    """Return a timezone-aware *moment* as epoch milliseconds."""
    return (moment - EPOCH) // _MILLISECOND


def now_in_milliseconds() -> int:
    """Return the current moment as epoch milliseconds."""
    return time.time_ns() // 1_000_000


def moment_of(timestamp: int) -> datetime:
    """Return epoch milliseconds as a moment in UTC."""
    return EPOCH + timestamp * _MILLISECOND


_decode_capture = msgspec.json.Decoder(Capture).decode


class PageCodec:
    """Turns pages into the cells of a layout, and rows of it into pages."""

    def __init__(self, layout: Layout) -> None:
        self.columns = web_columns(layout.names)
        self._key = layout.web_key()
        self._compress = layout.compression == "zstd"
        self._plain = [(name, self.columns.plain[name]) for name in layout.plain_columns]

    def select(self, columns: Sequence[str] | None) -> list[bytes]:
        """Return the stored columns that the page columns *columns* need (None: only the metadata).

        Raises `UnknownColumn` for a name that a page does not have.
        """
        if isinstance(columns, str):
            columns = (columns,)
        if not isinstance(columns, Iterable | None):
            raise UnknownColumn(f"columns={columns!r} must be a list of names, as in ['html']")
        wanted = tuple(columns or ())
        unknown = [name for name in wanted if name not in PAGE_COLUMNS]
        if unknown:
            raise UnknownColumn(f"columns={unknown[0]!r} is no column of a page; it has {', '.join(PAGE_COLUMNS)}")
        extra = {"html": self.columns.html, "outlinks": self.columns.urls, "link_counts": self.columns.links}
        return [self.columns.page, *(extra[name] for name in EXTRA_COLUMNS if name in wanted)]

    def metadata_cells(self, page: Page, before: Page | None) -> list[NewCell]:
        """Return the cells of the page's metadata; *before* is the page as it is stored."""
        timestamp = milliseconds(page.fetched_at)
        metadata = _json(bare(page))
        cells = [NewCell(self.columns.page, timestamp, metadata)]
        for name, column in self._plain:
            text = _plain_text(getattr(page, name))
            # An empty value takes the place of one that no longer holds; where there was none, none is written.
            if text or (before is not None and getattr(before, name) is not None):
                cells.append(NewCell(column, timestamp, text))
        return cells

    def content_cells(self, pages: Sequence[Page]) -> list[list[NewCell]]:
        """Return for each of *pages* the cells of its content: its capture, its body and its links, compressed."""
        parts: list[tuple[int, bytes]] = []
        values: list[bytes] = []
        cells: list[list[NewCell]] = []
        for number, page in enumerate(pages):
            capture = Capture(page.digest, page.size, page.title, page.status_code, page.content_type, page.truncated,
                              page.headers, page.charset)
            cells.append([NewCell(self.columns.capture, milliseconds(page.fetched_at), _json(capture))])
            if page.html is not None:
                parts.append((number, self.columns.html))
                values.append(page.html)
            if page.outlinks is not None:
                parts.append((number, self.columns.urls))
                values.append(_json(page.outlinks))
        for (number, column), value in zip(parts, pack(values, compress=self._compress), strict=True):
            cells[number].append(NewCell(column, milliseconds(pages[number].fetched_at), value))
        return cells

    def check_sizes(self, page: Page, cells: Sequence[NewCell]) -> None:
        """Raise `CellTooLarge` where one of the cells of *page* is over the store's limit."""
        for cell in cells:
            if len(cell.value) > MAX_VALUE:
                raise CellTooLarge(
                    f"{page.url[:200]}: {cell.column.decode()} takes {len(cell.value):,} bytes in the store; the limit "
                    f"is {MAX_VALUE:,}. Give the writer max_body=… to cut long bodies"
                )

    def page(self, row: Row) -> Page | None:
        """Return the page of a row, None where the row is no page (somebody just links to it).

        Its body and links are left out where the newest stored ones are not its own: see `is_stale`.
        """
        stored = row.value(self.columns.page)
        if stored is None:
            return None
        return self.fill(_decoded(_decode_page, stored, row), row)

    def weight(self, columns: Collection[bytes]) -> Callable[[Row], int]:
        """Return what tells of a row, by its metadata, about how many bytes it has in the stored *columns*."""
        with_html, with_links = self.columns.html in columns, self.columns.urls in columns

        def weight(row: Row) -> int:
            stored = row.value(self.columns.page)
            if stored is None:
                return 0
            try:
                extent = _decode_extent(stored)
            except msgspec.MsgspecError:
                return 0  # who reads the page will say so
            body = (extent.size or 0) if with_html else 0
            return body + (LINK_BYTES * (extent.outlink_count or 0) if with_links else 0)

        return weight

    def fill(self, page: Page, row: Row) -> Page:
        """Give *page*, which nobody else may hold yet, what *row* has of its own cells beside the metadata."""
        if (counts := self.counts(row)) is not None:
            force_setattr(page, "link_counts", counts)
        body = row.cells.get(self.columns.html)
        if body and page.has_body and _is_current(page, body[0]):
            force_setattr(page, "html", unpack(body[0].value))
        links = row.cells.get(self.columns.urls)
        if links and page.outlink_count is not None and _is_current(page, links[0]):
            force_setattr(page, "outlinks", self.links(row, links[0]))
        return page

    def links(self, row: Row, cell: Cell) -> tuple[Link, ...]:
        """Return the links that a cell of *row* holds."""
        return _decoded(_decode_links, unpack(cell.value), row)

    def counts(self, row: Row) -> LinkCounts | None:
        """Return how many pages link to *row*, None where nobody has counted; also where the row is no page."""
        stored = row.value(self.columns.links)
        return None if stored is None else _decoded(_decode_counts, stored, row)

    def is_stale(self, page: Page, row: Row) -> bool:
        """Whether the newest body or links in *row* are those of another capture than the one that *page* has them of.

        So it is behind a late capture, one that was fetched before *page* and after its content was stored.
        """
        body, links = row.cells.get(self.columns.html), row.cells.get(self.columns.urls)
        return bool(
            (body and page.has_body and not _is_current(page, body[0]))
            or (links and page.outlink_count is not None and not _is_current(page, links[0]))
        )

    def stored(self, row: Row) -> Stored:
        """Return what a row with its capture column, and that of its deletes, holds of a page."""
        deleted, page = self.deleted(row), self.page(row)
        if page is None:
            return Stored(deleted=deleted)
        versions = [self._capture(row, cell) for cell in row.cells.get(self.columns.capture, ())]
        return Stored(page, versions, deleted)

    def deleted(self, row: Row) -> Deleted | None:
        """Return what a delete has hidden of *row*, None where there was none."""
        cells = row.cells.get(self.columns.deleted)
        if not cells:
            return None
        try:
            return _decode_deleted(cells[0].value)
        except msgspec.MsgspecError:
            return Deleted(moment_of(cells[0].timestamp))

    def deleted_cell(self, deleted: Deleted) -> NewCell:
        """Return the cell that a delete leaves behind."""
        return NewCell(self.columns.deleted, milliseconds(deleted.until), _json(deleted))

    def _capture(self, row: Row, cell: Cell) -> Version:
        return Version(moment_of(cell.timestamp), _decoded(_decode_capture, cell.value, row))

    def version(self, row: Row, capture: Cell, body: Cell | None, links: Cell | None = None) -> Page:
        """Return a version of a page as its history has it."""
        fetched_at, fields = self._capture(row, capture)
        return Page(
            url=self._key.url_of(row.key),
            html=None if body is None else unpack(body.value),
            title=fields.title,
            status_code=fields.status_code,
            content_type=fields.content_type,
            fetched_at=fetched_at,
            digest=fields.digest,
            size=fields.size,
            truncated=fields.truncated,
            charset=fields.charset,
            headers=fields.headers,
            outlinks=None if links is None else self.links(row, links),
            content_at=fetched_at,
        )


def bare(page: Page) -> Page:
    """Return *page* as its metadata cell has it: what an index knows of it."""
    return replace(page, html=None, outlinks=None, link_counts=None, same_as=None)


def as_stored(page: Page) -> Page:
    """Return *page* as it will be read back from its metadata cell."""
    return _decode_page(_json(bare(page)))


def _decoded(decode: Callable[[bytes], T], value: bytes, row: Row) -> T:
    try:
        return decode(value)
    except msgspec.MsgspecError as exc:
        raise StoreError(f"row {row.key[:200]!r}: a stored value cannot be read: {exc}") from exc


def _json(value: object) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        # A wrongly decoded title, header or anchor may hold half of a surrogate pair, which UTF-8 cannot write.
        return _encoder.encode(_with_whole_characters(msgspec.to_builtins(value)))


def _with_whole_characters(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_with_whole_characters(name): _with_whole_characters(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_with_whole_characters(inner) for inner in value]
        case _:
            return value


def _is_current(page: Page, cell: Cell) -> bool:
    return page.content_at is not None and cell.timestamp == milliseconds(page.content_at)


def _plain_text(value: object) -> bytes:
    match value:
        case None:
            return b""
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()
        case _:
            return str(value).encode("utf-8", "replace")
