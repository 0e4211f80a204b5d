"""What both ways to HBase have in common: the store's calls, in batches and by deadlines, and its tables."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, Protocol

from webtable._clock import CachedFor, clock
from webtable.errors import CapabilityError, InvalidArgument, StoreError, StoreRefused, StoreUnavailable, TableNotFound
from webtable.rowkey import KeyRange, prefix_stop
from webtable.schema import FamilySchema, TableSchema, create_statement, plan
from webtable.schema.table import check_table_name
from webtable.store.deadline import Deadline, of_call
from webtable.store.hbase.shared.filters import MOST, ColumnPiece, Selection, selection
from webtable.store.hbase.shared.scans import FirstRows, overlap, pieces_of, rows_of_each
from webtable.store.hbase.shared.sockets import Workers
from webtable.store.hbase.shared.write import Write
from webtable.store.health import Check, warned, well
from webtable.store.metrics import subject_of
from webtable.store.port import Store

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from webtable.store.hbase.shared.scans import FirstRowsClient, Pieces
    from webtable.store.rows import Cell, Mutation, Put, Region, Row, TableDescription, Wanted


# --- Tables -----------------------------------------------------------------------------------------------------------


class Tables(ABC):
    """Table management of the store *name*. Changes are sent once: a retry would meet the result of the first one."""

    def __init__(self, name: str) -> None:
        self._name = name

    @abstractmethod
    def names(self, deadline: Deadline) -> list[str]:
        """The names of all tables, sorted."""

    @abstractmethod
    def describe(self, table: str, deadline: Deadline) -> TableDescription:
        """The table as it is."""

    @abstractmethod
    def families(self, table: str, deadline: Deadline) -> frozenset[bytes]:
        """The names of the table's families."""

    @abstractmethod
    def regions(self, table: str, deadline: Deadline) -> list[Region]:
        """The table's regions in key order."""

    @abstractmethod
    def set_family(self, table: str, family: FamilySchema, deadline: Deadline) -> None:
        """Add the family, or change its options, except those that `FamilySchema` does not have."""

    @abstractmethod
    def _create(self, schema: TableSchema, deadline: Deadline) -> None: ...

    @abstractmethod
    def _disable(self, table: str, deadline: Deadline) -> None: ...

    @abstractmethod
    def _delete(self, table: str, deadline: Deadline) -> None: ...

    def create(self, schema: TableSchema, deadline: Deadline) -> None:
        """Create the table and check the result."""
        check_table_name(schema.name)
        if plain_name(schema.name) in self.names(deadline):
            raise StoreRefused(f"{self._name}: table {schema.name!r} exists already")
        self._create(schema, deadline)
        # Not every gateway does what it confirms: createTable of Thrift2 in HBase 1.x is an empty method.
        try:
            created = self.describe(schema.name, deadline)
        except TableNotFound:
            wrong = "is not there"
        else:
            splits = "" if created.schema.split_keys == schema.split_keys else "has other split keys"
            wrong = str(plan(schema, created.schema, created.unread)) or splits
        if wrong:
            raise StoreRefused(
                f"{self._name}: table {schema.name!r} was created, and {wrong}. In the HBase shell: "
                f"{create_statement(schema)}"
            )

    def drop(self, table: str, deadline: Deadline) -> None:
        """Remove the table and check that it is gone."""
        if plain_name(table) not in self.names(deadline):
            raise TableNotFound(f"{self._name}: table {table!r} does not exist")
        self._disable(table, deadline)
        self._delete(table, deadline)
        if plain_name(table) in self.names(deadline):
            raise StoreRefused(
                f"{self._name}: table {table!r} is still there after deleteTable. "
                f"In the HBase shell: disable '{table}'; drop '{table}'"
            )

    def _splits(self, table: str, deadline: Deadline) -> tuple[bytes, ...]:
        return tuple(region.keys.start for region in self.regions(table, deadline) if region.keys.start)


FOREVER: Final = 2**31 - 1
"""The TTL of a family that keeps its cells for ever, in seconds (HConstants.FOREVER)."""


def ttl_of(seconds: int) -> int | None:
    """The TTL of a family of which HBase says that it is *seconds*."""
    return None if seconds >= FOREVER or seconds <= 0 else seconds


def known_family(**options: Any) -> FamilySchema:
    """The family; raises `StoreRefused` if `FamilySchema` cannot represent an option."""
    try:
        return FamilySchema(**options)
    except InvalidArgument as exc:
        raise StoreRefused(f"the table has an option that webtable does not know: {exc}") from exc


def plain_name(table: str) -> str:
    """The name without the default namespace."""
    return table.removeprefix("default:")


_REGIONS_SECONDS: Final = 60.0


