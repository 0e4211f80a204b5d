"""Stores that tell what they are asked, and stores that fail: around any other, for tests of what is built on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar, cast

from webtable.store.metrics import Tally
from webtable.store.wrapped import Call, WrappedStore

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from webtable.store import Store

T = TypeVar("T")


class CountingStore(WrappedStore):
    """A store that counts the calls of the port that go to *store*, by their names, in `calls`.

    A scan counts once, however many rows it gives. What one call becomes on HBase is told by `HBaseStore.on_call`.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._count = Tally()

    @property
    def calls(self) -> Counter[str]:
        """How often each call was made until now."""
        return self._count.counts

    def around(self, call: Call, do: Callable[[], T]) -> T:
        """Count the call and do it."""
        self._count(call.name)
        return do()


class ListeningStore(WrappedStore):
    """A store that tells *listener* of each call before it is done.

        calls: list[Call] = []
        table = WebTable(ListeningStore(table.store, calls.append), table.table, table.layout)

    The listener hears of a call in the thread that makes it, so of several at once; what it raises, the caller gets,
    and the call is not done.
    """

    def __init__(self, store: Store, listener: Callable[[Call], object]) -> None:
        super().__init__(store)
        self._listener = listener

    def around(self, call: Call, do: Callable[[], T]) -> T:
        """Tell of the call and do it."""
        self._listener(call)
        return do()


class FailingStore(WrappedStore):
    """A store that raises *error* at the calls for which *at* is true: all of them, unless it is given.

        gone = StoreUnavailable("the gateway is restarted")
        store = FailingStore(table.store, gone, at=lambda call: call.name == "write")

    The store is not asked then; with *after* it is, and the error takes the place of its answer, as where a connection
    is lost on the way back. A scan fails behind its last row then. *at* may be asked by several threads at once.
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
        """Do the call, or raise the error, or both."""
        if not self._at(call):
            return do()
        if self._after:
            found = do()
            if isinstance(found, Iterator):
                return cast("T", self._broken_off(found))
        raise self._error

    def _broken_off(self, rows: Iterator[object]) -> Iterator[object]:
        yield from rows
        raise self._error
