"""The store's threads: independent calls at once, as many as there are connections."""

from __future__ import annotations

import os
import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

from webtable.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

T = TypeVar("T")
A = TypeVar("A")


class Workers:
    """At most *count* threads, started when they are needed.

    A job that hands out jobs itself runs those in its own thread, so threads never wait for each other.
    """

    def __init__(self, count: int, name: str) -> None:
        self._name = name
        self._count = count
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._here = threading.local()
        self._closed = False
        self._process = os.getpid()

    def map(self, job: Callable[[A], T], items: Sequence[A]) -> list[T]:
        """Return `job(item)` for each of *items*; when all are done, raises the first error of any."""
        if len(items) < 2 or self.is_worker():
            return [job(item) for item in items]
        futures = [self.submit(lambda item=item: job(item)) for item in items[1:]]  # type: ignore[misc]
        try:
            first = job(items[0])
        finally:
            wait(futures)
        return [first, *map(self.result, futures)]

    def each(self, jobs: Iterable[Callable[[], None]]) -> None:
        """Run all *jobs*; when all are done, raises the first error of any."""
        self.map(lambda job: job(), list(jobs))

    def is_worker(self) -> bool:
        """Whether this is one of the threads."""
        return getattr(self._here, "worker", False)

    def result(self, future: Future[T]) -> T:
        """Return what the job of *future* returned; raises `StoreError` where the store was closed before it began."""
        try:
            return future.result()
        except CancelledError as exc:
            raise StoreError(f"{self._name}: the store is closed") from exc

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Start *job* and return its future."""
        with self._lock:
            if self._closed:
                raise StoreError(f"{self._name}: the store is closed")
            if self._executor is None or os.getpid() != self._process:  # threads do not outlive a fork
                self._process = os.getpid()
                self._executor = ThreadPoolExecutor(self._count, "webtable-hbase", self._mark)
            return self._executor.submit(job)

    def close(self) -> None:
        """Let the threads end when they have done what they were given."""
        with self._lock:
            self._closed = True
            if self._executor is not None:
                self._executor.shutdown(wait=False, cancel_futures=True)

    def _mark(self) -> None:
        self._here.worker = True
