"""Writing: the mutations of one call, checked one by one and applied in one transaction.

A delete removes the cells that it covers and leaves a marker; a put below a marker is not stored. So what a reader
finds in the cells' tables is not deleted, and the order of a put and a delete makes no difference, as in HBase. Cells
beyond a family's versions go as soon as a write touches their column; cells beyond its TTL, and markers, go a slice at
a time (see sweeps.py).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from webtable.errors import StoreError, StoreRefused
from webtable.store.rows import MAX_ROW_KEY, Delete, Mutation, Put
from webtable.store.sqlite.changes import COLUMN, delete_cells, exact_scope, put_cells

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from webtable.store.sqlite.catalogue import StoredTable
    from webtable.store.sqlite.changes import CellRow, MarkerRow

_CELL_OVERHEAD: Final = 23  # a cell's lengths, timestamp and type, as HBase counts them; the colon makes it 24
_LATEST: Final = 2**63 - 1  # to HBase this is "now", which no repeat could hit again


class Mutations:
    """The mutations of one write: an outcome for each, and what is to be done to which family."""

    def __init__(self, name: str, table: StoredTable, mutations: Sequence[Mutation], max_cell: int) -> None:
        self.name = name
        self._max_cell = max_cell
        self.table = table
        self.cells: defaultdict[int, list[CellRow]] = defaultdict(list)
        self.markers: defaultdict[int, list[MarkerRow]] = defaultdict(list)
        self._columns: dict[bytes, tuple[int, bytes]] = {}
        self.outcomes = [self._outcome(mutation) for mutation in mutations]

    def _outcome(self, mutation: Mutation) -> StoreError | None:
        try:
            if not 0 < len(mutation.row) <= MAX_ROW_KEY:
                raise self._refusal(f"a row key of {len(mutation.row):,} bytes; it must have 1 to {MAX_ROW_KEY:,}")
            if isinstance(mutation, Put):
                self._put(mutation)
            else:
                self._delete(mutation)
        except StoreError as exc:
            return exc
        return None

    def _put(self, put: Put) -> None:
        row = put.row
        limit = self._max_cell - _CELL_OVERHEAD - len(row)
        staged: list[tuple[int, CellRow]] = []
        for column, timestamp, value in put.cells:
            family, qualifier = self._columns.get(column) or self._column(column)
            if len(column) + len(value) > limit:
                size, most = len(row) + len(column) + len(value) + _CELL_OVERHEAD, self._max_cell
                raise self._refusal(f"row {row[:80]!r}: {column!r}: a cell of {size:,} bytes; at most {most:,}")
            if not 0 <= timestamp < _LATEST:
                raise self._bad_timestamp(row, timestamp)
            staged.append((family, (row, qualifier, timestamp, value)))
        for family, cell in staged:
            self.cells[family].append(cell)

    def _delete(self, delete: Delete) -> None:
        row, timestamp = delete.row, delete.timestamp
        if not 0 <= timestamp < _LATEST:
            raise self._bad_timestamp(row, timestamp)
        if delete.exact:
            scopes = self._exact_scopes(delete)
        elif delete.columns is None:
            scopes = [(family.id, b"") for family in self.table.families.values()]
        else:
            columns = [self._column(column) for column in delete.columns]
            scopes = [(family, COLUMN + qualifier if qualifier else b"") for family, qualifier in columns]
        for family, scope in scopes:
            self.markers[family].append((row, scope, timestamp))

    def _exact_scopes(self, delete: Delete) -> list[tuple[int, bytes]]:
        """Return where the markers of a delete of one timestamp alone belong."""
        columns = [self._column(column) for column in delete.columns or ()]
        if delete.columns is None or not all(qualifier for _, qualifier in columns):
            raise self._refusal(f"row {delete.row[:80]!r}: an exact delete needs columns, each with a qualifier")
        return [(family, exact_scope(delete.timestamp, qualifier)) for family, qualifier in columns]

    def _column(self, column: bytes) -> tuple[int, bytes]:
        prefix, colon, qualifier = column.partition(b":")
        family = self.table.families.get(prefix + colon)
        if not colon:
            raise self._refusal(f"column {column!r} must be family:qualifier")
        if family is None:
            raise self._refusal(f"has no family {prefix.decode(errors='replace')!r}")
        self._columns[column] = family.id, qualifier
        return family.id, qualifier

    def _bad_timestamp(self, row: bytes, timestamp: int) -> StoreRefused:
        return self._refusal(f"row {row[:80]!r}: timestamp {timestamp} must be from 0 to 2**63 - 2")

    def _refusal(self, text: str) -> StoreRefused:
        return StoreRefused(f"{self.name}: table {self.table.schema.name!r}: {text}")

    def apply(self, connection: sqlite3.Connection, now: int) -> None:
        """Make the changes in the connection's transaction; deletes are marked as made *now*."""
        for family in self.table.families.values():
            if markers := self.markers.get(family.id):
                delete_cells(connection, family.id, markers, now)
            if cells := self.cells.get(family.id):
                put_cells(connection, family, cells)
