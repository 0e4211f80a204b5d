"""The store port: rows of cells in byte order.

What every adapter promises and every caller relies on:

- A row is a key and its cells. A cell has a column (`b"family:qualifier"`), a timestamp (epoch milliseconds from 0 to
  2**63 - 2, always given by the caller) and a value. Of two cells with the same row, column and timestamp the one
  written last stays.
- Timestamps are explicit, so every call may be repeated: a write that is applied twice leaves what one leaves.
- A `Put` is stored whole or not at all where its cells have one timestamp; so is a `Delete`. The mutations of one
  call are not one transaction: each has an outcome of its own. Mutations of one row take effect in the order given.
- A family keeps the newest `versions` cells of a column and hides those older than its TTL. A delete hides the cells
  at or below its timestamp, also those that are written later.
- Rows come in byte order of their keys (backwards with `reverse`); a row without a visible cell in the wanted columns
  does not come at all. Columns are `b"family:qualifier"`, or `b"family:"` for a whole family; None is all of them, and
  an empty list none.
- A family's limits come before a time range: a cell beyond the newest `versions` is not found by its date either
  (HBase itself may still show it until it flushes).
- A row may be wider than memory: `read_cells` gives a family of it in pieces. Calls that want keys only bring no
  values, and without a time range no more than two cells a row, however many columns it has.
- Words that rows have to contain (`Containing`) spare the way of other rows and promise nothing: a store leaves out
  none that contains them, but may let any row through, also because the search would take too long.
- `limit` counts rows and is exact. A scan holds nothing open on the server between rows that a slow consumer, a
  dropped connection or a restart could cost it: it goes on behind the last row that it gave.
- A store may be used by many threads at once. Every call ends within the store's deadline, in an answer or in one of
  the errors below `webtable.errors.StoreError` (`TableNotFound` where the table is missing). A caller who makes several
  calls for one of somebody else's gives them one deadline: see `webtable.store.deadline`. The iterator of a scan has a
  deadline for each row that it is asked for.
- After a fork the child may use the store as the parent does; nothing that the parent has under way is touched by it.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from webtable.rowkey import KeyRange
from webtable.schema import DEFAULT_TTL, FamilySchema, TableSchema

if TYPE_CHECKING:
    from collections import Counter
    from types import TracebackType

    from webtable.errors import StoreError

MAX_ROW_KEY = 32_767
"""The longest row key in bytes (HBase: a signed 16-bit length)."""
MAX_CELL = 10 * 1024 * 1024
"""The largest cell in bytes: row key, family, qualifier, value and 24 more (HBase: `hbase.server.keyvalue.maxsize`)."""


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


class Store(abc.ABC):
    """Tables of rows of cells; see the module's contract.

    `name` is the URL without secrets, for messages; `calls` counts the calls that went to the store, by their kind;
    `timeout` is the deadline of a call in seconds.
    """

    name: str
    calls: Counter[str]
    timeout: float
    writes_side_by_side: bool = True
    """Whether several threads that write at once are faster than one."""
    changes_families: bool = True
    """Whether it can add and change families of a table that is there; else `set_family` is a `CapabilityError`."""
    default_ttl: int | None = DEFAULT_TTL
    """For how many seconds a new web table keeps content here unless it is told otherwise; None keeps everything."""

    @abc.abstractmethod
    def write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        """Apply *mutations* and return one outcome each: None where it is stored, else the error.

        Raises only what holds for all of them before anything is sent (`TableNotFound`, a closed store).
        """

    def together(self) -> AbstractContextManager[None]:
        """Let all that this thread writes in the block take effect at once or not at all, where the store can do that.

        Elsewhere each call stands for itself, as without the block. What this thread reads in the block is read as it
        has left it. An exception out of the block takes back all of it, and so does a write that fails as a whole:
        the block then ends in a `StoreError`.
        """
        return nullcontext()

    @abc.abstractmethod
    def read(
        self,
        table: str,
        rows: Sequence[bytes],
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        time_range: TimeRange | None = None,
    ) -> list[Row | None]:
        """Return one entry for each of *rows*, in their order; None where nothing is visible."""

    @abc.abstractmethod
    def read_cells(
        self,
        table: str,
        rows: Sequence[bytes],
        family: bytes,
        qualifiers: KeyRange = ALL_QUALIFIERS,
        *,
        limit: int,
        keys_only: bool = False,
    ) -> list[list[tuple[bytes, Cell]]]:
        """Return, for each of *rows*, the first *limit* columns of a *family* (`b"inlinks"`) that are in *qualifiers*.

        They come in byte order, by their whole name, each with its newest visible cell; with *keys_only* the values
        are empty. Nowhere is more of a row in memory, so this reads a row of a million columns in pieces: the next
        one is in `qualifiers.after(last qualifier)`. Fewer than *limit* are the last; a missing row has none.
        """

    @abc.abstractmethod
    def scan(
        self,
        table: str,
        ranges: Sequence[KeyRange],
        *,
        columns: Sequence[bytes] | None = None,
        limit: int | None = None,
        reverse: bool = False,
        versions: int = 1,
        time_range: TimeRange | None = None,
        keys_only: bool = False,
        containing: Containing | None = None,
    ) -> Iterator[Row]:
        """Yield the rows of all *ranges* (taken together: they may overlap) in byte order, lazily.

        With *keys_only* the rows that have a cell in *columns* come without their cells. With *containing* the rows
        that do not hold its words may be left out; its column need not be one of *columns*.
        """

    @abc.abstractmethod
    def first_rows(
        self,
        table: str,
        ranges: Sequence[KeyRange],
        limit: int,
        *,
        columns: Sequence[bytes] | None = None,
        reverse: bool = False,
        keys_only: bool = False,
        containing: Containing | None = None,
    ) -> list[list[Row]]:
        """Return, for each of *ranges*, its first *limit* rows: the opening move of a merge over many ranges.

        With *reverse* they are its last ones, backwards. *containing* is as in `scan`.
        """

    @abc.abstractmethod
    def describe_calls(
        self, table: str, ranges: Sequence[KeyRange], *, each: bool = False, reverse: bool = False
    ) -> list[str]:
        """Return a line for each call that the first piece of `scan` (with *each*: `first_rows`) takes at most."""

    @abc.abstractmethod
    def tables(self) -> list[str]:
        """Return the names of all tables, sorted."""

    @abc.abstractmethod
    def describe(self, table: str) -> TableDescription:
        """Return the table as it is, split keys included; raises `TableNotFound`."""

    @abc.abstractmethod
    def create_table(self, schema: TableSchema) -> None:
        """Create the table and check the result by reading it back; `StoreRefused` where it exists already."""

    @abc.abstractmethod
    def set_family(self, table: str, family: FamilySchema) -> None:
        """Add the family, or change the one of that name, and check the result by reading it back."""

    @abc.abstractmethod
    def drop_table(self, table: str) -> None:
        """Remove the table and all it holds; raises `TableNotFound`."""

    @abc.abstractmethod
    def regions(self, table: str) -> list[Region]:
        """Return the table's regions in key order; one that spans all keys where the store has none."""

    @abc.abstractmethod
    def compact(self, tables: Sequence[str]) -> int:
        """Give back the space of what nobody sees any more in *tables*, and return how many bytes that was.

        The deletes are forgotten then, as after a major compaction of HBase: what one of them has hidden is visible
        when it is written once more. Raises `CapabilityError`, which says what to run, where the store has no call.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Give back every connection and file; calls after it raise `StoreError`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
