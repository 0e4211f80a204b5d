"""Values as text: as they stand in a line, and with nothing in them that a terminal would obey."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from webtable.repository.text.excerpts import Excerpt


def value_text(value: object, charset: str | None = None) -> str:
    """Return a value of a page as text: times in UTC, links and headers as JSON, nothing for None.

    Several URLs have a space in between.
    """
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
        case tuple() if value and all(isinstance(one, str) for one in value):
            return " ".join(value)
        case _:
            return msgspec.json.encode(value).decode()


def decoded(body: bytes, charset: str | None) -> str:
    """Return a body as text, with a mark in place of what is none."""
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


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
