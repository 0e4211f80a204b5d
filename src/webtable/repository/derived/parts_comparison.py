"""The comparison of an index with its table, and of pages with their histories, by worker processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from webtable.repository.context import Frame
from webtable.repository.derived.drift import Drift, DriftCheckpoint, HistoryComparison
from webtable.repository.derived.entry_drift import EntryComparison
from webtable.repository.indexes.states import Maintained
from webtable.repository.partitions.cuts import Whole
from webtable.repository.partitions.tasks import PartTask, done_by, parts_of
from webtable.repository.reading.damage import Damage
from webtable.rowkey.ranges import ALL_KEYS
from webtable.schema import INDEX_COLUMN

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from datetime import datetime

    from webtable.repository.journal import Journal


class ComparedPart(NamedTuple):
    """The drift of a part of the rows in a pass of this `kind`, its last row, and the rows that are damaged."""

    kind: str
    drift: Drift
    position: bytes
    damaged: set[bytes]


@dataclass(frozen=True, slots=True)
class PartsComparison:
    """A comparison of the index *found* by this number of *workers*; nothing is repaired."""

    frame: Frame
    found: Maintained
    drift: Drift
    damage: Damage
    settle: float
    workers: int

    def run(
        self, journal: Journal[DriftCheckpoint], begun: DriftCheckpoint | None, *, checks_pages: bool
    ) -> Generator[None]:
        """Compare, continuing after *begun*, and with *checks_pages* histories too; yields after each part."""
        place = DriftCheckpoint("missing", b"", self.drift) if begun is None else begun
        tasks = self._tasks(place.kind, place.position)
        if place.kind == "missing":
            tasks += self._tasks("stale", b"")
        if checks_pages:
            tasks += self._tasks("inconsistent", b"")
        with done_by(self.workers, self.frame, tasks) as parts:
            for part in parts:
                self.drift.add(part.drift)
                self.damage.know(part.damaged)
                # Histories are compared from the beginning again, as by one process.
                if part.kind != "inconsistent":
                    position = max(part.position, place.position) if part.kind == place.kind else part.position
                    place = DriftCheckpoint(part.kind, position, self.drift)
                    if journal.is_due():
                        journal.keep(place)
                yield

    def _tasks(self, kind: str, after: bytes) -> list[PartTask]:
        rows = [ALL_KEYS.after(after)]
        whole = Whole.of_rows(self.frame, rows)
        if kind == "stale":
            whole = Whole(self.found.table, rows, self.found.index, INDEX_COLUMN, whole.columns)
        asked = (self.found.name, self.drift.as_of, self.settle, kind, after)
        return [PartTask(_compare, part, asked) for part in parts_of(self.frame, whole, self.workers)]


def _compare(frame: Frame, index: str, as_of: datetime, settle: float, kind: str, after: bytes) -> ComparedPart:
    """Compare a part of the pages or of the entries, those after the row *after*; a worker calls it."""
    drift, damage = Drift(index, as_of), frame.damage()
    entries = EntryComparison(frame, frame.indexes.named(index), drift, damage, settle=settle, apply=False)
    walk: Iterator[None] = HistoryComparison(frame, drift, damage, settle=settle).run()
    if kind != "inconsistent":
        walk = entries.compare(kind, after)
    for _ in walk:
        pass
    return ComparedPart(kind, drift, entries.position, damage.known)
