"""Rows read in pieces: as many at once as fit into so many bytes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from webtable.store import Row, Store, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webtable.repository.scanning.scan import ScanSpec

T = TypeVar("T")

BODY_ROWS = 64
"""How many rows are read at once at most where bodies are added to rows that were merged without them."""
BODY_BYTES = 8 * 2**20
"""How many bytes are read at once where bodies are, but one row at least."""
FIRST_UNWEIGHED = 8
"""How many rows are read first where nothing tells how large they are."""


def in_full(store: Store, spec: ScanSpec, rows: Iterator[Row]) -> Iterator[Row]:
    """Yield *rows* in their order with all columns of *spec*: bodies are read only for the rows that are given out.

    A row that has a weight and is not found by its key comes as it is: who makes a page of it looks why.
    """
    most = BODY_ROWS if spec.limit is None else min(BODY_ROWS, spec.limit)
    if spec.weight is not None:
        weigh = spec.weight
        for piece in together(((row, weigh(row)) for row in rows), most):
            found = store.read(spec.table, [row.key for row in piece], Wanted(spec.wanted.columns))
            yield from (whole or row for row, whole in zip(piece, found, strict=True))
        return
    for some in _unweighed(store, spec, rows, most):
        yield from (row for row in some if row is not None)


def _unweighed(store: Store, spec: ScanSpec, rows: Iterator[Row], most: int) -> Iterator[list[Row | None]]:
    """Yield the rows in full, as many at once as would take `BODY_BYTES` if all were as large as the largest."""
    count = FIRST_UNWEIGHED
    while piece := [row.key for row in islice(rows, min(count, most))]:
        found = store.read(spec.table, piece, Wanted(spec.wanted.columns))
        yield found
        largest = max(
            sum(len(cell.value) for cells in row.cells.values() for cell in cells) if row else 0 for row in found
        )
        count = min(max(BODY_BYTES // (largest + 1), 1), count * 2)


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
