"""How much is read at once where there are bodies: as much as fits into so many bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


T = TypeVar("T")

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
