"""How often a store is asked: the calls of the port, or those that go to a server behind it."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from webtable._forks import renew_after_fork
from webtable.store.wrapped import Call, WrappedStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable.store.base import Store

T = TypeVar("T")


class CallCounter:
    """Counts the names that it is called with, by any thread; they are in `counts`."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Make the lock anew."""
        self._lock = threading.Lock()

    def __call__(self, name: str) -> None:
        """Count one more of *name*."""
        with self._lock:
            self.counts[name] += 1


class CountingStore(WrappedStore):
    """A store that counts the calls of the port that go to *store*, by their names, in `calls`.

    A scan counts once, however many rows it gives. What one call becomes on HBase is told by `HBaseStore.on_call`.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._count = CallCounter()

    @property
    def calls(self) -> Counter[str]:
        """How often each call was made until now."""
        return self._count.counts

    def around(self, call: Call, do: Callable[[], T]) -> T:
        """Count the call and do it."""
        self._count(call.name)
        return do()
