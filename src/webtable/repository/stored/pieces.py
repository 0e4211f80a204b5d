"""How much is read at once: bodies in so many bytes, the cells of wide rows in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.rowkey import KeyRange
    from webtable.store import Cell, Store


T = TypeVar("T")

NARROW = 100
"""How many cells of a row are read together with those of others; the rest is read by itself."""
PIECE = 10_000
"""How many cells of one row are in memory at once."""
ROWS_AT_ONCE = 500

BODY_ROWS = 64
"""How many rows are read at once at most where bodies are added to rows that were merged without them."""
BODY_BYTES = 8 * 2**20
"""How many bytes are read at once where bodies are, but one row at least."""


def together(weighed: Iterable[tuple[T, int]], most: int = BODY_ROWS) -> Iterator[list[T]]:
    """Yield what is *weighed*, each with its bytes, in lists of `BODY_BYTES` and of *most* items at most.

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
    """Yield the cells of a *family* of each of *rows*, in pieces: those of the qualifiers in *columns*.

    A row has one piece at least, which is empty where it has none of these cells; its pieces follow one another.
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
