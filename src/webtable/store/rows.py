"""What goes into a store and comes out of it: cells, rows, mutations, regions and tables as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from webtable.errors import InvalidArgument
from webtable.rowkey import KeyRange
from webtable.schema import TableSchema

MAX_ROW_KEY = 32_767
"""The longest row key in bytes (HBase: a signed 16-bit length)."""
MAX_CELL = 10 * 1024 * 1024
"""HBase's largest cell in bytes (`hbase.server.keyvalue.maxsize`): row key, family, qualifier, value and 24 more."""


class Cell(NamedTuple):
    """One version of a column."""

    timestamp: int
    value: bytes


class Row(NamedTuple):
    """A row as it is read: every column that has a visible cell, with its versions, the newest first."""

    key: bytes
    cells: Mapping[bytes, Sequence[Cell]]

    def value(self, column: bytes) -> bytes | None:
        """Return the newest value of *column*, or None where it has none."""
        versions = self.cells.get(column)
        return versions[0].value if versions else None


class NewCell(NamedTuple):
    """A cell to be written."""

    column: bytes
    timestamp: int
    value: bytes


@dataclass(frozen=True, slots=True)
class Put:
    """Cells to be written to a row."""

    row: bytes
    cells: Sequence[NewCell]


@dataclass(frozen=True, slots=True)
class Delete:
    """Cells to be removed from a row: those of *columns* (None is the whole row) at or below *timestamp*.

    With *exact* those at *timestamp* itself, of *columns* with a qualifier; where a store has no call for that, the
    outcome is a `CapabilityError`.
    """

    row: bytes
    timestamp: int
    columns: Sequence[bytes] | None = None
    exact: bool = False


Mutation = Put | Delete

ALL_QUALIFIERS: Final = KeyRange()
"""The qualifiers of a whole family."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a table: its keys, and the server that holds it (empty where the store has none)."""

    keys: KeyRange
    server: str = ""


@dataclass(frozen=True, slots=True)
class TableDescription:
    """A table as it was found. `unread` names the family options that this store cannot read back."""

    schema: TableSchema
    unread: frozenset[str] = frozenset()


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
