"""A web table in its store: its creation, what is stored of an existing one, and its alteration.

A web table consists of several tables: that of its pages, `{name}_meta` with its layout and the states of its indexes,
one for the entries of each index, and the queue. It exists once its layout is stored, which happens last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypedDict

import msgspec

from webtable import errors, schema
from webtable._clock import clock
from webtable._messages import Command, Message, Words
from webtable.repository.indexes.index import WEB_INDEXES
from webtable.repository.indexes.states import Indexes, defined
from webtable.repository.page_storage.cells import written
from webtable.repository.page_storage.layouts import cells_of
from webtable.rowkey import Salt, split_points
from webtable.store import NewCell, Put, Store, TableDescription, Wanted, adapter_of
from webtable.store.deadline import Backoff, Deadline, attempts

if TYPE_CHECKING:
    import os


# --- The creation of tables, and of the layout that makes one a web table ---------------------------------------------


_CREATION_SECONDS = 5.0
_AT_ONCE = 8
"""The number of connections in a store's pool, and of the indexes and the queue of a web table."""


def create_tables(store: Store, schemas: Sequence[schema.TableSchema], fix: str) -> None:
    """Create the missing tables, several at once, since HBase takes a second for each."""
    _call_together(store, [partial(_create, store, table_schema, fix) for table_schema in schemas])


def _create(store: Store, table_schema: schema.TableSchema, fix: str) -> None:
    try:
        bring(store, table_schema, apply=True, fix=fix)
    except errors.CapabilityError:
        # A gateway that can neither split nor encode it makes it with one region, and taking more space.
        families = tuple(replace(family, block_encoding="NONE") for family in table_schema.families)
        bring(store, replace(table_schema, families=families, split_keys=()), apply=True, fix=fix)


def _call_together(store: Store, jobs: Sequence[Callable[[], object]]) -> None:
    """Call all of *jobs*, several at once where the store can write so."""
    from webtable._threads import Threads  # opening a table does not need it

    if not store.capabilities.writes_concurrently:
        for job in jobs:
            job()
        return
    with closing(Threads(_AT_ONCE, "webtable-create")) as threads:
        threads.map(lambda job: job(), jobs)


def bring(store: Store, wanted: schema.TableSchema, *, apply: bool, fix: str) -> schema.Plan:
    """Create the table, or with *apply* change its families, to match the schema, and return the steps.

    Without *apply*, raises `SchemaDrift` with the *fix* for families that differ.
    """
    steps = plan_of(store, wanted)
    if steps.changes and not apply:
        raise errors.SchemaDrift(f"{store.name}: {steps}\n" + fix + f":\n{steps.shell()}")
    if steps.create:
        try:
            store.create_table(wanted)
        except errors.StoreRefused:
            # Another process may have created it meanwhile.
            if not plan_of(store, wanted).is_empty:
                raise
    for change in steps.changes:
        store.set_family(wanted.name, change.wanted)
    return steps


def plan_of(store: Store, wanted: schema.TableSchema) -> schema.Plan:
    """Return the steps that make the table as *wanted*."""
    description = described(store, wanted.name)
    return (
        schema.plan(wanted, None)
        if description is None
        else schema.plan(wanted, description.schema, description.unread)
    )


def described(store: Store, table: str) -> TableDescription | None:
    """Return the description of the table, or None if it does not exist."""
    refused: list[errors.StoreRefused] = []
    for _ in attempts(Deadline(_CREATION_SECONDS)):
        try:
            return store.describe(table)
        except errors.TableNotFound:
            return None
        except errors.StoreRefused as error:
            # HBase does not describe a table whose regions are missing, because another process is creating it.
            refused.append(error)
    raise refused[-1]


def missing_of(store: Store, tables: Sequence[schema.TableSchema]) -> list[schema.TableSchema]:
    """The *tables* that do not exist, found with one call."""
    there = {name.removeprefix("default:") for name in store.tables()}
    return [table for table in tables if table.name.removeprefix("default:") not in there]


_LAST_TIMESTAMP = 2**62


