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

from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from webtable._clock import clock, now_in_milliseconds
from webtable.errors import DamagedRow, InvalidArgument, TableNotFound, UnknownIndex
from webtable.progress import counting
from webtable.repository.arguments import Moment, given_moment
from webtable.repository.context import Frame
from webtable.repository.duplicates.signatures import signed
from webtable.repository.indexes.states import Maintained, defined
from webtable.repository.journal import Journal
from webtable.repository.maintenance.create import create_tables
from webtable.repository.page_storage.layouts import FRESH_SECONDS
from webtable.repository.partitions.cuts import Whole
from webtable.repository.partitions.processes import checked_workers
from webtable.repository.partitions.tasks import PartTask, check_workers, done_by, parts_of
from webtable.repository.reading.damage import Damage
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.repository.upkeep.cells import DerivedCells, PageChange, add_entries
from webtable.repository.upkeep.drift import (
    Drift,
    DriftCheckpoint,
    EntryComparison,
    HistoryComparison,
    InlinkComparison,
)
from webtable.repository.upkeep.updates import Updater
from webtable.rowkey import KeyRange
from webtable.rowkey.ranges import ALL_KEYS, clipped
from webtable.rowkey.web import host_and_rest
from webtable.schema import INDEX_COLUMN, IndexState, Phase
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from datetime import datetime
    from os import PathLike

    from webtable.page.page import Page
    from webtable.repository.arguments import Progress
    from webtable.repository.upkeep.drift import Mend
    from webtable.store import Row


# --- The comparison of an index with its table, and of pages with their histories, by worker processes ----------------


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


# ----------------------------------------------------------------------------------------------------------------------


PIECE = 500
SAVE_SECONDS = 5.0
"""How often a rebuild stores its progress."""


class Maintenance:
    """Adds, drops, rebuilds, verifies and repairs the indexes of a table in use.

    *mend_pages* repairs pages whose newest capture disagrees with their history.
    """

    def __init__(self, frame: Frame, mend_pages: Mend) -> None:
        self._frame = frame
        self._mend_pages = mend_pages

    def add(self, index: str, on_progress: Progress | None, *, dry_run: bool, workers: int = 1) -> int:
        """Do what `TableIndexes.add` promises."""
        check_workers(self._frame, workers)
        ((name, state),) = defined([index]).items()
        known = self._frame.indexes.read()
        if name in known:
            phase = known[name].state.phase
            raise InvalidArgument(f"{self._frame.name} already has an index {name!r}; it is {phase}")
        if dry_run:
            return self._counted(on_progress)
        layout = self._frame.layouts.read()
        table = self._frame.table
        create_tables(self._frame.store, [layout.index_schema(table, name), layout.queue_schema(table)], "")
        self._frame.indexes.set(name, replace(state, phase="building", added=now_in_milliseconds()))
        return self.rebuild(name, on_progress, dry_run=False, workers=workers)

    def drop(self, index: str, *, dry_run: bool) -> IndexState:
        """Do what `TableIndexes.drop` promises."""
        found = self._frame.indexes.named(index)
        if dry_run:
            return found.state
        self._frame.indexes.set(index, replace(found.state, phase="retired", position=""))
        clock.sleep(FRESH_SECONDS * 1.5)
        self._frame.indexes.set(index, IndexState("dropped"))
        with suppress(TableNotFound):
            self._frame.store.drop_table(found.table)
        return found.state

    def rebuild(self, index: str, on_progress: Progress | None, *, dry_run: bool, workers: int = 1) -> int:
        """Do what `TableIndexes.rebuild` promises."""
        check_workers(self._frame, workers)
        found = self._frame.indexes.named(index)
        if found.state.phase == "retired":
            raise InvalidArgument(
                f"{self._frame.name}: the index {index!r} is being dropped; index drop {index} completes that"
            )
        found.index.name  # noqa: B018 - raises if the index cannot be used, even if there are no pages
        if dry_run:
            return self._counted(on_progress)
        is_new = found.state.phase == "building"
        after = bytes.fromhex(found.state.position) if is_new else b""
        write = _written(self._frame, found, after) if workers == 1 else _written_by(workers, self._frame, found, after)
        pages, saved = 0, clock.monotonic()
        with closing(write) as written:
            for count, last in written:
                pages += count
                if is_new and last and clock.monotonic() - saved > SAVE_SECONDS:
                    self._advance(index, found, "building", last.hex())
                    saved = clock.monotonic()
                if on_progress is not None:
                    on_progress(pages)
        if is_new:
            self._advance(index, found, "ready")
        return pages

    def _counted(self, on_progress: Progress | None) -> int:
        """Return how many pages there are, for a preview."""
        wanted = Wanted([self._frame.codec.columns.page], keys_only=True)
        rows = self._frame.store.scan(self._frame.table, [KeyRange()], wanted)
        return sum(1 for _ in counting(rows, on_progress))

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
        """Do what `TableIndexes.repair` promises, and `verify` with several *workers*."""
        checked_workers(workers)
        found, damage, until = self._frame.indexes.named(index), self._frame.damage(), given_moment("as_of", as_of)
        question = f"{'repair' if apply else 'verify'} the index {index} of {self._frame.table}, as of {until or 'now'}"
        journal = Journal(resume, question, DriftCheckpoint)
        begun = journal.begun()
        drift = Drift(index, until or clock.now()) if begun is None else begun.drift
        checks_pages = found.keeps_inlinks or not any(one.keeps_inlinks for one in self._frame.indexes.read().values())
        if workers > 1:
            parts = PartsComparison(self._frame, found, drift, damage, settle, workers)
            walks = [parts.run(journal, begun, checks_pages=checks_pages)]
        else:
            entries = EntryComparison(self._frame, found, drift, damage, settle=settle, apply=apply)
            walks = [entries.run(journal, begun)]
            if checks_pages:
                mend_pages = self._mend_pages if apply else None
                walks.append(HistoryComparison(self._frame, drift, damage, settle=settle, mend_pages=mend_pages).run())
        if found.keeps_inlinks:
            walks.append(InlinkComparison(self._frame, drift, damage, settle=settle, apply=apply).run())
        for walk in walks:
            with closing(walk):
                for _ in walk:
                    if on_progress is not None:
                        on_progress(drift.pages + drift.entries)
        journal.end()
        return drift

    def _advance(self, index: str, found: Maintained, phase: Phase, position: str = "") -> None:
        """Store the progress of a rebuild; raises `UnknownIndex` if the index was dropped meanwhile."""
        now = self._frame.indexes.named(index).state
        if now.added != found.state.added or now.phase == "retired":
            raise UnknownIndex(f"{self._frame.name}: the index {index!r} was dropped while it was built")
        if now.phase == "building":
            self._frame.indexes.set(index, replace(now, phase=phase, position=position))


