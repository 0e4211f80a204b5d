r"""Where a value of varying width ends inside a key, and how the mark of its end is escaped within it.

Two ways, both injective. With the terminator ``\0`` the order is kept: 00 becomes 01 01 and 01 becomes 01 02, so no
00 is left but the last, which sorts before every other byte (the idea is that of Google's OrderedCode: an escape that
sorts as what it stands for). With any other terminator, such as ``:``, its first byte and ``%`` become ``%3A`` and
``%25``, as in URLs: readable, but "a:" sorts behind "a!:".
"""

from __future__ import annotations

import re

from webtable.errors import InvalidArgument
from webtable.rowkey.fields.conditions import shown

_ESCAPED = re.compile(rb"%([0-9A-F]{2})")
_MARK = re.compile(rb"\x01(.?)", re.DOTALL)


def keeps_order(terminator: bytes | None) -> bool:
    """Whether texts sort as their encoded forms do; a text without a terminator is the end of its key."""
    return terminator in (None, b"\x00")


def escaped(value: bytes, terminator: bytes | None) -> bytes:
    r"""Return *value* so that *terminator* is not in it; without the terminator itself.

    >>> escaped(b"a:b", b":"), escaped(b"a\0b", b"\0"), escaped(b"a:b", None)
    (b'a%3Ab', b'a\x01\x01b', b'a:b')
    """
    if terminator is None:
        return value
    if terminator == b"\x00":
        return value.replace(b"\x01", b"\x01\x02").replace(b"\x00", b"\x01\x01")
    first = terminator[:1]
    return value.replace(b"%", b"%25").replace(first, b"%%%02X" % ord(first))


def unescaped(value: bytes, terminator: bytes | None) -> bytes:
    """Return what was escaped; raises `ValueError` for bytes that `escaped` did not make."""
    if terminator == b"\x00":
        made = _MARK.sub(lambda found: bytes([found[1][0] - 1]) if found[1] in (b"\x01", b"\x02") else b"", value)
    elif terminator is not None:
        made = _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), value)
    else:
        return value
    if escaped(made, terminator) != value:
        raise ValueError(value)
    return made


def check_terminator(terminator: object, name: str = "terminator") -> None:
    """Raise `InvalidArgument` for what cannot end a value."""
    if terminator is None:
        return
    if not isinstance(terminator, bytes) or not terminator:
        raise InvalidArgument(f"{name}={shown(terminator)} must be one byte or more, as in b':'")
    if terminator[:1] in b"%0123456789ABCDEF":
        raise InvalidArgument(
            f"{name}={terminator!r} must not begin with '%', a digit or one of A to F: values are escaped with those"
        )
