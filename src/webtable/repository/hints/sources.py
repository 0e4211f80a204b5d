"""Who links to a page: the columns of its inlinks, those of many rows in one call, a wide row in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.repository.hints.inlinks import CURRENT_SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.rowkey import KeyRange
    from webtable.store import Cell, Store

NARROW = 100
"""How many inlinks of a row are read together with those of others; the rest is read by itself."""
PIECE = 10_000
"""How many inlinks of one row are in memory at once."""
ROWS_AT_ONCE = 500


def inlinks_of(
    store: Store, table: str, family: bytes, rows: Sequence[bytes], sources: KeyRange = CURRENT_SOURCES
) -> Iterator[tuple[bytes, Sequence[tuple[bytes, Cell]]]]:
    """Yield the inlinks of each of *rows* as they are now, or from other *sources*, without their values, in pieces.

    A row has one piece at least, which is empty where nobody links to it; its pieces follow one another.
    """
    for at in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[at : at + ROWS_AT_ONCE]
        found = store.read_cells(table, some, family, sources, limit=NARROW, keys_only=True)
        for row, cells in zip(some, found, strict=True):
            yield row, cells
            if len(cells) == NARROW:
                yield from _rest(store, table, family, row, sources, cells[-1][0])


def _rest(
    store: Store, table: str, family: bytes, row: bytes, sources: KeyRange, last: bytes
) -> Iterator[tuple[bytes, Sequence[tuple[bytes, Cell]]]]:
    """Yield the inlinks of *row* behind the column *last*."""
    while True:
        behind = sources.after(last[len(family) + 1 :])
        (cells,) = store.read_cells(table, [row], family, behind, limit=PIECE, keys_only=True)
        yield row, cells
        if len(cells) < PIECE:
            return
        last = cells[-1][0]
