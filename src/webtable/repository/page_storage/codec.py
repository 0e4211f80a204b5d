"""Pages as cells, and cells as pages: their metadata, their captures, bodies and links."""

from __future__ import annotations

import warnings
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from zlib import crc32

import msgspec
from msgspec.structs import force_setattr, replace

from webtable._checksums import RIGHT, UNREADABLE
from webtable._clock import milliseconds, moment_of, possible_moment
from webtable.errors import CellTooLarge, DamagedRow
from webtable.page.body import algorithm_of, digest_like
from webtable.page.page import BLANK, LINK_BYTES, Page
from webtable.page.parts import Link, LinkCounts, links_as_lists
from webtable.repository.answers.columns import EXTRA_COLUMNS, checked_fields
from webtable.repository.page_storage.cells import (
    MAGIC,
    MOST_UNPACKED,
    JSONValue,
    checked_json,
    json_of,
    pack,
    unpack,
    unpacked_size,
)
from webtable.repository.page_storage.state import (
    CAPTURED,
    DAMAGED_CAPTURE,
    Capture,
    Deleted,
    Stored,
    Unreadable,
    Version,
)
from webtable.schema import Layout, web_columns
from webtable.store import Cell, NewCell, Row
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence


Packed = tuple[bytes | None, bytes | None]
"""A body and links as they are stored; None for one that the page does not have."""
S = TypeVar("S", bound=msgspec.Struct)

_CAPTURES = JSONValue(Capture)
# In one step: getting each of them by name takes as long as making the capture.
_captured = attrgetter(*CAPTURED)
_PAGES = JSONValue(Page)
_COUNTS = JSONValue(LinkCounts)
_DELETED = JSONValue(Deleted)
_decode_page = _PAGES.decode
_BESIDE_VALUE = 65_536
"""How many bytes of a cell are reserved besides its value: the store's limit includes the row key and the names."""


class _Extent(msgspec.Struct):
    size: int | None = None
    outlink_count: int | None = None


_decode_extent = msgspec.json.Decoder(_Extent).decode
_decode_links = msgspec.json.Decoder(tuple[Link, ...]).decode


class PackedVersion(NamedTuple):
    """A version of a page's content as it is stored: its date, its capture, and its compressed body and links."""

    timestamp: int
    capture: Capture
    body: bytes | None
    links: bytes | None


