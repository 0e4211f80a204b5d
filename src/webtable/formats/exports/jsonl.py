"""JSON Lines: an object a line, as `read_pages` reads them where they are pages.

The body is `html` where it is UTF-8 and `html_base64` where it is not, so every body comes back byte by byte. Links are
`[url, anchor, rel]`, times ISO 8601.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from webtable._page.json_lines import body_to_json, page_to_json
from webtable._page.page import Page
from webtable.formats.columns import columns_of, value_of
from webtable.formats.text import harmless_json
from webtable.repository.text.excerpts import Excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_encoder = msgspec.json.Encoder()


def lines(records: Iterable[Any], columns: Sequence[str] | None, *, for_terminal: bool) -> Iterator[bytes]:
    """Yield a line for each record; without *columns* a page has all that differ from their default."""
    for record in records:
        line = page_to_json(record, columns) if isinstance(record, Page) else _record_to_json(record, columns)
        yield (harmless_json(line.decode()).encode() if for_terminal else line) + b"\n"


def _record_to_json(record: Any, columns: Sequence[str] | None) -> bytes:
    names = columns_of(record) if columns is None else columns
    return _encoder.encode(dict(_json_value(name, value_of(record, name)) for name in names))


def _json_value(name: str, value: Any) -> tuple[str, Any]:
    """Return a column as it stands in JSON: a body as text where it is UTF-8, excerpts with their marks."""
    match name, value:
        case "html", bytes():
            return body_to_json(value)
        case _, Excerpt():
            return name, value.highlighted()
        case "excerpts", tuple():
            return name, [excerpt.highlighted() for excerpt in value]
        case _:
            return name, value
