"""Maintenance of indexes while their table is in use: adding, dropping, rebuilding, comparing and repairing them.

An index that is added is `building` at first. From then on every writer writes its entries: a writer that does not know
of it when it begins a batch learns of it before the batch is acknowledged. So the rebuild has to read each row only
once; entries for rows that change after that are written by the writers.

Two kinds of differences between an index and its table are drift. An entry is *missing* if a page should have it and
does not: questions miss that page. An entry is *stale* if its page has changed: questions read it in vain. An entry
that is not older than its page, or that has no page, is not drift: it belongs to a capture that is being stored, or
whose writer was killed and that may be stored again. It must stay, because a delete in HBase also hides cells that are
put later with the same timestamp.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeVar

import msgspec
from msgspec.structs import replace

from webtable._clock import clock, milliseconds, now_in_milliseconds
from webtable.errors import DamagedRow, InvalidArgument, KeyFormatError, TableNotFound, UnknownIndex
from webtable.page.page import Page
from webtable.progress import counting
from webtable.repository.arguments import Moment, Progress, given_moment
from webtable.repository.indexes.index import place_of
from webtable.repository.indexes.states import Maintained, defined
from webtable.repository.journal import Journal
from webtable.repository.links.inlink_cells import InlinkCells, entries_of, inlink_value, inlinks_of, links_of
from webtable.repository.maintenance.create import create_tables
from webtable.repository.page_storage.cells import ROWS_AT_ONCE, removed, together
from webtable.repository.page_storage.codec import bare
from webtable.repository.page_storage.decisions import mended
from webtable.repository.page_storage.layouts import FRESH_SECONDS
from webtable.repository.page_storage.state import NEWEST, KeyedPage, hints_at
from webtable.repository.partitions.processes import PartTask, Whole, check_workers, checked_workers, done_by, parts_of
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.repository.upkeep.cells import DerivedCells, PageChange, add_entries, is_unsigned, read_and_signed, signed
from webtable.repository.upkeep.queue import RecountQueue
from webtable.repository.upkeep.updates import Updater
from webtable.rowkey.ranges import ALL_KEYS, clipped
from webtable.rowkey.web import host_and_rest
from webtable.schema import INDEX_COLUMN, IndexState, Phase
from webtable.store import Cell, Delete, NewCell, Put, Row
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from os import PathLike

    from webtable.page.parts import Link
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage


# --- Drift, and how it is found ---------------------------------------------------------------------------------------


T = TypeVar("T")

EXAMPLES = 20
"""How many differences a report shows."""
AT_ONCE = 10_000
"""How many differences are checked again together."""
PIECE = 500
CELLS_AT_ONCE = 5_000
"""How many cells, rows times columns, are looked up in one call; some of these are not needed."""


@dataclass(slots=True)
class Drift:
    """How an index differs from its table, as of a moment.

    `pages` and `entries` were compared. The differences are `missing` and `stale` entries, and `inconsistent` pages,
    whose newest capture disagrees with their history because two writers stored captures of them at once; `repaired` is
    how many were repaired. `pending` are entries of captures that are not stored (yet). `damaged` rows cannot be
    read, so their entries are unknown; `maintenance.verify` finds these rows. `examples` has some of all.
    """

    index: str
    as_of: datetime
    pages: int = 0
    entries: int = 0
    missing: int = 0
    stale: int = 0
    pending: int = 0
    repaired: int = 0
    damaged: int = 0
    inconsistent: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, part: Drift) -> None:
        """Add the drift of a *part* of the rows."""
        for name in ("pages", "entries", "missing", "stale", "pending", "repaired", "damaged", "inconsistent"):
            setattr(self, name, getattr(self, name) + getattr(part, name))
        self.examples += part.examples[: EXAMPLES - len(self.examples)]

    @property
    def differences(self) -> int:
        """How many differences there are, repaired or not."""
        return self.missing + self.stale + self.inconsistent

    @property
    def is_empty(self) -> bool:
        """Whether there are neither differences nor unreadable rows."""
        return not self.differences and not self.damaged


class DriftCheckpoint(msgspec.Struct):
    """The drift that was found up to the row `position` of the pass `kind`, all passes before it included."""

    kind: str
    position: bytes
    drift: Drift


class SourcedCell(NamedTuple):
    """A derived cell, an entry or an inlink, with the row of the page that it is derived from, its source."""

    table: str
    row: bytes
    cell: NewCell
    source: bytes

    @property
    def place(self) -> tuple[bytes, bytes]:
        """The row and the column."""
        return self.row, self.cell.column

    def at(self, timestamp: int) -> Self:
        """Return the cell with another *timestamp*."""
        return self._replace(cell=self.cell._replace(timestamp=timestamp))

    def __str__(self) -> str:
        return f"{self.table} {self.row.decode(errors='backslashreplace')} {self.cell.column.decode(errors='replace')}"


class Made(NamedTuple):
    """What a page makes now: its derived cells by row and column, and the date of the capture that makes them.

    The date is None if no page is stored. Entries of counts have a date of their own, `counted`.
    """

    cells: Mapping[tuple[bytes, bytes], SourcedCell]
    dated: int | None
    counted: int | None = None


# An entry holds if its page, as it is now, still makes it. So comparing an index is making its entries again, and one
# mechanism serves all indexes.
class DriftComparison:
    """A comparison of derived cells with the pages that make them, in both directions, a piece at a time.

    A cell that its page should have is looked up among the stored ones, and a stored one in what its page makes. A
    subclass says what the two sides are. Differences are checked again after *settle* seconds: meanwhile writers
    complete the batches that they are storing.
    """

    position = b""
    """The last row that the current pass has compared."""

    def __init__(self, context: TableContext, drift: Drift, damage: Damage, *, settle: float, apply: bool) -> None:
        self._context = context
        self._drift = drift
        self._until = milliseconds(drift.as_of) + 1
        self._settle = settle
        self._apply = apply
        self._damage = damage

    def _expected(self, after: bytes) -> Iterator[list[SourcedCell]]:
        """Yield the cells that the pages after the row *after* should have."""
        raise NotImplementedError

    def _stored(self, after: bytes) -> Iterator[list[SourcedCell]]:
        """Yield the stored cells after the row *after*; a cell that no page can make has an empty source."""
        raise NotImplementedError

    def _made(self, sources: Sequence[bytes]) -> Iterator[tuple[bytes, Made | DamagedRow]]:
        """Yield *sources* in any order, each with what its page makes now."""
        raise NotImplementedError

    def _latest(self, made: Made, cell: SourcedCell) -> int | None:
        """Return the date of what *cell* is derived from."""
        del cell
        return made.dated

    def compare(self, kind: str, after: bytes = b"", journal: Journal[DriftCheckpoint] | None = None) -> Iterator[None]:
        """Find the cells that are of this *kind*, missing or stale, after the row *after*; yields after each piece."""
        if kind == "missing":
            return self.mend(map(self._missing, self._expected(after)), self._still_missing, kind, journal)
        return self.mend(map(self._stale, self._stored(after)), self._still_stale, kind, journal)

    def _missing(self, cells: Sequence[SourcedCell]) -> list[SourcedCell]:
        early = [cell for cell in cells if cell.cell.timestamp < self._until]
        there = self._there(early)
        return [cell for cell in early if (cell.row, cell.cell.column) not in there]

    def _still_missing(self, suspects: Sequence[SourcedCell]) -> list[SourcedCell]:
        made = ((cells, made.cells) for cells, made in self._by_page(suspects))
        return self._missing([now[cell.place] for cells, now in made for cell in cells if cell.place in now])

    def _stale(self, cells: Sequence[SourcedCell]) -> list[SourcedCell]:
        stale, pending = self._outdated(cells)
        self._drift.pending += pending
        return stale

    def _still_stale(self, suspects: Sequence[SourcedCell]) -> list[SourcedCell]:
        there = self._there(suspects)
        now = [cell.at(there[cell.place]) for cell in suspects if cell.place in there]
        return self._outdated(now)[0]

    def _outdated(self, cells: Sequence[SourcedCell]) -> tuple[list[SourcedCell], int]:
        """The *cells* that their pages no longer make, and how many others belong to captures not stored yet."""
        stale = [cell for cell in cells if not cell.source]  # no writer will ever write such a cell
        pending = 0
        for of_page, made in self._by_page(cell for cell in cells if cell.source and cell.cell.timestamp < self._until):
            for cell in of_page:
                if (cell.row, cell.cell.column) in made.cells:
                    continue
                latest = self._latest(made, cell)
                # It belongs to a capture that is not stored yet. In HBase a delete of it would also hide the entry that
                # is put again with its date.
                if latest is None or latest <= cell.cell.timestamp:
                    pending += 1
                elif latest < self._until:
                    stale.append(cell)
        return stale, pending

    def _by_page(self, cells: Iterable[SourcedCell]) -> Iterator[tuple[list[SourcedCell], Made]]:
        """Yield the pages that *cells* name, each once with its cells; damaged ones count when pages are compared."""
        by_source: dict[bytes, list[SourcedCell]] = defaultdict(list)
        for cell in cells:
            by_source[cell.source].append(cell)
        for sources in pieces(by_source):
            for source, made in self._made(sources):
                if not isinstance(made, DamagedRow):
                    yield by_source[source], made

    def _there(self, cells: Iterable[SourcedCell]) -> dict[tuple[bytes, bytes], int]:
        """Return the dates of those of *cells* that are stored, by row and column."""
        there: dict[tuple[bytes, bytes], int] = {}
        for table, rows, columns in _looked_up_together(cells):
            for row in self._context.store.read(table, rows, Wanted(columns)):
                if row is not None:
                    there.update(((row.key, column), versions[0].timestamp) for column, versions in row.cells.items())
        return there

    def mend(
        self,
        differing: Iterator[list[SourcedCell]],
        still: Callable[[Sequence[SourcedCell]], list[SourcedCell]],
        kind: str,
        journal: Journal[DriftCheckpoint] | None = None,
    ) -> Iterator[None]:
        """Count, and repair, the *differing* cells that are *still* there a moment later; yields after each piece.

        The *journal* records the progress.
        """
        suspects: list[SourcedCell] = []
        for cells in differing:
            suspects += cells
            is_due = journal is not None and journal.is_due()
            if len(suspects) >= AT_ONCE or is_due:
                self._settled(suspects, still, kind)
                suspects = []
            if journal is not None and is_due:
                journal.keep(DriftCheckpoint(kind, self.position, self._drift))
            yield
        self._settled(suspects, still, kind)

    def _settled(
        self, suspects: Sequence[SourcedCell], still: Callable[[Sequence[SourcedCell]], list[SourcedCell]], kind: str
    ) -> None:
        if not suspects:
            return
        # A writer removes old entries only after it has stored the page.
        clock.sleep(self._settle)
        differences, drift = still(suspects), self._drift
        setattr(drift, kind, getattr(drift, kind) + len(differences))
        drift.examples += [f"{kind}: {cell}" for cell in differences[: EXAMPLES - len(drift.examples)]]
        for piece in pieces(differences) if self._apply else ():
            self.write(piece, kind)
            drift.repaired += len(piece)

    def _readable(self, values: Iterable[T | DamagedRow]) -> Iterator[T]:
        """Yield the values that are not damaged rows, and count the damaged ones."""
        drift = self._drift
        for value in values:
            if not isinstance(value, DamagedRow):
                yield value
                continue
            before = self._damage.count
            self._damage.add(value)
            drift.damaged += self._damage.count - before
            if self._damage.count > before and len(drift.examples) < EXAMPLES:
                drift.examples.append(f"damaged: {value}")

    def write(self, cells: Sequence[SourcedCell], kind: str) -> None:
        """Repair differences of one kind, which are in one table."""
        now = now_in_milliseconds()
        removed(self._context.store, cells[0].table, [_mended(cell, kind, now) for cell in cells])


def pieces(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield *items*, some at once."""
    rest = iter(items)
    while piece := list(islice(rest, PIECE)):
        yield piece


