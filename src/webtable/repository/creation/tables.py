"""The creation of tables by their schemas, and the layout that is stored with one, which makes it a web table."""

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
"""The number of connections in a store's pool, and of the indexes and the queue of a web table."""


def create_tables(store: Store, schemas: Sequence[TableSchema], remedy: str) -> None:
    """Create the missing tables, several at once, since HBase takes a second for each.

    If the gateway cannot split or encode them, they are created without: with one region, taking more space.
    """

    def create(schema: TableSchema) -> None:
        try:
            bring(store, schema, apply=True, remedy=remedy)
        except CapabilityError:
            families = tuple(replace(family, block_encoding="NONE") for family in schema.families)
            bring(store, replace(schema, families=families, split_keys=()), apply=True, remedy=remedy)

    _call_together(store, [partial(create, schema) for schema in schemas])


def _call_together(store: Store, jobs: Sequence[Callable[[], object]]) -> None:
    """Call all of *jobs*, several at once where the store can write so."""
    from webtable._threads import Threads  # opening a table does not need it

    if not store.capabilities.writes_concurrently:
        for job in jobs:
            job()
        return
    with closing(Threads(_AT_ONCE, "webtable-create")) as threads:
        threads.map(lambda job: job(), jobs)


def bring(store: Store, wanted: TableSchema, *, apply: bool, remedy: str) -> Plan:
    """Create the table, or with *apply* change its families, to match the schema, and return the steps.

    Without *apply*, raises `SchemaDrift` with the *remedy* for families that differ.
    """
    steps = plan_of(store, wanted)
    if steps.changes and not apply:
        raise SchemaDrift(f"{store.name}: {steps}\n" + remedy + f":\n{steps.shell()}")
    if steps.create:
        try:
            store.create_table(wanted)
        except StoreRefused:
            # Another process may have created it meanwhile.
            if not plan_of(store, wanted).is_empty:
                raise
    for change in steps.changes:
        store.set_family(wanted.name, change.wanted)
    return steps


def plan_of(store: Store, wanted: TableSchema) -> Plan:
    """Return the steps that make the table as *wanted*."""
    found = described(store, wanted.name)
    return plan(wanted, None) if found is None else plan(wanted, found.schema, found.unread)


def described(store: Store, table: str) -> TableDescription | None:
    """Return the description of the table, or None if it does not exist."""
    refused: list[StoreRefused] = []
    for _ in attempts(Deadline(_CREATION_SECONDS)):
        try:
            return store.describe(table)
        except TableNotFound:
            return None
        except StoreRefused as error:
            # HBase does not describe a table whose regions are missing, because another process is creating it.
            refused.append(error)
    raise refused[-1]


def missing_of(store: Store, tables: Sequence[TableSchema]) -> list[TableSchema]:
    """Return those of *tables* that do not exist, with one call."""
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
    """Create the table, *make_others*, *prepare* it, store its *layout*, and return the steps for the table.

    If another process has stored a layout meanwhile, that one stays: read it with `stored_layout`. An existing table
    without a layout is completed; if its families differ, raises `SchemaDrift` with the *remedy*, or changes them with
    *apply*.
    """
    steps = bring(store, wanted, apply=apply, remedy=remedy)
    meta = meta_table(wanted.name)
    _call_together(store, [partial(bring, store, meta, apply=apply, remedy=remedy), make_others])
    prepare()
    # The layout comes last: with it the table exists; until then an interrupted creation can be repeated. Of two
    # concurrent layouts the earlier one stays, because it gets the higher timestamp.
    timestamp = _LAST_TIMESTAMP - clock.milliseconds()
    (error,) = store.write(meta.name, [Put(LAYOUT_ROW, [NewCell(LAYOUT_COLUMN, timestamp, layout)])])
    if error is not None:
        raise error
    return steps


def stored_layout(store: Store, table: str) -> bytes | None:
    """Return the layout that was stored with *table*, or None."""
    try:
        (row,) = store.read(meta_table(table).name, [LAYOUT_ROW], Wanted([LAYOUT_COLUMN]))
    except TableNotFound:
        return None
    return row and row.value(LAYOUT_COLUMN)
