"""The store port and its adapters: sqlite (embedded, the default) and hbase."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from webtable.store.base import (
    MAX_CELL,
    MAX_ROW_KEY,
    Cell,
    Delete,
    Mutation,
    NewCell,
    Put,
    Region,
    Row,
    Store,
    TableDescription,
)
from webtable.store.url import StoreURL
from webtable.store.wanted import EVERYTHING, Containing, TimeRange, Wanted

if TYPE_CHECKING:
    import os

    from webtable.store.hbase.wire import Protocol, Transport

__all__ = [
    "EVERYTHING",
    "MAX_CELL",
    "MAX_ROW_KEY",
    "Cell",
    "Containing",
    "Delete",
    "Mutation",
    "NewCell",
    "Put",
    "Region",
    "Row",
    "Store",
    "StoreURL",
    "TableDescription",
    "TimeRange",
    "Wanted",
    "open_store",
]


def open_store(url: str | os.PathLike[str], *, create: bool = False) -> tuple[Store, str]:
    """Return the store that *url* leads to, and the name of the table that it names.

    With *create* a missing SQLite file is made. Raises `InvalidArgument` for a URL that is none, `TableNotFound` for
    a missing file, `NotAStore` and `StoreUnavailable` for what does not answer as a store.
    """
    target = StoreURL.parse(url)
    # The adapters are imported where they are opened, so that the embedded store loads no Thrift.
    if target.kind == "sqlite":
        from webtable.store.sqlite import SQLiteStore

        return SQLiteStore(target.path, create=create, timeout=target.number("timeout", 30.0)), target.table

    from webtable.store.hbase import HBaseStore

    # The store itself refuses what is neither.
    store = HBaseStore(
        target.host,
        target.port,
        thrift2=int(target.number("thrift2", 9091)) if "thrift2" in target.options else None,
        transport=cast("Transport", target.options.get("transport", "buffered")),
        protocol=cast("Protocol", target.options.get("protocol", "binary")),
        timeout=target.number("timeout", 30.0),
        pool_size=int(target.number("pool", 8)),
    )
    return store, target.table
