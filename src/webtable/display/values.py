"""Values of records as text for lines of a file or of a terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from webtable._charsets import decoded
from webtable.display import Marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from webtable.repository.answers.columns import Column


def rows_of(
    records: Iterable[Any], columns: Sequence[Column], shown: Callable[[str], str] = str
) -> Iterator[list[str]]:
    """Yield the names of the *columns*, then for each record their values as text, each converted by *shown*."""
    yield [column.name for column in columns]
    for record in records:
        yield list(map(shown, texts(record, columns)))


def texts(record: Any, columns: Iterable[Column]) -> Iterator[str]:
    """Yield the values of these *columns* of *record* as text."""
    for column in columns:
        value = column.of(record)
        yield value_text(value, charset_in(record) if isinstance(value, bytes) else None)


def charset_in(record: Any) -> str | None:
    """Return the charset of *record*, if it is a page, or of the page in it; None if it is unknown."""
    charset: str | None = getattr(record, "charset", None) or getattr(getattr(record, "page", None), "charset", None)
    return charset


def value_text(value: object, charset: str | None = None) -> str:
    """Return a value of a page as text: times in UTC, links and headers as JSON, nothing for None.

    Several URLs are separated by spaces.
    """
    match value:
        case None:
            return ""
        case str():
            return value
        case Marked():
            return value.highlighted()
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case bytes():
            return decoded(value, charset or "utf-8")
        case int():
            return str(value)
        case tuple() | list() if value and all(isinstance(item, str) for item in value):
            return " ".join(value)
        case _:
            return msgspec.json.encode(value).decode()


def harmless_json(line: str) -> str:
    """Return JSON with terminal control characters escaped; its value stays the same."""
    if line.isprintable():
        return line
    return "".join(
        c if c.isprintable() else msgspec.json.encode(c).decode()[1:-1] if c < " " else _escaped(c) for c in line
    )


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
