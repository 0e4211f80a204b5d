"""JSON Lines: an object a line, as `read_pages` reads them where they are pages.

The body is `html` where it is UTF-8 and `html_base64` where it is not, so every body comes back byte by byte. Links are
`[url, anchor, rel]`, times ISO 8601.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from webtable.errors import UnknownColumn
from webtable.formats.columns import columns_of, value_of
from webtable.formats.text import harmless_json
from webtable.page import Page
from webtable.repository.matching import Excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_FIELDS = Page.__struct_fields__
_DEFAULTS: Mapping[str, Any] = {
    field.name: {} if field.name == "headers" else field.default for field in msgspec.structs.fields(Page)
}
_encoder = msgspec.json.Encoder()


def lines(records: Iterable[Any], columns: Sequence[str] | None, *, for_terminal: bool) -> Iterator[bytes]:
    """Yield a line for each record; without *columns* a page has all that differ from their default."""
    for record in records:
        line = page_to_json(record, columns) if isinstance(record, Page) else _record_to_json(record, columns)
        yield (harmless_json(line.decode()).encode() if for_terminal else line) + b"\n"


def page_to_json(page: Page, fields: Iterable[str] | None = None) -> bytes:
    """Return *page* as one line of JSON, without the line end.

    With *fields* it has exactly those, null where the page has none; else all that differ from their default.
    Raises `UnknownColumn` for a field that a page does not have.
    """
    if fields is None:
        values = {name: value for name in _FIELDS if (value := getattr(page, name)) != _DEFAULTS[name]}
    else:
        values = {name: getattr(page, name) for name in checked_fields(fields)}
    if values.get("html") is not None:
        values = dict(_json_value(name, value) for name, value in values.items())
    return _encoder.encode(values)


def checked_fields(fields: Iterable[str]) -> tuple[str, ...]:
    """Return *fields*; raises `UnknownColumn` for one that a page does not have."""
    names = tuple(fields)
    for name in names:
        if name not in _FIELDS:
            raise UnknownColumn(f"a page has no field {name!r}; it has {', '.join(_FIELDS)}")
    return names


def _record_to_json(record: Any, columns: Sequence[str] | None) -> bytes:
    names = columns_of(record) if columns is None else columns
    return _encoder.encode(dict(_json_value(name, value_of(record, name)) for name in names))


def _json_value(name: str, value: Any) -> tuple[str, Any]:
    """Return a column as it stands in JSON: a body as text where it is UTF-8, excerpts with their marks."""
    match name, value:
        case "html", bytes():
            try:
                return name, value.decode()
            except UnicodeDecodeError:
                return "html_base64", value
        case _, Excerpt():
            return name, value.highlighted()
        case "excerpts", tuple():
            return name, [excerpt.highlighted() for excerpt in value]
        case _:
            return name, value
