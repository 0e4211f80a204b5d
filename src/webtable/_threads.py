"""Threads that do what they are given also while the interpreter ends, and are never waited for in a forked child."""

from __future__ import annotations

import os
import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Generic, TypeVar

from webtable._forks import renew_after_fork
from webtable.errors import OtherProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
A = TypeVar("A")


class Task(Generic[T]):
    """A job that was given to `Threads`."""

    __slots__ = ("_future", "_process")

    def __init__(self, future: Future[T]) -> None:
        self._future = future
        self._process = os.getpid()

    def result(self, timeout: float | None = None) -> T:
        """Return what the job returned, or raise what it raised; `TimeoutError` after *timeout* seconds.

        Raises `OtherProcess` in a process that was forked since: the thread that had the job is not there.
        """
        return self.future().result(timeout)

    def future(self) -> Future[T]:
        """Return the job as a future of the standard library; raises `OtherProcess` as `result` does."""
        if self._process != os.getpid():
            raise OtherProcess("this was begun by the process that this one was forked from: begin it anew here")
        return self._future

    def done(self) -> bool:
        """Whether there is nothing to wait for."""
        return self._future.done()

    def cancel(self) -> bool:
        """Take the job back if it has not begun, and return whether it will never begin."""
        return self._future.cancel()

    def wait(self) -> None:
        """Return when the job has ended, however it did; at once in a process that was forked since."""
        if self._process == os.getpid():
            try:
                self._future.exception()
            except CancelledError:
                return


class Threads:
    """At most *count* threads, started when they are needed.

    While the interpreter ends no thread can be started any more (Python 3.12 and later), and executors take no more
    jobs: from then on a job is done at once, in the thread that submits it. A job sees the context variables of
    whoever submitted it.
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
            # An executor that cannot start a thread has queued the job all the same: it may come here twice.
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(context.run(job))
                except BaseException as exc:  # noqa: BLE001 - it is raised where the result is asked for
                    future.set_exception(exc)

        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._count, self._name)
            try:
                self._executor.submit(run)
                return Task(future)
            except RuntimeError:  # the interpreter ends: "cannot schedule new futures", or "can't start new thread"
                pass
        run()
        return Task(future)

    def map(self, job: Callable[[A], T], items: Iterable[A]) -> list[T]:
        """Return `job(item)` for each of *items*; when all are done, raises the first error of any."""
        tasks = [self.submit(lambda item=item: job(item)) for item in items]  # type: ignore[misc]
        for task in tasks:
            task.wait()
        return [task.result() for task in tasks]

    def close(self, *, wait: bool = True) -> None:
        """Let the threads end when they have done what they were given, and *wait* for that."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait)

    def after_fork(self) -> None:
        """Forget the threads: they are the parent's."""
        self._lock = threading.Lock()
        self._executor = None
