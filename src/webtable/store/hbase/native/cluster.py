"""A cluster: its cells, its registry, its regions, and calls repeated where one has moved or its server stopped."""

from __future__ import annotations

import logging
import struct
import threading
from bisect import bisect_left, bisect_right
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from google.protobuf.message import DecodeError

from webtable._clock import clock
from webtable._process_hooks import renew_after_fork
from webtable.errors import StoreError
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.connection import CALL_ERRORS, ServerError, translated
from webtable.store.hbase.native.servers import CLIENT, MASTER, exclusively
from webtable.store.hbase.shared import failures
from webtable.store.hbase.shared.base import plain_name
from webtable.store.hbase.shared.failures import LEAST_ATTEMPT, WrongReply
from webtable.store.hbase.shared.sockets import CONNECT_SECONDS, connected, seconds_until
from webtable.store.metrics import log_event, subject_of
from webtable.store.rows import Cell, Row, distinct_columns
from webtable.store.url import HostPort

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from google.protobuf.message import Message

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.native.servers import Servers
    from webtable.store.rows import Delete, Put


# --- Cells ------------------------------------------------------------------------------------------------------------
#
# They follow the messages of calls and answers, as HBase's KeyValueCodec writes them. A cell is: the length of all that
# follows, the length of its key, the length of its value, the length of its row, the row, the length of its family in
# one byte, family, qualifier, timestamp, type, and the value (KeyValue.java).


_PUT, _DELETE, _DELETE_COLUMN, _DELETE_FAMILY = 4, 8, 12, 14  # KeyValue.Type
_HEAD = struct.Struct(">IIIH")
_TAIL = struct.Struct(">QB")
_TIMESTAMP = struct.Struct(">Q")
_SHORTEST: Final = 4 + 4 + 4 + 2 + 1 + 8 + 1  # the bytes of a cell in which everything is empty that may be
# Names of columns that are remembered while a block is read: those of links differ from row to row.
_MOST_NAMES: Final = 4096


def encode_put(put: Put, out: list[bytes], names: dict[bytes, bytes]) -> int:
    """Append the cells of *put* to *out*, and return how many they are; *names* remembers columns."""
    row = put.row
    length = len(row)
    head, tail = _HEAD.pack, _TAIL.pack  # a loop over all cells of a batch
    for column, timestamp, value in put.cells:
        name = names.get(column)
        if name is None:
            name = _name(column)
            if len(names) < _MOST_NAMES:
                names[column] = name
        key, size = length + len(name) + 11, len(value)
        out += (head(key + size + 8, key, size, length), row, name, tail(timestamp, _PUT), value)
    return len(put.cells)


def encode_delete(delete: Delete, out: list[bytes]) -> int:
    """Append the cells of *delete* to *out*, and return how many they are: none for a whole row."""
    if delete.columns is None:
        return 0
    columns = distinct_columns(delete.columns)
    for column in columns:
        qualifier = column.partition(b":")[2]
        kind = (_DELETE if delete.exact else _DELETE_COLUMN) if qualifier else _DELETE_FAMILY
        name = _name(column)
        key = len(delete.row) + len(name) + 11
        out.append(
            _HEAD.pack(key + 8, key, 0, len(delete.row)) + delete.row + name + _TAIL.pack(delete.timestamp, kind)
        )
    return len(columns)


def _name(column: bytes) -> bytes:
    # The key of the delete of a family has no colon either: one byte off, and HBase refuses the whole call.
    family, _, qualifier = column.partition(b":")
    return bytes((len(family),)) + family + qualifier


def decoded_rows(data: bytes, start: int, end: int, counts: Sequence[int], *, one_version: bool = True) -> list[Row]:
    """The rows of a block of cells, from *start* to *end* of *data*; *counts* has the cells of each.

    With *one_version* each column has one cell. A row without cells has no key. Raises `WrongReply` if the lengths in
    the block do not fit.
    """
    rows: list[Row] = []
    names: dict[bytes, bytes] = {}
    head, timestamp, new = _HEAD.unpack_from, _TIMESTAMP.unpack_from, tuple.__new__  # a loop over all cells of a scan
    at, last, row = start, end - _SHORTEST, b""
    for count in counts:
        cells: dict[bytes, Any] = {}
        for place in range(count):
            if at > last:
                raise WrongReply("fewer cells came than were announced")
            size, key, value, length = head(data, at)
            name_at, tail_at, stop = at + 14 + length, at + key + 3, at + size + 4
            if tail_at <= name_at or size != key + value + 8 or stop > end:
                raise WrongReply("the lengths of a cell do not fit")
            if not place:
                row = data[at + 14 : name_at]
            elif length != len(row) or not data.startswith(row, at + 14):
                raise WrongReply("cells of another row came in a row")
            name = data[name_at:tail_at]
            column = names.get(name)
            if column is None:
                column = _column(name)
                if len(names) < _MOST_NAMES:
                    names[name] = column
            cell = new(Cell, (timestamp(data, tail_at)[0], data[stop - value : stop]))
            if one_version:
                cells[column] = (cell,)
            else:
                cells.setdefault(column, []).append(cell)
            at = stop
        rows.append(new(Row, (row if count else b"", cells)))
    if at != end:
        raise WrongReply("more cells came than were announced")
    return rows


