"""Counting of calls: those of the gateways on HBase, those of the port on other stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.repository.table.web_table import WebTable
from webtable.store.metrics import Tally
from webtable.store.observed import ObservedStore
from webtable.testing.stores import CountingStore

if TYPE_CHECKING:
    from collections import Counter

    from webtable.store import Store


def counted_store(store: Store) -> tuple[Store, Counter[str]]:
    """Return a wrapper of *store*, and a counter of its calls by name, which is kept up to date."""
    from webtable.store.hbase import HBaseStore

    asked = store.wrapped if isinstance(store, ObservedStore) else store
    if isinstance(asked, HBaseStore):
        asked.on_call = counter = Tally()
        return store, counter.counts
    counting = CountingStore(store)
    return counting, counting.calls


def counted_table(table: WebTable) -> tuple[WebTable, Counter[str]]:
    """Return a copy of *table*, and a counter of the calls of its store."""
    store, calls = counted_store(table.store)
    return WebTable(store, table.table, table.layout), calls
