"""What a request reads: a view of the table that only reads, and stops when nobody waits for it any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from webtable import WebTable
from webtable.errors import WebTableError
from webtable.store import WrappedStore

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from webtable.store import Call, Store

T = TypeVar("T")
_READING = frozenset({"read", "read_cells", "scan", "first_rows", "tables", "describe", "regions"})


class Gone(WebTableError):
    """Nobody waits for the answer any more."""


class ReadingStore(WrappedStore):
    """A view of *store* for one request: it refuses what writes, and raises `Gone` once *gone* is set."""

    def __init__(self, store: Store, gone: threading.Event) -> None:
        super().__init__(store)
        self._gone = gone

    def around(self, call: Call, do: Callable[[], T]) -> T:
        """Make a *call* that reads, unless the request is gone."""
        if call.name not in _READING:
            raise PermissionError(f"the explorer only reads: {call.name}")
        self._check()
        found = do()
        return cast("T", self._checked(found)) if isinstance(found, Iterator) else found

    def close(self) -> None:
        """Leave the store open, which the other requests use as well."""

    def _check(self) -> None:
        if self._gone.is_set():
            raise Gone("the request was cancelled")

    def _checked(self, pieces: Iterator[Any]) -> Iterator[Any]:
        for piece in pieces:
            self._check()
            yield piece


def reading(table: WebTable, gone: threading.Event) -> WebTable:
    """Return a view of *table* that only reads, until *gone* is set."""
    return WebTable(ReadingStore(table.store, gone), table.table, table.layout, strict=table.strict)
