"""The tables of secondary indexes, and the state of each index, which is stored beside the layout of the web table."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from webtable._checksums import UNREADABLE, unsealed, with_checksum
from webtable.errors import InvalidArgument, LayoutMismatch
from webtable.rowkey import split_points
from webtable.schema.table import FamilySchema, TableSchema

INDEX_REGIONS = 4
INDEX_COLUMN = b"ref:e"
"""The column of an entry. Its value is empty; its timestamp is that of the capture from which it was made."""
INDEX_SUFFIX = "_idx"
STATES_FAMILY = b"layout:"
STATES_ROW = b"indexes"
"""The row of the meta table that has a column for each index."""
QUEUE_FAMILY = "queue"


_NAME = re.compile(r"[a-z][a-z0-9]{0,30}")

Phase = Literal["building", "ready", "retired", "dropped"]
"""Entries are written until an index is dropped. Only an index that is ready answers questions."""


class IndexState(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is stored about an index: where it is defined, and whether its entries are complete.

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
            bytes.fromhex(state.position)
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


def index_table(table: str, index: str) -> TableSchema:
    """Return the schema of the table with the entries of *index*, whose keys begin with one hexadecimal digit."""
    # Entries are in order and much alike, which this encoding makes use of.
    family = FamilySchema("ref", block_encoding="FAST_DIFF")
    return TableSchema(f"{table}_{index}{INDEX_SUFFIX}", (family,), tuple(split_points(INDEX_REGIONS, 1)))


def queue_table(table: str) -> TableSchema:
    """Return the schema of the queue: a table that names the pages whose inlinks are to be counted again."""
    return TableSchema(f"{table}_queue", (FamilySchema(QUEUE_FAMILY),))
