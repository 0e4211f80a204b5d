"""HBase as a store: what each call of the port becomes on a Thrift1 gateway, or on a Thrift2 gateway beside it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from webtable.errors import InvalidArgument, StoreError, StoreUnavailable
from webtable.rowkey import KeyRange, merged
from webtable.store.base import MAX_ROW_KEY, Mutation, Region, Row, Store, TableDescription, TimeRange
from webtable.store.hbase.fanout import FirstRows, first_rows_by_scanners, groups_of, overlap
from webtable.store.hbase.gateway import Gateway
from webtable.store.hbase.pool import Pool
from webtable.store.hbase.probe import check_gateway
from webtable.store.hbase.scanning import FIRST_ROWS, Pieces, ScannerPieces, StatelessPieces, rows_of
from webtable.store.hbase.selection import selection
from webtable.store.hbase.tables import Tables, Tables1, Tables2
from webtable.store.hbase.thrift1 import Thrift1
from webtable.store.hbase.thrift2 import Thrift2
from webtable.store.hbase.wire import Connector, Deadline, Protocol, Transport, thrift1, thrift2
from webtable.store.hbase.workers import Workers
from webtable.store.hbase.writing import Write

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from webtable.schema import FamilySchema, TableSchema

DDL_FACTOR: Final = 4
_FRAME_BYTES: Final = 2 * 1024 * 1024  # hbase.regionserver.thrift.framed.max_frame_size_in_mb
_READ_ROWS: Final = 100
_REGIONS_SECONDS: Final = 60.0


class HBaseStore(Store):
    """HBase behind its Thrift1 gateway at *port*, and where there is one its Thrift2 gateway at the port *thrift2*.

    Thrift1 alone does everything but split keys, changes of a family and a few options of it (`CapabilityError` says
    what to run instead); with Thrift2 a scan of many ranges, a batch of many timestamps and a read of versions are one
    call each. *timeout* is the deadline of each call in seconds, repetitions included: of a write, a read, and each
    piece of a scan; table management has four times as long. *pool_size* is the number of connections to a gateway,
    and of the threads that use them for one call; *max_age* is how many seconds one may lie idle.
    Raises `NotAStore` where something else answers, `StoreUnavailable` where nothing does.
    """

    def __init__(self, host: str, port: int = 9090, *, thrift2: int | None = None, transport: Transport = "buffered",
                 protocol: Protocol = "binary", timeout: float = 30.0, pool_size: int = 8,
                 max_age: float = 50.0) -> None:
        _check(transport in ("buffered", "framed"), f"transport={transport!r} must be 'buffered' or 'framed'")
        _check(protocol in ("binary", "compact"), f"protocol={protocol!r} must be 'binary' or 'compact'")
        _check(timeout > 0, f"timeout={timeout} must be over 0 seconds")
        _check(pool_size > 0, f"pool_size={pool_size} must be at least 1")
        _check(max_age > 0, f"max_age={max_age} must be over 0 seconds")
        self.name = f"hbase://{host}:{port}"
        self.calls = Counter()
        self._timeout = timeout
        self._closed = False
        self._lock = threading.Lock()
        self._workers = Workers(pool_size, self.name)
        self._frame = _FRAME_BYTES if transport == "framed" else None
        self._families: dict[str, Collection[bytes]] = {}
        self._bounds: dict[str, tuple[float, list[bytes]]] = {}
        self._pools: list[Pool] = []

        def gateway(number: int, at: int, service: object) -> Gateway:
            connector = Connector(host, at, transport=transport, protocol=protocol, service=service)
            check_gateway(connector, self.name, number, timeout)
            self._pools.append(Pool(connector, size=pool_size, max_age=max_age, name=self.name))
            return Gateway(self.name, self._pools[-1], self.calls, self._lock)

        first = gateway(1, port, thrift1.Hbase)
        self._thrift1 = Thrift1(first, self._workers.each)
        self._thrift2: Thrift2 | None = None
        self._tables: Tables = Tables1(first)
        if thrift2 is not None:
            second = gateway(2, thrift2, _service2)
            self._thrift2 = Thrift2(second)
            self._tables = Tables2(second, framed=transport == "framed")

    def write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        """Apply *mutations* in calls of about 2 MB, several at once where no row is in two of them."""
        deadline = self._deadline()
        if not mutations:
            return []

        def families(anew: bool) -> Collection[bytes]:
            if anew or table not in self._families:
                self._families[table] = self._tables.families(table, deadline)
            return self._families[table]

        try:
            write = Write(self._thrift2 or self._thrift1, self._workers, self.name, table, deadline, families,
                          self._frame)
        except StoreUnavailable as error:
            return [error] * len(mutations)
        return write.outcomes(mutations)

    def read(self, table: str, rows: Sequence[bytes], *, columns: Sequence[bytes] | None = None, versions: int = 1,
             time_range: TimeRange | None = None) -> list[Row | None]:
        """Return one entry for each of *rows*, by calls of a hundred of them."""
        deadline = self._deadline()
        wanted = selection(columns, versions, time_range)
        found: list[Row | None] = [None] * len(rows)
        if wanted.is_empty():
            return found
        possible = [place for place, row in enumerate(rows) if 0 < len(row) <= MAX_ROW_KEY]
        client = self._thrift2 or self._thrift1

        def some(places: list[int]) -> None:
            answers = client.get(table, [rows[place] for place in places], wanted, deadline)
            for place, row in zip(places, answers, strict=True):
                found[place] = row

        self._workers.map(some, [possible[at:at + _READ_ROWS] for at in range(0, len(possible), _READ_ROWS)])
        return found

    def scan(self, table: str, ranges: Sequence[KeyRange], *, columns: Sequence[bytes] | None = None,
             limit: int | None = None, reverse: bool = False, versions: int = 1, time_range: TimeRange | None = None,
             keys_only: bool = False) -> Iterator[Row]:
        """Yield the rows of all *ranges* in byte order, fetched in pieces of about 2 MB."""
        self._deadline()
        _check(limit is None or limit >= 0, f"limit={limit} must be at least 0, or None")
        wanted = selection(columns, versions, time_range, keys_only=keys_only, reverse=reverse)
        left = [] if wanted.is_empty() else merged(ranges)
        if not left or limit == 0:
            return iter(())
        pieces: Pieces
        if self._thrift2 is not None:
            pieces = StatelessPieces(self._thrift2, table, left, wanted, limit, self._deadline)
        else:
            pieces = ScannerPieces(self._thrift1, table, left, wanted, limit, self._deadline)
        return rows_of(pieces, self._workers)

    def first_rows(self, table: str, ranges: Sequence[KeyRange], limit: int, *,
                   columns: Sequence[bytes] | None = None, keys_only: bool = False) -> list[list[Row]]:
        """Return the first *limit* rows of each of *ranges*: a call for each group of regions, or a scanner each."""
        deadline = self._deadline()
        _check(limit >= 0, f"limit={limit} must be at least 0")
        wanted = selection(columns, keys_only=keys_only)
        if limit == 0 or wanted.is_empty():
            return [[] for _ in ranges]
        if self._thrift2 is None:
            return first_rows_by_scanners(self._thrift1, self._workers, table, ranges, wanted, limit, deadline)
        first = FirstRows(self._thrift2, self._workers, table, wanted, limit, deadline)
        if overlap(ranges):
            return self._workers.map(lambda keys: first.of([keys], [], 1)[0], ranges)
        return first.of(ranges, self._region_bounds(table, deadline), self._groups)

    def describe_calls(self, table: str, ranges: Sequence[KeyRange], *, each: bool = False) -> list[str]:
        """Return a line for each gateway call."""
        deadline = self._deadline()
        if self._thrift2 is None:
            count = "limit" if each else FIRST_ROWS
            chosen = [keys for keys in ranges if not keys.is_empty()] if each else merged(ranges)[:1]
            return [line for keys in chosen for line in (
                f"Thrift1 scannerOpenWithScan({table!r}, {_shown(keys)})", f"Thrift1 scannerGetList({count} rows)",
                "Thrift1 scannerClose()")]
        if not each:
            left = merged(ranges)
            return [_scan_line(table, left, f"the first {FIRST_ROWS} rows")] if left else []
        if overlap(ranges):
            return [_scan_line(table, [keys], "the first rows") for keys in ranges if not keys.is_empty()]
        groups = groups_of(ranges, self._region_bounds(table, deadline), self._groups)
        return [_scan_line(table, [part.keys for part in group], "the first rows of each") for group in groups]

    def tables(self) -> list[str]:
        """Return the names of all tables, sorted; those of HBase itself are left out."""
        return self._tables.names(self._deadline())

    def describe(self, table: str) -> TableDescription:
        """Return the table as it is."""
        return self._tables.describe(table, self._deadline())

    def create_table(self, schema: TableSchema) -> None:
        """Create the table, with its namespace where Thrift2 is there, and check the result."""
        deadline = self._deadline(DDL_FACTOR)
        self._forget(schema.name)
        self._tables.create(schema, deadline)

    def set_family(self, table: str, family: FamilySchema) -> None:
        """Add or change the family and check the result."""
        deadline = self._deadline(DDL_FACTOR)
        self._forget(table)
        self._tables.set_family(table, family, deadline)

    def drop_table(self, table: str) -> None:
        """Remove the table."""
        deadline = self._deadline(DDL_FACTOR)
        self._tables.drop(table, deadline)
        self._forget(table)

    def regions(self, table: str) -> list[Region]:
        """Return the table's regions in key order."""
        return self._tables.regions(table, self._deadline())

    def close(self) -> None:
        """Close all connections, those in use when their call is over."""
        self._closed = True
        self._workers.close()
        for pool in self._pools:
            pool.close()

    @property
    def _groups(self) -> int:
        return self._pools[-1].size

    def _deadline(self, factor: int = 1) -> Deadline:
        if self._closed:
            raise StoreError(f"{self.name}: the store is closed")
        return Deadline(self._timeout * factor)

    def _region_bounds(self, table: str, deadline: Deadline) -> list[bytes]:
        """Return the first keys of the regions behind the first one, as they were a minute ago at most."""
        read, bounds = self._bounds.get(table, (0.0, []))
        if not read or time.monotonic() - read > _REGIONS_SECONDS:
            bounds = [region.keys.start for region in self._tables.regions(table, deadline)][1:]
            self._bounds[table] = time.monotonic(), bounds
        return bounds

    def _forget(self, table: str) -> None:
        self._families.pop(table, None)
        self._bounds.pop(table, None)


_service2 = thrift2.THBaseService


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidArgument(message)


def _shown(keys: KeyRange) -> str:
    return f"{keys.start!r} to {keys.stop!r}" if keys.stop else f"{keys.start!r} to the end"


def _scan_line(table: str, ranges: Sequence[KeyRange], rows: str) -> str:
    what = _shown(ranges[0]) if len(ranges) == 1 else f"{len(ranges)} ranges in one MultiRowRangeFilter"
    return f"Thrift2 getScannerResults({table!r}, {what}, {rows})"