class PageCodec:
    """Converts pages to the cells of a layout, and rows to pages.

    All methods that read a cell raise `DamagedRow` if it cannot be read, or does not match its checksum. The checksums
    of compressed bodies and links are in their frames, those of uncompressed ones in the capture of the same date.
    """

    def __init__(self, layout: Layout, max_cell: int) -> None:
        self.max_cell = max_cell
        """The largest cell of the store in bytes."""
        self.columns: Final = web_columns(layout.names)
        self._key = layout.web_key()
        self._compress = layout.compression != "none"
        self.family: Final = f"{self.columns.content}:".encode()
        """The family of bodies and captures."""
        self.body_and_links: Final = self.columns.body, self.columns.urls
        self._plain = [(name, self.columns.plain[name]) for name in layout.plain_columns]
        self.selection: Callable[[tuple[str, ...]], tuple[Wanted, Sequence[bytes]]]
        self.selection = lru_cache(maxsize=64)(self._selection)
        """The same as `select` for a tuple of columns, as what is wanted of rows; and those of it that have content."""

    def contents(self, columns: Sequence[bytes]) -> list[bytes]:
        """The stored *columns* that have content."""
        names = self.columns
        return [column for column in columns if column in (names.body, names.urls, names.capture, self.family)]

    def with_checksums(self, columns: list[bytes]) -> list[bytes]:
        """Return the stored *columns*, with that of captures if it has the checksums of any."""
        names = self.columns
        if self._compress or not (names.body in columns or names.urls in columns):
            return columns
        if names.body in columns:
            # The family has only these two columns, and reading a family is faster than reading two columns.
            return [self.family if column == names.body else column for column in columns]
        return [*columns, names.capture]

    def packed(self, pages: Sequence[Page], *, threads: int = -1) -> list[Packed]:
        """Return the body and the links of each of *pages* as they are stored; *threads* is that of `pack`."""
        links = (None if page.outlinks is None else json_of(links_as_lists(page.outlinks)) for page in pages)
        values = [
            value for page, own in zip(pages, links, strict=True) for value in (page.body, own) if value is not None
        ]
        packed = iter(pack(values, compress=self._compress, threads=threads))
        return [
            (None if page.body is None else next(packed), None if page.outlinks is None else next(packed))
            for page in pages
        ]

    def content_cells(self, row: bytes, page: Page, packed: Packed) -> list[NewCell]:
        """Return the cells of the content of *page*: its capture, and its *packed* body and links."""
        fields = dict(zip(CAPTURED, _captured(page), strict=True))
        capture = Capture(**fields, has_links=packed[1] is not None)
        return self.version_cells(row, PackedVersion(milliseconds(page.fetched_at), capture, *packed))

    def version_cells(self, row: bytes, version: PackedVersion) -> list[NewCell]:
        """Return the cells in *row* of a *version*, which is packed as this layout has it."""
        timestamp, capture, body, links = version
        # Of a version from another table the checksums are those of its values there, which may be packed otherwise.
        capture = replace(capture, body_crc32=self._checksum(body), links_crc32=self._checksum(links))
        values = (self.columns.body, body), (self.columns.urls, links)
        return [
            NewCell(self.columns.capture, timestamp, checked_json(capture, row, timestamp)),
            *(NewCell(column, timestamp, value) for column, value in values if value is not None),
        ]

    def _checksum(self, value: bytes | None) -> str | None:
        return None if self._compress or value is None else f"{crc32(value):08x}"

    def versions(self, row: Row) -> list[Version]:
        """Return the versions of the page of *row*, newest first; damaged ones have `DAMAGED_CAPTURE`."""
        versions: list[Version] = []
        for cell in row.cells.get(self.columns.capture, ()):
            try:
                versions.append(self.capture(row, cell))
            except DamagedRow:
                with suppress(OverflowError):
                    versions.append(Version(moment_of(cell.timestamp), DAMAGED_CAPTURE))
        return versions

    def capture(self, row: Row, cell: Cell) -> Version:
        """Return the capture in a cell of *row*, and its date."""
        try:
            return Version(moment_of(cell.timestamp), self.read(_CAPTURES, row, self.columns.capture, cell))
        except OverflowError as exc:
            raise self.damaged(row.key, self.columns.capture, exc) from exc

    def body(self, row: Row, cell: Cell) -> bytes:
        """Return the body in a cell of *row*."""
        try:
            self._check(row, cell, b'"body_crc32":"')
            return self.unpacked(cell.value)
        except UNREADABLE as exc:
            raise self.damaged(row.key, self.columns.body, exc) from exc

    def unpacked(self, stored: bytes) -> bytes:
        """Return a stored body, or stored links, uncompressed; raises `ValueError` for a damaged frame."""
        return unpack(stored, self.max_cell)

    def links(self, row: Row, cell: Cell) -> tuple[Link, ...]:
        """Return the links in a cell of *row*."""
        try:
            self._check(row, cell, b'"links_crc32":"')
            return _decode_links(self.unpacked(cell.value))
        except UNREADABLE as exc:
            raise self.damaged(row.key, self.columns.urls, exc) from exc

    def link_cells(self, row: Row, cell: Cell, links: Sequence[Link]) -> list[NewCell]:
        """Return the cells that replace the links in a cell of *row* by *links*, with its date."""
        (packed,) = pack([json_of(links_as_lists(links))], compress=self._compress)
        cells = [NewCell(self.columns.urls, cell.timestamp, packed)]
        for capture in () if self._compress else row.cells.get(self.columns.capture, ()):
            if capture.timestamp == cell.timestamp:
                changed = replace(self.capture(row, capture).capture, links_crc32=self._checksum(packed))
                value = checked_json(changed, row.key, capture.timestamp)
                cells.append(NewCell(self.columns.capture, capture.timestamp, value))
        return cells

    def _check(self, row: Row, cell: Cell, name: bytes) -> None:
        """Raise `ValueError` if *cell* has no checksum, or not the one in the capture of its date under *name*."""
        if self._compress:
            if not cell.value.startswith(MAGIC):
                raise ValueError(f"{len(cell.value):,} bytes that are not a zstd frame")
            return
        for capture in row.cells.get(self.columns.capture, ()):
            if capture.timestamp == cell.timestamp:
                # Extracted without decoding the rest: if that is damaged, this does not match either, or is missing.
                at = capture.value.rfind(name)
                if at < 0:
                    self.capture(row, capture)
                elif capture.value[at + len(name) : at + len(name) + 8] != b"%08x" % crc32(cell.value):
                    raise ValueError("it does not match its checksum")

    def read(self, kind: JSONValue[S], row: Row, column: bytes, cell: Cell) -> S:
        """Return the struct of that *kind* in *cell*, in a *column* of *row*."""
        try:
            return kind.read(cell.value, row.key, cell.timestamp)
        except UNREADABLE as exc:
            raise self.damaged(row.key, column, exc) from exc

    def damaged(self, row: bytes, column: bytes, reason: object) -> DamagedRow:
        """Return the error for a *column* of *row* that cannot be read, with the *reason*."""
        return DamagedRow(row, self._url_of(row), f"{column.decode(errors='replace')}: {str(reason)[:300]}")

    def _url_of(self, row: bytes) -> str | None:
        with suppress(ValueError):
            return self._key.decode(row)
        return None

    # --- Metadata and whole pages -------------------------------------------------------------------------------------

    def select(self, columns: Sequence[str] | None) -> list[bytes]:
        """Return the stored columns for the page columns *columns* (None: only the metadata).

        Raises `UnknownColumn` for a name that a page does not have.
        """
        wanted = checked_fields(columns)
        extra = {"body": self.columns.body, "outlinks": self.columns.urls, "link_counts": self.columns.links}
        chosen = [self.columns.page, *(extra[name] for name in EXTRA_COLUMNS if name in wanted)]
        return self.with_checksums(chosen)

    def _selection(self, columns: tuple[str, ...]) -> tuple[Wanted, Sequence[bytes]]:
        selected = self.select(columns)
        return Wanted(selected), self.contents(selected)

    def cells(
        self, row: bytes, page: Page, before: Page | None, content: Packed | None, *, with_metadata: bool = True
    ) -> list[NewCell]:
        """Return the cells of *page*, and of its *content* if that is to be written; *before* is the stored page.

        Raises `CellTooLarge` if one of them is too large.
        """
        cells = self.metadata_cells(row, page, before) if with_metadata else []
        if content is not None:
            cells += self.content_cells(row, page, content)
        self.check_sizes(page, cells)
        return cells

    def metadata_cells(self, row: bytes, page: Page, before: Page | None) -> list[NewCell]:
        """Return the cells of the page's metadata; *before* is the page as it is stored."""
        timestamp = milliseconds(page.fetched_at)
        cells = [NewCell(self.columns.page, timestamp, checked_json(bare(page), row, timestamp))]
        for name, column in self._plain:
            text = _plain_text(getattr(page, name))
            # An empty value replaces an outdated one; if there was no value, none is written.
            if text or (before is not None and getattr(before, name) is not None):
                cells.append(NewCell(column, timestamp, text))
        return cells

    def check_sizes(self, page: Page, cells: Sequence[NewCell]) -> None:
        """Raise `CellTooLarge` if one of the cells of *page* is over the store's limit, or too long uncompressed."""
        limit, unpacked = self.max_cell - _BESIDE_VALUE, max(MOST_UNPACKED, self.max_cell)
        for cell in cells:
            value = cell[2]
            if len(value) > limit:
                raise self._too_large(page, cell, f"takes {len(value):,} bytes in the store", limit)
            if value[:4] == MAGIC and unpacked_size(value) > unpacked:
                raise self._too_large(page, cell, f"has {unpacked_size(value):,} bytes", unpacked)

    def _too_large(self, page: Page, cell: NewCell, size: str, limit: int) -> CellTooLarge:
        fix = CellTooLarge.CUTS if cell.column == self.columns.body else ""
        return CellTooLarge(f"{page.url[:200]}: {cell.column.decode()} {size}; the limit is {limit:,}", fix)

    def page(self, row: Row) -> Page | None:
        """Return the page of a row, or None if the row is not a page (it may only have inlinks).

        Its body and links are omitted if the newest stored ones are not those of the page: see `is_stale`.
        """
        cells = row.cells.get(self.columns.page)
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
        """The page of each of *rows*, None for other rows; raises `DamagedRow` for the first damaged one."""
        column = self.columns.page
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
        return self.columns.body in columns or self.family in columns, self.columns.urls in columns

    def lacking(self, page: Page, columns: Collection[bytes]) -> list[bytes]:
        """Return the columns of content that *page*, which was read with the stored *columns*, lacks and should have.

        Links are expected only of a page with a body, or with their digest: a crawler may have given a count of links
        without the links.
        """
        with_body, with_links = self.wanted(columns)
        has_links = page.outlink_count is not None and (page.has_body or page._links_digest is not None)
        lacking = [self.columns.body] if with_body and page.has_body and page.body is None else []
        return [*lacking, self.columns.urls] if with_links and has_links and page.outlinks is None else lacking

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
        """The mark of a delete in *row*, or None if there was no delete."""
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


# A table that was copied, or whose pages have no body here, may keep digests of other algorithms.
def check_body(body: bytes, of: Page | Capture) -> None:
    """Raise `ValueError` if *body* does not match the digest and size of a page or a capture."""
    if of.truncated and of.size is not None and len(body) < of.size:
        return  # the digest and size are those of the whole body
    if of.size is not None and len(body) != of.size:
        raise ValueError(f"the body has {len(body):,} bytes, but had {of.size:,}")
    if of.digest is None:
        return
    digest = digest_like(of.digest, body)
    if digest is None:
        algorithm = algorithm_of(of.digest)
        text = f"a body was not compared with its digest: this version of webtable does not know {algorithm[:40]!r}"
        warnings.warn(text, stacklevel=2)
    elif digest != of.digest:
        raise ValueError("it is not the body whose digest was stored")


# What every listing reads: each byte here is read for every page of it.
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
