"""JSON objects that carry a checksum as their last member, and so stay JSON for everybody else.

    {"url":"https://example.com/","status_code":404,"crc32":"K`HJichH"}

The eight letters are such that the CRC-32 (that of zip and PNG) of the whole object is `RIGHT`, if it is begun at a
number that tells where the object is stored (`place`): so one that was altered is found out, and one that came to
another row or date as well. A sum of the bytes in front would be as safe. But it takes three times as long to compare,
for Python has to cut it out and to write the other one beside it; and a listing does this for every row.
"""

from __future__ import annotations

from zlib import crc32

UNREADABLE = (ValueError, RecursionError, OverflowError, MemoryError)
"""What reading damaged bytes raises."""
RIGHT = 0
"""The CRC-32 of an object that is as it was written."""
_NAME = b'"crc32":"'
_END = b'"}'
_ZERO = b"@" * 8
_WIDTH = len(_NAME) + 8 + len(_END)


def place(row: bytes, timestamp: int) -> int:
    """Return the number at which the CRC-32 of what is stored in *row* under *timestamp* begins."""
    return crc32(row, timestamp ^ timestamp >> 32)


def with_checksum(value: bytes, begin: int = 0) -> bytes:
    """Return the JSON object *value* with its checksum, whose CRC-32 begins at *begin*.

    >>> with_checksum(b'{"a":1}'), with_checksum(b"{}")
    (b'{"a":1,"crc32":"K`HJichH"}', b'{"crc32":"KKIAiH`C"}')
    """
    front = value[:-1] + (b"," if value != b"{}" else b"") + _NAME
    return front + _letters(crc32(_ZERO + _END, crc32(front, begin)) ^ RIGHT) + _END


def is_intact(value: bytes, begin: int = 0) -> bool:
    """Return whether *value* has a checksum and is what that says.

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
    """Return *value* as it was before `with_checksum`; raises `ValueError` where it is not what its checksum says.

    >>> unsealed(b'{"a":1,"crc32":"K`HJichH"}'), unsealed(b'{"crc32":"KKIAiH`C"}')
    (b'{"a":1}', b'{}')
    """
    if not has_checksum(value):
        return value
    if not is_intact(value):
        raise ValueError("it is not what its checksum says")
    return value[:-_WIDTH].removesuffix(b",") + b"}"


def _letters(difference: int) -> bytes:
    """Return the letters that, in the place of `_ZERO`, change the CRC-32 of what ends with them by *difference*."""
    lowest, low, high, highest = _TABLES
    bits = (
        lowest[difference & 255] ^ low[difference >> 8 & 255] ^ high[difference >> 16 & 255] ^ highest[difference >> 24]
    )
    return (b"%08x" % bits).translate(_AS_LETTERS)


# Sixteen letters that are exclusive-ored as hexadecimal digits are: they differ in four bits. Not every four will do.
_AS_LETTERS = bytes.maketrans(b"0123456789abcdef", b"@ABCHIJK`abchijk")


def _tables() -> list[list[int]]:
    """Return, for each byte of a difference, what each of its values takes of the 32 bits that the letters hold."""
    # The CRC of exclusive-ored texts is the exclusive or of their CRCs. So what each bit does is known from the bit
    # alone, and which bits make a wanted difference from solving 32 equations (Gauss and Jordan).
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
            table += [bits ^ known for known in table]
        tables.append(table)
    return tables


_TABLES = _tables()
