"""What `make test` tries a part of, which is always the same and takes seconds, and `make nightly` tries wholly."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TypeVar

Many = TypeVar("Many", bound=Sequence)

NIGHTLY: Final = os.environ.get("WEBTABLE_NIGHTLY", "0") not in ("", "0")


def some(whole: Many, every: int) -> Many:
    """Return all of *whole* by night, and its first, and then *every* so many of them, by day."""
    return whole if NIGHTLY else whole[::every]


def examples(by_day: int, by_night: int) -> int:
    """Return how many examples of a property are tried."""
    return by_night if NIGHTLY else by_day
