"""The adapters for HBase: through its Thrift gateways, and by its own protocol."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.store.hbase.native.store import NativeStore
    from webtable.store.hbase.store import HBaseStore
    from webtable.store.hbase.thrift.transport import ConnectionMode, Headers, client_context

__all__ = ["ConnectionMode", "HBaseStore", "Headers", "NativeStore", "client_context"]

if not TYPE_CHECKING:  # each way loads a driver that the other one does not need
    __getattr__, __dir__ = late(
        __name__,
        {
            "webtable.store.hbase.native.store": ["NativeStore"],
            "webtable.store.hbase.store": ["HBaseStore"],
            "webtable.store.hbase.thrift.transport": ["ConnectionMode", "Headers", "client_context"],
        },
    )
