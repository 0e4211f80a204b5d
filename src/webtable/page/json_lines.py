"""A page as a line of JSON: what exports write, and what a writer leaves of the pages that it could not send.

A body that is UTF-8 stands there as `body`, another one as `body_base64`, so every body comes back byte by byte. Links
are `[url, anchor, rel]`, times ISO 8601.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

import msgspec
from msgspec.structs import replace

from webtable.errors import UnknownColumn
from webtable.page.page import BLANK, Page
from webtable.page.parts import unknown_column

if TYPE_CHECKING:
    from collections.abc import Iterable


# --- The fields of a page by the names that exports have for them -----------------------------------------------------


ATTRIBUTES = {name.removeprefix("_"): name for name in Page.__struct_fields__}
"""The attribute with the value of each field, bookkeeping included, by its name."""

TYPES: dict[str, Any] = {
    name: Mapping[str, str] if name == "headers" else field.type  # they are JSON until they are asked for
    for name, field in zip(ATTRIBUTES, msgspec.structs.fields(Page), strict=True)
}
"""The type of each field, by the name of the field."""

TIMES = tuple(name for name, kind in TYPES.items() if datetime in (kind, *get_args(kind)))
"""The fields that are times."""


def values_of(page: Page, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of *page* by these *names* of fields."""
    return {name: getattr(page, ATTRIBUTES[name]) for name in names}


def attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* by names of fields as `Page` and `replace` take them."""
    return {ATTRIBUTES[name]: value for name, value in values.items()}


def page_with(values: Mapping[str, Any]) -> Page:
    """Return the page with these *values* by names of fields, its URL and its date among them."""
    return replace(BLANK, **attributes(values))


# ----------------------------------------------------------------------------------------------------------------------


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
