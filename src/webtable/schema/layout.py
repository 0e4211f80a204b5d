"""The layout of a web table: what must never be guessed. It is stored beside the table and checked at open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from webtable.errors import InvalidArgument, LayoutMismatch
from webtable.rowkey import Salt, WebKey, suffix_list_version
from webtable.rowkey.salt import SaltSource
from webtable.schema.table import FamilySchema, TableSchema
from webtable.schema.web import DEFAULT_TTL, DEFAULT_VERSIONS, ColumnNames, PlainColumn, web_table_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

LAYOUT_FORMAT = 1
LAYOUT_ROW = b"layout"
LAYOUT_COLUMN = b"layout:json"


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
    indexes: dict[str, str] = {}

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
        """Return the layout as it is stored."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, table: str, stored: bytes) -> Layout:
        """Return the layout that was stored with *table*; raises `LayoutMismatch` where this version can't read it."""
        try:
            layout = msgspec.json.decode(stored, type=cls)
        except (msgspec.DecodeError, InvalidArgument) as exc:
            raise LayoutMismatch(f"{table}: this version of webtable does not know the stored layout: {exc}") from exc
        if (layout.format, layout.key) != (LAYOUT_FORMAT, "web/1"):
            raise LayoutMismatch(
                f"{table}: this version of webtable reads layout format {LAYOUT_FORMAT} with web/1 keys; "
                f"the table has format {layout.format} with {layout.key} keys"
            )
        return layout


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
