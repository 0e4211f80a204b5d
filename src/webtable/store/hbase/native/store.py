"""The store for HBase by its own protocol, and its URLs: `hbase+native://zk1,zk2:2181/[namespace:]table?timeout=10`.

Hosts with the port 16000, or with `registry=master`, are masters of the cluster; others are the ZooKeeper of it.
"""

from __future__ import annotations

import secrets
from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

from webtable._clock import clock
from webtable._messages import Command
from webtable.display.text import plural
from webtable.errors import CapabilityError, InvalidArgument, NotAStore, StoreError, StoreRefused, StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.schema import FAMILY_OPTIONS, FamilySchema, TableSchema
from webtable.store.capabilities import Capabilities
from webtable.store.deadline import Deadline, of_call
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.calls import NativeClient, NativePieces
from webtable.store.hbase.native.cluster import Cluster, MasterRegistry, ZooKeeperRegistry
from webtable.store.hbase.native.connection import (
    CALL_ERRORS,
    PRINCIPAL,
    ConnectionLost,
    Kerberos,
    ServerError,
    translated,
)
from webtable.store.hbase.native.servers import CLIENT, Servers
from webtable.store.hbase.shared import base
from webtable.store.hbase.shared.failures import WrongReply, missing
from webtable.store.hbase.shared.filters import selection
from webtable.store.hbase.shared.sockets import client_context
from webtable.store.hbase.shared.urls import hosts_of, parts_of
from webtable.store.health import Check, failed, warned, well
from webtable.store.rows import Region, TableDescription, Wanted
from webtable.store.url import HostPort, URLOptions

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from google.protobuf.message import Message

    from webtable.schema import ShellCommand
    from webtable.store.hbase.native.servers import OnCall
    from webtable.store.hbase.shared.filters import Selection
    from webtable.store.metrics import ServerMetrics
    from webtable.store.url import StoreURL


# --- Tables, by the active master -------------------------------------------------------------------------------------


T = TypeVar("T")

