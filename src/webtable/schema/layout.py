"""The layout of a table: the options of its creation, which are stored with it and checked when it is opened."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from webtable._checksums import UNREADABLE, unsealed, with_checksum
from webtable._limits import KEY_FORMAT, LAYOUT_FORMAT, check_format
from webtable._messages import Command, Message, Words
from webtable.errors import InvalidArgument, LayoutMismatch
from webtable.rowkey import RowKey, Salt, WebKey, suffix_list_version
from webtable.rowkey.web import SaltSource
from webtable.schema import web
from webtable.schema.table import ALL_VERSIONS, TableSchema, days_text, versions_text
from webtable.schema.typed_columns import TYPED_PREFIX, TypedColumn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


LAYOUT_ROW = b"layout"
LAYOUT_COLUMN = b"layout:json"
COMPRESSIONS = ("zstd", "none")

# The parts of a declaration that stand for objects without a full name: `module.<lambda>`, `module.make.<locals>.of`,
# a partial function, an object without a `__repr__`.
_NAMELESS = re.compile(r"through=([\w.]+\.<\w+>[\w.<>]*|functools\.partial\b)|<[\w.<>]{1,300} object at 0x\w+>")


class Layout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the keys, columns and bodies of a web table are made.

    `versions` (`ALL_VERSIONS`: all of them) and `ttl` (in seconds, None for ever) are those of the content family.
    `suffix_list` is the version of the Public Suffix List if the salt is taken from the registered domain, because
    another list would look for pages elsewhere. `digest` is the algorithm of the digests of bodies. `family_options`
    are the options of families that were altered, named as in `content.block_size`. Raises `InvalidArgument` for
    values that no table can have.
    """

    format: int = LAYOUT_FORMAT
    key: str = KEY_FORMAT
    salt: SaltSource = "host"
    digits: int = 2
    suffix_list: str | None = None
    names: web.ColumnNames = "readable"
    compression: str = "zstd"
    digest: Literal["blake3"] = "blake3"
    plain_columns: tuple[web.PlainColumn, ...] = ("title", "status", "last_modified")
    versions: int = web.DEFAULT_VERSIONS
    ttl: int | None = web.DEFAULT_TTL
    family_options: dict[str, int | bool | str] = {}

    def __post_init__(self) -> None:
        if self.compression not in COMPRESSIONS:
            raise InvalidArgument(f"compression={self.compression!r} must be one of {', '.join(COMPRESSIONS)}")
        if not self.ttl and self.ttl is not None:
            raise InvalidArgument(f"ttl={self.ttl!r} must be a number of seconds, or None to keep everything")
        for name, value in self.family_options.items():
            web.check_family_option(name, value)

    @classmethod
    def of(cls, salt: Salt, **options: object) -> Layout:
        """Return the layout of a new table with this salt; *options* are other fields of a layout.

        Raises `InvalidArgument` for values that no table can have.
        """
        # Another list would find other domains, and look for their pages below other salts.
        suffixes = suffix_list_version() if salt.source == "domain" else None
        values = {"salt": salt.source, "digits": salt.digits, "suffix_list": suffixes, **layout_values(options)}
        try:
            return msgspec.convert(values, cls)
        except msgspec.ValidationError as exc:
            raise InvalidArgument(f"a web table cannot have this layout: {exc}") from exc

    def web_key(self) -> WebKey:
        """Return the row keys of the table."""
        return WebKey(Salt(self.salt, self.digits))

    def table_schema(self, name: str, split_keys: Sequence[bytes] = ()) -> TableSchema:
        """Return the schema of the table *name*, which is divided into regions at *split_keys*."""
        schema = web.web_table_schema(
            name, names=self.names, versions=self.versions, ttl=self.ttl, split_keys=split_keys
        )
        # Families are in this order, whatever their names.
        return self._with_options(schema, web.PAGE_FAMILIES)

    def index_schema(self, name: str, index: str) -> TableSchema:
        """Return the schema of the table that holds the entries of *index* of the table *name*."""
        return self._with_options(web.index_table(name, index), ["indexes"])

    def queue_schema(self, name: str) -> TableSchema:
        """Return the schema of the queue of the table *name*."""
        return self._with_options(web.queue_table(name), ["queue"])

    def _with_options(self, schema: TableSchema, families: Sequence[str]) -> TableSchema:
        altered = [self.options_of(family) for family in families]
        changed = (replace(family, **options) for family, options in zip(schema.families, altered, strict=True))
        return replace(schema, families=tuple(changed)) if any(altered) else schema

    def options_of(self, family: str) -> dict[str, Any]:
        """Return the altered options of the *family*, one of `FAMILIES`."""
        named = ((name.partition("."), value) for name, value in self.family_options.items())
        return {option: value for (of, _, option), value in named if of == family}

    def altered(self, options: Mapping[str, web.OptionValue]) -> Layout:
        """Return the layout with other *options*: `ttl`, `versions`, and options of families, as `content.block_size`.

        Raises `InvalidArgument` for a value that HBase would refuse.
        """
        options = layout_values(options)
        families = {name: value for name, value in options.items() if "." in name}
        fields = {name: value for name, value in options.items() if name not in families}
        values = {**msgspec.structs.asdict(self), **fields, "family_options": {**self.family_options, **families}}
        try:
            layout = msgspec.convert(values, Layout)
        except msgspec.ValidationError as exc:
            raise InvalidArgument(f"a web table cannot have this layout: {exc}") from exc
        # Each family refuses values that HBase would refuse.
        _ = layout.table_schema("any"), layout.index_schema("any", "any"), layout.queue_schema("any")
        return layout

    def option(self, name: str) -> web.OptionValue:
        """Return the value of the option *name*, which can be altered; None also if a family has its default."""
        return self.family_options.get(name) if "." in name else getattr(self, name)

    @property
    def limits(self) -> str:
        """How many contents of a page are kept, and for how long, in words.

        >>> Layout(versions=ALL_VERSIONS, ttl=None).limits, Layout(versions=3, ttl=90 * 86_400).limits
        ('every content of a page, for ever', 'the newest 3 contents of a page, for 90 days')
        """
        number = "every content" if self.versions == ALL_VERSIONS else f"the newest {self.versions:,} contents"
        return f"{number} of a page, {'for ever' if self.ttl is None else f'for {days_text(self.ttl)}'}"

    def to_json(self) -> bytes:
        """Return the layout as it is stored, with its checksum."""
        values = {**msgspec.structs.asdict(self), "plain_columns": web.stored_plain_columns(self.plain_columns)}
        if not self.family_options:  # so versions that do not know it can read the layout
            del values["family_options"]
        return with_checksum(msgspec.json.encode(values))

    @classmethod
    def from_json(cls, table: str, stored: bytes) -> Layout:
        """Return the layout that was stored with *table*; raises `LayoutMismatch` if this version cannot read it."""
        return cls.from_cells(table, {LAYOUT_COLUMN: stored})

    @classmethod
    def from_cells(cls, table: str, cells: Mapping[bytes, bytes]) -> Layout:
        """Return the layout that was stored with *table* in these *cells*, including later alterations.

        Raises `LayoutMismatch` if this version cannot read it.
        """
        if LAYOUT_COLUMN not in cells:
            raise LayoutMismatch(f"{table}: the stored layout lacks its column {LAYOUT_COLUMN.decode()!r}")
        created = cls._created(table, cells[LAYOUT_COLUMN])
        altered = {column: value for column, value in cells.items() if column != LAYOUT_COLUMN}
        try:
            options = {web.option_of_column(column): web.option_value(value) for column, value in altered.items()}
            return created.altered(options) if options else created
        except UNREADABLE as exc:
            raise LayoutMismatch(f"{table}: this version of webtable does not know the stored layout: {exc}") from exc

    @classmethod
    def _created(cls, table: str, stored: bytes) -> Layout:
        # First what all formats have in common, for an error that says more than "unknown field".
        header = _LayoutHeader.of(table, stored)
        if header.kind != "web":
            raise LayoutMismatch(
                f"{table} is not a web table: it was created with the keys {header.key}; "
                "open it with webtable.KeyedTable.open"
            )
        if header.compression == "zstd-site":
            raise LayoutMismatch(
                f"{table}: its bodies are compressed with dictionaries of their sites (zstd-site), which this version "
                "of webtable does not read; with the version that made it: ",
                Words("table.maintenance.copy(…)", "webtable copy SRC DST --compression zstd"),
            )
        try:
            layout = msgspec.convert(web.with_plain_columns(msgspec.json.decode(unsealed(stored))), cls)
            layout.web_key()
            layout.table_schema("any")
        except UNREADABLE as exc:
            raise LayoutMismatch(f"{table}: this version of webtable does not know the stored layout: {exc}") from exc
        if layout.key != KEY_FORMAT:
            raise LayoutMismatch(f"{table}: this version of webtable reads {KEY_FORMAT} keys; it has {layout.key} keys")
        return layout


