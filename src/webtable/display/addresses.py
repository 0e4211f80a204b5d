"""Addresses and moments as people read them: decoded and shortened, in UTC and by their age."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from webtable._clock import clock

if TYPE_CHECKING:
    from datetime import datetime

_ORIGIN: Final = re.compile(r"(?P<scheme>[a-z]+://)(?P<host>[^/?#]*)(?P<rest>.*)", re.DOTALL)
# Percent-encoded bytes of UTF-8 above ASCII: what is decoded of an address, as the others have a meaning of their own.
_ENCODED: Final = re.compile(r"(?:%[89A-Fa-f][0-9A-Fa-f])+")
LONGEST_PATH: Final = 70


def decoded(url: str) -> str:
    """Return *url* with letters in place of the bytes of its path that stand for some.

    >>> decoded("https://example.com/caf%C3%A9?a=%20%E4")
    'https://example.com/café?a=%20%E4'
    """

    def letters(part: re.Match[str]) -> str:
        try:
            text = unquote(part[0], errors="strict")
        except UnicodeDecodeError:
            return part[0]
        return text if text.isprintable() else part[0]

    return _ENCODED.sub(letters, url)


def address_of(url: str, host_before: str | None) -> tuple[list[tuple[str, str]], str | None]:
    """Return the pieces of *url* as it is shown below a row of *host_before*, and its own host."""
    if (parts := _ORIGIN.fullmatch(decoded(url))) is None:
        return [(url, "")], None
    rest, host = parts["rest"], parts["scheme"] + parts["host"]
    pieces = [(parts["scheme"], "off" * (parts["scheme"] == "https://" or host == host_before))]
    pieces.append((parts["host"], "off" if host == host_before else "host"))
    if len(rest) <= LONGEST_PATH:
        return [*pieces, (rest, "")], host
    end = LONGEST_PATH // 2
    return [*pieces, (rest[:end], ""), (rest[end:-end], "cut"), (rest[-end:], "")], host


def exact(moment: datetime) -> str:
    """Return *moment* as it is written in an address: to the second, or to the millisecond if it has some."""
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def age_of(moment: datetime) -> str:
    """Return how long ago *moment* was, in words."""
    seconds = (clock.now() - moment).total_seconds()
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if abs(seconds) >= length:
            count = round(abs(seconds) / length)
            return f"{count:,} {unit} {'ago' if seconds > 0 else 'from now'}"
    return "just now"
