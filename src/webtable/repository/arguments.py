"""What callers give: checks of it, and what it is called."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from webtable.errors import InvalidArgument

Progress = Callable[[int], None]
"""Is told how many pages were looked at so far."""


def check_times(**times: datetime | None) -> None:
    """Raise `InvalidArgument` for a moment without a timezone, an `until` before `since` or a `new` before `old`."""
    for name, moment in times.items():
        if moment is not None and (not isinstance(moment, datetime) or moment.tzinfo is None):
            raise InvalidArgument(f"{name}={moment!r} must be a datetime with a timezone, as in datetime.now(UTC)")
    for first, last in (("since", "until"), ("old", "new")):
        begin, end = times.get(first), times.get(last)
        if begin is not None and end is not None and end < begin:
            raise InvalidArgument(f"{last}={end} is before {first}={begin}")


def check_numbers(**numbers: int | None) -> None:
    """Raise `InvalidArgument` for what is no whole number from 0 on."""
    for name, number in numbers.items():
        if number is not None and (type(number) is not int or number < 0):
            raise InvalidArgument(f"{name}={number!r} must be a whole number from 0 on")
