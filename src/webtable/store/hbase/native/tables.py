"""Table management by the active master."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final, TypeVar

from webtable._clock import clock
from webtable.errors import StoreRefused, StoreUnavailable, TableNotFound
from webtable.rowkey import KeyRange
from webtable.schema import FAMILY_OPTIONS, FamilySchema, TableSchema
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.failures import ServerError, translated
from webtable.store.hbase.shared.tables import FOREVER, Tables, known_family, plain_name, ttl_of
from webtable.store.rows import Region, TableDescription

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from webtable.schema import ShellCommand
    from webtable.store.deadline import Deadline
    from webtable.store.hbase.native.cluster import Cluster

T = TypeVar("T")

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
"""The attributes of a family that its options are (ColumnFamilyDescriptorBuilder.java)."""
_OF_TABLES: Final = {"disable": "DisableTable", "enable": "EnableTable"}
_FLUSH: Final = 1  # of SnapshotDescription: what is in memory is written to files first
_FINISHED: Final = 2  # of GetProcedureResultResponse
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.5


class NativeTables(Tables):
    """Tables by the master of *cluster*, with everything that a schema has."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster.name)
        self._cluster = cluster

    def names(self, deadline: Deadline) -> list[str]:
        """Return the names of all tables, sorted."""
        found = self._ask("GetTableNames", pb.GetTableNamesRequest(), pb.GetTableNamesResponse, deadline)
        return sorted(_text(name) for name in found.table_names)

    def describe(self, table: str, deadline: Deadline) -> TableDescription:
        """Return the table."""
        families = tuple(_family(found) for found in self._families(table, deadline))
        return TableDescription(TableSchema(table, families, self._splits(table, deadline)))

    def families(self, table: str, deadline: Deadline) -> frozenset[bytes]:
        """Return the names of the table's families."""
        return frozenset(found.name for found in self._families(table, deadline))

    def regions(self, table: str, deadline: Deadline) -> list[Region]:
        """Return the table's regions in key order."""
        found = self._cluster.retried(
            lambda soon: self._cluster.regions(table, soon, fresh=True), table, "the regions", deadline
        )
        return [
            Region(KeyRange(one.start, one.stop), "" if one.server is None else str(one.server))
            for one in found.regions
        ]

    def run(self, command: ShellCommand, deadline: Deadline) -> None:
        """Do what *command* of the HBase shell does, and return when it is done."""
        verb, names = command
        if verb in _OF_TABLES:
            request = pb.TableRequest(table_name=table_name(names[0]), **_nonce())
            self._do(_OF_TABLES[verb], request, names[0], deadline)
            self._cluster.forget(names[0])
        elif verb == "snapshot":
            self._take_snapshot(names[0], names[1], deadline)
        else:  # restored in place, or as another table
            found = self._ask("GetCompletedSnapshots", pb.EmptyMsg(), pb.GetCompletedSnapshotsResponse, deadline)
            snapshot = next((one for one in found.snapshots if one.name == names[0]), None)
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
        asked = pb.IsSnapshotDoneRequest(snapshot=described)  # before 2.6
        while not self._ask("IsSnapshotDone", asked, pb.IsSnapshotDoneResponse, deadline, table).done:
            clock.sleep(min(_LONGEST_PAUSE, deadline.left()))

    def set_family(self, table: str, family: FamilySchema, deadline: Deadline) -> None:
        """Add the family, or change its options."""
        found = {one.name: one for one in self._families(table, deadline)}.get(family.name.encode())
        method = "ModifyColumn" if found else "AddColumn"
        request = pb.ColumnRequest(table_name=table_name(table), column_families=_descriptor(family, found), **_nonce())
        self._do(method, request, table, deadline)

    def _create(self, schema: TableSchema, deadline: Deadline) -> None:
        namespace, colon, _ = schema.name.partition(":")
        if colon:
            self._require_namespace(namespace, schema.name, deadline)
        descriptor = pb.TableSchema(
            table_name=table_name(schema.name), column_families=[_descriptor(one) for one in schema.families]
        )
        request = pb.CreateTableRequest(table_schema=descriptor, split_keys=schema.split_keys, **_nonce())
        self._do("CreateTable", request, schema.name, deadline)

    def _require_namespace(self, namespace: str, table: str, deadline: Deadline) -> None:
        found = self._ask("ListNamespaces", pb.EmptyMsg(), pb.ListNamespacesResponse, deadline, table)
        if namespace not in found.namespaceName:
            descriptor = pb.NamespaceDescriptor(name=namespace.encode())
            request = pb.NamespaceRequest(namespaceDescriptor=descriptor, **_nonce())
            self._do("CreateNamespace", request, table, deadline)

    def _disable(self, table: str, deadline: Deadline) -> None:
        try:
            self._do("DisableTable", pb.TableRequest(table_name=table_name(table), **_nonce()), table, deadline)
        except StoreRefused as error:
            if "TableNotEnabledException" not in str(error.__cause__):
                raise

    def _delete(self, table: str, deadline: Deadline) -> None:
        self._do("DeleteTable", pb.TableRequest(table_name=table_name(table), **_nonce()), table, deadline)
        self._cluster.forget(table)

    def _families(self, table: str, deadline: Deadline) -> list[pb.ColumnFamilySchema]:
        """Return the descriptors of the families, sorted by name; raises `TableNotFound`."""
        request = pb.GetTableDescriptorsRequest(table_names=[table_name(table)])
        found = self._ask("GetTableDescriptors", request, pb.GetTableDescriptorsResponse, deadline, table)
        if not found.table_schema:
            raise TableNotFound(f"{self._name}: table {table!r} does not exist; create it first")
        return sorted(found.table_schema[0].column_families, key=lambda one: one.name)

    def _ask(self, method: str, request: Message, response: type[T], deadline: Deadline, table: str | None = None) -> T:
        """Return the master's answer to a question, which is repeated."""
        return self._cluster.retried(
            lambda soon: self._cluster.ask_master(method, request, response, soon), table, method, deadline
        )

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
            found = self._ask("getProcedureResult", request, pb.GetProcedureResultResponse, deadline, table)
            if found.state == _FINISHED:
                if found.HasField("exception"):
                    cause = found.exception.generic_exception
                    exc = ServerError(cause.class_name, cause.message)
                    raise translated(exc, self._name, table, method) from exc
                return
            if not found.state:
                raise StoreUnavailable(f"{self._name}: {method}: the master knows nothing of procedure {procedure}")
            clock.sleep(min(pause, deadline.left()))
            pause = min(2 * pause, _LONGEST_PAUSE)


