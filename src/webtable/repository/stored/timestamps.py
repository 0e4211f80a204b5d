"""Moments as timestamps: epoch milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from webtable._clock import clock

if TYPE_CHECKING:
    from webtable._page.page import Page

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LAST = 253_402_214_400_000
"""The last day of the year 9999, in epoch milliseconds."""


def milliseconds(moment: datetime) -> int:
    """Return a timezone-aware *moment* as epoch milliseconds."""
    return (moment - EPOCH) // _MILLISECOND


def hints_at(page: Page) -> datetime:
    """Return the date under which the entries and inlinks of *page* are written.

    It is that of the capture. Where another capture was stored under that date before, it is a millisecond after the
    date of the hints of that one: so those can be removed, and a delete up to their date hides none of these.
    """
    return page.hints_at or page.fetched_at


def now_in_milliseconds() -> int:
    """Return the current moment as epoch milliseconds."""
    return clock.milliseconds()


def moment_of(timestamp: int) -> datetime:
    """Return epoch milliseconds as a moment in UTC; raises `OverflowError` beyond the year 9999."""
    return EPOCH + timestamp * _MILLISECOND


def possible_moment(timestamp: int) -> datetime:
    """Return epoch milliseconds as a moment in UTC, the last day of the calendar for what is beyond it."""
    return moment_of(min(timestamp, _LAST))
