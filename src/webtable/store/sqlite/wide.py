"""A row wider than memory: a family of it, some columns at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.store.rows import Cell
from webtable.store.sqlite.failures import check_cell

if TYPE_CHECKING:
    import sqlite3

    from webtable.rowkey import KeyRange
    from webtable.store.sqlite.catalogue import Family


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
