"""Wrappers of a store: a base class that passes every call on, and one that measures, logs and reports calls."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from logging import INFO
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar, cast

from webtable._clock import clock
from webtable._process_hooks import renew_after_fork
from webtable.errors import StoreError, TableNotFound, WebTableError
from webtable.store.deadline import check_cancelled
from webtable.store.metrics import BOUNDS_MS, LOGGER, OPERATIONS, Counts, OperationMetrics, ServerMetrics, log_event
from webtable.store.port import Store
from webtable.store.rows import Cell, Mutation, Put, Region, Row, TableDescription, Wanted

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from webtable.rowkey import KeyRange
    from webtable.schema import FamilySchema, ShellCommand, TableSchema
    from webtable.store.capabilities import Capabilities
    from webtable.store.full_text import SearchIndex
    from webtable.store.health import Check, Space


# --- Wrapped stores ---------------------------------------------------------------------------------------------------


T = TypeVar("T")


class Call(NamedTuple):
    """A call of the port: its name (`first_rows`), the table ("" if it concerns none), and the other arguments.

    `arguments` are named as in the port: `call.arguments["mutations"]` of a `write`.
    """

    name: str
    table: str
    arguments: Mapping[str, Any]


class WrappedStore(Store):
    """A wrapper of *store*; closing it closes *store*.

    Each call to the store passes through `around`, which a subclass overrides. Arguments have been checked by then,
    once, and a call with nothing to do is not passed. The name, timeout and capabilities of *store* are those at the
    time when it was wrapped.
    """

    def __init__(self, store: Store) -> None:
        self.wrapped = store
        self.name: str = store.name
        self.address: str | None = store.address
        self.server: str | None = store.server
        self.timeout: float = store.timeout
        self.capabilities: Capabilities = store.capabilities

    def around(self, call: Call, do: Callable[[], T]) -> T:
        """Return the result of *call*, which `do()` makes; several threads may be here at once.

        The result of a `scan` is the iterator over pieces, lists of rows, which reads when it is advanced.
        """
        del call
        return do()

    def transaction(self) -> AbstractContextManager[int | None]:
        """Pass on to the store."""
        return self.around(Call("transaction", "", {}), self.wrapped.transaction)

    def last_transaction(self) -> int:
        """Return that of the store."""
        return self.wrapped.last_transaction()

    def _write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        call = Call("write", table, {"mutations": mutations})
        return self.around(call, lambda: self.wrapped._write(table, mutations))

    def _read(self, table: str, rows: Sequence[bytes], wanted: Wanted) -> list[Row | None]:
        call = Call("read", table, {"rows": rows, "wanted": wanted})
        return self.around(call, lambda: self.wrapped._read(table, rows, wanted))

    def _read_cells(
        self, table: str, rows: Sequence[bytes], family: bytes, qualifiers: KeyRange, limit: int, *, keys_only: bool
    ) -> list[list[tuple[bytes, Cell]]]:
        arguments = {"rows": rows, "family": family, "qualifiers": qualifiers, "limit": limit, "keys_only": keys_only}
        return self.around(
            Call("read_cells", table, arguments),
            lambda: self.wrapped._read_cells(table, rows, family, qualifiers, limit, keys_only=keys_only),
        )

    def _scan(
        self, table: str, ranges: list[KeyRange], wanted: Wanted, limit: int | None, *, reverse: bool
    ) -> Iterator[Sequence[Row]]:
        arguments = {"ranges": ranges, "wanted": wanted, "limit": limit, "reverse": reverse}
        return self.around(
            Call("scan", table, arguments), lambda: self.wrapped._scan(table, ranges, wanted, limit, reverse=reverse)
        )

    def _first_rows(
        self, table: str, ranges: Sequence[KeyRange], limit: int, wanted: Wanted, *, reverse: bool
    ) -> list[list[Row]]:
        arguments = {"ranges": ranges, "limit": limit, "wanted": wanted, "reverse": reverse}
        return self.around(
            Call("first_rows", table, arguments),
            lambda: self.wrapped._first_rows(table, ranges, limit, wanted, reverse=reverse),
        )

    def tables(self) -> list[str]:
        """Return the names of all tables, sorted."""
        return self.around(Call("tables", "", {}), self.wrapped.tables)

    def describe(self, table: str) -> TableDescription:
        """Return the table as it is."""
        return self.around(Call("describe", table, {}), lambda: self.wrapped.describe(table))

    def create_table(self, schema: TableSchema) -> None:
        """Create the table."""
        call = Call("create_table", schema.name, {"schema": schema})
        self.around(call, lambda: self.wrapped.create_table(schema))

    def set_family(self, table: str, family: FamilySchema) -> None:
        """Add or change the family."""
        call = Call("set_family", table, {"family": family})
        self.around(call, lambda: self.wrapped.set_family(table, family))

    def drop_table(self, table: str) -> None:
        """Remove the table."""
        self.around(Call("drop_table", table, {}), lambda: self.wrapped.drop_table(table))

    def regions(self, table: str) -> list[Region]:
        """Return the table's regions."""
        return self.around(Call("regions", table, {}), lambda: self.wrapped.regions(table))

    def compact(self, tables: Sequence[str]) -> int:
        """Free space, and return how many bytes that was."""
        return self.around(Call("compact", "", {"tables": tables}), lambda: self.wrapped.compact(tables))

    def backup(self, path: Path, on_progress: Callable[[int], object] | None = None) -> int:
        """Copy the store into a file, and return its bytes."""
        call = Call("backup", "", {"path": path, "on_progress": on_progress})
        return self.around(call, lambda: self.wrapped.backup(path, on_progress))

    def check_and_put(self, table: str, put: Put, column: bytes, expected: bytes | None) -> bool:
        """Put if a column has a value, and return whether it had."""
        call = Call("check_and_put", table, {"put": put, "column": column, "expected": expected})
        return self.around(call, lambda: self.wrapped.check_and_put(table, put, column, expected))

    def search_index(self, table: str) -> SearchIndex | None:
        """Return that of the store."""
        return self.wrapped.search_index(table)

    def run(self, command: ShellCommand) -> None:
        """Do what a command of the HBase shell does."""
        self.around(Call("run", "", {"command": command}), lambda: self.wrapped.run(command))

    def health(self, table: str) -> Iterator[Check]:
        """Yield the checks of the health of the store."""
        return self.wrapped.health(table)

    def space(self) -> Space | None:
        """Return the space that the store takes."""
        return self.wrapped.space()

    def events(self) -> Counter[str]:
        """Return those of the store."""
        return self.wrapped.events()

    def servers(self) -> list[ServerMetrics]:
        """Return those of the store."""
        return self.wrapped.servers()

    def close(self) -> None:
        """Close the store."""
        self.around(Call("close", "", {}), self.wrapped.close)


