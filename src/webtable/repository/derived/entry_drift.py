"""The comparison of the entries of an index with the pages of its table, in both directions."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from webtable._clock import milliseconds
from webtable._page.page import Page
from webtable.errors import DamagedRow, KeyFormatError
from webtable.repository.derived.drift import PIECE, Drift, DriftCheckpoint, DriftComparison, SourcedCell
from webtable.repository.derived.link_counts import entries_of
from webtable.repository.derived.signatures import is_unsigned, read_and_signed
from webtable.repository.indexes.index import place_of
from webtable.repository.scanning.scan import ScanSpec, in_storage_order
from webtable.repository.stored.codec import bare
from webtable.repository.stored.page_state import hints_at
from webtable.schema import INDEX_COLUMN
from webtable.store import NewCell
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from webtable.repository.frame import Frame
    from webtable.repository.indexes.states import Maintained
    from webtable.repository.journal import Journal
    from webtable.repository.scanning.damage import Damage
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
            yield from self.run_missing(begun.position if begun else b"", journal)
            begun = None
        yield from self.run_stale(begun.position if begun else b"", journal)

    def run_missing(self, after: bytes = b"", journal: Journal[DriftCheckpoint] | None = None) -> Iterator[None]:
        """Find the entries that pages after the row *after* lack; yields after each piece of the work."""
        return self.mend(self._missing_entries(after), self._still_missing, "missing", journal)

    def run_stale(self, after: bytes = b"", journal: Journal[DriftCheckpoint] | None = None) -> Iterator[None]:
        """Find the entries after the row *after* that do not hold; yields after each piece of the work."""
        return self.mend(self._stale_entries(after), self._still_stale, "stale", journal)

    def _missing_entries(self, after: bytes) -> Iterator[list[SourcedCell]]:
        columns = [self._frame.codec.columns.page, *([self._frame.codec.columns.links] if self._is_link else [])]
        rows = self._rows_after(self._frame.table, after, columns)
        while piece := list(islice(rows, PIECE)):
            self.position: bytes = piece[-1].key
            self._drift.pages += sum(self._frame.codec.columns.page in row.cells for row in piece)
            yield self._absent(self._expected_in(piece))

    def _still_missing(self, suspects: Sequence[SourcedCell]) -> list[SourcedCell]:
        expected = {(place.row, place.source) for place in self._expected_of(place.source for place in suspects)}
        return self._absent([place for place in suspects if (place.row, place.source) in expected])

    def _expected_of(self, sources: Iterable[bytes]) -> list[SourcedCell]:
        rows = list(dict.fromkeys(sources))
        columns = [self._frame.codec.columns.page, self._frame.codec.columns.links]
        found = self._frame.store.read(self._frame.table, rows, Wanted(columns))
        return self._expected_in(row for row in found if row is not None)

    def _expected_in(self, rows: Iterable[Row]) -> list[SourcedCell]:
        """Return the entries that the readable ones of *rows* should have."""
        rows = list(rows)
        expected = map(self._each_expected, rows, self._pages(rows))
        return [place for places in self._readable(expected) for place in places]

    def _pages(self, rows: Sequence[Row | None]) -> list[Page | DamagedRow | None]:
        """Return the page of each of *rows*, with its signature if the index needs that."""
        pages = [None if row is None else self._frame.pages.each(row) for row in rows]
        some = [
            (row.key, page)
            for row, page in zip(rows, pages, strict=True)
            if self._signs and row is not None and isinstance(page, Page) and is_unsigned(page)
        ]
        # Those that several entries name are signed once.
        known = dict(some)
        signed = dict(zip(known, read_and_signed(self._frame, list(known.items())), strict=True))
        return [page if row is None else signed.get(row.key, page) for row, page in zip(rows, pages, strict=True)]

    def _each_expected(self, row: Row, page: Page | DamagedRow | None) -> list[SourcedCell] | DamagedRow:
        try:
            return self._expected(row, page)
        except DamagedRow as exc:
            return exc

    def _expected(self, row: Row, page: Page | DamagedRow | None) -> list[SourcedCell]:
        """Return the entries that *row*, which has this *page*, should have; raises `DamagedRow`."""
        if isinstance(page, DamagedRow):
            raise page
        counts = self._frame.codec.counts(row)
        try:
            key = self._frame.key.unsalted(row.key)
        except KeyFormatError as exc:
            raise DamagedRow(row.key, None, str(exc)) from exc
        expected = []
        if page is not None:
            timestamp = milliseconds(hints_at(page))
            expected += [(entry, timestamp) for entry in self._index.entries(bare(page), key)]
        if self._is_link and counts is not None and counts.counted_at is not None:
            timestamp = milliseconds(counts.counted_at)
            expected += [(entry, timestamp) for entry in entries_of(counts, key)]
        return [
            SourcedCell(self._entries, entry, NewCell(INDEX_COLUMN, timestamp, b""), row.key)
            for entry, timestamp in expected
            if timestamp < self._until
        ]

    def _absent(self, places: Sequence[SourcedCell]) -> list[SourcedCell]:
        """Return those of *places* that have no cell in the index."""
        rows = list(dict.fromkeys(place.row for place in places))
        found = self._frame.store.read(self._entries, rows, Wanted([INDEX_COLUMN]))
        there = {row.key for row in found if row is not None}
        return [place for place in places if place.row not in there]

    def _rows_after(self, table: str, after: bytes, columns: Sequence[bytes]) -> Iterator[Row]:
        spec = ScanSpec(table, [self._frame.keys_of(table)], Wanted(columns))
        return in_storage_order(self._frame.store, spec, after or None)

    def _stale_entries(self, after: bytes) -> Iterator[list[SourcedCell]]:
        rows = self._rows_after(self._entries, after, [INDEX_COLUMN])
        while piece := list(islice(rows, PIECE)):
            self.position = piece[-1].key
            self._drift.entries += len(piece)
            stale, pending = self._unconfirmed(piece)
            self._drift.pending += pending
            yield stale

    def _still_stale(self, suspects: Sequence[SourcedCell]) -> list[SourcedCell]:
        found = self._frame.store.read(self._entries, [place.row for place in suspects], Wanted([INDEX_COLUMN]))
        return self._unconfirmed([row for row in found if row is not None])[0]

    def _unconfirmed(self, entries: Sequence[Row]) -> tuple[list[SourcedCell], int]:
        """Return the stale ones of *entries*, whose pages have changed, and how many belong to pages not stored yet."""
        if not self._index.names_pages:
            return [], 0
        stale, pending, named = [], 0, []
        for entry in entries:
            place = self._named(entry)
            if place.source:
                named.append(place)
            else:
                stale.append(place)  # no writer will ever write such an entry
        columns = [self._frame.codec.columns.page, self._frame.codec.columns.links]
        found = self._frame.store.read(self._frame.table, [place.source for place in named], Wanted(columns))
        for place, row, page in zip(named, found, self._pages(found), strict=True):
            if place.cell.timestamp >= self._until:
                continue
            try:
                if row and place.row in {one.row for one in self._expected(row, page)}:
                    continue
                latest = None if row is None else self._latest(row, place.row)
            except DamagedRow:
                continue  # it is counted when the pages are compared
            if latest is None or latest <= place.cell.timestamp:
                pending += 1
            elif latest < self._until:
                stale.append(place)
        return stale, pending

    def _named(self, entry: Row) -> SourcedCell:
        """Return *entry* with the row of the page that it names, empty if it is not a valid entry."""
        try:
            source = self._frame.key.salted(self._index.row_of(place_of(entry.key)))
        except ValueError:
            source = b""
        cell = NewCell(INDEX_COLUMN, entry.cells[INDEX_COLUMN][0].timestamp, b"")
        return SourcedCell(self._entries, entry.key, cell, source)

    def _latest(self, row: Row, entry: bytes) -> int | None:
        """Return the date of the data in *row* from which *entry* is derived."""
        if self._is_link and place_of(entry).startswith(b"inlinks_"):
            counts = self._frame.codec.counts(row)
            return milliseconds(counts.counted_at) if counts and counts.counted_at else None
        page = self._frame.codec.page(row)
        return None if page is None else milliseconds(hints_at(page))
