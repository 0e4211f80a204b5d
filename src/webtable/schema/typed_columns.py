"""Typed columns of keyed tables: how their values become the bytes of a cell, and values again."""

from __future__ import annotations

import struct
from datetime import datetime
from typing import Any, Literal, get_args

import msgspec

from webtable._checksums import UNREADABLE, unsealed, with_checksum
from webtable._clock import milliseconds, moment_of
from webtable.errors import InvalidArgument, LayoutMismatch
from webtable.rowkey.fields.field import check_name, shown

ValueType = Literal["text", "int", "float", "time", "json", "bytes"]
"""Text; a whole number of 64 bits, and one with a fraction; a moment, to the millisecond; any JSON; bytes."""
RESERVED = ("key", "timestamp", "cells")
"""The columns that every record has in frames and files, beside those of its key and the typed ones."""
TYPED_PREFIX = b"layout:column."

_INT, _FLOAT = struct.Struct(">q"), struct.Struct(">d")
_LIMIT = 2**63


class TypedColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A typed column of a keyed table: its name, the type of its values, and the family of its cells.

    Its cell is `family:name`, by default in the first family of the table. The type is one of

    - `text`: a `str`, stored as UTF-8;
    - `int`: from -2**63 to 2**63 - 1, stored in 8 bytes, big-endian, as HBase's own counters are;
    - `float`: stored in 8 bytes, big-endian, as `Bytes.toBytes(double)` of HBase does;
    - `time`: a `datetime` with a time zone, stored as the milliseconds since 1970 in 8 bytes, big-endian;
    - `json`: what JSON can hold, stored as JSON, and text in frames and files;
    - `bytes`: stored as they are.

    Raises `InvalidArgument` for a name that cannot be a Python argument, for `key`, `timestamp` and `cells`, which
    every record has, and for another type.
    """

    name: str
    type: ValueType
    family: str | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.name in RESERVED:
            raise InvalidArgument(f"column {self.name!r}: each record has {', '.join(RESERVED)}; give it another name")
        if self.type not in get_args(ValueType):
            raise InvalidArgument(
                f"column {self.name!r}: type={shown(self.type)} must be one of {', '.join(get_args(ValueType))}"
            )
        if self.family is not None and (not isinstance(self.family, str) or not self.family or ":" in self.family):
            raise InvalidArgument(f"column {self.name!r}: family={shown(self.family)} must be the name of a family")

    @property
    def cell(self) -> bytes:
        """The name of its cells, `family:name`."""
        return f"{self.family}:{self.name}".encode()

    def encode(self, value: Any) -> bytes:
        """Return *value* as it is stored; raises `InvalidArgument` for one of another type, or out of range."""
        match self.type, value:
            case "text", str():
                try:
                    return value.encode()
                except UnicodeEncodeError as exc:
                    raise InvalidArgument(f"{self.name}={shown(value)} has half of a surrogate pair") from exc
            case "int", int() if type(value) is int and -_LIMIT <= value < _LIMIT:
                return _INT.pack(value)
            case "float", int() | float() if type(value) is not bool:
                try:
                    return _FLOAT.pack(value)
                except (OverflowError, struct.error) as exc:
                    raise InvalidArgument(f"{self.name}={shown(value)} is out of the range of a float") from exc
            case "time", datetime() if value.tzinfo is not None:
                return _INT.pack(milliseconds(value))
            case "bytes", bytes():
                return value
            case "json", _:
                try:
                    return msgspec.json.encode(value)
                except (TypeError, *UNREADABLE) as exc:
                    raise InvalidArgument(f"{self.name}={shown(value)} cannot be JSON: {exc}") from exc
        raise InvalidArgument(f"{self.name}={shown(value)} must be {_WORDS[self.type]}")

    def decode(self, stored: bytes) -> Any:
        """Return the value of the bytes *stored*; raises `ValueError` for bytes that are no such value."""
        try:
            match self.type:
                case "text":
                    return stored.decode()
                case "int":
                    return _INT.unpack(stored)[0]
                case "float":
                    return _FLOAT.unpack(stored)[0]
                case "time":
                    return moment_of(_INT.unpack(stored)[0])
                case "json":
                    return msgspec.json.decode(stored)
            return stored
        except (struct.error, *UNREADABLE) as exc:
            raise ValueError(f"the cell of column {self.name!r} is no {self.type}: {exc}") from exc

    def in_family(self, family: str) -> TypedColumn:
        """Return the column with its family: by default *family*."""
        return self if self.family is not None else TypedColumn(self.name, self.type, family)

    def stored(self) -> tuple[bytes, bytes]:
        """Return the cell, name and value, that declares the column in the layout of its table."""
        return TYPED_PREFIX + self.name.encode(), with_checksum(msgspec.json.encode(self))

    @classmethod
    def from_cell(cls, table: str, stored: bytes) -> TypedColumn:
        """Return the column that a cell declares; raises `LayoutMismatch` if this version cannot read it."""
        try:
            return msgspec.json.decode(unsealed(stored), type=cls)
        except UNREADABLE as exc:
            raise LayoutMismatch(f"{table}: this version of webtable does not know a stored column: {exc}") from exc

    def __str__(self) -> str:
        return f"{self.name}: {self.type} in {self.family}" if self.family else f"{self.name}: {self.type}"


_WORDS: dict[ValueType, str] = {
    "text": "text (str)",
    "int": "a whole number from -2**63 to 2**63 - 1",
    "float": "a number",
    "time": "a datetime with a timezone, as in datetime.now(UTC)",
    "json": "JSON",
    "bytes": "bytes",
}
