"""Creating and altering tables as text for the HBase shell, for clusters whose gateway cannot do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from webtable.errors import InvalidArgument
from webtable.schema.table import FAMILY_OPTIONS, FamilySchema, TableSchema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SplitsForm = Literal["python", "shell", "file"]

# The attribute names of the HBase shell (ColumnFamilyDescriptorBuilder's constants).
_ATTRIBUTES: Mapping[str, str] = {
    "versions": "VERSIONS",
    "min_versions": "MIN_VERSIONS",
    "ttl": "TTL",
    "compression": "COMPRESSION",
    "bloom": "BLOOMFILTER",
    "block_encoding": "DATA_BLOCK_ENCODING",
    "block_size": "BLOCKSIZE",
    "in_memory": "IN_MEMORY",
    "block_cache": "BLOCKCACHE",
    "replication_scope": "REPLICATION_SCOPE",
}


def create_statement(schema: TableSchema) -> str:
    """Return the statement of the HBase shell that creates the table, with all options and split points."""
    parts = [quoted(schema.name.encode()), *map(family_text, schema.families)]
    if schema.split_keys:
        parts.append(splits_text(schema.split_keys, "shell"))
    return "create " + ", ".join(parts)


def alter_statement(table: str, family: FamilySchema, options: Sequence[str] = FAMILY_OPTIONS) -> str:
    """Return the statement of the HBase shell that adds the *family*, or changes only these *options* of it."""
    return f"alter {quoted(table.encode())}, {family_text(family, options)}"


def splits_text(points: Sequence[bytes], form: SplitsForm) -> str:
    r"""Return split points as text in one of three forms, without a newline at the end.

    `python` is a list of bytes; `shell` is `SPLITS => [...]` for `create` in the HBase shell; `file` has one point on
    each line, for its `SPLITS_FILE` (empty if there are no points). Raises `InvalidArgument` for another *form*, and
    for an empty point, which HBase would refuse.

    >>> splits_text([b"40", b"\xff "], "shell")
    "SPLITS => ['40', '\\xFF\\x20']"
    """
    if form not in get_args(SplitsForm):
        raise InvalidArgument(f"form={form!r} must be one of {', '.join(get_args(SplitsForm))}")
    if b"" in points:
        raise InvalidArgument("points must not have an empty one: every table's first region begins there")
    if form == "python":
        return repr(list(points))
    texts = map(binary_text, points)
    return "\n".join(texts) if form == "file" else "SPLITS => [" + ", ".join(f"'{text}'" for text in texts) + "]"


def binary_text(key: bytes) -> str:
    r"""Return a key in printable ASCII, with other bytes as `\xNN`, as HBase's `Bytes.toBytesBinary` reads it.

    Quotes and spaces are written as `\xNN` too, so that the text can stand in single quotes and at the end of a line.

    >>> binary_text(b"5a:com.example/\xff'")
    '5a:com.example/\\xFF\\x27'
    """
    # toBytesBinary takes hex digits in upper case only, and without a word drops the backslash of others.
    return "".join(chr(b) if 0x20 < b < 0x7F and b not in b"'\"\\" else f"\\x{b:02X}" for b in key)


def family_text(family: FamilySchema, options: Sequence[str] = FAMILY_OPTIONS) -> str:
    """Return the family with these *options* as the HBase shell writes it: `{NAME => 'content', VERSIONS => 3, …}`."""
    shown = (f"{_ATTRIBUTES[option]} => {option_text(getattr(family, option))}" for option in options)
    return "{" + ", ".join([f"NAME => {quoted(family.name.encode())}", *shown]) + "}"


def option_text(value: object) -> str:
    """Return the value of an option as the HBase shell writes it (`'FOREVER'` for a TTL of None)."""
    match value:
        case None:
            return "'FOREVER'"
        case bool():
            return f"'{str(value).lower()}'"
        case int():
            return str(value)
        case _:
            return f"'{value}'"


def quoted(value: bytes) -> str:
    """Return *value* as a text of the HBase shell, which is Ruby: nothing in it ends the text or is run."""
    if all(0x20 <= byte < 0x7F and byte not in b"'\"\\#" for byte in value):
        return f"'{value.decode()}'"
    # Ruby reads \xNN in double quotes only, and "#" there may begin an interpolation.
    return '"' + "".join(chr(b) if chr(b).isalnum() and b < 0x7F else f"\\x{b:02x}" for b in value) + '"'
