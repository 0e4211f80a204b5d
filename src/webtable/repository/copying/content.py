"""The content of rows of the source, all versions of pages, converted to cells of the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable._clock import milliseconds
from webtable.errors import DamagedRow
from webtable.page.parts import Link
from webtable.repository.links.inlink_cells import with_self_links
from webtable.repository.page_storage.cells import pack
from webtable.repository.page_storage.codec import PackedVersion, check_body

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.page.page import Page
    from webtable.repository.copying.tables import TablePair
    from webtable.repository.page_storage.state import Version
    from webtable.store import Cell, NewCell, Row


@dataclass(frozen=True, slots=True)
class Content:
    """The readable versions of a page, newest first, as they are stored, and errors for the others.

    `links` has the links of each version, by its date.
    """

    packed: list[PackedVersion]
    links: dict[int, Sequence[Link]]
    damaged: list[DamagedRow]

    @property
    def bytes(self) -> int:
        """The bytes of the bodies and links, as they are stored."""
        return sum(len(value) for one in self.packed for value in (one.body, one.links) if value is not None)

    def page(self, page: Page) -> Page:
        """Return *page* with its links."""
        links = None if (at := page.stored.content_at) is None else self.links.get(milliseconds(at))
        return page if links is None else replace(page, outlinks=tuple(links))


class ContentReader:
    """Reads the content of rows of the source, and compares each body with its checksum and its digest."""

    def __init__(self, tables: TablePair) -> None:
        self._source = tables.source.codec
        self._target = tables.target.codec
        self._repacks = tables.source.layout.compression != tables.target.layout.compression
        self._compress = tables.target.layout.compression != "none"

    def content(self, row: Row, versions: Sequence[Version]) -> Content:
        """Return the content of *row* in these *versions*, which are to be copied."""
        found = Content([], {}, [])
        wanted = {milliseconds(version.at) for version in versions}
        names = self._source.columns
        bodies = {cell.timestamp: cell for cell in row.cells.get(names.body, ())}
        links = {cell.timestamp: cell for cell in row.cells.get(names.urls, ())}
        for cell in row.cells.get(names.capture, ()):
            if cell.timestamp not in wanted:
                continue
            try:
                self._add(found, row, cell, bodies.get(cell.timestamp), links.get(cell.timestamp))
            except DamagedRow as exc:
                found.damaged.append(exc)
        return found

    def cells(self, row: bytes, content: Content) -> Iterator[NewCell]:
        """Yield the cells of *content* in the *row* of the target."""
        for version in content.packed:
            yield from self._target.copied_cells(row, version)

    def captures(self, row: Row, content: Content, page: Page) -> list[Page]:
        """Return *content* and the *page* of *row* as captures, oldest first, as a crawler has put them."""
        source, names = self._source, self._source.columns
        cells = {cell.timestamp: cell for cell in row.cells[names.capture]} if content.packed else {}
        bodies = {cell.timestamp: cell for cell in row.cells.get(names.body, ())}
        captures = [
            replace(
                source.version(row, cells[one.timestamp], None if one.body is None else bodies[one.timestamp]),
                outlinks=None if one.timestamp not in content.links else tuple(content.links[one.timestamp]),
                _content_at=None,
            )
            for one in reversed(content.packed)
        ]
        if not captures or page.fetched_at > captures[-1].fetched_at:
            own = [one for one in captures if one.fetched_at == page.stored.content_at]
            html, links = (own[0].body, own[0].outlinks) if own else (None, None)
            captures.append(with_self_links(replace(page, body=html, outlinks=links)))
        return captures

    def _add(self, found: Content, row: Row, cell: Cell, body: Cell | None, links: Cell | None) -> None:
        version = self._source.capture(row, cell)
        capture = version.capture
        # Another capture of the same millisecond may have left its body or links.
        unpacked = None if body is None or capture.digest is None else self._body(row, body, version)
        known = None if links is None or not capture.has_links else self._source.links(row, links)
        packed = None if unpacked is None or body is None else self._packed(body.value, unpacked)
        packed_links = None if known is None or links is None else self._packed(links.value)
        found.packed.append(PackedVersion(cell.timestamp, capture, packed, packed_links))
        if known is not None:
            found.links[cell.timestamp] = known

    def _packed(self, stored: bytes, unpacked: bytes | None = None) -> bytes:
        """Return a *stored* body or list of links as the target stores it: unchanged, if both compress the same way."""
        if not self._repacks:
            return stored
        (packed,) = pack([self._source.unpacked(stored) if unpacked is None else unpacked], compress=self._compress)
        return packed

    def _body(self, row: Row, cell: Cell, version: Version) -> bytes:
        body = self._source.body(row, cell)
        try:
            check_body(body, version.capture)
        except ValueError as exc:
            raise self._source.damaged(row.key, self._source.columns.body, exc) from exc
        return body
