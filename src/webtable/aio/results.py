"""Calls of the synchronous library in threads, streams of results that are read ahead in pieces, and answers."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, NoReturn, ParamSpec, Protocol, Self, TypeVar

from webtable._clock import clock
from webtable._process_hooks import renew_after_fork
from webtable._threads import Task, Threads
from webtable.errors import DamagedRow, InvalidArgument
from webtable.page.page import Page, memory_of
from webtable.repository.answers.results import Results as SyncResults
from webtable.repository.hosts.hosts import Host as SyncHost

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa
    from matplotlib.axes import Axes

    from webtable.repository.answers.columns import ColumnNames, Columns
    from webtable.repository.answers.pictures import Amount


# --- Calls in threads -------------------------------------------------------------------------------------------------
#
# An object that is opened in a thread is used in an `async with` block, or awaited. If a caller is cancelled, an
# error of its call is raised by a later call, so that every lost page is reported.


THREADS = 8
"""How many threads call a table at once, by default."""

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
Core = TypeVar("Core", covariant=True)
"""The class of the synchronous library that is wrapped."""


def checked_threads(threads: int) -> int:
    """Return *threads*; raises `InvalidArgument` unless it is an integer above 0."""
    if type(threads) is not int or threads < 1:
        raise InvalidArgument(f"threads={threads!r} must be a number of threads above 0")
    return threads


class Calls:
    """The threads in which one table, or one writer, is called: at most *count*; further calls wait.

    They are not tied to an event loop: a second one can use them later.
    """

    def __init__(self, count: int, name: str) -> None:
        self._threads = Threads(count, name)

    def submit(self, job: Callable[[], T]) -> Task[T]:
        """Start *job*."""
        return self._threads.submit(job)

    async def run(self, job: Callable[[], T], on_abandoned: Callable[[Future[T]], object] | None = None) -> T:
        """The result of *job*; raises what it raises.

        If the caller is cancelled, a job that has not begun is cancelled too; one that has begun runs to its end in its
        thread, and *on_abandoned* is called with its future, which nobody else has.
        """
        future = self._threads.submit(job).future()
        try:
            # It cancels the future of the thread too, which has an effect only before the job has begun.
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if on_abandoned is not None:
                on_abandoned(future)
            raise

    def close(self) -> None:
        """Let the threads end after the jobs that they have; returns at once."""
        self._threads.close(wait=False)


class Wrapped(Generic[Core]):
    """An object of the synchronous library, and the threads in which its methods are called."""

    def __init__(self, core: Core, calls: Calls) -> None:
        self._core = core
        self._calls = calls


def awaited(function: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[Wrapped[S], P], Coroutine[Any, Any, T]]:
    """*function* as an awaitable method with the same arguments."""

    @wraps(function)
    async def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._calls.run(partial(function, self._core, *args, **kwargs))

    return method


class AbandonedCalls:
    """The calls of one table and its writers that nobody awaits any longer. Thread-safe."""

    def __init__(self) -> None:
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Leave the calls to the parent process, like the pages."""
        self._lock = threading.Lock()
        self._calls: list[tuple[object, Future[Any]]] = []

    def keep(self, owner: object, call: Future[Any]) -> None:
        """Keep *call*, of the writer or table *owner*."""
        with self._lock:
            self._calls.append((owner, call))

    def errors(self, owner: object, *, also_others: bool = False) -> list[Exception]:
        """Return the errors of ended calls of *owner*, and with *also_others* of all others, waiting for these.

        Each error is returned once. An owner's calls run one after another, so one that has not ended is the caller.
        """
        with self._lock:
            taken = [kept for kept in self._calls if (kept[1].done() if kept[0] is owner else also_others)]
            self._calls = [kept for kept in self._calls if kept not in taken]
        return [error for _, call in taken if (error := _error(call)) is not None]


def _error(call: Future[Any]) -> Exception | None:
    try:
        error = call.exception()
    except CancelledError:
        return None  # it had not begun
    return error if isinstance(error, Exception) else None


class Closing(Protocol):
    """An object that is closed at the end of its block."""

    async def close(self) -> None:
        """Close it."""


C = TypeVar("C", bound=Closing)


