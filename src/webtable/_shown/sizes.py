"""Sizes in bytes: parsing, formatting, and the size classes in which pages are counted."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from typing import Final

from webtable.errors import InvalidArgument

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]i?)?b?", re.IGNORECASE)
IN_BYTES: Final = "must be a number of bytes above 0, as in 500000, 5MB or 512KiB"
"""The part of an error message that says which sizes are valid."""

NO_BODY: Final = "no body"
"""The size class of pages without a body."""
CLASS_BOUNDS: Final = tuple(digit * 10**power for power in range(2, 18) for digit in (1, 2, 5))
"""The bounds between size classes: 100, 200, 500, 1,000 bytes and so on."""


def size_of(text: str) -> int | None:
    """Return the number of bytes that *text* says; None if it is not a size above 0.

    >>> size_of("5MB"), size_of("2KiB"), size_of("1.5k"), size_of("big")
    (5000000, 2048, 1500, None)
    """
    found = _SIZE.fullmatch(text.strip())
    size = float(found[1]) * _UNITS[(found[2] or "").lower()] if found else 0.0
    return int(size) if 1 <= size < math.inf else None


def parse_size(name: str, text: str) -> int:
    """Return a number of bytes; raises `InvalidArgument`.

    >>> parse_size("max-body", "5MB"), parse_size("max-body", "2KiB"), parse_size("max-body", "1.5k")
    (5000000, 2048, 1500)
    """
    size = size_of(text)
    if size is None:
        raise InvalidArgument(f"{name}={text!r} {IN_BYTES}")
    return size


def size_text(size: float | None) -> str:
    """Return a number of bytes with a unit, for people.

    >>> size_text(999), size_text(12_345), size_text(5_000_000)
    ('999 B', '12.3 kB', '5.0 MB')
    """
    if size is None:
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.95 or (unit == "B" and size < 1_000):
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:,.1f} TB"


def round_size_text(size: float) -> str:
    """Return a round number of bytes with a unit: `1 kB` rather than `1.0 kB`."""
    return size_text(size).replace(".0 ", " ")


def size_class(size: int | None) -> int:
    """Return the number of the size class of *size*; 0 for no body.

    >>> [size_class(size) for size in (None, 0, 99, 100, 999, 1_000)]
    [0, 1, 1, 2, 4, 5]
    """
    return 0 if size is None else bisect_right(CLASS_BOUNDS, size) + 1


def class_bounds(number: int) -> tuple[int, int]:
    """Return the bounds of a size class, the upper one excluded; that of the last class is ten times the lower one.

    >>> class_bounds(1), class_bounds(5)
    ((0, 100), (1000, 2000))
    """
    bounds = (0, *CLASS_BOUNDS, 10 * CLASS_BOUNDS[-1])
    return bounds[number - 1], bounds[number]


def class_name(number: int) -> str:
    """Return the name of a size class.

    >>> [class_name(number) for number in (0, 1, 2, 4, 5)]
    ['no body', 'under 100 B', '100 to 200 B', '500 B to 1 kB', '1 to 2 kB']
    """
    if number == 0:
        return NO_BODY
    low, high = map(round_size_text, class_bounds(number))
    amount, _, unit = low.partition(" ")
    return f"under {high}" if number == 1 else f"{amount if high.endswith(f' {unit}') else low} to {high}"


CLASSES: Final = {class_name(number): number for number in range(len(CLASS_BOUNDS) + 2)}
"""The numbers of all size classes by name."""