# The attributes of a family that its options are (ColumnFamilyDescriptorBuilder.java).
_NAMES: Final = {
    "versions": b"VERSIONS",
    "min_versions": b"MIN_VERSIONS",
    "ttl": b"TTL",
    "compression": b"COMPRESSION",
    "bloom": b"BLOOMFILTER",
    "in_memory": b"IN_MEMORY",
    "block_cache": b"BLOCKCACHE",
    "block_encoding": b"DATA_BLOCK_ENCODING",
    "block_size": b"BLOCKSIZE",
    "replication_scope": b"REPLICATION_SCOPE",
}
_OF_TABLES: Final = {"disable": "DisableTable", "enable": "EnableTable"}
_FLUSH: Final = 1  # of SnapshotDescription: what is in memory is written to files first
_FINISHED: Final = 2  # of GetProcedureResultResponse
_NEEDS_MASTER: Final = "this needs an active master, without which reads and writes go on"
_PATIENCE: Final = 5.0
"""The seconds after which a question gives up where there is no master; what changes tables waits longer for one."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.5


class NativeTables(base.Tables):
    """Tables by the master of *cluster*, with everything that a schema has."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster.name)
        self._cluster = cluster

    def names(self, deadline: Deadline) -> list[str]:
        """The names of all tables, sorted: those that the master shows us, and without one those in hbase:meta."""

        def attempt(soon: Deadline) -> list[str]:
            request, response = pb.GetTableNamesRequest(), pb.GetTableNamesResponse
            try:
                names = self._cluster.ask_master("GetTableNames", request, response, soon.within(soon.left() / 2))
            except CALL_ERRORS as exc:
                if isinstance(exc, WrongReply) or (isinstance(exc, ServerError) and not exc.moved):
                    raise
                return self._cluster.tables(soon)
            return sorted(_text(name) for name in names.table_names)

        return self._cluster.retried(attempt, None, "GetTableNames", deadline)

    def describe(self, table: str, deadline: Deadline) -> TableDescription:
        """The table."""
        families = tuple(map(_family, self._families(table, deadline)))
        return TableDescription(TableSchema(table, families, self._splits(table, deadline)))

    def families(self, table: str, deadline: Deadline) -> frozenset[bytes]:
        """The names of the table's families."""
        return frozenset(family.name for family in self._families(table, deadline))

    def regions(self, table: str, deadline: Deadline) -> list[Region]:
        """The table's regions in key order."""
        located = self._cluster.retried(
            lambda soon: self._cluster.regions(table, soon, fresh=True), table, "the regions", deadline
        )
        return [
            Region(KeyRange(region.start, region.stop), "" if region.server is None else str(region.server))
            for region in located.regions
        ]

    def run(self, command: ShellCommand, deadline: Deadline) -> None:
        """Do what *command* of the HBase shell does, and return when it is done."""
        verb, names = command
        if verb in _OF_TABLES:
            self._do(_OF_TABLES[verb], _request(names[0]), names[0], deadline)
            self._cluster.forget(names[0])
        elif verb == "snapshot":
            self._take_snapshot(names[0], names[1], deadline)
        else:  # restored in place, or as another table
            answer = self._ask("GetCompletedSnapshots", pb.EmptyMsg(), pb.GetCompletedSnapshotsResponse, deadline)
            snapshot = next((snapshot for snapshot in answer.snapshots if snapshot.name == names[0]), None)
            if snapshot is None:
                raise StoreRefused(f"{self._name}: there is no snapshot {names[0]!r}")
            if verb == "clone_snapshot":
                snapshot.table = names[1]
            restored = pb.RestoreSnapshotRequest(snapshot=snapshot, **_nonce())
            self._do("RestoreSnapshot", restored, snapshot.table, deadline)
            self._cluster.forget(snapshot.table)

    def _take_snapshot(self, table: str, name: str, deadline: Deadline) -> None:
        described = pb.SnapshotDescription(name=name, table=table, type=_FLUSH, creation_time=clock.milliseconds())
        request = pb.SnapshotRequest(snapshot=described, **_nonce())
        started = self._ask("Snapshot", request, pb.SnapshotResponse, deadline, table)
        if started.proc_id:
            self.finished("Snapshot", started.proc_id, table, deadline)
            return
        question = pb.IsSnapshotDoneRequest(snapshot=described)  # before 2.6
        while not self._ask("IsSnapshotDone", question, pb.IsSnapshotDoneResponse, deadline, table).done:
            clock.sleep(min(_LONGEST_PAUSE, deadline.left()))

    def set_family(self, table: str, family: FamilySchema, deadline: Deadline) -> None:
        """Add the family, or change its options."""
        name = family.name.encode()
        before = next((before for before in self._families(table, deadline) if before.name == name), None)
        descriptor = _descriptor(family, before)
        request = pb.ColumnRequest(table_name=table_name(table), column_families=descriptor, **_nonce())
        self._do("ModifyColumn" if before else "AddColumn", request, table, deadline)

    def _create(self, schema: TableSchema, deadline: Deadline) -> None:
        namespace, colon, _ = schema.name.partition(":")
        if colon:
            self._require_namespace(namespace, schema.name, deadline)
        descriptor = pb.TableSchema(
            table_name=table_name(schema.name), column_families=map(_descriptor, schema.families)
        )
        request = pb.CreateTableRequest(table_schema=descriptor, split_keys=schema.split_keys, **_nonce())
        self._do("CreateTable", request, schema.name, deadline)

    def _require_namespace(self, namespace: str, table: str, deadline: Deadline) -> None:
        answer = self._ask("ListNamespaces", pb.EmptyMsg(), pb.ListNamespacesResponse, deadline, table)
        if namespace not in answer.namespaceName:
            descriptor = pb.NamespaceDescriptor(name=namespace.encode())
            request = pb.NamespaceRequest(namespaceDescriptor=descriptor, **_nonce())
            self._do("CreateNamespace", request, table, deadline)

    def _disable(self, table: str, deadline: Deadline) -> None:
        try:
            self._do("DisableTable", _request(table), table, deadline)
        except StoreRefused as error:
            if "TableNotEnabledException" not in str(error.__cause__):
                raise

    def _delete(self, table: str, deadline: Deadline) -> None:
        self._do("DeleteTable", _request(table), table, deadline)
        self._cluster.forget(table)

    def _families(self, table: str, deadline: Deadline) -> list[pb.ColumnFamilySchema]:
        """The descriptors of the families, sorted by name; raises `TableNotFound`."""
        request = pb.GetTableDescriptorsRequest(table_names=[table_name(table)])
        schemas = self._ask(
            "GetTableDescriptors", request, pb.GetTableDescriptorsResponse, deadline, table, patience=_PATIENCE
        ).table_schema
        if not schemas:
            raise missing(self._name, table)
        return sorted(schemas[0].column_families, key=lambda family: family.name)

    def _ask(
        self,
        method: str,
        request: Message,
        response: type[T],
        deadline: Deadline,
        table: str | None = None,
        *,
        patience: float = inf,
    ) -> T:
        """The master's answer to a question, which is repeated, for *patience* seconds where there is no master."""
        began = clock.monotonic()

        def attempt(soon: Deadline) -> T:
            try:
                return self._cluster.ask_master(method, request, response, soon)
            except (ConnectionError, ConnectionLost) as exc:
                if clock.monotonic() - began > patience:
                    deadline.limit_to(Deadline(0.0))
                raise ConnectionLost(f"{exc}; {_NEEDS_MASTER}") from exc

        return self._cluster.retried(attempt, table, method, deadline)

    def _do(self, method: str, request: Message, table: str, deadline: Deadline) -> None:
        """Have the master do something, and return when it is done.

        The nonce in *request* makes a repeated call the same one, so it is repeated as questions are.
        """
        started = self._ask(method, request, pb.ProcedureStarted, deadline, table)
        self.finished(method, started.proc_id, table, deadline)

    def finished(self, method: str, procedure: int, table: str, deadline: Deadline) -> None:
        """Return when *procedure* is done; raises the error that it ended with."""
        pause = _FIRST_PAUSE
        request = pb.GetProcedureResultRequest(proc_id=procedure)
        while procedure:
            result = self._ask("getProcedureResult", request, pb.GetProcedureResultResponse, deadline, table)
            if result.state == _FINISHED:
                if result.HasField("exception"):
                    cause = result.exception.generic_exception
                    exc = ServerError(cause.class_name, cause.message)
                    raise translated(exc, self._name, table, method) from exc
                return
            if not result.state:
                raise StoreUnavailable(f"{self._name}: {method}: the master knows nothing of procedure {procedure}")
            clock.sleep(min(pause, deadline.left()))
            pause = min(2 * pause, _LONGEST_PAUSE)


