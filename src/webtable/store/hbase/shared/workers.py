"""The threads of the store, which make independent calls concurrently, one for each connection."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from webtable._threads import Threads
from webtable.errors import StoreError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from webtable._threads import Task
    from webtable.store.deadline import Deadline

T = TypeVar("T")
A = TypeVar("A")


class Workers:
    """At most *count* threads, started when they are needed.

    A job that submits jobs itself runs those in its own thread, and a thread that waits for a job that has not begun
    runs it itself, so nothing waits for a free thread: jobs end at their own deadlines.
    """

    def __init__(self, count: int, name: str) -> None:
        self._name = name
        self._threads: Threads | None = Threads(count, "webtable-hbase")
        self._here = threading.local()

    def map(self, job: Callable[[A], T], items: Sequence[A]) -> list[T]:
        """Return `job(item)` for each of *items*; raises the first error, after all jobs have ended."""
        if len(items) < 2 or self.is_worker():
            return [job(item) for item in items]
        tasks = [self.submit(lambda item=item: job(item)) for item in items[1:]]  # type: ignore[misc]
        try:
            first = job(items[0])
            # The threads take the jobs in order; at the other end are more jobs that have not begun.
            here = {place: job(items[place + 1]) for place in reversed(range(len(tasks))) if tasks[place].cancel()}
            return [first, *(here[place] if place in here else task.result() for place, task in enumerate(tasks))]
        except BaseException as exc:
            for task in tasks:
                task.cancel()
            if isinstance(exc, Exception):  # an interrupt does not wait
                for task in tasks:
                    task.wait()
            raise

    def in_runs(self, job: Callable[[Sequence[A]], list[T]], items: Sequence[A], size: int) -> list[T]:
        """Return the joined results of *job* for runs of *size* items; raises as `map` does."""
        runs = [items[at : at + size] for at in range(0, len(items), size)]
        return list(chain.from_iterable(self.map(job, runs)))

    def each(self, jobs: Iterable[Callable[[], None]]) -> None:
        """Run all *jobs*; raises the first error, after all have ended."""
        self.map(lambda job: job(), list(jobs))

    def is_worker(self) -> bool:
        """Whether this is one of the threads."""
        return getattr(self._here, "worker", False)

    def submit(self, job: Callable[[], T]) -> Task[T]:
        """Start *job*."""
        threads = self._threads
        if threads is None:
            raise StoreError(f"{self._name}: the store is closed")

        def marked() -> T:
            before, self._here.worker = self.is_worker(), True
            try:
                return job()
            finally:
                self._here.worker = before

        return threads.submit(marked)

    def result(self, task: Task[T], deadline: Deadline) -> T:
        """Return what the job returned; raises `StoreUnavailable` if it has not ended by *deadline*."""
        try:
            return task.result(deadline.left())
        except CancelledError as exc:
            raise StoreError(f"{self._name}: the store is closed") from exc
        except TimeoutError as exc:
            raise StoreUnavailable(f"{self._name}: a piece that is read ahead has not come in time") from exc

    def close(self) -> None:
        """Refuse further jobs. The threads end after their current jobs, which fail if they need a connection."""
        self._threads = None