def create_with_layout(
    store: Store,
    wanted: schema.TableSchema,
    layout: bytes,
    others: Sequence[schema.TableSchema] = (),
    prepare: Callable[[], None] | None = None,
    *,
    apply: bool,
    fix: str,
    columns: Sequence[schema.TypedColumn] = (),
) -> schema.Plan:
    """Create the table and the *others*, *prepare* it, store its *layout*, and return the steps for the table.

    The typed *columns* of a keyed table are stored at the same time.

    If another process has stored a layout meanwhile, that one stays: read it with `stored_layout`. An existing table
    without a layout is completed; if its families differ, raises `SchemaDrift` with the *fix*, or changes them with
    *apply*.
    """
    steps = bring(store, wanted, apply=apply, fix=fix)
    meta = schema.meta_table(wanted.name)
    create_meta = partial(bring, store, meta, apply=apply, fix=fix)
    _call_together(store, [create_meta, *(partial(_create, store, other, fix) for other in others)])
    if prepare is not None:
        prepare()
    # The layout comes last: with it the table exists; until then an interrupted creation can be repeated.
    store_layout(store, wanted.name, [(schema.LAYOUT_COLUMN, layout), *(column.stored() for column in columns)])
    return steps


def store_layout(store: Store, table: str, cells: Iterable[tuple[bytes, bytes]]) -> None:
    """Store *cells* of the layout of *table*, all at once; of those that exist already the earlier ones stay."""
    # Of two concurrent ones the earlier stays, because it gets the higher timestamp.
    timestamp = _LAST_TIMESTAMP - clock.milliseconds()
    new_cells = [NewCell(name, timestamp, value) for name, value in cells]
    written(store, schema.meta_table(table).name, [Put(schema.LAYOUT_ROW, new_cells)])


def stored_layout(store: Store, table: str) -> bytes | None:
    """Return the layout that was stored with *table*, or None."""
    return layout_cells(store, table).get(schema.LAYOUT_COLUMN)


def layout_cells(store: Store, table: str) -> dict[bytes, bytes]:
    """Return the cells of the layout that was stored with *table*, by column; empty if there is none."""
    try:
        (row,) = store.read(schema.meta_table(table).name, [schema.LAYOUT_ROW])
    except errors.TableNotFound:
        return {}
    return cells_of(row)


# --- Web tables, new and existing -------------------------------------------------------------------------------------


class LayoutOptions(TypedDict, total=False):
    """The options of a new table; an existing table must have been created with the same.

    `salt` as in `Salt.host()`; `names` of the columns; `compression` of bodies, "zstd" or "none"; `plain_columns` that
    are also stored as plain text; the newest `versions` of the content are kept (None: all), for `ttl` seconds (None:
    for ever). By default a file keeps all versions for ever, HBase three versions for 90 days. `indexes` are names of
    built-in indexes (by default all seven; `[]` for no indexes) and importable names (`package.module:attribute`).
    """

    salt: Salt
    names: schema.ColumnNames
    compression: Literal["zstd", "none"]
    plain_columns: tuple[schema.PlainColumn, ...]
    versions: int | None
    ttl: int | None
    indexes: Sequence[str]


class NewWebTable(NamedTuple):
    """A web table to be created: its layout, its split points, and the states of its indexes by name."""

    layout: schema.Layout
    splits: list[bytes]
    indexes: dict[str, schema.IndexState]

    @classmethod
    def of(cls, url: str | os.PathLike[str], options: LayoutOptions, regions: int) -> Self:
        """Return the table that *options* describe; raises `InvalidArgument` before anything is changed."""
        usual = adapter_of(url).capabilities
        values: dict[str, Any] = {"versions": usual.default_versions, "ttl": usual.default_ttl, **options}
        salt, indexes = values.pop("salt", Salt.host()), defined(values.pop("indexes", tuple(WEB_INDEXES)))
        if not isinstance(salt, Salt):
            raise errors.InvalidArgument(f"salt={salt!r} must be a Salt, as in Salt.host()")
        layout = schema.Layout.of(salt, **values)
        layout.table_schema("any")
        return cls(layout, split_points(regions, layout.digits), indexes)

    def schema(self, table: str) -> schema.TableSchema:
        """Return the schema of the table of its pages, with this name."""
        return self.layout.table_schema(table, self.splits)

    def beside(self, table: str) -> tuple[str, ...]:
        """Return the names of the tables that it has besides that of its pages, which has this name."""
        indexes = (schema.index_table_name(table, name) for name in self.indexes)
        return (schema.meta_table(table).name, schema.queue_table(table).name, *indexes)


