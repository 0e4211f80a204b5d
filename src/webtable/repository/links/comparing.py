"""Comparing the inlinks of a table with the outlinks of its pages, both ways."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from webtable.errors import DamagedRow
from webtable.repository.indexes.comparing import Comparison, Drift, Place
from webtable.repository.links.inlinks import CURRENT_SOURCES, Inlinks, link_to
from webtable.repository.links.queue import RecountQueue
from webtable.repository.moments import hints_at, milliseconds
from webtable.rowkey import KeyRange
from webtable.store import NewCell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.page import Page
    from webtable.repository.damage import Damage
    from webtable.repository.questions.base import Asked

SOURCES_AT_ONCE = 64


class InlinkComparison(Comparison):
    """A comparison of all inlinks with the pages that make them."""

    def __init__(self, asked: Asked, drift: Drift, damage: Damage, *, settle: float, apply: bool) -> None:
        super().__init__(asked, drift, damage, settle=settle, apply=apply)
        self._queue = RecountQueue(asked.store, asked.table)
        self._inlinks = Inlinks(asked.table, self._codec.columns.inlinks.encode(), asked.key)

    def run(self) -> Iterator[None]:
        """Compare, with a pause after each piece of the work."""
        yield from self.mend(self._missing_inlinks(), self._still_missing, "missing")
        yield from self.mend(self._stale_inlinks(), self._still_stale, "stale")

    def write(self, places: Sequence[Place], kind: str) -> None:
        """Mend differences of one kind, and have the links of their rows counted anew."""
        entered = self._queue.entered({place.row for place in places})
        self._queue.write([entered])
        super().write(places, kind)
        self._queue.write([self._queue.done(entered)])

    def _missing_inlinks(self) -> Iterator[list[Place]]:
        pages = self._linking_pages()
        while some := list(islice(pages, SOURCES_AT_ONCE)):
            yield self._inlinks_absent([place for page in some for place in self._inlinks_of(page)])

    def _linking_pages(self) -> Iterator[Page]:
        rows = self._store.scan(self._table, [KeyRange()], columns=self._codec.select(("outlinks",)))
        for page in self._readable(map(self._reader.each, rows)):
            if page is not None and page.outlinks and milliseconds(page.fetched_at) < self._until:
                yield page

    def _inlinks_of(self, page: Page) -> list[Place]:
        source = self._key.encode(page.url)
        return [Place(self._table, row, cell, source) for row, cell in self._inlinks.cells(page)]

    def _inlinks_absent(self, places: Sequence[Place]) -> list[Place]:
        """Return those of *places* that have no cell."""
        there = self._there(places)
        return [place for place in places if (place.row, place.cell.column) not in there]

    def _there(self, places: Sequence[Place]) -> set[tuple[bytes, bytes]]:
        """Return the rows and columns of those of *places* that have a cell."""
        there: set[tuple[bytes, bytes]] = set()
        by_row: dict[bytes, list[bytes]] = {}
        for place in places:
            by_row.setdefault(place.row, []).append(place.cell.column)
        # The rows that the same pages link to are asked for together: most links of a site are on all of its pages.
        by_columns: dict[tuple[bytes, ...], list[bytes]] = {}
        for row, columns in by_row.items():
            by_columns.setdefault(tuple(columns), []).append(row)
        for wanted, rows in by_columns.items():
            for found in self._store.read(self._table, rows, columns=wanted):
                if found is not None:
                    there.update((found.key, column) for column in found.cells)
        return there

    def _still_missing(self, suspects: Sequence[Place]) -> list[Place]:
        sources = list(dict.fromkeys(place.source for place in suspects))
        missing = []
        for at in range(0, len(sources), SOURCES_AT_ONCE):
            pages = self._readable(self._reader.read_each(sources[at : at + SOURCES_AT_ONCE], ("outlinks",)))
            missing += self._inlinks_absent([place for page in pages if page for place in self._inlinks_of(page)])
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
        stale, pending, named = [], 0, []
        for row, cell in cells:
            place = self._named(row, cell)
            if place.source:
                named.append(place)
            else:
                stale.append(place)  # nobody will ever write such an inlink
        columns = self._codec.select(("outlinks",))
        found = self._store.read(self._table, [place.source for place in named], columns=columns)
        for place, stored in zip(named, found, strict=True):
            if place.cell.timestamp >= self._until:
                continue
            page = stored and self._reader.each(stored)
            if isinstance(page, DamagedRow):
                continue  # it is counted where the pages are read
            if page is not None and link_to(self._key.url_of(place.row), page.outlinks or ()):
                continue
            # Links without a page are what a deletion that was cut short has left.
            cells_left = stored.cells.get(self._codec.columns.urls, ()) if stored and page is None else ()
            latest = milliseconds(hints_at(page)) if page else max((one.timestamp for one in cells_left), default=0)
            if latest <= place.cell.timestamp:
                pending += 1
            else:
                stale.append(place)
        return stale, pending

    def _named(self, row: bytes, cell: NewCell) -> Place:
        """Return an inlink with the row of the page that it names, which is empty where it names none."""
        try:
            self._key.url_of(row)
            source = self._key.encode(cell.column[len(self._codec.columns.inlinks) + 1 :].decode())
        except ValueError:
            source = b""
        return Place(self._table, row, cell, source)

    def _inlinks_present(self, places: Sequence[Place]) -> list[Place]:
        """Return those of *places* that still have a cell."""
        there = self._there(places)
        return [place for place in places if (place.row, place.cell.column) in there]
