"""The same DDL as text for the HBase shell, for clusters whose gateway cannot do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.schema.table import FAMILY_OPTIONS, FamilySchema, TableSchema

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Return the HBase shell's `create` for the table, with every option and split point spelled out."""
    parts = [_quoted(schema.name.encode()), *map(family_text, schema.families)]
    if schema.split_keys:
        parts.append(f"SPLITS => [{', '.join(map(_quoted, schema.split_keys))}]")
    return "create " + ", ".join(parts)


def alter_statement(table: str, family: FamilySchema) -> str:
    """Return the HBase shell's `alter` that adds the family or gives it these options."""
    return f"alter {_quoted(table.encode())}, {family_text(family)}"


def family_text(family: FamilySchema) -> str:
    """Return the family as the shell writes it: `{NAME => 'content', VERSIONS => 3, …}`."""
    options = (f"{_ATTRIBUTES[option]} => {option_text(getattr(family, option))}" for option in FAMILY_OPTIONS)
    return "{" + ", ".join([f"NAME => {_quoted(family.name.encode())}", *options]) + "}"


def option_text(value: object) -> str:
    """Return the value of an option as the shell writes it (`'FOREVER'` for a TTL of None)."""
    match value:
        case None:
            return "'FOREVER'"
        case bool():
            return f"'{str(value).lower()}'"
        case int():
            return str(value)
        case _:
            return f"'{value}'"


def _quoted(value: bytes) -> str:
    if all(0x20 <= byte < 0x7F and byte not in b"'\"\\#" for byte in value):
        return f"'{value.decode()}'"
    # Ruby reads \xNN in double quotes only, and "#" there may begin an interpolation.
    return '"' + "".join(chr(b) if chr(b).isalnum() and b < 0x7F else f"\\x{b:02x}" for b in value) + '"'