def table_name(table: str) -> pb.TableName:
    """Return the name of `table` or `namespace:table`."""
    namespace, _, qualifier = table.rpartition(":")
    return pb.TableName(namespace=(namespace or "default").encode(), qualifier=qualifier.encode())


def _text(name: pb.TableName) -> str:
    return plain_name((name.namespace + b":" + name.qualifier).decode(errors="replace"))


def _nonce() -> dict[str, Any]:
    return {"nonce_group": 1, "nonce": secrets.randbits(62) + 1}


def _descriptor(family: FamilySchema, found: pb.ColumnFamilySchema | None = None) -> pb.ColumnFamilySchema:
    """Return the descriptor of *family*, with what else is in *found*."""
    descriptor = pb.ColumnFamilySchema(name=family.name.encode())
    wanted = {_NAMES[option]: _value(option, getattr(family, option)) for option in FAMILY_OPTIONS}
    if found is not None:
        descriptor.configuration.MergeFrom(found.configuration)
        wanted = {one.first: one.second for one in found.attributes} | wanted
    for name, value in wanted.items():
        descriptor.attributes.add(first=name, second=value)
    return descriptor


def _value(option: str, value: object) -> bytes:
    if option == "ttl":
        return str(FOREVER if value is None else value).encode()
    return str(value).lower().encode() if isinstance(value, bool) else str(value).encode()


def _family(found: pb.ColumnFamilySchema) -> FamilySchema:
    """Return the family; raises `StoreRefused` if `FamilySchema` cannot represent an option."""
    there = {one.first: one.second.decode(errors="replace") for one in found.attributes}
    options: dict[str, Any] = {}
    default = FamilySchema("default")
    try:
        options["name"] = found.name.decode()
        for option, name in _NAMES.items():
            if (text := there.get(name)) is None:
                continue
            kind = type(getattr(default, option))
            if option == "ttl":
                options[option] = ttl_of(int(text) if text.isdigit() else FOREVER)
            elif kind is bool:
                options[option] = text.lower() == "true"
            else:
                options[option] = int(text) if kind is int else text.upper()
    except ValueError as exc:
        raise StoreRefused(f"the table has an option that webtable does not know: {exc}") from exc
    return known_family(**options)