# --- Observed calls ---------------------------------------------------------------------------------------------------


Size = tuple[int, int]
"""A number of rows, and of bytes of values."""

_SLOW_SHARE: Final = 1 / 3
_LEAST_SLOW: Final = 0.1
_WEIGHED: Final = 128
"""How many rows of an answer are measured: measuring all would slow a listing of small rows by 2 %."""
_BOUNDS: Final = [bound / 1000 for bound in BOUNDS_MS]


class ObservedCall(Protocol):
    """A call in progress, as made by a listener."""

    def ended(self, rows: int | None, error: BaseException | None) -> object:
        """Called at its end with the number of rows that it read or stored (None if unknown), and its *error*."""


class CallListener(Protocol):
    """Called for each call of a store, in the thread that makes it; its errors are raised to the caller."""

    def __call__(self, operation: str, table: str, requested: int | None, began: int) -> ObservedCall:
        """Called when a call begins (*began*: nanoseconds since 1970); *requested* is the number of rows of a write."""


class _Outcome:
    """The outcome of a call so far."""

    def __init__(self) -> None:
        self.rows: int | None = None
        self.error: BaseException | None = None


READING: Final = frozenset({"read", "read_cells", "scan", "first_rows", "tables", "describe", "regions"})
"""The calls of the port that change nothing."""


class _Sums:
    """The sums of one operation."""

    __slots__ = ("bytes", "calls", "failed", "latencies", "rows", "seconds")

    def __init__(self) -> None:
        self.calls = self.failed = self.rows = self.bytes = 0
        self.seconds = 0.0
        self.latencies = [0] * (len(_BOUNDS) + 1)

    def snapshot(self) -> OperationMetrics:
        """Return the sums as a frozen value."""
        return OperationMetrics(self.calls, self.failed, self.rows, self.bytes, self.seconds, tuple(self.latencies))


