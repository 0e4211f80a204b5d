"""A clock whose time passes where a test says so, in place of the one that the library goes by."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from webtable._clock import clock

if TYPE_CHECKING:
    import pytest

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SERVER_SECONDS = 0.1
"""The most seconds of the machine's time that a pause takes where a server is asked again and again."""


class ManualClock:
    """Begins at *moment*, or now, and stands still; `sleep` moves it on and returns at once.

    Threads of the library that wait for each other, and sockets, go by the time of the machine as before. So does a
    server, as HBase's master that is asked again and again whether a table is dropped: each pause gives it
    *server_seconds* at most.
    """

    def __init__(self, moment: datetime | None = None, server_seconds: float = 0.0) -> None:
        self._began = time.monotonic()
        self._moment = moment or datetime.now(UTC)
        self._server_seconds = server_seconds
        self.passed = 0.0
        """The seconds that have passed: a test may add to them, or take away."""
        self.pauses: list[float] = []
        """What the library has slept, in order."""

    @property
    def now(self) -> datetime:
        """The moment that the library takes for now: the machine's time goes on while a test runs."""
        return self._moment + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self._began + self.passed

    def nanoseconds(self) -> int:
        return (self.now - EPOCH) // timedelta(microseconds=1) * 1000

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.passed += seconds
        time.sleep(min(seconds, self._server_seconds))

    def installed(self, monkeypatch: pytest.MonkeyPatch) -> ManualClock:
        """Let the library go by this clock until the end of the test."""
        for name in ("monotonic", "nanoseconds", "sleep"):
            monkeypatch.setattr(clock, name, getattr(self, name))
        return self
