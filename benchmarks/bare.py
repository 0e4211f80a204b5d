"""The peer of the embedded store: the same cells in one bare SQLite table."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING

from webtable.rowkey import KeyRange
from webtable.store import NewCell, Put

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from webtable import Page, WebTable
    from webtable.store import Row

Cell = tuple[bytes, bytes, bytes, int, bytes]
"""Row, family, qualifier, negative timestamp (so that the newest is first), value."""

BATCH_BYTES = 8 * 2**20
BATCH_PAGES = 500


@contextmanager
def database(path: Path) -> Iterator[sqlite3.Connection]:
    """Lend a new file with the table, in WAL mode and as durable as the embedded store: synced at each commit."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(
            "CREATE TABLE cells (row BLOB, family BLOB, qualifier BLOB, timestamp INTEGER, value BLOB,"
            " PRIMARY KEY (row, family, qualifier, timestamp)) WITHOUT ROWID"
        )
        yield connection
    finally:
        connection.close()


def insert(connection: sqlite3.Connection, batches: Iterable[Sequence[Cell]]) -> None:
    """Store the cells, a transaction a batch."""
    for batch in batches:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?)", batch)
        connection.execute("COMMIT")


def stored_rows(table: WebTable) -> list[Row]:
    """Return all rows of a web table with all their cells as they are stored."""
    return list(table.store.scan(table.table, [KeyRange(b"", b"")]))


def cells_of(row: Row) -> list[Cell]:
    """Return the cells of a row as the bare table has them."""
    return [
        (row.key, *column.split(b":", 1), -cell.timestamp, cell.value)  # type: ignore[misc]
        for column, versions in row.cells.items()
        for cell in versions
    ]


def batches_of(pages: Sequence[Page], table: WebTable) -> list[list[Cell]]:
    """Return the stored cells of *pages* in their order, cut into transactions where a writer cuts them."""
    rows = {row.key: row for row in stored_rows(table)}
    batches: list[list[Cell]] = [[]]
    size = count = 0
    for page in pages:
        batches[-1] += cells_of(rows[table.key.encode(page.url)])
        size += 1_000 + len(page.body or b"")
        count += 1
        if size >= BATCH_BYTES or count == BATCH_PAGES:
            batches.append([])
            size = count = 0
    return batches


def puts_of(cells: Iterable[Cell]) -> list[Put]:
    """Return the same cells as the store port takes them, those of a row together."""
    rows = groupby(cells, key=lambda cell: cell[0])
    return [Put(row, [NewCell(b"%b:%b" % cell[1:3], -cell[3], cell[4]) for cell in some]) for row, some in rows]