class _Measures:
    """What is measured of a store and its views: sums by operation, events, and who listens to calls."""

    def __init__(self) -> None:
        self.events = Counts()
        self.listeners: tuple[CallListener, ...] = ()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Replace the lock, and reset the sums, which are the parent's."""
        self.lock = threading.Lock()
        self.sums = {name: _Sums() for name in OPERATIONS}


class ObservedStore(WrappedStore):
    """A wrapper of *store* that measures its calls in all threads. A forked child begins at 0.

    A call that fails is logged, and so is one that takes more than a third of the store's timeout and over 0.1 s; both
    are counted in `events`. A missing table is not a failure. A scan is measured by pieces: reading the clock and the
    sizes for every row would cost a listing of small rows some percent. A call of a cancelled request is refused
    (`store.deadline`).
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._measures = _Measures()
        self._only_reads = False

    def reading(self) -> ObservedStore:
        """Return a view of the same store, with the same measures, that refuses what writes.

        To close it leaves the store open. It raises `PermissionError`.
        """
        # The explorer has no other: what a page shows must not write, whatever a question does.
        view = ObservedStore(self.wrapped)
        view._measures, view._only_reads = self._measures, True
        return view

    def close(self) -> None:
        """Close the store, unless this is a view that only reads."""
        if not self._only_reads:
            super().close()

    def measured(self) -> dict[str, OperationMetrics]:
        """Return a snapshot of the metrics, by operation."""
        with self._measures.lock:
            return {name: sums.snapshot() for name, sums in self._measures.sums.items()}

    def events(self) -> Counter[str]:
        """Return how often each event has occurred, including those of the store."""
        return super().events() + self._measures.events.snapshot()

    def listen(self, listener: CallListener) -> Callable[[], None]:
        """Call *listener* for each call that reads or writes rows; the returned function ends that.

        Without listeners there is no cost.
        """
        measures = self._measures
        # A new tuple: calls in other threads go on with the listeners that they began with.
        measures.listeners += (listener,)

        def end() -> None:
            measures.listeners = tuple(other for other in measures.listeners if other is not listener)

        return end

    def around(self, call: Call, do: Callable[[], T]) -> T:
        """Make the call, and measure it if it reads or writes rows."""
        if self._only_reads and call.name not in READING:
            raise PermissionError(f"{self.name}: {call.name}: this view of the store only reads")
        check_cancelled()
        if call.name == "scan":
            return cast("T", self._scanned(call.table, cast("Callable[[], Iterator[Sequence[Row]]]", do)))
        size_of = _SIZES.get(call.name)
        if size_of is None:
            return do()
        if not self._measures.listeners:
            return self._done(call, do, size_of, _Outcome())
        requested = len(call.arguments["mutations"]) if call.name == "write" else None
        with self._reported(call.name, call.table, requested, clock.nanoseconds()) as outcome:
            return self._done(call, do, size_of, outcome)

    def _done(
        self, call: Call, do: Callable[[], T], size_of: Callable[[Mapping[str, Any], Any], Size], outcome: _Outcome
    ) -> T:
        began = clock.monotonic()
        try:
            answer = do()
        except WebTableError as error:
            self._failed(call.name, call.table, clock.monotonic() - began, error)
            raise
        seconds, size = clock.monotonic() - began, size_of(call.arguments, answer)
        self._took(call.name, call.table, seconds, size)
        outcome.rows = size[0]
        if call.name == "write":  # with an error among its outcomes the write counts as failed
            outcome.error = next(filter(None, cast("list[StoreError | None]", answer)), None)
            if outcome.error is not None:
                self._report_failed("write", call.table, seconds, outcome.error)
        return answer

    def _scanned(self, table: str, do: Callable[[], Iterator[Sequence[Row]]]) -> Iterator[Sequence[Row]]:
        """Return the pieces of a scan, which begins when the first is requested, or fails now."""
        heard_at, began = clock.nanoseconds(), clock.monotonic()
        try:
            pieces = do()  # most adapters miss a table here, and not at the first piece
        except BaseException as error:
            with self._reported("scan", table, None, heard_at):
                if isinstance(error, WebTableError):
                    self._failed("scan", table, clock.monotonic() - began, error)
                raise
        return self._pieces(table, pieces, clock.monotonic() - began, heard_at)

    def _pieces(
        self, table: str, pieces: Iterator[Sequence[Row]], spent: float, heard_at: int
    ) -> Iterator[Sequence[Row]]:
        """Yield the pieces; *spent* is the time to begin, and the time of the caller between two is not counted."""
        with self._reported("scan", table, None, heard_at) as outcome:
            rows, is_first = 0, True
            while True:
                check_cancelled()
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
    def _reported(self, operation: str, table: str, requested: int | None, began: int) -> Iterator[_Outcome]:
        """Report a call and its outcome to the listeners."""
        calls = [listener(operation, table, requested, began) for listener in self._measures.listeners]
        outcome = _Outcome()
        try:
            yield outcome
        except GeneratorExit:  # the caller wants no more of a scan
            raise
        except BaseException as error:
            outcome.error = error
            raise
        finally:
            for call in reversed(calls):  # spans of traces are nested, so the last to begin ends first
                call.ended(outcome.rows, outcome.error)

    def _took(self, operation: str, table: str, seconds: float, size: Size, *, is_new: bool = True) -> None:
        with self._measures.lock:
            sums = self._measures.sums[operation]
            sums.calls += is_new
            sums.rows += size[0]
            sums.bytes += size[1]
            sums.seconds += seconds
            sums.latencies[bisect_left(_BOUNDS, seconds)] += 1
        if seconds > _LEAST_SLOW and seconds > self.timeout * _SLOW_SHARE:
            self._log("slow-call", f"{operation} took long", table, seconds)

    def _failed(self, operation: str, table: str, seconds: float, error: WebTableError, *, is_new: bool = True) -> None:
        self._took(operation, table, seconds, (0, 0), is_new=is_new)
        if not isinstance(error, TableNotFound):  # callers ask whether a table is there by reading it
            self._report_failed(operation, table, seconds, error)

    def _report_failed(self, operation: str, table: str, seconds: float, error: BaseException) -> None:
        with self._measures.lock:
            self._measures.sums[operation].failed += 1
        # Not the text of the error: it may quote the answer of a server.
        self._log("failed", f"{operation} failed", table, seconds, type(error).__name__)

    def _log(self, event: str, text: str, table: str, seconds: float, reason: str = "") -> None:
        self._measures.events(event)
        log_event(
            LOGGER, INFO, event, text, store=self.name, table=table, seconds=seconds, reason=reason, server=self.server
        )


def observed(store: Store) -> ObservedStore:
    """Return *store* itself if it is an `ObservedStore`, else a wrapper of it."""
    return store if isinstance(store, ObservedStore) else ObservedStore(store)


def _size_of_rows(rows: Sequence[Row]) -> Size:
    """Return the size of *rows*; for more than `_WEIGHED`, bytes are estimated from evenly spread ones.

    Every adapter limits a piece by its bytes, so many rows are small rows.
    """
    weighed = rows[:: len(rows) // _WEIGHED + 1] if len(rows) > _WEIGHED else rows
    size = 0
    # Plain loops: this is done for every piece of a scan.
    for _, cells in weighed:
        for versions in cells.values():
            for cell in versions:
                size += len(cell[1])
    return len(rows), size * len(rows) // (len(weighed) or 1)


def _size_of_cells(lists: Iterable[Sequence[tuple[bytes, Cell]]]) -> Size:
    """Return the size of *lists* of cells, one list per row."""
    sizes = [[len(cell.value) for _, cell in cells] for cells in lists if cells]
    return len(sizes), sum(map(sum, sizes))


def _size_of_stored(mutations: Sequence[Mutation], outcomes: Sequence[StoreError | None]) -> Size:
    """Return the size of those *mutations* that were stored."""
    stored = [mutation for mutation, error in zip(mutations, outcomes, strict=True) if error is None]
    puts = [mutation.cells for mutation in stored if isinstance(mutation, Put)]
    return len(stored), sum([len(cell.value) for cells in puts for cell in cells])


_SIZES: Final[Mapping[str, Callable[[Mapping[str, Any], Any], Size]]] = {
    "write": lambda arguments, outcomes: _size_of_stored(arguments["mutations"], outcomes),
    "read": lambda _, rows: _size_of_rows([row for row in rows if row is not None]),
    "read_cells": lambda _, lists: _size_of_cells(lists),
    "first_rows": lambda _, lists: _size_of_rows(list(chain.from_iterable(lists))),
}
"""For each measured call, the function that returns the size of an answer, given the arguments and the answer."""
