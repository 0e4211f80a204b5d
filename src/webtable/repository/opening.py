"""Creating and opening web tables; the layout is stored when a table is created and checked when it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, Unpack

import msgspec

from webtable.errors import InvalidArgument, LayoutMismatch, TableNotFound
from webtable.repository.creating import (
    bring,
    create_tables,
    created,
    missing_of,
    plan_of,
    stored_layout_and_indexes,
)
from webtable.repository.indexes.states import Indexes, defined, same
from webtable.repository.table import WebTable
from webtable.rowkey import Salt, split_points
from webtable.schema import (
    INDEX_NAMES,
    LAYOUT_COLUMN,
    ColumnNames,
    IndexState,
    Layout,
    PlainColumn,
    Plan,
    TableSchema,
    check_layout,
    check_suffix_list,
    index_table,
    meta_table,
    plan,
    queue_table,
)
from webtable.store import Store, adapter_of, open_store, table_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


_REMEDY = "Apply it with webtable create --apply, or in the HBase shell"


class LayoutOptions(TypedDict, total=False):
    """What a new table can be given; a table that is there must have been created with it.

    `salt` as in `Salt.host()`; `names` of the columns; `compression` of bodies; `plain_columns` stored as plain text
    too; `versions` of the content that are kept, for `ttl` seconds (None: always, which is the default of a file; that
    of HBase is 90 days). `indexes` are names of webtable's own (all seven by default, `[]` for none) and importable
    ones (`package.module:attribute`).
    """

    salt: Salt
    names: ColumnNames
    compression: Literal["zstd", "none"]
    plain_columns: tuple[PlainColumn, ...]
    versions: int
    ttl: int | None
    indexes: Sequence[str]


def open(  # as in shelve.open
    url: str | os.PathLike[str],
    *,
    create: bool = False,
    regions: int = 1,
    strict: bool = False,
    **options: Unpack[LayoutOptions],
) -> WebTable:
    """Return the web table that *url* leads to, to be used in a `with` block.

    *url* is a file (`crawl.db`, an embedded store) or `hbase://host:9090/[namespace:]table?thrift2=9091`. With
    *create* a table that is missing is created, with *regions* regions and the *options*. An existing one is opened as
    it was created; raises `LayoutMismatch`, showing both, where *options* say otherwise. Where it is *strict* its
    questions raise `DamagedRow` for a row that cannot be read, which others leave out and count.
    Where tables of it are missing, raises `TableNotFound` that names them; with *create* they are made anew.
    Raises `TableNotFound`, `NotAStore`, `StoreUnavailable`, `InvalidArgument`.
    """
    wanted = _wanted(url, options, regions)
    store, table = open_store(url, create=create)
    try:
        stored = _stored_layout(store, table)
        if stored is None and create:
            _create(store, table, wanted, apply=False)
            stored = _stored_layout(store, table)
        if stored is None:
            raise _not_there(store, table)
        _check(store, table, stored.layout, options)
        if missing := _missing(store, table, stored):
            if not create:
                raise _not_whole(store, table, missing)
            bring(store, stored.layout.table_schema(table, wanted.splits), apply=False, remedy=_REMEDY)
            _make_anew(store, table, stored, missing)
        return WebTable(store, table, stored.layout, strict=strict)
    except BaseException:
        store.close()
        raise


def create(
    url: str | os.PathLike[str],
    *,
    regions: int = 1,
    apply: bool = False,
    dry_run: bool = False,
    **options: Unpack[LayoutOptions],
) -> Plan:
    """Create the web table that *url* names, if it is not there, and return what was to be done.

    An empty plan means that the table was there as it is wanted. Where its families differ, raises `SchemaDrift` that
    lists how; with *apply* they are changed instead. With *dry_run* nothing is done, and drift is in the plan.
    Raises `LayoutMismatch` where it was created with another layout, and `CapabilityError`, with the statements for
    the HBase shell, where the gateway cannot do it.
    """
    wanted = _wanted(url, options, regions)
    try:
        store, table = open_store(url, create=not dry_run)
    except TableNotFound:
        return plan(wanted.schema(table_of(url)), None)
    with store:
        stored = _stored_layout(store, table)
        if stored is not None:
            _check(store, table, stored.layout, options)
        if dry_run:
            return plan_of(store, (stored or wanted).layout.table_schema(table, wanted.splits))
        if stored is None:
            return _create(store, table, wanted, apply=apply)
        missing = _missing(store, table, stored)
        steps = bring(store, stored.layout.table_schema(table, wanted.splits), apply=apply, remedy=_REMEDY)
        _make_anew(store, table, stored, missing)
        return steps


class _Wanted(NamedTuple):
    """A new table as it was asked for."""

    layout: Layout
    splits: list[bytes]
    indexes: dict[str, IndexState]

    def schema(self, table: str) -> TableSchema:
        return self.layout.table_schema(table, self.splits)


def _wanted(url: str | os.PathLike[str], options: LayoutOptions, regions: int) -> _Wanted:
    """Return the new table that *options* describe; raises `InvalidArgument` before anything is touched."""
    given = {"ttl": adapter_of(url).default_ttl, **options}
    salt = given.pop("salt", Salt.host())
    indexes = defined(options.get("indexes", INDEX_NAMES))
    given.pop("indexes", None)
    if not isinstance(salt, Salt):
        raise InvalidArgument(f"salt={salt!r} must be a Salt, as in Salt.host()")
    layout = Layout.of(salt, **given)
    layout.table_schema("any")
    return _Wanted(layout, split_points(regions, layout.digits), indexes)


def _create(store: Store, table: str, wanted: _Wanted, *, apply: bool) -> Plan:
    def prepare() -> None:
        create_tables(store, [*(index_table(table, name) for name in wanted.indexes), queue_table(table)], _REMEDY)
        known = Indexes(store, table)
        # There is no layout yet, so what is there is of a creation that was cut short.
        for name in known.read().keys() - wanted.indexes.keys():
            known.set(name, IndexState("dropped"))
        for name, state in wanted.indexes.items():
            known.set(name, state)

    steps = created(store, wanted.schema(table), wanted.layout.to_json(), prepare, apply=apply, remedy=_REMEDY)
    stored = _stored_layout(store, table)
    if stored is not None:
        check_layout(f"{store.name}/{table}", stored.layout, wanted.layout)
        _check_indexes(store, table, wanted.indexes)
    return steps


def _check_indexes(store: Store, table: str, wanted: dict[str, IndexState]) -> None:
    found = [(name, one.state) for name, one in Indexes(store, table).read().items()]
    if not same(found, wanted):
        has, asked = (
            ", ".join(sorted(state.of or name for name, state in some)) or "none" for some in (found, wanted.items())
        )
        raise LayoutMismatch(
            f"{store.name}/{table} has other indexes: the table has {has}, asked for are {asked}; change them with "
            "webtable index add and webtable index drop"
        )


class _Stored(NamedTuple):
    """What is stored of a table that was created: its layout, and the states of its indexes by their names."""

    layout: Layout
    indexes: dict[str, IndexState]


def _stored_layout(store: Store, table: str) -> _Stored | None:
    name = f"{store.name}/{table}"
    layout, states = stored_layout_and_indexes(store, table)
    if LAYOUT_COLUMN not in layout:
        return None
    indexes = {index: IndexState.from_json(name, index, state) for index, state in states.items()}
    return _Stored(Layout.from_cells(name, layout), indexes)


def _missing(store: Store, table: str, stored: _Stored) -> list[TableSchema]:
    """Return the tables that belong to a web table and are not there."""

    def found(stored: _Stored) -> list[TableSchema]:
        # The table of an index that is retired is about to be dropped.
        indexes = [name for name, state in stored.indexes.items() if state.phase in ("ready", "building")]
        layout = stored.layout
        whole = [layout.table_schema(table), *(layout.index_schema(table, name) for name in indexes)]
        return missing_of(store, [*whole, layout.queue_schema(table)])

    missing = found(stored)
    # An index may have been dropped since its state was read.
    again = _stored_layout(store, table) if missing else None
    return found(again) if again else missing


def _not_whole(store: Store, table: str, missing: list[TableSchema]) -> TableNotFound:
    names = ", ".join(repr(schema.name) for schema in missing)
    return TableNotFound(
        f"{store.name}/{table} is not whole: it has no table {names}, while its layout is still stored in "
        f"{meta_table(table).name!r}. Bring back what is missing from a copy; or have it made anew, empty and as the "
        "stored layout says, with webtable.open(…, create=True) or webtable create"
    )


def _not_there(store: Store, table: str) -> TableNotFound:
    there = store.tables()
    if store.why_empty and not there:
        return TableNotFound(f"{store.name} holds no table at all. {store.why_empty}")
    if table in there:
        return TableNotFound(
            f"{store.name} has a table {table!r}, but no layout of it, which belongs into {meta_table(table).name!r}. "
            "Where it holds pages, bring that table back: by another layout they would not be found. If its creation "
            "was cut short, webtable create with the same options as before completes it"
        )
    return TableNotFound(
        f"{store.name} has no web table {table!r}: create it with webtable.open(…, create=True), "
        "or on the command line with webtable create"
    )


def _make_anew(store: Store, table: str, stored: _Stored, missing: list[TableSchema]) -> None:
    """Create the *missing* tables beside that of the pages; an index is not complete until it is rebuilt."""
    names = {schema.name for schema in missing}
    has_pages = table not in names
    known = Indexes(store, table)
    for name, state in stored.indexes.items():
        if has_pages and index_table(table, name).name in names:
            known.set(name, msgspec.structs.replace(state, phase="building", position=""))
    create_tables(store, [schema for schema in missing if schema.name != table], _REMEDY)


def _check(store: Store, table: str, stored: Layout, options: LayoutOptions) -> None:
    """Raise `LayoutMismatch` where *options* name anything that the stored layout has otherwise."""
    name = f"{store.name}/{table}"
    given = dict(options)
    if "indexes" in options:
        _check_indexes(store, table, defined(options["indexes"]))
    given.pop("indexes", None)
    salt = given.pop("salt", None)
    if isinstance(salt, Salt):
        given.update(salt=salt.source, digits=salt.digits)
    kept = {field: getattr(stored, field) for field in Layout.__struct_fields__}
    check_layout(name, stored, msgspec.convert({**kept, **given}, Layout))
    check_suffix_list(name, stored)