class Opening(Generic[C]):
    """A table or a writer yet to be opened: `async with` opens and closes it, `await` opens it."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, C]]) -> None:
        self._make = make
        self._opened: C | None = None

    def __await__(self) -> Generator[Any, None, C]:
        return self._make().__await__()

    async def __aenter__(self) -> C:
        self._opened = await self._make()
        return self._opened

    async def __aexit__(self, *_: object) -> None:
        if self._opened is not None:
            await self._opened.close()


def close_abandoned(future: Future[Any]) -> None:
    """Close what *future* opens as soon as it is open: its caller no longer waits for it."""

    def close(opened: Future[Any]) -> None:
        if not opened.cancelled() and opened.exception() is None:
            opened.result().close()

    future.add_done_callback(close)


# --- Streams ----------------------------------------------------------------------------------------------------------


FIRST_RESULTS = 128
"""How many results the first piece has at most: most questions have fewer answers."""
PIECE_RESULTS = 1_024
PIECE_BYTES = 8 * 2**20
"""How many bytes of pages a piece has at most, unless one page alone has more."""
PIECE_SECONDS = 0.05
"""After how many seconds a piece that has any results is returned: results may be rare."""


@dataclass(slots=True)
class _Chunk(Generic[T]):
    """Some results, the error that came after them, and whether there are no more."""

    results: list[T]
    error: Exception | None = None
    is_last: bool = False


class _Reader(Generic[T]):
    """The synchronous iterator that *ask* returns, used by one thread at a time."""

    def __init__(self, ask: Callable[[], Iterator[T]]) -> None:
        self._ask = ask
        self._rows: Iterator[T] | None = None
        self._limit = FIRST_RESULTS
        self._is_closed = False
        self._lock = threading.Lock()
        self._process = os.getpid()

    def piece(self) -> _Chunk[T]:
        """Return the next results."""
        results: list[T] = []
        with self._lock:
            if self._is_closed:
                return _Chunk(results, None, True)
            limit, self._limit = self._limit, PIECE_RESULTS
            try:
                return _Chunk(results, None, self._fill(results, limit))
            except Exception as exc:  # noqa: BLE001 - raised when the caller reaches it
                return _Chunk(results, exc)

    def _fill(self, results: list[T], limit: int) -> bool:
        """Put the next results into *results*, and return whether there are no more."""
        if self._rows is None:
            self._rows = iter(self._ask())
        size, until = 0, clock.monotonic() + PIECE_SECONDS
        for result in self._rows:
            results.append(result)
            size += _weight(result)
            if len(results) >= limit or size >= PIECE_BYTES or clock.monotonic() >= until:
                return False
        return True

    def close(self) -> None:
        """Close the iterator, after the piece that is being read; does nothing in a forked process."""
        if self._process != os.getpid():
            return
        with self._lock:
            self._is_closed = True
            close = getattr(self._rows, "close", None)
            self._rows = None
            if close is not None:
                close()


def _weight(result: object) -> int:
    """About how many bytes *result* takes, if these may be many."""
    if isinstance(result, Page) and (result.body is not None or result.outlinks is not None):
        return memory_of(result)
    return 0


class Stream(AsyncIterator[T]):
    """Results in order, for one task to read with `async for`; at most two pieces are in memory.

    Their source is closed at the end, when the reading task is cancelled, when the stream is dropped (a `break`), and
    by `aclose`.
    """

    def __init__(self, calls: Calls, ask: Callable[[], Iterator[T]]) -> None:
        self._calls = calls
        self._reader = _Reader(ask)
        self._ready: deque[T] = deque()
        self._error: Exception | None = None
        self._is_over = False
        self._coming: Task[_Chunk[T]] | None = None
        # In a thread, because it may call the store.
        self._dropped = weakref.finalize(self, calls.submit, self._reader.close)
        self._dropped.atexit = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while not self._ready:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._is_over:
                raise StopAsyncIteration
            await self._take_piece()
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Close the source of the results, and return when that is done; no results follow."""
        self._end()
        await self._calls.run(self._reader.close)

    async def _take_piece(self) -> None:
        task = self._coming or self._calls.submit(self._reader.piece)
        self._coming = task
        try:
            piece = await asyncio.wrap_future(task.future())
        except asyncio.CancelledError:
            self._end()
            raise
        if self._coming is not task:
            return  # it was closed, or another task has taken it
        self._coming = None
        self._ready.extend(piece.results)
        self._error = piece.error
        if piece.is_last:
            self._end(keep=True)
        elif piece.error is None:
            self._coming = self._calls.submit(self._reader.piece)

    def _end(self, *, keep: bool = False) -> None:
        """Drop the reader, and what it has read unless that is to be kept."""
        self._is_over = True
        self._coming = None
        if not keep:
            self._ready.clear()
            self._error = None
        self._dropped()


# --- Results ----------------------------------------------------------------------------------------------------------


