"""The tables of a store brought to their schemas, and the layout stored with one, which makes it a table of ours."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from webtable._clock import clock
from webtable.errors import CapabilityError, SchemaDrift, StoreRefused, TableNotFound
from webtable.schema import LAYOUT_COLUMN, LAYOUT_ROW, Plan, TableSchema, meta_table, plan
from webtable.store import NewCell, Put, Store
from webtable.store.deadline import Deadline, attempts
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.store import TableDescription

_CREATION_SECONDS = 5.0
_AT_ONCE = 8
"""As many as a store's pool has connections, and a web table has indexes and a queue."""


def create_tables(store: Store, schemas: Sequence[TableSchema], remedy: str) -> None:
    """Create those of the tables that are not there yet, several at once: HBase takes a second for each.

    Where the gateway cannot split or encode them they are plain: they hold the same, in more space, from one region on.
    """
    from webtable._threads import Threads  # a table that is opened needs none

    def create(schema: TableSchema) -> None:
        try:
            bring(store, schema, apply=True, remedy=remedy)
        except CapabilityError:
            families = tuple(replace(family, block_encoding="NONE") for family in schema.families)
            bring(store, replace(schema, families=families, split_keys=()), apply=True, remedy=remedy)

    with closing(Threads(_AT_ONCE, "webtable-create")) as threads:
        threads.map(create, schemas)


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
    refused: list[StoreRefused] = []
    for _ in attempts(Deadline(_CREATION_SECONDS)):
        try:
            return store.describe(table)
        except TableNotFound:
            return None
        except StoreRefused as error:
            # HBase describes no table whose regions are not there yet: somebody else is creating it just now.
            refused.append(error)
    raise refused[-1]


def missing_of(store: Store, tables: Sequence[TableSchema]) -> list[TableSchema]:
    """Return those of *tables* that are not there, by one call."""
    there = {name.removeprefix("default:") for name in store.tables()}
    return [table for table in tables if table.name.removeprefix("default:") not in there]


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
