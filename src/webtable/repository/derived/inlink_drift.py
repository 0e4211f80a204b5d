"""The comparison of the inlinks of a table with the outlinks of its pages, in both directions.

Neither side fits into memory, so all pages and all inlinks are read once, to compare sums of them (`LinkSums`). If the
sums differ, both are read again to find the differences, and only links in sums that differ are looked up.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from webtable._clock import milliseconds
from webtable.errors import DamagedRow
from webtable.repository.derived.drift import AT_ONCE, PIECE, Drift, DriftComparison, SourcedCell
from webtable.repository.derived.inlinks import InlinkCells, Targets, inlink_value, inlinks_of
from webtable.repository.derived.queue import RecountQueue
from webtable.repository.stored.cells import ROWS_AT_ONCE, together
from webtable.repository.stored.page_state import hints_at
from webtable.rowkey import KeyRange
from webtable.store import NewCell
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from webtable._page.page import Page
    from webtable.repository.frame import Frame
    from webtable.repository.scanning.damage import Damage
    from webtable.store import Cell

CELLS_ASKED = 5_000
"""How many cells, rows times columns, are looked up in one call; some of these are not needed."""
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
        yield from self.mend(self._missing_inlinks(), self._still_missing, "missing")
        yield from self.mend(self._stale_inlinks(), self._still_stale, "stale")

    def write(self, places: Sequence[SourcedCell], kind: str) -> None:
        """Repair differences of one kind, and have the links of their rows counted again."""
        entered = self._queue.entered({place.row for place in places})
        self._queue.write([entered])
        super().write(places, kind)
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

    def _missing_inlinks(self) -> Iterator[list[SourcedCell]]:
        for some in _some_at_once(chain.from_iterable(map(self._odd_inlinks, self._linking_pages()))):
            yield self._without_cell(some)

    def _odd_inlinks(self, page: Page) -> Iterator[SourcedCell]:
        """Yield the inlinks of *page* that may be missing."""
        timestamp, column = milliseconds(hints_at(page)), self._inlinks.column(page.url)
        if timestamp >= self._until:
            return
        source = self._frame.key.encode(page.url)
        for row, link in self._inlinks.rows(page.outlinks or ()).items():
            if self._sums.is_odd(row, column):
                yield SourcedCell(self._frame.table, row, NewCell(column, timestamp, inlink_value(link)), source)

    def _still_missing(self, suspects: Sequence[SourcedCell]) -> list[SourcedCell]:
        made = [place for some, page in self._by_page(suspects) for place in self._made_by(page, some)]
        return self._without_cell(made)

    def _made_by(self, page: Page | DamagedRow | None, places: Sequence[SourcedCell]) -> Iterator[SourcedCell]:
        """Yield those of *places* for which *page* has a link now, with the cell for that link."""
        if page is None or isinstance(page, DamagedRow):
            return  # a damaged one is counted when all pages are read
        targets, timestamp = Targets(page.outlinks or ()), milliseconds(hints_at(page))
        for place in places:
            link = targets.link_to(self._frame.key.url_of(place.row))
            if link is not None:
                yield place._replace(cell=NewCell(place.cell.column, timestamp, inlink_value(link)))

    def _stale_inlinks(self) -> Iterator[list[SourcedCell]]:
        odd = (
            self._named(row, NewCell(column, cell.timestamp, b""))
            for row, cells in self._stored_inlinks()
            for column, cell in cells
            if self._sums.is_odd(row, column)
        )
        for some in _some_at_once(odd):
            stale, pending = self._stale_among(some)
            self._drift.pending += pending
            yield stale

    def _still_stale(self, suspects: Sequence[SourcedCell]) -> list[SourcedCell]:
        stale, _ = self._stale_among(suspects)
        there = self._there(stale)
        return [place for place in stale if (place.row, place.cell.column) in there]

    def _stale_among(self, places: Sequence[SourcedCell]) -> tuple[list[SourcedCell], int]:
        """Return the inlinks whose pages no longer have the link, and how many belong to captures not stored yet."""
        stale = [place for place in places if not place.source]  # no writer will ever write such an inlink
        pending, pageless = 0, []
        for some, page in self._by_page([p for p in places if p.source and p.cell.timestamp < self._until]):
            if isinstance(page, DamagedRow):
                continue  # it is counted when all pages are read
            if page is None:
                pageless += some
                continue
            targets, latest = Targets(page.outlinks or ()), milliseconds(hints_at(page))
            gone = [place for place in some if targets.link_to(self._frame.key.url_of(place.row)) is None]
            old = [place for place in gone if latest > place.cell.timestamp]
            pending += len(gone) - len(old)
            stale += old
        left = self._links_left([place.source for place in pageless])
        old = [place for place in pageless if left.get(place.source, 0) > place.cell.timestamp]
        return stale + old, pending + len(pageless) - len(old)

    def _links_left(self, sources: Iterable[bytes]) -> dict[bytes, int]:
        """Return the dates of links without a page, which an interrupted delete has left, by row."""
        rows, urls = list(dict.fromkeys(sources)), self._frame.codec.columns.urls
        dates = {}
        for some in together((row, 0) for row in rows):
            for found in self._frame.store.read(self._frame.table, some, Wanted([urls])):
                if found is not None:
                    dates[found.key] = found.cells[urls][0].timestamp
        return dates

    def _by_page(self, places: Iterable[SourcedCell]) -> Iterator[tuple[list[SourcedCell], Page | DamagedRow | None]]:
        """Yield the pages that *places* name, each once with its places."""
        by_source: dict[bytes, list[SourcedCell]] = defaultdict(list)
        for place in places:
            by_source[place.source].append(place)
        sources = list(by_source)
        for at in range(0, len(sources), PIECE):
            some = sources[at : at + PIECE]
            pages = self._frame.pages.read_each(some, ("outlinks",))
            yield from zip(map(by_source.__getitem__, some), pages, strict=True)

    def _named(self, row: bytes, cell: NewCell) -> SourcedCell:
        """Return an inlink with the row of the page that it names, empty if that is not a page."""
        try:
            self._frame.key.url_of(row)
            source = self._frame.key.encode(cell.column[len(self._family) + 1 :].decode())
        except ValueError:
            source = b""
        return SourcedCell(self._frame.table, row, cell, source)

    def _without_cell(self, places: Sequence[SourcedCell]) -> list[SourcedCell]:
        there = self._there(places)
        return [place for place in places if (place.row, place.cell.column) not in there]

    def _there(self, places: Sequence[SourcedCell]) -> set[tuple[bytes, bytes]]:
        """Return the rows and columns of those of *places* that have a cell."""
        there: set[tuple[bytes, bytes]] = set()
        for rows, columns in _asked_together(places):
            for found in self._frame.store.read(self._frame.table, rows, Wanted(columns)):
                if found is not None:
                    there.update((found.key, column) for column in found.cells)
        return there


def _some_at_once(places: Iterable[SourcedCell]) -> Iterator[list[SourcedCell]]:
    weighed = (
        (place, PLACE_BYTES + len(place.row) + len(place.cell.column) + len(place.cell.value)) for place in places
    )
    return together(weighed, AT_ONCE)


def _asked_together(places: Iterable[SourcedCell]) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Yield the rows and columns of *places*, those of pages with the same links together."""
    by_row: dict[bytes, list[bytes]] = defaultdict(list)
    for place in places:
        by_row[place.row].append(place.cell.column)
    rows: list[bytes] = []
    columns: set[bytes] = set()
    for wanted, row in sorted((sorted(found), row) for row, found in by_row.items()):
        for at in range(0, len(wanted), CELLS_ASKED):
            both = columns.union(wanted[at : at + CELLS_ASKED])
            if rows and (len(rows) + 1) * len(both) > CELLS_ASKED:
                yield rows, sorted(columns)
                rows, both = [], set(wanted[at : at + CELLS_ASKED])
            rows.append(row)
            columns = both
    if rows:
        yield rows, sorted(columns)


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