class Results(Wrapped[SyncResults[T]], Generic[T]):
    """The answer to a question: `webtable.answers.Results`, for `async for`; methods that read are awaited.

    Nothing is read before. Each iteration asks the question again, and reads in pieces of up to 1,024 results or 8 MB
    of pages, one piece ahead; `damaged` has the rows that it could not read.
    """

    def __repr__(self) -> str:
        return repr(self._core)

    def __bool__(self) -> NoReturn:
        raise TypeError("whether an answer is empty has to be read: await answer.first()")

    def __aiter__(self) -> Stream[T]:
        return Stream(self._calls, lambda: iter(self._core))

    @property
    def question(self) -> str:
        """The question in words."""
        return self._core.question

    @property
    def columns(self) -> Columns:
        """The columns that it has, in frames, files and listings."""
        return self._core.columns

    @property
    def order(self) -> str:
        """The order of the results."""
        return self._core.order

    @property
    def limit(self) -> int | None:
        """The most results of an iteration."""
        return self._core.limit

    @property
    def as_of(self) -> datetime | None:
        """Up to when captures are in the answer; it reads the state of full text, as `webtable.Results.as_of` does."""
        return self._core.as_of

    @property
    def after(self) -> bytes | None:
        """The place after which the results begin."""
        return self._core.after

    @property
    def damaged(self) -> list[DamagedRow]:
        """The first 100 rows that the last iteration could not read."""
        return self._core.damaged

    def token_after(self, result: T) -> str:
        """Return the token that continues after *result*, one of the results of this answer."""
        return self._core.token_after(result)

    async def to_arrow(self, columns: Sequence[str] | None = None, *, names: ColumnNames = "webtable") -> pa.Table:
        """Return all results as an Arrow table: a reader would read from the store in the event loop.

        Raises as `webtable.answers.Results.to_arrow` does, and what the question raises.
        """
        return await self._calls.run(lambda: self._core.to_arrow(columns, names=names).read_all())

    head: Final = awaited(SyncResults[T].head)
    page: Final = awaited(SyncResults[T].page)
    explain: Final = awaited(SyncResults[T].explain)
    partitions: Final = awaited(SyncResults[T].partitions)
    first: Final = awaited(SyncResults[T].first)
    why_empty: Final = awaited(SyncResults[T].why_empty)
    count: Final = awaited(SyncResults[T].count)
    to_dicts: Final = awaited(SyncResults[T].to_dicts)
    to_pandas: Final = awaited(SyncResults[T].to_pandas)
    to_polars: Final = awaited(SyncResults[T].to_polars)
    to_parquet: Final = awaited(SyncResults[T].to_parquet)


class Hosts(Results[SyncHost]):
    """The hosts that have pages: `webtable.answers.Hosts`."""

    async def plot(self, by: Amount = "pages", *, ax: Axes | None = None) -> Axes:
        """Draw what `webtable.answers.Hosts.plot` draws, in the caller's thread, after reading all hosts.

        Drawing blocks the event loop. Raises what that method does.
        """
        from webtable.repository.answers.pictures import draw_hosts

        return draw_hosts(await self._calls.run(lambda: list(self._core)), by, ax)


def question(
    function: Callable[Concatenate[S, P], SyncResults[T]],
) -> Callable[Concatenate[Wrapped[S], P], Results[T]]:
    """*function*, whose answer is lazy, as a method whose answer is read with `async for`."""

    @wraps(function)
    def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> Results[T]:
        return Results(function(self._core, *args, **kwargs), self._calls)

    return method


def awaited_question(
    function: Callable[Concatenate[S, P], SyncResults[T]],
) -> Callable[Concatenate[Wrapped[S], P], Coroutine[Any, Any, Results[T]]]:
    """*function*, which reads before it answers, as a method whose answer is awaited first."""

    @wraps(function)
    async def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> Results[T]:
        return Results(await self._calls.run(partial(function, self._core, *args, **kwargs)), self._calls)

    return method


def hosts_question(
    function: Callable[Concatenate[S, P], SyncResults[SyncHost]],
) -> Callable[Concatenate[Wrapped[S], P], Hosts]:
    """*function*, whose answer is lazy, as a method whose answer has hosts, which can be drawn."""

    @wraps(function)
    def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> Hosts:
        return Hosts(function(self._core, *args, **kwargs), self._calls)

    return method


def streamed(function: Callable[Concatenate[S, P], Iterator[T]]) -> Callable[Concatenate[Wrapped[S], P], Stream[T]]:
    """*function*, which returns an iterator, as a method whose results are read with `async for`."""

    @wraps(function)
    def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> Stream[T]:
        return Stream(self._calls, partial(function, self._core, *args, **kwargs))

    return method
