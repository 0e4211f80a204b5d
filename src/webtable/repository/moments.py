"""Moments as timestamps: epoch milliseconds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LAST = 253_402_214_400_000
"""The last day of the year 9999, in epoch milliseconds."""


def milliseconds(moment: datetime) -> int:
    """Return a timezone-aware *moment* as epoch milliseconds."""
    return (moment - EPOCH) // _MILLISECOND


def now_in_milliseconds() -> int:
    """Return the current moment as epoch milliseconds."""
    return time.time_ns() // 1_000_000


def moment_of(timestamp: int) -> datetime:
    """Return epoch milliseconds as a moment in UTC; raises `OverflowError` beyond the year 9999."""
    return EPOCH + timestamp * _MILLISECOND


def possible_moment(timestamp: int) -> datetime:
    """Return epoch milliseconds as a moment in UTC, the last day of the calendar for what is beyond it."""
    return moment_of(min(timestamp, _LAST))