def _mended(cell: SourcedCell, kind: str, now: int) -> Put | Delete:
    if kind == "missing":
        return Put(cell.row, [cell.cell])
    # A cell dated in the future is removed alone, so that the delete hides nothing put before then: see `removals`.
    timestamp = cell.cell.timestamp
    return Delete(cell.row, timestamp, [cell.cell.column], exact=timestamp > now)


def _looked_up_together(cells: Iterable[SourcedCell]) -> Iterator[tuple[str, list[bytes], Sequence[bytes]]]:
    """Yield the rows and columns of *cells*, of one table, those of rows with the same columns together."""
    table, by_row = "", dict[bytes, list[bytes]]()
    # Few calls with many rows, but without columns that most of them do not have.
    for table, row, cell, _ in cells:  # noqa: B007
        by_row.setdefault(row, []).append(cell.column)
    rows, columns = list[bytes](), set[bytes]()
    for wanted, row in sorted((sorted(of_row), row) for row, of_row in by_row.items()):
        for at in range(0, len(wanted), CELLS_AT_ONCE):
            piece = wanted[at : at + CELLS_AT_ONCE]
            joined = columns if columns.issuperset(piece) else columns.union(piece)
            if rows and (len(rows) + 1) * len(joined) > CELLS_AT_ONCE:
                yield table, rows, sorted(columns)
                rows, joined = [], set(piece)
            rows.append(row)
            columns = joined
    if rows:
        yield table, rows, sorted(columns)


