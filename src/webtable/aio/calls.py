"""Calls of the synchronous library from a loop of asyncio: they are made in threads, so that no loop waits for them."""

from __future__ import annotations

import asyncio
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from webtable._threads import Threads
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

    from webtable._threads import Task

THREADS = 8
"""In how many threads a table is called at once, unless its caller says otherwise."""

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
"""What is wrapped: a class of the synchronous library."""


def checked_threads(threads: int) -> int:
    """Return *threads*; raises `InvalidArgument` where it is no number above 0."""
    if type(threads) is not int or threads < 1:
        raise InvalidArgument(f"threads={threads!r} must be a number of threads above 0")
    return threads


class Calls:
    """The threads in which one table, or one writer, is called: at most *count*; more calls wait for their turn.

    They belong to no loop: what is called from one can be called from another later.
    """

    def __init__(self, count: int, name: str) -> None:
        self._threads = Threads(count, name)

    def submit(self, job: Callable[[], T]) -> Task[T]:
        """Start *job*."""
        return self._threads.submit(job)

    async def run(self, job: Callable[[], T], left: Callable[[Future[T]], object] | None = None) -> T:
        """Return what *job* returns, or raise what it raises.

        Where the caller is cancelled a job that has not begun is taken back; one that has comes to its end in its
        thread, and *left* is given the future of what becomes of it, since nobody else is.
        """
        future = self._threads.submit(job).future()
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if left is not None:
                left(future)
            raise

    def close(self) -> None:
        """Let the threads end when they have done what they were given; returns at once."""
        self._threads.close(wait=False)


class Wrapped(Generic[S]):
    """Something of the synchronous library, and the threads in which its methods are called."""

    def __init__(self, core: S, calls: Calls) -> None:
        self._core = core
        self._calls = calls


def awaited(function: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[Wrapped[S], P], Coroutine[Any, Any, T]]:
    """Return the method *function* as one that is awaited, with the same arguments."""

    @wraps(function)
    async def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._calls.run(partial(function, self._core, *args, **kwargs))

    return method
