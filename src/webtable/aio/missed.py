"""The errors of calls whose callers were cancelled: kept for the next call, so that no page is lost without a word."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from webtable._forks import renew_after_fork

if TYPE_CHECKING:
    from concurrent.futures import Future


class Missed:
    """What nobody was told, by the writer that it is about. May be used by many threads."""

    def __init__(self) -> None:
        self._errors: list[tuple[object, Exception]] = []
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Leave the errors to the parent, as the pages are."""
        self._lock = threading.Lock()
        self._errors = []

    def keep(self, writer: object, future: Future[Any]) -> None:
        """Keep what *future*, which is done, was to raise."""
        error = None if future.cancelled() else future.exception()
        if isinstance(error, Exception):
            with self._lock:
                self._errors.append((writer, error))

    def taken(self, writer: object = None) -> list[Exception]:
        """Return what was kept of *writer*, or of all, and forget it."""
        with self._lock:
            found = [error for whose, error in self._errors if writer is None or whose is writer]
            self._errors = [
                (whose, error) for whose, error in self._errors if writer is not None and whose is not writer
            ]
        return found
