"""The clock that everything here goes by: retries and their pauses, deadlines, caches, read-ahead, cool-downs, expiry.

Moments are stored as timestamps: epoch milliseconds, which functions here make of them.

A test that must not sleep replaces it: `tests/manual_clock.py` has a `ManualClock`, whose `sleep` returns at once and
moves the time on, and the fixture `manual_clock` puts its three functions in the place of those of `clock`. To move one
of them alone is enough where a test is about the date: `monkeypatch.setattr(clock, "nanoseconds", lambda: …)`. Waiting
for a thread, a lock or a socket takes its time all the same.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LAST = 253_402_214_400_000
"""The last day of the year 9999, in epoch milliseconds."""


class SystemClock:
    """The time of this machine; its attributes are the functions of `time`, so asking them costs nothing more."""

    __slots__ = ("monotonic", "nanoseconds", "sleep")

    def __init__(self) -> None:
        self.monotonic = time.monotonic
        """Seconds since some moment, which grow whatever happens to the date."""
        self.nanoseconds = time.time_ns
        """Nanoseconds since 1970."""
        self.sleep = time.sleep
        """Returns after so many seconds."""

    def milliseconds(self) -> int:
        """Return the current moment as epoch milliseconds."""
        return self.nanoseconds() // 1_000_000

    def now(self) -> datetime:
        """Return the current moment in UTC."""
        return EPOCH + timedelta(microseconds=self.nanoseconds() // 1_000)


clock = SystemClock()
"""The only one; ask it as `clock.monotonic()`, not by a name bound earlier, so that a test can replace it."""


def now_in_milliseconds() -> int:
    """Return the current moment as epoch milliseconds."""
    return clock.milliseconds()


def milliseconds(moment: datetime) -> int:
    """Return a timezone-aware *moment* as epoch milliseconds."""
    return (moment - EPOCH) // _MILLISECOND


def moment_of(timestamp: int) -> datetime:
    """Return epoch milliseconds as a moment in UTC; raises `OverflowError` beyond the year 9999."""
    return EPOCH + timestamp * _MILLISECOND


def possible_moment(timestamp: int) -> datetime:
    """Return epoch milliseconds as a moment in UTC, the last day of the calendar for what is beyond it."""
    return moment_of(min(timestamp, _LAST))


class Fresh(Generic[T]):
    """A value that is read again when it is older than *seconds*, counted from when its reading began.

    May be used by many threads, which may read it at the same time.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._known: tuple[float, T] | None = None

    def recent(self, read: Callable[[], T]) -> T:
        """Return the value as it was at most those seconds ago, by `read()` where that was not known."""
        known = self._known
        if known is not None and clock.monotonic() - known[0] < self._seconds:
            return known[1]
        return self.read(read)

    def read(self, read: Callable[[], T]) -> T:
        """Return the value as it is now, by `read()`."""
        began = clock.monotonic()
        value = read()
        self.learn(value, began)
        return value

    def learn(self, value: T, read_at: float) -> None:
        """Take *value*, whose reading began at that moment of `clock.monotonic`."""
        self._known = read_at, value

    def forget(self) -> None:
        """Have the value read when it is asked for next."""
        self._known = None