def _column(name: bytes) -> bytes:
    family = name[0] + 1
    if family > len(name):
        raise WrongReply("the family of a cell is longer than its key")
    return name[1:family] + b":" + name[family:]


def joined(part: Row, rest: Row) -> Row:
    """The row of which *part* and *rest* are."""
    cells = dict(part.cells)
    for column, more in rest.cells.items():
        before = cells.get(column)
        cells[column] = more if before is None else [*before, *more]
    return Row(part.key, cells)


# --- The registry -----------------------------------------------------------------------------------------------------
#
# It answers where hbase:meta and the active master are now; nothing is cached. The errors are those of calls.


T = TypeVar("T")

_MAGIC: Final = b"PBUF"
_LENGTH = struct.Struct(">I")
_SHARE: Final = 1 / 2  # of the remaining time, that one of several masters may use


class ClientLog(logging.LoggerAdapter[logging.Logger]):
    """The log of ZooKeeper's client at *hosts*: each record has the fields of all others, and the level DEBUG.

    What it warns of is raised as an error too, if it matters.
    """

    def __init__(self, hosts: str) -> None:
        super().__init__(logging.getLogger("webtable.store.hbase.zookeeper"))
        self._server, self._began = f"ZooKeeper at {hosts}", clock.monotonic()

    def isEnabledFor(self, level: int) -> bool:  # noqa: ARG002, N802 - of the base class
        """Whether anything is logged."""
        return self.logger.isEnabledFor(logging.DEBUG)

    def log(self, level: int, msg: object, *args: object, **_: Any) -> None:  # noqa: ARG002 - of the base class
        """Log the message."""
        seconds, text = clock.monotonic() - self._began, str(msg) % args if args else str(msg)
        log_event(
            self.logger,
            logging.DEBUG,
            "zookeeper",
            text,
            store=self._server,
            table=None,
            seconds=seconds,
            server=self._server,
        )


class ZooKeeperRegistry:
    """The registry in ZooKeeper, at *hosts* (`zk1:2181,zk2:2181`), in the nodes below *parent* (`/hbase`)."""

    # A session is opened for each question: there are few, and a session that stays has threads that no fork survives.

    def __init__(self, hosts: str, parent: str) -> None:
        self._hosts = hosts
        self._parent = parent

    def meta(self, deadline: Deadline) -> HostPort:
        """The server of hbase:meta."""
        return self._read("meta-region-server", lambda data: pb.MetaRegionServer.FromString(data).server, deadline)

    def master(self, deadline: Deadline) -> HostPort:
        """The active master."""
        return self._read("master", lambda data: pb.Master.FromString(data).master, deadline)

    def _read(self, node: str, read: Callable[[bytes], pb.ServerName], deadline: Deadline) -> HostPort:
        from kazoo.client import KazooClient
        from kazoo.exceptions import ConnectionLoss, KazooException, NoNodeError, SessionExpiredError
        from kazoo.handlers.threading import KazooTimeoutError

        self._check_reached(deadline)
        seconds = seconds_until(deadline)
        path = f"{self._parent}/{node}"
        client = KazooClient(self._hosts, timeout=max(seconds, 1.0), read_only=True, logger=ClientLog(self._hosts))
        try:
            client.start(timeout=seconds)
            try:
                data, _ = client.get_async(path).get(timeout=max(deadline.left(), 0.001))
            except (ConnectionLoss, SessionExpiredError):  # by another host of ZooKeeper, perhaps
                data, _ = client.get_async(path).get(timeout=max(deadline.left(), 0.001))
        except KazooTimeoutError:
            raise TimeoutError(f"ZooKeeper at {self._hosts} does not answer") from None
        except NoNodeError:
            raise ConnectionError(
                f"ZooKeeper at {self._hosts} has no {path}: HBase is not up, or has another ?parent="
            ) from None
        except KazooException as exc:
            raise ConnectionError(f"ZooKeeper at {self._hosts}: {type(exc).__name__} {exc}") from exc
        finally:
            with suppress(AttributeError):  # of a client whose thread was interrupted before it had begun
                client.stop()
            client.close()
        try:
            return _server(read(_message(data)))
        except DecodeError as exc:
            raise WrongReply(f"{path} in ZooKeeper is not of HBase") from exc

    def _check_reached(self, deadline: Deadline) -> None:
        """Raise `OSError` if no host takes connections: kazoo would try again without a word until the deadline."""
        errors: list[OSError] = []
        for host in self._hosts.split(","):
            name, _, port = host.rpartition(":")
            try:
                connected(name.strip("[]"), int(port), deadline.within(CONNECT_SECONDS)).close()
            except OSError as exc:
                errors.append(exc)
            else:
                return
        raise ConnectionError(f"no connection to ZooKeeper at {self._hosts}: {errors[0]}") from errors[0]