_REMEDY = Message(
    "Apply it with ",
    Command("create --alter-families", python="webtable.maintenance.create(…, alter_families=True)"),
    ", or in the HBase shell",
)


class StoredWebTable(msgspec.Struct, frozen=True):
    """An existing web table: its layout, and the states of its indexes by name."""

    store: Store
    table: str
    layout: schema.Layout
    indexes: Mapping[str, schema.IndexState]

    @classmethod
    def read(cls, store: Store, table: str) -> Self | None:
        """The web table *table*, read with one call, or None if it has no layout."""
        try:
            rows = store.read(
                schema.meta_table(table).name, [schema.LAYOUT_ROW, schema.STATES_ROW], Wanted([schema.STATES_FAMILY])
            )
        except errors.TableNotFound:
            return None
        layout, states = map(cells_of, rows)
        if schema.LAYOUT_COLUMN not in layout:
            return None
        name = f"{store.name}/{table}"
        current = schema.Layout.from_cells(name, layout)  # first, as it also has the format of the states
        named = {schema.index_of_column(column): state for column, state in states.items()}
        indexes = {index: schema.IndexState.from_json(name, index, state) for index, state in named.items()}
        return cls(store, table, current, indexes)

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return f"{self.store.name}/{self.table}"

    def check(self, options: Mapping[str, Any]) -> None:
        """Raise `LayoutMismatch` if any of *options*, as `webtable.open` takes them, differs from the table."""
        values = dict(options)
        if "indexes" in values:
            self.check_indexes(defined(values.pop("indexes")))
        salt = values.pop("salt", None)
        if isinstance(salt, Salt):
            values.update(salt=salt.source, digits=salt.digits)
        kept = {field: getattr(self.layout, field) for field in schema.Layout.__struct_fields__}
        schema.check_layout(
            self.name, self.layout, msgspec.convert({**kept, **schema.layout_values(values)}, schema.Layout)
        )
        schema.check_suffix_list(self.name, self.layout)

    def check_indexes(self, wanted: Mapping[str, schema.IndexState]) -> None:
        """Raise `LayoutMismatch`, showing both, if the table has other indexes than those *wanted*."""
        states = {name: state for name, state in self.indexes.items() if state.phase != "dropped"}
        kept = {name: state.of for name, state in states.items() if state.phase != "retired"}
        if kept != {name: state.of for name, state in wanted.items()}:
            has, requested = (
                ", ".join(sorted(state.of or name for name, state in each.items())) or "none"
                for each in (states, wanted)
            )
            raise errors.LayoutMismatch(
                f"{self.name} has other indexes: the table has {has}, the options have {requested}; change them with ",
                Command("index add", python="table.indexes.add(…)"),
                " and ",
                Command("index drop", python="table.indexes.drop(…)"),
            )

    def drifted(self) -> list[schema.Plan]:
        """Return the steps that make families of its existing tables match the layout."""
        schemas = self._schemas()
        missing = missing_of(self.store, schemas)
        steps = (self._drift(table_schema) for table_schema in schemas if table_schema not in missing)
        return [plan_ for plan_ in steps if plan_.changes]

    def _drift(self, table_schema: schema.TableSchema) -> schema.Plan:
        steps = plan_of(self.store, table_schema)
        if table_schema.name == self.table:
            return steps
        # If a gateway cannot encode the entries, they are created without, on purpose.
        encoded = (
            replace(change, options=tuple(name for name in change.options if name != "block_encoding"))
            for change in steps.changes
        )
        return replace(steps, changes=tuple(change for change in encoded if change.options or change.found is None))

    def missing(self) -> list[schema.TableSchema]:
        """Return the tables that belong to it and do not exist."""
        missing = missing_of(self.store, self._schemas())
        # An index may have been dropped since its state was read.
        again = self.read(self.store, self.table) if missing else None
        return missing_of(self.store, again._schemas()) if again else missing

    def _schemas(self) -> list[schema.TableSchema]:
        """Return the schemas of its tables by the layout, that of the pages first."""
        # The table of a retired index is about to be dropped.
        indexes = [name for name, state in self.indexes.items() if state.phase in ("ready", "building")]
        pages = self.layout.table_schema(self.table)
        entries = [self.layout.index_schema(self.table, name) for name in indexes]
        return [pages, *entries, self.layout.queue_schema(self.table)]

    def complete(self, missing: Sequence[schema.TableSchema], splits: Sequence[bytes], *, apply: bool) -> schema.Plan:
        """Create the *missing* tables again, empty, and return the steps for that of the pages.

        An index whose table is created again is not complete until it is rebuilt. Raises `SchemaDrift` if the families
        of the pages differ, or changes them with *apply*.
        """
        steps = bring(self.store, self.layout.table_schema(self.table, splits), apply=apply, fix=_REMEDY)
        names = {table_schema.name for table_schema in missing}
        has_pages = self.table not in names
        states = Indexes(self.store, self.table)
        for name, state in self.indexes.items():
            if has_pages and schema.index_table(self.table, name).name in names:
                states.set(name, msgspec.structs.replace(state, phase="building", position=""))
        create_tables(
            self.store, [table_schema for table_schema in missing if table_schema.name != self.table], _REMEDY
        )
        return steps


