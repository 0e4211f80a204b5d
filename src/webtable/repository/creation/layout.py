"""The layout that is stored with a table: what makes it a table of ours, and says how its keys and cells are made."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from webtable._clock import clock
from webtable.errors import TableNotFound
from webtable.repository.creation.tables import bring
from webtable.schema import LAYOUT_COLUMN, LAYOUT_ROW, Plan, TableSchema, meta_table
from webtable.store import NewCell, Put, Store
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable

_LAST_TIMESTAMP = 2**62


def _nothing() -> None:
    pass


def create_with_layout(
    store: Store,
    wanted: TableSchema,
    layout: bytes,
    make_others: Callable[[], None] = _nothing,
    prepare: Callable[[], None] = _nothing,
    *,
    apply: bool,
    remedy: str,
) -> Plan:
    """Create the table, *make_others*, *prepare* it, store its *layout*, and return what was to be done with the table.

    Where somebody else has stored a layout in the meantime, that one stays: read it back (`stored_layout`). A table
    that is there without a layout is completed; where its families differ, raises `SchemaDrift` with the *remedy*, or
    changes them with *apply*.
    """
    from webtable._threads import Threads  # a table that is opened needs none

    steps = bring(store, wanted, apply=apply, remedy=remedy)
    meta = meta_table(wanted.name)
    made: list[Callable[[], object]] = [partial(bring, store, meta, apply=apply, remedy=remedy), make_others]
    with closing(Threads(2, "webtable-create-meta")) as threads:
        threads.map(lambda make: make(), made)
    prepare()
    # The layout comes last: with it the table is there, without it a creation that was cut short can be repeated. Of
    # two that are written at once the earlier one stays, because it has the higher timestamp.
    timestamp = _LAST_TIMESTAMP - clock.milliseconds()
    (error,) = store.write(meta.name, [Put(LAYOUT_ROW, [NewCell(LAYOUT_COLUMN, timestamp, layout)])])
    if error is not None:
        raise error
    return steps


def stored_layout(store: Store, table: str) -> bytes | None:
    """Return the layout that was stored with *table*, or None where there is none."""
    try:
        (row,) = store.read(meta_table(table).name, [LAYOUT_ROW], Wanted([LAYOUT_COLUMN]))
    except TableNotFound:
        return None
    return row and row.value(LAYOUT_COLUMN)
