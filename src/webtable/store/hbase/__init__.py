"""HBase through its Thrift gateways."""

from webtable.store.hbase.store import HBaseStore
from webtable.store.hbase.tls import client_context
from webtable.store.hbase.way import Headers, Way

__all__ = ["HBaseStore", "Headers", "Way", "client_context"]
