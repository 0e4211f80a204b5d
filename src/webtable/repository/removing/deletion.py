"""Deleting a page, with all that other rows have of it, and giving back the space of what nobody sees any more.

A delete of HBase hides what is older than its timestamp, also where that is put later, and no client can see it. So a
delete leaves a small cell behind, `metadata:deleted`, under the moment up to which it hides. The read that every batch
makes finds it there, and a capture that would be hidden is refused (see `capture_checks.hidden`).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from webtable._clock import EPOCH, milliseconds, now_in_milliseconds, possible_moment
from webtable.repository.hints.upkeep import Keeper
from webtable.repository.stored.cells import later_removed, written
from webtable.repository.stored.page_state import Deleted
from webtable.rowkey import KeyRange
from webtable.schema import meta_table, queue_table
from webtable.store import Delete, Put
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.repository.frame import Frame
    from webtable.store import Row

_PIECE = 500


class Deletion:
    """The removal of pages from one web table, with what indexes and other rows have of them; close it at the end.

    Where somebody else keeps the inlinks in these, as a copy does, *with_inlinks* is False.
    """

    def __init__(self, frame: Frame, *, with_inlinks: bool = True) -> None:
        self._frame = frame
        self._store = frame.store
        self._table = frame.table
        self._codec = frame.codec
        self._keeper = Keeper(frame, with_inlinks=with_inlinks)
        names = frame.codec.columns
        self._content = [f"{names.content}:".encode(), names.page, *names.plain.values()]
        self._links = [names.urls]

    def close(self) -> None:
        """Stop the threads."""
        self._keeper.close()

    def of(self, row: bytes, is_meant: Callable[[Row], bool] | None = None) -> bool:
        """Remove the page at *row*, if it still *is_meant* as it is now, and return whether there was one.

        The links of the page go last: where this is cut short, they tell the next try whose inlinks are left.
        """
        deleted = self._codec.columns.deleted
        (found,) = self._store.read(self._table, [row], Wanted([*self._content, *self._links, deleted]))
        if found is None or found.cells.keys() == {deleted} or (is_meant is not None and not is_meant(found)):
            return False
        with self._store.together():
            entered = self._keeper.enter_removal(found)
            until = self._marked(found, now_in_milliseconds())
            self._write([Delete(row, until, self._content)])
            self._keeper.remove(found, until, entered)
            self._write([Delete(row, until, self._links)])
        return True

    def repeat(self, row: bytes, deleted: Deleted) -> None:
        """Remove of *row* what *deleted* hides, as a delete in another table did, and leave the same mark behind."""
        names = self._codec.columns
        (found,) = self._store.read(self._table, [row], Wanted([*self._content, *self._links, names.deleted]))
        mark = Put(row, [self._codec.deleted_cell(row, deleted)])
        if found is None or found.cells.keys() == {names.deleted}:
            self._write([mark])
            return
        until = milliseconds(deleted.until)
        page, _ = self._frame.pages.what_is_left(found)
        is_gone = page is None or deleted.hides(page.fetched_at)
        later = [
            Delete(row, milliseconds(one), [column], exact=True)
            for one in deleted.also
            for column in (names.html, names.capture, names.page, *names.plain.values(), *self._links)
        ]
        with self._store.together():
            entered = self._keeper.enter_removal(found) if is_gone else None
            self._write([mark, *later, Delete(row, until, self._content)])
            if is_gone:
                self._keeper.remove(found, until, entered)
            self._write([Delete(row, until, self._links)])

    def _marked(self, found: Row, now: int) -> int:
        """Leave behind what the delete hides, remove what is dated later than *now*, and return what is left to hide.

        No delete may be there without the mark, so it is written first: where this is cut short after a removal, the
        capture that it hides is refused.
        """

        def mark(until: int, later: Sequence[int]) -> None:
            before = self._codec.deleted(found)
            also = {possible_moment(one) for one in later}.union(before.also if before else ())
            moment = max(possible_moment(until), before.until if before else EPOCH)
            deleted = Deleted(moment, tuple(sorted(one for one in also if one > moment)))
            self._write([Put(found.key, [self._codec.deleted_cell(found.key, deleted)])])

        columns = [*self._content, *self._links]
        later, until = later_removed(
            self._store, self._table, found, columns, now, on_dates=lambda dates: mark(now, dates)
        )
        if not later:
            mark(until, ())
        return until

    def _write(self, mutations: Sequence[Put | Delete]) -> None:
        written(self._store, self._table, mutations)


def forget_deletes(frame: Frame) -> int:
    """Remove what deletes have left behind, and return of how many pages."""
    store, table, column, count = frame.store, frame.table, frame.codec.columns.deleted, 0
    rows = store.scan(table, [KeyRange()], Wanted([column]))
    while some := list(islice(rows, _PIECE)):
        written(store, table, [Delete(row.key, row.cells[column][0].timestamp, [column]) for row in some])
        count += len(some)
    return count


def compact(frame: Frame) -> int:
    """Return what `WebTable.compact` does."""
    indexes = [index.table for _, index in sorted(frame.indexes.read().items())]
    tables = [frame.table, meta_table(frame.table).name, queue_table(frame.table).name, *indexes]
    freed = frame.store.compact(tables)
    # Not before: captures that a delete still hides must be refused.
    if forget_deletes(frame):
        # What a delete leaves behind names the page: nothing of it is to be left.
        freed += frame.store.compact(tables)
    return freed
