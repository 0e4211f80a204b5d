"""Half-open ranges of row keys, their grouping into calls, row keys as text, and split points of regions."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.errors import InvalidArgument, KeyFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ESCAPED_BYTE = re.compile(r"\\x([0-9A-Fa-f]{2})")


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
    # Latin-1 has the 256 bytes as its first characters, and ASCII has no others by mistake.
    if not text.isascii():
        raise KeyFormatError(f"{text[:200]!a} is not a row key: write bytes outside ASCII as \\xNN")
    return _ESCAPED_BYTE.sub(lambda escape: chr(int(escape[1], 16)), text).encode("latin-1")


class KeyRange(NamedTuple):
    r"""The row keys from `start`, included, to `stop`, excluded.

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
        r"""Return the part of the range after *key*.

        >>> KeyRange(b"a", b"c").after(b"b")
        KeyRange(start=b'b\x00', stop=b'c')
        """
        return KeyRange(max(self.start, key + b"\x00"), self.stop)

    def before(self, key: bytes) -> KeyRange:
        """Return the part of the range before *key*."""
        return KeyRange(self.start, min(self.stop, key) if self.stop else key)

    def inside(self, other: KeyRange) -> KeyRange:
        r"""Return the part of the range that is in *other* too; it may be empty.

        >>> KeyRange(b"a", b"c").inside(KeyRange(b"b"))
        KeyRange(start=b'b', stop=b'c')
        """
        stop = min(self.stop, other.stop) if self.stop and other.stop else self.stop or other.stop
        return KeyRange(max(self.start, other.start), stop)


ALL_KEYS: Final = KeyRange()
"""Every key of a table."""


def clipped(ranges: Iterable[KeyRange], keys: KeyRange) -> list[KeyRange]:
    """Return the parts of *ranges* that are in *keys*, in their order, without empty ones."""
    parts = (piece.inside(keys) for piece in ranges)
    return [piece for piece in parts if not piece.is_empty()]


def prefix_stop(prefix: bytes) -> bytes:
    r"""Return the first key that sorts after every key starting with *prefix*.

    The result is empty if there is no such key, which means "to the end of the table" in a `KeyRange`.

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
    """Return the union of *ranges* as sorted ranges that neither overlap nor touch, without empty ones.

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
"""The most ranges in a call: each has its own filters, which the region server applies to every cell."""
_MOST_ROWS: Final = 4096
"""The most rows that a call returns, unless one range has more."""


class RangePart(NamedTuple):
    """The part of a range that lies in one group of regions."""

    keys: KeyRange
    owner: int


