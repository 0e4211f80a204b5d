"""What a store was asked: its calls, rows, bytes and latencies, and its events, as they are counted."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from itertools import chain
from logging import INFO
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from webtable._forks import renew_after_fork
from webtable.errors import TableNotFound, WebTableError
from webtable.store.log import LOGGER, tell
from webtable.store.observed.metrics import BOUNDS_MS, OPERATIONS, OperationMetrics
from webtable.store.observed.tally import Tally
from webtable.store.rows import Put

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from webtable.errors import StoreError
    from webtable.store.rows import Cell, Mutation, Row

T = TypeVar("T")

Size = tuple[int, int]
"""How many rows, and how many bytes of values."""

_SLOW_SHARE: Final = 1 / 3
_LEAST_SLOW: Final = 0.1
_WEIGHED: Final = 128
"""So many rows of an answer are weighed: to weigh each would cost a listing of small rows a fiftieth of its time."""
_BOUNDS: Final = [bound / 1000 for bound in BOUNDS_MS]


class _Sums:
    """What is known of one operation."""

    __slots__ = ("bytes", "calls", "failed", "latencies", "rows", "seconds")

    def __init__(self) -> None:
        self.calls = self.failed = self.rows = self.bytes = 0
        self.seconds = 0.0
        self.latencies = [0] * (len(_BOUNDS) + 1)

    def taken(self) -> OperationMetrics:
        """Return it as a value."""
        return OperationMetrics(self.calls, self.failed, self.rows, self.bytes, self.seconds, tuple(self.latencies))


class Measured(Protocol):
    """What is known of a store that is measured."""

    name: str
    timeout: float


class Meter:
    """Measures the calls of one store, in any thread. A forked child begins at nothing.

    One that fails is logged, and so is one that takes more than a third of the store's timeout and over 0.1 s; both
    are counted in `events`. That there is no such table is an answer.
    """

    def __init__(self) -> None:
        self.events = Tally()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Make the lock anew, and leave to the parent what it has done."""
        self._lock = threading.Lock()
        self._sums = {name: _Sums() for name in OPERATIONS}

    def taken(self) -> dict[str, OperationMetrics]:
        """Return what was measured until now, by operation."""
        with self._lock:
            return {name: sums.taken() for name, sums in self._sums.items()}

    def asked(
        self,
        store: Measured,
        operation: str,
        table: str,
        do: Callable[[], T],
        size_of: Callable[[T], Size],
    ) -> T:
        """Return what `do()` returns; *size_of* tells its size."""
        began = time.perf_counter()
        try:
            found = do()
        except WebTableError as error:
            self._failed(store, operation, table, time.perf_counter() - began, error)
            raise
        self._took(store, operation, table, time.perf_counter() - began, size_of(found))
        return found

    def written(
        self, store: Measured, table: str, mutations: Sequence[Mutation], do: Callable[[], list[StoreError | None]]
    ) -> list[StoreError | None]:
        """Return what became of *mutations*, which `do()` returns; with an error among it the call has failed."""
        began = time.perf_counter()
        outcomes = self.asked(store, "write", table, do, lambda outcomes: size_of_stored(mutations, outcomes))
        for error in outcomes:
            if error is not None:
                self._tell_failed(store, "write", table, time.perf_counter() - began, error)
                break
        return outcomes

    def scanned(self, store: Measured, table: str, do: Callable[[], Iterator[Sequence[Row]]]) -> Iterator[Row]:
        """Return the rows of the pieces that `do()` returns; what that raises is raised at once."""
        began = time.perf_counter()
        try:
            pieces = do()
        except WebTableError as error:
            self._failed(store, "scan", table, time.perf_counter() - began, error)
            raise
        return self._rows(store, table, pieces, time.perf_counter() - began)

    def _rows(
        self, store: Measured, table: str, pieces: Iterator[Sequence[Row]], spent: float
    ) -> Generator[Row, None, None]:
        """Yield the rows; *spent* was needed to begin, and what the caller needs between two pieces does not count."""
        is_first = True
        while True:
            began = time.perf_counter() - spent
            try:
                piece = next(pieces, None)
            except WebTableError as error:
                self._failed(store, "scan", table, time.perf_counter() - began, error, is_new=is_first)
                raise
            if piece is None and not is_first:
                return
            self._took(store, "scan", table, time.perf_counter() - began, size_of_rows(piece or ()), is_new=is_first)
            if piece is None:
                return
            is_first, spent = False, 0.0
            yield from piece

    def _took(
        self, store: Measured, operation: str, table: str, seconds: float, size: Size, *, is_new: bool = True
    ) -> None:
        with self._lock:
            sums = self._sums[operation]
            sums.calls += is_new
            sums.rows += size[0]
            sums.bytes += size[1]
            sums.seconds += seconds
            sums.latencies[bisect_left(_BOUNDS, seconds)] += 1
        if seconds > _LEAST_SLOW and seconds > store.timeout * _SLOW_SHARE:
            self._tell("slow-call", f"{operation} took long", store, table, seconds)

    def _failed(
        self,
        store: Measured,
        operation: str,
        table: str,
        seconds: float,
        error: WebTableError,
        *,
        is_new: bool = True,
    ) -> None:
        self._took(store, operation, table, seconds, (0, 0), is_new=is_new)
        if not isinstance(error, TableNotFound):
            self._tell_failed(store, operation, table, seconds, error)

    def _tell_failed(self, store: Measured, operation: str, table: str, seconds: float, error: WebTableError) -> None:
        with self._lock:
            self._sums[operation].failed += 1
        # Not what the error says: it may quote what a server has answered.
        self._tell("failed", f"{operation} failed", store, table, seconds, type(error).__name__)

    def _tell(self, event: str, text: str, store: Measured, table: str, seconds: float, reason: str = "") -> None:
        self.events(event)
        tell(LOGGER, INFO, event, text, store=store.name, table=table, seconds=seconds, reason=reason)


def size_of_rows(rows: Sequence[Row]) -> Size:
    """Return the size of *rows*; of more than `_WEIGHED` the bytes are reckoned by those that are evenly among them.

    Every adapter bounds a piece by its bytes, so where there are many rows they are small ones.
    """
    weighed = rows[:: len(rows) // _WEIGHED + 1] if len(rows) > _WEIGHED else rows
    size = 0
    for _, cells in weighed:
        for versions in cells.values():
            for cell in versions:
                size += len(cell[1])
    return len(rows), size * len(rows) // (len(weighed) or 1)


def size_of_found(rows: Sequence[Row | None]) -> Size:
    """Return the size of the *rows* that were found."""
    return size_of_rows([row for row in rows if row is not None])


def size_of_lists(lists: Iterable[Sequence[Row]]) -> Size:
    """Return the size of the rows in *lists*."""
    return size_of_rows(list(chain.from_iterable(lists)))


def size_of_cells(lists: Iterable[Sequence[tuple[bytes, Cell]]]) -> Size:
    """Return the size of *lists* of cells, one a row."""
    found = [[len(cell.value) for _, cell in cells] for cells in lists if cells]
    return len(found), sum(map(sum, found))


def size_of_stored(mutations: Sequence[Mutation], outcomes: Sequence[StoreError | None]) -> Size:
    """Return the size of those of *mutations* that are stored."""
    stored = [one for one, error in zip(mutations, outcomes, strict=True) if error is None]
    puts = [one.cells for one in stored if isinstance(one, Put)]
    return len(stored), sum([len(cell.value) for cells in puts for cell in cells])
