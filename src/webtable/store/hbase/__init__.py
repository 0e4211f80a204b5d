"""HBase through its Thrift gateways."""

from webtable.store.hbase.store import HBaseStore
from webtable.store.hbase.thrift.tls import client_context
from webtable.store.hbase.thrift.transport import Headers, Way

__all__ = ["HBaseStore", "Headers", "Way", "client_context"]