def layout_values(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the *options* of a layout as it has them: all versions are a number, which HBase can hold too."""
    every = {"versions": ALL_VERSIONS} if options.get("versions", 1) is None else {}
    return {**options, **every}


class _LayoutHeader(msgspec.Struct, frozen=True):
    """The fields that the layouts of all kinds of tables have in common."""

    kind: str = "web"
    format: int = LAYOUT_FORMAT
    key: str = KEY_FORMAT
    compression: str = "zstd"

    @classmethod
    def of(cls, table: str, stored: bytes) -> _LayoutHeader:
        """Return the header of *stored*; raises `NewerFormat` before reading anything else of a later format."""
        try:
            header = msgspec.json.decode(unsealed(stored), type=cls)
        except UNREADABLE as exc:
            raise LayoutMismatch(f"{table}: this version of webtable does not know the stored layout: {exc}") from exc
        check_format(table, "layout", header.format, LAYOUT_FORMAT)
        return header


class KeyLayout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the row keys of a keyed table are made, their declaration as text, and the typed columns of the table.

    Each typed column is a cell of its own, so that two processes may add columns at once.
    """

    kind: Literal["keyed"] = "keyed"
    format: int = LAYOUT_FORMAT
    key: str
    columns: tuple[TypedColumn, ...] = ()

    @classmethod
    def of(cls, key: RowKey) -> KeyLayout:
        """Return the layout of a new table with these keys.

        Raises `InvalidArgument` for keys that another process could not compare: those that are made with a lambda, a
        function within a function, or a `functools.partial`.
        """
        if nameless := _NAMELESS.search(key.declaration):
            raise InvalidArgument(
                f"key={key.declaration} is made with {nameless[0]}, which another process cannot check: "
                "make it a module-level function (or give a part of your own a __repr__)"
            )
        return cls(key=key.declaration)

    def to_json(self) -> bytes:
        """Return the layout without its columns as it is stored, with its checksum."""
        values = msgspec.structs.asdict(self)
        del values["columns"]
        return with_checksum(msgspec.json.encode(values))

    @classmethod
    def from_json(cls, stored: bytes) -> KeyLayout | None:
        """Return the layout that was stored; None for that of another kind of table, or of a later version."""
        try:
            return msgspec.json.decode(unsealed(stored), type=cls)
        except UNREADABLE:
            return None

    @staticmethod
    def columns_in(table: str, cells: Mapping[bytes, bytes]) -> tuple[TypedColumn, ...]:
        """Return the typed columns that were stored with *table* in the *cells* of its layout, by their names.

        Raises `LayoutMismatch` if this version cannot read one.
        """
        stored = sorted(item for item in cells.items() if item[0].startswith(TYPED_PREFIX))
        return tuple(TypedColumn.from_cell(table, value) for _, value in stored)

    def check(self, table: str, stored: bytes) -> None:
        """Raise `LayoutMismatch`, which shows both, if the layout *stored* with *table* is not this one."""
        header = _LayoutHeader.of(table, stored)
        if header.kind != self.kind:
            raise LayoutMismatch(
                f"{table} was created with another layout: it is a {header.kind} table, with {header.key} keys; "
                f"this call has the keys {self.key}. A web table is opened with webtable.open"
            )
        if header.key != self.key:
            raise LayoutMismatch(
                f"{table} was created with other keys: the table has {header.key}, this call has {self.key}"
            )


def check_layout(table: str, stored: Layout, wanted: Layout) -> None:
    """Raise `LayoutMismatch`, which shows both, if *table* was not created with the layout *wanted*."""
    differences = [
        f"{field}: the table has {_value_text(stored, field)}, this call has {_value_text(wanted, field)}"
        for field in Layout.__struct_fields__
        if getattr(stored, field) != getattr(wanted, field)
    ]
    if differences:
        # Only these options can be altered.
        fix = (
            Message("; to change it: ", Command("alter", python="table.maintenance.alter(…)"))
            if all(difference.startswith(("ttl:", "versions:")) for difference in differences)
            else ""
        )
        raise LayoutMismatch(f"{table} was created with another layout. " + "; ".join(differences) + fix)


def _value_text(layout: Layout, field: str) -> str:
    return versions_text(layout.versions) if field == "versions" else repr(getattr(layout, field))


def check_suffix_list(table: str, stored: Layout) -> None:
    """Raise `LayoutMismatch` if the installed Public Suffix List is not the one with which the keys were made."""
    if stored.suffix_list is not None and stored.suffix_list != (installed := suffix_list_version()):
        raise LayoutMismatch(
            f"{table}: its salts were made with publicsuffixlist {stored.suffix_list}, installed is {installed}; "
            f"another list would look for pages in other places: install publicsuffixlist=={stored.suffix_list}"
        )
