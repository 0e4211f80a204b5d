"""The copy of a web table, from the beginning or from where a call was interrupted: first pages, then inlinks."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from webtable._clock import now_in_milliseconds, possible_moment
from webtable._messages import Command
from webtable.errors import DamagedRow, ExpiredCapture, InvalidArgument
from webtable.repository.copying.pages import PageCopier
from webtable.repository.copying.tables import ROWS_AT_ONCE, Copied, Counts, RateLimit, TablePair
from webtable.repository.journal import Journal
from webtable.repository.links.inlink_cells import PAST
from webtable.repository.page_storage.cells import NARROW, PIECE, written
from webtable.repository.partitions.cuts import Whole
from webtable.repository.partitions.tasks import FramePlace, PartTask, check_workers, done_by, parts_of
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.repository.upkeep.queue import RecountQueue
from webtable.repository.upkeep.revisits import AT_ONCE, OpenRevisits, page_in
from webtable.repository.writing.batch import BatchWriter, complete
from webtable.rowkey import KeyRange
from webtable.rowkey.ranges import ALL_KEYS
from webtable.store import Cell, Delete, NewCell, Put, TimeRange
from webtable.store.rows import ALL_QUALIFIERS, Wanted
from webtable.store.url import StoreURL

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from os import PathLike

    from webtable.repository.context import Frame


# --- The second pass of a copy: the inlinks of rows, read side by side in both tables ---------------------------------


class RowInlinks(NamedTuple):
    """Inlinks of a row in the source (`there`) and in the target (`here`), by qualifier.

    `are_all` is False if the row may have more.
    """

    row: bytes
    target_row: bytes
    there: dict[bytes, Cell]
    here: dict[bytes, Cell]
    are_all: bool


class InlinkPairs:
    """Reads the inlinks of two tables side by side; those of the target have values only *with_values*."""

    def __init__(self, tables: TablePair, *, with_values: bool = False) -> None:
        self._tables = tables
        self._with_values = with_values
        self._there = tables.source.codec.columns.inlinks.encode()
        self._here = tables.target.codec.columns.inlinks.encode()

    def pieces(self, after: bytes, limit: RateLimit) -> Iterator[tuple[bytes, Iterator[list[RowInlinks]]]]:
        """Yield the inlinks of the rows after the row key *after*, some rows at once, with the last of these rows."""
        source = self._tables.source
        wanted = Wanted([self._there + b":"], keys_only=True)
        spec = ScanSpec(source.table, [source.keys_of(source.table)], wanted)
        found = in_storage_order(source.store, spec, after or None)
        while rows := [row.key for row in islice(found, limit.at_once(ROWS_AT_ONCE))]:
            yield rows[-1], self._some(rows)
            limit.wait(len(rows))

    def _some(self, rows: Sequence[bytes]) -> Iterator[list[RowInlinks]]:
        """Yield the inlinks of *rows*: first some of each row, then the rest of rows with many, in pieces."""
        # A row without a key in the target was reported in the first pass.
        keys = {row: key for row in rows if not isinstance(key := self._tables.target_row(row), DamagedRow)}
        yield (few := self._piece(keys, ALL_QUALIFIERS, NARROW))
        for one in few:
            there = one.there
            limit = NARROW
            while len(there) >= limit:
                limit = PIECE
                (piece,) = self._piece({one.row: one.target_row}, ALL_QUALIFIERS.after(max(there)), limit)
                there = piece.there
                yield [piece]

    def _piece(self, keys: dict[bytes, bytes], qualifiers: KeyRange, limit: int) -> list[RowInlinks]:
        source, target = self._tables.source, self._tables.target
        found = source.store.read_cells(source.table, list(keys), self._there, qualifiers, limit=limit)
        known = target.store.read_cells(
            target.table, list(keys.values()), self._here, qualifiers, limit=limit, keys_only=not self._with_values
        )
        return [
            RowInlinks(
                row,
                keys[row],
                {column[len(self._there) + 1 :]: cell for column, cell in there},
                {column[len(self._here) + 1 :]: cell for column, cell in here},
                qualifiers == ALL_QUALIFIERS and len(there) < limit and len(here) < limit,
            )
            for row, there, here in zip(keys, found, known, strict=True)
        ]

    def exactly(self, one: RowInlinks, qualifiers: Sequence[bytes]) -> list[dict[bytes, Cell]]:
        """Return the cells of a row with these *qualifiers*, in the source and in the target."""
        found = []
        for side, row, family in (
            (self._tables.source, one.row, self._there),
            (self._tables.target, one.target_row, self._here),
        ):
            columns = {family + b":" + qualifier: qualifier for qualifier in qualifiers}
            (cells,) = side.store.read(side.table, [row], Wanted(list(columns)))
            found.append({columns[column]: some[0] for column, some in cells.cells.items()} if cells else {})
        return found


class InlinkCopier:
    """Copies the inlinks of one table into another, if both store them; in a *dry_run* they are only counted."""

    def __init__(self, tables: TablePair, counts: Counts, *, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._tables = tables
        self._counts = counts
        # If a row has more inlinks in the target, some are written again unnecessarily, which changes nothing.
        self._both = InlinkPairs(tables)
        self._queue = RecountQueue(tables.target.store, tables.target.table)
        self._here = tables.target.codec.columns.inlinks.encode()

    def run(self, after: bytes, limit: RateLimit) -> Iterator[bytes]:
        """Copy the inlinks after the row key *after*, and yield the rows up to which they are copied."""
        for last, pieces in self._both.pieces(after, limit):
            for some in pieces:
                self._copy(some)
            yield last

    def _copy(self, some: Sequence[RowInlinks]) -> None:
        changes: list[Put | Delete] = []
        for one in some:
            changes += self._changes(one)
        if not changes or self._dry_run:
            return
        # First, as before a batch of pages: an unnecessary recount does no harm.
        target = self._tables.target
        with target.store.transaction():
            entered = self._queue.entered({change.row for change in changes})
            self._queue.write([entered])
            written(target.store, target.table, changes)
            self._queue.write([self._queue.done(entered)])

    def _changes(self, one: RowInlinks) -> Iterator[Put | Delete]:
        """Yield the changes that make the inlinks of the target equal to those of the source."""
        new = [
            NewCell(self._column(qualifier), cell.timestamp, cell.value)
            for qualifier, cell in one.there.items()
            if qualifier not in one.here or one.here[qualifier].timestamp < cell.timestamp
        ]
        self._counts.add(inlinks=len(new))
        if new:
            yield Put(one.target_row, new)
        past = {qualifier.removeprefix(PAST): cell for qualifier, cell in one.there.items() if qualifier[:1] == PAST}
        if past and one.here:
            there, here = (one.there, one.here) if one.are_all else self._both.exactly(one, list(past))
            for qualifier in past.keys() & here.keys() - there.keys():
                if here[qualifier].timestamp <= past[qualifier].timestamp:
                    yield Delete(one.target_row, here[qualifier].timestamp, [self._column(qualifier)])

    def _column(self, qualifier: bytes) -> bytes:
        return self._here + b":" + qualifier


# ----------------------------------------------------------------------------------------------------------------------


Step = Literal["pages", "inlinks"]


class CopyPlace(msgspec.Struct, frozen=True):
    """A place in a copy: everything up to `row` in this step, and in the steps before it, is copied."""

    step: Step = "pages"
    row: bytes = b""


class CopyPlaces(msgspec.Struct):
    """The places that the copies into a table have reached, by the name of the source: the content of a journal."""

    of: dict[str, CopyPlace] = {}


def copy(
    source: Frame,
    target: Frame,
    resume: str | PathLike[str] | None,
    rate: float | None,
    on_copied: Callable[[Copied], object] | None,
    *,
    dry_run: bool = False,
    workers: int = 1,
) -> Copied:
    """Do what `TableMaintenance.copy` promises."""
    check_workers(source, workers)
    check_workers(target, workers)
    if dry_run and resume is not None:
        raise InvalidArgument("resume= and dry_run=True exclude each other: a dry run compares all pages")
    RateLimit(rate)  # raises for what is none
    tables, counts = TablePair(source, target), Counts()
    check_apart(source, target)
    check_kept(source, target.layouts.recent().ttl, target.name)
    with Journal(resume, f"copy to {target.name}", CopyPlaces, seconds=0).alone("copy") as journal:
        places = journal.begun() or CopyPlaces()
        began = places.of.get(source.name, CopyPlace())
        if began.row and _has_no_pages(target):
            began = CopyPlace()  # the target was created again
        counts.resumed = bool(began.row)
        try:
            with closing(_copied(tables, counts, began, rate, dry_run=dry_run, workers=workers)) as copied:
                for place in copied:
                    places.of[source.name] = place
                    if journal.is_due():
                        journal.keep(places)
                    if on_copied is not None:
                        on_copied(counts.copied())
        except BaseException:
            _save(journal, places)
            raise
        places.of.pop(source.name, None)
        _save(journal, places)
    return counts.copied()


def _save(journal: Journal[CopyPlaces], places: CopyPlaces) -> None:
    if places.of:
        journal.keep(places)
    else:
        journal.end()


def _copied(
    tables: TablePair, counts: Counts, began: CopyPlace, rate: float | None, *, dry_run: bool, workers: int
) -> Generator[CopyPlace]:
    """Copy everything after the place *began*, and yield the places reached."""
    steps: list[Step] = ["pages", "inlinks"] if tables.keep_inlinks else ["pages"]
    for step in steps[began.step == "inlinks" :]:
        after = began.row if step == began.step else b""
        if workers > 1:
            rows = _copied_by(workers, tables, counts, step, after, rate, dry_run=dry_run)
        else:
            rows = _copied_rows(tables, counts, step, after, RateLimit(rate), dry_run=dry_run)
        with closing(rows):
            for last in rows:
                yield CopyPlace(step, last)
    if not dry_run:
        _copy_revisits(tables)


def _copy_revisits(tables: TablePair) -> None:
    """Copy the open revisits; those whose originals the target has are completed there."""
    source, target = (OpenRevisits(one.store, one.table, one.key) for one in (tables.source, tables.target))
    rows = source.rows([ALL_KEYS])
    with closing(BatchWriter(tables.target, None, is_completing=True)) as writer:
        while some := list(islice(rows, AT_ONCE)):
            pages = [page for page in map(page_in, some) if page is not None]
            target.enter(pages)
            complete(target, writer, pages, [])


def _copied_rows(
    tables: TablePair, counts: Counts, step: Step, after: bytes, limit: RateLimit, *, dry_run: bool
) -> Generator[bytes]:
    """Do this *step* for the rows after the row *after*, and yield the rows reached."""
    if step == "inlinks":
        yield from InlinkCopier(tables, counts, dry_run=dry_run).run(after, limit)
        return
    copier = PageCopier(tables, counts, with_inlinks=not tables.keep_inlinks, dry_run=dry_run)
    with closing(copier) as pages:
        yield from pages.run(after, limit)


def _copied_by(
    workers: int, tables: TablePair, counts: Counts, step: Step, after: bytes, rate: float | None, *, dry_run: bool
) -> Generator[bytes]:
    """Do as `_copied_rows`, a part of the source at once, by *workers*."""
    target, each = FramePlace.of(tables.target, with_indexes=True), None if rate is None else rate / workers
    parts = parts_of(tables.source, Whole.of_rows(tables.source, [ALL_KEYS.after(after)]), workers)
    tasks = [PartTask(_copy_part, part, (target, step, after, each, dry_run)) for part in parts]
    with done_by(workers, tables.source, tasks) as copied:
        for part, last in copied:
            counts.add_part(part)
            after = max(after, last)
            yield after


def _copy_part(
    source: Frame, target: FramePlace, step: Step, after: bytes, rate: float | None, dry_run: bool
) -> tuple[Counts, bytes]:
    """Do a *step* for a part of the source, and return the counts and the last row; a worker calls it."""
    counts = Counts()
    with target.opened(None) as opened:
        for last in _copied_rows(TablePair(source, opened), counts, step, after, RateLimit(rate), dry_run=dry_run):
            after = last
    return counts, after


def _has_no_pages(target: Frame) -> bool:
    wanted = Wanted([target.codec.columns.page], keys_only=True)
    return next(target.store.scan(target.table, [KeyRange()], wanted, limit=1), None) is None


def check_apart(source: Frame, target: Frame) -> None:
    """Raise `InvalidArgument` if both are the same table."""
    same_store = source.store is target.store or _place(source.store.name) == _place(target.store.name)
    if same_store and source.table == target.table:
        raise InvalidArgument(f"target={target.name!r} is the source itself: name another table")


def _place(name: str) -> str:
    url = StoreURL.parse(name)
    return str(Path(url.rest).resolve()) if url.is_path else name


def check_kept(source: Frame, ttl: int | None, name: str) -> None:
    """Raise `ExpiredCapture` if the table *name*, which keeps content *ttl* seconds, would drop content of *source*.

    Content that is about to expire in the source as well does not count.
    """
    kept = source.layouts.recent().ttl
    if ttl is None or (kept is not None and kept <= ttl):
        return
    column = source.codec.columns.capture
    past = TimeRange(0, now_in_milliseconds() - ttl * 1000 + 1)
    old = next(source.store.scan(source.table, [KeyRange()], Wanted([column], time_range=past), limit=1), None)
    if old is not None:
        at = possible_moment(old.cells[column][0].timestamp)
        raise ExpiredCapture(
            f"{source.codec.damaged(old.key, column, '').url or source.name}: a capture of {at:%Y-%m-%d} "
            f"is older than the {ttl / 86400:g} days for which {name} keeps content: let it keep content "
            "longer (webtable copy --ttl none for a new table, else ",
            Command("alter --ttl none"),
            "). Nothing was written",
        )
