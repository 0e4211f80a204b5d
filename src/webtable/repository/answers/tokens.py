"""Page tokens: the place after which an answer continues, as text with a checksum, for one question in one order."""

from __future__ import annotations

import hashlib
import re

import msgspec

from webtable.errors import InvalidToken
from webtable.rowkey.fields.field import shown

_NUMBER = re.compile(rb"-?[0-9]{1,15}")
_CHECKSUM = 6
"""How many bytes of a token are its checksum."""


# A token names no state of a server: it survives the process, and finds its place after inserts and deletes. The
# checksum tells a token that was cut or mistyped from one of another question; it is no signature.
class _Position(msgspec.Struct, frozen=True, array_like=True):
    question: str
    place: bytes


def token_of(question: str, order: str, place: bytes) -> str:
    """Return the token with which the answer to *question* continues after a *place*."""
    return _token(_Position(_fingerprint(question, order), place))


def place_in(token: str | None, question: str, order: str) -> bytes | None:
    """Return the place that *token* names; raises `InvalidToken` for one that is damaged or of another question."""
    if token is None:
        return None
    position = _position(token)
    if position is None:
        raise invalid_token(token)
    if position.question != _fingerprint(question, order):
        raise InvalidToken(f"after={token!r} belongs to another question than {question}, order={order!r}")
    return position.place


def number_of(place: bytes) -> int:
    """Return the number that *place* contains, in answers ordered by number; raises `InvalidToken` if it does not.

    A checksum shows that a token is intact, not that webtable made it.
    """
    if not _NUMBER.fullmatch(place):
        raise invalid_token(place)
    return int(place)


def last_number(place: bytes, separator: bytes) -> tuple[bytes, int]:
    """Return *place* without the number at its end, after *separator*; raises `InvalidToken` if there is none."""
    start, between, number = place.rpartition(separator)
    if not between:
        raise invalid_token(place)
    return start, number_of(number)


def invalid_token(token: object) -> InvalidToken:
    """Return the error for an invalid *token*."""
    return InvalidToken(f"after={shown(token)} is not a page token: give the token of an answer unchanged")


def _token(position: _Position) -> str:
    """Return *position* as text, after a checksum."""
    import base64  # most answers are read without a token

    packed = msgspec.msgpack.encode(position)
    return base64.urlsafe_b64encode(_checksum(packed) + packed).rstrip(b"=").decode()


def _position(token: str) -> _Position | None:
    """Return the position in *token*, or None if `_token` did not return it."""
    import base64

    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        checksum, packed = packed[:_CHECKSUM], packed[_CHECKSUM:]
        if checksum != _checksum(packed):
            return None
        position = msgspec.msgpack.decode(packed, type=_Position)
    except (TypeError, ValueError, RecursionError, MemoryError):
        return None
    # Some of the last bits of the last letter are unused.
    return position if _token(position) == token else None


def _checksum(packed: bytes) -> bytes:
    return hashlib.sha256(packed).digest()[:_CHECKSUM]


def _fingerprint(question: str, order: str) -> str:
    return hashlib.sha256(f"{question} {order}".encode()).hexdigest()[:12]