def table_name(table: str) -> pb.TableName:
    """The name of `table` or `namespace:table`."""
    namespace, _, qualifier = table.rpartition(":")
    return pb.TableName(namespace=(namespace or "default").encode(), qualifier=qualifier.encode())


def _text(name: pb.TableName) -> str:
    return base.plain_name((name.namespace + b":" + name.qualifier).decode(errors="replace"))


def _nonce() -> dict[str, Any]:
    return {"nonce_group": 1, "nonce": secrets.randbits(62) + 1}


def _request(table: str) -> pb.TableRequest:
    return pb.TableRequest(table_name=table_name(table), **_nonce())


def _descriptor(family: FamilySchema, before: pb.ColumnFamilySchema | None = None) -> pb.ColumnFamilySchema:
    """The descriptor of *family*, with what else is in the one *before*, as a change replaces all of it."""
    descriptor = pb.ColumnFamilySchema(name=family.name.encode())
    attributes = {_NAMES[option]: _value(option, getattr(family, option)) for option in FAMILY_OPTIONS}
    if before is not None:
        descriptor.configuration.MergeFrom(before.configuration)
        attributes = {pair.first: pair.second for pair in before.attributes} | attributes
    for name, value in attributes.items():
        descriptor.attributes.add(first=name, second=value)
    return descriptor


