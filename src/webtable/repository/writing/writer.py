"""The writer: takes pages, stores them in batches in the background, and says of each what became of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from webtable._forks import renew_after_fork
from webtable.errors import ExpiredCapture, OtherProcess, StoreUnavailable, WriteFailed, failed_together
from webtable.repository.answers.arrow_pages import ArrowStream, pages_of
from webtable.repository.arguments import IN_FLIGHT, check_positive
from webtable.repository.metrics import WriterMetrics
from webtable.repository.writing import open_writers
from webtable.repository.writing.capture_checks import taken
from webtable.repository.writing.dispatch import Buffer, Dispatch
from webtable.repository.writing.outcomes import Callbacks, Dropped, OutcomeCallback, PageOutcome, Receipt, Receipts
from webtable.repository.writing.spool import Left, Spool, Unsent, failed
from webtable.store.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike
    from types import TracebackType

    from webtable._page.page import Page
    from webtable.repository.writing.batch import BatchWriter

MOST_ERRORS = 100
"""How many exceptions of the caller's function are kept for the next flush."""


class Writer:
    """Stores pages; made by `WebTable.writer`.

    `put` takes a page into the buffer and returns at once; it waits only while *in_flight* batches are on their way, so
    the memory is bounded by (*in_flight* + 1) times *buffer_bytes*. A batch goes out when its pages, with their links,
    take *buffer_bytes* in all while they are written, or are *buffer_pages*, or when its first page is *max_age*
    seconds old. A page is stored, and stays stored, once its `PageOutcome` without an error was given to *on_outcome*,
    or `flush` has returned.

    `put` returns a `Receipt`, for those who want to know of one page. Functions that are told of outcomes or receipts
    are called one after another, in any thread that is in the writer, or in one of its own.

    `put`, `flush` and `close` wait as long as one call of the store may take, its *timeout* in seconds: then what they
    wait for has failed with `StoreUnavailable`. With a *deadline* it is that many seconds, and pages that failed in
    this way are tried again, with growing pauses, until so long after their batch was sent; what the store or the table
    refuses is not.

    Leaving the `with` block flushes, also on an exception; pages that were not stored are raised as `WriteFailed`,
    whose `pages` has them, or whose message names the file of the *spool*. Until then the pages that have failed are
    held, which takes as much memory again at most.

    A writer that is left open is closed when the interpreter ends, with a `ResourceWarning`. A writer may be used by
    many threads; in a process that is forked from this one `put` and `flush` raise `OtherProcess`, and `close` does
    nothing.
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
    ) -> None:
        check_positive(buffer_bytes=buffer_bytes, buffer_pages=buffer_pages, max_age=max_age, deadline=deadline)
        self._frame = batch_writer.frame
        self.name = self._frame.name
        self._timeout = timeout if deadline is None else deadline
        self._max_age = max_age
        self._lock = threading.RLock()
        self._counting = threading.Lock()
        self._buffer = Buffer(buffer_bytes, buffer_pages)
        self._outcomes = Callbacks(on_outcome)
        self._receipts = Receipts(self, self._outcomes)
        self._failures: list[PageOutcome] = []
        room = (in_flight + 1) * buffer_bytes
        # Where the caller was told of a page, and there is no spool, nothing asks for it any more.
        files = None if spool is None else Spool(spool)
        self._unsent = None if on_outcome and spool is None else Unsent(room, files, self._frame.tell)
        self._errors: list[Exception] = []
        self._is_inherited = False
        self._closed = False
        self._finished = False
        self.stored = 0
        """How many pages are stored, so far."""
        self.unchanged = 0
        """How many of them brought no new content: captures that repeat what was stored, or were there already."""
        self.dropped = Dropped()
        """How many contents the limits of the table have dropped, so far."""
        self._dispatch = Dispatch(batch_writer, self._settle_receipts, in_flight=in_flight, deadline=deadline)
        self._wake = threading.Event()
        self._wanted = -1
        """The batch that somebody waits for."""
        self._ageing = threading.Thread(target=self._flush_aged, name="webtable-writer-age", daemon=True)
        self._ageing.start()
        renew_after_fork(self)
        open_writers.remember(self)

    def put(self, page: Page) -> Receipt:
        """Take *page* to be stored, and return a receipt that tells what became of it, to whoever asks.

        Raises, before anything is written, `InvalidURL`, `ExpiredCapture`, `FutureCapture` or `InvalidCapture` for a
        page that the table cannot keep, `InvalidArgument` for what is no page, and `StoreUnavailable` where no place in
        the buffer came free in time.
        """
        self.check_process()
        try:
            key, page, rows = taken(page, self._frame.key, self._frame.layouts)
        except ExpiredCapture:
            with self._counting:
                self.dropped.expired += 1
            raise
        deadline = Deadline(self._timeout)
        if not self._lock.acquire(timeout=deadline.left()):
            raise StoreUnavailable(
                f"{self.name}: the page was not taken: the buffer is full, and for "
                f"{self._timeout:g} s no batch of it was stored"
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
        """Put *pages*, and return how many they were: any number of them, or a table with a row for each.

        A table is what speaks the Arrow PyCapsule protocol: a data frame of pandas or polars, a table or a reader of
        pyarrow, an answer of webtable. Its columns are named as the fields of a page, `url` at least; `body` may be
        text. Columns that webtable makes itself (`host`, `changed_at`) are passed over. Needs `hbase-webtable[arrow]`.
        Raises what `put` does, `UnknownColumn`, `MissingExtra`, and `InvalidArgument` for a row that is no page; what
        comes in front of it is put.
        """
        count = 0
        for count, page in enumerate(pages_of(pages), 1):  # noqa: B007 - it is what is left of the loop
            self.put(page)
        return count

    def flush(self) -> None:
        """Store all that was put, and return when it is; raises `WriteFailed` for the pages that were not stored.

        A page is reported once: the next flush raises only for pages put after this one. What *on_outcome* has raised
        comes with it; of several errors an `ExceptionGroup` is made.
        """
        self.check_process()
        deadline = Deadline(self._timeout)
        raised: list[Exception] = []
        while True:
            # Whoever has the lock waits for one of these.
            self._dispatch.hasten(deadline)
            with self._lock:
                self._send(deadline)
                while self._dispatch:
                    self._settle_first(deadline)
            raised += self._outcomes.deliver(wait=True)
            with self._lock:
                # The caller's function may have put more.
                if not (self._buffer.pages or self._dispatch):
                    # First, for an interrupt may come while it is written.
                    left = Left([], [], None) if self._unsent is None else self._unsent.taken()
                    failures, self._failures = self._failures, []
                    errors, self._errors = self._errors, []
                    break
        errors = [*([failed(failures, left)] if failures or left.error else []), *errors, *raised]
        if errors:
            raise failed_together(f"{self.name}: a writer", errors)

    def close(self) -> None:
        """Flush, and stop the writer; raises as `flush` does, when all that can be stored is stored.

        Once it is through, further calls do nothing; one that was interrupted is taken up again by the next.
        """
        if self._is_inherited:
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def after_fork(self) -> None:
        """Leave the pages to the parent, which has the threads that store them."""
        self._is_inherited = True
        self._lock = threading.RLock()
        self._outcomes.after_fork()
        self._receipts.after_fork()
        open_writers.forget(self)

    def held(self) -> WriterMetrics:
        """Return what is held here; nothing by one that is closed, or of the process that this one was forked from."""
        if self._finished or self._is_inherited:
            return WriterMetrics(0, 0, 0, 0)
        return self._dispatch.held(self._buffer)

    def check_process(self) -> None:
        """Raise `OtherProcess` in a process that was forked from the writer's."""
        if self._is_inherited:
            raise OtherProcess(
                f"{self.name}: this writer belongs to the process that this one was forked from; "
                "make a new one here, with table.writer()"
            )

    def send_batch(self, number: int) -> None:
        """Have the batch of this *number* sent off now, if it still waits to be full."""
        if number != self._buffer.number:
            return
        self._wanted = number
        if self._closed or self._outcomes.is_delivering():
            # The thread that would send it has ended, or it may be this one.
            with self._lock:
                if number == self._buffer.number:
                    self._send(Deadline(self._timeout))
        else:
            # Not here: to wait for a place takes longer than the caller may want to wait.
            self._wake.set()

    def _finish(self) -> None:
        with self._lock:
            self._finished = True
        open_writers.forget(self)
        self._dispatch.close()

    def _send(self, deadline: Deadline) -> None:
        if not self._buffer.pages:
            return
        # Room first: what is on its way is bounded, and `put` is what waits.
        while not self._dispatch.has_room_for(self._buffer):
            self._settle_first(deadline)
        self._dispatch.send(self._buffer)
        # Last, so that an interrupt while it waits leaves the pages where the next flush finds them.
        self._buffer = self._buffer.following()

    def _settle_first(self, deadline: Deadline) -> None:
        """Wait for the first batch under way; what it has not done by *deadline* fails."""
        outcomes = self._dispatch.settle_first(deadline)
        with self._counting:
            for outcome in outcomes:
                self.dropped.note(outcome)
                if outcome.error is None:
                    self.stored += 1
                    self.unchanged += not outcome.is_new
                elif not self._outcomes.tells_all:
                    self._failures.append(outcome)
        self._outcomes.add(outcomes)

    def _settle_receipts(self, buffer: Buffer, outcomes: list[PageOutcome]) -> None:
        # Before anybody hears of a failure: a process that is killed after that has its pages in the spool.
        if self._unsent is not None:
            self._unsent.add((page for _, page in buffer.pages), outcomes)
        if self._receipts.settle(buffer.receipts, outcomes):
            self._wake.set()

    def _flush_aged(self) -> None:
        while True:
            self._wake.wait(self._max_age / 4)
            if self._closed:
                return  # what is left is for the thread that closes it
            self._wake.clear()
            # What the caller's functions raise here, the next flush does.
            self._note(self._outcomes.deliver())
            with self._lock:
                if self._buffer.is_older(self._max_age) or (self._buffer.pages and self._buffer.number == self._wanted):
                    self._send(Deadline(self._timeout))
                while self._dispatch.is_first_done():
                    self._settle_first(Deadline(self._timeout))
            self._note(self._outcomes.deliver())

    def _note(self, errors: list[Exception]) -> None:
        self._errors += errors[: MOST_ERRORS - len(self._errors)]
