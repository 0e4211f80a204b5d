"""Thread pool that works while the interpreter shuts down, and that a forked child never waits for."""

from __future__ import annotations

import os
import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Generic, TypeVar

from webtable._process_hooks import renew_after_fork
from webtable.errors import OtherProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
A = TypeVar("A")


class Task(Generic[T]):
    """A job that was submitted to `Threads`."""

    __slots__ = ("_future", "_process")

    def __init__(self, future: Future[T]) -> None:
        self._future = future
        self._process = os.getpid()

    def result(self, timeout: float | None = None) -> T:
        """The result of the job; raises what it raised, `TimeoutError` after *timeout* seconds.

        Raises `OtherProcess` in a process that was forked since then: it does not have the thread of the job.
        """
        return self.future().result(timeout)

    def future(self) -> Future[T]:
        """Return the job as a future of the standard library; raises `OtherProcess` as `result` does."""
        if self._process != os.getpid():
            raise OtherProcess("this was begun by the parent process, before the fork: begin it again in this process")
        return self._future

    def done(self) -> bool:
        """Whether the job has ended, or this process was forked since then."""
        return self._future.done()

    def cancel(self) -> bool:
        """Cancel the job if it has not begun; return whether it will never begin."""
        return self._future.cancel()

    def wait(self) -> None:
        """Wait until the job has ended or failed; return at once in a process that was forked since then."""
        if self._process == os.getpid():
            with suppress(CancelledError):
                self._future.exception()


class Threads:
    """At most *count* threads, started when they are needed.

    While the interpreter shuts down no thread can be started (Python 3.12 and later), and executors accept no jobs: a
    job that is submitted then runs at once, in the submitting thread. A job sees the context variables of its
    submitter.
    """

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._name = name
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        renew_after_fork(self)

    def submit(self, job: Callable[[], T]) -> Task[T]:
        """Start *job*."""
        context, future = copy_context(), Future[T]()

        def run() -> None:
            # An executor that cannot start a thread has queued the job anyway: it may run this twice.
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(context.run(job))
                except BaseException as exc:  # noqa: BLE001 - it is raised by `result`
                    future.set_exception(exc)

        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._count, self._name)
            try:
                self._executor.submit(run)
                return Task(future)
            except RuntimeError:  # the interpreter shuts down: "cannot schedule new futures", "can't start new thread"
                pass
        run()
        return Task(future)

    def map(self, job: Callable[[A], T], items: Iterable[A]) -> list[T]:
        """Return `job(item)` for each of *items*; raises the first error, after all have ended."""
        tasks = [self.submit(lambda item=item: job(item)) for item in items]  # type: ignore[misc]
        for task in tasks:
            task.wait()
        return [task.result() for task in tasks]

    def close(self, *, wait: bool = True) -> None:
        """End the threads after the jobs that were submitted; with *wait* return when they have ended."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait)

    def after_fork(self) -> None:
        """Drop the threads, which only the parent has."""
        self._lock = threading.Lock()
        self._executor = None
