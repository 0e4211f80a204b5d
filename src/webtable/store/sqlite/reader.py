"""Reads: rows from the cells of several families, in pieces of limited size.

One transaction reads one piece: some rows of the ranges, or some columns of a row larger than memory.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from webtable._clock import clock
from webtable.store.rows import Cell, Containing, Row, Wanted
from webtable.store.sqlite.failures import DamagedCells, check_cell
from webtable.store.sqlite.statements import MOST_NAMED, ONE_ROW, FamilyQuery, Found, merged_rows, wanted_families

if TYPE_CHECKING:
    from collections.abc import Generator

    from webtable.rowkey import KeyRange
    from webtable.store.sqlite.catalogue import Family, StoredTable

SEARCH_SECONDS: Final = 1.0
"""How long rows with the words are searched before another row is returned instead."""
FIRST_PIECE: Final = 64
LARGEST_PIECE: Final = 512
PIECE_BYTES: Final = 1024 * 1024
"""A piece of a scan ends with the row that reaches this size, whatever its number of rows."""
PIECE_SECONDS: Final = 1.0
"""It also ends with the first row after this time, because rows with the words may be far apart."""


def reader(connection: sqlite3.Connection, table: StoredTable, wanted: Wanted, now: int) -> Reader:
    """Return a reader of the *wanted* parts of rows of *table*, as the connection sees it.

    Raises `StoreRefused` for a family that the table does not have.
    """
    # Selections of many columns are not cached: they would take memory, and do not recur.
    make = _sources if len(wanted.columns or ()) <= MOST_NAMED else _sources.__wrapped__
    search = None
    if wanted.containing:
        column = Wanted([wanted.containing.column], time_range=wanted.time_range)
        search = _WordSearch(reader(connection, table, column, now), wanted.containing)
    return Reader(
        connection,
        make(table, wanted),
        now,
        only_keys=wanted.keys_only,
        plain=wanted.time_range is None,
        search=search,
    )


@lru_cache(maxsize=64)
def _sources(table: StoredTable, wanted: Wanted) -> list[FamilyQuery]:
    """Return the families of *table* that are *wanted*; usually those of an earlier call."""
    return [FamilyQuery(family, qualifiers, wanted) for family, qualifiers in wanted_families(table, wanted.columns)]


class Reader(msgspec.Struct):
    """Rows from one connection in one transaction; `close` ends its statements."""

    connection: sqlite3.Connection
    sources: list[FamilyQuery]
    now: int
    only_keys: bool
    plain: bool
    search: _WordSearch | None
    parameters: dict[str, object] = {}

    def __post_init__(self) -> None:
        for source in self.sources:
            self.parameters |= source.parameters_at(self.now)

    def row(self, key: bytes) -> Row | None:
        """Return the row, None if nothing of it is visible."""
        with closing(self._found(ONE_ROW, key, b"")) as found:
            for _, cells, _ in found:
                return Row(key, cells)
        return None

    def rows(self, keys: KeyRange, *, reverse: bool = False) -> Generator[Found, None, None]:
        """Return the rows of a range; close the generator if it is not read to its end."""
        where = "row >= :start AND row < :stop" if keys.stop else "row >= :start"
        if self.search is not None:
            return self._each(self.search.keys(keys, reverse))
        if self.only_keys and self.plain:
            return self._bare(self._keys(where, keys, "row DESC" if reverse else "row"))
        if reverse:
            # Versions must come newest first in reverse too, so each row is read separately.
            return self._each(self._keys(where, keys, "row DESC"))
        return self._found(where, keys.start, keys.stop)

    def _each(self, keys: Generator[bytes, None, None]) -> Generator[Found, None, None]:
        with closing(keys):
            for key in keys:
                yield from self._found(ONE_ROW, key, b"")

    def _bare(self, keys: Generator[bytes, None, None]) -> Generator[Found, None, None]:
        with closing(keys):
            for key in keys:
                yield key, {}, len(key)

    def _keys(self, where: str, keys: KeyRange, order: str) -> Generator[bytes, None, None]:
        if not self.sources:
            return
        union = " UNION ".join(source.keys(where) for source in self.sources)
        parameters = {**self.parameters, "start": keys.start, "stop": keys.stop}
        with closing(self.connection.execute(f"{union} ORDER BY {order}", parameters)) as cursor:
            for (key,) in cursor:
                if type(key) is not bytes:
                    raise DamagedCells("a row's key is none")
                yield key

    def _found(self, where: str, start: bytes, stop: bytes) -> Generator[Found, None, None]:
        parameters = {**self.parameters, "start": start, "stop": stop}
        cursors = [self.connection.execute(source.statement(where), parameters) for source in self.sources]
        try:
            streams = [source.decode(cursor, self.now) for source, cursor in zip(self.sources, cursors, strict=True)]
            yield from merged_rows(streams)
        finally:
            for cursor in cursors:
                cursor.close()


class _WordSearch(msgspec.Struct, frozen=True):
    """A search for rows with some words, by a reader of the searched column."""

    values: Reader
    containing: Containing

    def keys(self, keys: KeyRange, reverse: bool) -> Generator[bytes, None, None]:
        """Yield the keys of the rows with the words in a range, and another key whenever there was none for long.

        So nobody waits for a row as long as reading all of a large table takes.
        """
        last = clock.monotonic() + SEARCH_SECONDS
        with closing(self.values.rows(keys, reverse=reverse)) as rows:
            for key, cells, _ in rows:
                if self.containing.holds(Row(key, cells).value(self.containing.column)) or clock.monotonic() > last:
                    yield key
                    last = clock.monotonic() + SEARCH_SECONDS


def next_piece(reader: Reader, ranges: list[KeyRange], wanted: int, reverse: bool) -> tuple[list[Row], list[KeyRange]]:
    """Return the next rows of *ranges*, and the rest of the ranges after them."""
    rows: list[Row] = []
    total = 0
    last = clock.monotonic() + PIECE_SECONDS
    new = tuple.__new__  # three times as fast as calling Row
    for number, keys in enumerate(ranges, 1):
        with closing(reader.rows(keys, reverse=reverse)) as found:
            for key, cells, size in found:
                rows.append(new(Row, (key, {} if reader.only_keys else cells)))
                total += size
                if len(rows) == wanted or total >= PIECE_BYTES or clock.monotonic() > last:
                    rest = keys.before(key) if reverse else keys.after(key)
                    return rows, [rest, *ranges[number:]]
    return rows, []


def first_rows(reader: Reader, keys: KeyRange, limit: int, reverse: bool) -> list[Row]:
    """Return the first *limit* rows of a range, of whatever size: fewer mean that there are no more."""
    rows: list[Row] = []
    left = [keys]
    while left and len(rows) < limit:
        piece, left = next_piece(reader, left, limit - len(rows), reverse)
        rows += piece
    return rows


def cells_of(
    connection: sqlite3.Connection,
    family: Family,
    row: bytes,
    qualifiers: KeyRange,
    limit: int,
    *,
    keys_only: bool,
    now: int,
) -> list[tuple[bytes, Cell]]:
    """Return the first *limit* columns of a row in *qualifiers*, each with its newest cell that is visible *now*."""
    value = "x''" if keys_only else "value"
    below = " AND qualifier < :stop" if qualifiers.stop else ""
    # If any cell of a column is within the TTL, the newest one is.
    oldest = 0 if family.schema.min_versions else family.oldest_visible(now)
    found = connection.execute(
        f"SELECT qualifier, max(timestamp), {value} FROM cells_{family.id}"
        f" WHERE row = :row AND qualifier >= :start{below} AND timestamp >= :oldest"
        " GROUP BY qualifier ORDER BY qualifier LIMIT :limit",
        {
            "row": row,
            "start": qualifiers.start,
            "stop": qualifiers.stop,
            "oldest": oldest,
            "limit": min(limit, 2**63 - 1),
        },
    )
    cells: list[tuple[bytes, Cell]] = []
    for qualifier, timestamp, stored in found:
        check_cell(row, qualifier, timestamp, stored)
        cells.append((family.prefix + qualifier, Cell(timestamp, stored)))
    return cells
