"""Calls whose callers were cancelled: what they raise is kept for the next one, so no page is lost without a word."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from webtable._forks import renew_after_fork

if TYPE_CHECKING:
    from concurrent.futures import Future


class Missed:
    """The calls of one table and its writers that nobody awaits any more. May be used by many threads."""

    def __init__(self) -> None:
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Leave the calls to the parent, as the pages are."""
        self._lock = threading.Lock()
        self._calls: list[tuple[object, Future[Any]]] = []

    def keep(self, owner: object, call: Future[Any]) -> None:
        """Keep *call*, of the writer or table *owner*."""
        with self._lock:
            self._calls.append((owner, call))

    def errors(self, owner: object, *, also_others: bool = False) -> list[Exception]:
        """Return what calls of *owner* that have ended have raised, and others, when they have; each is told of once.

        The calls of one owner are made one after another: one of its own that has not ended is the caller itself.
        """
        with self._lock:
            taken = [one for one in self._calls if (one[1].done() if one[0] is owner else also_others)]
            self._calls = [one for one in self._calls if one not in taken]
        found = [_error(call) for _, call in taken]
        return [error for error in found if error is not None]


def _error(call: Future[Any]) -> Exception | None:
    try:
        error = call.exception()
    except CancelledError:
        return None  # it had not begun
    return error if isinstance(error, Exception) else None
