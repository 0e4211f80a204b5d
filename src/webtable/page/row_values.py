"""Values of fields as rows of other tools have them: headers, times and numbers in several forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from webtable.page.headers import Headers


def headers_in_row(given: Any) -> Headers:
    """Return the headers *given* as a mapping or pairs; a value may be a list of values or a number.

    A header without a value is left out: tables have one for every name in any of their rows. Raises `TypeError` and
    `ValueError` for what is not names and values.

    >>> headers_in_row({"Set-Cookie": ["a=1", "b=2"], "Age": 12, "ETag": None})
    Headers({'Set-Cookie': 'a=1, b=2', 'Age': '12'})
    >>> headers_in_row([["Vary", "a"], ["vary", "b"]])
    Headers({'Vary': 'a, b'})
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"its headers are {type(given).__name__}, not names and values")
    pairs: list[tuple[Any, Any]] = []
    for pair in given.items() if isinstance(given, Mapping) else given:
        if isinstance(pair, Mapping):
            name, value = _entry(pair)
        elif isinstance(pair, list | tuple) and len(pair) == 2:
            name, value = pair
        else:
            raise TypeError(f"a header is a name and a value, not {str(pair)[:100]!r}")
        values = [_text(part) for part in (value if isinstance(value, list | tuple) else (value,)) if part is not None]
        if values:
            pairs.append((name, values))
    try:
        return Headers(pairs)
    except TypeError as exc:
        raise TypeError(f"its headers are not names and values: {exc}") from exc


def _entry(pair: Mapping[Any, Any]) -> tuple[Any, Any]:
    """Return the name and the value of a header that is an object, as HAR has it (`name`) and Spark's maps (`key`)."""
    name = pair.get("name", pair.get("key"))
    if not isinstance(name, str) or not pair.keys() <= {"name", "key", "value", "comment"}:
        raise TypeError(f"a header is a name and a value, not {str(pair)[:100]!r}")
    return name, pair.get("value")


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def time_in_row(given: Any) -> datetime:
    """Return the time *given*, also as text in ISO 8601; one without a time zone is in UTC.

    Raises `TypeError`, `ValueError`, and `OverflowError` for a time that is before the year 1 in UTC, or after 9999.

    >>> time_in_row("2026-11-01 12:00:00").isoformat()
    '2026-11-01T12:00:00+00:00'
    """
    if isinstance(given, str):
        given = datetime.fromisoformat(given)
    if not isinstance(given, datetime):
        raise TypeError(f"a time is text in ISO 8601 or a timestamp, not {type(given).__name__}")
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)


def whole_number(given: Any) -> int:
    """Return the number *given*; raises `ValueError` and `TypeError` for one that is not whole, and for no number.

    >>> whole_number(200.0)
    200
    """
    if isinstance(given, bool) or not isinstance(given, int | float) or given != int(given):
        raise TypeError(f"{str(given)[:100]!r} is not a whole number")
    return int(given)
