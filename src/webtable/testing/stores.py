"""Wrappers of a store that count calls, report them or fail, and counting of what HBase is called for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar, cast

from webtable.repository.table.web_table import WebTable
from webtable.store.metrics import Counts
from webtable.store.observed import Call, ObservedStore, WrappedStore

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from webtable.store import Store


T = TypeVar("T")


class CountingStore(WrappedStore):
    """A wrapper of *store* that counts the calls of the port by name, in `calls`.

    A scan counts once, however many rows it returns. `HBaseStore.on_call` reports the gateway calls of each call.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._count = Counts()

    @property
    def calls(self) -> Counter[str]:
        """How often each call was made so far."""
        return self._count.counts

    def around(self, call: Call, do: Callable[[], T]) -> T:
        """Count the call and do it."""
        self._count(call.name)
        return do()


class ListeningStore(WrappedStore):
    """A wrapper of *store* that passes each call to *listener* before it is made.

        calls: list[Call] = []
        table = WebTable(ListeningStore(table.store, calls.append), table.table, table.layout)

    The listener is called in the thread that makes the call, so by several threads at once. If it raises, the caller
    gets the error, and the call is not made.
    """

    def __init__(self, store: Store, listener: Callable[[Call], object]) -> None:
        super().__init__(store)
        self._listener = listener

    def around(self, call: Call, do: Callable[[], T]) -> T:
        """Report the call and make it."""
        self._listener(call)
        return do()


class FailingStore(WrappedStore):
    """A wrapper of *store* that raises *error* for the calls for which *at* is true, by default for all.

        gone = StoreUnavailable("the gateway is restarted")
        store = FailingStore(table.store, gone, at=lambda call: call.name == "write")

    The store is not called then; with *after* it is, and the error replaces its answer, as when a connection is lost
    on the way back. A scan then fails after its last row. *at* may be called by several threads at once.
    """

    def __init__(
        self,
        store: Store,
        error: BaseException | type[BaseException],
        at: Callable[[Call], bool] = lambda _: True,
        *,
        after: bool = False,
    ) -> None:
        super().__init__(store)
        self._error = error
        self._at = at
        self._after = after

    def around(self, call: Call, do: Callable[[], T]) -> T:
        """Make the call, or raise the error, or both."""
        if not self._at(call):
            return do()
        if self._after:
            answer = do()
            if isinstance(answer, Iterator):  # a scan, of which the rows come
                return cast("T", self._broken_off(answer))
        raise self._error

    def _broken_off(self, rows: Iterator[object]) -> Iterator[object]:
        yield from rows
        raise self._error


# --- Counting ---------------------------------------------------------------------------------------------------------
#
# Of HBase the calls of the gateways are counted, as one of the port may be many; of other stores those of the port.


def counted_store(store: Store) -> tuple[Store, Counter[str]]:
    """A wrapper of *store*, and a counter of its calls by name, which is kept up to date."""
    from webtable.store.hbase import HBaseStore

    adapter = store.wrapped if isinstance(store, ObservedStore) else store
    if isinstance(adapter, HBaseStore):
        adapter.on_call = counter = Counts()
        return store, counter.counts
    counting = CountingStore(store)
    return counting, counting.calls


def counted_table(table: WebTable) -> tuple[WebTable, Counter[str]]:
    """A copy of *table*, and a counter of the calls of its store."""
    store, calls = counted_store(table.store)
    return WebTable(store, table.table, table.layout), calls