def _value(option: str, value: object) -> bytes:
    if option == "ttl":
        return str(base.FOREVER if value is None else value).encode()
    return str(value).lower().encode() if isinstance(value, bool) else str(value).encode()


def _family(descriptor: pb.ColumnFamilySchema) -> FamilySchema:
    """The family; raises `StoreRefused` if `FamilySchema` cannot represent an option."""
    attributes = {pair.first: pair.second.decode(errors="replace") for pair in descriptor.attributes}
    options: dict[str, Any] = {}
    default = FamilySchema("default")
    try:
        options["name"] = descriptor.name.decode()
        for option, name in _NAMES.items():
            if (text := attributes.get(name)) is None:
                continue
            kind = type(getattr(default, option))
            if option == "ttl":
                options[option] = base.ttl_of(int(text) if text.isdigit() else base.FOREVER)
            elif kind is bool:
                options[option] = text.lower() == "true"
            else:
                options[option] = int(text) if kind is int else text.upper()
    except ValueError as exc:
        raise StoreRefused(f"the table has an option that webtable does not know: {exc}") from exc
    return base.known_family(**options)


# --- The store --------------------------------------------------------------------------------------------------------


_REACH = (
    "start it, or say by ?rename=NAME=HOST how its name is reached from here, and open its port, 16020, to this host"
)


_NO_MASTER = (
    "start one, or see its log: reads and writes go on, but tables cannot be made or changed, and the regions of a "
    "server that ends are served by no other one"
)