def _written(frame: Frame, found: Maintained, after: bytes) -> Generator[tuple[int, bytes]]:
    """Write the entries of the pages after the row *after*, some at once; yields their number and the last row."""
    updater = Updater(frame)
    try:
        for piece in _pieces(frame, found, after):
            _write_entries(updater, found, piece)
            yield len(piece), piece[-1][0]
    finally:
        updater.close()


def _written_by(workers: int, frame: Frame, found: Maintained, after: bytes) -> Generator[tuple[int, bytes]]:
    """Do as `_written`, a part of the pages at once, by *workers*."""
    parts = parts_of(frame, Whole.of_rows(frame, [_rows_after(after)]), workers)
    with done_by(workers, frame, [PartTask(_write_part, part, (found.name, after)) for part in parts]) as written:
        yield from written


def _write_part(frame: Frame, index: str, after: bytes) -> tuple[int, bytes]:
    """Write the entries of a part of the pages after the row *after*; a worker calls it."""
    pages, last = 0, b""
    for count, last in _written(frame, frame.indexes.named(index), after):  # noqa: B007
        pages += count
    return pages, last


def _rows_after(row: bytes) -> KeyRange:
    return KeyRange(row + b"\x00" if row else b"")


def _pieces(frame: Frame, found: Maintained, after: bytes) -> Iterator[list[tuple[bytes, Page]]]:
    def keyed(row: Row) -> tuple[bytes, Page | None] | DamagedRow:
        page = frame.pages.each(row)
        return page if isinstance(page, DamagedRow) else (row.key, page)

    columns = frame.codec.select(("outlinks",) if found.keeps_inlinks else ())
    spec = ScanSpec(frame.table, clipped([_rows_after(after)], frame.keys_of(frame.table)), Wanted(columns))
    readable = frame.damage().sift(map(keyed, in_storage_order(frame.store, spec, None)))
    pages = ((row, page) for row, page in readable if page is not None)
    while piece := list(islice(pages, PIECE)):
        yield piece


def _write_entries(updater: Updater, found: Maintained, pages: Sequence[tuple[bytes, Page]]) -> None:
    """Write the entries of *pages*, and for the link index their inlinks. Raises the first error."""
    derived = DerivedCells()
    if found.signs_pages:
        pages = [(row, page) for (row, _), page in zip(pages, signed(updater.frame, pages), strict=True)]
    changes = [PageChange(owner, row, None, page) for owner, (row, page) in enumerate(pages)]
    errors = add_entries(derived, changes, [found], updater.frame.key)
    touched: set[bytes] = set()
    hosts = {host_and_rest(page.url)[0] for _, page in pages} if found.counts_pages else set()
    if found.keeps_inlinks:
        for change in changes:
            touched |= updater.inlinks.add_all(derived, change.owner, change.page, change.page.outlinks or ())
    entered = updater.queue.entered(touched, hosts=hosts) if touched or hosts else None
    if entered is not None:
        updater.queue.write([entered])
    for error in (errors | updater.writer.put(derived, [found])).values():
        raise error
    if entered is not None:
        updater.queue.write([updater.queue.done(entered)])
