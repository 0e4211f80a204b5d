"""The wrapper by which a store is watched: it counts, measures and logs the calls, and tells listeners of them."""

from __future__ import annotations

import threading
from bisect import bisect_left
from contextlib import contextmanager
from itertools import chain
from logging import INFO
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from webtable._clock import clock
from webtable._forks import renew_after_fork
from webtable.errors import TableNotFound, WebTableError
from webtable.store.metrics import BOUNDS_MS, LOGGER, OPERATIONS, OperationMetrics, Tally, log_event
from webtable.store.rows import Put
from webtable.store.wrapped import Call, WrappedStore

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from webtable.errors import StoreError
    from webtable.store.port import Store
    from webtable.store.rows import Cell, Mutation, Row

T = TypeVar("T")

Size = tuple[int, int]
"""How many rows, and how many bytes of values."""

_SLOW_SHARE: Final = 1 / 3
_LEAST_SLOW: Final = 0.1
_WEIGHED: Final = 128
"""So many rows of an answer are weighed: to weigh each would cost a listing of small rows a fiftieth of its time."""
_BOUNDS: Final = [bound / 1000 for bound in BOUNDS_MS]


class HeardCall(Protocol):
    """A call that is under way, as a listener has it."""

    def ended(self, rows: int | None, error: BaseException | None) -> object:
        """Take how many rows it read or stored (None where that is not known), and its *error*."""


class CallListener(Protocol):
    """Hears of the calls of a store, in the thread that makes them; what it raises, the caller gets."""

    def __call__(self, operation: str, table: str, asked: int | None, began: int) -> HeardCall:
        """Take a call that *began* then (nanoseconds since 1970); a write was *asked* for so many rows."""


class _Outcome:
    """What is known of a call until now."""

    def __init__(self) -> None:
        self.rows: int | None = None
        self.error: BaseException | None = None


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


