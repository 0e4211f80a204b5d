"""A web table in its store: the options for a new one, what is stored of an existing one, and the creation.

A web table consists of several tables: that of its pages, `{name}_meta` with its layout and the states of its indexes,
one for the entries of each index, and the queue. It exists once its layout is stored, which happens last.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypedDict

import msgspec

from webtable._clock import clock
from webtable._messages import Command, Message
from webtable.errors import CapabilityError, InvalidArgument, LayoutMismatch, SchemaDrift, StoreRefused, TableNotFound
from webtable.repository.indexes.index import WEB_INDEXES
from webtable.repository.indexes.states import Indexes, defined
from webtable.repository.page_storage.layouts import cells_of
from webtable.rowkey import Salt, split_points
from webtable.schema import (
    LAYOUT_COLUMN,
    LAYOUT_ROW,
    STATES_FAMILY,
    STATES_ROW,
    ColumnNames,
    IndexState,
    Layout,
    PlainColumn,
    Plan,
    TableSchema,
    check_layout,
    check_suffix_list,
    index_of_column,
    index_table,
    index_table_name,
    layout_values,
    meta_table,
    plan,
    queue_table,
)
from webtable.store import NewCell, Put, Store, adapter_of
from webtable.store.deadline import Deadline, attempts
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from webtable.schema.plan import FamilyChange
    from webtable.store import TableDescription


# --- The creation of tables by their schemas, and the layout that is stored with one, which makes it a web table ------


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


# ----------------------------------------------------------------------------------------------------------------------


class LayoutOptions(TypedDict, total=False):
    """The options of a new table; an existing table must have been created with the same.

    `salt` as in `Salt.host()`; `names` of the columns; `compression` of bodies, "zstd" or "none"; `plain_columns` that
    are also stored as plain text; the newest `versions` of the content are kept (None: all), for `ttl` seconds (None:
    for ever). By default a file keeps all versions for ever, HBase three versions for 90 days. `indexes` are names of
    built-in indexes (by default all seven; `[]` for no indexes) and importable names (`package.module:attribute`).
    """

    salt: Salt
    names: ColumnNames
    compression: Literal["zstd", "none"]
    plain_columns: tuple[PlainColumn, ...]
    versions: int | None
    ttl: int | None
    indexes: Sequence[str]


class NewWebTable(NamedTuple):
    """A web table to be created: its layout, its split points, and the states of its indexes by name."""

    layout: Layout
    splits: list[bytes]
    indexes: dict[str, IndexState]

    @classmethod
    def of(cls, url: str | os.PathLike[str], options: LayoutOptions, regions: int) -> Self:
        """Return the table that *options* describe; raises `InvalidArgument` before anything is changed."""
        usual = adapter_of(url).capabilities
        given = {"versions": usual.default_versions, "ttl": usual.default_ttl, **options}
        salt = given.pop("salt", Salt.host())
        indexes = defined(options.get("indexes", tuple(WEB_INDEXES)))
        given.pop("indexes", None)
        if not isinstance(salt, Salt):
            raise InvalidArgument(f"salt={salt!r} must be a Salt, as in Salt.host()")
        layout = Layout.of(salt, **given)
        layout.table_schema("any")
        return cls(layout, split_points(regions, layout.digits), indexes)

    def schema(self, table: str) -> TableSchema:
        """Return the schema of the table of its pages, with this name."""
        return self.layout.table_schema(table, self.splits)

    def beside(self, table: str) -> tuple[str, ...]:
        """Return the names of the tables that it has besides that of its pages, which has this name."""
        indexes = (index_table_name(table, name) for name in self.indexes)
        return (meta_table(table).name, queue_table(table).name, *indexes)


_REMEDY = Message("Apply it with ", Command("create --alter-families"), ", or in the HBase shell")


class StoredWebTable(msgspec.Struct, frozen=True):
    """An existing web table: its layout, and the states of its indexes by name."""

    store: Store
    table: str
    layout: Layout
    indexes: Mapping[str, IndexState]

    @classmethod
    def read(cls, store: Store, table: str) -> Self | None:
        """Return what is stored of *table*, with one call, or None if it has no layout."""
        try:
            rows = store.read(meta_table(table).name, [LAYOUT_ROW, STATES_ROW], Wanted([STATES_FAMILY]))
        except TableNotFound:
            return None
        layout, states = map(cells_of, rows)
        if LAYOUT_COLUMN not in layout:
            return None
        name = f"{store.name}/{table}"
        known = Layout.from_cells(name, layout)  # first, as it also has the format of the states
        named = {index_of_column(column): state for column, state in states.items()}
        indexes = {index: IndexState.from_json(name, index, state) for index, state in named.items()}
        return cls(store, table, known, indexes)

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return f"{self.store.name}/{self.table}"

    def check(self, options: Mapping[str, Any]) -> None:
        """Raise `LayoutMismatch` if any of *options*, as `webtable.open` takes them, differs from the table."""
        given = dict(options)
        if "indexes" in given:
            self.check_indexes(defined(given.pop("indexes")))
        salt = given.pop("salt", None)
        if isinstance(salt, Salt):
            given.update(salt=salt.source, digits=salt.digits)
        kept = {field: getattr(self.layout, field) for field in Layout.__struct_fields__}
        check_layout(self.name, self.layout, msgspec.convert({**kept, **layout_values(given)}, Layout))
        check_suffix_list(self.name, self.layout)

    def check_indexes(self, wanted: Mapping[str, IndexState]) -> None:
        """Raise `LayoutMismatch`, showing both, if the table has other indexes than those *wanted*."""
        found = {name: state for name, state in self.indexes.items() if state.phase != "dropped"}
        kept = {name: state.of for name, state in found.items() if state.phase != "retired"}
        if kept != {name: state.of for name, state in wanted.items()}:
            has, asked = (
                ", ".join(sorted(state.of or name for name, state in some.items())) or "none"
                for some in (found, wanted)
            )
            raise LayoutMismatch(
                f"{self.name} has other indexes: the table has {has}, the options have {asked}; change them with ",
                Command("index add"),
                " and ",
                Command("index drop"),
            )

    def drifted(self) -> list[Plan]:
        """Return the steps that make families of its existing tables match the layout."""
        missing = missing_of(self.store, self._schemas())
        steps = (self._drift(schema) for schema in self._schemas() if schema not in missing)
        return [one for one in steps if one.changes]

    def _drift(self, schema: TableSchema) -> Plan:
        steps = plan_of(self.store, schema)
        if schema.name == self.table:
            return steps
        # If a gateway cannot encode the entries, they are created without, on purpose.
        changes = (_without(one, "block_encoding") for one in steps.changes)
        return replace(steps, changes=tuple(one for one in changes if one.options or one.found is None))

    def missing(self) -> list[TableSchema]:
        """Return the tables that belong to it and do not exist."""
        missing = self._missing()
        # An index may have been dropped since its state was read.
        again = self.read(self.store, self.table) if missing else None
        return again._missing() if again else missing

    def _missing(self) -> list[TableSchema]:
        return missing_of(self.store, self._schemas())

    def _schemas(self) -> list[TableSchema]:
        """Return the schemas of its tables by the layout, that of the pages first."""
        # The table of a retired index is about to be dropped.
        indexes = [name for name, state in self.indexes.items() if state.phase in ("ready", "building")]
        pages = self.layout.table_schema(self.table)
        entries = [self.layout.index_schema(self.table, name) for name in indexes]
        return [pages, *entries, self.layout.queue_schema(self.table)]

    def complete(self, missing: Sequence[TableSchema], splits: Sequence[bytes], *, apply: bool) -> Plan:
        """Create the *missing* tables again, empty, and return the steps for that of the pages.

        An index whose table is created again is not complete until it is rebuilt. Raises `SchemaDrift` if the families
        of the pages differ, or changes them with *apply*.
        """
        steps = bring(self.store, self.layout.table_schema(self.table, splits), apply=apply, remedy=_REMEDY)
        names = {schema.name for schema in missing}
        has_pages = self.table not in names
        known = Indexes(self.store, self.table)
        for name, state in self.indexes.items():
            if has_pages and index_table(self.table, name).name in names:
                known.set(name, msgspec.structs.replace(state, phase="building", position=""))
        create_tables(self.store, [schema for schema in missing if schema.name != self.table], _REMEDY)
        return steps


def _without(change: FamilyChange, option: str) -> FamilyChange:
    return replace(change, options=tuple(one for one in change.options if one != option))


def create_web_table(store: Store, table: str, wanted: NewWebTable, *, apply: bool) -> tuple[Plan, StoredWebTable]:
    """Create the web table, and return the steps for the table of its pages, and the stored table.

    If another process has created it meanwhile, that table stays; raises `LayoutMismatch` if it is not as *wanted*, and
    `TableNotFound` if it was dropped meanwhile. Raises `SchemaDrift` as `StoredWebTable.complete` does.
    """

    def make_others() -> None:
        create_tables(store, [*(index_table(table, name) for name in wanted.indexes), queue_table(table)], _REMEDY)

    def prepare() -> None:
        known = Indexes(store, table)
        # There is no layout yet, so these states were left by an interrupted creation.
        for name in known.read().keys() - wanted.indexes.keys():
            known.set(name, IndexState("dropped"))
        for name, state in wanted.indexes.items():
            known.set(name, state)

    schema, layout = wanted.schema(table), wanted.layout.to_json()
    steps = create_with_layout(store, schema, layout, make_others, prepare, apply=apply, remedy=_REMEDY)
    stored = StoredWebTable.read(store, table)
    if stored is None:
        raise TableNotFound(f"{store.name}/{table} was dropped while it was created: create it again")
    check_layout(stored.name, stored.layout, wanted.layout)
    stored.check_indexes(wanted.indexes)
    return steps, stored
