"""The tables of a web table: families with their options and columns, indexes with their states, and the queue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from webtable._checksums import UNREADABLE, unsealed, with_checksum
from webtable.errors import InvalidArgument, LayoutMismatch
from webtable.rowkey import split_points
from webtable.schema.table import ALL_VERSIONS, FAMILY_OPTIONS, FOREVER, FamilySchema, TableSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

INDEX_REGIONS = 4
INDEX_COLUMN = b"ref:e"
"""The column of an entry. Its value is empty; its timestamp is that of the capture from which it was made."""
INDEX_SUFFIX = "_idx"
STATES_FAMILY = b"layout:"
STATES_ROW = b"indexes"
"""The row of the meta table that has a column for each index."""
REVISITS_ROW = b"revisits"
FAILED_ROW = b"failed"
"""The rows that are there once a revisit was open, and once a fetch failed: who finds none of them looks no further."""
ENTERED_COLUMN = b"layout:entered"
QUEUE_FAMILY = "queue"

_NAME = re.compile(r"[a-z][a-z0-9]{0,30}")

Phase = Literal["building", "ready", "retired", "dropped"]
"""Entries are written until an index is dropped. Only an index that is ready answers questions."""

PAGE_FAMILIES = ("content", "metadata", "outlinks", "inlinks")
FAMILIES = (*PAGE_FAMILIES, "indexes", "queue")
"""The families whose options can be altered: those of pages, that of all index entries, and that of the queue."""
FAMILY_ALTERABLE = tuple(option for option in FAMILY_OPTIONS if option not in ("versions", "ttl"))
"""The options of a family that can be altered. Its versions and TTL follow from those of the layout."""
OptionValue = int | bool | str | None

ColumnNames = Literal["readable", "short"]
PlainColumn = Literal["title", "status", "last_modified"]

_STORED_STATUS = "status_code"
"""The name of the plain column `status` in stored layouts."""

DAY = 86_400
DEFAULT_TTL = 90 * DAY
"""The seconds for which the content of a page is kept on HBase; links are kept twice as long."""
DEFAULT_VERSIONS = 3
"""How many different contents of a page are kept on HBase."""


class WebColumns(msgspec.Struct, frozen=True):
    """The names of the families and columns of a web table in the store.

    Names are repeated in every cell, so `short` ones save space on disk and in transfer; `readable` ones are easier to
    understand in the HBase shell and in other programs.
    """

    content: str
    metadata: str
    outlinks: str
    inlinks: str
    body: bytes
    capture: bytes
    page: bytes
    links: bytes
    deleted: bytes
    urls: bytes
    plain: dict[str, bytes]


_COLUMNS: dict[ColumnNames, WebColumns] = {
    "readable": WebColumns(
        content="content",
        metadata="metadata",
        outlinks="outlinks",
        inlinks="inlinks",
        body=b"content:html",
        capture=b"content:capture",
        page=b"metadata:page",
        links=b"metadata:links",
        deleted=b"metadata:deleted",
        urls=b"outlinks:urls",
        plain={
            "title": b"metadata:title",
            "status": b"metadata:status_code",
            "last_modified": b"metadata:last_modified",
        },
    ),
    "short": WebColumns(
        content="c",
        metadata="m",
        outlinks="o",
        inlinks="i",
        body=b"c:h",
        capture=b"c:c",
        page=b"m:p",
        links=b"m:l",
        deleted=b"m:d",
        urls=b"o:u",
        plain={"title": b"m:t", "status": b"m:s", "last_modified": b"m:m"},
    ),
}


def web_columns(names: ColumnNames = "readable") -> WebColumns:
    """Return the names in the store; raises `InvalidArgument` if *names* is neither readable nor short."""
    if names not in _COLUMNS:
        raise InvalidArgument(f"names={names!r} must be one of {', '.join(_COLUMNS)}")
    return _COLUMNS[names]


def stored_plain_columns(names: Sequence[PlainColumn]) -> list[str]:
    """Return the plain columns *names* as a layout stores them."""
    return [_STORED_STATUS if name == "status" else name for name in names]


def with_plain_columns(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a *stored* layout with its plain columns by their names."""
    columns = stored.get("plain_columns")
    if not isinstance(columns, list):
        return stored
    return {**stored, "plain_columns": ["status" if name == _STORED_STATUS else name for name in columns]}


def web_table_schema(
    name: str,
    *,
    names: ColumnNames = "readable",
    versions: int | None = DEFAULT_VERSIONS,
    ttl: int | None = DEFAULT_TTL,
    split_keys: Sequence[bytes] = (),
) -> TableSchema:
    """Return the schema of the web table *name*.

    The content of a page is kept in *versions* versions (None: all of them) for *ttl* seconds (None: for ever). Links
    are kept for twice that time, outlinks in as many versions (at least 2), inlinks in 2. Metadata is always kept.
    Raises `InvalidArgument` for a value that HBase would refuse.
    """
    columns = web_columns(names)
    # HBase takes no more than 2**31 - 2 seconds, except for 2**31 - 1, which is for ever.
    versions = ALL_VERSIONS if versions is None else versions
    twice = FOREVER if ttl is None else min(2 * ttl, 2**31 - 2)
    return TableSchema(
        name,
        families=(
            # The writer compresses bodies before sending them; another compression would gain nothing.
            FamilySchema(columns.content, versions=versions, ttl=ttl),
            FamilySchema(columns.metadata),
            # At least two: the links of a new content are compared with those of the one before.
            FamilySchema(columns.outlinks, versions=max(2, versions), ttl=twice),
            FamilySchema(columns.inlinks, versions=2, ttl=twice),
        ),
        split_keys=tuple(split_keys),
    )


