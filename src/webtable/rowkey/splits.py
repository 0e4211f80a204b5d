"""Split points: where a new table's regions begin."""

from __future__ import annotations

from webtable.errors import InvalidArgument


def split_points(regions: int, digits: int = 2) -> list[bytes]:
    """Return the first keys of all regions but the first, for keys that begin with *digits* hex digits.

    The regions hold equally many salts, to within one. Raises `InvalidArgument` where there are more regions than
    salts.

    >>> split_points(4)
    [b'40', b'80', b'c0']
    >>> len(split_points(16))
    15
    """
    if not isinstance(digits, int) or not 0 <= digits <= 8:
        raise InvalidArgument(f"digits={digits!r} must be from 0 to 8")
    salts = 16**digits
    if not isinstance(regions, int) or not 1 <= regions <= salts:
        raise InvalidArgument(f"regions={regions!r} must be from 1 to {salts:,}, the salts that {digits} digits make")
    return [b"%0*x" % (digits, region * salts // regions) for region in range(1, regions)]
