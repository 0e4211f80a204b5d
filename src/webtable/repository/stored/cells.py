"""The cells of rows: limits of what is read at once, and the removal of single cells."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from webtable._clock import milliseconds
from webtable.errors import CapabilityError
from webtable.store import Delete, Put, TimeRange
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from webtable.rowkey import KeyRange
    from webtable.store import Cell, Row, Store

T = TypeVar("T")

NARROW = 100
"""How many cells of a row are read together with those of others; the rest is read separately."""
PIECE = 10_000
"""How many cells of one row are in memory at once."""
ROWS_AT_ONCE = 500

BODY_ROWS = 64
"""How many rows are read at once at most to add bodies to rows that were merged without them."""
BODY_BYTES = 8 * 2**20
"""How many bytes are read at once if bodies are read; at least one row."""


def together(weighed: Iterable[tuple[T, int]], most: int = BODY_ROWS) -> Iterator[list[T]]:
    """Yield the *weighed* items, given with their bytes, in lists of at most `BODY_BYTES` and at most *most* items.

    >>> list(together([("a", 5 * 2**20), ("b", 5 * 2**20), ("c", 1)]))
    [['a'], ['b', 'c']]
    """
    some: list[T] = []
    total = 0
    for one, weight in weighed:
        if some and (len(some) == most or total + weight > BODY_BYTES):
            yield some
            some, total = [], 0
        some.append(one)
        total += weight
    if some:
        yield some


def cells_of(
    store: Store, table: str, family: bytes, rows: Sequence[bytes], columns: KeyRange, *, keys_only: bool = False
) -> Iterator[tuple[bytes, Sequence[tuple[bytes, Cell]]]]:
    """Yield the cells of a *family* with qualifiers in *columns*, of each of *rows*, in pieces.

    A row has at least one piece, which is empty if it has no such cells; its pieces follow one another.
    """
    for at in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[at : at + ROWS_AT_ONCE]
        found = store.read_cells(table, some, family, columns, limit=NARROW, keys_only=keys_only)
        for row, cells in zip(some, found, strict=True):
            yield row, cells
            limit = NARROW
            while len(cells) == limit:
                limit, rest = PIECE, columns.after(cells[-1][0][len(family) + 1 :])
                (cells,) = store.read_cells(table, [row], family, rest, limit=limit, keys_only=keys_only)
                yield row, cells


class RemovedCells(NamedTuple):
    """The cells of a `column` at or below a `timestamp`; if `exact`, only those at it."""

    column: bytes
    timestamp: int
    exact: bool = False


def removals(column: bytes, until: int, dates: Iterable[datetime | None], now: int) -> list[RemovedCells]:
    """Return the cells of a column that were written up to *until*, with *dates* among others.

    None goes beyond *now*: if a page dated in the future is deleted, its next capture has an earlier date, and would be
    hidden. Cells with later dates are removed one by one.
    """
    stamps = {milliseconds(date) for date in dates if date is not None}
    later = [RemovedCells(column, stamp, exact=True) for stamp in sorted(stamps) if now < stamp <= until]
    return [RemovedCells(column, min(until, now)), *later]


def later_removed(
    store: Store,
    table: str,
    found: Row,
    columns: Sequence[bytes] | None,
    now: int,
    *,
    on_dates: Callable[[Sequence[int]], None] | None = None,
) -> tuple[Sequence[int], int]:
    """Remove the cells of a row with dates after *now*; return these dates, and up to when a delete must hide the rest.

    *found* is the row with its newest cells in *columns* (None: all). A delete must hide cells up to *now*; if it went
    up to the newest cell, it would also hide cells that are put until then. If a store cannot remove single cells, no
    cells are removed, and the delete must go up to the newest one.
    """
    newest = max(cell.timestamp for cells in found.cells.values() for cell in cells)
    dates: set[int] = set()
    # Repeated while there are any: after a cell is removed HBase may show the one that it had replaced.
    while newest > now and (cells := _later_cells(store, table, found.key, columns, now)):
        dates.update(timestamp for _, timestamp in cells)
        if on_dates is not None:
            on_dates(sorted(dates))
        try:
            written(store, table, [Delete(found.key, timestamp, [column], exact=True) for column, timestamp in cells])
        except CapabilityError:
            return (), newest
    return sorted(dates), now


def _later_cells(
    store: Store, table: str, row: bytes, columns: Sequence[bytes] | None, now: int
) -> list[tuple[bytes, int]]:
    (later,) = store.read(table, [row], Wanted(columns, time_range=TimeRange(now + 1)))
    return [(column, cell.timestamp) for column, some in later.cells.items() for cell in some] if later else []


def written(store: Store, table: str, mutations: Sequence[Put | Delete]) -> None:
    """Write *mutations*; raises the first error."""
    for error in store.write(table, mutations) if mutations else ():
        if error is not None:
            raise error


def removed(store: Store, table: str, mutations: Sequence[Put | Delete]) -> None:
    """Write *mutations*, of which some may be exact deletes, to any store; raises the first error.

    If the store cannot remove single cells, such a delete hides all up to its date, as that of a page then does.
    """
    again: list[Delete] = []
    for one, error in zip(mutations, store.write(table, mutations), strict=True):
        if isinstance(error, CapabilityError) and isinstance(one, Delete):
            again.append(replace(one, exact=False))
        elif error is not None:
            raise error
    written(store, table, again)
