"""The writer: takes pages, stores them in batches in the background, and says of each what became of it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Self

from msgspec.structs import replace

from webtable.errors import InvalidArgument, WebTableError, WriteFailed
from webtable.extract import extract, is_html
from webtable.page import Page, PageOutcome
from webtable.repository.captures import checked

if TYPE_CHECKING:
    from types import TracebackType

    from webtable.repository.batch import BatchWriter, Prepared

OutcomeCallback = Callable[[PageOutcome], None]


class _UnderWay(NamedTuple):
    """A batch that was sent off: the rows that it reads and writes, and what becomes of its pages."""

    rows: frozenset[bytes]
    outcomes: Future[list[PageOutcome]]


class Writer:
    """Stores pages; made by `WebTable.writer`.

    `put` takes a page into the buffer and returns at once; it waits only while two batches are on their way, so the
    memory is bounded by three times *buffer_bytes*. A batch goes out when the buffer holds *buffer_bytes* of bodies or
    *buffer_pages* pages, or when its first page is *max_age* seconds old. A page is stored, and stays stored, once its
    `PageOutcome` without an error was given to *on_outcome*, or `flush` has returned.

    Leaving the `with` block flushes, also on an exception; pages that were not stored are raised as `WriteFailed`.
    A writer may be used by many threads.
    """

    def __init__(
        self,
        batch_writer: BatchWriter,
        *,
        ttl: int | None,
        buffer_bytes: int = 8 * 2**20,
        buffer_pages: int = 500,
        max_age: float = 5.0,
        on_outcome: OutcomeCallback | None = None,
    ) -> None:
        for name, value in (("buffer_bytes", buffer_bytes), ("buffer_pages", buffer_pages), ("max_age", max_age)):
            if not isinstance(value, int | float) or value <= 0:
                raise InvalidArgument(f"{name}={value!r} must be above 0")
        self._batch_writer = batch_writer
        self._ttl = ttl
        self._limits = (buffer_bytes, buffer_pages)
        self._max_age = max_age
        self._on_outcome = on_outcome
        self._lock = threading.RLock()
        self._buffer: list[tuple[bytes, Page]] = []
        self._rows: set[bytes] = set()
        self._bytes = 0
        self._oldest = 0.0
        self._failures: list[PageOutcome] = []
        self._outcomes: deque[PageOutcome] = deque()
        self._delivering = threading.Lock()
        self._deliverer: int | None = None
        self._error: Exception | None = None
        self._closed = False
        self._finished = False
        self.stored = 0
        """How many pages are stored, so far."""
        self.unchanged = 0
        """How many of them brought no new content: captures that repeat what was stored, or were there already."""
        # One batch is compressed while the one before it is sent; each one after another, so that two captures of a
        # page cannot overtake each other.
        self._preparing = ThreadPoolExecutor(1, thread_name_prefix="webtable-prepare")
        self._storing = ThreadPoolExecutor(1, thread_name_prefix="webtable-store")
        self._under_way: list[_UnderWay] = []
        self._stop_ageing = threading.Event()
        self._ageing = threading.Thread(target=self._flush_aged, name="webtable-writer-age", daemon=True)
        self._ageing.start()

    def put(self, page: Page) -> None:
        """Take *page* to be stored.

        Raises, before anything is written, `InvalidURL`, `ExpiredCapture`, `FutureCapture` or `InvalidCapture` for a
        page that the table cannot keep.
        """
        if not isinstance(page, Page):
            raise InvalidArgument(f"page={page!r} must be a webtable.Page")
        key, page = self._batch_writer.keyed(page)
        page = self._extracted(checked(page, ttl=self._ttl, now=datetime.now(UTC)))
        rows = self._batch_writer.rows_of(key, page)
        with self._lock:
            if self._closed and self._deliverer != threading.get_ident():
                raise WriteFailed("the writer is closed")
            # What becomes of a capture depends on what is stored of its page, so that must be stored first.
            if not self._rows.isdisjoint(rows):
                self._send()
            if not self._buffer:
                self._oldest = time.monotonic()
            self._buffer.append((key, page))
            self._rows.update(rows)
            self._bytes += 1_000 + len(page.html or b"") + 100 * len(page.outlinks or ())
            if self._bytes >= self._limits[0] or len(self._buffer) >= self._limits[1]:
                self._send()
        self._deliver()

    def flush(self) -> None:
        """Store all that was put, and return when it is; raises `WriteFailed` for the pages that were not stored.

        A page is reported once: the next flush raises only for pages put after this one.
        """
        while True:
            with self._lock:
                self._send()
                while self._under_way:
                    self._settle_first()
            self._deliver(wait=True)
            with self._lock:
                # The caller's function may have put more.
                if not (self._buffer or self._under_way):
                    failures, self._failures = self._failures, []
                    error, self._error = self._error, None
                    break
        if failures:
            raise failed(failures)
        if error is not None:
            raise error

    def close(self) -> None:
        """Flush, and stop the writer; raises `WriteFailed` as `flush` does.

        Once it is through, further calls do nothing; one that was interrupted is taken up again by the next.
        """
        with self._lock:
            if self._finished:
                return
            self._closed = True
        self._stop_ageing.set()
        try:
            self.flush()
        except WriteFailed:
            self._finish()
            raise
        self._finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _extracted(self, page: Page) -> Page:
        known = page.title is not None and page.outlinks is not None
        if page.html is None or known or not (page.content_type is None or is_html(page.content_type)):
            return page
        found = extract(page.html, page.url, page.charset)
        return replace(
            page,
            title=found.title if page.title is None else page.title,
            outlinks=found.outlinks if page.outlinks is None else page.outlinks,
            charset=page.charset or found.charset,
        )

    def _finish(self) -> None:
        with self._lock:
            self._finished = True
        self._preparing.shutdown()
        self._storing.shutdown()
        self._batch_writer.close()

    def _send(self) -> None:
        if not self._buffer:
            return
        # Room first: what is on its way is bounded, and `put` is what waits. So does a batch for one under way that
        # has a page in common with it.
        while len(self._under_way) >= 2 or any(not self._rows.isdisjoint(other.rows) for other in self._under_way):
            self._settle_first()
        batch = self._buffer
        prepared = self._preparing.submit(self._batch_writer.prepare, batch)
        outcomes = self._storing.submit(self._store, batch, prepared)
        self._under_way.append(_UnderWay(frozenset(self._rows), outcomes))
        # Last, so that an interrupt while it waits leaves the pages where the next flush finds them.
        self._buffer, self._rows, self._bytes = [], set(), 0

    def _store(self, batch: Sequence[tuple[bytes, Page]], prepared: Future[Prepared]) -> list[PageOutcome]:
        error: WebTableError
        try:
            return self._batch_writer.store(prepared.result())
        except WebTableError as exc:
            error = exc
        except Exception as exc:  # noqa: BLE001 - whatever it is, no page may be lost without a word
            error = WriteFailed(f"unexpectedly: {exc!r}")
        return [PageOutcome(page.url, page.fetched_at, error, is_new=False) for _, page in batch]

    def _settle_first(self) -> None:
        outcomes = self._under_way[0].outcomes.result()
        del self._under_way[0]
        for outcome in outcomes:
            if outcome.error is None:
                self.stored += 1
                self.unchanged += not outcome.is_new
            elif self._on_outcome is None:
                self._failures.append(outcome)
        if self._on_outcome is not None:
            self._outcomes.extend(outcomes)

    def _deliver(self, *, wait: bool = False) -> None:
        """Give the outcomes to the caller's function, outside the writer's lock: it may put pages itself."""
        # This thread may be at it further up, which then goes on to the last of them.
        if self._on_outcome is None or self._deliverer == threading.get_ident():
            return
        if self._outcomes and self._delivering.acquire(blocking=wait):
            self._deliverer = threading.get_ident()
            try:
                while self._outcomes:
                    self._on_outcome(self._outcomes.popleft())
            finally:
                self._deliverer = None
                self._delivering.release()

    def _flush_aged(self) -> None:
        while not self._stop_ageing.wait(self._max_age / 4):
            with self._lock:
                if self._buffer and time.monotonic() - self._oldest >= self._max_age:
                    self._send()
                while self._under_way and self._under_way[0].outcomes.done():
                    self._settle_first()
            try:
                self._deliver()
            except Exception as exc:  # noqa: BLE001 - the caller's function raised it: the next flush does
                self._error = self._error or exc


def failed(failures: Sequence[PageOutcome]) -> WriteFailed:
    """Return the error that names pages which were not stored."""
    reasons = "; ".join(f"{failure.url[:100]}: {failure.error}" for failure in failures[:3])
    more = f"; and {len(failures) - 3:,} more" if len(failures) > 3 else ""
    return WriteFailed(f"{len(failures):,} page{'s'[: len(failures) > 1]} not stored: {reasons}{more}", failures)
