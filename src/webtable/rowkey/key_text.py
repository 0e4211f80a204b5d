"""Row keys as text, in the form of HBase's `Bytes.toStringBinary`."""

from __future__ import annotations

import re

from webtable.errors import KeyFormatError

_HEX = re.compile(r"\\x([0-9A-Fa-f]{2})")


def key_text(key: bytes) -> str:
    r"""Return a row key as the HBase shell shows it.

    >>> key_text(b"5a:com.example/\xff")
    '5a:com.example/\\xFF'
    """
    return "".join(chr(b) if 0x20 <= b < 0x7F and b != 0x5C else f"\\x{b:02X}" for b in key)


def parse_key(text: str) -> bytes:
    r"""Return the row key that `key_text` shows; raises `KeyFormatError` for text that is not ASCII.

    >>> parse_key("5a:com.example/\\xFF")
    b'5a:com.example/\xff'
    """
    if not text.isascii():
        raise KeyFormatError(f"{text[:200]!a} is no row key: give bytes outside of ASCII as \\xNN")
    return _HEX.sub(lambda found: chr(int(found[1], 16)), text).encode("latin-1")