Mend = Callable[[Sequence[bytes]], None]
"""Mends the pages of rows; raises the first error."""


class HistoryComparison(DriftComparison):
    """A comparison of all pages with their own versions; *mend_pages*, if given, repairs those that disagree."""

    def __init__(
        self, context: TableContext, drift: Drift, damage: Damage, *, settle: float, mend_pages: Mend | None = None
    ) -> None:
        super().__init__(context, drift, damage, settle=settle, apply=mend_pages is not None)
        self._mend_pages = mend_pages
        names = context.codec.columns
        context.layouts.recent()
        self._wanted = Wanted([names.page, names.deleted, names.capture], versions=min(context.layout.versions, NEWEST))

    def run(self) -> Generator[None]:
        """Compare; yields after each piece of the work."""
        yield from self.mend(self._inconsistent(), self._still_inconsistent, "inconsistent")

    def write(self, cells: Sequence[SourcedCell], kind: str) -> None:
        """Repair pages."""
        del kind
        if self._mend_pages is not None:
            self._mend_pages([cell.row for cell in cells])

    def _inconsistent(self) -> Iterator[list[SourcedCell]]:
        return map(self._inconsistent_among, pieces(self._context.scan(self._wanted)))

    def _still_inconsistent(self, suspects: Sequence[SourcedCell]) -> list[SourcedCell]:
        rows = self._context.read([place.row for place in suspects], self._wanted)
        return self._inconsistent_among(row for row in rows if row is not None)

    def _inconsistent_among(self, rows: Iterable[Row]) -> list[SourcedCell]:
        codec, places = self._context.codec, []
        for row in rows:
            stored = codec.stored(row)
            if stored.page is not None and mended(stored) is not None:
                cell = NewCell(codec.columns.page, milliseconds(stored.page.fetched_at), b"")
                places.append(SourcedCell(self._context.table, row.key, cell, row.key))
        return [place for place in places if place.cell.timestamp < self._until]


