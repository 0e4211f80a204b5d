"""A page as a line of JSON: what exports write, and what a writer leaves of the pages that it could not send.

A body that is UTF-8 stands there as `body`, another one as `body_base64`, so every body comes back byte by byte. Links
are `[url, anchor, rel]`, times ISO 8601.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from webtable._page.fields import ATTRIBUTES, values_of
from webtable._page.names import unknown_column
from webtable._page.page import Page
from webtable.errors import UnknownColumn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
