"""The JSON objects that cells hold, with their checksums: made, and read as the structs that they are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Generic, TypeVar

import msgspec

from webtable._checksums import has_checksum, is_intact, may_have_lost_it, place, with_checksum

S = TypeVar("S", bound=msgspec.Struct)

_encoder = msgspec.json.Encoder()


def json_of(value: object) -> bytes:
    """Return *value* as JSON; half a surrogate pair, which UTF-8 cannot write, becomes a question mark."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        # A wrongly decoded title, header or anchor may hold one.
        return _encoder.encode(_with_whole_characters(msgspec.to_builtins(value)))


def checked_json(value: object, row: bytes, timestamp: int) -> bytes:
    """Return *value* as a cell in *row* under *timestamp* holds it: as JSON, with its checksum."""
    return with_checksum(json_of(value), place(row, timestamp))


class JSONValue(Generic[S]):
    """Values that are a struct as JSON, as `checked_json` makes them, or without a checksum as they once were."""

    def __init__(self, kind: type[S]) -> None:
        self.decode = msgspec.json.Decoder(kind).decode
        """Reads a value whose checksum is right."""
        # What an object without a checksum has must be known, or a checksum with a damaged name would be overlooked.
        strict = msgspec.defstruct("Strict", [], bases=(kind,), forbid_unknown_fields=True)
        self._decode_strictly = msgspec.json.Decoder(strict).decode
        self._dates = [field.name for field in msgspec.structs.fields(kind) if _is_date(field.type)]

    def read(self, value: bytes, row: bytes, timestamp: int) -> S:
        """Return the struct that a cell in *row* under *timestamp* holds; raises one of `UNREADABLE`."""
        if is_intact(value, place(row, timestamp)):
            return self.decode(value)
        if has_checksum(value):
            raise ValueError("it is not what its checksum says")
        return self.read_unchecked(value)

    def read_unchecked(self, value: bytes) -> S:
        """Return the struct that a value without a checksum holds; raises one of `UNREADABLE`."""
        if may_have_lost_it(value):
            self._decode_strictly(value)
        found = self.decode(value)
        for name in self._dates:
            held = getattr(found, name)
            for moment in held if isinstance(held, tuple) else (held,):
                _check_date(name, moment)
        return found


def _check_date(name: str, moment: datetime | None) -> None:
    if moment is not None and moment.tzinfo is None:
        raise ValueError(f"{name} has no timezone")
    if moment is not None:
        moment.astimezone(UTC)  # at the ends of the calendar it cannot


def _is_date(kind: object) -> bool:
    return kind is datetime or datetime in getattr(kind, "__args__", ())


def _with_whole_characters(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_with_whole_characters(name): _with_whole_characters(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_with_whole_characters(inner) for inner in value]
        case _:
            return value
