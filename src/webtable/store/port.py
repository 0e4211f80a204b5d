"""The store port: rows of cells in byte order.

The contract that every adapter fulfils and every caller relies on:

- A row is a key and its cells. A cell has a column (`b"family:qualifier"`), a timestamp (epoch milliseconds from 0 to
  2**63 - 2, always given by the caller) and a value. Of two cells with the same row, column and timestamp the one
  written last is kept.
- Timestamps are explicit, so writes are idempotent, and every call may be repeated, except `check_and_put`, which not
  every store has.
- A `Put` whose cells have one timestamp is stored atomically; so is a `Delete`. The mutations of one call are not one
  transaction: each has its own outcome. Mutations of one row take effect in the order given.
- A family keeps the newest `versions` cells of a column and hides those older than its TTL. A delete hides the cells
  at or below its timestamp, including cells that are written later.
- Rows come in byte order of their keys (backwards with `reverse`); a row without a visible cell of those wanted
  (`webtable.store.rows`) is not returned.
- A family's limits apply before a time range: a cell beyond the newest `versions` is not found by its timestamp either
  (HBase itself may still return it until it flushes).
- A row may be larger than memory: `read_cells` reads a family of it in pieces. Calls that want keys only return no
  values, and without a time range at most two cells per row, however many columns it has.
- Words that rows must contain (`Containing`) are an optimization: a store never leaves out a row that contains them,
  but may return any other row, also because searching would take too long.
- `limit` counts rows and is exact. A scan holds nothing open on the server between rows that a slow consumer, a
  dropped connection or a restart could invalidate: it goes on after the last row that it returned.
- A store is thread-safe. Every call ends within the store's deadline, with an answer or with one of the errors below
  `webtable.errors.StoreError` (`TableNotFound` if the table is missing). A caller who makes several calls for one
  request gives them one deadline: see `webtable.store.deadline`. The iterator of a scan has a deadline for each row
  that is requested.
- After a fork the child may use the store as the parent does, without disturbing calls of the parent.
"""

from __future__ import annotations

import abc
from dataclasses import fields
from typing import TYPE_CHECKING, Self

