"""Data frames and other Arrow tables as pages: a row each, taken by the names of its columns."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from webtable._page.page import GIVEN, Link, Page
from webtable.errors import InvalidArgument, UnknownColumn
from webtable.repository.answers.arrow_batches import arrow
from webtable.repository.answers.page_columns import PAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

ROWS_AT_ONCE = 256
"""How many rows of a table are Python objects at once."""
_MADE = set(PAGES.names).difference(GIVEN)
"""Columns that answers have and that are made anew, or never stored: they are passed over."""
_INDEX = "__index_level_"
"""What pandas calls the columns that it makes of its index."""
_RENAMED = {theirs: ours for ours, theirs in PAGES.renaming("commoncrawl").items()}


class ArrowStream(Protocol):
    """A table, as the Arrow PyCapsule protocol has it."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with the stream."""


def pages_of(rows: Iterable[Page] | ArrowStream) -> Iterator[Page]:
    """Yield the pages of *rows*: pages as they are, or a table that speaks the Arrow PyCapsule protocol.

    Raises `UnknownColumn`, and at the row that is no page `InvalidArgument`, which names it.
    """
    if not hasattr(rows, "__arrow_c_stream__"):
        yield from rows
        return
    reader = arrow().RecordBatchReader.from_stream(rows)
    take = _taker(reader.schema.names)
    number = 0
    for batch in reader:
        for at in range(0, batch.num_rows, ROWS_AT_ONCE):
            for row in batch.slice(at, ROWS_AT_ONCE).to_pylist():
                number += 1
                try:
                    yield take(row)
                except (msgspec.ValidationError, TypeError, ValueError) as exc:
                    raise InvalidArgument(f"row {number:,} is no page: {exc}") from exc


def checked_columns(names: Iterable[str]) -> dict[str, str]:
    """Return the field of a page that each of the columns *names* gives, without those that give none.

    Raises `UnknownColumn` for one that answers do not have, and where there is no URL.
    """
    fields: dict[str, str] = {}
    for name in names:
        field = _RENAMED.get(name, name)
        if field in GIVEN:
            fields[name] = field
        elif field not in _MADE and not name.startswith(_INDEX):
            raise UnknownColumn(f"columns={name!r} is no field of a page; leave it out. There are {', '.join(GIVEN)}")
    if "url" not in fields.values():
        raise UnknownColumn("there is no column 'url'")
    return fields


def _taker(names: Iterable[str]) -> Callable[[Mapping[str, Any]], Page]:
    fields = checked_columns(names)
    return lambda row: page_of({fields[name]: value for name, value in row.items() if name in fields})


def page_of(values: Mapping[str, Any]) -> Page:
    """Return the page with these *values* by field, without those that are None; raises `ValueError`, `TypeError`."""
    given = {name: value for name, value in values.items() if value is not None}
    for name, convert in _CONVERTED.items():
        if name in given:
            given[name] = convert(given[name])
    for name, value in given.items():
        if isinstance(value, datetime) and value.tzinfo is None:
            raise ValueError(f"its {name} {value.isoformat()} names no time zone")
    return msgspec.convert(given, Page)


def _link(given: Any) -> Link:
    match given:
        case str():
            return Link(given)
        case dict():
            return Link(**{name: value for name, value in given.items() if value is not None})
    return Link(*given)


_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "html": lambda body: body.encode() if isinstance(body, str) else bytes(body),
    "headers": lambda headers: dict(headers.items() if isinstance(headers, dict) else headers),
    "outlinks": lambda links: tuple(map(_link, links)),
    "status_code": int,
}
