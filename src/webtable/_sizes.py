"""Sizes in bytes as people write them: on the command line and in store URLs."""

from __future__ import annotations

import math
import re

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]i?)?b?", re.IGNORECASE)
IN_BYTES = "must be a number of bytes above 0, as in 500000, 5MB or 512KiB"
"""What a message says of a text that is no size."""


def size_of(text: str) -> int | None:
    """Return a number of bytes above 0; None where *text* is none.

    >>> size_of("5MB"), size_of("2KiB"), size_of("1.5k"), size_of("big")
    (5000000, 2048, 1500, None)
    """
    found = _SIZE.fullmatch(text.strip())
    size = float(found[1]) * _UNITS[(found[2] or "").lower()] if found else 0.0
    return int(size) if 1 <= size < math.inf else None
