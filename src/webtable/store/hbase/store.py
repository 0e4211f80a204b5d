"""The store for HBase, by a Thrift1 gateway and, if there is one, a Thrift2 gateway."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self, TypeVar

from webtable.errors import CapabilityError, InvalidArgument
from webtable.rowkey.ranges import calls_of, groups_of
from webtable.store.capabilities import Capabilities
from webtable.store.deadline import of_call
from webtable.store.hbase.address import address_of, store_name
from webtable.store.hbase.calls.thrift1 import Thrift1
from webtable.store.hbase.calls.thrift2 import Thrift2
from webtable.store.hbase.gateways.opening import Opening
from webtable.store.hbase.gateways.tables import Tables1, Tables2
from webtable.store.hbase.health import HBaseHealth
from webtable.store.hbase.scan_pieces import (
    FIRST_ROWS,
    Pieces,
    ScannerPieces,
    StatelessPieces,
    grouped_calls,
    scanner_calls,
    stateless_calls,
)
from webtable.store.hbase.scan_rows import overlap
from webtable.store.hbase.table_cache import TableCache
from webtable.store.hbase.thrift.transport import ConnectionMode
from webtable.store.hbase.workers import Workers
from webtable.store.url import HostPort

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from webtable.rowkey import KeyRange
    from webtable.store.hbase.calls.selection import Selection
    from webtable.store.hbase.gateways.gateway import Gateway
    from webtable.store.hbase.tables import Tables
    from webtable.store.hbase.thrift.connection import Protocol, Transport
    from webtable.store.hbase.thrift.pool import OnCall, Pool
    from webtable.store.url import StoreURL

T = TypeVar("T")

_FRAME_BYTES: Final = 2 * 1024 * 1024  # hbase.regionserver.thrift.framed.max_frame_size_in_mb


class HBaseStore(HBaseHealth):
    """HBase behind its Thrift1 gateway at *port*, and its Thrift2 gateway at the port *thrift2*, if there is one.

    Thrift1 alone supports everything except split keys, changes of a family and some of its options (`CapabilityError`
    says what to run instead); with Thrift2 a scan of many ranges, a batch of many timestamps and a read of versions are
    one call each. *others* are further gateways to the same HBase, as host and port, each with its Thrift2 gateway at
    the port *thrift2*: calls are distributed over all of them, and go on with the others while one is down.

    *timeout* is the deadline of each call in seconds, including waiting for a connection and for threads, connecting,
    and retries. The iterator of a scan has one for each requested row; table management has four times as long.
    *pool_size* is the number of connections to a gateway, and of the threads that use them for one call; *max_age* is
    how many seconds one may be idle. *mode* is for gateways in HTTP mode, and for TLS.
    Raises `NotAStore` if something else answers, `StoreUnavailable` if nothing does.
    """

    capabilities: Capabilities = Capabilities(processes_write_concurrently=True, has_snapshots=True)
    _uncompacted = "the gateways have no call to compact a table"

    def __init__(
        self,
        host: str,
        port: int = 9090,
        *,
        others: Sequence[tuple[str, int]] = (),
        thrift2: int | None = None,
        transport: Transport = "buffered",
        protocol: Protocol = "binary",
        timeout: float = 30.0,
        pool_size: int = 8,
        max_age: float = 50.0,
        mode: ConnectionMode = ConnectionMode.PLAIN,
    ) -> None:
        _check(transport in ("buffered", "framed"), f"transport={transport!r} must be 'buffered' or 'framed'")
        _check(protocol in ("binary", "compact"), f"protocol={protocol!r} must be 'binary' or 'compact'")
        _check(timeout > 0, f"timeout={timeout} must be over 0 seconds")
        _check(pool_size > 0, f"pool_size={pool_size} must be at least 1")
        _check(max_age > 0, f"max_age={max_age} must be over 0 seconds")
        _check(not mode.http or (transport, protocol) == ("buffered", "binary"), "HTTP has one transport and protocol")
        deadline = of_call(timeout)
        addresses = [HostPort(*one) for one in ((host, port), *others)]
        self.name: str = store_name(addresses, mode.scheme)
        self.timeout = timeout
        self._process = os.getpid()
        self._workers = Workers(pool_size, self.name)
        self._frame = _FRAME_BYTES if transport == "framed" else None
        opening = Opening(self.name, transport, protocol, pool_size, max_age, self._workers, deadline, mode)
        first = opening.gateway(1, addresses)
        self._thrift1 = Thrift1(first, self._workers.each)
        self._thrift2: Thrift2 | None = None
        self._tables: Tables = Tables1(first)
        self._gateways: list[Gateway] = [first]
        self.capabilities = replace(
            self.capabilities, scans_ranges_separately=thrift2 is None, changes_families=thrift2 is not None
        )
        if thrift2 is not None:
            second = opening.gateway(2, list(dict.fromkeys(HostPort(one.host, thrift2) for one in addresses)))
            self._thrift2 = Thrift2(second)
            self._tables = Tables2(second, framed=transport == "framed")
            self._gateways.append(second)
        self._client, self._many = self._thrift2 or self._thrift1, self._thrift2
        self._pools: list[Pool] = opening.pools
        self._table_cache = TableCache(self._tables, self.name)
        self._closed = False

    @classmethod
    def table_of(cls, url: StoreURL) -> str:
        """Return the table of `hbase://host:port/[namespace:]table`: by default `pages`."""
        return address_of(url).table

    @classmethod
    def from_url(cls, url: StoreURL, *, create: bool = False) -> Self:
        """Return the store behind the gateways that *url* names; *create* has no effect."""
        del create
        address = address_of(url)
        return cls(*address.gateways[0], others=address.gateways[1:], **address.settings())

    def _cells_in_runs(self, some: Callable[[Sequence[bytes]], list[T]], rows: Sequence[bytes]) -> list[T]:
        """Return the results of *some*, with Thrift1 of three calls for each row, or for several neighbouring rows."""
        if self._thrift2 is not None:
            return super()._cells_in_runs(some, rows)
        distinct = sorted(set(rows))  # neighbours together, and all connections in use
        cells = self._workers.in_runs(some, distinct, -(-len(distinct) // self._pools[0].size))
        found = dict(zip(distinct, cells, strict=True))
        return [found[row] for row in rows]

    def describe_calls(
        self, table: str, ranges: Sequence[KeyRange], *, each: bool = False, reverse: bool = False
    ) -> list[str]:
        """Return a line for each gateway call."""
        deadline = self._deadline()
        if self._thrift2 is None:
            return scanner_calls(table, ranges, each=each, reverse=reverse)
        if not each or reverse or overlap(ranges):
            return stateless_calls(table, ranges, each=each, reverse=reverse)
        groups = groups_of(ranges, self._table_cache.region_bounds(table, deadline), self._pools[-1].size)
        return grouped_calls(table, calls_of(groups, FIRST_ROWS))

    def backup(self, path: Path, on_progress: Callable[[int], object] | None = None) -> int:  # noqa: ARG002
        """Raise `CapabilityError`: snapshots of HBase are taken in its shell."""
        raise CapabilityError(
            f"{self.name}: the gateways have no call for snapshots; webtable backup snapshot writes the lines for the "
            "HBase shell that make them, and webtable export writes files"
        )

    def close(self) -> None:
        """Close all connections, those in use after their call."""
        super().close()
        for pool in self._pools:
            pool.close()

    @property
    def on_call(self) -> OnCall | None:
        """The function that is called with the method of each gateway call (`scannerOpenWithScan`), in its thread."""
        return self._pools[0].on_call

    @on_call.setter
    def on_call(self, listener: OnCall | None) -> None:
        for pool in self._pools:
            pool.on_call = listener

    def _groups(self, bounds: Sequence[bytes]) -> int:  # noqa: ARG002 - one for each connection
        return self._pools[-1].size

    def _pieces(self, table: str, ranges: Sequence[KeyRange], wanted: Selection, limit: int | None) -> Pieces:
        if self._thrift2 is not None:
            return StatelessPieces(self._thrift2, table, ranges, wanted, limit)
        return ScannerPieces(self._thrift1, table, ranges, wanted, limit)


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidArgument(message)