# --- The entries of an index ------------------------------------------------------------------------------------------


class EntryComparison(DriftComparison):
    """A comparison of one index with its table."""

    def __init__(
        self, context: TableContext, maintained: Maintained, drift: Drift, damage: Damage, *, settle: float, apply: bool
    ) -> None:
        super().__init__(context, drift, damage, settle=settle, apply=apply)
        self._index = maintained.index
        self._entries = maintained.table
        self._is_link = maintained.keeps_inlinks
        self._signs = maintained.signs_pages

    def run(self, journal: Journal[DriftCheckpoint], begun: DriftCheckpoint | None) -> Generator[None]:
        """Compare, continuing after *begun*; yields after each piece of the work."""
        if begun is None or begun.kind == "missing":
            yield from self.compare("missing", begun.position if begun else b"", journal)
            begun = None
        yield from self.compare("stale", begun.position if begun else b"", journal)

    def _expected(self, after: bytes) -> Iterator[list[SourcedCell]]:
        names = self._context.codec.columns
        columns = [names.page, names.links] if self._is_link else [names.page]
        for rows in self._rows_after(self._context.table, after, columns):
            self._drift.pages += sum(names.page in row.cells for row in rows)
            yield [cell for made in self._readable(self._made_in(rows)) for cell in made.cells.values()]

    def _stored(self, after: bytes) -> Iterator[list[SourcedCell]]:
        for rows in self._rows_after(self._entries, after, [INDEX_COLUMN]):
            self._drift.entries += len(rows)
            yield list(map(self._named, rows)) if self._index.names_pages else []

    def _rows_after(self, table: str, after: bytes, columns: Sequence[bytes]) -> Iterator[list[Row]]:
        spec = ScanSpec(table, [self._context.keys_of(table)], Wanted(columns))
        for rows in pieces(in_storage_order(self._context.store, spec, after or None)):
            self.position: bytes = rows[-1].key
            yield rows

    def _made(self, sources: Sequence[bytes]) -> Iterator[tuple[bytes, Made | DamagedRow]]:
        names = self._context.codec.columns
        return zip(sources, self._made_in(self._context.read(sources, Wanted([names.page, names.links]))), strict=True)

    def _made_in(self, rows: Sequence[Row | None]) -> Iterator[Made | DamagedRow]:
        pages = [None if row is None else self._context.pages.each(row) for row in rows]
        if self._signs:
            lacking = [at for at, page in enumerate(pages) if isinstance(page, Page) and is_unsigned(page)]
            unsigned = [(row.key, page) for at in lacking if (row := rows[at]) and isinstance(page := pages[at], Page)]
            for at, page in zip(lacking, read_and_signed(self._context, unsigned), strict=True):
                pages[at] = page
        for row, page in zip(rows, pages, strict=True):
            try:
                yield Made({}, None) if row is None else self._made_by(row, page)
            except DamagedRow as exc:
                yield exc

    def _made_by(self, row: Row, page: Page | DamagedRow | None) -> Made:
        if isinstance(page, DamagedRow):
            raise page
        counts = self._context.codec.counts(row)
        try:
            key = self._context.key.unsalted(row.key)
        except KeyFormatError as exc:
            raise DamagedRow(row.key, None, str(exc)) from exc
        dated = None if page is None else milliseconds(hints_at(page))
        counted = milliseconds(counts.counted_at) if counts and counts.counted_at else None
        entries = [] if page is None else self._named_by(self._index.entries(bare(page), key), dated, row.key)
        if self._is_link and counted is not None:
            entries += self._named_by(entries_of(counts, key), counted, row.key)
        return Made({cell.place: cell for cell in entries}, dated, counted)

    def _named_by(self, entries: Iterable[bytes], timestamp: int | None, source: bytes) -> list[SourcedCell]:
        cell = NewCell(INDEX_COLUMN, timestamp or 0, b"")
        return [SourcedCell(self._entries, entry, cell, source) for entry in entries]

    def _latest(self, made: Made, cell: SourcedCell) -> int | None:
        return made.counted if self._is_link and place_of(cell.row).startswith(b"inlinks_") else made.dated

    def _named(self, entry: Row) -> SourcedCell:
        """Return *entry* with the row of the page that it names, empty if it is not a valid entry."""
        try:
            source = self._context.key.salted(self._index.row_of(place_of(entry.key)))
        except ValueError:
            source = b""
        cell = NewCell(INDEX_COLUMN, entry.cells[INDEX_COLUMN][0].timestamp, b"")
        return SourcedCell(self._entries, entry.key, cell, source)


