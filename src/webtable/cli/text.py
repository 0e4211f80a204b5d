"""Values as text, for a terminal and for a line; and sizes and durations as people write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

from webtable.errors import InvalidArgument
from webtable.repository.matching import Excerpt

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]i?)?b?", re.IGNORECASE)
# Zero-width joiners belong to words (Persian) and emoji.
_INVISIBLE_AND_HARMLESS = "\u200c\u200d"


def examples(*lines: str) -> str:
    """Return the epilogue of a command's help."""
    # The \b keeps typer from joining the lines.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def harmless(text: str) -> str:
    r"""Return *text* on one line, with nothing in it that a terminal would obey.

    >>> harmless("a\tb\x1b[31m")
    'a b\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable() or character in _INVISIBLE_AND_HARMLESS:
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode()


def harmless_json(line: str) -> str:
    """Return JSON with everything that a terminal would obey escaped: the same value, still JSON."""
    if line.isprintable():
        return line
    return "".join(
        c if c.isprintable() else msgspec.json.encode(c).decode()[1:-1] if c < " " else _escaped(c) for c in line
    )


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def value_text(value: object, charset: str | None = None) -> str:
    """Return a value of a page as text: times in UTC, links and headers as JSON, nothing for None."""
    match value:
        case None:
            return ""
        case Excerpt():
            return value.highlighted()
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case bytes():
            return decoded(value, charset)
        case int():
            return str(value)
        case _:
            return msgspec.json.encode(value).decode()


def decoded(body: bytes, charset: str | None) -> str:
    """Return a body as text, with a mark in place of what is none."""
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def parse_size(name: str, text: str) -> int:
    """Return a number of bytes; raises `InvalidArgument`.

    >>> parse_size("max-body", "5MB"), parse_size("max-body", "2KiB"), parse_size("max-body", "1.5k")
    (5000000, 2048, 1500)
    """
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found[1]) * _UNITS[(found[2] or "").lower()]) if found else 0
    if size < 1:
        raise InvalidArgument(f"{name}={text!r} must be a number of bytes above 0, as in 500000, 5MB or 512KiB")
    return size


def parse_days(name: str, text: str) -> int | None:
    """Return a number of days as seconds, None for `none`; raises `InvalidArgument`.

    >>> parse_days("ttl", "90"), parse_days("ttl", "none")
    (7776000, None)
    """
    if text.strip().lower() == "none":
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)d?", text.strip())
    seconds = int(float(found[1]) * 86_400) if found else 0
    if seconds < 1:
        raise InvalidArgument(f"{name}={text!r} must be a number of days above 0, or none to keep everything")
    return seconds


def size_text(size: float | None) -> str:
    """Return a number of bytes as people read it.

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


def plural(count: int, noun: str, ending: str = "s") -> str:
    """Return a count with its noun.

    >>> plural(1, "page"), plural(1200, "page"), plural(2, "batch", "es")
    ('1 page', '1,200 pages', '2 batches')
    """
    return f"{count:,} {noun}{ending if count != 1 else ''}"


def file_name(file: str) -> str:
    """Return what a message calls *file*."""
    return "standard input" if file == "-" else file
