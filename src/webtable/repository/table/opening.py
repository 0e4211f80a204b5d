"""The functions that open and create web tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, cast

from webtable import schema
from webtable._messages import Command, Message, Words
from webtable.errors import TableNotFound
from webtable.repository.maintenance.create import LayoutOptions, NewWebTable, StoredWebTable, create_web_table, plan_of
from webtable.repository.table.web_table import WebTable
from webtable.rowkey import Salt
from webtable.rowkey.ranges import ALL_KEYS
from webtable.schema import TableSchema, meta_table
from webtable.store import Store, Wanted, open_store, table_of

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Sequence

    from webtable.schema import Plan


def open(  # as in shelve.open
    url: str | os.PathLike[str],
    *,
    create: bool = False,
    regions: int = 1,
    strict: bool = False,
    **options: Unpack[LayoutOptions],
) -> WebTable:
    """Return the web table at *url*, to be used in a `with` block.

    *url* is a file (`crawl.db`, an embedded store) or `hbase://host:9090/[namespace:]table?thrift2=9091`. With
    *create* a missing table is created, with *regions* regions and the *options*. An existing table is opened as it was
    created; raises `LayoutMismatch`, showing both, if *options* differ. With *strict* its questions raise `DamagedRow`
    for a row that cannot be read, instead of skipping and counting it. If some of its tables are missing, raises a
    `TableNotFound` that names them; with *create* they are created again, empty.
    Raises `TableNotFound`, `NotAStore`, `StoreUnavailable`, `InvalidArgument`.
    """
    # The options first: a wrong one must not leave an empty file.
    wanted = NewWebTable.of(url, options, regions)
    store, table = open_store(url, create=create)
    try:
        stored = StoredWebTable.read(store, table)
        if stored is None:
            if not create:
                raise not_there(store, table)
            _check_free(store, table)
            _, stored = create_web_table(store, table, wanted, apply=False)
        else:
            stored.check(options)
            if missing := stored.missing():
                if not create:
                    raise _not_whole(stored, missing)
                stored.complete(missing, wanted.splits, apply=False)
        return WebTable(store, table, stored.layout, strict=strict)
    except BaseException:
        store.close()
        raise


def create(
    url: str | os.PathLike[str],
    *,
    regions: int = 1,
    alter_families: bool = False,
    dry_run: bool = False,
    **options: Unpack[LayoutOptions],
) -> Plan:
    """Create the web table that *url* names, if it is not there, and return what was to be done.

    It has *regions* regions, and *options* are the fields of `webtable.maintenance.LayoutOptions`. An empty plan means
    that the table was there as it is wanted. If its families differ, it raises `SchemaDrift`, which lists how; with
    *alter_families* they are altered instead. With *dry_run* nothing is done, and the plan includes what differs.
    Raises `LayoutMismatch` if the table was created with another layout, and `CapabilityError`, with the statements for
    the HBase shell, if the gateway cannot do it.
    """
    wanted = NewWebTable.of(url, options, regions)
    try:
        store, table = open_store(url, create=not dry_run)
    except TableNotFound:
        table = table_of(url)
        return replace(schema.plan(wanted.schema(table), None), beside=wanted.beside(table))
    with store:
        stored = StoredWebTable.read(store, table)
        if stored is not None:
            stored.check(options)
        if stored is None:
            _check_free(store, table)
        if dry_run:
            steps = plan_of(store, (stored or wanted).layout.table_schema(table, wanted.splits))
            return replace(steps, beside=wanted.beside(table)) if steps.create else steps
        if stored is not None:
            return stored.complete(stored.missing(), wanted.splits, apply=alter_families)
        steps, _ = create_web_table(store, table, wanted, apply=alter_families)
        return steps


def copy_target(
    source: WebTable, url: str | os.PathLike[str], *, regions: int = 1, **options: Unpack[LayoutOptions]
) -> WebTable:
    """Return the web table at *url*, to copy *source* into; it is created if it does not exist.

    It then gets *regions* regions, and the layout and the indexes of *source*, except for *options*. Raises what `open`
    does; `ExpiredCapture`, before anything is created, if its time to live would drop content of *source*; and
    `IndexNotNamed` if *source* has an index that a user has defined and that was not named in this process.
    """
    from webtable.repository.copying import check_kept

    try:
        return open(url, **options)
    except TableNotFound:
        if _is_there(url):
            raise
    completed: LayoutOptions = {**_laid_out_as(source, options), **options}
    check_kept(source._context, completed.get("ttl"), str(url))
    return open(url, create=True, regions=regions, **completed)


def _is_there(url: str | os.PathLike[str]) -> bool:
    """Whether there is a web table at *url*, complete or not."""
    # An incomplete table counts too: it must not be created a second time, with another layout.
    try:
        store, table = open_store(url)
    except TableNotFound:
        return False
    with store:
        return StoredWebTable.read(store, table) is not None


def _laid_out_as(source: WebTable, named: Collection[str]) -> LayoutOptions:
    """Return the options that create a table like *source*, except for those that are *named*."""
    layout = source.layout
    options: LayoutOptions = {
        "salt": Salt(layout.salt, layout.digits),
        "names": layout.names,
        "compression": cast("Any", layout.compression),
        "plain_columns": layout.plain_columns,
        "versions": layout.versions,
        "ttl": layout.ttl,
    }
    if "indexes" not in named:
        kept = [index for index in source._context.indexes.read().values() if index.state.phase != "retired"]
        # `one.index` raises for an index that only the table names: see `indexes.states`.
        options["indexes"] = [index.state.of or index.index.name for index in kept if index.index]
    return options


def _not_whole(stored: StoredWebTable, missing: Sequence[TableSchema]) -> TableNotFound:
    names = ", ".join(repr(schema.name) for schema in missing)
    return TableNotFound(
        Message(
            f"{stored.name} is not complete: missing {names}, while the layout is still stored in "
            f"{meta_table(stored.table).name!r}. Restore it from a backup; or create it again, empty, "
            "with that layout, with ",
            Command("create", python="webtable.open(…, create=True)"),
        )
    )


def not_there(store: Store, table: str) -> TableNotFound:
    """Return the error for a web table without a stored layout."""
    # What is there tells a wrong path from a lost table.
    there = store.tables()
    if store.capabilities.empty_hint and not there:
        return TableNotFound(f"{store.name} has no tables. {store.capabilities.empty_hint}")
    if table in there:
        create = Command("create", python="webtable.open(…, create=True)")
        fix: tuple[object, ...] = ("Its creation was interrupted: ", create, " with the same options completes it")
        if _has_rows(store, table):
            adopt = Words("webtable.maintenance.adopt", "webtable adopt SRC DST --columns …")
            lost = "; if webtable did, restore that table: with another layout its pages would not be found"
            fix = ("If another program made its rows, bring them into a web table with ", adopt, lost)
        meta = meta_table(table).name
        reason = f"{store.name} has a table {table!r}, but not its layout, which should be in {meta!r}. "
        return TableNotFound(Message(reason, *fix))
    return TableNotFound(
        f"{store.name} has no web table {table!r}",
        Message(": create it with ", Command("create", python="webtable.open(…, create=True)")),
    )


def _check_free(store: Store, table: str) -> None:
    """Raise `TableNotFound` if the *table* has rows and no layout: with a new one none of them would be a page."""
    # Another process may have created it and put the rows meanwhile.
    if _has_rows(store, table) and StoredWebTable.read(store, table) is None:
        raise not_there(store, table)


def _has_rows(store: Store, table: str) -> bool:
    try:
        return next(store.scan(table, [ALL_KEYS], Wanted(keys_only=True), limit=1), None) is not None
    except TableNotFound:
        return False
