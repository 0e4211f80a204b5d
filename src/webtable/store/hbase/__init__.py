"""The adapters for HBase: through its Thrift gateways, and by its own protocol."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.store.hbase.native.store import NativeStore
    from webtable.store.hbase.shared.sockets import client_context
    from webtable.store.hbase.thrift.http import Headers, HTTPMode
    from webtable.store.hbase.thrift.store import HBaseStore

__all__ = ["HBaseStore", "HTTPMode", "Headers", "NativeStore", "client_context"]

if not TYPE_CHECKING:  # each way loads a driver that the other one does not need
    __getattr__, __dir__ = late(
        __name__,
        {
            "webtable.store.hbase.native.store": ["NativeStore"],
            "webtable.store.hbase.shared.sockets": ["client_context"],
            "webtable.store.hbase.thrift.http": ["HTTPMode", "Headers"],
            "webtable.store.hbase.thrift.store": ["HBaseStore"],
        },
    )
