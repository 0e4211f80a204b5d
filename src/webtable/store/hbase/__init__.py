"""The adapter for HBase, through its Thrift gateways."""

from webtable.store.hbase.store import HBaseStore
from webtable.store.hbase.thrift.transport import ConnectionMode, Headers, client_context

__all__ = ["ConnectionMode", "HBaseStore", "Headers", "client_context"]
