"""The comparison of the entries of an index with the pages of its table, in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._clock import milliseconds
from webtable.errors import DamagedRow, KeyFormatError
from webtable.page.page import Page
from webtable.repository.derived.drift import Drift, DriftCheckpoint, DriftComparison, Made, SourcedCell, pieces
from webtable.repository.derived.link_counts import entries_of
from webtable.repository.derived.signatures import is_unsigned, read_and_signed
from webtable.repository.indexes.index import place_of
from webtable.repository.page_storage.codec import bare
from webtable.repository.page_storage.state import hints_at
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.schema import INDEX_COLUMN
from webtable.store import NewCell
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from webtable.repository.context import Frame
    from webtable.repository.indexes.states import Maintained
    from webtable.repository.journal import Journal
    from webtable.repository.reading.damage import Damage
    from webtable.store import Row


class EntryComparison(DriftComparison):
    """A comparison of one index with its table."""

    def __init__(
        self, frame: Frame, found: Maintained, drift: Drift, damage: Damage, *, settle: float, apply: bool
    ) -> None:
        super().__init__(frame, drift, damage, settle=settle, apply=apply)
        self._index = found.index
        self._entries = found.table
        self._is_link = found.keeps_inlinks
        self._signs = found.signs_pages

    def run(self, journal: Journal[DriftCheckpoint], begun: DriftCheckpoint | None) -> Generator[None]:
        """Compare, continuing after *begun*; yields after each piece of the work."""
        if begun is None or begun.kind == "missing":
            yield from self.compare("missing", begun.position if begun else b"", journal)
            begun = None
        yield from self.compare("stale", begun.position if begun else b"", journal)

    def _expected(self, after: bytes) -> Iterator[list[SourcedCell]]:
        page = self._frame.codec.columns.page
        columns = [page, *([self._frame.codec.columns.links] if self._is_link else [])]
        for rows in self._rows_after(self._frame.table, after, columns):
            self._drift.pages += sum(page in row.cells for row in rows)
            yield [cell for made in self._readable(self._made_in(rows)) for cell in made.cells.values()]

    def _stored(self, after: bytes) -> Iterator[list[SourcedCell]]:
        for rows in self._rows_after(self._entries, after, [INDEX_COLUMN]):
            self._drift.entries += len(rows)
            yield list(map(self._named, rows)) if self._index.names_pages else []

    def _rows_after(self, table: str, after: bytes, columns: Sequence[bytes]) -> Iterator[list[Row]]:
        spec = ScanSpec(table, [self._frame.keys_of(table)], Wanted(columns))
        for rows in pieces(in_storage_order(self._frame.store, spec, after or None)):
            self.position: bytes = rows[-1].key
            yield rows

    def _made(self, sources: Sequence[bytes]) -> Iterator[tuple[bytes, Made | DamagedRow]]:
        columns = [self._frame.codec.columns.page, self._frame.codec.columns.links]
        rows = self._frame.store.read(self._frame.table, sources, Wanted(columns))
        return zip(sources, self._made_in(rows), strict=True)

    def _made_in(self, rows: Sequence[Row | None]) -> Iterator[Made | DamagedRow]:
        pages = [None if row is None else self._frame.pages.each(row) for row in rows]
        if self._signs:
            unsigned = {
                row.key: page
                for row, page in zip(rows, pages, strict=True)
                if row is not None and isinstance(page, Page) and is_unsigned(page)
            }
            signed = dict(zip(unsigned, read_and_signed(self._frame, list(unsigned.items())), strict=True))
            pages = [page if row is None else signed.get(row.key, page) for row, page in zip(rows, pages, strict=True)]
        for row, page in zip(rows, pages, strict=True):
            try:
                yield Made({}, None) if row is None else self._made_by(row, page)
            except DamagedRow as exc:
                yield exc

    def _made_by(self, row: Row, page: Page | DamagedRow | None) -> Made:
        if isinstance(page, DamagedRow):
            raise page
        counts = self._frame.codec.counts(row)
        try:
            key = self._frame.key.unsalted(row.key)
        except KeyFormatError as exc:
            raise DamagedRow(row.key, None, str(exc)) from exc
        dated = None if page is None else milliseconds(hints_at(page))
        counted = milliseconds(counts.counted_at) if counts and counts.counted_at else None
        made: dict[tuple[bytes, bytes], SourcedCell] = {}
        if page is not None and dated is not None:
            self._add(made, self._index.entries(bare(page), key), dated, row.key)
        if self._is_link and counted is not None:
            self._add(made, entries_of(counts, key), counted, row.key)
        return Made(made, dated, counted)

    def _add(
        self, made: dict[tuple[bytes, bytes], SourcedCell], entries: Sequence[bytes], timestamp: int, source: bytes
    ) -> None:
        cell = NewCell(INDEX_COLUMN, timestamp, b"")
        for entry in entries:
            made[entry, INDEX_COLUMN] = SourcedCell(self._entries, entry, cell, source)

    def _latest(self, made: Made, cell: SourcedCell) -> int | None:
        return made.counted if self._is_link and place_of(cell.row).startswith(b"inlinks_") else made.dated

    def _named(self, entry: Row) -> SourcedCell:
        """Return *entry* with the row of the page that it names, empty if it is not a valid entry."""
        try:
            source = self._frame.key.salted(self._index.row_of(place_of(entry.key)))
        except ValueError:
            source = b""
        cell = NewCell(INDEX_COLUMN, entry.cells[INDEX_COLUMN][0].timestamp, b"")
        return SourcedCell(self._entries, entry.key, cell, source)
