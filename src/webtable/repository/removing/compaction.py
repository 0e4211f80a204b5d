"""Giving back the space of what nobody sees any more, and with it the memory of deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.repository.removing.deletion import forget_deletes
from webtable.schema import meta_table, queue_table

if TYPE_CHECKING:
    from webtable.repository.frame import Frame


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
