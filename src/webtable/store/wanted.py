"""What of a row is wanted: one value for every call that reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from webtable.errors import InvalidArgument


class TimeRange(NamedTuple):
    """Timestamps from `since`, which is in, up to `until`, which is out, in epoch milliseconds."""

    since: int = 0
    until: int = 2**63 - 1


class Containing(NamedTuple):
    """Rows whose newest value of `column` (in the time range, where there is one) has every one of `words` in it.

    A word is found anywhere in the value, which is taken for UTF-8, and case is ignored: see `holds`, by which callers
    check the rows that a store lets through.
    """

    column: bytes
    words: tuple[str, ...]

    def holds(self, value: bytes | None) -> bool:
        """Whether *value* has every word in it, both in Python's lower case; None, no value, has not.

        >>> Containing(b"metadata:title", ("hbase", "Row")).holds(b"Row keys in HBase")
        True
        """
        if value is None:
            return False
        text = value.decode(errors="replace").lower()
        return all(word.lower() in text for word in self.words)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call wants of each row: everything, unless it says less.

    `columns` are `b"family:qualifier"`, or `b"family:"` for a whole family; None is all of them, an empty list none.
    Of each column come the newest `versions` that are in `time_range`. With `keys_only` rows that have a cell in
    *columns* come without their cells. With `containing` the rows that do not hold its words may be left out; its
    column need not be one of *columns*. Raises `InvalidArgument` for what names no column, or no version.
    """

    columns: Sequence[bytes] | None = None
    versions: int = 1
    time_range: TimeRange | None = None
    keys_only: bool = False
    containing: Containing | None = None

    def __post_init__(self) -> None:
        if self.versions < 1:
            raise InvalidArgument(f"versions={self.versions} must be at least 1")
        if self.columns is not None:
            object.__setattr__(self, "columns", distinct_columns(self.columns))
        if self.time_range is not None:
            since, until = max(self.time_range.since, 0), min(max(self.time_range.until, 0), 2**63 - 1)
            within = None if (since, until) == TimeRange() else TimeRange(since, until)
            object.__setattr__(self, "time_range", within)
        if self.containing is not None and not self.containing.column.partition(b":")[2]:
            raise InvalidArgument(f"containing={self.containing!r} must name a column, family:qualifier")

    def is_nothing(self) -> bool:
        """Whether no cell can be in it."""
        times = self.time_range
        return self.columns == () or (times is not None and times.since >= times.until)


EVERYTHING = Wanted()
"""All columns of a row, each with its newest cell."""


def distinct_columns(columns: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return *columns* without repetitions and without those whose whole family is there.

    HBase takes a column added after its family for the only wanted one of the family.

    >>> distinct_columns([b"f:", b"f:a", b"g:a", b"g:a"])
    (b'f:', b'g:a')
    """
    wanted = dict.fromkeys(columns)
    for column in wanted:
        if b":" not in column or column.startswith(b":"):
            raise InvalidArgument(f"columns={column!r} must be family:qualifier, or family: for a whole family")
    whole = {column for column in wanted if column.endswith(b":") and column.count(b":") == 1}
    return tuple(c for c in wanted if c in whole or c[: c.index(b":") + 1] not in whole)
