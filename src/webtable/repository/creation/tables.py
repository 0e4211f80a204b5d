"""Creating tables: brought to their schema first, then their layout is stored; of two at once the first stays."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from webtable.errors import CapabilityError, SchemaDrift, StoreRefused, TableNotFound
from webtable.repository.layouts import cells_of
from webtable.schema import (
    LAYOUT_COLUMN,
    LAYOUT_ROW,
    STATES_FAMILY,
    STATES_ROW,
    Plan,
    TableSchema,
    index_of_column,
    meta_table,
    plan,
)
from webtable.store import NewCell, Put, Store
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.store import TableDescription

_LAST_TIMESTAMP = 2**62
_CREATION_SECONDS = 5.0


def _nothing() -> None:
    pass


def created(
    store: Store,
    wanted: TableSchema,
    layout: bytes,
    prepare: Callable[[], None] = _nothing,
    *,
    apply: bool,
    remedy: str,
) -> Plan:
    """Create the table, *prepare* it, store its *layout*, and return what was to be done with the table.

    Where somebody else has stored a layout in the meantime, that one stays: read it back (`stored_layout`). A table
    that is there without a layout is completed; where its families differ, raises `SchemaDrift` with the *remedy*, or
    changes them with *apply*.
    """
    steps = bring(store, wanted, apply=apply, remedy=remedy)
    meta = meta_table(wanted.name)
    bring(store, meta, apply=apply, remedy=remedy)
    prepare()
    # The layout comes last: with it the table is there, without it a creation that was cut short can be repeated. Of
    # two that are written at once the earlier one stays, because it has the higher timestamp.
    timestamp = _LAST_TIMESTAMP - time.time_ns() // 1_000_000
    (error,) = store.write(meta.name, [Put(LAYOUT_ROW, [NewCell(LAYOUT_COLUMN, timestamp, layout)])])
    if error is not None:
        raise error
    return steps


def create_tables(store: Store, schemas: Sequence[TableSchema], remedy: str) -> None:
    """Create those of the tables that are not there yet, several at once: HBase takes a second for each.

    Where the gateway cannot split or encode them they are plain: they hold the same, in more space, from one region on.
    """

    def create(schema: TableSchema) -> None:
        try:
            bring(store, schema, apply=True, remedy=remedy)
        except CapabilityError:
            families = tuple(replace(family, block_encoding="NONE") for family in schema.families)
            bring(store, replace(schema, families=families, split_keys=()), apply=True, remedy=remedy)

    with ThreadPoolExecutor(4, thread_name_prefix="webtable-create") as executor:
        for _ in executor.map(create, schemas):
            pass


def bring(store: Store, wanted: TableSchema, *, apply: bool, remedy: str) -> Plan:
    """Bring the table to the schema, and return what was to be done.

    Raises `SchemaDrift`, with the *remedy*, for families that differ, unless they are to be changed (*apply*).
    """
    steps = plan_of(store, wanted)
    if steps.changes and not apply:
        raise SchemaDrift(f"{store.name}: {steps}\n{remedy}:\n{steps.shell()}")
    if steps.create:
        try:
            store.create_table(wanted)
        except StoreRefused:
            # Somebody else may have been faster, which is as good.
            if not plan_of(store, wanted).is_empty:
                raise
    for change in steps.changes:
        store.set_family(wanted.name, change.wanted)
    return steps


def plan_of(store: Store, wanted: TableSchema) -> Plan:
    """Return what is to be done for the table to be as *wanted*."""
    found = described(store, wanted.name)
    return plan(wanted, None) if found is None else plan(wanted, found.schema, found.unread)


def described(store: Store, table: str) -> TableDescription | None:
    """Return the table as it is, or None where there is none."""
    last = time.monotonic() + _CREATION_SECONDS
    while True:
        try:
            return store.describe(table)
        except TableNotFound:
            return None
        except StoreRefused:
            # HBase describes no table whose regions are not there yet: somebody else is creating it just now.
            if time.monotonic() > last:
                raise
            time.sleep(random.uniform(0.1, 0.3))  # noqa: S311 - it spreads, it keeps no secret


def stored_layout(store: Store, table: str) -> bytes | None:
    """Return the layout that was stored with *table*, or None where there is none."""
    try:
        (row,) = store.read(meta_table(table).name, [LAYOUT_ROW], Wanted([LAYOUT_COLUMN]))
    except TableNotFound:
        return None
    return row and row.value(LAYOUT_COLUMN)


def stored_layout_and_indexes(store: Store, table: str) -> tuple[dict[bytes, bytes], dict[str, bytes]]:
    """Return the cells of the layout that was stored with *table*, and by their names the states of its indexes."""
    try:
        rows = store.read(meta_table(table).name, [LAYOUT_ROW, STATES_ROW], Wanted([STATES_FAMILY]))
    except TableNotFound:
        return {}, {}
    layout, states = map(cells_of, rows)
    return layout, {index_of_column(column): value for column, value in states.items()}


def missing_of(store: Store, tables: Sequence[TableSchema]) -> list[TableSchema]:
    """Return those of *tables* that are not there, by one call."""
    there = {name.removeprefix("default:") for name in store.tables()}
    return [table for table in tables if table.name.removeprefix("default:") not in there]
