"""The values of the store port: cells, rows, mutations, regions and descriptions of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

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
    """A row that was read: its columns with visible cells, the newest version of each first."""

    key: bytes
    cells: Mapping[bytes, Sequence[Cell]]

    def value(self, column: bytes) -> bytes | None:
        """Return the newest value of *column*, None if it has none."""
        versions = self.cells.get(column)
        return versions[0].value if versions else None


class NewCell(NamedTuple):
    """A cell to be written."""

    column: bytes
    timestamp: int
    value: bytes


class Put(msgspec.Struct, frozen=True):
    """Cells to be written to a row."""

    row: bytes
    cells: Sequence[NewCell]


class Delete(msgspec.Struct, frozen=True):
    """Cells to be deleted from a row: those of *columns* (None is the whole row) at or below *timestamp*.

    With *exact* only those at *timestamp* itself, of *columns* with a qualifier; if a store has no call for that, the
    outcome is a `CapabilityError`.
    """

    row: bytes
    timestamp: int
    columns: Sequence[bytes] | None = None
    exact: bool = False


# Timestamps always come from the caller. So every call may be repeated: a retry is always right, and a broken
# connection can be thrown away without asking what became of the call.
Mutation = Put | Delete

ALL_QUALIFIERS: Final = KeyRange()
"""The qualifiers of a whole family."""


class Region(msgspec.Struct, frozen=True):
    """A region of a table: its keys, and the server that holds it (empty if the store has none)."""

    keys: KeyRange
    server: str = ""


class TableDescription(msgspec.Struct, frozen=True):
    """A table as it was found. `unread` names the family options that this store cannot read back."""

    schema: TableSchema
    unread: frozenset[str] = frozenset()


class TimeRange(NamedTuple):
    """Timestamps from `since`, included, to `until`, excluded, in epoch milliseconds."""

    since: int = 0
    until: int = 2**63 - 1


class Containing(NamedTuple):
    """Rows whose newest value of `column` (in the time range, if there is one) contains all of `words`.

    A word is found anywhere in the value, which is decoded as UTF-8, ignoring case: see `holds`, with which callers
    check the rows that a store returns.
    """

    column: bytes
    words: tuple[str, ...]

    def holds(self, value: bytes | None) -> bool:
        """Whether *value* contains every word, both in Python's lower case; None, a missing value, does not.

        >>> Containing(b"metadata:title", ("hbase", "Row")).holds(b"Row keys in HBase")
        True
        """
        if value is None:
            return False
        text = value.decode(errors="replace").lower()
        return all(word.lower() in text for word in self.words)


class Wanted(msgspec.Struct, frozen=True):
    """The part of each row that a call wants: everything by default.

    `columns` are `b"family:qualifier"`, or `b"family:"` for a whole family; None means all columns, an empty list none.
    Of each column the newest `versions` in `time_range` are returned. With `keys_only` rows that have a cell in
    *columns* come without their cells. With `containing` rows that do not contain its words may be left out; its
    column need not be one of *columns*. Raises `InvalidArgument` for a wrong column name, or for no versions.
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
            msgspec.structs.force_setattr(self, "columns", distinct_columns(self.columns))
        if self.time_range is not None:
            # A range of all times is none: adapters have a faster way for the newest cells.
            since, until = max(self.time_range.since, 0), min(max(self.time_range.until, 0), 2**63 - 1)
            within = None if (since, until) == TimeRange() else TimeRange(since, until)
            msgspec.structs.force_setattr(self, "time_range", within)
        if self.containing is not None and not self.containing.column.partition(b":")[2]:
            raise InvalidArgument(f"containing={self.containing!r} must name a column, family:qualifier")

    def is_nothing(self) -> bool:
        """Whether no cell can be wanted."""
        times = self.time_range
        return self.columns == () or (times is not None and times.since >= times.until)


EVERYTHING = Wanted()
"""All columns of a row, each with its newest cell."""


def distinct_columns(columns: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return *columns* without repetitions and without those whose whole family is included.

    If a column is added after its family, HBase returns only that column of the family.

    >>> distinct_columns([b"f:", b"f:a", b"g:a", b"g:a"])
    (b'f:', b'g:a')
    """
    wanted = dict.fromkeys(columns)
    for column in wanted:
        if b":" not in column or column.startswith(b":"):
            raise InvalidArgument(f"columns={column!r} must be family:qualifier, or family: for a whole family")
    whole = {column for column in wanted if column.endswith(b":") and column.count(b":") == 1}
    return tuple(c for c in wanted if c in whole or c[: c.index(b":") + 1] not in whole)
