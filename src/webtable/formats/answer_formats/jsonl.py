"""JSON Lines: one object per line; lines of pages can be read by `read_pages`.

The body is in `body` if it is UTF-8, else in `body_base64`, so every body is restored byte for byte. Links are
`[url, anchor, rel]`, times ISO 8601.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from webtable.display.values import harmless_json
from webtable.page.json_lines import body_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.answers.columns import Column

_encoder = msgspec.json.Encoder()


def lines(records: Iterable[Any], columns: Sequence[Column], *, for_terminal: bool) -> Iterator[bytes]:
    """Yield a line for each record."""
    for record in records:
        line = _encoder.encode(dict(_member(column, record) for column in columns))
        yield (harmless_json(line.decode()).encode() if for_terminal else line) + b"\n"


def _member(column: Column, record: Any) -> tuple[str, Any]:
    value = column.of(record)
    return body_to_json(value) if column.name == "body" and value is not None else (column.name, value)
