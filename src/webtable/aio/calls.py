"""Calls of the synchronous library from asyncio: each runs in a thread, so that it does not block the event loop.

An object that is opened in a thread is used in an `async with` block, or awaited. If a caller is cancelled, an error
of its call is raised by a later call, so that every lost page is reported.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from webtable._process_hooks import renew_after_fork
from webtable._threads import Threads
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from concurrent.futures import Future
    from types import TracebackType

    from webtable._threads import Task

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

    async def run(self, job: Callable[[], T], left: Callable[[Future[T]], object] | None = None) -> T:
        """Return what *job* returns, or raise what it raises.

        If the caller is cancelled, a job that has not begun is cancelled too; one that has begun runs to its end in its
        thread, and *left* is called with its future, which nobody else has.
        """
        future = self._threads.submit(job).future()
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if left is not None:
                left(future)
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
    """Return *function* as an awaitable method with the same arguments."""

    @wraps(function)
    async def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._calls.run(partial(function, self._core, *args, **kwargs))

    return method


class Missed:
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
            taken = [one for one in self._calls if (one[1].done() if one[0] is owner else also_others)]
            self._calls = [one for one in self._calls if one not in taken]
        found = [_error(call) for _, call in taken]
        return [error for error in found if error is not None]


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


class ClosingCore(Protocol):
    """The same in the synchronous library."""

    def close(self) -> None:
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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()


def close_unasked(future: Future[Any]) -> None:
    """Close what *future* opens as soon as it is open: its caller no longer waits for it."""
    future.add_done_callback(_close)


def _close(future: Future[Any]) -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().close()
