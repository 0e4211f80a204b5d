"""The writer: it takes pages, stores them in batches in the background, and reports what became of each page."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from webtable._clock import clock
from webtable._process_hooks import generation
from webtable.errors import (
    ExpiredCapture,
    InvalidCapture,
    InvalidURL,
    OtherProcess,
    StoreUnavailable,
    WriteFailed,
    failed_together,
)
from webtable.page.page import Page
from webtable.repository.answers.arrow_pages import ArrowStream, pages_of
from webtable.repository.arguments import IN_FLIGHT, check_positive
from webtable.repository.metrics import WriterMetrics
from webtable.repository.writing import open_writers
from webtable.repository.writing.dispatch import Buffer, Dispatch
from webtable.repository.writing.outcomes import Callbacks, Dropped, Receipt, Receipts, RefusedRow, refused_rows
from webtable.repository.writing.spool import NotStored, Spool, Unsent, failed
from webtable.store.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from os import PathLike

    from webtable.repository.writing.batch import BatchWriter
    from webtable.repository.writing.outcomes import OutcomeCallback, PageOutcome, RetryCallback

MOST_ERRORS = 100  # of the caller's function, which the next flush raises


class Writer:
    """Stores pages; made by `WebTable.writer`.

    `put` takes a page into the buffer and returns at once. It waits only while *in_flight* batches are being stored, so
    memory is bounded by (*in_flight* + 1) times *buffer_bytes*. A batch is sent when its pages and their links take
    *buffer_bytes* of memory, when it has *buffer_pages* pages, or when its first page is *max_age* seconds old. A page
    is stored for good once *on_outcome* got its `PageOutcome` without an error, or `flush` has returned.

    Callbacks are called one after another, in any thread that is calling the writer, or in a thread of its own.

    `put`, `flush` and `close` wait at most the *timeout* of a call to the store, in seconds; then the pages that they
    wait for fail with `StoreUnavailable`. With a *deadline* they wait that many seconds instead, and pages that failed
    in this way are retried with backoff until that long after their batch was sent. Pages that the store or the table
    refuses are not retried.

    Leaving the `with` block flushes, also after an exception. Pages that were not stored are reported by `WriteFailed`:
    its `pages` has them, or its message names the file of the *spool*. Until then failed pages are kept in memory,
    which takes at most as much again. A writer that is left open is closed, with a `ResourceWarning`, when the
    interpreter exits. Many threads may use one writer. In a process forked from this one `put` and `flush` raise
    `OtherProcess`, and `close` does nothing.
    """

    def __init__(
        self,
        batch_writer: BatchWriter,
        *,
        timeout: float,
        buffer_bytes: int = 8 * 2**20,
        buffer_pages: int = 500,
        max_age: float = 5.0,
        in_flight: int = IN_FLIGHT,
        deadline: float | None = None,
        spool: str | PathLike[str] | None = None,
        on_outcome: OutcomeCallback | None = None,
        on_retry: RetryCallback | None = None,
    ) -> None:
        check_positive(buffer_bytes=buffer_bytes, buffer_pages=buffer_pages, max_age=max_age, deadline=deadline)
        self._frame = batch_writer.frame
        self._taken = batch_writer.taken
        self.name: str = self._frame.name
        self._timeout = timeout if deadline is None else deadline
        self._max_age = max_age
        self._lock = threading.RLock()
        self._counting = threading.Lock()
        self._buffer = Buffer(buffer_bytes, buffer_pages)
        self._outcomes = Callbacks(on_outcome)
        self._receipts = Receipts(self._check_process, self._send_batch, self._outcomes)
        self._failures: list[PageOutcome] = []
        # Without a spool, failed pages that the callback got are needed no longer.
        files = None if spool is None else Spool(spool)
        self._unsent = (
            None if on_outcome and spool is None else Unsent((in_flight + 1) * buffer_bytes, files, self._frame.log)
        )
        self._errors: list[Exception] = []
        self._generation = generation()
        self._closed = self._finished = False
        self.stored: int = 0
        """How many pages are stored, so far."""
        self.unchanged: int = 0
        """How many of them brought no new content: they repeat stored content, or were stored already."""
        self.dropped: Dropped = Dropped()
        """How many contents were dropped because of the limits of the table, so far."""
        self._dispatch = Dispatch(batch_writer, self._settle_receipts, in_flight, deadline, on_retry)
        self._wake = threading.Event()
        self._wanted = -1  # the number of the batch that a receipt waits for
        self._ageing = threading.Thread(target=self._flush_aged, name="webtable-writer-age", daemon=True)
        self._ageing.start()
        open_writers.remember(self)

    def put(self, page: Page) -> Receipt:
        """Take *page* to be stored, and return a receipt: a future of its `PageOutcome`.

        Raises, before anything is written, `InvalidURL`, `ExpiredCapture`, `FutureCapture` or `InvalidCapture` for a
        page that the table cannot keep, `InvalidArgument` if *page* is not a `Page`, and `StoreUnavailable` if the
        buffer stays full.
        """
        self._check_process()
        try:
            key, page, rows = self._taken(page)
        except ExpiredCapture:
            with self._counting:
                self.dropped.expired += 1
            raise
        deadline = Deadline(self._timeout)
        if not self._lock.acquire(timeout=deadline.left()):
            raise StoreUnavailable(
                f"{self.name}: the page was not taken: the buffer is full; no batch was stored for {self._timeout:g} s"
            )
        try:
            if self._closed and not self._outcomes.is_delivering():
                raise WriteFailed("the writer is closed")
            if self._buffer.is_before(key, page, rows):
                self._send(deadline)
            receipt = Receipt(page.url, self._buffer.number, self._receipts)
            self._buffer.take(key, page, rows, receipt)
            if self._buffer.is_full:
                self._send(deadline)
        finally:
            self._lock.release()
        if errors := self._outcomes.deliver():
            raise failed_together("the function on_outcome", errors)
        return receipt

    def put_many(self, pages: Iterable[Page] | ArrowStream) -> int:
        """Put *pages*, an iterable of pages or a table with a page in each row, and return how many there were.

        A table (with `hbase-webtable[arrow]`) has the Arrow PyCapsule protocol, as data frames of pandas and polars do,
        tables of pyarrow, and answers. Its columns are named like the fields of a page; `url` is required, `body` may
        be text, and what webtable computes itself (`host`, `changed_at`) is ignored. Of a table all rows are put that
        can be: then `WriteFailed` names the others, each with its reason in `failures`. Raises what `put` does for an
        iterable, `UnknownColumn` and `MissingExtra`.
        """
        refused: list[RefusedRow] = []
        count = 0
        for page in pages_of(pages, lambda *row: refused.append(RefusedRow(*row))):
            try:
                self.put(page)
            except (InvalidURL, InvalidCapture) as exc:
                if not hasattr(pages, "__arrow_c_stream__"):
                    raise
                # Without the traceback, which would keep all that the row has.
                refused.append(RefusedRow(count + len(refused) + 1, page.url, exc.with_traceback(None)))
            else:
                count += 1
        if refused:
            raise refused_rows(refused, count + len(refused))
        return count

    def put_not_modified(
        self, url: str, fetched_at: datetime | None = None, headers: Mapping[str, str] | None = None
    ) -> Receipt:
        """Put that the server of *url* said "not modified" (status 304) at *fetched_at*, by default now.

        A page that is not stored yet gets no content. *headers* are those of the response. Raises what `put` does.
        """
        moment = clock.now() if fetched_at is None else fetched_at
        return self.put(Page(url=url, status=304, same_as=url, fetched_at=moment, headers=headers or {}))

    def flush(self) -> None:
        """Store everything that was put, and return when it is stored; raises `WriteFailed` for pages that were not.

        A page is reported once: the next flush raises only for pages that were put after this one. Exceptions of
        *on_outcome* are raised too; several errors are raised as an `ExceptionGroup`.
        """
        self._check_process()
        deadline = Deadline(self._timeout)
        raised: list[Exception] = []
        while True:
            # A thread that holds the lock waits for one of these batches.
            self._dispatch.hasten(deadline)
            with self._lock:
                self._send(deadline)
                while self._dispatch:
                    self._settle_first(deadline)
            raised += self._outcomes.deliver(wait=True)
            with self._lock:
                # The callback may have put more pages.
                if not (self._buffer.pages or self._dispatch):
                    # First, because an interrupt may come while the spool is written.
                    left = NotStored([], [], None) if self._unsent is None else self._unsent.taken()
                    failures, self._failures = self._failures, []
                    errors, self._errors = self._errors, []
                    break
        if errors := [*([failed(failures, left)] if failures or left.error else []), *errors, *raised]:
            raise failed_together(f"{self.name}: a writer", errors)

    def give_up_after(self, seconds: float) -> None:
        """Wait at most *seconds* for the store from now on: the process has to end. A signal handler may call it."""
        check_positive(seconds=seconds)
        self._timeout = min(self._timeout, seconds)
        self._dispatch.give_up_after(seconds)

    def close(self) -> None:
        """Flush, and stop the writer; raises what `flush` does, once everything that can be stored is stored.

        Further calls do nothing, except that a call after an interrupted one completes it.
        """
        if self._is_inherited():
            return
        with self._lock:
            if self._finished:
                return
            self._closed = True
        self._wake.set()
        try:
            self.flush()
        except Exception:
            self._finish()
            raise
        self._finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def metrics(self) -> WriterMetrics:
        """How many pages, bytes and batches the writer holds now; zeros if it is closed, or another process's."""
        if self._finished or self._is_inherited():
            return WriterMetrics(0, 0, 0, 0)
        return self._dispatch.metrics(self._buffer)

    def _is_inherited(self) -> bool:
        """Whether this process was forked from the one of the writer, which has the threads that store its pages."""
        return self._generation != generation()

    def _check_process(self) -> None:
        """Raise `OtherProcess` in a process that was forked from the writer's."""
        if self._is_inherited():
            raise OtherProcess(f"{self.name}: this writer is of the parent process; make one here, with table.writer()")

    def _send_batch(self, number: int) -> None:
        """Have the batch with this *number* sent now, if it still waits for more pages."""
        if number != self._buffer.number:
            return
        self._wanted = number
        if self._closed or self._outcomes.is_delivering():
            # The thread that would send it has ended, or is this one.
            with self._lock:
                if number == self._buffer.number:
                    self._send(Deadline(self._timeout))
        else:
            # Not here: waiting for a place may take longer than the caller wants to wait.
            self._wake.set()

    def _finish(self) -> None:
        with self._lock:
            self._finished = True
        open_writers.forget(self)
        self._dispatch.close()

    def _send(self, deadline: Deadline) -> None:
        if not self._buffer.pages:
            return
        # Room first: the number of batches in flight is bounded, and `put` waits for a place.
        while not self._dispatch.has_room_for(self._buffer):
            self._settle_first(deadline)
        self._dispatch.send(self._buffer)
        # Last, so that an interrupt while it waits leaves the pages where the next flush finds them.
        self._buffer = self._buffer.following()

    def _settle_first(self, deadline: Deadline) -> None:
        """Wait for the first batch in flight; pages that are not stored by *deadline* fail."""
        outcomes = self._dispatch.settle_first(deadline)
        with self._counting:
            for outcome in outcomes:
                self.dropped.note(outcome)
                if outcome.error is None:
                    self.stored += 1
                    self.unchanged += not outcome.is_new
                elif not self._outcomes.has_callback:
                    self._failures.append(outcome)
        self._outcomes.add(outcomes)

    def _settle_receipts(self, buffer: Buffer, outcomes: list[PageOutcome]) -> None:
        # Before a failure is reported: then the pages are in the spool, even if the process is killed.
        if self._unsent is not None:
            self._unsent.add((page for _, page in buffer.pages), outcomes)
        if self._receipts.settle(buffer.receipts, outcomes):
            self._wake.set()

    def _flush_aged(self) -> None:
        while True:
            self._wake.wait(self._max_age / 4)
            if self._closed:
                return  # the thread that closes the writer sends the rest
            self._wake.clear()
            # Exceptions of callbacks here are raised by the next flush.
            self._note(self._outcomes.deliver())
            with self._lock:
                if self._buffer.is_older(self._max_age) or (self._buffer.pages and self._buffer.number == self._wanted):
                    self._send(Deadline(self._timeout))
                while self._dispatch.is_first_done():
                    self._settle_first(Deadline(self._timeout))
            self._note(self._outcomes.deliver())

    def _note(self, errors: list[Exception]) -> None:
        self._errors += errors[: MOST_ERRORS - len(self._errors)]
