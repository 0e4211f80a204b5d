"""What of a row is wanted, as every call of either gateway needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webtable.errors import InvalidArgument
from webtable.store.base import TimeRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Selection(NamedTuple):
    """Columns (`b"family:"` is a whole family, None is all), versions and times that are wanted of a row."""

    columns: tuple[bytes, ...] | None = None
    versions: int = 1
    time_range: TimeRange | None = None
    keys_only: bool = False
    reverse: bool = False

    def is_empty(self) -> bool:
        """Whether no cell can be in it."""
        times = self.time_range
        return self.columns == () or (times is not None and times.since >= times.until)


def selection(columns: Sequence[bytes] | None, versions: int = 1, time_range: TimeRange | None = None,
              *, keys_only: bool = False, reverse: bool = False) -> Selection:
    """Return the checked selection; raises `InvalidArgument`."""
    if versions < 1:
        raise InvalidArgument(f"versions={versions} must be at least 1")
    if time_range is not None:
        since, until = max(time_range.since, 0), min(max(time_range.until, 0), 2**63 - 1)
        time_range = None if (since, until) == TimeRange() else TimeRange(since, until)
    wanted = None if columns is None else distinct_columns(columns)
    return Selection(wanted, versions, time_range, keys_only, reverse)


def distinct_columns(columns: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return *columns* without repetitions and without those whose whole family is there.

    HBase takes a column added after its family for the only wanted one of the family.

    >>> distinct_columns([b"f:", b"f:a", b"g:a", b"g:a"])
    (b'f:', b'g:a')
    """
    wanted = dict.fromkeys(columns)
    for column in wanted:
        if b":" not in column or column.startswith(b":"):
            raise InvalidArgument(f"column {column!r} must be family:qualifier, or family: for a whole family")
    whole = {column for column in wanted if column.endswith(b":") and column.count(b":") == 1}
    return tuple(c for c in wanted if c in whole or c[:c.index(b":") + 1] not in whole)


def key_before(start: bytes) -> bytes:
    r"""Return a key that sorts before *start*, with no key between them that anybody uses.

    >>> key_before(b"a\x00"), key_before(b"b"), key_before(b"")
    (b'a', b'a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff', b'')
    """
    if start.endswith(b"\x00"):
        return start[:-1]
    return start[:-1] + bytes([start[-1] - 1]) + b"\xff" * 16 if start else b""
