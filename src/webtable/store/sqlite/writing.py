"""Writing: the mutations of one call, checked one by one and applied in one transaction.

A delete removes the cells that it covers and leaves a marker; a put below a marker is not stored. So what a reader
finds in the cells' tables is not deleted, and the order of a put and a delete makes no difference, as in HBase. Cells
beyond a family's versions go as soon as a write touches their column; cells beyond its TTL go a slice of the table at
a time, at the pace of the writes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from webtable.errors import StoreError, StoreRefused
from webtable.store.base import MAX_CELL, MAX_ROW_KEY, Delete, Mutation, Put

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from webtable.store.sqlite.catalogue import Family, Table

SLICE: Final = 2000
"""How many cells are looked at in one go where cells are removed that nobody sees any more."""

_CELL_OVERHEAD: Final = 23  # a cell's lengths, timestamp and type, as HBase counts them; the colon makes it 24
_LATEST: Final = 2**63 - 1  # to HBase this is "now", which no repeat could hit again

_NewCell = tuple[bytes, bytes, int, bytes]
_Marker = tuple[bytes, bytes, int]


class Batch:
    """The mutations of one write: an outcome for each, and what is to be done to which family."""

    def __init__(self, name: str, table: Table, mutations: Sequence[Mutation]) -> None:
        self.name = name
        self.table = table
        self.cells: defaultdict[int, list[_NewCell]] = defaultdict(list)
        self.markers: defaultdict[int, list[_Marker]] = defaultdict(list)
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
        limit = MAX_CELL - _CELL_OVERHEAD - len(row)
        staged: list[tuple[int, _NewCell]] = []
        for column, timestamp, value in put.cells:
            family, qualifier = self._columns.get(column) or self._column(column)
            if len(column) + len(value) > limit:
                size = len(row) + len(column) + len(value) + _CELL_OVERHEAD
                raise self._refusal(f"row {row[:80]!r}: {column!r}: a cell of {size:,} bytes; at most {MAX_CELL:,}")
            if not 0 <= timestamp < _LATEST:
                raise self._bad_timestamp(row, timestamp)
            staged.append((family, (row, qualifier, timestamp, value)))
        for family, cell in staged:
            self.cells[family].append(cell)

    def _delete(self, delete: Delete) -> None:
        row, timestamp = delete.row, delete.timestamp
        if not 0 <= timestamp < _LATEST:
            raise self._bad_timestamp(row, timestamp)
        if delete.columns is None:
            scopes = [(family.id, b"") for family in self.table.families.values()]
        else:
            columns = [self._column(column) for column in delete.columns]
            scopes = [(family, b":" + qualifier if qualifier else b"") for family, qualifier in columns]
        for family, scope in scopes:
            self.markers[family].append((row, scope, timestamp))

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

    def apply(self, connection: sqlite3.Connection) -> None:
        """Make the changes in the connection's transaction."""
        for family in self.table.families.values():
            if markers := self.markers.get(family.id):
                _delete_cells(connection, family.id, markers)
            if cells := self.cells.get(family.id):
                _put_cells(connection, family, cells)


def _delete_cells(connection: sqlite3.Connection, family: int, markers: list[_Marker]) -> None:
    connection.executemany(
        f"INSERT INTO deletes_{family} VALUES (?, ?, ?)"
        " ON CONFLICT (row, scope) DO UPDATE SET timestamp = max(timestamp, excluded.timestamp)", markers)
    connection.executemany(
        f"DELETE FROM cells_{family} WHERE row = ? AND timestamp <= ?",
        [(row, timestamp) for row, scope, timestamp in markers if not scope])
    connection.executemany(
        f"DELETE FROM cells_{family} WHERE row = ? AND qualifier = ? AND timestamp <= ?",
        [(row, scope[1:], timestamp) for row, scope, timestamp in markers if scope])


def _put_cells(connection: sqlite3.Connection, family: Family, cells: list[_NewCell]) -> None:
    cells.sort(key=_place)  # neighbours share a page; of two at one place the later one stays the later one
    crowded = _crowded(connection, family, cells)
    if connection.execute(f"SELECT 1 FROM deletes_{family.id} LIMIT 1").fetchone():
        connection.executemany(
            f"INSERT OR REPLACE INTO cells_{family.id} SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS"
            f" (SELECT 1 FROM deletes_{family.id} WHERE row = ?1 AND scope IN (x'', ?5) AND timestamp >= ?3)",
            ((*cell, b":" + cell[1]) for cell in cells))
    else:
        connection.executemany(f"INSERT OR REPLACE INTO cells_{family.id} VALUES (?, ?, ?, ?)", cells)
    _drop_excess(connection, family, crowded)


def _crowded(connection: sqlite3.Connection, family: Family, cells: list[_NewCell]) -> list[tuple[bytes, bytes]]:
    """Return the columns that may have more than one cell once *cells* are written: few, while a crawl is new."""
    places = Counter(map(_place, cells))
    find = f"SELECT 1 FROM cells_{family.id} WHERE row = ? LIMIT 1"
    known = {row for row in {row for row, _ in places} if connection.execute(find, (row,)).fetchone()}
    return [place for place, count in places.items() if count > 1 or place[0] in known]


def _place(cell: _NewCell) -> tuple[bytes, bytes]:
    return cell[:2]


def _drop_excess(connection: sqlite3.Connection, family: Family, columns: Iterable[tuple[bytes, bytes]]) -> None:
    """Remove the cells beyond the family's versions from some columns."""
    connection.executemany(
        f"DELETE FROM cells_{family.id} WHERE row = ?1 AND qualifier = ?2 AND timestamp <"
        f" (SELECT timestamp FROM cells_{family.id} WHERE row = ?1 AND qualifier = ?2"
        f" ORDER BY timestamp DESC LIMIT 1 OFFSET {family.schema.versions - 1})", columns)


def sweep(connection: sqlite3.Connection, family: Family, now: int, *, start: bytes | None = None) -> bytes:
    """Remove the cells that nobody sees any more from a slice of a family, and return where the next slice begins.

    That is b"" after the last one. Without *start* it goes on where the last such sweep, of any process, came to.
    """
    kept = start
    if start is None:
        (start,) = connection.execute("SELECT swept FROM families WHERE id = ?", (family.id,)).fetchone()
    stop = connection.execute(f"SELECT row FROM cells_{family.id} WHERE row >= ? ORDER BY row LIMIT 1 OFFSET {SLICE}",
                              (start,)).fetchone()
    # A row that is wider than a slice is swept whole.
    following: bytes = max(stop[0], start + b"\0") if stop else b""
    schema = family.schema
    connection.execute(
        f"DELETE FROM cells_{family.id} WHERE (row, qualifier, timestamp) IN (SELECT row, qualifier, timestamp FROM"
        " (SELECT row, qualifier, timestamp, row_number() OVER"
        " (PARTITION BY row, qualifier ORDER BY timestamp DESC) AS number"
        f" FROM cells_{family.id} WHERE row >= :start AND (:stop = x'' OR row < :stop))"
        " WHERE number > :versions OR (timestamp < :cutoff AND number > :min_versions))",
        {"start": start, "stop": following, "versions": schema.versions, "min_versions": schema.min_versions,
         "cutoff": family.oldest_visible(now)})
    if kept is None:
        connection.execute("UPDATE families SET swept = ? WHERE id = ?", (following, family.id))
    return following


def forget_deletes(connection: sqlite3.Connection, family: Family) -> None:
    """Remove the markers of a family's deletes; what they have hidden is gone already."""
    connection.execute(f"DELETE FROM deletes_{family.id}")
