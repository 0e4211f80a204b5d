"""Table management on either gateway.

In HBase 1.x the Thrift2 service has methods such as `createTable` that succeed and do nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webtable.errors import CapabilityError, StoreRefused
from webtable.schema import FamilySchema, TableSchema, alter_statement, create_statement
from webtable.store.hbase.failures import WrongReply
from webtable.store.hbase.tables import Tables
from webtable.store.hbase.thrift import descriptors
from webtable.store.hbase.thrift.connection import thrift2
from webtable.store.rows import Region, TableDescription

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.gateways.gateway import Gateway


class Tables1(Tables):
    """Tables through HappyBase's Thrift1 client, without split keys, changes of a family, and some options."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(gateway.name)
        self._gateway = gateway

    def names(self, deadline: Deadline) -> list[str]:
        """Return the names of all tables, sorted."""
        found: list[str] = self._gateway.call(
            "getTableNames", deadline=deadline, read=lambda names: sorted(name.decode() for name in names)
        )
        return found

    def describe(self, table: str, deadline: Deadline) -> TableDescription:
        """Return the table as far as Thrift1 describes it."""
        families = self._gateway.call(
            "getColumnDescriptors",
            table.encode(),
            deadline=deadline,
            table=table,
            read=lambda found: tuple(descriptors.from_thrift1(found[name]) for name in sorted(found)),
        )
        return TableDescription(
            TableSchema(table, families, self._splits(table, deadline)), descriptors.UNREAD_BY_THRIFT1
        )

    def families(self, table: str, deadline: Deadline) -> frozenset[bytes]:
        """Return the names of the table's families."""
        found: frozenset[bytes] = self._gateway.call(
            "getColumnDescriptors",
            table.encode(),
            deadline=deadline,
            table=table,
            read=lambda found: frozenset(name.rstrip(b":") for name in found),
        )
        return found

    def regions(self, table: str, deadline: Deadline) -> list[Region]:
        """Return the table's regions in key order."""
        found = self._gateway.call(
            "getTableRegions",
            table.encode(),
            deadline=deadline,
            table=table,
            read=lambda found: [(r.startKey + b"", r.endKey + b"", _server(r.serverName, r.port)) for r in found],
        )
        return self._regions(table, found)

    def _set_family(self, table: str, family: FamilySchema, deadline: Deadline) -> str:  # noqa: ARG002
        """Raise `CapabilityError`: Thrift1 has no call for it."""
        raise CapabilityError(
            f"{self._name}: table {table!r}: a Thrift1 gateway can neither add nor change a family; "
            f"give a Thrift2 gateway (?thrift2=9091), or run in the HBase shell: "
            f"{alter_statement(table, family)}"
        )

    def _create(self, schema: TableSchema, deadline: Deadline) -> None:
        beyond = descriptors.beyond_thrift1(schema)
        if beyond:
            raise CapabilityError(
                f"{self._name}: table {schema.name!r}: a Thrift1 gateway cannot set {', '.join(beyond)}; give a "
                f"Thrift2 gateway (?thrift2=9091), or run in the HBase shell: {create_statement(schema)}"
            )
        families = [descriptors.to_thrift1(family) for family in schema.families]
        self._gateway.call_once("createTable", schema.name.encode(), families, deadline=deadline, table=schema.name)

    def _disable(self, table: str, deadline: Deadline) -> None:
        if self._gateway.call("isTableEnabled", table.encode(), deadline=deadline, table=table):
            self._gateway.call_once("disableTable", table.encode(), deadline=deadline, table=table)

    def _delete(self, table: str, deadline: Deadline) -> None:
        self._gateway.call_once("deleteTable", table.encode(), deadline=deadline, table=table)