# --- Inlinks ----------------------------------------------------------------------------------------------------------
#
# Neither side fits into memory, so all pages and all inlinks are read once, to compare sums of them (`LinkSums`). If
# the sums differ, both are read again to find the differences, and only links in sums that differ are looked up.


PLACE_BYTES = 400
"""The memory that a place takes besides its bytes."""


class InlinkComparison(DriftComparison):
    """A comparison of all inlinks with the pages that have these links."""

    def __init__(self, context: TableContext, drift: Drift, damage: Damage, *, settle: float, apply: bool) -> None:
        super().__init__(context, drift, damage, settle=settle, apply=apply)
        self._queue = RecountQueue(context.store, context.table)
        self._family = self._context.codec.columns.inlinks.encode()
        self._inlinks = InlinkCells(context.table, self._family, context.key)
        self._sums = LinkSums()

    def run(self) -> Generator[None]:
        """Compare; yields after each piece of the work."""
        # First the sums: where they agree, which is the rule, nothing is looked up.
        yield from self._add_up()
        if self._sums.are_even():
            return
        yield from self.compare("missing")
        yield from self.compare("stale")

    def write(self, cells: Sequence[SourcedCell], kind: str) -> None:
        """Repair differences of one kind, and have the links of their rows counted again."""
        # The counts of the rows follow their inlinks.
        entered = self._queue.entered({cell.row for cell in cells})
        self._queue.write([entered])
        super().write(cells, kind)
        self._queue.write([self._queue.done(entered)])

    def _add_up(self) -> Iterator[None]:
        for number, page in enumerate(self._linking_pages()):
            column = self._inlinks.column(page.url)
            for row in self._inlinks.rows(self._links_of(page)):
                self._sums.add(row, column)
            if number % PIECE == 0:
                yield
        for row, cells in self._stored_inlinks():
            self._drift.entries += len(cells)
            for column, _ in cells:
                self._sums.add(row, column)
            yield

    def _linking_pages(self) -> Iterator[Page]:
        rows = self._context.scan(Wanted(self._context.codec.select(("outlinks",))))
        for page in self._readable(map(self._context.pages.each, rows)):
            if page is not None and self._links_of(page):
                yield page

    def _links_of(self, page: Page) -> Sequence[Link]:
        # Inlinks expire with the content of their page. A redirect is among its metadata, which stay.
        ttl = self._context.layout.ttl
        if ttl is not None and milliseconds(hints_at(page)) < now_in_milliseconds() - 1000 * ttl:
            return page.outlinks or ()
        return links_of(page)

    def _stored_inlinks(self) -> Iterator[tuple[bytes, Sequence[tuple[bytes, Cell]]]]:
        """Yield the rows with inlinks, each with its inlinks or some of them."""
        linked = self._context.scan(Wanted([self._family + b":"], keys_only=True))
        while rows := [row.key for row in islice(linked, ROWS_AT_ONCE)]:
            yield from inlinks_of(self._context.store, self._context.table, self._family, rows)

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
        for source, page in zip(sources, self._context.pages.read_each(sources, ("outlinks",)), strict=True):
            if page is None:
                pageless.append(source)
            elif isinstance(page, DamagedRow):
                yield source, page
            else:
                yield source, Made({cell.place: cell for cell in self._cells_of(page)}, milliseconds(hints_at(page)))
        dates = self._links_left(pageless)
        yield from ((source, Made({}, dates.get(source))) for source in pageless)

    def _cells_of(self, page: Page) -> Iterator[SourcedCell]:
        """Yield those inlinks that *page* makes that only one side may have."""
        timestamp, column = milliseconds(hints_at(page)), self._inlinks.column(page.url)
        source = self._context.key.encode(page.url)
        for row, links in self._inlinks.rows(self._links_of(page)).items():
            if self._sums.is_odd(row, column):
                yield SourcedCell(self._context.table, row, NewCell(column, timestamp, inlink_value(links)), source)

    def _links_left(self, sources: Iterable[bytes]) -> dict[bytes, int]:
        """Return the dates of links without a page, which an interrupted delete has left, by row."""
        urls = self._context.codec.columns.urls
        rows = (row for piece in pieces(sources) for row in self._context.read(piece, Wanted([urls], keys_only=True)))
        return {row.key: row.cells[urls][0].timestamp for row in rows if row is not None}

    def _named(self, row: bytes, cell: NewCell) -> SourcedCell:
        """Return an inlink with the row of the page that it names, empty if that is not a page."""
        try:
            self._context.key.url_of(row)
            source = self._context.key.encode(cell.column[len(self._family) + 1 :].decode())
        except ValueError:
            source = b""
        return SourcedCell(self._context.table, row, cell, source)