class TableCache:
    """The families of tables and the starts of their regions, read from *tables* at first use and when out of date.

    *name* is the store's.
    """

    def __init__(self, tables: Tables, name: str) -> None:
        self._tables = tables
        self._name = name
        self._families: dict[str, Collection[bytes]] = {}
        self._bounds: dict[str, CachedFor[list[bytes]]] = {}

    def families(self, table: str, deadline: Deadline, refresh: bool = False) -> Collection[bytes]:
        """The names of the table's families; with *refresh* they are read again."""
        families = None if refresh else self._families.get(table)
        if families is None:
            families = self._families[table] = self._tables.families(table, deadline)
        return families

    def check_searched(self, table: str, wanted: Selection, deadline: Deadline) -> None:
        """Raise if the searched family is missing and not in the columns: HBase would silently find no row."""
        if wanted.search is None or wanted.columns is not None:
            return
        family = wanted.search.family
        if not any(family in self.families(table, deadline, refresh) for refresh in (False, True)):
            raise StoreRefused(f"{self._name}: table {table!r} has no family {family.decode(errors='replace')!r}")

    def region_bounds(self, table: str, deadline: Deadline) -> list[bytes]:
        """The first keys of all regions except the first, at most a minute old."""
        bounds = self._bounds.setdefault(table, CachedFor(_REGIONS_SECONDS))
        return bounds.recent(lambda: [region.keys.start for region in self._tables.regions(table, deadline)][1:])

    def forget(self, table: str) -> None:
        """Drop what is cached of *table*."""
        self._families.pop(table, None)
        self._bounds.pop(table, None)

    def clear(self) -> None:
        """Drop all that is cached."""
        self._families.clear()
        self._bounds.clear()


# --- The store --------------------------------------------------------------------------------------------------------


DDL_FACTOR: Final = 4
"""How many times as long as other calls those have that manage tables."""
_READ_ROWS: Final = 100


class RowClient(Protocol):
    """The calls of HBase for rows whose keys are known."""

    deletes_exactly: bool
    names_families: bool
    """Whether HBase refuses, of a batch, the mutations of a family that the table does not have, and names it."""

    def apply(self, table: str, mutations: Sequence[Mutation], deadline: Deadline) -> list[StoreError | None]:
        """Apply *mutations*, all puts or all deletes; the outcome of each."""

    def check_and_put(self, table: str, put: Put, column: bytes, expected: bytes | None, deadline: Deadline) -> bool:
        """Apply *put* if *column* of its row is *expected*, and whether it was; it is sent at most once."""

    def get(self, table: str, rows: Sequence[bytes], wanted: Selection, deadline: Deadline) -> list[Row | None]:
        """The rows, None if nothing is visible."""

    def cells(
        self, table: str, rows: Sequence[bytes], piece: ColumnPiece, deadline: Deadline
    ) -> list[list[tuple[bytes, Cell]]]:
        """*piece* of each of *rows*, with the newest cells."""


