"""The clock that everything here goes by: retries and their pauses, deadlines, caches, read-ahead, cool-downs, expiry.

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

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
        return _EPOCH + timedelta(microseconds=self.nanoseconds() // 1_000)


clock = SystemClock()
"""The only one; ask it as `clock.monotonic()`, not by a name bound earlier, so that a test can replace it."""


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