def _some_at_once(places: Iterable[SourcedCell]) -> Iterator[list[SourcedCell]]:
    weighed = (
        (place, PLACE_BYTES + len(place.row) + len(place.cell.column) + len(place.cell.value)) for place in places
    )
    return together(weighed, AT_ONCE)


GROUPS: Final = 2**20
"""How many sums there are, of 8 bytes each."""


# Both sides are read once, whatever they have; memory stays the same however many links there are.
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
        self._sums = array("q", bytes(8 * GROUPS))

    def add(self, row: bytes, column: bytes) -> None:
        """Add an inlink: the *column* of the page that links to *row*."""
        link = hash((row, column))
        self._sums[link % GROUPS] ^= link

    def is_odd(self, row: bytes, column: bytes) -> bool:
        """Whether only one side may have this inlink."""
        return self._sums[hash((row, column)) % GROUPS] != 0

    def are_even(self) -> bool:
        """Whether both sides have the same links."""
        return not any(self._sums)


# --- Comparisons by worker processes, and the maintenance itself ------------------------------------------------------


class ComparedPart(NamedTuple):
    """The drift of a part of the rows in a pass of this `kind`, its last row, and the rows that are damaged."""

    kind: str
    drift: Drift
    position: bytes
    damaged: set[bytes]


def _compare(
    context: TableContext, index: str, as_of: datetime, settle: float, kind: str, after: bytes
) -> ComparedPart:
    """Compare a part of the pages or of the entries, those after the row *after*; a worker calls it."""
    drift, damage = Drift(index, as_of), context.damage()
    entries = EntryComparison(context, context.indexes.named(index), drift, damage, settle=settle, apply=False)
    walk: Iterator[None] = HistoryComparison(context, drift, damage, settle=settle).run()
    if kind != "inconsistent":
        walk = entries.compare(kind, after)
    for _ in walk:
        pass
    return ComparedPart(kind, drift, entries.position, damage.known)


SAVE_SECONDS = 5.0
"""How often a rebuild stores its progress."""


