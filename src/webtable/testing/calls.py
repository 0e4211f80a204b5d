"""How many calls something takes: those of the gateways on HBase, those of the port on every other store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.repository import WebTable
from webtable.store.metrics import Tally
from webtable.store.observed import ObservedStore
from webtable.testing.stores import CountingStore

if TYPE_CHECKING:
    from collections import Counter

    from webtable.store import Store


def counted_store(store: Store) -> tuple[Store, Counter[str]]:
    """Return a store that does as *store* does, and its calls from now on, by their names; it goes on counting."""
    from webtable.store.hbase import HBaseStore

    asked = store.wrapped if isinstance(store, ObservedStore) else store
    if isinstance(asked, HBaseStore):
        asked.on_call = counter = Tally()
        return store, counter.counts
    counting = CountingStore(store)
    return counting, counting.calls


def counted_table(table: WebTable) -> tuple[WebTable, Counter[str]]:
    """Return *table* once more, and the calls of its store from now on."""
    store, calls = counted_store(table.store)
    return WebTable(store, table.table, table.layout), calls