def create_web_table(
    store: Store, table: str, wanted: NewWebTable, *, apply: bool
) -> tuple[schema.Plan, StoredWebTable]:
    """Create the web table, and return the steps for the table of its pages, and the stored table.

    If another process has created it meanwhile, that table stays; raises `LayoutMismatch` if it is not as *wanted*, and
    `TableNotFound` if it was dropped meanwhile. Raises `SchemaDrift` as `StoredWebTable.complete` does.
    """

    def prepare() -> None:
        states = Indexes(store, table)
        # There is no layout yet, so these states were left by an interrupted creation.
        for name in states.read().keys() - wanted.indexes.keys():
            states.set(name, schema.IndexState("dropped"))
        for name, state in wanted.indexes.items():
            states.set(name, state)

    table_schema, layout = wanted.schema(table), wanted.layout.to_json()
    others = [*(schema.index_table(table, name) for name in wanted.indexes), schema.queue_table(table)]
    steps = create_with_layout(store, table_schema, layout, others, prepare, apply=apply, fix=_REMEDY)
    stored = StoredWebTable.read(store, table)
    if stored is None:
        raise errors.TableNotFound(f"{store.name}/{table} was dropped while it was created: create it again")
    schema.check_layout(stored.name, stored.layout, wanted.layout)
    stored.check_indexes(wanted.indexes)
    return steps, stored


# --- Alteration -------------------------------------------------------------------------------------------------------
#
# The layout and the families of a web table in use are altered in an order that can be interrupted anywhere. A shorter
# time to live, or fewer versions, are stored in the layout first, so that no process relies on content that the
# families are about to drop; a longer one is stored after the families keep content that long. Repeating an interrupted
# alteration completes it. Of two concurrent ones each stores its own options, in a column of its own, and both check at
# the end that the families match the layout.


ROUNDS = 5
"""How often the families are changed to match the layout, if others change them at the same time."""
_BACKOFF = Backoff(first=0.3)

_FIXED = {
    **dict.fromkeys(("salt", "digits", "buckets", "key", "suffix_list"), "the row key of every page is made with it"),
    "names": "the name of every column is made with it",
    "compression": "it determines how every stored body is read (that of a family is families={'content': {…}})",
    "digest": "a body that is stored already would not be recognized when it comes again",
    "plain_columns": "pages that are stored already would not have them, and searches use them",
    "regions": "the regions of a table in use split on their own",
    "indexes": Message(
        "indexes have their own commands: ",
        Command("index add", python="table.indexes.add(…)"),
        " and ",
        Command("index drop", python="table.indexes.drop(…)"),
    ),
}
_COPY = Message(
    "create another table with it and copy the pages: ",
    Words("table.maintenance.copy(…)", "webtable copy SRC DST with that option"),
)


