"""Compaction, which frees the space of what was deleted, and forgets the deletes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from webtable.repository.full_text import upkeep
from webtable.repository.page_storage.cells import written
from webtable.rowkey import KeyRange
from webtable.schema import meta_table, queue_table
from webtable.store import Delete
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from webtable.repository.context import Frame

_PIECE = 500


def forget_deletes(frame: Frame, *, dry_run: bool = False) -> int:
    """Remove the marks of deletes, unless it is a *dry_run*, and return how many pages had one."""
    store, table, column, count = frame.store, frame.table, frame.codec.columns.deleted, 0
    rows = store.scan(table, [KeyRange()], Wanted([column]))
    while some := list(islice(rows, _PIECE)):
        if not dry_run:
            written(store, table, [Delete(row.key, row.cells[column][0].timestamp, [column]) for row in some])
        count += len(some)
    return count


def compact(frame: Frame, *, dry_run: bool = False) -> int:
    """Do what `TableMaintenance.compact` promises."""
    if dry_run and (space := frame.store.space()) is not None:
        return space.free
    indexes = [index.table for _, index in sorted(frame.indexes.read().items())]
    upkeep.compact(frame)
    tables = [frame.table, meta_table(frame.table).name, queue_table(frame.table).name, *indexes]
    freed = frame.store.compact(tables)
    # Only now: captures that a delete still hides must be refused.
    if forget_deletes(frame):
        # The marks of deletes are in the rows of the pages, whose URLs must not remain.
        freed += frame.store.compact(tables)
    return freed
