"""What callers give: checks of it, and what it is called."""

from __future__ import annotations

from collections.abc import Callable

from webtable.errors import InvalidArgument

Progress = Callable[[int], None]
"""Is told how many pages were looked at so far."""


def check_numbers(**numbers: int | None) -> None:
    """Raise `InvalidArgument` for what is no whole number from 0 on."""
    for name, number in numbers.items():
        if number is not None and (type(number) is not int or number < 0):
            raise InvalidArgument(f"{name}={number!r} must be a whole number from 0 on")