from webtable.errors import InvalidArgument, StoreError
from webtable.rowkey import KeyRange, merged
from webtable.store.capabilities import Capabilities, OptionalCalls
from webtable.store.rows import (
    ALL_QUALIFIERS,
    EVERYTHING,
    MAX_ROW_KEY,
    Cell,
    Mutation,
    Region,
    Row,
    TableDescription,
    Wanted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.schema import FamilySchema, TableSchema
    from webtable.store.url import StoreURL


class Store(OptionalCalls, abc.ABC):
    """Tables of rows of cells; see the module's contract.

    An adapter implements the abstract methods. Those with an underscore are called after the checks that all stores
    share, and never with nothing to do.

    `name` is the URL without secrets, for messages; `timeout` is the deadline of a call in seconds. `address` is the
    URL by which another process opens the same store and table, also without secrets; None if there is none. `server`
    is what records of the log have in their field of this name: the gateway or cluster, None for a store without one.
    """

    name: str
    address: str | None = None
    server: str | None = None
    timeout: float
    capabilities: Capabilities = Capabilities()
    """The capabilities and limits of the store; as a class attribute those known before a store is opened."""

    def __init_subclass__(cls) -> None:
        """Refuse an adapter that declares capabilities as class attributes, which nothing would read."""
        super().__init_subclass__()
        # No code asks what a store is called: what it can do is one value.
        if stray := [option.name for option in fields(Capabilities) if option.name in vars(cls)]:
            raise TypeError(f"{cls.__name__}: {', '.join(stray)} must be given as capabilities = Capabilities(…)")

    @classmethod
    def table_of(cls, url: StoreURL) -> str:
        """Return the name of the table that *url* names; nothing is opened.

        Raises `InvalidArgument` that says what is wrong with *url*, such as an unknown option.
        """
        raise InvalidArgument(f"store={url.text!r}: {cls.__name__} has no URL")

    @classmethod
    def address_of(cls, url: StoreURL) -> str | None:
        """Return *url* as another process may use it: without secrets, and wherever that was started.

        None if the store is only in this process.
        """
        return url.anywhere

    @classmethod
    def from_url(cls, url: StoreURL, *, create: bool = False) -> Self:  # noqa: ARG003
        """Return the store that *url* names; *create* makes a missing one, if the adapter can.

        Raises `InvalidArgument` for a wrong URL, `TableNotFound` for a missing store, `NotAStore` and
        `StoreUnavailable` if no such store answers.
        """
        raise InvalidArgument(f"store={url.text!r}: {cls.__name__} has no URL")

    def write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        """Apply *mutations* and return one outcome for each: None if it was stored, else the error.

        Raises only errors that concern all of them, before anything is sent (`TableNotFound`, a closed store).
        """
        # What all stores refuse or answer alike is settled here, so that an adapter has only what differs.
        if not mutations:
            return []
        return self._write(table, mutations)

    def read(self, table: str, rows: Sequence[bytes], wanted: Wanted = EVERYTHING) -> list[Row | None]:
        """Return one entry for each of *rows*, in their order; None if nothing of the row is visible."""
        possible = list(filter(_is_row_key, rows))
        if wanted.is_nothing() or not possible:
            return [None] * len(rows)
        stored = self._read(table, possible, wanted)
        if len(possible) == len(rows):
            return stored
        # No store can have a row with a key that is empty or too long: HBase would refuse the whole call for one.
        each = iter(stored)
        return [next(each) if _is_row_key(row) else None for row in rows]

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

        They come in byte order of their full names, each with its newest visible cell; with *keys_only* the values are
        empty. Only these columns are in memory, so this reads a row of a million columns in pieces: the next piece is
        in `qualifiers.after(last qualifier)`, and fewer than *limit* columns are the last. A missing row has none.
        Raises `InvalidArgument` for a limit below 0, and for a family with a colon.
        """
        _check_limit(limit)
        if b":" in family:
            raise InvalidArgument(f"family={family!r} must be the name without a colon")
        cells_of: list[list[tuple[bytes, Cell]]] = [[] for _ in rows]
        # Empty lists stay for keys that no row can have.
        places = [place for place, row in enumerate(rows) if _is_row_key(row)]
        if limit and places and not qualifiers.is_empty():
            possible = [rows[place] for place in places]
            cells = self._read_cells(table, possible, family, qualifiers, limit, keys_only=keys_only)
            for place, columns in zip(places, cells, strict=True):
                cells_of[place] = columns
        return cells_of

    def scan(
        self,
        table: str,
        ranges: Sequence[KeyRange],
        wanted: Wanted = EVERYTHING,
        *,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[Row]:
        """Yield at most *limit* rows of the union of *ranges*, which may overlap, in byte order, lazily."""
        _check_limit(limit)
        disjoint = [] if wanted.is_nothing() or limit == 0 else merged(ranges)
        if not disjoint:
            return iter(())
        return _rows_of(self._scan(table, disjoint, wanted, limit, reverse=reverse))

    def first_rows(
        self, table: str, ranges: Sequence[KeyRange], limit: int, wanted: Wanted = EVERYTHING, *, reverse: bool = False
    ) -> list[list[Row]]:
        """Return, for each of *ranges*, its first *limit* rows: the opening move of a merge over many ranges.

        With *reverse* they are its last ones, backwards. Time ranges and several versions are not supported: such a
        *wanted* is an `InvalidArgument`, and so is a limit below 0.
        """
        _check_limit(limit)
        if wanted.versions != 1 or wanted.time_range is not None:
            raise InvalidArgument(f"{wanted} must be the newest cells, without a time range")
        if not (limit and ranges) or wanted.is_nothing():
            return [[] for _ in ranges]
        return self._first_rows(table, ranges, limit, wanted, reverse=reverse)

    @abc.abstractmethod
    def _write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        """Implement `write`; there is at least one mutation."""

    @abc.abstractmethod
    def _read(self, table: str, rows: Sequence[bytes], wanted: Wanted) -> list[Row | None]:
        """Implement `read`; there are rows, and *wanted* is not empty."""

    @abc.abstractmethod
    def _read_cells(
        self, table: str, rows: Sequence[bytes], family: bytes, qualifiers: KeyRange, limit: int, *, keys_only: bool
    ) -> list[list[tuple[bytes, Cell]]]:
        """Implement `read_cells`; there are rows and qualifiers, and *limit* is over 0."""

    @abc.abstractmethod
    def _scan(
        self, table: str, ranges: list[KeyRange], wanted: Wanted, limit: int | None, *, reverse: bool
    ) -> Iterator[Sequence[Row]]:
        """Implement `scan` in pieces: the rows that came at once, possibly none.

        The ranges are sorted and disjoint, and *wanted* is not empty.
        """

    @abc.abstractmethod
    def _first_rows(
        self, table: str, ranges: Sequence[KeyRange], limit: int, wanted: Wanted, *, reverse: bool
    ) -> list[list[Row]]:
        """Implement `first_rows`; there are ranges, and *wanted* is not empty."""

    @abc.abstractmethod
    def tables(self) -> list[str]:
        """Return the names of all tables, sorted."""

    @abc.abstractmethod
    def describe(self, table: str) -> TableDescription:
        """Return the table as it is, split keys included; raises `TableNotFound`."""

    @abc.abstractmethod
    def create_table(self, schema: TableSchema) -> None:
        """Create the table and check the result by reading it back; `StoreRefused` if it exists already."""

    @abc.abstractmethod
    def set_family(self, table: str, family: FamilySchema) -> None:
        """Add the family, or change the one of that name, and check the result by reading it back."""

    @abc.abstractmethod
    def drop_table(self, table: str) -> None:
        """Remove the table and all it holds; raises `TableNotFound`."""

    @abc.abstractmethod
    def regions(self, table: str) -> list[Region]:
        """Return the table's regions in key order; a store without regions has one that spans all keys."""

    @abc.abstractmethod
    def compact(self, tables: Sequence[str]) -> int:
        """Free the space of data in *tables* that is no longer visible, and return how many bytes that was.

        The deletes are forgotten then, as after a major compaction of HBase: cells that one of them has hidden are
        visible if they are written again. Raises `CapabilityError`, which says what to run, if the store cannot do it.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Close all connections and files; later calls raise `StoreError`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_row_key(row: bytes) -> bool:
    return 0 < len(row) <= MAX_ROW_KEY


def _rows_of(pieces: Iterator[Sequence[Row]]) -> Iterator[Row]:
    for piece in pieces:
        yield from piece


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 0:
        raise InvalidArgument(f"limit={limit} must be at least 0")