class MasterRegistry:
    """The registry by the masters at *addresses* themselves, or other servers of the cluster (HBase 2.3 or newer)."""

    def __init__(self, addresses: Sequence[HostPort], servers: Servers) -> None:
        self._addresses = [HostPort(*address) for address in addresses]
        self._servers = servers

    def meta(self, deadline: Deadline) -> HostPort:
        """The server of hbase:meta."""
        answer = self._ask("GetMetaRegionLocations", pb.GetMetaRegionLocationsResponse, deadline)
        first = next((location for location in answer.meta_locations if not location.region_info.replica_id), None)
        if first is None or not first.server_name.host_name:
            raise ConnectionError("hbase:meta is on no server at the moment")
        return _server(first.server_name)

    def master(self, deadline: Deadline) -> HostPort:
        """The active master."""
        name = self._ask("GetActiveMaster", pb.GetActiveMasterResponse, deadline).server_name
        if not name.host_name:
            raise ConnectionError("no master is active at the moment")
        return _server(name)

    def _ask(self, method: str, response: type[T], deadline: Deadline) -> T:
        """The answer of the first master that gives one."""
        errors: list[Exception] = []
        for server in self._addresses:
            several = len(self._addresses) - len(errors) > 1
            soon = deadline.within(deadline.left() * _SHARE) if several else deadline
            try:
                return self._servers.ask(server, "ClientMetaService", method, pb.EmptyMsg(), response, soon)
            except (*CALL_ERRORS, StoreError) as exc:
                errors.append(exc)
        raise errors[0]


Registry: TypeAlias = ZooKeeperRegistry | MasterRegistry


def _message(data: bytes) -> bytes:
    """The message in a node: after HBase's mark, and after the name of the writer (RecoverableZooKeeper)."""
    if data[:1] == b"\xff" and len(data) >= 5:
        data = data[5 + _LENGTH.unpack_from(data, 1)[0] :]
    if data[:4] != _MAGIC:
        raise WrongReply("the node in ZooKeeper is not one of HBase")
    return data[4:]


def _server(name: pb.ServerName) -> HostPort:
    if not (name.host_name and isinstance(name.host_name, str)):  # it is bytes where it is not UTF-8
        raise WrongReply(f"a server with the name {name.host_name!r:.100}")
    return HostPort(name.host_name, name.port)


# --- Regions ----------------------------------------------------------------------------------------------------------


_META: Final = "hbase:meta"
_OWN: Final = "hbase:"  # the namespace of HBase's own tables
_META_REGION: Final = b"hbase:meta,,1"
_META_ROWS: Final = 1000
_DISABLED: Final = (1, 2)  # of TableState: disabled and disabling
_BY_NAME: Final = 1  # of RegionSpecifier


class LocatedRegion(NamedTuple):
    """A region, its keys from `start` to `stop` (empty: to the end), and the server that it is on, if it is on one."""

    start: bytes
    stop: bytes
    name: bytes
    server: HostPort | None
    info: pb.RegionInfo | None

    def on_server(self) -> HostPort:
        """Its server; raises `ServerError` if it is on none at the moment."""
        if self.server is None:
            raise _nowhere()
        return self.server

    def specifier(self) -> pb.RegionSpecifier:
        """The region as calls name it."""
        return pb.RegionSpecifier(type=_BY_NAME, value=self.name)


