"""What callers give: what it is called, what it is where they give nothing, and checks of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Literal, get_args

from webtable.errors import InvalidArgument

Progress = Callable[[int], None]
"""Is told how many pages were looked at so far."""
Grouping = Literal["host", "status", "type", "age", "region", "size", "day"]
"""What pages are counted by."""
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)[:5]
"""What they are counted by where nothing else is said; the others have many groups, and are there to be drawn."""
GAP = timedelta(hours=6)
"""A crawl ends with a longer pause: a night's outage is part of it, and daily crawls are several."""
MAX_TITLE = 60
"""How many characters of a title search engines show, about."""
MOST_NEIGHBOURS = 20
"""How many pages come of each side unless it is told."""
IN_FLIGHT = 2
"""How many batches are on their way at once by default: one is compressed while the one before it is sent."""
SETTLE_SECONDS = 1.0
"""How long a difference must stay to be one: a writer that has stored a page removes its old entries next."""


def check_numbers(**numbers: int | None) -> None:
    """Raise `InvalidArgument` for what is no whole number from 0 on."""
    for name, number in numbers.items():
        if number is not None and (type(number) is not int or number < 0):
            raise InvalidArgument(f"{name}={number!r} must be a whole number from 0 on")
