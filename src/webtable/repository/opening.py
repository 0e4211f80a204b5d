"""Creating and opening web tables; the layout is stored when a table is created and checked when it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import msgspec

from webtable.errors import InvalidArgument, TableNotFound
from webtable.repository.creating import bring, created, plan_of, stored_layout
from webtable.repository.table import WebTable
from webtable.rowkey import Salt, split_points
from webtable.schema import (
    ColumnNames,
    Layout,
    PlainColumn,
    Plan,
    check_layout,
    check_suffix_list,
    plan,
)
from webtable.store import Store, StoreURL, open_store

if TYPE_CHECKING:
    import os


_REMEDY = "Apply it with webtable create --apply, or in the HBase shell"


class LayoutOptions(TypedDict, total=False):
    """What a new table can be given; a table that is there must have been created with it.

    `salt` as in `Salt.host()`; `names` of the columns; `compression` of bodies; `plain_columns` stored as plain text
    too; `versions` of the content that are kept, for `ttl` seconds (None: always).
    """

    salt: Salt
    names: ColumnNames
    compression: Literal["zstd", "none"]
    plain_columns: tuple[PlainColumn, ...]
    versions: int
    ttl: int | None


def open(  # as in shelve.open
    url: str | os.PathLike[str], *, create: bool = False, regions: int = 1, **options: Unpack[LayoutOptions]
) -> WebTable:
    """Return the web table that *url* leads to, to be used in a `with` block.

    *url* is a file (`crawl.db`, an embedded store) or `hbase://host:9090/[namespace:]table?thrift2=9091`. With
    *create* a table that is missing is created, with *regions* regions and the *options*. An existing one is opened as
    it was created; raises `LayoutMismatch`, showing both, where *options* say otherwise.
    Raises `TableNotFound`, `NotAStore`, `StoreUnavailable`, `InvalidArgument`.
    """
    wanted, splits = _wanted(options, regions)
    store, table = open_store(url, create=create)
    try:
        stored = _stored_layout(store, table)
        if stored is None and create:
            _create(store, table, wanted, splits, apply=False)
            stored = _stored_layout(store, table)
        if stored is None:
            raise TableNotFound(
                f"{store.name} has no web table {table!r}: create it with webtable.open(…, create=True), "
                "or on the command line with webtable create"
            )
        _check(store, table, stored, options)
        return WebTable(store, table, stored)
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
    wanted, splits = _wanted(options, regions)
    try:
        store, table = open_store(url, create=not dry_run)
    except TableNotFound:
        return plan(wanted.table_schema(StoreURL.parse(url).table, splits), None)
    with store:
        stored = _stored_layout(store, table)
        if stored is not None:
            _check(store, table, stored, options)
        if dry_run:
            return plan_of(store, (stored or wanted).table_schema(table, splits))
        if stored is None:
            return _create(store, table, wanted, splits, apply=apply)
        return bring(store, stored.table_schema(table, splits), apply=apply, remedy=_REMEDY)


def _wanted(options: LayoutOptions, regions: int) -> tuple[Layout, list[bytes]]:
    """Return the layout of a new table and its split points; raises `InvalidArgument` before anything is touched."""
    given = dict(options)
    salt = given.pop("salt", Salt.host())
    if not isinstance(salt, Salt):
        raise InvalidArgument(f"salt={salt!r} must be a Salt, as in Salt.host()")
    layout = Layout.of(salt, **given)
    layout.table_schema("any")
    return layout, split_points(regions, layout.digits)


def _create(store: Store, table: str, layout: Layout, splits: list[bytes], *, apply: bool) -> Plan:
    schema = layout.table_schema(table, splits)
    steps = created(store, schema, layout.to_json(), apply=apply, remedy=_REMEDY)
    stored = _stored_layout(store, table)
    if stored is not None:
        check_layout(f"{store.name}/{table}", stored, layout)
    return steps


def _stored_layout(store: Store, table: str) -> Layout | None:
    stored = stored_layout(store, table)
    return Layout.from_json(f"{store.name}/{table}", stored) if stored else None


def _check(store: Store, table: str, stored: Layout, options: LayoutOptions) -> None:
    """Raise `LayoutMismatch` where *options* name anything that the stored layout has otherwise."""
    name = f"{store.name}/{table}"
    given = dict(options)
    salt = given.pop("salt", None)
    if isinstance(salt, Salt):
        given.update(salt=salt.source, digits=salt.digits)
    kept = {field: getattr(stored, field) for field in Layout.__struct_fields__}
    check_layout(name, stored, msgspec.convert({**kept, **given}, Layout))
    check_suffix_list(name, stored)
