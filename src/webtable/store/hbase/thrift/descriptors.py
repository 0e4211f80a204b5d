"""Conversion of family descriptors of both gateways to and from `FamilySchema`, with all options."""

from __future__ import annotations

from typing import Any, Final

from webtable.schema import FAMILY_OPTIONS, FamilySchema, TableSchema
from webtable.store.hbase.tables import FOREVER, known_family, ttl_of
from webtable.store.hbase.thrift.connection import thrift1, thrift2

UNREAD_BY_THRIFT1: Final = frozenset({"min_versions", "block_encoding", "block_size", "replication_scope"})
"""The options that Thrift1's ColumnDescriptor does not have."""


def to_thrift1(family: FamilySchema) -> Any:
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


def from_thrift1(found: Any) -> FamilySchema:
    """Return the family; the options in `UNREAD_BY_THRIFT1` are HBase's defaults."""
    return known_family(
        name=found.name.rstrip(b":").decode(),
        versions=found.maxVersions,
        ttl=ttl_of(found.timeToLive),
        compression=found.compression.decode().upper(),
        bloom=found.bloomFilterType.decode().upper(),
        in_memory=bool(found.inMemory),
        block_cache=bool(found.blockCacheEnabled),
    )


def beyond_thrift1(schema: TableSchema) -> list[str]:
    """Return the parts of *schema* that Thrift1 cannot express: split keys, and options that are not the default."""
    beyond = ["split keys"] if schema.split_keys else []
    for family in schema.families:
        default = FamilySchema(family.name)
        beyond += [
            f"{option} of family {family.name!r}"
            for option in FAMILY_OPTIONS
            if option in UNREAD_BY_THRIFT1 and getattr(family, option) != getattr(default, option)
        ]
    return beyond


def to_thrift2(family: FamilySchema, found: Any = None) -> Any:
    """Return Thrift2's descriptor: *found*, or a new one, with every option of *family*.

    Other attributes of *found* are kept, because a change of a family replaces all of them.
    """
    descriptor = found or thrift2.TColumnFamilyDescriptor(name=family.name.encode())
    descriptor.blockSize = family.block_size
    descriptor.bloomnFilterType = getattr(thrift2.TBloomFilterType, family.bloom)
    descriptor.compressionType = getattr(thrift2.TCompressionAlgorithm, family.compression)
    descriptor.dataBlockEncoding = getattr(thrift2.TDataBlockEncoding, family.block_encoding)
    descriptor.maxVersions = family.versions
    descriptor.minVersions = family.min_versions
    descriptor.scope = family.replication_scope
    descriptor.timeToLive = FOREVER if family.ttl is None else family.ttl
    descriptor.blockCacheEnabled = family.block_cache
    descriptor.inMemory = family.in_memory
    return descriptor


def from_thrift2(found: Any) -> FamilySchema:
    """Return the family; raises `StoreRefused` if `FamilySchema` cannot represent an option."""
    return known_family(
        name=found.name.decode(),
        versions=found.maxVersions,
        min_versions=found.minVersions,
        ttl=ttl_of(found.timeToLive),
        compression=_name_of(thrift2.TCompressionAlgorithm, found.compressionType),
        bloom=_name_of(thrift2.TBloomFilterType, found.bloomnFilterType),
        block_encoding=_name_of(thrift2.TDataBlockEncoding, found.dataBlockEncoding),
        block_size=found.blockSize,
        in_memory=found.inMemory,
        block_cache=found.blockCacheEnabled,
        replication_scope=found.scope,
    )


def _name_of(kind: Any, number: int) -> str:
    """Return the name of an enumeration's value; its number if a later HBase has added it."""
    return str(kind._VALUES_TO_NAMES.get(number, number))


def table_name(name: str) -> Any:
    """Return Thrift2's table name of `table` or `namespace:table`."""
    namespace, colon, qualifier = name.partition(":")
    if not colon:
        return thrift2.TTableName(qualifier=name.encode())
    return thrift2.TTableName(ns=namespace.encode(), qualifier=qualifier.encode())