class AlterOptions(TypedDict, total=False):
    """The options that can be altered: `versions` (None: all) and `ttl` of the content, and options of families.

    `families` maps `content`, `metadata`, `outlinks`, `inlinks`, `indexes` (the entries of all of them) or `queue` to
    options of a `FamilySchema`: `min_versions`, `compression`, `bloom`, `block_encoding`, `block_size`, `in_memory`,
    `block_cache`, `replication_scope`.
    """

    ttl: int | None
    versions: int | None
    families: Mapping[str, Mapping[str, int | bool | str]]


def options_of(arguments: Mapping[str, Any]) -> dict[str, schema.OptionValue]:
    """Return the options that are *arguments* to `alter` by their full names, as in `content.block_size`.

    Raises `NotAlterable` for options that are fixed when a table is created, `InvalidArgument` for unknown ones.
    """
    options: dict[str, schema.OptionValue] = {}
    for name, value in arguments.items():
        if name in ("ttl", "versions"):
            options[name] = value
        elif name == "families":
            options.update(_flat(value))
        elif reason := _FIXED.get(name):
            fix = "" if name in ("indexes", "regions") else ": " + _COPY
            raise errors.NotAlterable(f"{name} cannot be altered, since " + reason + fix)
        else:
            raise errors.InvalidArgument(f"{name}={value!r}: only ttl, versions and families can be altered")
    return options


def _flat(families: Any) -> Iterator[tuple[str, Any]]:
    try:
        return iter(
            [(f"{name}.{option}", value) for name, values in families.items() for option, value in values.items()]
        )
    except AttributeError:
        raise errors.InvalidArgument(
            f"families={families!r} must map {', '.join(schema.FAMILIES)} to options, "
            "as in {'content': {'bloom': 'ROW'}}"
        ) from None


