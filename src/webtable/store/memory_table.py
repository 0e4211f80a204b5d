"""A table in memory: its cells, its deletes, and the cells that are visible."""

from __future__ import annotations

import bisect
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable.errors import StoreRefused
from webtable.schema import TableSchema
from webtable.store.rows import MAX_CELL, MAX_ROW_KEY, Cell, Delete, Put, Row, TimeRange, Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.rowkey import KeyRange
    from webtable.schema import FamilySchema
    from webtable.store.rows import Mutation

PIECE: Final = 256
"""How many rows are read at once."""
_CELL_OVERHEAD: Final = 23  # as HBase counts a cell; the colon, which it does not store, makes it 24
_LATEST: Final = 2**63 - 1  # to HBase this is "now"


@dataclass(slots=True)
class TableInMemory:
    """A table: `rows[key][column][timestamp]`, its keys in order, and what its deletes hide of each row.

    `hidden[key]` has timestamps by column, by family (`b"one:"`) and by `b""`, the whole row: cells at or below them
    are deleted. `exactly[key]` has the cells that were deleted at one timestamp alone.
    """

    schema: TableSchema
    rows: dict[bytes, dict[bytes, dict[int, bytes]]] = field(default_factory=dict)
    keys: list[bytes] = field(default_factory=list)
    hidden: defaultdict[bytes, dict[bytes, int]] = field(default_factory=lambda: defaultdict(dict))
    exactly: defaultdict[bytes, set[tuple[bytes, int]]] = field(default_factory=lambda: defaultdict(set))

    def family(self, column: bytes) -> FamilySchema:
        """Return the family of *column*; raises `StoreRefused` if it does not exist."""
        name, colon, _ = column.partition(b":")
        if colon:
            for family in self.schema.families:
                if family.name.encode() == name:
                    return family
        raise StoreRefused(f"has no family {name.decode(errors='replace')!r}")

    def check(self, mutation: Mutation) -> None:
        """Raise `StoreRefused` if HBase would not accept *mutation*."""
        row = mutation.row
        if not 0 < len(row) <= MAX_ROW_KEY:
            raise StoreRefused(f"a row key of {len(row):,} bytes; it must have 1 to {MAX_ROW_KEY:,}")
        if isinstance(mutation, Delete):
            places = [(column, mutation.timestamp, b"") for column in mutation.columns or ()]
            if mutation.exact and not (places and all(column.partition(b":")[2] for column, _, _ in places)):
                raise StoreRefused(f"row {row[:80]!r}: an exact delete needs columns, each with a qualifier")
            _check_timestamp(row, mutation.timestamp)
        else:
            places = list(mutation.cells)
        for column, timestamp, value in places:
            self.family(column)
            _check_timestamp(row, timestamp)
            if (size := len(row) + len(column) + len(value) + _CELL_OVERHEAD) > MAX_CELL:
                raise StoreRefused(f"row {row[:80]!r}: {column!r}: a cell of {size:,} bytes; at most {MAX_CELL:,}")

    def put(self, put: Put) -> None:
        """Store the cells that no delete hides; of each column as many as its family keeps."""
        for column, timestamp, value in put.cells:
            if self._is_hidden(put.row, column, timestamp):
                continue
            if put.row not in self.rows:
                self.rows[put.row] = {}
                bisect.insort(self.keys, put.row)
            versions = self.rows[put.row].setdefault(column, {})
            versions[timestamp] = value
            if len(versions) > self.family(column).versions:
                del versions[min(versions)]

    def delete(self, delete: Delete) -> None:
        """Record the delete, and remove the cells that it hides."""
        if delete.exact:
            self.exactly[delete.row].update((column, delete.timestamp) for column in delete.columns or ())
        else:
            hidden = self.hidden[delete.row]
            for scope in [b""] if delete.columns is None else delete.columns:
                hidden[scope] = max(hidden.get(scope, 0), delete.timestamp)
        columns = self.rows.get(delete.row, {})
        for column, versions in list(columns.items()):
            for timestamp in [at for at in versions if self._is_hidden(delete.row, column, at)]:
                del versions[timestamp]

    def _is_hidden(self, row: bytes, column: bytes, timestamp: int) -> bool:
        hidden = self.hidden.get(row, {})
        scopes = (b"", column[: column.index(b":") + 1], column)
        if any(timestamp <= hidden.get(scope, -1) for scope in scopes):
            return True
        return (column, timestamp) in self.exactly.get(row, ())

    def row(self, key: bytes, wanted: Wanted) -> Row | None:
        """Return the visible cells of the row; None if there are none, or if it lacks words that it must contain."""
        columns = wanted.columns
        cells: dict[bytes, Sequence[Cell]] = {}
        for column in self.rows.get(key, ()):
            is_wanted = columns is None or column in columns or column[: column.index(b":") + 1] in columns
            versions = self.versions(key, column, wanted.time_range)[: wanted.versions] if is_wanted else []
            if versions:
                cells[column] = versions
        if not cells:
            return None
        if words := wanted.containing:
            newest = self.versions(key, words.column, wanted.time_range)
            if not newest or not words.holds(newest[0].value):
                return None
        return Row(key, {} if wanted.keys_only else cells)

    def versions(self, key: bytes, column: bytes, times: TimeRange | None = None) -> list[Cell]:
        """Return the cells of a column that are visible, the newest first."""
        found = self.rows.get(key, {}).get(column, {})
        family, (since, until) = self.family(column), times or TimeRange()
        oldest = 0 if family.ttl is None else clock.milliseconds() - family.ttl * 1000
        newest = sorted(found, reverse=True)[: family.versions]
        alive = [at for place, at in enumerate(newest) if at >= oldest or place < family.min_versions]
        return [Cell(at, found[at]) for at in alive if since <= at < until]

    def value_bytes(self) -> int:
        """Return the bytes of all values."""
        return sum(len(one) for row in self.rows.values() for cells in row.values() for one in cells.values())

    def keys_in(self, keys: KeyRange, *, reverse: bool) -> list[bytes]:
        """Return the keys of the first rows of a range; fewer than fit into a piece are all there are."""
        first = bisect.bisect_left(self.keys, keys.start)
        stop = bisect.bisect_left(self.keys, keys.stop) if keys.stop else len(self.keys)
        if reverse:
            return self.keys[max(first, stop - PIECE) : stop][::-1]
        return self.keys[first : min(stop, first + PIECE)]


def _check_timestamp(row: bytes, timestamp: int) -> None:
    if not 0 <= timestamp < _LATEST:
        raise StoreRefused(f"row {row[:80]!r}: timestamp {timestamp} must be from 0 to 2**63 - 2")
