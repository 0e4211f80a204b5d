"""Deletes of pages, one or many, with the cells that other rows have of them.

A delete in HBase hides every cell older than its timestamp, even one that is put later, and clients cannot see it. So a
delete leaves a small cell, `metadata:deleted`, with the moment up to which it hides. The read before every batch finds
that cell, and a capture that would be hidden is refused (see `capture_checks.hidden`).
"""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from webtable._clock import EPOCH, milliseconds, now_in_milliseconds, possible_moment
from webtable.repository.full_text.index import remove_documents
from webtable.repository.page_storage.cells import later_removed, written
from webtable.repository.page_storage.state import Deleted
from webtable.repository.upkeep.revisits import OpenRevisits
from webtable.repository.upkeep.updates import PageRemoval, Updater
from webtable.store import Delete, Put, Row
from webtable.store.deadline import Deadline, until
from webtable.store.rows import TimeRange, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.repository.context import Frame


PAGES_AT_ONCE = 200
"""How many pages are deleted together, in one transaction if the store has transactions."""


class Deletion:
    """Deletes pages of one web table, with their cells in indexes and other rows; must be closed.

    *with_inlinks* is False if inlinks are removed by other means, as in a copy.
    """

    def __init__(self, frame: Frame, *, with_inlinks: bool = True) -> None:
        self._frame = frame
        self._store = frame.store
        self._table = frame.table
        self._codec = frame.codec
        self._updater = Updater(frame, with_inlinks=with_inlinks)
        self._revisits = OpenRevisits(frame.store, frame.table, frame.key)
        names = frame.codec.columns
        # All columns of the family of content.
        self._content = [names.body, names.capture, names.page, *names.plain.values()]
        self._links = [names.urls]

    def close(self) -> None:
        """Stop the threads."""
        self._updater.close()

    def of(
        self, rows: Sequence[bytes], is_meant: Callable[[Row], bool] | None = None, *, dry_run: bool = False
    ) -> list[bool]:
        """Delete the pages at *rows* for which *is_meant* holds now, and return for each whether it was deleted.

        With *dry_run* they stay. All of them take as many calls as one does, and no body is read.
        """
        names, now = self._codec.columns, now_in_milliseconds()
        columns = [names.capture, names.page, *names.plain.values(), *self._links, names.deleted]
        later = Wanted([*self._content, *self._links], time_range=TimeRange(now + 1), keys_only=True)
        some = self._store.read(self._table, rows, Wanted(columns))
        # A read of its own, since the one above has no bodies: a delete that was killed may have left one alone.
        dated_later = self._store.read(self._table, rows, later)
        done, together = [], []
        for row, found, is_later in zip(rows, some, dated_later, strict=True):
            if is_later is not None or found is None or found.cells.keys() == {names.deleted}:
                done.append(self._of_each(row, is_meant, dry_run=dry_run))
            elif is_meant is None or is_meant(found):
                together.append(found)
                done.append(True)
            else:
                done.append(False)
        if together and not dry_run:
            with self._store.transaction():
                removal = self._entered(together)
                self._write([self._mark(found, now) for found in together])
                self._remove(together, now, removal)
        return done

    def _of_each(self, row: bytes, is_meant: Callable[[Row], bool] | None, *, dry_run: bool) -> bool:
        """Do what `of` does for a page with cells that are dated later than now, or for a row without a page."""
        deleted = self._codec.columns.deleted
        (found,) = self._store.read(self._table, [row], Wanted([*self._content, *self._links, deleted]))
        if found is None or found.cells.keys() == {deleted} or (is_meant is not None and not is_meant(found)):
            return False
        if dry_run:
            return True
        with self._store.transaction():
            removal = self._entered([found])
            self._remove([found], self._marked(found, now_in_milliseconds()), removal)
        return True

    def _entered(self, found: Sequence[Row]) -> PageRemoval:
        removal = PageRemoval(self._updater, found)
        removal.enter()
        return removal

    def _remove(self, removed: Sequence[Row], until: int, removal: PageRemoval) -> None:
        """Remove rows whose deletes are marked, up to a moment, and what other rows have of them.

        The links of the pages are removed last: if this is interrupted, the next attempt finds by them which inlinks
        are left.
        """
        self._write([Delete(found.key, until, self._content) for found in removed])
        removal.remove(until)
        self._write([Delete(found.key, until, self._links) for found in removed])
        remove_documents(self._frame, [found.key for found in removed])
        self._revisits.close_those_of([self._frame.key.unsalted(found.key) for found in removed], until)

    def repeat(self, row: bytes, deleted: Deleted) -> None:
        """Remove the cells of *row* that *deleted*, a delete in another table, hides, and write the same mark."""
        names = self._codec.columns
        (found,) = self._store.read(self._table, [row], Wanted([*self._content, *self._links, names.deleted]))
        mark = Put(row, [self._codec.deleted_cell(row, deleted)])
        if found is None or found.cells.keys() == {names.deleted}:
            self._write([mark])
            return
        until = milliseconds(deleted.until)
        page, _ = self._frame.pages.page_and_links(found)
        is_gone = page is None or deleted.hides(page.fetched_at)
        later = [
            Delete(row, milliseconds(one), [column], exact=True)
            for one in deleted.also
            for column in (names.body, names.capture, names.page, *names.plain.values(), *self._links)
        ]
        with self._store.transaction():
            self._revisits.close_those_of([self._frame.key.unsalted(row)], until)
            removal = self._entered([found]) if is_gone else None
            self._write([mark, *later, Delete(row, until, self._content)])
            if removal is not None:
                removal.remove(until)
                remove_documents(self._frame, [row])
            self._write([Delete(row, until, self._links)])

    def _marked(self, found: Row, now: int) -> int:
        """Write the mark of a delete, remove cells dated later than *now*, and return up to when it must hide.

        The mark is written before any delete: if this is interrupted, captures that the delete hides are refused.
        """

        def mark(until: int, later: Sequence[int]) -> None:
            self._write([self._mark(found, until, later)])

        columns = [*self._content, *self._links]
        later, until = later_removed(
            self._store, self._table, found, columns, now, on_dates=lambda dates: mark(now, dates)
        )
        if not later:
            mark(until, ())
        return until

    def _mark(self, found: Row, until: int, later: Sequence[int] = ()) -> Put:
        """Return the put of the mark of a delete up to *until* that also hides the dates *later*."""
        before = self._codec.deleted(found)
        also = {possible_moment(one) for one in later}.union(before.also if before else ())
        moment = max(possible_moment(until), before.until if before else EPOCH)
        deleted = Deleted(moment, tuple(sorted(one for one in also if one > moment)))
        return Put(found.key, [self._codec.deleted_cell(found.key, deleted)])

    def _write(self, mutations: Sequence[Put | Delete]) -> None:
        written(self._store, self._table, mutations)


def delete_many(frame: Frame, rows: Sequence[bytes], *, dry_run: bool) -> list[bool]:
    """Delete the pages at *rows* in batches, and return for each whether there was one."""
    done: dict[bytes, bool] = {}
    distinct = iter(dict.fromkeys(rows))
    with closing(Deletion(frame)) as deletion:
        while some := list(islice(distinct, PAGES_AT_ONCE)):
            with until(Deadline(frame.store.timeout)):
                done.update(zip(some, deletion.of(some, dry_run=dry_run), strict=True))
    return [done.pop(row, False) for row in rows]