class Maintenance:
    """Adds, drops, rebuilds, verifies and repairs the indexes of a table in use.

    *mend_pages* repairs pages whose newest capture disagrees with their history.
    """

    def __init__(self, context: TableContext, mend_pages: Mend) -> None:
        self._context = context
        self._mend_pages = mend_pages

    def add(self, index: str, on_progress: Progress | None, *, dry_run: bool, workers: int = 1) -> int:
        """Add an index, as `TableIndexes.add` promises."""
        context = self._context
        check_workers(context, workers)
        ((name, state),) = defined([index]).items()
        maintained = context.indexes.read()
        if name in maintained:
            raise InvalidArgument(f"{context.name} already has an index {name!r}; it is {maintained[name].state.phase}")
        if dry_run:
            return self._counted(on_progress)
        layout = context.layouts.read()
        tables = [layout.index_schema(context.table, name), layout.queue_schema(context.table)]
        create_tables(context.store, tables, "")
        context.indexes.set(name, replace(state, phase="building", added=now_in_milliseconds()))
        return self.rebuild(name, on_progress, dry_run=False, workers=workers)

    def drop(self, index: str, *, dry_run: bool) -> IndexState:
        """Drop an index, as `TableIndexes.drop` promises."""
        indexes = self._context.indexes
        maintained = indexes.named(index)
        if not dry_run:
            indexes.set(index, replace(maintained.state, phase="retired", position=""))
            # Readers, whose states may be as old as this, must stop using it before writers stop writing its entries.
            clock.sleep(FRESH_SECONDS * 1.5)
            indexes.set(index, IndexState("dropped"))
            with suppress(TableNotFound):
                self._context.store.drop_table(maintained.table)
        return maintained.state

    def rebuild(self, index: str, on_progress: Progress | None, *, dry_run: bool, workers: int = 1) -> int:
        """Write all entries of an index, as `TableIndexes.rebuild` promises."""
        context = self._context
        check_workers(context, workers)
        maintained = context.indexes.named(index)
        if maintained.state.phase == "retired":
            raise InvalidArgument(
                f"{context.name}: the index {index!r} is being dropped; index drop {index} completes that"
            )
        maintained.index.name  # noqa: B018 - raises if the index cannot be used, even if there are no pages
        if dry_run:
            return self._counted(on_progress)
        # Of an index in use no progress is stored: a rebuild of it only adds what is missing.
        is_new = maintained.state.phase == "building"
        after = bytes.fromhex(maintained.state.position) if is_new else b""
        write = (
            _written(context, maintained, after) if workers == 1 else _written_by(workers, context, maintained, after)
        )
        pages, saved = 0, clock.monotonic()
        with closing(write) as written:
            for count, last in written:
                pages += count
                if is_new and last and clock.monotonic() - saved > SAVE_SECONDS:
                    self._advance(maintained, "building", last.hex())
                    saved = clock.monotonic()
                if on_progress is not None:
                    on_progress(pages)
        if is_new:
            self._advance(maintained, "ready")
        return pages

    def _counted(self, on_progress: Progress | None) -> int:
        """The number of pages, for a preview."""
        wanted = Wanted([self._context.codec.columns.page], keys_only=True)
        return sum(1 for _ in counting(self._context.scan(wanted), on_progress))

    def repair(
        self,
        index: str,
        *,
        apply: bool,
        as_of: Moment | None,
        on_progress: Progress | None,
        settle: float,
        resume: str | PathLike[str] | None,
        workers: int = 1,
    ) -> Drift:
        """Compare an index with its table, and with *apply* repair it, as `TableIndexes` promises."""
        checked_workers(workers)
        context, until = self._context, given_moment("as_of", as_of)
        maintained, damage = context.indexes.named(index), context.damage()
        verb = "repair" if apply else "verify"
        question = f"{verb} the index {index} of {context.table}, as of {until or 'now'}"
        journal = Journal(resume, question, DriftCheckpoint)
        begun = journal.begun()
        drift = Drift(index, until or clock.now()) if begun is None else begun.drift
        others = context.indexes.read().values()
        checks_pages = maintained.keeps_inlinks or not any(other.keeps_inlinks for other in others)
        if workers > 1:
            shared = drift, damage, settle, journal, begun
            walks = [_compared_by(workers, context, maintained, *shared, checks_pages=checks_pages)]
        else:
            entries = EntryComparison(context, maintained, drift, damage, settle=settle, apply=apply)
            walks = [entries.run(journal, begun)]
            if checks_pages:
                mend_pages = self._mend_pages if apply else None
                walks.append(HistoryComparison(context, drift, damage, settle=settle, mend_pages=mend_pages).run())
        if maintained.keeps_inlinks:
            walks.append(InlinkComparison(context, drift, damage, settle=settle, apply=apply).run())
        for walk in walks:
            with closing(walk):
                for _ in walk:
                    if on_progress is not None:
                        on_progress(drift.pages + drift.entries)
        journal.end()
        return drift

    def _advance(self, maintained: Maintained, phase: Phase, position: str = "") -> None:
        """Store the progress of a rebuild; raises `UnknownIndex` if the index was dropped meanwhile."""
        indexes, name = self._context.indexes, maintained.name
        now = indexes.named(name).state
        if now.added != maintained.state.added or now.phase == "retired":
            raise UnknownIndex(f"{self._context.name}: the index {name!r} was dropped while it was built")
        if now.phase == "building":
            indexes.set(name, replace(now, phase=phase, position=position))


