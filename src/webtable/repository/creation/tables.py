"""The tables of a store brought to their schemas: made where they are missing, changed where that is asked for."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from webtable.errors import CapabilityError, SchemaDrift, StoreRefused, TableNotFound
from webtable.schema import Plan, TableSchema, plan
from webtable.store.deadline import Deadline
from webtable.store.retry import attempts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store import Store, TableDescription

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