class IndexState(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The stored state of an index: where it is defined, and whether its entries are complete.

    `of` is the importable name (`package.module:attribute`) of an index that a user defined. `position` is the row, in
    hex, that a rebuild has reached. `added` is when the index was added, in epoch milliseconds, and 0 for those with
    which the table was created; it differs from that of a dropped index of the same name.
    """

    phase: Phase = "ready"
    of: str = ""
    position: str = ""
    added: int = 0

    def to_json(self) -> bytes:
        """Return the state as it is stored, with its checksum."""
        return with_checksum(msgspec.json.encode(self))

    @classmethod
    def from_json(cls, table: str, index: str, stored: bytes) -> IndexState:
        """Return the state that was stored; raises `LayoutMismatch` if this version cannot read it."""
        try:
            state = msgspec.json.decode(unsealed(stored), type=cls)
            bytes.fromhex(state.position)  # a damaged place must not begin a rebuild somewhere else
        except UNREADABLE as exc:
            raise LayoutMismatch(f"{table}: this version of webtable does not know its index {index!r}: {exc}") from exc
        return state


def state_column(index: str) -> bytes:
    """Return the column of the meta table that holds the state of *index*."""
    return STATES_FAMILY + index.encode()


def index_of_column(column: bytes) -> str:
    """Return the index whose state *column* holds."""
    return column.removeprefix(STATES_FAMILY).decode(errors="replace")


def check_index_name(name: str) -> None:
    """Raise `InvalidArgument` for an index name that cannot be part of the name of a table."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidArgument(f"index {name!r} must be named by a letter and up to 30 letters or digits, in lower case")


def index_table_name(table: str, index: str) -> str:
    """Return the name of the table with the entries of *index*, without making its schema."""
    return f"{table}_{index}{INDEX_SUFFIX}"


def index_table(table: str, index: str) -> TableSchema:
    """Return the schema of the table with the entries of *index*, whose keys begin with one hexadecimal digit."""
    # Entries are sorted and similar, which this encoding exploits.
    family = FamilySchema("ref", block_encoding="FAST_DIFF")
    return TableSchema(index_table_name(table, index), (family,), tuple(split_points(INDEX_REGIONS, 1)))


def queue_table(table: str) -> TableSchema:
    """Return the schema of the queue: a table that names the pages whose inlinks are to be counted again."""
    return TableSchema(f"{table}_queue", (FamilySchema(QUEUE_FAMILY),))


def meta_table(name: str) -> TableSchema:
    """Return the schema of the table with the layout of the table *name*."""
    return TableSchema(f"{name}_meta", families=(FamilySchema("layout"),))


# The layout itself is never rewritten: no store here has compare-and-swap, and with a column for each option two who
# alter different ones do not overwrite each other.
ALTERED = b"layout:altered."
"""The beginning of further columns, one for each altered option: `layout:altered.ttl`."""


class _Option(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The stored form of an altered option."""

    value: int | bool | str | None


_decode_option = msgspec.json.Decoder(_Option).decode


def option_column(name: str) -> bytes:
    """Return the column, next to the layout, that holds the altered option *name*."""
    return ALTERED + name.encode()


def option_json(value: OptionValue) -> bytes:
    """Return the *value* of an option as it is stored, with its checksum."""
    return with_checksum(msgspec.json.encode(_Option(value)))


def option_value(stored: bytes) -> OptionValue:
    """Return the value of an option that was stored; raises one of `UNREADABLE`."""
    return _decode_option(unsealed(stored)).value


def option_of_column(column: bytes) -> str:
    """Return the option that *column*, next to the layout, holds; raises `ValueError` if it holds none."""
    name = column.removeprefix(ALTERED).decode()  # a later version may keep other things there
    if not column.startswith(ALTERED) or not (name in ("ttl", "versions") or "." in name):
        raise ValueError(f"unknown column {column!r} next to it")
    return name


_DEFAULTS = FamilySchema("any")
_KINDS = {int: "a whole number", bool: "true or false", str: "a text"}


def check_family_option(name: str, value: object) -> None:
    """Raise `InvalidArgument` unless *name* is an alterable option of a family, such as `content.block_size`."""
    family, dot, option = name.partition(".")
    if not dot or family not in FAMILIES:
        raise InvalidArgument(f"families: {family!r} must be one of {', '.join(FAMILIES)}")
    if option not in FAMILY_ALTERABLE:
        follows = "; versions and ttl follow from those of the table" if option in FAMILY_OPTIONS else ""
        raise InvalidArgument(f"families: {name!r} must be one of {', '.join(FAMILY_ALTERABLE)}{follows}")
    kind = type(getattr(_DEFAULTS, option))
    # To Python True is an int, and 1 equals True; to HBase and to the catalogue of a file they differ.
    if type(value) is not kind:
        raise InvalidArgument(f"families: {name}={value!r} must be {_KINDS[kind]}")