def _compared_by(
    workers: int,
    context: TableContext,
    maintained: Maintained,
    drift: Drift,
    damage: Damage,
    settle: float,
    journal: Journal[DriftCheckpoint],
    begun: DriftCheckpoint | None,
    *,
    checks_pages: bool,
) -> Generator[None]:
    """Compare by *workers*, continuing after *begun*, and with *checks_pages* histories too; yields after each part."""
    place = DriftCheckpoint("missing", b"", drift) if begun is None else begun
    passes = [(place.kind, place.position)]
    if place.kind == "missing":
        passes.append(("stale", b""))
    if checks_pages:
        passes.append(("inconsistent", b""))
    tasks: list[PartTask] = []
    for kind, after in passes:
        whole = Whole.of_rows(context, [ALL_KEYS.after(after)])
        if kind == "stale":
            whole = Whole(maintained.table, whole.ranges, maintained.index, INDEX_COLUMN, whole.columns)
        arguments = (maintained.name, drift.as_of, settle, kind, after)
        tasks += [PartTask(_compare, part, arguments) for part in parts_of(context, whole, workers)]
    with done_by(workers, context, tasks) as parts:
        for part in parts:
            drift.add(part.drift)
            damage.know(part.damaged)
            # Histories are compared from the beginning again, as by one process.
            if part.kind != "inconsistent":
                position = max(part.position, place.position) if part.kind == place.kind else part.position
                place = DriftCheckpoint(part.kind, position, drift)
                if journal.is_due():
                    journal.keep(place)
            yield


def _written(context: TableContext, maintained: Maintained, after: bytes) -> Generator[tuple[int, bytes]]:
    """Write the entries of the pages after the row *after*, some at once; yields their number and the last row."""
    columns = context.codec.select(("outlinks",) if maintained.keeps_inlinks else ())
    rows = context.scan(Wanted(columns), clipped([ALL_KEYS.after(after)], context.keys_of(context.table)))
    read = ((row.key, context.pages.each(row)) for row in rows)
    damage = context.damage()
    readable = damage.sift(page if isinstance(page, DamagedRow) else (row, page) for row, page in read)
    pages = ((row, page) for row, page in readable if page is not None)
    with closing(Updater(context)) as updater:
        for piece in pieces(pages):
            _write_entries(updater, maintained, piece)
            yield len(piece), piece[-1][0]


def _written_by(
    workers: int, context: TableContext, maintained: Maintained, after: bytes
) -> Generator[tuple[int, bytes]]:
    """Do as `_written`, a part of the pages at once, by *workers*."""
    parts = parts_of(context, Whole.of_rows(context, [ALL_KEYS.after(after)]), workers)
    tasks = [PartTask(_write_part, part, (maintained.name, after)) for part in parts]
    with done_by(workers, context, tasks) as written:
        yield from written


def _write_part(context: TableContext, index: str, after: bytes) -> tuple[int, bytes]:
    """Write the entries of a part of the pages after the row *after*; a worker calls it."""
    written = list(_written(context, context.indexes.named(index), after))
    return sum(count for count, _ in written), written[-1][1] if written else b""


def _write_entries(updater: Updater, maintained: Maintained, pages: Sequence[KeyedPage]) -> None:
    """Write the entries of *pages*, and for the link index their inlinks. Raises the first error."""
    if maintained.signs_pages:
        pages = [(row, page) for (row, _), page in zip(pages, signed(updater.context, pages), strict=True)]
    derived, touched = DerivedCells(), set[bytes]()
    changes = [PageChange(owner, row, None, page) for owner, (row, page) in enumerate(pages)]
    errors = add_entries(derived, changes, [maintained], updater.context.key)
    hosts = {host_and_rest(page.url)[0] for _, page in pages} if maintained.counts_pages else set()
    if maintained.keeps_inlinks:
        for change in changes:
            touched |= updater.inlinks.add_all(derived, change.owner, change.page, links_of(change.page))
    # Before the inlinks themselves, as in a batch: an unnecessary recount does no harm.
    entered = updater.queue.entered(touched, hosts=hosts) if touched or hosts else None
    if entered is not None:
        updater.queue.write([entered])
    for error in (errors | updater.writer.put(derived, [maintained])).values():
        raise error
    if entered is not None:
        updater.queue.write([updater.queue.done(entered)])
