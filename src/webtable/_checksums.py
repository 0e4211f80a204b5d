"""JSON objects that carry a checksum as their last member, and remain valid JSON for other programs.

    {"url":"https://example.com/","status_code":404,"crc32":"K`HJichH"}

The eight letters are chosen so that the CRC-32 (that of zip and PNG) of the whole object is `RIGHT`. The CRC starts
from a number that depends on where the object is stored (`place`), so an object that was altered is detected, and so is
one that was moved to another row or date. A checksum of the bytes before it would be as safe, but takes three times as
long to compare, because Python has to copy those bytes and format the other checksum; a listing does this for each row.
"""

from __future__ import annotations

from zlib import crc32

UNREADABLE = (ValueError, RecursionError, OverflowError, MemoryError)
"""The exceptions that decoding damaged bytes raises."""
RIGHT = 0
"""The CRC-32 of an object that is undamaged."""
_NAME = b'"crc32":"'
_END = b'"}'
_ZERO = b"@" * 8
_WIDTH = len(_NAME) + 8 + len(_END)


def place(row: bytes, timestamp: int) -> int:
    """Return the number from which the CRC-32 of what is stored in *row* under *timestamp* starts."""
    return crc32(row, timestamp ^ timestamp >> 32)


def with_checksum(value: bytes, begin: int = 0) -> bytes:
    """Return the JSON object *value* with its checksum; the CRC-32 starts from *begin*.

    >>> with_checksum(b'{"a":1}'), with_checksum(b"{}")
    (b'{"a":1,"crc32":"K`HJichH"}', b'{"crc32":"KKIAiH`C"}')
    """
    front = value[:-1] + (b"," if value != b"{}" else b"") + _NAME
    return front + _letters(crc32(_ZERO + _END, crc32(front, begin)) ^ RIGHT) + _END


def is_intact(value: bytes, begin: int = 0) -> bool:
    """Return whether *value* has a checksum, and the right one.

    >>> [is_intact(value) for value in (b'{"a":1,"crc32":"K`HJichH"}', b'{"a":2,"crc32":"K`HJichH"}', b'{"a":1}')]
    [True, False, False]
    """
    return crc32(value, begin) == RIGHT and has_checksum(value)


def has_checksum(value: bytes) -> bool:
    """Return whether *value* has a checksum, right or wrong.

    >>> has_checksum(b'{"a":2,"crc32":"K`HJichH"}'), has_checksum(b'{"a":1}')
    (True, False)
    """
    return value[-_WIDTH:].startswith(_NAME) and value.endswith(_END)


def unsealed(value: bytes) -> bytes:
    """Return *value* as it was before `with_checksum`; raises `ValueError` if the checksum is wrong or missing.

    >>> unsealed(b'{"a":1,"crc32":"K`HJichH"}'), unsealed(b'{"crc32":"KKIAiH`C"}')
    (b'{"a":1}', b'{}')
    """
    if not has_checksum(value):
        return value
    if not is_intact(value):
        raise ValueError("its checksum is wrong or missing")
    return value[:-_WIDTH].removesuffix(b",") + b"}"


def _letters(difference: int) -> bytes:
    """Return the letters that change the CRC-32 by *difference* when they replace `_ZERO` at the end."""
    lowest, low, high, highest = _TABLES
    bits = (
        lowest[difference & 255] ^ low[difference >> 8 & 255] ^ high[difference >> 16 & 255] ^ highest[difference >> 24]
    )
    return (b"%08x" % bits).translate(_AS_LETTERS)


# Sixteen letters that XOR as hexadecimal digits do: they differ in four bits. Not any four bits will do.
_AS_LETTERS = bytes.maketrans(b"0123456789abcdef", b"@ABCHIJK`abchijk")


def _tables() -> list[list[int]]:
    """Return, for each byte of a difference, the bits of the letters that each of its values sets."""
    # The CRC of XORed texts is the XOR of their CRCs. So the effect of each bit is known from that bit alone, and the
    # bits that make a wanted difference follow from solving 32 equations (Gauss-Jordan).
    nothing = crc32(_ZERO + _END)
    rows = [(crc32((b"%08x" % (1 << bit)).translate(_AS_LETTERS) + _END) ^ nothing, 1 << bit) for bit in range(32)]
    for bit in range(32):
        at = next(at for at in range(bit, 32) if rows[at][0] >> bit & 1)
        rows[bit], rows[at] = rows[at], rows[bit]
        effect, bits = rows[bit]
        for other in range(32):
            if other != bit and rows[other][0] >> bit & 1:
                rows[other] = rows[other][0] ^ effect, rows[other][1] ^ bits
    tables = []
    for start in range(0, 32, 8):
        table = [0]
        for _, bits in rows[start : start + 8]:
            table += [bits ^ combined for combined in table]
        tables.append(table)
    return tables


_TABLES = _tables()
