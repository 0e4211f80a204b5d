"""What goes into a store and comes out of it: cells, rows, mutations, regions and tables as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from webtable.rowkey import KeyRange
from webtable.schema import TableSchema

MAX_ROW_KEY = 32_767
"""The longest row key in bytes (HBase: a signed 16-bit length)."""
MAX_CELL = 10 * 1024 * 1024
"""HBase's largest cell in bytes (`hbase.server.keyvalue.maxsize`): row key, family, qualifier, value and 24 more."""


class Cell(NamedTuple):
    """One version of a column."""

    timestamp: int
    value: bytes


class Row(NamedTuple):
    """A row as it is read: every column that has a visible cell, with its versions, the newest first."""

    key: bytes
    cells: Mapping[bytes, Sequence[Cell]]

    def value(self, column: bytes) -> bytes | None:
        """Return the newest value of *column*, or None where it has none."""
        versions = self.cells.get(column)
        return versions[0].value if versions else None


class NewCell(NamedTuple):
    """A cell to be written."""

    column: bytes
    timestamp: int
    value: bytes


@dataclass(frozen=True, slots=True)
class Put:
    """Cells to be written to a row."""

    row: bytes
    cells: Sequence[NewCell]


@dataclass(frozen=True, slots=True)
class Delete:
    """Cells to be removed from a row: those of *columns* (None is the whole row) at or below *timestamp*.

    With *exact* those at *timestamp* itself, of *columns* with a qualifier; where a store has no call for that, the
    outcome is a `CapabilityError`.
    """

    row: bytes
    timestamp: int
    columns: Sequence[bytes] | None = None
    exact: bool = False


Mutation = Put | Delete

ALL_QUALIFIERS: Final = KeyRange()
"""The qualifiers of a whole family."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a table: its keys, and the server that holds it (empty where the store has none)."""

    keys: KeyRange
    server: str = ""


@dataclass(frozen=True, slots=True)
class TableDescription:
    """A table as it was found. `unread` names the family options that this store cannot read back."""

    schema: TableSchema
    unread: frozenset[str] = frozenset()
