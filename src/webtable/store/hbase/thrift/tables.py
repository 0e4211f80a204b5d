"""Table management by HappyBase's Thrift1 client; tables with split keys are made by Thrift2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webtable.errors import CapabilityError
from webtable.schema import FAMILY_OPTIONS, FamilySchema, TableSchema, alter_statement, create_statement
from webtable.store.hbase.shared.tables import FOREVER, Tables, known_family, ttl_of
from webtable.store.hbase.thrift.connection import thrift1, thrift2
from webtable.store.hbase.thrift.gateway import table_name
from webtable.store.rows import Region, TableDescription

if TYPE_CHECKING:
    from webtable.store.deadline import Deadline
    from webtable.store.hbase.thrift.gateway import Gateway

_UNREAD: Final = frozenset({"min_versions", "block_encoding", "block_size", "replication_scope"})
"""The options that Thrift1's ColumnDescriptor does not have."""


class GatewayTables(Tables):
    """Tables by a Thrift1 *gateway*, without changes of a family.

    A new table with split keys, or with options that Thrift1 does not have, is made by Thrift2 at *beside*, if that is
    given and its transport is not *framed*.
    """

    def __init__(self, gateway: Gateway, beside: Gateway | None = None, *, framed: bool = False) -> None:
        super().__init__(gateway.name)
        self._gateway = gateway
        self._beside = beside
        self._framed = framed

    def names(self, deadline: Deadline) -> list[str]:
        """Return the names of all tables, sorted."""
        names: list[str] = self._gateway.call(
            "getTableNames", deadline=deadline, read=lambda answer: sorted(name.decode() for name in answer)
        )
        return names

    def describe(self, table: str, deadline: Deadline) -> TableDescription:
        """Return the table as far as Thrift1 describes it."""
        families = self._gateway.call(
            "getColumnDescriptors",
            table.encode(),
            deadline=deadline,
            table=table,
            read=lambda answer: tuple(_family(answer[name]) for name in sorted(answer)),
        )
        return TableDescription(TableSchema(table, families, self._splits(table, deadline)), _UNREAD)

    def families(self, table: str, deadline: Deadline) -> frozenset[bytes]:
        """Return the names of the table's families."""
        names: frozenset[bytes] = self._gateway.call(
            "getColumnDescriptors",
            table.encode(),
            deadline=deadline,
            table=table,
            read=lambda answer: frozenset(name.rstrip(b":") for name in answer),
        )
        return names

    def regions(self, table: str, deadline: Deadline) -> list[Region]:
        """Return the table's regions in key order."""
        regions = self._gateway.call(
            "getTableRegions",
            table.encode(),
            deadline=deadline,
            table=table,
            read=lambda answer: [(r.startKey + b"", r.endKey + b"", _server(r.serverName, r.port)) for r in answer],
        )
        return self._regions(table, regions)

    def set_family(self, table: str, family: FamilySchema, deadline: Deadline) -> None:  # noqa: ARG002
        """Raise `CapabilityError`: Thrift1 has no call for it."""
        raise CapabilityError(
            f"{self._name}: table {table!r}: a gateway can neither add nor change a family; HBase's own protocol can "
            f"(hbase+native://), and the HBase shell: {alter_statement(table, family)}"
        )

    def _create(self, schema: TableSchema, deadline: Deadline) -> None:
        beyond = _beyond_thrift1(schema)
        if beyond:
            self._create_beside(schema, ", ".join(beyond), deadline)
            return
        families = [_descriptor(family) for family in schema.families]
        self._gateway.call_once("createTable", schema.name.encode(), families, deadline=deadline, table=schema.name)

    def _create_beside(self, schema: TableSchema, beyond: str, deadline: Deadline) -> None:
        """Create the table by Thrift2. In HBase 1.x its createTable is an empty method that succeeds."""
        if self._beside is None or self._framed:
            # A framed one uses the whole frame as each split key (ByteBuffer.array() in HBase 2.6.1).
            why = "a Thrift1 gateway cannot set" if self._beside is None else "a framed Thrift2 gateway corrupts"
            raise CapabilityError(
                f"{self._name}: table {schema.name!r}: {why} {beyond}; a buffered Thrift2 gateway can (?thrift2=9091), "
                f"HBase's own protocol (hbase+native://), and the HBase shell: {create_statement(schema)}"
            )
        table = thrift2.TTableDescriptor(
            tableName=table_name(schema.name), columns=[_descriptor2(family) for family in schema.families]
        )
        self._beside.call_once(
            "createTable", table, list(schema.split_keys) or None, deadline=deadline, table=schema.name
        )

    def _disable(self, table: str, deadline: Deadline) -> None:
        if self._gateway.call("isTableEnabled", table.encode(), deadline=deadline, table=table):
            self._gateway.call_once("disableTable", table.encode(), deadline=deadline, table=table)

    def _delete(self, table: str, deadline: Deadline) -> None:
        self._gateway.call_once("deleteTable", table.encode(), deadline=deadline, table=table)


def _server(host: bytes | None, port: int) -> str:
    """Return the region server; empty if the region has none at the moment."""
    return f"{host.decode()}:{port}" if host else ""


def _beyond_thrift1(schema: TableSchema) -> list[str]:
    """Return the parts of *schema* that Thrift1 cannot express: split keys, and options that are not the default."""
    beyond = ["split keys"] if schema.split_keys else []
    for family in schema.families:
        default = FamilySchema(family.name)
        beyond += [
            f"{option} of family {family.name!r}"
            for option in FAMILY_OPTIONS
            if option in _UNREAD and getattr(family, option) != getattr(default, option)
        ]
    return beyond


def _descriptor(family: FamilySchema) -> Any:
    """Return Thrift1's descriptor, without the options that it does not have."""
    return thrift1.ColumnDescriptor(
        name=family.name.encode() + b":",
        maxVersions=family.versions,
        compression=family.compression,
        inMemory=family.in_memory,
        bloomFilterType=family.bloom,
        blockCacheEnabled=family.block_cache,
        timeToLive=FOREVER if family.ttl is None else family.ttl,
    )


def _descriptor2(family: FamilySchema) -> Any:
    """Return Thrift2's descriptor, with every option of *family*."""
    return thrift2.TColumnFamilyDescriptor(
        name=family.name.encode(),
        blockSize=family.block_size,
        bloomnFilterType=getattr(thrift2.TBloomFilterType, family.bloom),
        compressionType=getattr(thrift2.TCompressionAlgorithm, family.compression),
        dataBlockEncoding=getattr(thrift2.TDataBlockEncoding, family.block_encoding),
        maxVersions=family.versions,
        minVersions=family.min_versions,
        scope=family.replication_scope,
        timeToLive=FOREVER if family.ttl is None else family.ttl,
        blockCacheEnabled=family.block_cache,
        inMemory=family.in_memory,
    )


def _family(descriptor: Any) -> FamilySchema:
    """Return the family; the options in `_UNREAD` are HBase's defaults."""
    return known_family(
        name=descriptor.name.rstrip(b":").decode(),
        versions=descriptor.maxVersions,
        ttl=ttl_of(descriptor.timeToLive),
        compression=descriptor.compression.decode().upper(),
        bloom=descriptor.bloomFilterType.decode().upper(),
        in_memory=bool(descriptor.inMemory),
        block_cache=bool(descriptor.blockCacheEnabled),
    )
