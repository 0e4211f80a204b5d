"""HBase through its Thrift gateways."""

from webtable.store.hbase.store import HBaseStore

__all__ = ["HBaseStore"]
