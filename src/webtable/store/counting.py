"""A store that counts what it is asked: every call of the port, by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from webtable.store.observed.tally import Tally
from webtable.store.wrapped import Call, WrappedStore

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from webtable.store.port import Store

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