class NativeStore(base.HBaseBase):
    """HBase without a gateway: calls go to the region servers that hold the rows.

    The cluster is found by ZooKeeper at *zookeeper* (`zk1:2181,zk2:2181`, nodes below *parent*), or by its *masters*.
    *rename* says where servers are reached that are registered under names which do not resolve here: a host, or a host
    and port, by a host, or a host and port. With *tls* servers prove by their certificates that they are those which
    the cluster names (HBase 2.6); with *kerberos* both sides prove who they are; ZooKeeper is asked in the clear, and
    without a ticket. *user* is who HBase sees, with Kerberos somebody for whom the owner of the ticket may act.
    *timeout* is the deadline of each call in seconds, with all its retries.
    Raises `NotAStore` if something else answers, `StoreUnavailable` if nothing does, `StoreRefused` if HBase does not
    accept who we are.
    """

    capabilities: Capabilities = Capabilities(
        processes_write_concurrently=True, is_of_processes=True, has_snapshots=True, runs_shell_commands=True
    )
    _uncompacted = "HBase compacts tables by itself"

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
        kerberos: Kerberos | None = None,
    ) -> None:
        if bool(zookeeper) == bool(masters):
            raise InvalidArgument("one of zookeeper and masters must be given")
        if timeout <= 0:
            raise InvalidArgument(f"timeout={timeout} must be over 0 seconds")
        scheme = "hbase+native" if tls is None else "hbases+native"
        super().__init__(f"{scheme}://{zookeeper or ','.join(map(str, masters))}", timeout, threads)
        self._servers = Servers(self.name, rename or {}, tls, user, kerberos)
        registry = ZooKeeperRegistry(zookeeper, parent) if zookeeper else MasterRegistry(masters, self._servers)
        self._cluster = Cluster(self.name, registry, self._servers)
        self._client = self._many = NativeClient(self._cluster)
        self._tables: NativeTables = NativeTables(self._cluster)
        self._searched: set[tuple[str, bytes]] = set()  # tables, and families that they have
        self._check()
        self._opened(self._tables)

    @classmethod
    def table_of(cls, url: StoreURL) -> str:
        """The table of `hbase+native://host:port/[namespace:]table`: by default `pages`."""
        return address_of(url).table

    @classmethod
    def from_url(cls, url: StoreURL, *, create: bool = False) -> Self:
        """The store of the cluster that *url* names; *create* has no effect."""
        del create
        return cls(**address_of(url).settings())

    @classmethod
    def connection_checks(cls, url: StoreURL) -> Iterator[Check]:
        """Yield the checks whether the cluster is found, and its active master answers."""
        settings, began = address_of(url).settings(), clock.monotonic()
        try:
            with cls(**settings) as store:
                took = (clock.monotonic() - began) * 1000
                yield well("cluster", f"the registry and a server of the cluster answer, in {took:.0f} ms")
                yield store._master_check()
        except (NotAStore, StoreError) as exc:
            yield failed("cluster", str(exc), "give the hosts of ZooKeeper or of the masters, as in hbase-site.xml")

    def _master_check(self) -> Check:
        began = clock.monotonic()
        try:
            self._cluster.check_master(self._deadline().within(_PATIENCE))
        except CALL_ERRORS as exc:
            return warned("master", f"no master answers: {exc}", _NO_MASTER)
        return well("master", f"answers, in {(clock.monotonic() - began) * 1000:.0f} ms")

    def _check_searched(self, table: str, wanted: Selection, deadline: Deadline) -> None:
        # Region servers say so themselves, but not of a filter; the master would have to be there.
        if wanted.search is not None and wanted.columns is None and (table, wanted.search.family) not in self._searched:
            self._client.get(table, [b"\0"], selection(Wanted([wanted.search.family + b":"])), deadline)
            self._searched.add((table, wanted.search.family))

    def health(self, table: str) -> Iterator[Check]:
        """Yield the check of each region server of *table*, and of HBase's clock."""
        servers = Counter(region.server for region in self.regions(table))
        for server, regions in sorted(servers.items()):
            name = f"region server {server}"
            if not server:
                yield warned("regions", f"{plural(regions, 'region')} on no server", "see the log of the master")
                continue
            began = clock.monotonic()
            try:
                host, _, port = server.rpartition(":")
                self._servers.touch(HostPort(host, int(port)), CLIENT, self._deadline())
            except CALL_ERRORS as exc:
                yield failed(name, f"{plural(regions, 'region')}; {exc}", _REACH)
            else:
                took = (clock.monotonic() - began) * 1000
                yield well(name, f"{plural(regions, 'region')}, connected in {took:.0f} ms")
        yield base.clock_check(self, table)

    def _check(self) -> None:
        """Raise unless the active master answers, or the region server of hbase:meta, where there is no master."""
        deadline = of_call(self.timeout)
        try:
            try:
                self._cluster.check_master(deadline.within(deadline.left() / 2))
            except CALL_ERRORS as exc:
                if isinstance(exc, WrongReply) or (isinstance(exc, ServerError) and not exc.moved):
                    raise
                try:
                    self._cluster.check(deadline)
                except CALL_ERRORS:
                    raise exc from None
        except WrongReply as exc:
            self._servers.close()
            raise NotAStore(f"{self.name}: what answers is not HBase's own protocol: {exc}") from exc
        except CALL_ERRORS as exc:
            self._servers.close()
            error = translated(exc, self.name, None, "finding the master")
            is_clear = isinstance(error, StoreUnavailable) or (isinstance(exc, ServerError) and exc.denied)
            raise (error if is_clear else NotAStore(str(error))) from exc

    def _pieces(self, table: str, ranges: Sequence[KeyRange], wanted: Selection, limit: int | None) -> NativePieces:
        return NativePieces(self._cluster, table, ranges, wanted, limit)

    def _groups(self, bounds: Sequence[bytes]) -> int:
        return len(bounds) + 1  # each region by itself

    def backup(self, path: Path, on_progress: Callable[[int], object] | None = None) -> int:  # noqa: ARG002
        """Raise `CapabilityError`: snapshots stay in HBase."""
        raise CapabilityError(
            f"{self.name}: HBase keeps its snapshots itself; ",
            Command("backup snapshot --apply"),
            " takes them, and ",
            Command("export", python="webtable.formats.write_export(…)"),
            " writes files",
        )

    def run(self, command: ShellCommand) -> None:
        """Take a snapshot, restore one, or disable or enable a table."""
        self._tables.run(command, self._deadline(base.DDL_FACTOR))
        self._table_cache.clear()

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
        """How often each event has occurred."""
        return super().events() + self._cluster.log.events.snapshot() + self._servers.log.events.snapshot()

    def servers(self) -> list[ServerMetrics]:
        """The state of the connections to each server."""
        return self._servers.state()


