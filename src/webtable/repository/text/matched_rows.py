"""Rows matched by a thread, a little ahead of the caller, who reads them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from webtable._threads import Task, Threads
from webtable.errors import DamagedRow
from webtable.repository.scanning.read_ahead import PIECE_ROWS, READ_AHEAD_BYTES
from webtable.repository.text.matcher import Hit
from webtable.store import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator


# Reading text out of HTML keeps the GIL: 6,443 real pages took 4.8 s with one thread, 5.0 with two and 5.2 with four.
MATCHERS = 1
"""How many threads match bodies, beside the caller's, which reads them."""
FEW_ROWS = 16
"""How many bodies are matched at once by a thread at most, and how many before any thread is started."""
FEW_BYTES = 256 * 1024
"""How many stored bytes of bodies are matched at once by a thread at most, but one body at least."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some rows that a thread matches, and how many bytes they have."""

    rows: Sequence[Row]
    size: int
    hits: Task[list[tuple[Row, Hit | DamagedRow]]]


def matched(
    rows: Iterator[Row], match: Callable[[Row], Hit | DamagedRow | None], body: bytes
) -> Generator[tuple[Row, Hit | DamagedRow]]:
    """Yield the rows that *match* has a hit for, with it, in order.

    They are matched by threads, ahead of the caller: at most READ_AHEAD_BYTES of what is stored in the column *body*,
    and no more rows than have been matched so far, so that a few hits do not cost the bodies behind them.
    """
    for row in islice(rows, FEW_ROWS):
        if (hit := match(row)) is not None:
            yield row, hit
    # Threads are not started before there is work for them.
    pool = Threads(MATCHERS, "webtable-search")
    ahead: deque[_Piece] = deque()
    done = FEW_ROWS
    try:
        for some, size in _pieces(rows, body):
            ahead.append(_Piece(some, size, pool.submit(partial(_hits, some, match))))
            while ahead and (ahead[0].hits.done() or _is_far(ahead, done)):
                done += len(ahead[0].rows)
                yield from ahead.popleft().hits.result()
        while ahead:
            yield from ahead.popleft().hits.result()
    finally:
        for piece in ahead:
            piece.hits.cancel()
        pool.close()


def _is_far(ahead: Sequence[_Piece], done: int) -> bool:
    rows, size = sum(len(piece.rows) for piece in ahead), sum(piece.size for piece in ahead)
    return rows >= min(done, PIECE_ROWS) or size >= READ_AHEAD_BYTES


def _pieces(rows: Iterator[Row], body: bytes) -> Iterator[tuple[list[Row], int]]:
    piece: list[Row] = []
    size = 0
    for row in rows:
        piece.append(row)
        size += len(row.value(body) or b"")
        if len(piece) >= FEW_ROWS or size >= FEW_BYTES:
            yield piece, size
            piece, size = [], 0
    if piece:
        yield piece, size


def _hits(rows: Sequence[Row], match: Callable[[Row], Hit | DamagedRow | None]) -> list[tuple[Row, Hit | DamagedRow]]:
    return [(row, hit) for row in rows if (hit := match(row)) is not None]
