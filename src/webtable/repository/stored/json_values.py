"""The JSON objects that cells hold, with their checksums: made, and read as the structs that they are."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from webtable._checksums import has_checksum, is_intact, place, with_checksum

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
    """Values that are a struct as JSON, as `checked_json` makes them."""

    def __init__(self, kind: type[S]) -> None:
        self.decode = msgspec.json.Decoder(kind).decode
        """Reads a value whose checksum is right."""

    def read(self, value: bytes, row: bytes, timestamp: int) -> S:
        """Return the struct that a cell in *row* under *timestamp* holds; raises one of `UNREADABLE`."""
        if not is_intact(value, place(row, timestamp)):
            raise ValueError("it is not what its checksum says" if has_checksum(value) else "it has no checksum")
        return self.decode(value)


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
