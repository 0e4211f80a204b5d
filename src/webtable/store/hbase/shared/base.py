"""What both ways to HBase have in common: writes in batches, tables, deadlines, and the end of a store."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from webtable._clock import clock
from webtable.errors import CapabilityError, StoreError, StoreUnavailable, TableNotFound
from webtable.rowkey import KeyRange, prefix_stop
from webtable.store.deadline import Deadline, of_call
from webtable.store.hbase.shared.filters import MOST, ColumnPiece, Selection, selection
from webtable.store.hbase.shared.scans import FirstRows, overlap, pieces_of, rows_of_each
from webtable.store.hbase.shared.write import Client, Write
from webtable.store.health import Check, warned, well
from webtable.store.port import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.schema import FamilySchema, TableSchema
    from webtable.store.hbase.shared.scans import FirstRowsClient, Pieces
    from webtable.store.hbase.shared.sockets import Workers
    from webtable.store.hbase.shared.tables import TableCache, Tables
    from webtable.store.rows import Cell, Mutation, Region, Row, TableDescription, Wanted

T = TypeVar("T")

DDL_FACTOR: Final = 4
_META: Final = "hbase:meta"
_REGIONS: Final = 10_000
_TOLERATED: Final = 1_000  # ms
_READ_ROWS: Final = 100


class RowClient(Client, Protocol):
    """The calls of HBase for rows whose keys are known."""

    def get(self, table: str, rows: Sequence[bytes], wanted: Selection, deadline: Deadline) -> list[Row | None]:
        """Return the rows, None if nothing is visible."""

    def cells(
        self, table: str, rows: Sequence[bytes], piece: ColumnPiece, deadline: Deadline
    ) -> list[list[tuple[bytes, Cell]]]:
        """Return *piece* of each of *rows*, with the newest cells."""


class HBaseBase(Store):
    """Base class of the stores on HBase. The iterator of a scan has a deadline for each requested row, a call that
    manages tables has four times as long.
    """

    _closed = True  # until it is open
    _client: RowClient
    _many: FirstRowsClient | None = None
    """The client that takes several ranges in a call, if there is one."""
    _workers: Workers
    _tables: Tables
    _table_cache: TableCache
    _frame: int | None = None
    """The largest message in bytes, if there is such a limit."""
    _process: int
    _uncompacted: str
    """Why the store does not compact tables itself."""

    def _write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        """Apply *mutations* in calls of about 2 MB, several concurrently if no row is in two of them."""
        deadline = self._deadline()
        try:
            write = Write(
                self._client,
                self._workers,
                self.name,
                table,
                deadline,
                lambda refresh: self._table_cache.families(table, deadline, refresh),
                self._frame,
            )
        except StoreUnavailable as error:
            return [error] * len(mutations)
        return write.outcomes(mutations)

    def _read(self, table: str, rows: Sequence[bytes], wanted: Wanted) -> list[Row | None]:
        """Return one entry for each of *rows*, a hundred per call."""
        client, selected, deadline = self._client, selection(wanted), self._deadline()

        def some(chosen: Sequence[bytes]) -> list[Row | None]:
            return client.get(table, chosen, selected, deadline)

        return self._workers.in_runs(some, rows, _READ_ROWS)

    def _read_cells(
        self,
        table: str,
        rows: Sequence[bytes],
        family: bytes,
        qualifiers: KeyRange,
        limit: int,
        *,
        keys_only: bool,
    ) -> list[list[tuple[bytes, Cell]]]:
        """Return the cells of each of *rows*, a hundred per call."""
        client, deadline = self._client, self._deadline()
        piece = ColumnPiece(family, qualifiers, min(limit, MOST), keys_only)

        def some(chosen: Sequence[bytes]) -> list[list[tuple[bytes, Cell]]]:
            return client.cells(table, chosen, piece, deadline)

        return self._cells_in_runs(some, rows)

    def _cells_in_runs(self, some: Callable[[Sequence[bytes]], list[T]], rows: Sequence[bytes]) -> list[T]:
        """Return the joined results of *some* for the *rows* of each call."""
        return self._workers.in_runs(some, rows, _READ_ROWS)

    def _scan(
        self, table: str, ranges: list[KeyRange], wanted: Wanted, limit: int | None, *, reverse: bool
    ) -> Iterator[list[Row]]:
        """Yield the rows of all *ranges* in byte order, fetched in pieces of about 2 MB."""
        selected = selection(wanted, reverse=reverse)
        self._table_cache.check_searched(table, selected, self._deadline())
        return pieces_of(self._pieces(table, ranges, selected, limit), self._workers, self._deadline)

    def _first_rows(
        self, table: str, ranges: Sequence[KeyRange], limit: int, wanted: Wanted, *, reverse: bool
    ) -> list[list[Row]]:
        """Return the first *limit* rows of each of *ranges*.

        That takes a call for several ranges in a group of regions; in reverse, and by Thrift1 alone, a scan of each.
        """
        deadline = self._deadline()
        selected = selection(wanted, reverse=reverse)
        self._table_cache.check_searched(table, selected, deadline)
        if self._many is None or reverse:
            return rows_of_each(
                lambda keys: self._pieces(table, [keys], selected, limit), ranges, self._workers, deadline
            )
        first = FirstRows(self._many, self._workers, table, min(limit, MOST))
        if overlap(ranges):
            return self._workers.map(lambda keys: first.of([keys], selected, deadline, [], 1)[0], ranges)
        bounds = self._table_cache.region_bounds(table, deadline)
        return first.of(ranges, selected, deadline, bounds, self._groups(bounds))

    @abstractmethod
    def _pieces(self, table: str, ranges: Sequence[KeyRange], wanted: Selection, limit: int | None) -> Pieces:
        """Return the state of a scan of *ranges*."""

    @abstractmethod
    def _groups(self, bounds: Sequence[bytes]) -> int:
        """Return in how many groups of regions, which begin at *bounds*, first rows are read at once."""

    def tables(self) -> list[str]:
        """Return the names of all tables, sorted; those of HBase itself are left out."""
        return self._tables.names(self._deadline())

    def describe(self, table: str) -> TableDescription:
        """Return the table as it is."""
        return self._tables.describe(table, self._deadline())

    def create_table(self, schema: TableSchema) -> None:
        """Create the table and check the result."""
        self._table_cache.forget(schema.name)
        self._tables.create(schema, self._deadline(DDL_FACTOR))

    def set_family(self, table: str, family: FamilySchema) -> None:
        """Add or change the family."""
        self._table_cache.forget(table)
        self._tables.set_family(table, family, self._deadline(DDL_FACTOR))

    def drop_table(self, table: str) -> None:
        """Remove the table."""
        self._tables.drop(table, self._deadline(DDL_FACTOR))
        self._table_cache.forget(table)

    def regions(self, table: str) -> list[Region]:
        """Return the table's regions in key order."""
        return self._tables.regions(table, self._deadline())

    def compact(self, tables: Sequence[str]) -> int:
        """Raise `CapabilityError` with the lines for the HBase shell."""
        lines = "\n".join(f"flush '{table}'\nmajor_compact '{table}'" for table in tables)  # it reads files alone
        raise CapabilityError(f"{self.name}: {self._uncompacted}; in the HBase shell:\n{lines}")

    def close(self) -> None:
        """Refuse further calls, and close all connections."""
        self._closed = True
        self._workers.close()

    def __del__(self) -> None:
        if self._closed or self._process != os.getpid():  # after a fork the parent closes its store
            return
        warnings.warn(
            f"{self.name}: the store was left open; close() it, or open it in a with block",
            ResourceWarning,
            stacklevel=2,
            source=self,
        )
        self.close()

    def _deadline(self, factor: int = 1) -> Deadline:
        if self._closed:
            raise StoreError(f"{self.name}: the store is closed")
        return of_call(self.timeout * factor)


def clock_check(store: Store, table: str) -> Check:
    """Return the check whether HBase has dated the regions of *table* in the future of this machine.

    Region servers date a region when they open it. A clock that is behind could only be detected by writing a cell.
    """
    start = f"{table.removeprefix('default:')},".encode()
    rows = store.scan(_META, [KeyRange(start, prefix_stop(start))], limit=_REGIONS)
    try:
        newest = max((cell.timestamp for row in rows for cells in row.cells.values() for cell in cells), default=0)
    except (StoreError, TableNotFound) as exc:
        return warned(
            "clock", f"{_META} cannot be read: {exc}", f"grant 'READ' on {_META}, or ignore this: nothing else needs it"
        )
    ahead = newest - clock.milliseconds()
    if ahead > _TOLERATED:
        found = f"HBase's clock is at least {ahead / 1000:.1f} s ahead of this machine"
        return warned("clock", found, "synchronize all machines by NTP: expiry and deletes depend on timestamps")
    return well("clock", "HBase has dated no region in the future of this machine (whether it is behind is unknown)")
