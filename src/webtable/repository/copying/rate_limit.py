"""So many rows a second, and no more."""

from __future__ import annotations

import time

from webtable.errors import InvalidArgument


class Pace:
    """Holds the caller back where he is faster than *rate* a second; None holds back nobody."""

    def __init__(self, rate: float | None) -> None:
        if rate is not None and not (isinstance(rate, int | float) and 0 < rate < float("inf")):
            raise InvalidArgument(f"rate={rate!r} must be a number of pages a second above 0")
        self._rate = rate
        self._next = 0.0

    def at_once(self, most: int) -> int:
        """Return how many may come at once, *most* at most: those of a second."""
        return most if self._rate is None else max(1, min(most, int(self._rate)))

    def wait(self, count: int) -> None:
        """Return when the time is over that *count* of them take, since the last call or now."""
        if self._rate is None:
            return
        now = time.monotonic()
        # What was not used is not made up for: it would come in a burst.
        self._next = max(self._next, now - count / self._rate) + count / self._rate
        time.sleep(max(0.0, self._next - now))
