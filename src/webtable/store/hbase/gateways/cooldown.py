"""How long a gateway that failed is left alone: a second, and twice as long with every further failure up to 60."""

from __future__ import annotations

from typing import Final

from webtable._clock import clock
from webtable.store.retry import Backoff

_BACKOFF: Final = Backoff(first=1.0, longest=60.0)
_TRIAL_SECONDS: Final = 5.0


class CoolDown:
    """The cool-down of one gateway; `failures` in a row, 0 while it is well, and the moment `until` which it lasts.

    It is a random part of its full length, so that many processes do not come back at the same moment. When it is
    over, one caller tries the gateway, and the others go on leaving it alone until that one knows.
    """

    def __init__(self) -> None:
        self.failures = 0
        self.until = 0.0
        self._is_tried = False

    def is_over(self) -> bool:
        """Whether the gateway may be tried."""
        return not self.failures or clock.monotonic() >= self.until

    def left(self) -> float:
        """Return for how many seconds more it is on, 0 while the gateway may be tried."""
        return max(0.0, self.until - clock.monotonic()) if self.failures else 0.0

    def tried(self) -> None:
        """Keep the others away from a gateway that failed, for as long as its trial may take."""
        if self.failures and self.is_over():
            self._is_tried = True
            self.until = clock.monotonic() + _TRIAL_SECONDS

    def failed(self) -> float:
        """Begin a cool-down and return its seconds, or 0 where one is on that this failure belongs to."""
        now = clock.monotonic()
        if self.failures and now < self.until and not self._is_tried:
            return 0.0
        self._is_tried = False
        self.failures += 1
        seconds = _BACKOFF.pause(self.failures)
        self.until = now + seconds
        return seconds

    def worked(self) -> None:
        """Take the gateway back into use."""
        self.failures, self._is_tried = 0, False
