"""Comparing the inlinks of a table with the outlinks of its pages, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.repository.codec import milliseconds
from webtable.repository.indexes.comparing import Comparison, Drift, Place
from webtable.repository.links.inlinks import CURRENT_SOURCES, Inlinks
from webtable.rowkey import KeyRange
from webtable.store import NewCell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.page import Page
    from webtable.repository.questions.base import Asked

SOURCES_AT_ONCE = 64


class InlinkComparison(Comparison):
    """A comparison of all inlinks with the pages that make them."""

    def __init__(self, asked: Asked, drift: Drift, *, settle: float, apply: bool) -> None:
        super().__init__(asked, drift, settle=settle, apply=apply)
        self._inlinks = Inlinks(asked.table, self._codec.columns.inlinks.encode(), asked.key)

    def run(self) -> Iterator[None]:
        """Compare, with a pause after each piece of the work."""
        yield from self.mend(self._missing_inlinks(), self._still_missing, "missing")
        yield from self.mend(self._stale_inlinks(), self._still_stale, "stale")

    def _missing_inlinks(self) -> Iterator[list[Place]]:
        for page in self._linking_pages():
            yield self._inlinks_absent(self._inlinks_of(page))

    def _linking_pages(self) -> Iterator[Page]:
        for row in self._store.scan(self._table, [KeyRange()], columns=self._codec.select(("outlinks",))):
            page = self._reader.page(row)
            if page is not None and page.outlinks and milliseconds(page.fetched_at) < self._until:
                yield page

    def _inlinks_of(self, page: Page) -> list[Place]:
        source = self._key.encode(page.url)
        return [Place(self._table, row, cell, source) for row, cell in self._inlinks.cells(page)]

    def _inlinks_absent(self, places: Sequence[Place]) -> list[Place]:
        """Return those of *places*, all of one page, that have no cell."""
        if not places:
            return []
        column = places[0].cell.column
        found = self._store.read(self._table, [place.row for place in places], columns=[column])
        return [place for place, row in zip(places, found, strict=True) if row is None]

    def _still_missing(self, suspects: Sequence[Place]) -> list[Place]:
        missing = []
        for source in dict.fromkeys(place.source for place in suspects):
            (page,) = self._reader.read([source], ("outlinks",))
            if page is not None:
                missing += self._inlinks_absent(self._inlinks_of(page))
        return missing

    def _stale_inlinks(self) -> Iterator[list[Place]]:
        family = self._codec.columns.inlinks.encode()
        for row in self._store.scan(self._table, [KeyRange()], columns=[family + b":"], keys_only=True):
            rest = CURRENT_SOURCES
            while True:
                (cells,) = self._store.read_cells(self._table, [row.key], family, rest, limit=SOURCES_AT_ONCE)
                stale, pending = self._stale_among(
                    [(row.key, NewCell(column, cell.timestamp, b"")) for column, cell in cells]
                )
                self._drift.entries += len(cells)
                self._drift.pending += pending
                yield stale
                if len(cells) < SOURCES_AT_ONCE:
                    break
                rest = rest.after(cells[-1][0][len(family) + 1 :])

    def _still_stale(self, suspects: Sequence[Place]) -> list[Place]:
        stale = []
        for at in range(0, len(suspects), SOURCES_AT_ONCE):
            stale += self._stale_among([(place.row, place.cell) for place in suspects[at : at + SOURCES_AT_ONCE]])[0]
        return self._inlinks_present(stale)

    def _stale_among(self, cells: Sequence[tuple[bytes, NewCell]]) -> tuple[list[Place], int]:
        """Return those inlinks whose pages do not make them any more, and how many are of captures still to come."""
        prefix = len(self._codec.columns.inlinks) + 1
        sources = [self._key.encode(cell.column[prefix:].decode()) for _, cell in cells]
        pages = self._reader.read(sources, ("outlinks",))
        stale, pending = [], 0
        for (row, cell), source, page in zip(cells, sources, pages, strict=True):
            if cell.timestamp >= self._until:
                continue
            if page is None or milliseconds(page.fetched_at) < cell.timestamp:
                pending += 1
            elif row not in {target for target, _ in self._inlinks.cells(page)}:
                stale.append(Place(self._table, row, cell, source))
        return stale, pending

    def _inlinks_present(self, places: Sequence[Place]) -> list[Place]:
        """Return those of *places* that still have a cell."""
        present = []
        for place in places:
            (row,) = self._store.read(self._table, [place.row], columns=[place.cell.column])
            if row is not None:
                present.append(place)
        return present
