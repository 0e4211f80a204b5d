"""Values as one line of text without control characters, safe to show anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

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
            return ", ".join(f"{name}: {one}" for name, one in value.items())
        case list() | tuple() if type(value) in (list, tuple):  # a named tuple has a text of its own
            return (" " if all(isinstance(one, str) for one in value) else ", ").join(map(str, value))
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
