"""Moments as timestamps: epoch milliseconds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(moment: datetime) -> int:
    """Return a timezone-aware *moment* as epoch milliseconds."""
    return (moment - _EPOCH) // _MILLISECOND


def now_in_milliseconds() -> int:
    """Return the current moment as epoch milliseconds."""
    return time.time_ns() // 1_000_000


def moment_of(timestamp: int) -> datetime:
    """Return epoch milliseconds as a moment in UTC; raises `OverflowError` beyond the year 9999."""
    return _EPOCH + timestamp * _MILLISECOND
