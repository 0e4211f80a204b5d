r"""Fields of text and of bytes.

A value of varying width ends with a terminator, which is escaped inside the value, in one of two injective ways. With
the terminator ``\0`` the order is kept: 00 becomes 01 01 and 01 becomes 01 02, so the only 00 is the last byte, which
sorts before every other byte (the idea is that of Google's OrderedCode: an escape sequence sorts like the byte that it
replaces). With any other terminator, such as ``:``, its first byte and ``%`` become ``%3A`` and ``%25``, as in URLs:
readable, but "a:" sorts after "a!:".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webtable.errors import InvalidArgument
from webtable.rowkey.fields.field import Between, Condition, Field, StartingWith, check_name, is_count, shown
from webtable.rowkey.ranges import KeyRange, merged, prefix_range, prefix_stop

if TYPE_CHECKING:
    from collections.abc import Callable


_ESCAPED = re.compile(rb"%([0-9A-F]{2})")
_MARK = re.compile(rb"\x01(.?)", re.DOTALL)


def keeps_order(terminator: bytes | None) -> bool:
    """Whether texts sort like their encoded forms; a text without a terminator is at the end of its key."""
    return terminator in (None, b"\x00")


def escaped(value: bytes, terminator: bytes | None) -> bytes:
    r"""Return *value* with *terminator* escaped, without the terminator itself.

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
    """Return the unescaped value; raises `ValueError` for bytes that `escaped` cannot have made."""
    if terminator == b"\x00":
        made = _MARK.sub(lambda match: bytes([match[1][0] - 1]) if match[1] in (b"\x01", b"\x02") else b"", value)
    elif terminator is not None:
        made = _ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), value)
    else:
        return value
    # One value has one encoding: any other bytes are no key, even if they could be read.
    if escaped(made, terminator) != value:
        raise ValueError(value)
    return made


def check_terminator(terminator: object, name: str = "terminator") -> None:
    """Raise `InvalidArgument` for an invalid terminator."""
    if terminator is None:
        return
    if not isinstance(terminator, bytes) or not terminator:
        raise InvalidArgument(f"{name}={shown(terminator)} must be one byte or more, as in b':'")
    # An escape is a percent sign and two of these, which must not end the value.
    if terminator[:1] in b"%0123456789ABCDEF":
        raise InvalidArgument(
            f"{name}={terminator!r} must not begin with '%', a digit or one of A to F: which are used in escapes"
        )


@dataclass(frozen=True)
class Bytes(Field):
    r"""Bytes as they are: exactly *size* of them; or any number, up to the end of the key or to a *terminator*.

    Width: *size* bytes; else those of the value, its escapes (see `webtable.rowkey.fields.text`) and the terminator,
    which is the key's separator by default. Order: that of the bytes with a size, at the end of the key and with the
    terminator ``b"\0"``; none with another terminator. Errors: `FieldError` for a value that is not bytes, or not
    *size* of them; `InvalidArgument` for an impossible size or terminator. Source: HBase reference guide, "Data model":
    row keys are bytes, and sort by them.
    """

    name: str
    size: int | None = None
    terminator: bytes | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        check_terminator(self.terminator)
        if self.size is not None and not is_count(self.size, 1):
            raise InvalidArgument(f"size={shown(self.size)} of {self.name!r} must be a number of bytes from 1")
        object.__setattr__(self, "takes", (self.name,))

    @property
    def width(self) -> int | None:
        """The given size."""
        return self.size

    @property
    def ordered(self) -> bool:
        """Whether the terminator keeps the order."""
        return self.size is not None or keeps_order(self.terminator)

    @property
    def unordered_because(self) -> tuple[str, str]:
        """The terminator sorts among the bytes of the values."""
        return (
            f"the {self.terminator!r} after it sorts among the bytes of its values",
            "terminator=b'\\0' would keep the order, and so would a fixed width",
        )

    def encode(self, value: Any) -> bytes:
        """Return the escaped bytes of the value, with the terminator."""
        raw = self._raw(value)
        if self.terminator is None or self.size is not None:
            return raw
        return escaped(raw, self.terminator) + self.terminator

    def decode(self, key: bytes, at: int) -> tuple[Any, int]:
        """Return the value at *at*."""
        raw, end = self._raw_at(key, at)
        try:
            return self._value(raw), end
        except ValueError:
            self.no_value(key, at)

    def hash_input(self, value: Any) -> bytes:
        """Return the value's bytes."""
        return self._raw(value)

    def ranges(self, condition: Condition) -> list[KeyRange]:
        """Return the ranges for `between` and `starting_with`."""
        if isinstance(condition, StartingWith):
            beginning = self._beginning(condition.prefix)
            if self.size is not None and len(beginning) > self.size:
                self.refuse(condition.prefix, f"at most {self.size} bytes, the size of the field")
            # Escapes are of single bytes, so the escaped prefix begins every escaped value that begins with it.
            return [prefix_range(escaped(beginning, None if self.size else self.terminator))]
        return super().ranges(condition)

    def _between(self, condition: Between) -> list[KeyRange]:
        ranges = super()._between(condition)
        # At the end of the key the empty value is empty bytes, which as the stop of a range would mean "no end".
        return [] if condition.until is not None and not self.encode(condition.until) else ranges

    def _raw(self, value: Any) -> bytes:
        if not isinstance(value, bytes) or (self.size is not None and len(value) != self.size):
            self.refuse(value, "bytes" if self.size is None else f"{self.size} bytes")
        return value

    def _beginning(self, prefix: Any) -> bytes:
        if not isinstance(prefix, bytes):
            self.refuse(prefix, "bytes")
        return prefix

    def _value(self, raw: bytes) -> Any:
        return raw

    def _raw_at(self, key: bytes, at: int) -> tuple[bytes, int]:
        if self.size is not None:
            return self.fixed(key, at, self.size), at + self.size
        if self.terminator is None:
            return key[at:], len(key)
        end = key.find(self.terminator, at)
        if end < 0:
            self.no_value(key, at)
        try:
            return unescaped(key[at:end], self.terminator), end + len(self.terminator)
        except ValueError:
            self.no_value(key, at)


