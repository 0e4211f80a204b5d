"""The iterator of a scan: one deadline for each row that it is asked for, and the next piece read ahead."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Final

from webtable.errors import OtherProcess, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.scanning.pieces import Pieces
    from webtable.store.hbase.workers import Workers
    from webtable.store.rows import Row

_AHEAD_FROM: Final = 2


def rows_of(pieces: Pieces, workers: Workers, deadline: Callable[[], Deadline]) -> Iterator[Row]:
    """Yield the rows of `pieces_of`."""
    return chain.from_iterable(pieces_of(pieces, workers, deadline))


def pieces_of(pieces: Pieces, workers: Workers, deadline: Callable[[], Deadline]) -> Iterator[list[Row]]:
    """Yield the rows of *pieces* as they come, none as well; from the third on, the next is fetched while one is used.

    *deadline* gives that of a call. One holds from the moment when a row is asked for until it is there, however many
    pieces without a row come before it. Raises `OtherProcess` where the next piece is asked for in a forked child.
    """
    ahead, process = None, os.getpid()
    count = empty = 0
    try:
        until = deadline()
        while ahead is not None or not pieces.done:
            if os.getpid() != process:
                raise OtherProcess("this scan was begun by the process that this one was forked from: begin it anew")
            piece = pieces.next(until) if ahead is None else ahead.piece(until)
            ahead = None
            count += 1
            if count > _AHEAD_FROM and not pieces.done and not workers.is_worker():
                ahead = Ahead(pieces, workers, deadline())
            empty += 1
            yield piece
            if piece:
                until, empty = deadline(), 0
    except StoreUnavailable as error:
        if not empty:
            raise
        raise StoreUnavailable(f"{error} (after {empty} pieces without a row)") from error
    finally:
        if os.getpid() == process:
            with suppress(StoreError):
                if ahead is None:
                    pieces.close(deadline())
                else:
                    ahead.leave(deadline())


class Ahead:
    """The next of *pieces*, which is fetched by *workers* while the caller uses this one."""

    def __init__(self, pieces: Pieces, workers: Workers, deadline: Deadline) -> None:
        self._pieces = pieces
        self._workers = workers
        self._deadline = deadline
        self._first = [True]
        self._task = workers.submit(self._fetch)

    def piece(self, until: Deadline) -> list[Row]:
        """Return the piece; it is fetched here where no thread has begun with it, or was not able to."""
        if self._task.cancel():
            return self._pieces.next(until)
        self._deadline.hasten(until)
        try:
            return self._workers.result(self._task, until)
        except StoreUnavailable:
            # That is perhaps long ago: the time to use a piece counts for the one that is read ahead.
            if not self._task.done() or not until.left():
                raise
        return self._pieces.next(until)

    def leave(self, deadline: Deadline) -> None:
        """Close the pieces, now or when they are in use no more; never waits for that."""
        if self._task.cancel() or self._is_second():
            self._pieces.close(deadline)

    def _fetch(self) -> list[Row]:
        try:
            return self._pieces.next(self._deadline)
        finally:
            if self._is_second():
                self._pieces.close(self._deadline)

    def _is_second(self) -> bool:
        """Whether the other of the two, who fetches and who leaves, was here already: the second one closes."""
        try:
            return not self._first.pop()  # without a lock, because a collected iterator leaves anywhere
        except IndexError:
            return True
