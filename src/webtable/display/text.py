"""Sizes in bytes, progress bars of terminals, and values as one line of text without control characters."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn


# --- Sizes in bytes ---------------------------------------------------------------------------------------------------


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
    match = _SIZE.fullmatch(text.strip())
    size = float(match[1]) * _UNITS[(match[2] or "").lower()] if match else 0.0
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


# --- Progress bars ----------------------------------------------------------------------------------------------------


SECONDS_BETWEEN = 0.2
"""The shortest time between two redraws of a bar."""


def terminal_bar(*columns: ProgressColumn, animated: bool = True, kind: type[Progress] | None = None) -> Progress:
    """Return a bar of rich on standard error that disappears at its end; if *animated*, a thread draws it."""
    from rich.console import Console
    from rich.progress import Progress

    return (kind or Progress)(
        *columns,
        console=Console(stderr=True),
        transient=True,
        auto_refresh=animated,
        refresh_per_second=1 / SECONDS_BETWEEN,
        redirect_stdout=False,
        redirect_stderr=False,
        expand=True,
    )


# --- Text -------------------------------------------------------------------------------------------------------------


# Zero-width joiners are part of words (Persian) and emoji.
_INVISIBLE_AND_HARMLESS = "\u200c\u200d"
MOST_CHARACTERS: Final = 200
"""The number of characters of a value that are shown."""


def shown_text(value: object) -> str:
    r"""Return *value* as one short line without terminal control characters.

    >>> shown_text("two\nlines\x1b[2J"), shown_text(1234567), shown_text(None), shown_text(0.25)
    ('two lines\\x1b[2J', '1,234,567', '', '0.25')
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
        case bytes():
            value = value[: 4 * MOST_CHARACTERS].decode("utf-8", "replace")
    text = plain_text(value)
    return harmless(text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…")


def plain_text(value: object) -> str:
    """Return *value* as text to read, without the brackets and quotes of Python.

    >>> plain_text({"ETag": '"7"', "Age": "0"}), plain_text(["https://a.example/", "https://b.example/"])
    ('ETag: "7", Age: 0', 'https://a.example/ https://b.example/')
    """
    match value:
        case Mapping():
            return ", ".join(f"{name}: {item}" for name, item in value.items())
        case list() | tuple() if type(value) in (list, tuple):  # a named tuple has a text of its own
            return (" " if all(isinstance(item, str) for item in value) else ", ").join(map(str, value))
    return str(value)


def minute_text(moment: datetime) -> str:
    """Return *moment* in UTC, to the minute.

    >>> minute_text(datetime(2026, 11, 25, 10, 20, 31, tzinfo=UTC))
    '2026-11-25 10:20'
    """
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def harmless(text: str) -> str:
    r"""Return *text* on one line, with terminal control characters escaped.

    >>> harmless("a\tb\x1b[31m")
    'a b\\x1b[31m'
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable() or character in _INVISIBLE_AND_HARMLESS:
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode()


def plural(count: int, noun: str, ending: str = "s") -> str:
    """Return *count* with *noun*, in the plural unless it is 1.

    >>> plural(1, "page"), plural(1200, "page"), plural(2, "batch", "es")
    ('1 page', '1,200 pages', '2 batches')
    """
    return f"{count:,} {noun}{ending if count != 1 else ''}"
