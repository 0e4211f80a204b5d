"""Writes: the mutations of one call, checked one by one and applied in one transaction.

A delete removes the cells that it covers and leaves a marker; a put below a marker is not stored. So cells in the
tables are never deleted ones, and the order of a put and a delete makes no difference, as in HBase. Cells beyond a
family's versions are removed when a write touches their column; cells beyond its TTL, and markers, are removed in
slices (see sweeps.py).

Everything is done in key order, and for a few neighbours at a time: they share a page of the file, which is still in
memory from reading when it is changed. Statements take many rows where possible, because other Python threads run while
SQLite works, and may delay this thread between two statements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from webtable.errors import StoreError, StoreRefused
from webtable.schema import ALL_VERSIONS
from webtable.store.rows import MAX_ROW_KEY, Delete, Mutation, Put

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from webtable.store.sqlite.catalogue import Family, StoredTable

_row, _place = itemgetter(0), itemgetter(0, 1)
COLUMN: Final = b":"  # see the catalogue's `scope`
_EXACT: Final = b"="

CellRow = tuple[bytes, bytes, int, bytes]
"""A cell to be written: row, qualifier, timestamp, value."""
MarkerRow = tuple[bytes, bytes, int]
"""A delete to be marked: row, scope, timestamp."""

_TOGETHER: Final = 64
"""How many cells are looked up and then written at a time."""
_TOGETHER_BYTES: Final = 1 << 20
"""The most bytes of values in one statement, because SQLite copies them."""

_WIDTHS: Final = (4, 16, _TOGETHER)  # of lists of rows: few different statements, which SQLite caches


def exact_scope(timestamp: int, qualifier: bytes) -> bytes:
    """Return the scope of a delete of one timestamp only."""
    return _EXACT + timestamp.to_bytes(8, "big") + qualifier


def delete_cells(connection: sqlite3.Connection, family: int, markers: list[MarkerRow], now: int) -> None:
    """Add delete markers of a family, made at *now*, and remove the cells that they cover."""
    markers.sort()
    connection.executemany(
        f"INSERT INTO deletes_{family} (row, scope, timestamp, made) VALUES (?, ?, ?, {now}) ON CONFLICT (row, scope)"
        " DO UPDATE SET timestamp = max(timestamp, excluded.timestamp), made = max(made, excluded.made)",
        markers,
    )
    connection.executemany(
        f"DELETE FROM cells_{family} WHERE row = ? AND timestamp <= ?",
        [(row, timestamp) for row, scope, timestamp in markers if not scope],
    )
    connection.executemany(
        f"DELETE FROM cells_{family} WHERE row = ? AND qualifier = ? AND timestamp <= ?",
        [(row, scope[1:], timestamp) for row, scope, timestamp in markers if scope.startswith(COLUMN)],
    )
    connection.executemany(
        f"DELETE FROM cells_{family} WHERE row = ? AND qualifier = ? AND timestamp = ?",
        [(row, scope[9:], timestamp) for row, scope, timestamp in markers if scope.startswith(_EXACT)],
    )


def put_cells(connection: sqlite3.Connection, family: Family, cells: list[CellRow]) -> None:
    """Write those of *cells* that no delete hides, and remove cells beyond the family's versions."""
    cells.sort(key=_place)  # a stable sort: of two cells at one place the later one stays later
    hiding = connection.execute(f"SELECT 1 FROM deletes_{family.id} LIMIT 1").fetchone() is not None
    for start in range(0, len(cells), _TOGETHER):
        group = cells[start : start + _TOGETHER]
        if hiding:
            group = _not_hidden(connection, family.id, group)
        # If all versions are kept, there is nothing to look up.
        crowded = [] if family.schema.versions == ALL_VERSIONS else _crowded(connection, family, group)
        _insert(connection, family, group)
        _drop_excess(connection, family, crowded)


def _insert(connection: sqlite3.Connection, family: Family, cells: list[CellRow]) -> None:
    into, values = f"INSERT OR REPLACE INTO cells_{family.id} VALUES", "(?, ?, ?, ?)"
    if len(cells) == _TOGETHER and sum(len(value) for *_, value in cells) <= _TOGETHER_BYTES:
        connection.execute(f"{into} {_repeated(values, _TOGETHER)}", [*chain.from_iterable(cells)])
    else:
        connection.executemany(f"{into} {values}", cells)


def _not_hidden(connection: sqlite3.Connection, family: int, cells: list[CellRow]) -> list[CellRow]:
    """The *cells* that no delete hides."""
    marked = rows_in(connection, f"deletes_{family}", map(_row, cells))
    visible: list[CellRow] = []
    for row, of_row in groupby(cells, key=_row):
        of_the_row = list(of_row)
        markers = _markers(connection, family, row, of_the_row) if row in marked else {}
        visible += (cell for cell in of_the_row if not _is_hidden(cell, markers)) if markers else of_the_row
    return visible


