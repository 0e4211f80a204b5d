"""Drift, the difference between derived data and pages: its report, the base of all comparisons, that of histories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

import msgspec

from webtable._clock import clock, milliseconds, now_in_milliseconds
from webtable.errors import DamagedRow
from webtable.repository.page_storage.cells import removed
from webtable.repository.page_storage.decisions import mended
from webtable.store import Delete, NewCell, Put
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from webtable.repository.context import Frame
    from webtable.repository.journal import Journal
    from webtable.repository.reading.damage import Damage
    from webtable.store import Row

T = TypeVar("T")

EXAMPLES = 20
"""How many differences a report shows."""
AT_ONCE = 10_000
"""How many differences are checked again together."""
PIECE = 500
CELLS_ASKED = 5_000
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


class DriftComparison:
    """A comparison of derived cells with the pages that make them, in both directions, a piece at a time.

    A cell that its page should have is looked up among the stored ones, and a stored one in what its page makes. A
    subclass says what the two sides are. Differences are checked again after *settle* seconds: meanwhile writers
    complete the batches that they are storing.
    """

    position = b""
    """The last row that the current pass has compared."""

    def __init__(self, frame: Frame, drift: Drift, damage: Damage, *, settle: float, apply: bool) -> None:
        self._frame = frame
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
        """Return those of *cells* that their pages no longer make, and how many belong to captures not stored yet."""
        stale = [cell for cell in cells if not cell.source]  # no writer will ever write such a cell
        pending = 0
        for some, made in self._by_page(cell for cell in cells if cell.source and cell.cell.timestamp < self._until):
            for cell in some:
                if (cell.row, cell.cell.column) in made.cells:
                    continue
                latest = self._latest(made, cell)
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
        for table, rows, columns in _asked_together(cells):
            for row in self._frame.store.read(table, rows, Wanted(columns)):
                if row is not None:
                    there.update(((row.key, column), found[0].timestamp) for column, found in row.cells.items())
        return there

    def mend(
        self,
        found: Iterator[list[SourcedCell]],
        still: Callable[[Sequence[SourcedCell]], list[SourcedCell]],
        kind: str,
        journal: Journal[DriftCheckpoint] | None = None,
    ) -> Iterator[None]:
        """Count, and repair, the differences *found* that are *still* there a moment later; yields after each piece.

        The *journal* records the progress.
        """
        suspects: list[SourcedCell] = []
        for cells in found:
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
        clock.sleep(self._settle)
        differences, drift = still(suspects), self._drift
        setattr(drift, kind, getattr(drift, kind) + len(differences))
        drift.examples += [f"{kind}: {cell}" for cell in differences[: EXAMPLES - len(drift.examples)]]
        for some in pieces(differences) if self._apply else ():
            self.write(some, kind)
            drift.repaired += len(some)

    def _readable(self, found: Iterable[T | DamagedRow]) -> Iterator[T]:
        """Yield the values that are not damaged rows, and count the damaged ones."""
        drift = self._drift
        for value in found:
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
        removed(self._frame.store, cells[0].table, [_mended(cell, kind, now) for cell in cells])


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


def _asked_together(cells: Iterable[SourcedCell]) -> Iterator[tuple[str, list[bytes], Sequence[bytes]]]:
    """Yield the rows and columns of *cells*, of one table, those of rows with the same columns together."""
    table, by_row = "", dict[bytes, list[bytes]]()
    for table, row, cell, _ in cells:  # noqa: B007
        by_row.setdefault(row, []).append(cell.column)
    rows, columns = list[bytes](), set[bytes]()
    for wanted, row in sorted((sorted(found), row) for row, found in by_row.items()):
        for at in range(0, len(wanted), CELLS_ASKED):
            some = wanted[at : at + CELLS_ASKED]
            both = columns if columns.issuperset(some) else columns.union(some)
            if rows and (len(rows) + 1) * len(both) > CELLS_ASKED:
                yield table, rows, sorted(columns)
                rows, both = [], set(some)
            rows.append(row)
            columns = both
    if rows:
        yield table, rows, sorted(columns)


Mend = Callable[[Sequence[bytes]], None]
"""Mends the pages of rows; raises the first error."""


class HistoryComparison(DriftComparison):
    """A comparison of all pages with their own versions; *mend_pages*, if given, repairs those that disagree."""

    def __init__(
        self, frame: Frame, drift: Drift, damage: Damage, *, settle: float, mend_pages: Mend | None = None
    ) -> None:
        super().__init__(frame, drift, damage, settle=settle, apply=mend_pages is not None)
        self._mend_pages = mend_pages
        names = frame.codec.columns
        frame.layouts.recent()
        self._wanted = Wanted([names.page, names.deleted, names.capture], versions=frame.versions_at_first)

    def run(self) -> Generator[None]:
        """Compare; yields after each piece of the work."""
        yield from self.mend(self._inconsistent(), self._still_inconsistent, "inconsistent")

    def write(self, cells: Sequence[SourcedCell], kind: str) -> None:
        """Repair pages."""
        del kind
        if self._mend_pages is not None:
            self._mend_pages([cell.row for cell in cells])

    def _inconsistent(self) -> Iterator[list[SourcedCell]]:
        rows = self._frame.store.scan(self._frame.table, [self._frame.keys_of(self._frame.table)], self._wanted)
        return map(self._inconsistent_among, pieces(rows))

    def _still_inconsistent(self, suspects: Sequence[SourcedCell]) -> list[SourcedCell]:
        found = self._frame.store.read(self._frame.table, [place.row for place in suspects], self._wanted)
        return self._inconsistent_among(row for row in found if row is not None)

    def _inconsistent_among(self, rows: Iterable[Row]) -> list[SourcedCell]:
        column, places = self._frame.codec.columns.page, []
        for row in rows:
            stored = self._frame.codec.stored(row)
            if stored.page is not None and mended(stored) is not None:
                timestamp = milliseconds(stored.page.fetched_at)
                places.append(SourcedCell(self._frame.table, row.key, NewCell(column, timestamp, b""), row.key))
        return [place for place in places if place.cell.timestamp < self._until]
