"""Half-open ranges of row keys, those that are read in one call, and row keys as text."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.errors import KeyFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


class KeyRange(NamedTuple):
    r"""The row keys from `start`, which is in, up to `stop`, which is out.

    An empty `start` is the beginning of the table, an empty `stop` its end, as in HBase.

    >>> b"com.example/a" in KeyRange(b"com.example/", b"com.example0")
    True
    """

    start: bytes = b""
    stop: bytes = b""

    def __contains__(self, key: object) -> bool:
        return isinstance(key, bytes) and self.start <= key and (not self.stop or key < self.stop)

    def is_empty(self) -> bool:
        """Whether no key can be in the range."""
        return bool(self.stop) and self.start >= self.stop

    def after(self, key: bytes) -> KeyRange:
        r"""Return what is left of the range after *key*.

        >>> KeyRange(b"a", b"c").after(b"b")
        KeyRange(start=b'b\x00', stop=b'c')
        """
        return KeyRange(max(self.start, key + b"\x00"), self.stop)

    def before(self, key: bytes) -> KeyRange:
        """Return what is left of the range in front of *key*."""
        return KeyRange(self.start, min(self.stop, key) if self.stop else key)


def prefix_stop(prefix: bytes) -> bytes:
    r"""Return the first key that sorts after every key starting with *prefix*.

    The result is empty when there is no such key, which `KeyRange` reads as "to the end of the table".

    >>> prefix_stop(b"com.example.")
    b'com.example/'
    >>> prefix_stop(b"\xff")
    b''
    """
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else b""


def prefix_range(prefix: bytes) -> KeyRange:
    """Return the range of all keys that start with *prefix*."""
    return KeyRange(prefix, prefix_stop(prefix))


def merged(ranges: Iterable[KeyRange]) -> list[KeyRange]:
    """Return the same keys as sorted ranges that neither overlap nor touch, the empty ones left out.

    >>> merged([KeyRange(b"c", b"d"), KeyRange(b"a", b"b"), KeyRange(b"b", b"c")])
    [KeyRange(start=b'a', stop=b'd')]
    """
    result: list[KeyRange] = []
    for current in sorted(r for r in ranges if not r.is_empty()):
        last = result[-1] if result else None
        if last is None or (last.stop and last.stop < current.start):
            result.append(current)
        else:
            stop = max(last.stop, current.stop) if last.stop and current.stop else b""
            result[-1] = KeyRange(last.start, stop)
    return result


_MOST_RANGES: Final = 32
"""How many ranges a call has at most: each has filters of its own, which the region server shows every cell to."""
_MOST_ROWS: Final = 4096
"""How many rows a call brings at most, but those of one range at least."""


class RangePart(NamedTuple):
    """The part of a range that lies in one group of regions."""

    keys: KeyRange
    owner: int


def groups_of(ranges: Sequence[KeyRange], bounds: Sequence[bytes], most: int) -> list[list[RangePart]]:
    """Return the parts of *ranges* in at most *most* groups of neighbouring regions, each group in key order.

    *bounds* are the first keys of the regions after the first one. Wrong bounds cost time, never rows.

    >>> [[part.keys for part in group] for group in groups_of([KeyRange(b"a", b"c"), KeyRange(b"d", b"")], [b"b"], 2)]
    [[KeyRange(start=b'a', stop=b'b')], [KeyRange(start=b'b', stop=b'c'), KeyRange(start=b'd', stop=b'')]]
    """
    regions: dict[int, list[RangePart]] = {}
    for owner, keys in enumerate(ranges):
        if keys.is_empty():
            continue
        first = bisect_right(bounds, keys.start)
        last = bisect_right(bounds, keys.stop) if keys.stop else len(bounds)
        for region in range(first, last + 1):
            start = max(keys.start, bounds[region - 1]) if region else keys.start
            stop = keys.stop
            if region < len(bounds):
                stop = min(stop, bounds[region]) if stop else bounds[region]
            part = RangePart(KeyRange(start, stop), owner)
            if not part.keys.is_empty():
                regions.setdefault(region, []).append(part)
    in_order = [sorted(regions[region]) for region in sorted(regions)]
    size = -(-len(in_order) // most) or 1
    return [list(chain.from_iterable(in_order[at : at + size])) for at in range(0, len(in_order), size)]


def calls_of(groups: Sequence[list[RangePart]], limit: int) -> list[list[RangePart]]:
    """Return the parts of *groups* whose first *limit* rows come in one call each."""
    size = max(1, min(_MOST_RANGES, _MOST_ROWS // limit))
    return [group[at : at + size] for group in groups for at in range(0, len(group), size)]
