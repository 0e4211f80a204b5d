"""The comparison of the inlinks of a table with the outlinks of its pages, in both directions.

Neither side fits into memory, so all pages and all inlinks are read once, to compare sums of them (`LinkSums`). If the
sums differ, both are read again to find the differences, and only links in sums that differ are looked up.
"""

from __future__ import annotations

from array import array
from itertools import islice
from typing import TYPE_CHECKING, Final

from webtable._clock import milliseconds
from webtable.errors import DamagedRow
from webtable.repository.derived.drift import AT_ONCE, PIECE, Drift, DriftComparison, Made, SourcedCell
from webtable.repository.derived.inlinks import InlinkCells, inlink_value, inlinks_of
from webtable.repository.derived.queue import RecountQueue
from webtable.repository.page_storage.cells import ROWS_AT_ONCE, together
from webtable.repository.page_storage.state import hints_at
from webtable.rowkey import KeyRange
from webtable.store import NewCell
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from webtable.page.page import Page
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.store import Cell

PLACE_BYTES = 400
"""The memory that a place takes besides its bytes."""


class InlinkComparison(DriftComparison):
    """A comparison of all inlinks with the pages that have these links."""

    def __init__(self, frame: Frame, drift: Drift, damage: Damage, *, settle: float, apply: bool) -> None:
        super().__init__(frame, drift, damage, settle=settle, apply=apply)
        self._queue = RecountQueue(frame.store, frame.table)
        self._family = self._frame.codec.columns.inlinks.encode()
        self._inlinks = InlinkCells(frame.table, self._family, frame.key)
        self._sums = LinkSums()

    def run(self) -> Generator[None]:
        """Compare; yields after each piece of the work."""
        yield from self._add_up()
        if self._sums.are_even():
            return
        yield from self.compare("missing")
        yield from self.compare("stale")

    def write(self, cells: Sequence[SourcedCell], kind: str) -> None:
        """Repair differences of one kind, and have the links of their rows counted again."""
        entered = self._queue.entered({cell.row for cell in cells})
        self._queue.write([entered])
        super().write(cells, kind)
        self._queue.write([self._queue.done(entered)])

    def _add_up(self) -> Iterator[None]:
        for number, page in enumerate(self._linking_pages()):
            column = self._inlinks.column(page.url)
            for row in self._inlinks.rows(page.outlinks or ()):
                self._sums.add(row, column)
            if number % PIECE == 0:
                yield
        for row, cells in self._stored_inlinks():
            self._drift.entries += len(cells)
            for column, _ in cells:
                self._sums.add(row, column)
            yield

    def _linking_pages(self) -> Iterator[Page]:
        rows = self._frame.store.scan(self._frame.table, [KeyRange()], Wanted(self._frame.codec.select(("outlinks",))))
        for page in self._readable(map(self._frame.pages.each, rows)):
            if page is not None and page.outlinks:
                yield page

    def _stored_inlinks(self) -> Iterator[tuple[bytes, Sequence[tuple[bytes, Cell]]]]:
        """Yield the rows with inlinks, each with its inlinks or some of them."""
        found = self._frame.store.scan(self._frame.table, [KeyRange()], Wanted([self._family + b":"], keys_only=True))
        while rows := [row.key for row in islice(found, ROWS_AT_ONCE)]:
            yield from inlinks_of(self._frame.store, self._frame.table, self._family, rows)

    def _expected(self, after: bytes) -> Iterator[list[SourcedCell]]:
        del after
        return _some_at_once(cell for page in self._linking_pages() for cell in self._cells_of(page))

    def _stored(self, after: bytes) -> Iterator[list[SourcedCell]]:
        del after
        return _some_at_once(
            self._named(row, NewCell(column, cell.timestamp, b""))
            for row, cells in self._stored_inlinks()
            for column, cell in cells
            if self._sums.is_odd(row, column)
        )

    def _made(self, sources: Sequence[bytes]) -> Iterator[tuple[bytes, Made | DamagedRow]]:
        pageless: list[bytes] = []
        for source, page in zip(sources, self._frame.pages.read_each(sources, ("outlinks",)), strict=True):
            if page is None:
                pageless.append(source)
            elif isinstance(page, DamagedRow):
                yield source, page
            else:
                yield source, Made({cell.place: cell for cell in self._cells_of(page)}, milliseconds(hints_at(page)))
        left = self._links_left(pageless)
        yield from ((source, Made({}, left.get(source))) for source in pageless)

    def _cells_of(self, page: Page) -> Iterator[SourcedCell]:
        """Yield those inlinks that *page* makes that only one side may have."""
        timestamp, column = milliseconds(hints_at(page)), self._inlinks.column(page.url)
        source = self._frame.key.encode(page.url)
        for row, link in self._inlinks.rows(page.outlinks or ()).items():
            if self._sums.is_odd(row, column):
                yield SourcedCell(self._frame.table, row, NewCell(column, timestamp, inlink_value(link)), source)

    def _links_left(self, sources: Iterable[bytes]) -> dict[bytes, int]:
        """Return the dates of links without a page, which an interrupted delete has left, by row."""
        urls, dates = self._frame.codec.columns.urls, {}
        for some in together((source, 0) for source in sources):
            for found in self._frame.store.read(self._frame.table, some, Wanted([urls])):
                if found is not None:
                    dates[found.key] = found.cells[urls][0].timestamp
        return dates

    def _named(self, row: bytes, cell: NewCell) -> SourcedCell:
        """Return an inlink with the row of the page that it names, empty if that is not a page."""
        try:
            self._frame.key.url_of(row)
            source = self._frame.key.encode(cell.column[len(self._family) + 1 :].decode())
        except ValueError:
            source = b""
        return SourcedCell(self._frame.table, row, cell, source)


def _some_at_once(places: Iterable[SourcedCell]) -> Iterator[list[SourcedCell]]:
    weighed = (
        (place, PLACE_BYTES + len(place.row) + len(place.cell.column) + len(place.cell.value)) for place in places
    )
    return together(weighed, AT_ONCE)


GROUPS: Final = 2**20
"""How many sums there are, of 8 bytes each."""


class LinkSums:
    """Sums of the links of two sides, in groups by hash: 0 in each group in which both sides have the same links.

    Each side adds each of its links once, and links of both sides cancel out. So only groups with links of one side
    alone are not 0, and links of both sides that happen to be in such a group are looked up too. Two links of one side
    can only cancel out if their 64-bit hashes are equal.

    >>> sums = LinkSums()
    >>> for row, column in [(b"a", b"x"), (b"b", b"x"), (b"a", b"x")]:
    ...     sums.add(row, column)
    >>> sums.are_even(), sums.is_odd(b"b", b"x")
    (False, True)
    """

    def __init__(self) -> None:
        self._left = array("q", bytes(8 * GROUPS))

    def add(self, row: bytes, column: bytes) -> None:
        """Add an inlink: the *column* of the page that links to *row*."""
        link = hash((row, column))
        self._left[link % GROUPS] ^= link

    def is_odd(self, row: bytes, column: bytes) -> bool:
        """Whether only one side may have this inlink."""
        return self._left[hash((row, column)) % GROUPS] != 0

    def are_even(self) -> bool:
        """Whether both sides have the same links."""
        return not any(self._left)
