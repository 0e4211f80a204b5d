"""The clock of the whole package: retries and their pauses, deadlines, caches, read-ahead, cool-downs, expiry.

Times are stored as timestamps, in epoch milliseconds, which functions here compute.

A test that must not sleep replaces the clock: `tests/manual_clock.py` has a `ManualClock`, whose `sleep` returns at
once and advances the time, and the fixture `manual_clock` replaces the three functions of `clock`. A test about the
date replaces one of them: `monkeypatch.setattr(clock, "nanoseconds", lambda: …)`. Waiting for a thread, a lock or a
socket still takes real time.
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
    """The time of this machine."""

    # Its attributes are the functions of `time` themselves, so a call costs nothing more.
    __slots__ = ("monotonic", "nanoseconds", "sleep")

    def __init__(self) -> None:
        self.monotonic = time.monotonic
        """Seconds since an arbitrary moment; they never go back, even if the date is changed."""
        self.nanoseconds = time.time_ns
        """Nanoseconds since 1970."""
        self.sleep = time.sleep
        """Sleep for this many seconds."""

    def milliseconds(self) -> int:
        """Return the current moment as epoch milliseconds."""
        return self.nanoseconds() // 1_000_000

    def now(self) -> datetime:
        """Return the current moment in UTC."""
        return EPOCH + timedelta(microseconds=self.nanoseconds() // 1_000)


clock = SystemClock()
"""The only instance; call `clock.monotonic()`, not a name bound earlier, so that a test can replace it."""


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
    """Return epoch milliseconds as a moment in UTC; times beyond the calendar become its last day."""
    return moment_of(min(timestamp, _LAST))


class CachedFor(Generic[T]):
    """A cached value that is read again when it is older than *seconds*, counted from when its reading began.

    It is thread-safe; several threads may read the value at the same time.
    """

    # From when it began, not when it ended: what was written meanwhile may not be in the value.

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._cached: tuple[float, T] | None = None

    def recent(self, read: Callable[[], T]) -> T:
        """Return the cached value if it is not older than those seconds, else that of `read()`."""
        cached = self._cached
        if cached is not None and clock.monotonic() - cached[0] < self._seconds:
            return cached[1]
        return self.read(read)

    def read(self, read: Callable[[], T]) -> T:
        """Return the value of `read()`, and cache it."""
        began = clock.monotonic()
        value = read()
        self.learn(value, began)
        return value

    def learn(self, value: T, read_at: float) -> None:
        """Cache *value*, whose reading began at *read_at*, a time of `clock.monotonic`."""
        self._cached = read_at, value

    def forget(self) -> None:
        """Drop the cached value."""
        self._cached = None
