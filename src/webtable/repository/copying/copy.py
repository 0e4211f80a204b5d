"""The copy of a web table, from the beginning or from where a call was interrupted: first pages, then inlinks."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from webtable._clock import now_in_milliseconds, possible_moment
from webtable._messages import Command
from webtable.errors import ExpiredCapture, InvalidArgument
from webtable.repository.copying.counts import Copied, Counts
from webtable.repository.copying.inlinks import InlinkCopier
from webtable.repository.copying.pages import PageCopier
from webtable.repository.copying.tables import RateLimit, TablePair
from webtable.repository.journal import Journal
from webtable.repository.partitions.cuts import Whole
from webtable.repository.partitions.places import FramePlace
from webtable.repository.partitions.tasks import PartTask, check_workers, done_by, parts_of
from webtable.repository.upkeep.revisits import AT_ONCE, OpenRevisits, page_in
from webtable.repository.writing.batch import BatchWriter, complete
from webtable.rowkey import KeyRange
from webtable.rowkey.ranges import ALL_KEYS
from webtable.store import TimeRange
from webtable.store.rows import Wanted
from webtable.store.url import StoreURL

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from os import PathLike

    from webtable.repository.context import Frame


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
