"""Half-open ranges of row keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


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
        r"""Return what is left of the range behind *key*.

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