class Tables2(Tables):
    """Tables through Thrift2, with everything that a schema has (without split keys if the transport is *framed*)."""

    def __init__(self, gateway: Gateway, *, framed: bool) -> None:
        super().__init__(gateway.name)
        self._gateway = gateway
        self._framed = framed

    def names(self, deadline: Deadline) -> list[str]:
        """Return the names of all tables, sorted."""
        found: list[str] = self._gateway.call(
            "getTableNamesByPattern",
            None,
            False,
            deadline=deadline,
            read=lambda found: sorted(
                (name.qualifier if name.ns in (None, b"default") else name.ns + b":" + name.qualifier).decode()
                for name in found
            ),
        )
        return found

    def describe(self, table: str, deadline: Deadline) -> TableDescription:
        """Return the table."""
        families = self._columns(table, deadline, lambda columns: tuple(map(descriptors.from_thrift2, columns)))
        return TableDescription(TableSchema(table, families, self._splits(table, deadline)))

    def families(self, table: str, deadline: Deadline) -> frozenset[bytes]:
        """Return the names of the table's families."""
        found: frozenset[bytes] = self._columns(table, deadline, lambda columns: frozenset(one.name for one in columns))
        return found

    def regions(self, table: str, deadline: Deadline) -> list[Region]:
        """Return the table's regions in key order."""

        def read(found: list[Any]) -> list[tuple[bytes, bytes, str]]:
            return [
                (
                    location.regionInfo.startKey or b"",
                    location.regionInfo.endKey or b"",
                    _server(location.serverName.hostName, location.serverName.port),
                )
                for location in found
                if not location.regionInfo.replicaId
            ]

        found = self._gateway.call("getAllRegionLocations", table.encode(), deadline=deadline, table=table, read=read)
        return self._regions(table, found)

    def _set_family(self, table: str, family: FamilySchema, deadline: Deadline) -> str:
        found = self._columns(table, deadline, lambda columns: {one.name: one for one in columns}).get(
            family.name.encode()
        )
        method = "modifyColumnFamily" if found else "addColumnFamily"
        self._gateway.call_once(
            method, descriptors.table_name(table), descriptors.to_thrift2(family, found), deadline=deadline, table=table
        )
        return method

    def _columns(self, table: str, deadline: Deadline, read: Callable[[list[Any]], Any]) -> Any:
        """Return the descriptors of the families, sorted by name and converted by *read*."""

        def columns(found: Any) -> Any:
            if not found.columns:
                raise WrongReply("the description of a table came without a family")
            return read(sorted(found.columns, key=lambda family: bytes(family.name)))

        return self._gateway.call(
            "getTableDescriptor", descriptors.table_name(table), deadline=deadline, table=table, read=columns
        )

    def _create(self, schema: TableSchema, deadline: Deadline) -> None:
        if self._framed and schema.split_keys:
            # It uses the whole frame as each split key (ByteBuffer.array() in HBase 2.6.1).
            raise CapabilityError(
                f"{self._name}: table {schema.name!r}: a framed Thrift2 gateway corrupts split keys; give a buffered "
                f"one, or run in the HBase shell: {create_statement(schema)}"
            )
        namespace, colon, _ = schema.name.partition(":")
        if colon:
            self._require_namespace(namespace, schema.name, deadline)
        table = thrift2.TTableDescriptor(
            tableName=descriptors.table_name(schema.name),
            columns=[descriptors.to_thrift2(family) for family in schema.families],
        )
        self._gateway.call_once(
            "createTable", table, list(schema.split_keys) or None, deadline=deadline, table=schema.name
        )

    def _require_namespace(self, namespace: str, table: str, deadline: Deadline) -> None:
        def there() -> bool:
            return namespace.encode() in self._gateway.call("listNamespaces", deadline=deadline, table=table)

        if there():
            return
        self._gateway.call_once(
            "createNamespace", thrift2.TNamespaceDescriptor(name=namespace), deadline=deadline, table=table
        )
        if not there():
            raise StoreRefused(
                f"{self._name}: table {table!r}: createNamespace did not create {namespace!r}. "
                f"In the HBase shell: create_namespace '{namespace}'"
            )

    def _disable(self, table: str, deadline: Deadline) -> None:
        name = descriptors.table_name(table)
        if self._gateway.call("isTableEnabled", name, deadline=deadline, table=table):
            self._gateway.call_once("disableTable", name, deadline=deadline, table=table)

    def _delete(self, table: str, deadline: Deadline) -> None:
        self._gateway.call_once("deleteTable", descriptors.table_name(table), deadline=deadline, table=table)


def _server(host: bytes | None, port: int) -> str:
    """Return the region server; empty if the region has none at the moment."""
    return f"{host.decode()}:{port}" if host else ""
