"""The content of a page as cells, and back: its capture, its body and its links."""

from __future__ import annotations

import warnings
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from zlib import crc32

import msgspec
from msgspec.structs import replace

from webtable._checksums import UNREADABLE
from webtable._clock import moment_of
from webtable.errors import DamagedRow
from webtable.page.body import algorithm_of, digest_like
from webtable.page.parts import Link
from webtable.repository.stored.page_state import CAPTURED, DAMAGED_CAPTURE, Capture, Version
from webtable.repository.stored.values import MAGIC, JSONValue, checked_json, json_of, pack, unpack
from webtable.schema import Layout, web_columns
from webtable.store import NewCell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.page.page import Page
    from webtable.store import Cell, Row

Packed = tuple[bytes | None, bytes | None]
"""A body and links as they are stored; None for one that the page does not have."""
S = TypeVar("S", bound=msgspec.Struct)

_CAPTURES = JSONValue(Capture)
# In one step: getting each of them by name takes as long as making the capture.
_captured = attrgetter(*CAPTURED)
_decode_links = msgspec.json.Decoder(tuple[Link, ...]).decode


class PackedVersion(NamedTuple):
    """A version of a page's content as it is stored: its date, its capture, and its compressed body and links."""

    timestamp: int
    capture: Capture
    body: bytes | None
    links: bytes | None


class ContentCodec:
    """Converts the content of pages to the cells of a layout, and back.

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

    def contents(self, columns: Sequence[bytes]) -> list[bytes]:
        """Return those of the stored *columns* that have content."""
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
        values = [value for page in pages for value in (page.body, _links_json(page)) if value is not None]
        packed = iter(pack(values, compress=self._compress, threads=threads))
        return [
            (None if page.body is None else next(packed), None if page.outlinks is None else next(packed))
            for page in pages
        ]

    def content_cells(self, row: bytes, timestamp: int, page: Page, packed: Packed) -> list[NewCell]:
        """Return the cells of the content of *page*: its capture, and its *packed* body and links."""
        body, links = packed
        facts: dict[str, Any] = {
            "body_crc32": self._checksum(body),
            "links_crc32": self._checksum(links),
            "has_links": links is not None,
        }
        capture = Capture(*_captured(page), **facts)
        return self._version_cells(row, timestamp, capture, body, links)

    def copied_cells(self, row: bytes, version: PackedVersion) -> list[NewCell]:
        """Return the cells in *row* of a *version* from another table, packed according to this layout."""
        body, links = version.body, version.links
        capture = replace(version.capture, body_crc32=self._checksum(body), links_crc32=self._checksum(links))
        return self._version_cells(row, version.timestamp, capture, body, links)

    def _version_cells(
        self, row: bytes, timestamp: int, capture: Capture, body: bytes | None, links: bytes | None
    ) -> list[NewCell]:
        cells = [NewCell(self.columns.capture, timestamp, checked_json(capture, row, timestamp))]
        if body is not None:
            cells.append(NewCell(self.columns.body, timestamp, body))
        if links is not None:
            cells.append(NewCell(self.columns.urls, timestamp, links))
        return cells

    def _checksum(self, value: bytes | None) -> str | None:
        return None if self._compress or value is None else f"{crc32(value):08x}"

    def versions(self, row: Row) -> list[Version]:
        """Return the versions of the page of *row*, newest first; damaged ones have `DAMAGED_CAPTURE`."""
        found: list[Version] = []
        for cell in row.cells.get(self.columns.capture, ()):
            try:
                found.append(self.capture(row, cell))
            except DamagedRow:
                with suppress(OverflowError):
                    found.append(Version(moment_of(cell.timestamp), DAMAGED_CAPTURE))
        return found

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
        (packed,) = pack([json_of(links)], compress=self._compress)
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


def _links_json(page: Page) -> bytes | None:
    return None if page.outlinks is None else json_of(page.outlinks)
