"""The alteration of a web table in use: its layout and its families, in an order that can be interrupted anywhere.

A shorter time to live, or fewer versions, are stored in the layout first, so that no process relies on content that the
families are about to drop; a longer one is stored after the families keep content that long. Repeating an interrupted
alteration completes it. Of two concurrent ones each stores its own options, and both check at the end that the families
match the layout.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

from webtable._clock import clock
from webtable._messages import Command, Message
from webtable.errors import CapabilityError, InvalidArgument, NotAlterable, StoreRefused, TableNotFound
from webtable.repository.maintenance.create import described
from webtable.repository.page_storage.layouts import cells_of
from webtable.schema import (
    FAMILIES,
    LAYOUT_ROW,
    PAGE_FAMILIES,
    STATES_FAMILY,
    FamilySchema,
    Layout,
    LayoutPlan,
    OptionValue,
    TableSchema,
    meta_table,
    option_column,
    option_json,
    plan,
)
from webtable.store import NewCell, Put, Wanted
from webtable.store.deadline import Backoff

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from webtable.schema import Plan
    from webtable.store import Store, TableDescription

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
    "indexes": Message("indexes have their own commands: ", Command("index add"), " and ", Command("index drop")),
}
_COPY = "create another table with it and copy the pages: webtable copy SRC DST with that option"


class AlterOptions(TypedDict, total=False):
    """The options that can be altered: `versions` (None: all) and `ttl` of the content, and options of families.

    `families` maps `content`, `metadata`, `outlinks`, `inlinks`, `indexes` (the entries of all of them) or `queue` to
    options of a `FamilySchema`: `min_versions`, `compression`, `bloom`, `block_encoding`, `block_size`, `in_memory`,
    `block_cache`, `replication_scope`.
    """

    ttl: int | None
    versions: int | None
    families: Mapping[str, Mapping[str, int | bool | str]]


def options_of(given: Mapping[str, Any]) -> dict[str, OptionValue]:
    """Return the options that are *given* to `alter` by their full names, as in `content.block_size`.

    Raises `NotAlterable` for options that are fixed when a table is created, `InvalidArgument` for unknown ones.
    """
    options: dict[str, OptionValue] = {}
    for name, value in given.items():
        if name in ("ttl", "versions"):
            options[name] = value
        elif name == "families":
            options.update(_flat(value))
        elif reason := _FIXED.get(name):
            remedy = "" if name in ("indexes", "regions") else f": {_COPY}"
            raise NotAlterable(f"{name} cannot be altered, since " + reason + remedy)
        else:
            raise InvalidArgument(f"{name}={value!r}: only ttl, versions and families can be altered")
    return options


def _flat(families: Any) -> Iterator[tuple[str, Any]]:
    try:
        return iter([(f"{name}.{option}", value) for name, some in families.items() for option, value in some.items()])
    except AttributeError:
        raise InvalidArgument(
            f"families={families!r} must map {', '.join(FAMILIES)} to options, as in {{'content': {{'bloom': 'ROW'}}}}"
        ) from None


class Alteration:
    """The alteration of one web table, whose indexes are *indexes*, to other *options*."""

    def __init__(self, store: Store, table: str, indexes: Collection[str], options: Mapping[str, OptionValue]) -> None:
        self._store = store
        self._table = table
        self._indexes = indexes
        self._options = options

    def planned(self) -> LayoutPlan:
        """Return the steps; raises `InvalidArgument` for a value that HBase would refuse."""
        found = self._stored()
        wanted = found.altered(self._options)
        return LayoutPlan(self._table, found, wanted, tuple(self._plans(wanted)))

    def done(self) -> LayoutPlan:
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

    def _stored(self) -> Layout:
        (row,) = self._store.read(self._meta, [LAYOUT_ROW], Wanted([STATES_FAMILY]))
        if row is None:
            raise TableNotFound(f"{self._name} no longer has a layout: it was dropped")
        return Layout.from_cells(self._name, cells_of(row))

    @property
    def _name(self) -> str:
        return f"{self._store.name}/{self._table}"

    @property
    def _meta(self) -> str:
        return meta_table(self._table).name

    def _check(self, steps: LayoutPlan) -> None:
        """Raise `CapabilityError` if the store cannot change families, or cannot show the changed options."""
        if steps.tables and not self._store.capabilities.changes_families:
            raise CapabilityError(
                f"{self._name}: a gateway cannot change a family. Use HBase's own protocol (hbase+native://); or "
                f"alter again, which stores the layout, after these lines in the HBase shell:\n{steps.shell()}"
            )
        unread = self._store.describe(self._table).unread
        hidden = [name for name in steps.options if name.partition(".")[2] in unread]
        if hidden:
            raise CapabilityError(
                f"{self._name}: a gateway does not show {', '.join(hidden)}, so a change could not be checked: use "
                "HBase's own protocol (hbase+native://)"
            )

    def _plans(self, layout: Layout, only: Collection[str] | None = None) -> Iterator[Plan]:
        """Yield the steps that make the tables match *layout*, in *only* these of its options."""
        for schema, families in self._schemas(layout):
            found = described(self._store, schema.name)
            # A missing table is created by the layout when the web table is opened, or is being dropped.
            if found is not None:
                decided = [_decided(layout, family, only) for family in families]
                steps = plan(_as_decided(schema, found, decided), found.schema, found.unread)
                if not steps.is_empty:
                    yield steps

    def _schemas(self, layout: Layout) -> Iterator[tuple[TableSchema, Sequence[str]]]:
        yield layout.table_schema(self._table), PAGE_FAMILIES
        if layout.options_of("indexes"):
            yield from ((layout.index_schema(self._table, index), ["indexes"]) for index in self._indexes)
        if layout.options_of("queue"):
            yield layout.queue_schema(self._table), ["queue"]

    def _bring(self, plans: Callable[[], Iterator[Plan]], *, once: bool = False) -> None:
        """Change families until no *plans* are left, or only *once*.

        Others may change the same options to other values meanwhile, so the plans must rest on what is stored.
        """
        for tried in range(1, ROUNDS + 1):
            try:
                if not self._changed(plans()) or once:
                    return
            except StoreRefused:
                # An option that another process changes meanwhile is not read back as it was set.
                if tried == ROUNDS:
                    raise
                # With backoff: on a busy cluster a change takes seconds, and concurrent ones would collide again.
                clock.sleep(_BACKOFF.pause(tried))
        raise StoreRefused(f"{self._name}: others keep changing its families; alter it again")

    def _changed(self, plans: Iterator[Plan]) -> bool:
        """Change families according to *plans*, and return whether there were any."""
        found = list(plans)
        for steps in found:
            for change in steps.changes:
                self._store.set_family(steps.wanted.name, change.wanted)
        return bool(found)

    def _store_options(self, options: Mapping[str, OptionValue]) -> None:
        """Store *options* with the layout, each with a later timestamp than the stored one."""
        if not options:
            return
        columns = {option_column(name): option_json(value) for name, value in options.items()}
        (row,) = self._store.read(self._meta, [LAYOUT_ROW], Wanted(list(columns)))
        newest = max((versions[0].timestamp for versions in row.cells.values()), default=0) if row else 0
        # Later than the last one, even if the clock of another machine is ahead of this one's.
        timestamp = max(clock.milliseconds(), newest + 1)
        cells = [NewCell(column, timestamp, value) for column, value in columns.items()]
        (error,) = self._store.write(self._meta, [Put(LAYOUT_ROW, cells)])
        if error is not None:
            raise error


def _is_less(value: OptionValue, before: OptionValue) -> bool:
    """Whether this *value* keeps less than the one *before*; None keeps everything."""
    if isinstance(value, str) or isinstance(before, str) or value is None:
        return False
    return before is None or value < before


def _decided(layout: Layout, family: str, only: Collection[str] | None) -> list[str]:
    """Return the options of a *family* that its layout determines; with *only*, those of them that are named there."""
    names = {option: f"{family}.{option}" for option in layout.options_of(family)}
    if family in PAGE_FAMILIES:
        names.update(versions="versions", ttl="ttl")
    return [option for option, name in names.items() if only is None or name in only]


def _as_decided(wanted: TableSchema, found: TableDescription, decided: Sequence[Sequence[str]]) -> TableSchema:
    """Return *wanted* with options of families that are not *decided* as they were *found*: others may set them."""
    there = {family.name: family for family in found.schema.families}

    def combined(family: FamilySchema, options: Sequence[str]) -> FamilySchema:
        if family.name not in there:
            return family
        return replace(there[family.name], **{option: getattr(family, option) for option in options})

    pairs = zip(wanted.families, decided, strict=True)
    return replace(wanted, families=tuple(combined(family, options) for family, options in pairs))
