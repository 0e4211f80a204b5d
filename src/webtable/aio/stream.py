"""Results for `async for`: read in pieces, each in a thread, one piece ahead of the caller."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from webtable._clock import clock
from webtable.page.page import Page, memory_of

if TYPE_CHECKING:
    from webtable._threads import Task
    from webtable.aio.calls import Calls

T = TypeVar("T")

FIRST_RESULTS = 128
"""How many results the first piece has at most: most questions have fewer answers."""
PIECE_RESULTS = 1_024
PIECE_BYTES = 8 * 2**20
"""How many bytes of pages a piece has at most, unless one page alone has more."""
PIECE_SECONDS = 0.05
"""After how many seconds a piece that has any results is returned: results may be rare."""


@dataclass(slots=True)
class _Piece(Generic[T]):
    """Some results, the error that came after them, and whether there are no more."""

    results: list[T]
    error: Exception | None = None
    is_last: bool = False


class _Reader(Generic[T]):
    """The synchronous iterator that *ask* returns, used by one thread at a time."""

    def __init__(self, ask: Callable[[], Iterator[T]]) -> None:
        self._ask = ask
        self._rows: Iterator[T] | None = None
        self._most = FIRST_RESULTS
        self._is_closed = False
        self._lock = threading.Lock()
        self._process = os.getpid()

    def piece(self) -> _Piece[T]:
        """Return the next results."""
        results: list[T] = []
        with self._lock:
            if self._is_closed:
                return _Piece(results, None, True)
            most, self._most = self._most, PIECE_RESULTS
            try:
                return _Piece(results, None, self._fill(results, most))
            except Exception as exc:  # noqa: BLE001 - raised when the caller reaches it
                return _Piece(results, exc)

    def _fill(self, results: list[T], most: int) -> bool:
        """Put the next results into *results*, and return whether there are no more."""
        if self._rows is None:
            self._rows = iter(self._ask())
        size, until = 0, clock.monotonic() + PIECE_SECONDS
        for one in self._rows:
            results.append(one)
            size += _weight(one)
            if len(results) >= most or size >= PIECE_BYTES or clock.monotonic() >= until:
                return False
        return True

    def close(self) -> None:
        """Close the iterator, after the piece that is being read; does nothing in a forked process."""
        if self._process != os.getpid():
            return
        with self._lock:
            self._is_closed = True
            close = getattr(self._rows, "close", None)
            self._rows = None
            if close is not None:
                close()


def _weight(one: object) -> int:
    """Return about how many bytes *one* takes, if these may be many."""
    return memory_of(one) if isinstance(one, Page) and (one.body is not None or one.outlinks is not None) else 0


class Stream(AsyncIterator[T]):
    """Results in order, for one task to read with `async for`; at most two pieces are in memory.

    Their source is closed at the end, when the reading task is cancelled, when the stream is dropped (a `break`), and
    by `aclose`.
    """

    def __init__(self, calls: Calls, ask: Callable[[], Iterator[T]]) -> None:
        self._calls = calls
        self._reader = _Reader(ask)
        self._ready: deque[T] = deque()
        self._error: Exception | None = None
        self._is_over = False
        self._coming: Task[_Piece[T]] | None = None
        # In a thread, because it may call the store.
        self._dropped = weakref.finalize(self, calls.submit, self._reader.close)
        self._dropped.atexit = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while not self._ready:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._is_over:
                raise StopAsyncIteration
            await self._take_piece()
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Close the source of the results, and return when that is done; no results follow."""
        self._end()
        await self._calls.run(self._reader.close)

    async def _take_piece(self) -> None:
        task = self._coming or self._calls.submit(self._reader.piece)
        self._coming = task
        try:
            piece = await asyncio.wrap_future(task.future())
        except asyncio.CancelledError:
            self._end()
            raise
        if self._coming is not task:
            return  # it was closed, or another task has taken it
        self._coming = None
        self._ready.extend(piece.results)
        self._error = piece.error
        if piece.is_last:
            self._end(keep=True)
        elif piece.error is None:
            self._coming = self._calls.submit(self._reader.piece)

    def _end(self, *, keep: bool = False) -> None:
        """Drop the reader, and what it has read unless that is to be kept."""
        self._is_over = True
        self._coming = None
        if not keep:
            self._ready.clear()
            self._error = None
        self._dropped()
