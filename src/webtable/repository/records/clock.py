"""The timestamps of rows that are put: now, or the caller's own."""

from __future__ import annotations

import threading
from datetime import datetime
from operator import itemgetter

from webtable._forks import renew_after_fork
from webtable.errors import InvalidArgument
from webtable.repository.stored.timestamps import milliseconds, now_in_milliseconds

MOST_REMEMBERED = 10_000
"""Of how many rows a clock remembers what it gave them."""


class Clock:
    """Gives timestamps that grow with every put of a row, however many there are in a millisecond.

    What it gave to the last `MOST_REMEMBERED` rows is in memory. A row that is forgotten gets more than any that was
    forgotten had, so that its timestamps grow also where the clock of the machine was set back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: dict[bytes, int] = {}
        self._forgotten = -1
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Make the lock anew."""
        self._lock = threading.Lock()

    def now(self, row: bytes) -> int:
        """Return this moment in epoch milliseconds, or one more than what *row* was given before."""
        with self._lock:
            if len(self._given) >= MOST_REMEMBERED:
                self._forget()
            given = max(now_in_milliseconds(), self._forgotten + 1, self._given.get(row, -1) + 1)
            self._given[row] = given
            return given

    def _forget(self) -> None:
        """Forget the half of the rows that were given the least."""
        in_order = sorted(self._given.items(), key=itemgetter(1))
        half = len(in_order) // 2
        self._forgotten = max(self._forgotten, in_order[half - 1][1])
        self._given = dict(in_order[half:])


def timestamp_of(moment: datetime) -> int:
    """Return *moment* as epoch milliseconds; raises `InvalidArgument` without a timezone, and before 1970."""
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise InvalidArgument(f"timestamp={moment!r} must be a datetime with a timezone, as in datetime.now(UTC)")
    timestamp = milliseconds(moment)
    if timestamp < 0:
        raise InvalidArgument(f"timestamp={moment} must be from 1970 on")
    return timestamp
