"""Drift, the difference between derived data and pages: its report, the base of all comparisons, that of histories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from webtable._clock import clock, milliseconds, now_in_milliseconds
from webtable.errors import DamagedRow
from webtable.repository.stored.cells import removed
from webtable.repository.stored.decisions import mended
from webtable.store import Delete, NewCell, Put
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from webtable.repository.frame import Frame
    from webtable.repository.journal import Journal
    from webtable.repository.scanning.damage import Damage
    from webtable.store import Row

T = TypeVar("T")

EXAMPLES = 20
"""How many differences a report shows."""
AT_ONCE = 10_000
"""How many differences are checked again together."""
PIECE = 500


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


class DriftComparison:
    """A comparison of derived data with the pages that it is derived from.

    Differences are checked again after *settle* seconds: meanwhile writers complete the batches that they are storing.
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
        for some in found:
            suspects += some
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
        places = still(suspects)
        drift = self._drift
        setattr(drift, kind, getattr(drift, kind) + len(places))
        drift.examples += [f"{kind}: {_shown(place)}" for place in places[: EXAMPLES - len(drift.examples)]]
        if not self._apply:
            return
        for at in range(0, len(places), PIECE):
            self.write(places[at : at + PIECE], kind)
            drift.repaired += len(places[at : at + PIECE])

    def _readable(self, found: Iterable[T | DamagedRow]) -> Iterator[T]:
        """Yield the values that are not damaged rows, and count the damaged ones."""
        drift = self._drift
        for one in found:
            if not isinstance(one, DamagedRow):
                yield one
                continue
            before = self._damage.count
            self._damage.add(one)
            drift.damaged += self._damage.count - before
            if self._damage.count > before and len(drift.examples) < EXAMPLES:
                drift.examples.append(f"damaged: {one}")

    def write(self, places: Sequence[SourcedCell], kind: str) -> None:
        """Repair differences of one kind."""
        now = now_in_milliseconds()
        for table in dict.fromkeys(place.table for place in places):
            changes = [_mended(place, kind, now) for place in places if place.table == table]
            removed(self._frame.store, table, changes)


def _mended(place: SourcedCell, kind: str, now: int) -> Put | Delete:
    if kind == "missing":
        return Put(place.row, [place.cell])
    # A cell dated in the future is removed alone, so that the delete hides nothing put before then: see `removals`.
    timestamp = place.cell.timestamp
    return Delete(place.row, timestamp, [place.cell.column], exact=timestamp > now)


def _shown(place: SourcedCell) -> str:
    return f"{place.table} {place.row.decode(errors='backslashreplace')} {place.cell.column.decode(errors='replace')}"


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

    def write(self, places: Sequence[SourcedCell], kind: str) -> None:
        """Repair pages."""
        del kind
        if self._mend_pages is not None:
            self._mend_pages([place.row for place in places])

    def _inconsistent(self) -> Iterator[list[SourcedCell]]:
        rows = self._frame.store.scan(self._frame.table, [self._frame.keys_of(self._frame.table)], self._wanted)
        while piece := list(islice(rows, PIECE)):
            yield self._inconsistent_among(piece)

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