# --- Its URLs ---------------------------------------------------------------------------------------------------------


_EVERY: Final = frozenset({"parent", "registry", "rename", "timeout", "pool", "user", "auth", "principal"})
OPTIONS: Final = {"hbase+native": _EVERY, "hbases+native": _EVERY | {"ca", "cert", "key"}}
"""By scheme: `parent=/hbase` in ZooKeeper, `registry=zookeeper|master`, `rename=FROM=TO,…` of servers,
`timeout=SECONDS`, `pool=THREADS`, `user=NAME`, `auth=kerberos`, `principal=SERVICE/_HOST[@REALM]` of the servers, and
for TLS `ca=FILE`, `cert=FILE`, `key=FILE`."""
_ZOOKEEPER_PORT: Final = 2181
_MASTER_PORT: Final = 16000


class NativeAddress(NamedTuple):
    """The hosts of the registry, and the table, by default `pages`."""

    hosts: tuple[HostPort, ...]
    by_masters: bool
    table: str
    options: URLOptions
    scheme: str = "hbase+native"

    def settings(self) -> dict[str, Any]:
        """The arguments of `NativeStore`; raises `InvalidArgument` for a wrong option."""
        options = self.options
        return {
            "masters": self.hosts if self.by_masters else (),
            "zookeeper": "" if self.by_masters else ",".join(map(str, self.hosts)),
            "parent": options.get("parent", "/hbase"),
            "rename": _renamed(options.get("rename", "")),
            "timeout": options.number("timeout", 30.0),
            "threads": int(options.number("pool", 8)),
            "user": options.get("user"),
            "tls": self._tls(),
            "kerberos": self._kerberos(),
        }

    def _tls(self) -> ssl.SSLContext | None:
        if self.scheme != "hbases+native":
            return None
        return client_context(self.options.get("ca"), self.options.get("cert"), self.options.get("key"))

    def _kerberos(self) -> Kerberos | None:
        auth, principal = self.options.get("auth"), self.options.get("principal", PRINCIPAL)
        if auth not in (None, "kerberos"):
            raise InvalidArgument(f"store: auth must be kerberos, or left out, with {self.scheme}://")
        if auth is None and "principal" in self.options:
            raise InvalidArgument(f"store: principal={principal!r} needs auth=kerberos")
        return None if auth is None else Kerberos(principal)


def address_of(url: StoreURL) -> NativeAddress:
    """The address in *url*; raises `InvalidArgument` that says what is wrong with it."""
    authority, path, query = parts_of(url)
    if "@" in authority:
        raise InvalidArgument(f"store={url.text!r}: there is no logging in by {url.scheme}://")
    options = url.options(query, OPTIONS[url.scheme])
    registry = options.get("registry")
    if registry not in (None, "zookeeper", "master"):
        raise InvalidArgument(f"store: registry={registry!r} must be 'zookeeper' or 'master'")
    named = hosts_of(url, authority, "zk1:2181")
    ports = [port for _, port in named if port]
    by_masters = registry == "master" or (registry is None and _MASTER_PORT in ports)
    # As HBase writes it, a port after the last host is that of all of them.
    usual = ports[-1] if ports else _MASTER_PORT if by_masters else _ZOOKEEPER_PORT
    hosts = tuple(dict.fromkeys(HostPort(host, port or usual) for host, port in named))
    return NativeAddress(hosts, by_masters, url.table(path), options, url.scheme)


def _renamed(text: str) -> dict[str, str]:
    """The map in `FROM=TO,FROM=TO`, of hosts, or hosts and ports."""
    renamed = {}
    for pair in filter(None, text.split(",")):
        name, equals, place = pair.partition("=")
        port = place.rpartition(":")[2] if ":" in place else "0"
        if not (name and equals and place and port.isdigit()):
            raise InvalidArgument(f"store: rename={text!r} must be FROM=TO, of hosts or host:port, and commas between")
        renamed[name] = place
    return renamed
