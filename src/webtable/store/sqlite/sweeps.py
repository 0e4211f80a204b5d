"""Sweeping: cells that nobody sees and old delete markers are removed, in slices of a family, along with writes.

A crawl that fetches its pages again removes entries of indexes all the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webtable.store.sqlite.catalogue import Family, find_table
from webtable.store.sqlite.connections import Database, check_cell

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator

    from webtable.schema import FamilySchema


SLICE: Final = 2000
"""How many cells, or delete markers, are swept at once."""

DELETES_HIDE: Final = 86_400_000
"""For how many milliseconds a delete hides later writes: a day, within which an interrupted crawl has been resumed, and
an uncertain batch written again."""

_Place = tuple[bytes, bytes, int]


def sweep(connection: sqlite3.Connection, family: Family, now: int, *, start: bytes | None = None) -> bytes:
    """Remove the cells that are no longer visible from a slice of a family, and return where the next slice begins.

    That is b"" after the last slice. Without *start* it goes on where the last such sweep, of any process, has ended.
    """
    begin = _came_to(connection, family, "swept") if start is None else start
    following = _slice_end(connection, f"cells_{family.id}", begin)
    # Without a stop its condition is left out: with an OR instead SQLite would read to the end of the table.
    below = " AND row < ?" if following else ""
    # Counted here, which is twice as fast as a window function of SQLite.
    cells = connection.execute(
        f"SELECT row, qualifier, timestamp FROM cells_{family.id} WHERE row >= ?{below}"
        " ORDER BY row, qualifier, timestamp DESC",
        (begin, following) if following else (begin,),
    )
    connection.executemany(
        f"DELETE FROM cells_{family.id} WHERE row = ? AND qualifier = ? AND timestamp = ?",
        list(_unseen(cells, family.schema, family.oldest_visible(now))),
    )
    if start is None:
        connection.execute("UPDATE families SET swept = ? WHERE id = ?", (following, family.id))
    return following


def sweep_deletes(connection: sqlite3.Connection, family: Family, now: int) -> None:
    """Remove the delete markers that are old enough, or can hide nothing, from a slice of a family.

    It goes on where the last such sweep, of any process, has ended.
    """
    start = _came_to(connection, family, "swept_deletes")
    following = _slice_end(connection, f"deletes_{family.id}", start)
    below = " AND row < :stop" if following else ""
    # Cells older than the TTL are hidden by that as well, unless `min_versions` keeps some.
    cutoff = 0 if family.schema.min_versions else family.oldest_visible(now)
    connection.execute(
        f"DELETE FROM deletes_{family.id} WHERE row >= :start{below} AND (made <= :old OR timestamp < :cutoff)",
        {"start": start, "stop": following, "old": now - DELETES_HIDE, "cutoff": cutoff},
    )
    if start or following:
        connection.execute("UPDATE families SET swept_deletes = ? WHERE id = ?", (following, family.id))


def sweep_all(database: Database, name: str, clock: Callable[[], int]) -> None:
    """Remove all invisible cells of a table, and its delete markers; does nothing if it is missing."""
    with database.reader() as connection:
        table = find_table(connection, name)
    for prefix in table.families if table else ():
        start: bytes | None = b""
        while start is not None:
            # One transaction per slice, so that other writers wait no longer than for a write.
            with database.writer(f"compacting table {name!r}") as connection:
                table = find_table(connection, name)
                if table is None or prefix not in table.families:
                    return
                family = table.families[prefix]
                start = sweep(connection, family, clock(), start=start) or None
                if start is None:
                    # The cells that they have hidden are removed already.
                    connection.execute(f"DELETE FROM deletes_{family.id}")
                    # The places of later sweeps are keys of rows, which may be deleted ones.
                    connection.execute(
                        "UPDATE families SET swept = x'', swept_deletes = x'' WHERE id = ?", (family.id,)
                    )


def _came_to(connection: sqlite3.Connection, family: Family, what: str) -> bytes:
    (row,) = connection.execute(f"SELECT {what} FROM families WHERE id = ?", (family.id,)).fetchone()
    return row if isinstance(row, bytes) else b""


def _slice_end(connection: sqlite3.Connection, table: str, start: bytes) -> bytes:
    """Return the row after the slice that begins at *start*, empty at the end; a wider row is one slice."""
    record = connection.execute(
        f"SELECT row FROM {table} WHERE row >= ? ORDER BY row LIMIT 1 OFFSET {SLICE}", (start,)
    ).fetchone()
    if not record:
        return b""
    check_cell(record[0], b"", 0, b"")
    return max(bytes(record[0]), start + b"\0")


def _unseen(cells: Iterable[_Place], schema: FamilySchema, cutoff: int) -> Iterator[_Place]:
    """Yield those of *cells*, the newest of each column first, that no reader sees."""
    column, number = (b"", b""), 0
    for cell in cells:
        row, qualifier, timestamp = cell
        check_cell(row, qualifier, timestamp, b"")
        if (row, qualifier) != column:
            column, number = (row, qualifier), 0
        number += 1
        if number > schema.versions or (timestamp < cutoff and number > schema.min_versions):
            yield cell
