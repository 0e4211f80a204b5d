"""The adapter for HBase, through its Thrift gateways."""

from webtable.store.hbase.store import HBaseStore
from webtable.store.hbase.thrift.transport import Headers, Way, client_context

__all__ = ["HBaseStore", "Headers", "Way", "client_context"]
