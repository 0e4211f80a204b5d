"""Rows under a declared key as JSON, and back."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

import msgspec

from webtable.cli.keys.declared_keys import fields_of, value_of
from webtable.errors import InvalidArgument
from webtable.rowkey import below, between, starting_with
from webtable.rowkey.ranges import key_text

if TYPE_CHECKING:
    from webtable.repository import Record
    from webtable.rowkey import RowKey


class RowJSON:
    """Turns the rows of a table with this *key* into JSON, and back: times are ISO 8601, bytes text where they are."""

    def __init__(self, key: RowKey) -> None:
        self._fields = fields_of(key)

    def line(self, record: Record) -> dict[str, Any]:
        """Return what is written of *record*."""
        return {
            "values": {name: _as_json(value) for name, value in record.values.items()},
            "cells": {_name(name): _as_json(value) for name, value in record.cells.items()},
            "key": key_text(record.key),
            "timestamp": record.timestamp,
        }

    def fields(self, text: str, said: str) -> dict[str, Any]:
        """Return the values and conditions of the argument *said*; raises `InvalidArgument`."""
        given = _decoded(text, said)
        return {name: self._asked(name, value) for name, value in given.items()}

    def row(self, line: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return the values and the cells of a line; raises `InvalidArgument`."""
        given = _decoded(line, "it")
        values, cells = given.get("values"), given.get("cells")
        if not isinstance(values, dict) or not isinstance(cells, dict):
            raise InvalidArgument('it must have "values" and "cells", as in {"values": {…}, "cells": {"d:a": "1"}}')
        return {name: self._value(name, value) for name, value in values.items()}, {
            name: _as_bytes(name, value) for name, value in cells.items()
        }

    def _value(self, name: str, value: Any) -> Any:
        return value_of(self._fields.get(name), value)

    def _asked(self, name: str, asked: Any) -> Any:
        match asked:
            case {"starting_with": prefix, **other} if not other:
                return starting_with(self._value(name, prefix))
            case {"below": str(domain), **other} if not other:
                return below(domain)
            case dict() if asked and asked.keys() <= {"since", "until"}:
                return between(**{at: self._value(name, value) for at, value in asked.items()})
            case dict():
                raise InvalidArgument(f"{name}: {asked!r} must be since and until, starting_with, or below")
        return self._value(name, asked)


def _decoded(text: str | bytes, said: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as exc:
        raise InvalidArgument(f"{said} is no JSON object: {exc}") from exc


def _as_json(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def _as_bytes(name: str, value: Any) -> bytes:
    match value:
        case str():
            return value.encode("utf-8", "surrogatepass")
        case {"base64": str(text), **other} if not other:
            try:
                return base64.b64decode(text, validate=True)
            except binascii.Error as exc:
                raise InvalidArgument(f"cells[{name!r}]: {exc}") from exc
    raise InvalidArgument(f'cells[{name!r}] must be a text, or {{"base64": "…"}}')


def _name(column: str) -> str:
    """Return the name of a cell without halves of surrogate pairs, which JSON cannot have."""
    return column.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
