"""The store port and its adapters: sqlite (embedded, the default) and hbase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.store.adapters import adapter_for
from webtable.store.capabilities import Capabilities
from webtable.store.deadline import CallCancelled, Deadline, attempts, cancelled_by
from webtable.store.health import Check, Space
from webtable.store.observed import Call, WrappedStore
from webtable.store.port import Store
from webtable.store.rows import (
    EVERYTHING,
    MAX_CELL,
    MAX_ROW_KEY,
    Cell,
    Containing,
    Delete,
    Mutation,
    NewCell,
    Put,
    Region,
    Row,
    TableDescription,
    TimeRange,
    Wanted,
)
from webtable.store.url import StoreURL, without_secrets

if TYPE_CHECKING:
    import os

__all__ = [
    "EVERYTHING",
    "MAX_CELL",
    "MAX_ROW_KEY",
    "Call",
    "CallCancelled",
    "Capabilities",
    "Cell",
    "Check",
    "Containing",
    "Deadline",
    "Delete",
    "Mutation",
    "NewCell",
    "Put",
    "Region",
    "Row",
    "Space",
    "Store",
    "StoreURL",
    "TableDescription",
    "TimeRange",
    "Wanted",
    "WrappedStore",
    "adapter_of",
    "attempts",
    "cancelled_by",
    "open_store",
    "table_of",
    "without_secrets",
]


def adapter_of(url: str | os.PathLike[str]) -> type[Store]:
    """Return the class of the store that *url* names, without opening it; raises `InvalidArgument` for a wrong URL."""
    return _target(url)[1]


def table_of(url: str | os.PathLike[str]) -> str:
    """Return the name of the table that *url* names; raises `InvalidArgument` for a wrong URL."""
    return _target(url)[2]


def open_store(url: str | os.PathLike[str], *, create: bool = False) -> tuple[Store, str]:
    """Return the store that *url* names, opened, and the name of the table in *url*.

    With *create* a missing SQLite file is made. Raises `InvalidArgument` for a wrong URL, `TableNotFound` for a missing
    file, `NotAStore` and `StoreUnavailable` if no such store answers, and `StoreRefused` if the adapter of another
    package cannot be used.
    """
    target, adapter, table = _target(url)
    store = adapter.from_url(target, create=create)
    store.address = adapter.address_of(target)
    return store, table


def _target(url: str | os.PathLike[str]) -> tuple[StoreURL, type[Store], str]:
    """Return the parsed *url*, its adapter, and the table that it names."""
    target = StoreURL.parse(url)
    adapter = adapter_for(target.scheme, target.text)
    return target, adapter, adapter.table_of(target)
