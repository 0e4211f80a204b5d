"""The SQL statements that read the cells of one family, and the conversion of their results to rows.

Cells hidden by a delete are not in the tables (see writes.py), so two rules remain: of a column the newest `versions`
cells count, and of those the TTL hides the older ones, except the first `min_versions`. The time range and the wanted
number of versions select among the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from webtable.errors import StoreRefused
from webtable.schema import ALL_VERSIONS
from webtable.store.rows import Cell, TimeRange
from webtable.store.sqlite.failures import check_cell

if TYPE_CHECKING:
    import sqlite3

    from webtable.schema import FamilySchema
    from webtable.store.rows import Wanted
    from webtable.store.sqlite.catalogue import Family, StoredTable

MOST_NAMED: Final = 64
"""The most columns that a statement names individually: SQLite allows 500 in one."""
ONE_ROW: Final = "row = :start"
_ORDER: Final = "ORDER BY row, qualifier, timestamp DESC"

Found = tuple[bytes, dict[bytes, Sequence[Cell]], int]
"""A key, its cells, and the total bytes of their values."""


class FamilyQuery:
    """The SQL for one family, and the conversion of its results to rows."""

    def __init__(self, family: Family, qualifiers: list[bytes] | None, wanted: Wanted) -> None:
        schema = family.schema
        self._family = family
        self._versions = wanted.versions
        self.cells: Final = f"cells_{family.id}"
        self.parameters: dict[str, object] = {}
        self.chosen: str = ""
        self.alive: str = ""
        named: dict[str, bytes] = {}
        if qualifiers is not None:
            named = {f"q{family.id}_{i}": qualifier for i, qualifier in enumerate(qualifiers)}
            self.parameters.update(named)
            self.chosen = f"qualifier IN ({', '.join(':' + name for name in named)})"
        if schema.ttl is not None and not schema.min_versions:
            self.alive = f" AND timestamp >= :cutoff{family.id}"

        self._is_plain = wanted.versions == 1 and wanted.time_range is None
        if self._is_plain:
            # With max() SQLite reads the value of the newest cell and skips the others without reading theirs.
            grouped = schema.versions > 1
            self.select = "row, qualifier, max(timestamp), value" if grouped else "row, qualifier, timestamp, value"
            self.order = "GROUP BY row, qualifier ORDER BY row, qualifier" if grouped else _ORDER
            among, own = "row, qualifier, timestamp, value", ""
        else:
            since, until = wanted.time_range or TimeRange()
            value = "x''" if wanted.keys_only else "value"
            self.select = (
                f"row, qualifier, timestamp, CASE WHEN timestamp >= :since AND timestamp < :until THEN {value} END"
            )
            self.parameters.update(since=_signed(since), until=_signed(until))
            self.order = _ORDER
            among = f"row, qualifier, timestamp, {value}"
            own = "" if wanted.time_range is None else " AND timestamp >= :since AND timestamp < :until"
        self._of_row = self._select(ONE_ROW)
        if (
            0 < len(named) <= MOST_NAMED
            and schema.versions == ALL_VERSIONS
            and (schema.ttl is None or not schema.min_versions)
        ):
            each = (
                f"SELECT {among} FROM {self.cells} WHERE row = :start AND qualifier = :{name}{self.alive}{own}"
                f" ORDER BY timestamp DESC LIMIT {wanted.versions}"
                for name in named
            )
            # If a column may have any number of cells, this skips none of them.
            self._of_row = " UNION ALL ".join(f"SELECT * FROM ({one})" for one in each)

    def decode(self, records: sqlite3.Cursor, now: int) -> Iterator[Found]:
        """Return the rows in *records*, as visible at *now*."""
        prefix, schema = self._family.prefix, self._family.schema
        if self._is_plain:
            return _newest(prefix, records)
        return _versions(prefix, schema, self._family.oldest_visible(now), self._versions, records)

    def parameters_at(self, now: int) -> dict[str, object]:
        """Return the parameters of the statements."""
        if not self.alive:
            return self.parameters
        return {**self.parameters, f"cutoff{self._family.id}": self._family.oldest_visible(now)}

    def keys(self, where: str) -> str:
        """Return the statement for the keys of the rows *where*."""
        return f"SELECT DISTINCT row FROM {self.cells} WHERE {self._condition(where)}"

    def statement(self, where: str) -> str:
        """Return the statement for the cells *where*."""
        return self._of_row if where == ONE_ROW else self._select(where)

    def _select(self, where: str) -> str:
        return f"SELECT {self.select} FROM {self.cells} WHERE {self._condition(where)} {self.order}"

    def _condition(self, where: str) -> str:
        if self.chosen:
            # In a range of rows the plus keeps SQLite from taking a single qualifier for a constant, and then sorting.
            where += f" AND {self.chosen}" if where == ONE_ROW else f" AND +{self.chosen}"
        return where + self.alive


def wanted_families(table: StoredTable, columns: Sequence[bytes] | None) -> list[tuple[Family, list[bytes] | None]]:
    """Return the families that *columns* are in, each with its qualifiers; None for all of them."""
    if columns is None:
        return [(family, None) for family in table.families.values()]
    wanted: dict[bytes, list[bytes] | None] = {}
    for column in columns:
        name, colon, qualifier = column.partition(b":")
        if name + colon not in table.families:
            raise StoreRefused(f"table {table.schema.name!r} has no family {name.decode(errors='replace')!r}")
        qualifiers = wanted.setdefault(name + colon, [])
        if not qualifier:
            wanted[name + colon] = None
        elif qualifiers is not None:
            qualifiers.append(qualifier)
    return [(family, wanted[prefix]) for prefix, family in table.families.items() if prefix in wanted]


def merged_rows(streams: list[Iterator[Found]]) -> Iterator[Found]:
    """Return the rows of several families as one stream, in the order of their keys."""
    # A generator around a single stream would take a twentieth of the time of a listing.
    return streams[0] if len(streams) == 1 else _merged(streams)


def _merged(streams: list[Iterator[Found]]) -> Iterator[Found]:
    heads: list[tuple[Found, Iterator[Found]]] = [(head, s) for s in streams if (head := next(s, None)) is not None]
    while heads:
        key = min(heads, key=_key_of_head)[0][0]
        cells: dict[bytes, Sequence[Cell]] = {}
        size = 0
        rest = []
        for entry in heads:
            head, stream = entry
            if head[0] != key:
                rest.append(entry)
                continue
            cells |= head[1]
            size += head[2]
            if (following := next(stream, None)) is not None:
                rest.append((following, stream))
        heads = rest
        yield key, cells, size


def _key_of_head(entry: tuple[Found, Iterator[Found]]) -> bytes:
    return entry[0][0]


def _newest(prefix: bytes, records: Iterable[tuple[bytes, bytes, int, bytes]]) -> Iterator[Found]:
    """Yield the rows of one family with the first, that is the newest, cell of each column."""
    current = b""  # never a valid key
    cells: dict[bytes, Sequence[Cell]] = {}
    size = 0
    names: dict[bytes, bytes] = {}
    new = tuple.__new__  # three times as fast as calling Cell
    for key, qualifier, timestamp, value in records:
        if key != current:
            if cells:
                yield current, cells, size
            current, cells, size = key, {}, 0
        try:
            column = names[qualifier]
        except KeyError:
            check_cell(key, qualifier, timestamp, value)
            column = names[qualifier] = prefix + qualifier
        if column not in cells:
            if type(value) is not bytes or type(timestamp) is not int:
                check_cell(key, qualifier, timestamp, value)
            cells[column] = (new(Cell, (timestamp, value)),)
            size += len(value)
    if cells:
        yield current, cells, size


def _versions(
    prefix: bytes,
    schema: FamilySchema,
    cutoff: int,
    wanted: int,
    records: Iterable[tuple[bytes, bytes, int, bytes | None]],
) -> Iterator[Found]:
    """Yield the rows of one family with the *wanted* newest cells of each column that have a value in *records*."""
    current, column = b"", b""
    cells: dict[bytes, Sequence[Cell]] = {}
    versions: list[Cell] = []
    size = kept = 0
    for key, qualifier, timestamp, value in records:
        if key != current:
            if cells:
                yield current, cells, size
            current, column, cells, size = key, b"", {}, 0
        check_cell(key, qualifier, timestamp, value or b"")
        if (name := prefix + qualifier) != column:
            column, versions, kept = name, [], 0
        kept += 1
        if (
            value is not None
            and len(versions) < wanted
            and kept <= schema.versions
            and (timestamp >= cutoff or kept <= schema.min_versions)
        ):
            versions.append(Cell(timestamp, value))
            cells[column] = versions
            size += len(value)
    if cells:
        yield current, cells, size


def _signed(timestamp: int) -> int:
    return max(-(2**63), min(timestamp, 2**63 - 1))
