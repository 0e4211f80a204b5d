"""The layout of a table: what must never be guessed. It is stored beside the table and checked at open."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from webtable.checksums import UNREADABLE, unsealed, with_checksum
from webtable.errors import InvalidArgument, LayoutMismatch
from webtable.rowkey import Salt, WebKey, suffix_list_version
from webtable.rowkey.salt import SaltSource
from webtable.schema.table import FamilySchema, TableSchema
from webtable.schema.web import DEFAULT_TTL, DEFAULT_VERSIONS, ColumnNames, PlainColumn, web_table_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.rowkey import RowKey

LAYOUT_FORMAT = 1
LAYOUT_ROW = b"layout"
LAYOUT_COLUMN = b"layout:json"

# What a declaration shows of things that have no name, or not all in it: `module.<lambda>`, `module.make.<locals>.of`,
# a partial function, an object without a `__repr__`.
_NAMELESS = re.compile(r"through=([\w.]+\.<\w+>[\w.<>]*|functools\.partial\b)|<[\w.<>]+ object at 0x\w+>")


class Layout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the keys, columns and bodies of a web table are made.

    `versions` and `ttl` (seconds) are those of the content family. `suffix_list` is the version of the Public Suffix
    List where the salt is taken from the registered domain: a newer list would move pages.
    """

    format: int = LAYOUT_FORMAT
    key: str = "web/1"
    salt: SaltSource = "host"
    digits: int = 2
    suffix_list: str | None = None
    names: ColumnNames = "readable"
    compression: str = "zstd"
    plain_columns: tuple[PlainColumn, ...] = ("title", "status_code", "last_modified")
    versions: int = DEFAULT_VERSIONS
    ttl: int | None = DEFAULT_TTL

    def __post_init__(self) -> None:
        if self.compression not in ("zstd", "none"):
            raise InvalidArgument(f"compression={self.compression!r} must be zstd or none")
        if not self.ttl and self.ttl is not None:
            raise InvalidArgument(f"ttl={self.ttl!r} must be a number of seconds, or None to keep everything")

    @classmethod
    def of(cls, salt: Salt, **options: object) -> Layout:
        """Return the layout of a new table with this salt; *options* are the fields of a layout."""
        suffixes = suffix_list_version() if salt.source == "domain" else None
        values = {"salt": salt.source, "digits": salt.digits, "suffix_list": suffixes, **options}
        try:
            return msgspec.convert(values, cls)
        except msgspec.ValidationError as exc:
            raise InvalidArgument(f"a web table cannot have this layout: {exc}") from exc

    def web_key(self) -> WebKey:
        """Return the row keys of the table."""
        return WebKey(Salt(self.salt, self.digits))

    def table_schema(self, name: str, split_keys: Sequence[bytes] = ()) -> TableSchema:
        """Return the schema of the table *name*."""
        return web_table_schema(name, names=self.names, versions=self.versions, ttl=self.ttl, split_keys=split_keys)

    def to_json(self) -> bytes:
        """Return the layout as it is stored, with its checksum."""
        return with_checksum(msgspec.json.encode(self))

    @classmethod
    def from_json(cls, table: str, stored: bytes) -> Layout:
        """Return the layout that was stored with *table*; raises `LayoutMismatch` where this version can't read it."""
        header = _Header.of(table, stored)
        if header.kind != "web":
            raise LayoutMismatch(
                f"{table} is no web table: it was created with the keys {header.key}; open it with webtable.Table.open"
            )
        try:
            layout = msgspec.json.decode(unsealed(stored), type=cls)
            layout.web_key()
            layout.table_schema("any")
        except UNREADABLE as exc:
            raise LayoutMismatch(f"{table}: this version of webtable does not know the stored layout: {exc}") from exc
        if (layout.format, layout.key) != (LAYOUT_FORMAT, "web/1"):
            raise LayoutMismatch(
                f"{table}: this version of webtable reads layout format {LAYOUT_FORMAT} with web/1 keys; "
                f"the table has format {layout.format} with {layout.key} keys"
            )
        return layout


class _Header(msgspec.Struct, frozen=True):
    """What the layouts of all kinds of tables have in common."""

    kind: str = "web"
    format: int = LAYOUT_FORMAT
    key: str = "web/1"

    @classmethod
    def of(cls, table: str, stored: bytes) -> _Header:
        try:
            return msgspec.json.decode(unsealed(stored), type=cls)
        except UNREADABLE as exc:
            raise LayoutMismatch(f"{table}: this version of webtable does not know the stored layout: {exc}") from exc


class KeyLayout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the row keys of a table of records are made: their declaration as text."""

    kind: Literal["keyed"] = "keyed"
    format: int = LAYOUT_FORMAT
    key: str

    @classmethod
    def of(cls, key: RowKey) -> KeyLayout:
        """Return the layout of a new table with these keys.

        Raises `InvalidArgument` for keys whose declaration says nothing to another process: those with a lambda, a
        function that is local to another one, or a partial one.
        """
        if nameless := _NAMELESS.search(key.declaration):
            raise InvalidArgument(
                f"key={key.declaration} is made with {nameless[0]}, which another process cannot check: "
                "make it a module-level function (or give a part of your own a __repr__)"
            )
        return cls(key=key.declaration)

    def to_json(self) -> bytes:
        """Return the layout as it is stored, with its checksum."""
        return with_checksum(msgspec.json.encode(self))

    @classmethod
    def from_json(cls, stored: bytes) -> KeyLayout | None:
        """Return the layout that was stored, None where it is one of another kind of table, or of a later version."""
        try:
            return msgspec.json.decode(unsealed(stored), type=cls)
        except UNREADABLE:
            return None

    def check(self, table: str, stored: bytes) -> None:
        """Raise `LayoutMismatch`, showing both, where what is *stored* with *table* is another layout than this."""
        found = _Header.of(table, stored)
        if found.kind != self.kind:
            raise LayoutMismatch(
                f"{table} was created with another layout: it is a {found.kind} table, with {found.key} keys; "
                f"asked for are the keys {self.key}. A web table is opened with webtable.open"
            )
        if found.format != LAYOUT_FORMAT:
            raise LayoutMismatch(
                f"{table}: this version of webtable reads layout format {LAYOUT_FORMAT}; "
                f"the table has format {found.format}, with the keys {found.key}"
            )
        if found.key != self.key:
            raise LayoutMismatch(
                f"{table} was created with other keys: the table has {found.key}, asked for are {self.key}"
            )


def meta_table(name: str) -> TableSchema:
    """Return the schema of the table that holds the layout of the table *name*."""
    return TableSchema(f"{name}_meta", families=(FamilySchema("layout"),))


def check_layout(table: str, stored: Layout, wanted: Layout) -> None:
    """Raise `LayoutMismatch`, showing both, where *wanted* is not what *table* was created with."""
    differences = [
        f"{field}: the table has {getattr(stored, field)!r}, asked for is {getattr(wanted, field)!r}"
        for field in Layout.__struct_fields__
        if getattr(stored, field) != getattr(wanted, field)
    ]
    if differences:
        raise LayoutMismatch(f"{table} was created with another layout. " + "; ".join(differences))


def check_suffix_list(table: str, stored: Layout) -> None:
    """Raise `LayoutMismatch` where the Public Suffix List in use is not the one that the keys were made with."""
    installed = suffix_list_version()
    if stored.suffix_list not in (None, installed):
        raise LayoutMismatch(
            f"{table}: its salts were made with publicsuffixlist {stored.suffix_list}, installed is {installed}; "
            f"another list would look for pages in other places: install publicsuffixlist=={stored.suffix_list}"
        )