class ObservedStore(WrappedStore):
    """The store that *store* is, with metrics of its calls in any thread. A forked child begins at nothing.

    A call that fails is logged, and so is one that takes more than a third of the store's timeout and over 0.1 s; both
    are counted in `events`. That there is no such table is an answer. A scan is timed by the piece: to read the clock
    and weigh the values for every row would cost a listing of small ones some percent.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._events = Tally()
        self._listeners: tuple[CallListener, ...] = ()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Make the lock anew, and leave to the parent what it has done."""
        self._lock = threading.Lock()
        self._sums = {name: _Sums() for name in OPERATIONS}

    def measured(self) -> dict[str, OperationMetrics]:
        """Return what was measured until now, by operation."""
        with self._lock:
            return {name: sums.taken() for name, sums in self._sums.items()}

    def events(self) -> Counter[str]:
        """Return how often each event has happened, those of the store included."""
        return super().events() + self._events.taken()

    def listen(self, listener: CallListener) -> Callable[[], None]:
        """Tell *listener* of each call that reads or writes rows; what is returned ends that when it is called.

        Who never calls this pays nothing for it.
        """
        self._listeners += (listener,)

        def end() -> None:
            self._listeners = tuple(one for one in self._listeners if one is not listener)

        return end

    def around(self, call: Call, do: Callable[[], T]) -> T:
        """Do the call, measured where it reads or writes rows."""
        if call.name == "scan":
            return cast("T", self._scanned(call.table, cast("Callable[[], Iterator[Sequence[Row]]]", do)))
        size_of = _SIZES.get(call.name)
        if size_of is None:
            return do()
        if not self._listeners:
            return self._done(call, do, size_of, _Outcome())
        asked = len(call.arguments["mutations"]) if call.name == "write" else None
        with self._heard(call.name, call.table, asked, clock.nanoseconds()) as outcome:
            return self._done(call, do, size_of, outcome)

    def _done(
        self, call: Call, do: Callable[[], T], size_of: Callable[[Mapping[str, Any], Any], Size], outcome: _Outcome
    ) -> T:
        began = clock.monotonic()
        try:
            found = do()
        except WebTableError as error:
            self._failed(call.name, call.table, clock.monotonic() - began, error)
            raise
        seconds, size = clock.monotonic() - began, size_of(call.arguments, found)
        self._took(call.name, call.table, seconds, size)
        outcome.rows = size[0]
        if call.name == "write":  # with an error among its outcomes the call has failed
            outcome.error = next((error for error in cast("list[StoreError | None]", found) if error is not None), None)
            if outcome.error is not None:
                self._tell_failed("write", call.table, seconds, outcome.error)
        return found

    def _scanned(self, table: str, do: Callable[[], Iterator[Sequence[Row]]]) -> Iterator[Sequence[Row]]:
        """Return the pieces of a scan, which has begun when one is asked for, or has failed before."""
        heard_at, began = clock.nanoseconds(), clock.monotonic()
        try:
            pieces = do()
        except BaseException as error:
            with self._heard("scan", table, None, heard_at):
                if isinstance(error, WebTableError):
                    self._failed("scan", table, clock.monotonic() - began, error)
                raise
        return self._pieces(table, pieces, clock.monotonic() - began, heard_at)

    def _pieces(
        self, table: str, pieces: Iterator[Sequence[Row]], spent: float, heard_at: int
    ) -> Iterator[Sequence[Row]]:
        """Yield the pieces; *spent* was needed to begin, and what the caller needs between two does not count."""
        with self._heard("scan", table, None, heard_at) as outcome:
            rows, is_first = 0, True
            while True:
                began = clock.monotonic() - spent
                try:
                    piece = next(pieces, None)
                except WebTableError as error:
                    self._failed("scan", table, clock.monotonic() - began, error, is_new=is_first)
                    raise
                if piece is None and not is_first:
                    return
                size = _size_of_rows(piece or ())
                self._took("scan", table, clock.monotonic() - began, size, is_new=is_first)
                outcome.rows = rows = rows + size[0]
                if piece is None:
                    return
                is_first, spent = False, 0.0
                yield piece

    @contextmanager
    def _heard(self, operation: str, table: str, asked: int | None, began: int) -> Iterator[_Outcome]:
        """Tell the listeners of a call, and what became of it."""
        calls = [listener(operation, table, asked, began) for listener in self._listeners]
        outcome = _Outcome()
        try:
            yield outcome
        except GeneratorExit:  # of a scan nobody wants more
            raise
        except BaseException as error:
            outcome.error = error
            raise
        finally:
            for call in reversed(calls):
                call.ended(outcome.rows, outcome.error)

    def _took(self, operation: str, table: str, seconds: float, size: Size, *, is_new: bool = True) -> None:
        with self._lock:
            sums = self._sums[operation]
            sums.calls += is_new
            sums.rows += size[0]
            sums.bytes += size[1]
            sums.seconds += seconds
            sums.latencies[bisect_left(_BOUNDS, seconds)] += 1
        if seconds > _LEAST_SLOW and seconds > self.timeout * _SLOW_SHARE:
            self._tell("slow-call", f"{operation} took long", table, seconds)

    def _failed(self, operation: str, table: str, seconds: float, error: WebTableError, *, is_new: bool = True) -> None:
        self._took(operation, table, seconds, (0, 0), is_new=is_new)
        if not isinstance(error, TableNotFound):
            self._tell_failed(operation, table, seconds, error)

    def _tell_failed(self, operation: str, table: str, seconds: float, error: BaseException) -> None:
        with self._lock:
            self._sums[operation].failed += 1
        # Not what the error says: it may quote what a server has answered.
        self._tell("failed", f"{operation} failed", table, seconds, type(error).__name__)

    def _tell(self, event: str, text: str, table: str, seconds: float, reason: str = "") -> None:
        self._events(event)
        log_event(LOGGER, INFO, event, text, store=self.name, table=table, seconds=seconds, reason=reason)


def observed(store: Store) -> ObservedStore:
    """Return *store* itself where it is watched already, else a wrapper that watches it."""
    return store if isinstance(store, ObservedStore) else ObservedStore(store)


def _size_of_rows(rows: Sequence[Row]) -> Size:
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


def _size_of_cells(lists: Iterable[Sequence[tuple[bytes, Cell]]]) -> Size:
    """Return the size of *lists* of cells, one a row."""
    found = [[len(cell.value) for _, cell in cells] for cells in lists if cells]
    return len(found), sum(map(sum, found))


def _size_of_stored(mutations: Sequence[Mutation], outcomes: Sequence[StoreError | None]) -> Size:
    """Return the size of those of *mutations* that are stored."""
    stored = [one for one, error in zip(mutations, outcomes, strict=True) if error is None]
    puts = [one.cells for one in stored if isinstance(one, Put)]
    return len(stored), sum([len(cell.value) for cells in puts for cell in cells])


_SIZES: Final[Mapping[str, Callable[[Mapping[str, Any], Any], Size]]] = {
    "write": lambda given, outcomes: _size_of_stored(given["mutations"], outcomes),
    "read": lambda _, rows: _size_of_rows([row for row in rows if row is not None]),
    "read_cells": lambda _, lists: _size_of_cells(lists),
    "first_rows": lambda _, lists: _size_of_rows(list(chain.from_iterable(lists))),
}
"""By the calls that are measured: how the size of an answer is told, by the arguments and the answer."""