class HBaseBase(Store):
    """Base class of the stores on HBase. The iterator of a scan has a deadline for each requested row, a call that
    manages tables has four times as long.
    """

    _closed = True  # until it is open
    _client: RowClient
    _many: FirstRowsClient | None = None
    """The client that takes several ranges in a call, if there is one."""
    _tables: Tables
    _uncompacted: str
    """Why the store does not compact tables itself."""

    def __init__(self, name: str, timeout: float, threads: int) -> None:
        self.name: str = name
        self.server: str | None = name
        self.timeout: float = timeout
        self._process = os.getpid()
        self._workers = Workers(threads, name)

    def _opened(self, tables: Tables) -> None:
        """Let calls through, which manage their tables by *tables*."""
        self._table_cache = TableCache(tables, self.name)
        self._closed = False

    def _write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        """Apply *mutations* in calls of about 2 MB, several concurrently if no row is in two of them."""
        deadline = self._deadline()

        def families(refresh: bool) -> Collection[bytes]:
            return self._table_cache.families(table, deadline, refresh)

        try:
            write = Write(
                subject_of(self.name, table),
                None if self._client.names_families else families,
                deletes_exactly=self._client.deletes_exactly,
            )
        except StoreUnavailable as error:
            return [error] * len(mutations)
        return write.outcomes(mutations, lambda batch: self._client.apply(table, batch, deadline), self._workers)

    def check_and_put(self, table: str, put: Put, column: bytes, expected: bytes | None) -> bool:
        """Compare and put in one call of HBase, which takes an empty value for none."""
        return self._client.check_and_put(table, put, column, expected, self._deadline())

    def _read(self, table: str, rows: Sequence[bytes], wanted: Wanted) -> list[Row | None]:
        """One entry for each of *rows*, a hundred per call."""
        selected, deadline = selection(wanted), self._deadline()
        return self._workers.in_runs(
            lambda chosen: self._client.get(table, chosen, selected, deadline), rows, _READ_ROWS
        )

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
        """The cells of each of *rows*, a hundred per call."""
        deadline, piece = self._deadline(), ColumnPiece(family, qualifiers, min(limit, MOST), keys_only)
        distinct = sorted(set(rows))  # neighbours together, for Thrift1, which reads them by a scan
        size = self._rows_a_call(len(distinct))
        cells = self._workers.in_runs(lambda chosen: self._client.cells(table, chosen, piece, deadline), distinct, size)
        by_row = dict(zip(distinct, cells, strict=True))
        return [by_row[row] for row in rows]

    def _rows_a_call(self, count: int) -> int:  # noqa: ARG002 - an adapter may divide them
        """How many of *count* rows are read by one call for cells."""
        return _READ_ROWS

    def _scan(
        self, table: str, ranges: list[KeyRange], wanted: Wanted, limit: int | None, *, reverse: bool
    ) -> Iterator[list[Row]]:
        """Yield the rows of all *ranges* in byte order, fetched in pieces of about 2 MB."""
        selected = selection(wanted, reverse=reverse)
        self._check_searched(table, selected, self._deadline())
        return pieces_of(self._pieces(table, ranges, selected, limit), self._workers, self._deadline)

    def _first_rows(
        self, table: str, ranges: Sequence[KeyRange], limit: int, wanted: Wanted, *, reverse: bool
    ) -> list[list[Row]]:
        """The first *limit* rows of each of *ranges*.

        That takes a call for several ranges in a group of regions; in reverse, and by Thrift1 alone, a scan of each.
        """
        deadline = self._deadline()
        selected = selection(wanted, reverse=reverse)
        self._check_searched(table, selected, deadline)
        if self._many is None or reverse:
            return rows_of_each(
                lambda keys: self._pieces(table, [keys], selected, limit), ranges, self._workers, deadline
            )
        is_apart = not overlap(ranges)  # the filter of a call takes only such ranges
        bounds = self._table_cache.region_bounds(table, deadline) if is_apart else []
        first = FirstRows(self._many, self._workers, table, selected, min(limit, MOST), deadline, bounds)
        if is_apart:
            return first.of(ranges, self._groups(bounds))
        return self._workers.map(lambda keys: first.of([keys], 1)[0], ranges)

    def _check_searched(self, table: str, wanted: Selection, deadline: Deadline) -> None:
        """Raise if the searched family is missing and not in the columns: HBase would silently find no row."""
        self._table_cache.check_searched(table, wanted, deadline)

    @abstractmethod
    def _pieces(self, table: str, ranges: Sequence[KeyRange], wanted: Selection, limit: int | None) -> Pieces:
        """The state of a scan of *ranges*."""

    @abstractmethod
    def _groups(self, bounds: Sequence[bytes]) -> int:
        """In how many groups of regions, which begin at *bounds*, first rows are read at once."""

    def tables(self) -> list[str]:
        """The names of all tables, sorted; those of HBase itself are left out."""
        return self._tables.names(self._deadline())

    def describe(self, table: str) -> TableDescription:
        """The table as it is."""
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
        """The table's regions in key order."""
        return self._tables.regions(table, self._deadline())

    def compact(self, tables: Sequence[str]) -> int:
        """Raise `CapabilityError` with the lines for the HBase shell."""
        # A major compaction reads files alone, so what is in memory is flushed before.
        lines = "\n".join(f"flush '{table}'\nmajor_compact '{table}'" for table in tables)
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


_META: Final = "hbase:meta"
_REGIONS: Final = 10_000
_TOLERATED: Final = 1_000  # ms


def clock_check(store: Store, table: str) -> Check:
    """The check whether HBase has dated the regions of *table* in the future of this machine.

    Region servers date a region when they open it. A clock that is behind could only be detected by writing a cell.
    """
    start = f"{plain_name(table)},".encode()
    rows = store.scan(_META, [KeyRange(start, prefix_stop(start))], limit=_REGIONS)
    try:
        newest = max((cell.timestamp for row in rows for cells in row.cells.values() for cell in cells), default=0)
    except (StoreError, TableNotFound) as exc:
        return warned(
            "clock", f"{_META} cannot be read: {exc}", f"grant 'READ' on {_META}, or ignore this: nothing else needs it"
        )
    ahead = newest - clock.milliseconds()
    if ahead > _TOLERATED:
        text = f"HBase's clock is at least {ahead / 1000:.1f} s ahead of this machine"
        return warned("clock", text, "synchronize all machines by NTP: expiry and deletes depend on timestamps")
    return well("clock", "HBase has dated no region in the future of this machine (whether it is behind is unknown)")
