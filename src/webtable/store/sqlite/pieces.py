"""Reading in pieces: what one transaction reads of some ranges, and of a row wider than memory some columns."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable.store.rows import Cell
from webtable.store.sqlite.failures import check_cell

if TYPE_CHECKING:
    import sqlite3

    from webtable.rowkey import KeyRange
    from webtable.store.rows import Row
    from webtable.store.sqlite.catalogue import Family
    from webtable.store.sqlite.reader import Reader

FIRST_PIECE: Final = 64
LARGEST_PIECE: Final = 512
PIECE_BYTES: Final = 1024 * 1024
"""A piece of a scan ends with the row that reaches this size, whatever its number of rows."""
PIECE_SECONDS: Final = 1.0
"""It ends also with the first row after this time: rows that hold some words may be far apart."""


def next_piece(reader: Reader, ranges: list[KeyRange], wanted: int, reverse: bool) -> tuple[list[Row], list[KeyRange]]:
    """Return the next rows of *ranges*, and what is left of the ranges behind them."""
    rows: list[Row] = []
    total = 0
    last = clock.monotonic() + PIECE_SECONDS
    for number, keys in enumerate(ranges, 1):
        with closing(reader.rows(keys, reverse=reverse)) as found:
            for row, size in found:
                rows.append(row)
                total += size
                if len(rows) == wanted or total >= PIECE_BYTES or clock.monotonic() > last:
                    rest = keys.before(row.key) if reverse else keys.after(row.key)
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
    # The newest cell of a column outlives the TTL where any of them does.
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