class TableRegions:
    """The regions of a table in key order, as they were at one moment."""

    def __init__(self, regions: Sequence[LocatedRegion]) -> None:
        self.regions = regions
        self._starts = [region.start for region in regions]

    def of(self, row: bytes) -> LocatedRegion:
        """The region of *row*; raises `ServerError` if it is on no server at the moment."""
        region = self.regions[bisect_right(self._starts, row) - 1]
        # While a region splits, there may be a gap where it was.
        if region.start > row or (region.stop and row >= region.stop):
            raise _nowhere()
        return region

    def before(self, row: bytes) -> LocatedRegion:
        """The region of the keys just before *row*; an empty one is the end of the table."""
        region = self.regions[(bisect_left(self._starts, row) if row else len(self._starts)) - 1]
        if (row and region.start >= row) or (region.stop and (not row or row > region.stop)):
            raise _nowhere()
        return region


def _nowhere() -> ServerError:
    return ServerError("NotServingRegionException", "the region is on no server at the moment")


# --- The cluster ------------------------------------------------------------------------------------------------------
#
# What a call finds out of date (a region, the master, hbase:meta) is forgotten and looked up by the next attempt,
# within the same deadline. Every call may be repeated: cells have timestamps, and changes of tables have nonces.


class Cluster:
    """The cluster of *registry*, reached by *servers*."""

    def __init__(self, name: str, registry: Registry, servers: Servers) -> None:
        self.name = name
        self.servers: Final = servers
        self.log: Final = failures.ServerLog(name)
        self._registry = registry
        self._meta: HostPort | None = None
        self._master: HostPort | None = None
        self._last_meta: HostPort | None = None
        self._last_master: HostPort | None = None
        self._tables: dict[str, TableRegions] = {}
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Replace the lock; what is known of regions is valid in the child as well."""
        self._locating = threading.RLock()

    def retried(self, do: Callable[[Deadline], T], table: str | None, call: str, deadline: Deadline) -> T:
        """`do(deadline)`, repeated while its errors pass, each time with what has changed looked up again."""
        failed = 0

        def attempt() -> T:
            nonlocal failed
            least = LEAST_ATTEMPT if failed else 0.0  # a short deadline has time for a second attempt too
            began, soon = clock.monotonic(), failures.one_attempt(deadline, subject_of(self.name, table), least)
            try:
                return do(soon)
            except CALL_ERRORS as exc:
                failed += 1
                error = translated(exc, self.name, table, call, clock.monotonic() - began)
                self.failed(exc, table, failed, deadline)
                raise error from exc

        return failures.repeated(attempt, deadline, self.log, table)

    def failed(self, exc: Exception, table: str | None, failed: int, deadline: Deadline) -> None:
        """Forget what *exc* says is out of date; raises the error of a table that is disabled or gone."""
        if isinstance(exc, ServerError) and not exc.passes:
            return
        if isinstance(exc, ServerError) and exc.pause:
            clock.sleep(min(exc.pause, deadline.left()))
        if not isinstance(exc, ServerError) or exc.moved:
            self.forget(table)
            if failed > 1:  # the table is looked at first, as it is what changes most often
                if self._master is not None:  # nobody knows whether it is still up
                    self.servers.forget(self._master, MASTER)
                self._meta = self._master = None
                self._check_enabled(table, deadline)

    def forget(self, table: str | None) -> None:
        """Drop what is known of the regions of *table*."""
        if table is not None:
            self._tables.pop(plain_name(table), None)

    def ask_master(self, method: str, request: Message, response: type[T], deadline: Deadline) -> T:
        """The answer of the active master; raises the errors of calls."""
        master = self._master  # which others may forget meanwhile
        if master is None:
            master = self._registry.master(deadline)
            if self._last_master is not None and self._last_master != master:
                self.servers.forget(self._last_master, MASTER)
            self._master = self._last_master = master
        return self.servers.ask(master, MASTER, method, request, response, deadline)

    def check(self, deadline: Deadline) -> None:
        """Raise the errors of calls unless the region server of hbase:meta answers."""
        meta = self._meta_server(deadline)
        self.servers.ask(meta, CLIENT, "Multi", pb.MultiRequest(), pb.MultiResponse, deadline)

    def check_master(self, deadline: Deadline) -> None:
        """Raise the errors of calls unless a master is active, and answers."""
        self.ask_master("GetTableNames", pb.GetTableNamesRequest(), pb.GetTableNamesResponse, deadline)

    def tables(self, deadline: Deadline) -> list[str]:
        """The names of all tables, except those of HBase itself, sorted; raises the errors of calls."""
        names = [row.decode(errors="replace") for row, _ in self._meta_rows(b"", b"", b"table", deadline)]
        return sorted(plain_name(name) for name in names if not name.startswith(_OWN))

    def _meta_server(self, deadline: Deadline) -> HostPort:
        """The server of hbase:meta; where the registry gives none, the one that it gave last."""
        meta, last = self._meta, self._last_meta  # which others may forget meanwhile
        if meta is None:
            try:
                meta = self._registry.meta(deadline if last is None else deadline.within(deadline.left() * _SHARE))
            except (*CALL_ERRORS, StoreError):
                if last is None:
                    raise
                meta = last
            self._meta = self._last_meta = meta
        return meta

    def regions(self, table: str, deadline: Deadline, *, fresh: bool = False) -> TableRegions:
        """The regions of *table*; raises `TableNotFound`, and the errors of calls."""
        name = plain_name(table)
        cached = self._tables.get(name)
        if cached is not None and not fresh:
            return cached

        def located() -> TableRegions:
            regions = self._tables.get(name)
            if regions is None or regions is cached:  # no other thread has read them meanwhile
                regions = self._tables[name] = TableRegions(self._read_regions(name, deadline))
            return regions

        return exclusively(self._locating, located, deadline, "the regions were not found in time")

    def _read_regions(self, name: str, deadline: Deadline) -> list[LocatedRegion]:
        if name == _META:
            self._meta = None
            meta = self._meta_server(deadline)
            return [LocatedRegion(b"", b"", _META_REGION, meta, None)]
        start, stop = f"{name},,".encode(), f"{name}-".encode()  # the sign after the comma
        regions: list[LocatedRegion] = []
        for row, cells in self._meta_rows(start, stop, b"info", deadline):
            info = _parsed(pb.RegionInfo, cells.get(b"info:regioninfo", b""))
            if info is None or info.split or info.offline or info.replica_id:
                continue
            host, _, port = cells.get(b"info:server", b"").decode(errors="replace").rpartition(":")
            server = HostPort(host, int(port)) if host and port.isdigit() else None
            regions.append(LocatedRegion(info.start_key, info.end_key, row, server, info))
        if not regions:
            raise failures.missing(self.name, name)
        return sorted(regions, key=lambda region: region.start)

    def _check_enabled(self, table: str | None, deadline: Deadline) -> None:
        """Raise the error of a table that is disabled: its regions look as if they moved for ever."""
        if table is None or not deadline.left():
            return
        row = plain_name(table).encode()
        try:
            rows = self._meta_rows(row, row + b"\x00", b"table", deadline.within(LEAST_ATTEMPT))
            state = _parsed(pb.TableState, rows[0][1].get(b"table:state", b""), marked=False) if rows else None
        except CALL_ERRORS:
            return
        if state is not None and state.state in _DISABLED:
            raise failures.disabled(self.name, table)

    def _meta_rows(
        self, start: bytes, stop: bytes, family: bytes, deadline: Deadline
    ) -> list[tuple[bytes, dict[bytes, bytes]]]:
        """The rows of hbase:meta from *start* to *stop*."""
        meta = self._meta_server(deadline)
        rows: list[tuple[bytes, dict[bytes, bytes]]] = []
        while True:
            scan = pb.Scan(start_row=start, stop_row=stop, max_versions=1, include_start_row=not rows)
            scan.column.add(family=family)
            request = pb.ScanRequest(
                region=pb.RegionSpecifier(type=_BY_NAME, value=_META_REGION),
                scan=scan,
                number_of_rows=_META_ROWS,
                close_scanner=True,
            )
            sent = self.servers.send(meta, CLIENT, "Scan", request, pb.ScanResponse, deadline)
            message, data, at, end = sent.wait(deadline)
            piece = decoded_rows(data, at, end, message.cells_per_result)
            rows += [(row.key, {column: cell.value for column, (cell,) in row.cells.items()}) for row in piece]
            if len(piece) < _META_ROWS and not message.more_results_in_region:
                return rows
            if not piece:
                raise WrongReply("hbase:meta has more rows, and gives none")
            start = piece[-1].key


def _parsed(kind: type[T], value: bytes, *, marked: bool = True) -> T | None:
    """The message in a cell of hbase:meta, with *marked* after its mark; None if there is none."""
    try:
        return kind.FromString(value[4:] if marked else value) if value else None  # type: ignore[attr-defined]
    except DecodeError as exc:
        raise WrongReply("a row of hbase:meta cannot be read") from exc