def groups_of(ranges: Sequence[KeyRange], bounds: Sequence[bytes], count: int) -> list[list[RangePart]]:
    """Return the parts of *ranges* in at most *count* groups of neighbouring regions, each group in key order.

    *bounds* are the first keys of all regions except the first. Wrong bounds cost time, but never lose rows.

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
    size = -(-len(in_order) // count) or 1
    return [list(chain.from_iterable(in_order[at : at + size])) for at in range(0, len(in_order), size)]


def calls_of(groups: Sequence[list[RangePart]], limit: int) -> list[list[RangePart]]:
    """Return the parts of *groups* in calls that each return the first *limit* rows of their parts."""
    size = max(1, min(_MOST_RANGES, _MOST_ROWS // limit))
    return [group[at : at + size] for group in groups for at in range(0, len(group), size)]


MAX_REGIONS = 1_000_000
"""The most regions for which points are made: far more than an HBase table can have, but few enough for a list."""

_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")


def split_points(regions: int, digits: int = 2) -> list[bytes]:
    """Return the first keys of all regions except the first, for keys that begin with *digits* hex digits.

    The regions have equally many salts, to within one. *digits* may be up to 32, an MD5 in hex. Raises
    `InvalidArgument` if there are more regions than salts.

    >>> split_points(4)
    [b'40', b'80', b'c0']
    >>> len(split_points(16))
    15
    """
    if not isinstance(digits, int) or not 0 <= digits <= 32:
        raise InvalidArgument(f"digits={digits!r} must be from 0 to 32")
    salts = 16**digits
    _check(regions, salts, f"the salts that {digits} digits make")
    return [b"%0*x" % (digits, region * salts // regions) for region in range(1, regions)]


def hex_split_points(first: str, last: str, regions: int) -> list[bytes]:
    """Return the first keys of all regions but the first, for keys that begin with hex digits from *first* to *last*.

    Both are included, and the points have their width and letter case. They are those of HBase's `HexStringSplit`
    (which always writes lower case): equal steps, and the last region takes the remainder, fewer than *regions* values.

    The points are computed in hex, not in bytes: no key can be halfway between the bytes of `9` (39) and `a` (61), and
    regions that begin there would stay empty.

    Raises `InvalidArgument` for texts that are not hex of one width and one case, for *first* after *last*, and for
    more regions than there are values.

    >>> hex_split_points("00000000", "FFFFFFFF", 4)
    [b'40000000', b'80000000', b'C0000000']
    """
    for name, text in (("first", first), ("last", last)):
        if not isinstance(text, str) or not _HEX.fullmatch(text):
            raise InvalidArgument(f"{name}={text!r} must be hex digits, all of one case, as in '00ff'")
    if len(first) != len(last) or not _HEX.fullmatch(first + last):
        raise InvalidArgument(f"first={first!r} and last={last!r} must have one width and one case")
    low, high = int(first, 16), int(last, 16)
    if low > high:
        raise InvalidArgument(f"first={first!r} must not be after last={last!r}")
    _check(regions, high - low + 1, f"the values from {first} to {last}")
    step = (high - low + 1) // regions
    kind = "X" if (first + last).isupper() else "x"
    return [f"{low + region * step:0{len(first)}{kind}}".encode() for region in range(1, regions)]


def uniform_split_points(regions: int) -> list[bytes]:
    r"""Return the first keys of all regions except the first, for keys with evenly distributed first bytes.

    Raw hashes are such keys; for hashes in hex use `hex_split_points`. The points are those of HBase's `UniformSplit`,
    which has 8 bytes, without trailing zero bytes: those make no difference to the region of a key. Raises
    `InvalidArgument` for a number of regions below 1.

    >>> uniform_split_points(4)
    [b'@', b'\x80', b'\xc0']
    """
    # UniformSplit of HBase's RegionSplitter.
    _check(regions, 256**8, "the values of 8 bytes")
    step = 256**8 // regions
    return [(region * step).to_bytes(8, "big").rstrip(b"\0") for region in range(1, regions)]


def sample_split_points(keys: Iterable[bytes], regions: int) -> list[bytes]:
    """Return the first keys of all regions except the first, so that each has equally many of *keys*, to within one.

    *keys* are a sample of the rows, in any order; duplicates count once. Each point is the shortest one that separates
    the first key of its region from the key before. If there are fewer distinct keys than regions, there are fewer
    points: one region for each key, and no points without keys.

    All keys are held in memory and sorted, so sample a large table first. Raises `InvalidArgument` for a key that is
    not bytes and for a number of regions below 1.

    >>> sample_split_points([b"com.example/a", b"com.example/b", b"org.example/a", b"org.example/b"], 2)
    [b'o']
    """
    _check(regions, MAX_REGIONS, "which is more than any table has")
    ordered = sorted(_distinct("keys", keys))
    wanted = min(regions, len(ordered))
    places = (region * len(ordered) // wanted for region in range(1, wanted))
    pairs = ((ordered[place - 1], ordered[place]) for place in places)
    return [key[: shared_start(before, key) + 1] for before, key in pairs]


def merged_split_points(*lists: Iterable[bytes]) -> list[bytes]:
    """Return the points of all *lists*, sorted and without duplicates, and without the empty one, which splits nothing.

    Raises `InvalidArgument` for a point that is not bytes.

    >>> merged_split_points(split_points(2), [b"a:com.example/", b"80"])
    [b'80', b'a:com.example/']
    """
    return sorted({point for points in lists for point in _distinct("lists", points)} - {b""})


def _check(regions: int, values: int, what: str) -> None:
    limit = min(values, MAX_REGIONS)
    if not isinstance(regions, int) or not 1 <= regions <= limit:
        reason = what if limit == values else "which is more than any table has"
        raise InvalidArgument(f"regions={regions!r} must be from 1 to {limit:,}, {reason}")


def _distinct(name: str, keys: Iterable[bytes]) -> set[bytes]:
    distinct = set()
    for key in keys:
        if not isinstance(key, bytes):
            raise InvalidArgument(f"{name}: {key!r} must be bytes, not {type(key).__name__}")
        distinct.add(key)
    return distinct


def shared_start(low: bytes, high: bytes) -> int:
    """Return the length of the common prefix of two keys."""
    return next((at for at, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