class Alteration:
    """The alteration of one web table, whose indexes are *indexes*, to other *options*."""

    def __init__(
        self, store: Store, table: str, indexes: Collection[str], options: Mapping[str, schema.OptionValue]
    ) -> None:
        self._store = store
        self._table = table
        self._indexes = indexes
        self._options = options

    def planned(self) -> schema.LayoutPlan:
        """Return the steps; raises `InvalidArgument` for a value that HBase would refuse."""
        stored = self._stored()
        wanted = stored.altered(self._options)
        return schema.LayoutPlan(self._table, stored, wanted, tuple(self._plans(wanted)))

    def done(self) -> schema.LayoutPlan:
        """Alter the table, and return the steps."""
        with self._store.transaction():
            steps = self.planned()
            self._check(steps)
            less = {name: value for name, value in steps.options.items() if _is_less(value, steps.found.option(name))}
            self._store_options(less)
            self._bring(lambda: self._plans(steps.wanted, self._options), once=True)
            self._store_options({name: value for name, value in steps.options.items() if name not in less})
            self._bring(lambda: self._plans(self._stored()))
            return steps

    def _stored(self) -> schema.Layout:
        (row,) = self._store.read(self._meta, [schema.LAYOUT_ROW], Wanted([schema.STATES_FAMILY]))
        if row is None:
            raise errors.TableNotFound(f"{self._name} no longer has a layout: it was dropped")
        return schema.Layout.from_cells(self._name, cells_of(row))

    @property
    def _name(self) -> str:
        return f"{self._store.name}/{self._table}"

    @property
    def _meta(self) -> str:
        return schema.meta_table(self._table).name

    def _check(self, steps: schema.LayoutPlan) -> None:
        """Raise `CapabilityError` if the store cannot change families, or cannot show the changed options."""
        if steps.tables and not self._store.capabilities.changes_families:
            raise errors.CapabilityError(
                f"{self._name}: a gateway cannot change a family. Use HBase's own protocol (hbase+native://); or "
                f"alter again, which stores the layout, after these lines in the HBase shell:\n{steps.shell()}"
            )
        unread = self._store.describe(self._table).unread
        hidden = [name for name in steps.options if name.partition(".")[2] in unread]
        if hidden:
            raise errors.CapabilityError(
                f"{self._name}: a gateway does not show {', '.join(hidden)}, so a change could not be checked: use "
                "HBase's own protocol (hbase+native://)"
            )

    def _plans(self, layout: schema.Layout, only: Collection[str] | None = None) -> Iterator[schema.Plan]:
        """Yield the steps that make the tables match *layout*, in *only* these of its options."""
        for table_schema, families in self._schemas(layout):
            description = described(self._store, table_schema.name)
            # A missing table is created by the layout when the web table is opened, or is being dropped.
            if description is not None:
                decided = [_decided(layout, family, only) for family in families]
                steps = schema.plan(
                    _as_decided(table_schema, description, decided), description.schema, description.unread
                )
                if not steps.is_empty:
                    yield steps

    def _schemas(self, layout: schema.Layout) -> Iterator[tuple[schema.TableSchema, Sequence[str]]]:
        yield layout.table_schema(self._table), schema.PAGE_FAMILIES
        if layout.options_of("indexes"):
            yield from ((layout.index_schema(self._table, index), ["indexes"]) for index in self._indexes)
        if layout.options_of("queue"):
            yield layout.queue_schema(self._table), ["queue"]

    def _bring(self, plans: Callable[[], Iterator[schema.Plan]], *, once: bool = False) -> None:
        """Change families until no *plans* are left, or only *once*.

        Others may change the same options to other values meanwhile, so the plans must rest on what is stored.
        """
        for tried in range(1, ROUNDS + 1):
            try:
                if not self._changed(plans()) or once:
                    return
            except errors.StoreRefused:
                # An option that another process changes meanwhile is not read back as it was set.
                if tried == ROUNDS:
                    raise
                # With backoff: on a busy cluster a change takes seconds, and concurrent ones would collide again.
                clock.sleep(_BACKOFF.pause(tried))
        raise errors.StoreRefused(f"{self._name}: others keep changing its families; alter it again")

    def _changed(self, plans: Iterator[schema.Plan]) -> bool:
        """Change families according to *plans*, and return whether there were any."""
        steps_of_tables = list(plans)
        for steps in steps_of_tables:
            for change in steps.changes:
                self._store.set_family(steps.wanted.name, change.wanted)
        return bool(steps_of_tables)

    def _store_options(self, options: Mapping[str, schema.OptionValue]) -> None:
        """Store *options* with the layout, each with a later timestamp than the stored one."""
        if not options:
            return
        columns = {schema.option_column(name): schema.option_json(value) for name, value in options.items()}
        (row,) = self._store.read(self._meta, [schema.LAYOUT_ROW], Wanted(list(columns)))
        newest = max((versions[0].timestamp for versions in row.cells.values()), default=0) if row else 0
        # Later than the last one, even if the clock of another machine is ahead of this one's.
        timestamp = max(clock.milliseconds(), newest + 1)
        cells = [NewCell(column, timestamp, value) for column, value in columns.items()]
        written(self._store, self._meta, [Put(schema.LAYOUT_ROW, cells)])


def _is_less(value: schema.OptionValue, before: schema.OptionValue) -> bool:
    """Whether this *value* keeps less than the one *before*; None keeps everything."""
    if isinstance(value, str) or isinstance(before, str) or value is None:
        return False
    return before is None or value < before


def _decided(layout: schema.Layout, family: str, only: Collection[str] | None) -> list[str]:
    """Return the options of a *family* that its layout determines; with *only*, those of them that are named there."""
    names = {option: f"{family}.{option}" for option in layout.options_of(family)}
    if family in schema.PAGE_FAMILIES:
        names.update(versions="versions", ttl="ttl")
    return [option for option, name in names.items() if only is None or name in only]


def _as_decided(
    wanted: schema.TableSchema, description: TableDescription, decided: Sequence[Sequence[str]]
) -> schema.TableSchema:
    """Return *wanted* with the options that are not *decided* as the *description* has them: others may set these."""
    there = {family.name: family for family in description.schema.families}

    def combined(family: schema.FamilySchema, options: Sequence[str]) -> schema.FamilySchema:
        if family.name not in there:
            return family
        return replace(there[family.name], **{option: getattr(family, option) for option in options})

    pairs = zip(wanted.families, decided, strict=True)
    return replace(wanted, families=tuple(combined(family, options) for family, options in pairs))
