"""Values in rows of other tools, the fields of a page by their names in exports, and a page as a line of JSON.

Exports write such lines, and a writer leaves them of the pages that it could not send.

A body that is UTF-8 stands there as `body`, another one as `body_base64`, so every body comes back byte by byte. Links
are `[url, anchor, rel, kind, position, times]`, moments ISO 8601.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import chain
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec.structs import replace

from webtable.errors import UnknownColumn
from webtable.page.headers import Headers
from webtable.page.page import BLANK, Page
from webtable.page.parts import unknown_column

# --- Values in rows of other tools ------------------------------------------------------------------------------------


def headers_in_row(headers: Any) -> Headers:
    """Return the headers *headers* as a mapping or pairs; a value may be a list of values or a number.

    A header without a value is left out: tables have one for every name in any of their rows. Raises `TypeError` and
    `ValueError` for what is not names and values.

    >>> headers_in_row({"Set-Cookie": ["a=1", "b=2"], "Age": 12, "ETag": None})
    Headers({'Set-Cookie': 'a=1, b=2', 'Age': '12'})
    >>> headers_in_row([["Vary", "a"], ["vary", "b"]])
    Headers({'Vary': 'a, b'})
    """
    if isinstance(headers, str | bytes) or not isinstance(headers, Iterable):
        raise TypeError(f"its headers are {type(headers).__name__}, not names and values")
    pairs: list[tuple[Any, Any]] = []
    for pair in headers.items() if isinstance(headers, Mapping) else headers:
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


def time_in_row(value: Any) -> datetime:
    """Return the time *value*, also as text in ISO 8601; one without a time zone is in UTC.

    Raises `TypeError`, `ValueError`, and `OverflowError` for a time that is before the year 1 in UTC, or after 9999.

    >>> time_in_row("2026-11-01 12:00:00").isoformat()
    '2026-11-01T12:00:00+00:00'
    """
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        raise TypeError(f"a time is text in ISO 8601 or a timestamp, not {type(value).__name__}")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def whole_number(value: Any) -> int:
    """Return the number *value*; raises `ValueError` and `TypeError` for one that is not whole, and for no number.

    >>> whole_number(200.0)
    200
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise TypeError(f"{str(value)[:100]!r} is not a whole number")
    return int(value)


# --- Fields by their names in exports ---------------------------------------------------------------------------------


ATTRIBUTES = {name.removeprefix("_"): name for name in Page.__struct_fields__}
"""The attribute with the value of each field, bookkeeping included, by its name."""

TYPES: dict[str, Any] = {
    name: Mapping[str, str] if name == "headers" else field.type  # they are JSON until they are asked for
    for name, field in zip(ATTRIBUTES, msgspec.structs.fields(Page), strict=True)
}
"""The type of each field, by the name of the field."""


def types_of(annotation: Any) -> tuple[type, ...]:
    """Return the types of the values that a field with this *annotation* can have.

    >>> types_of(Annotated[int, "a size"] | None), types_of(float)
    ((<class 'int'>, <class 'NoneType'>), (<class 'float'>, <class 'int'>))
    """
    kind = get_origin(annotation) or annotation
    if kind in (Union, UnionType):
        return tuple(chain.from_iterable(map(types_of, get_args(annotation))))
    if kind is Annotated:
        return types_of(annotation.__origin__)
    return {tuple: (tuple, list), Mapping: (dict,), float: (float, int)}.get(kind, (kind,))


TIMES = tuple(name for name, kind in TYPES.items() if datetime in types_of(kind))
"""The fields that are times."""
WHOLE_NUMBERS = tuple(name for name, kind in TYPES.items() if types_of(kind)[0] is int)
"""The fields that are whole numbers."""


def values_of(page: Page, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of *page* by these *names* of fields."""
    return {name: getattr(page, ATTRIBUTES[name]) for name in names}


def attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* by names of fields as `Page` and `replace` take them."""
    return {ATTRIBUTES[name]: value for name, value in values.items()}


def page_with(values: Mapping[str, Any]) -> Page:
    """Return the page with these *values* by names of fields, its URL and its date among them."""
    return replace(BLANK, **attributes(values))


# --- Lines ------------------------------------------------------------------------------------------------------------


_FIELDS = tuple(ATTRIBUTES)
_DEFAULTS: Mapping[str, Any] = {
    name: {} if name == "headers" else field.default
    for name, field in zip(_FIELDS, msgspec.structs.fields(Page), strict=True)
}
_encoder = msgspec.json.Encoder()


def page_to_json(page: Page, fields: Iterable[str] | None = None) -> bytes:
    """Return *page* as one line of JSON, without the line end.

    With *fields* it has exactly those, null where the page has none; else all that differ from their default.
    Raises `UnknownColumn` for a field that a page does not have.
    """
    if fields is None:
        values = {name: value for name, value in values_of(page, _FIELDS).items() if value != _DEFAULTS[name]}
    else:
        values = values_of(page, checked_fields(fields))
    if values.get("body") is not None:
        values = dict(body_to_json(value) if name == "body" else (name, value) for name, value in values.items())
    return _encoder.encode(values)


def checked_fields(fields: Iterable[str]) -> tuple[str, ...]:
    """Return *fields*; raises `UnknownColumn` for one that a page does not have."""
    names = tuple(fields)
    for name in names:
        if name not in _FIELDS:
            raise UnknownColumn(unknown_column(name, "page", _FIELDS))
    return names


def body_to_json(body: bytes) -> tuple[str, str | bytes]:
    """Return the name and the value of *body* in JSON."""
    try:
        return "body", body.decode()
    except UnicodeDecodeError:
        return "body_base64", body