def _markers(connection: sqlite3.Connection, family: int, row: bytes, cells: Sequence[CellRow]) -> dict[bytes, int]:
    """Return the markers that may hide *cells* of a row, which may have as many others as there are links to it."""
    scopes = [
        scope for _, qualifier, stamp, _ in cells for scope in (COLUMN + qualifier, exact_scope(stamp, qualifier))
    ]
    width = next(2 * width for width in _WIDTHS if len(cells) <= width)  # two scopes a cell
    parameters = [row, b"", *scopes, *scopes[-1:] * (width - len(scopes))]
    find = f"SELECT scope, timestamp FROM deletes_{family} WHERE row = ? AND scope IN ({_repeated('?', width + 1)})"
    return dict(connection.execute(find, parameters).fetchall())


def _is_hidden(cell: CellRow, markers: Mapping[bytes, int]) -> bool:
    _, qualifier, timestamp, _ = cell
    return (
        timestamp <= max(markers.get(b"", -1), markers.get(COLUMN + qualifier, -1))
        or exact_scope(timestamp, qualifier) in markers
    )


def _crowded(connection: sqlite3.Connection, family: Family, cells: list[CellRow]) -> list[tuple[bytes, bytes]]:
    """Return the columns that may have several cells after *cells* are written: few while a crawl is new."""
    counts = Counter(map(_place, cells))
    # Not all columns of an existing row: that of a page has one for each page that links to it.
    existing = _existing(connection, f"cells_{family.id}", ("row", "qualifier"), list(counts))
    if existing or len(counts) < len(cells):
        there = set(existing)
        return [place for place, count in counts.items() if count > 1 or place in there]
    return []


def rows_in(connection: sqlite3.Connection, table: str, rows: Iterable[bytes]) -> set[bytes]:
    """The *rows* that exist in *table*."""
    return {row for (row,) in _existing(connection, table, ("row",), [(row,) for row in dict.fromkeys(rows)])}


def _existing(
    connection: sqlite3.Connection, table: str, columns: Sequence[str], places: Sequence[tuple[bytes, ...]]
) -> list[tuple[bytes, ...]]:
    """Return those of *places* that *table* has, each the values of its first *columns*."""
    existing: list[tuple[bytes, ...]] = []
    marks = f"({_repeated('?', len(columns))})"
    same = " AND ".join(f"{name} = column{number}" for number, name in enumerate(columns, 1))
    names = ", ".join(f"column{number}" for number in range(1, len(columns) + 1))
    for start in range(0, len(places), _TOGETHER):
        group = places[start : start + _TOGETHER]
        width = next(width for width in _WIDTHS if len(group) <= width)  # the last place again fills the list
        find = f"SELECT 1 FROM {table} WHERE {same}"
        query = f"SELECT {names} FROM (VALUES {_repeated(marks, width)}) WHERE EXISTS ({find})"
        parameters = [*chain.from_iterable(group), *group[-1] * (width - len(group))]
        existing += connection.execute(query, parameters)
    return existing


def _repeated(values: str, times: int) -> str:
    return ", ".join([values] * times)


def _drop_excess(connection: sqlite3.Connection, family: Family, columns: Iterable[tuple[bytes, bytes]]) -> None:
    """Remove the cells beyond the family's versions from some columns."""
    connection.executemany(
        f"DELETE FROM cells_{family.id} WHERE row = ? AND qualifier = ? AND timestamp <"
        f" (SELECT timestamp FROM cells_{family.id} WHERE row = ? AND qualifier = ?"
        f" ORDER BY timestamp DESC LIMIT 1 OFFSET {family.schema.versions - 1})",
        # Not `?1` and `?2`: Python 3.12.0 to 3.12.3 take them for names, and warn.
        (column * 2 for column in columns),
    )


_CELL_OVERHEAD: Final = 23  # lengths, timestamp and type of a cell, as HBase counts; the colon makes it 24
_LATEST: Final = 2**63 - 1  # to HBase this is "now", which a retry would not hit again


class Mutations:
    """The mutations of one write, with their outcomes, and the changes of each family."""

    def __init__(self, name: str, table: StoredTable, mutations: Sequence[Mutation], max_cell: int) -> None:
        self.name = name
        self._max_cell = max_cell
        self.table = table
        self.cells: defaultdict[int, list[CellRow]] = defaultdict(list)
        self.markers: defaultdict[int, list[MarkerRow]] = defaultdict(list)
        self._columns: dict[bytes, tuple[int, bytes]] = {}
        self.outcomes: Final = [self._outcome(mutation) for mutation in mutations]

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
                size = len(row) + len(column) + len(value) + _CELL_OVERHEAD
                text = f"a cell of {size:,} bytes; at most {self._max_cell:,}"
                raise self._refusal(f"row {row[:80]!r}: {column!r}: {text}")
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
        """Return the families and scopes of the markers of a delete of one timestamp only."""
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
        """Apply the changes in the connection's transaction; delete markers are made at *now*."""
        for family in self.table.families.values():
            if markers := self.markers.get(family.id):
                delete_cells(connection, family.id, markers, now)
            if cells := self.cells.get(family.id):
                put_cells(connection, family, cells)