@dataclass(frozen=True)
class Text(Bytes):
    r"""Text as UTF-8, up to the end of the key, or to a *terminator*, which is escaped within it.

    Width: the UTF-8 bytes of the value, its escapes and the terminator (the key's separator by default). Order: by code
    point at the end of the key and with the terminator ``b"\0"``; none with another terminator. With a *size* the text
    must have exactly that many bytes; `FixedText` pads shorter ones. Errors: `FieldError` for a value that is not text,
    or has half of a surrogate pair. Source: `webtable.rowkey.fields.text`.
    """

    def encoder(self) -> Callable[..., bytes]:
        """Return `str.encode` if nothing else has to be done."""
        end = self.terminator
        if self.size is not None:
            return self.encode
        return str.encode if end is None else lambda value: escaped(str.encode(value), end) + end

    def kept(self, value: Any) -> Any:
        """Return the text unchanged: a key keeps all of it."""
        self._raw(value)
        return value

    def hash_encoder(self) -> Callable[[Any], bytes]:
        """Return `str.encode`."""
        return str.encode if self.size is None else self.hash_input

    def _raw(self, value: Any) -> bytes:
        raw = utf8(self, value)
        if self.size is not None and len(raw) != self.size:
            self.refuse(value, f"text of {self.size} bytes in UTF-8; it has {len(raw):,}")
        return raw

    def _beginning(self, prefix: Any) -> bytes:
        return utf8(self, prefix)

    def _value(self, raw: bytes) -> Any:
        return raw.decode()


@dataclass(frozen=True)
class FixedText(Field):
    r"""Text in exactly *size* bytes of UTF-8; shorter texts are padded with *pad*.

    Width: *size* bytes. Order: by code point. Errors: `FieldError` for a longer text, and for one that ends with the
    pad or has a character that sorts before it (the pad, or the order, would be lost); `InvalidArgument` for a *pad*
    that is not one ASCII byte. Source: Apache Phoenix, "Data types", CHAR.
    """

    name: str
    size: int
    pad: bytes = b"\x00"

    def __post_init__(self) -> None:
        check_name(self.name)
        if not is_count(self.size, 1):
            raise InvalidArgument(f"size={shown(self.size)} of {self.name!r} must be a number of bytes from 1")
        if not isinstance(self.pad, bytes) or len(self.pad) != 1 or self.pad > b"\x7f":
            raise InvalidArgument(f"pad={shown(self.pad)} of {self.name!r} must be one byte of ASCII")
        object.__setattr__(self, "takes", (self.name,))

    @property
    def width(self) -> int:
        """The given size."""
        return self.size

    def encode(self, value: Any) -> bytes:
        """Return the padded text."""
        raw = self.hash_input(value)
        # Bytes, not characters: the width of the key must not depend on the alphabet.
        if len(raw) > self.size:
            self.refuse(value, f"at most {self.size} bytes of UTF-8; it has {len(raw):,}")
        if raw and (raw.endswith(self.pad) or min(raw) < self.pad[0]):
            self.refuse(value, f"text that does not end with {self.pad!r} and has nothing that sorts before it")
        return raw.ljust(self.size, self.pad)

    def decode(self, key: bytes, at: int) -> tuple[str, int]:
        """Return the text without its pad."""
        try:
            return self.fixed(key, at, self.size).rstrip(self.pad).decode(), at + self.size
        except UnicodeDecodeError:
            self.no_value(key, at)

    def hash_input(self, value: Any) -> bytes:
        """Return the text as UTF-8."""
        return utf8(self, value)

    def ranges(self, condition: Condition) -> list[KeyRange]:
        """Return the ranges for `between` and `starting_with`."""
        if isinstance(condition, StartingWith):
            beginning = self.hash_input(condition.prefix)
            if len(beginning) > self.size:
                self.refuse(condition.prefix, f"at most {self.size} bytes of UTF-8")
            stop = prefix_stop(beginning)
            # A text that is one pad shorter looks as if it began with the prefix; it is the first of those.
            start = prefix_stop(beginning.ljust(self.size, self.pad)) if beginning.endswith(self.pad) else beginning
            return merged([KeyRange(start, stop)])
        return super().ranges(condition)


def utf8(field: Field, value: Any) -> bytes:
    """Return the text *value* as UTF-8; raises the `FieldError` of *field* if it is not text, or cannot be UTF-8."""
    if not isinstance(value, str):
        field.refuse(value, "text (str)")
    try:
        return value.encode()
    except UnicodeEncodeError:
        field.refuse(value, "text without halves of surrogate pairs")
