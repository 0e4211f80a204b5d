"""The store for HBase by its own protocol."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from webtable.errors import CapabilityError, InvalidArgument, NotAStore, StoreUnavailable
from webtable.store.capabilities import Capabilities
from webtable.store.deadline import of_call
from webtable.store.hbase.base import READ_ROWS, HBaseBase
from webtable.store.hbase.calls.selection import MOST, selection
from webtable.store.hbase.native.address import address_of
from webtable.store.hbase.native.cluster import Cluster
from webtable.store.hbase.native.failures import CALL_ERRORS, translated
from webtable.store.hbase.native.registry import MasterRegistry, ZooKeeperRegistry
from webtable.store.hbase.native.scans import NativeClient, NativePieces
from webtable.store.hbase.native.servers import Servers
from webtable.store.hbase.native.tables import NativeTables
from webtable.store.hbase.scan_rows import FirstRows, overlap, pieces_of, rows_of_each
from webtable.store.hbase.table_cache import TableCache
from webtable.store.hbase.workers import Workers
from webtable.store.metrics import GatewayMetrics

if TYPE_CHECKING:
    import ssl
    from collections import Counter
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from webtable.rowkey import KeyRange
    from webtable.store.hbase.address import HostPort
    from webtable.store.hbase.native.servers import OnCall
    from webtable.store.rows import Cell, Row, Wanted
    from webtable.store.url import StoreURL


class NativeStore(HBaseBase):
    """HBase without a gateway: calls go to the region servers that hold the rows.

    The cluster is found by ZooKeeper at *zookeeper* (`zk1:2181,zk2:2181`, nodes below *parent*), or by its *masters*.
    *rename* says where servers are reached that are registered under names which do not resolve here: a host, or a host
    and port, by a host, or a host and port. *timeout* is the deadline of each call in seconds, with all its retries.
    Raises `NotAStore` if something else answers, `StoreUnavailable` if nothing does.
    """

    capabilities: Capabilities = Capabilities(processes_write_concurrently=True, has_snapshots=True)

    def __init__(
        self,
        *,
        zookeeper: str = "",
        parent: str = "/hbase",
        masters: Sequence[HostPort] = (),
        rename: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        threads: int = 8,
        tls: ssl.SSLContext | None = None,
        user: str | None = None,
    ) -> None:
        if bool(zookeeper) == bool(masters):
            raise InvalidArgument("one of zookeeper and masters must be given")
        if timeout <= 0:
            raise InvalidArgument(f"timeout={timeout} must be over 0 seconds")
        self.name = f"hbase+native://{zookeeper or ','.join(map(str, masters))}"
        self.timeout = timeout
        self._process = os.getpid()
        self._workers = Workers(threads, self.name)
        self._servers = Servers(self.name, rename or {}, tls, user)
        registry = ZooKeeperRegistry(zookeeper, parent) if zookeeper else MasterRegistry(masters, self._servers)
        self._cluster = Cluster(self.name, registry, self._servers)
        self._client: NativeClient = NativeClient(self._cluster)
        self._tables = NativeTables(self._cluster)
        self._table_cache = TableCache(self._tables, self.name)
        self._check()
        self._closed = False

    @classmethod
    def table_of(cls, url: StoreURL) -> str:
        """Return the table of `hbase+native://host:port/[namespace:]table`: by default `pages`."""
        return address_of(url).table

    @classmethod
    def from_url(cls, url: StoreURL, *, create: bool = False) -> Self:
        """Return the store of the cluster that *url* names; *create* has no effect."""
        del create
        return cls(**address_of(url).settings())

    def _check(self) -> None:
        """Raise unless the active master answers."""
        from webtable.store.hbase.failures import WrongReply
        from webtable.store.hbase.native import hbase_pb2 as pb

        deadline = of_call(self.timeout)
        try:
            self._cluster.ask_master("GetTableNames", pb.GetTableNamesRequest(), pb.GetTableNamesResponse, deadline)
        except WrongReply as exc:
            self._servers.close()
            raise NotAStore(f"{self.name}: what answers is not HBase's own protocol: {exc}") from exc
        except CALL_ERRORS as exc:
            self._servers.close()
            error = translated(exc, self.name, None, "finding the master")
            raise (error if isinstance(error, StoreUnavailable) else NotAStore(str(error))) from exc

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
        most, deadline = min(limit, MOST), self._deadline()

        def some(chosen: Sequence[bytes]) -> list[list[tuple[bytes, Cell]]]:
            return self._client.cells(table, chosen, family, qualifiers, most, deadline, keys_only=keys_only)

        return self._workers.in_runs(some, rows, READ_ROWS)

    def _scan(
        self, table: str, ranges: list[KeyRange], wanted: Wanted, limit: int | None, *, reverse: bool
    ) -> Iterator[list[Row]]:
        """Yield the rows of all *ranges* in byte order, in pieces of about 2 MB."""
        selected = selection(wanted, reverse=reverse)
        self._table_cache.check_searched(table, selected, self._deadline())
        return pieces_of(NativePieces(self._cluster, table, ranges, selected, limit), self._workers, self._deadline)

    def _first_rows(
        self, table: str, ranges: Sequence[KeyRange], limit: int, wanted: Wanted, *, reverse: bool
    ) -> list[list[Row]]:
        """Return the first *limit* rows of each of *ranges*, by a scan of each region with several of them."""
        deadline = self._deadline()
        selected = selection(wanted, reverse=reverse)
        self._table_cache.check_searched(table, selected, deadline)
        if reverse or overlap(ranges):
            return rows_of_each(
                lambda keys: NativePieces(self._cluster, table, [keys], selected, limit),
                ranges,
                self._workers,
                deadline,
            )
        bounds = self._table_cache.region_bounds(table, deadline)
        first = FirstRows(self._client, self._workers, table, min(limit, MOST))
        return first.of(ranges, selected, deadline, bounds, len(bounds) + 1)

    def describe_calls(
        self, table: str, ranges: Sequence[KeyRange], *, each: bool = False, reverse: bool = False
    ) -> list[str]:
        """Return a line for each scan of a region."""
        regions = self.regions(table)
        backwards = ", reversed" if reverse else ""
        rows = "the first rows of each" if each else "the first rows"
        lines = []
        for region in reversed(regions) if reverse else regions:
            some = [keys for keys in ranges if _meet(keys, region.keys)]
            if some:
                text = f"{len(some)} ranges" if len(some) > 1 else f"{some[0].start!r} to {some[0].stop or 'the end'!r}"
                lines.append(f"Scan({table!r} on {region.server}, {text}, {rows}{backwards})")
        return lines if each else lines[:1]

    def compact(self, tables: Sequence[str]) -> int:
        """Raise `CapabilityError` with the lines for the HBase shell."""
        lines = "; ".join(f"flush '{table}'; major_compact '{table}'" for table in tables)
        raise CapabilityError(f"{self.name}: HBase compacts tables by itself; in the HBase shell: {lines}")

    def backup(self, path: Path, on_progress: Callable[[int], object] | None = None) -> int:  # noqa: ARG002
        """Raise `CapabilityError`: snapshots stay in HBase."""
        raise CapabilityError(
            f"{self.name}: HBase keeps its snapshots itself; webtable backup snapshot writes the lines for the "
            "HBase shell that make them, and webtable export writes files"
        )

    def close(self) -> None:
        """Close all connections."""
        super().close()
        self._servers.close()

    @property
    def on_call(self) -> OnCall | None:
        """The function that is called with the method of each call (`Multi`), in its thread."""
        return self._servers.on_call

    @on_call.setter
    def on_call(self, listener: OnCall | None) -> None:
        self._servers.on_call = listener

    def events(self) -> Counter[str]:
        """Return how often each event has occurred."""
        return super().events() + self._cluster.events.snapshot()

    def gateways(self) -> list[GatewayMetrics]:
        """Return the state of the connections to each server."""
        return [
            GatewayMetrics(f"{self.name} ({service} at {server})", in_flight, 0 if in_flight else 1, 1, 0, False, 0.0)
            for server, service, in_flight in self._servers.state()
        ]


def _meet(one: KeyRange, other: KeyRange) -> bool:
    return (not one.stop or other.start < one.stop) and (not other.stop or one.start < other.stop)
