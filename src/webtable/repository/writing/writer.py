"""The writer: it takes pages, stores them in batches in the background, and reports what became of each page."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
import weakref
from contextlib import suppress
from dataclasses import replace
from logging import INFO
from typing import TYPE_CHECKING, NamedTuple, Self

from webtable import errors
from webtable._clock import clock
from webtable._process_hooks import generation
from webtable._threads import Task, Threads
from webtable.page.page import Page, memory_of
from webtable.repository.answers.arrow_pages import ArrowStream, pages_of
from webtable.repository.arguments import IN_FLIGHT, check_positive
from webtable.repository.metrics import WriterMetrics
from webtable.repository.writing.outcomes import (
    Callbacks,
    Dropped,
    OutcomeCallback,
    PageOutcome,
    Receipt,
    Receipts,
    RefusedRow,
    Retry,
    RetryCallback,
    refused_rows,
)
from webtable.repository.writing.spool import NotStored, Spool, Unsent, failed
from webtable.store.deadline import Deadline, attempts, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from os import PathLike

    from webtable.repository.failed_fetches import Backoff, FailedFetch
    from webtable.repository.page_storage.state import KeyedPage
    from webtable.repository.writing.batch import BatchWriter
    from webtable.repository.writing.plan import Prepared


# --- Buffer and batches in flight -------------------------------------------------------------------------------------


ENTRY_BYTES = 4_000
LINK_BYTES = 450
"""The memory for a page, and for each of its links, while it is written, besides its own: cells, entries, rows."""
# Measured with tracemalloc, as the mean over the buffer, a batch being prepared and one being stored, with the seven
# indexes on SQLite.


class Buffer:
    """Pages, each with its row; full at *most_bytes* of estimated memory, or at *most_pages*."""

    def __init__(self, most_bytes: float, most_pages: float, number: int = 0) -> None:
        self._limits = most_bytes, most_pages
        self.number = number
        """The number of this buffer in its writer, and of the batch that it becomes."""
        self.pages: list[KeyedPage] = []
        self.receipts: list[weakref.ref[Receipt]] = []
        """The receipts of the pages, in their order."""
        self.rows: set[bytes] = set()
        """All rows whose stored state the pages depend on."""
        self.bytes: int = 0
        """About how many bytes of memory the pages take."""
        self._last: dict[bytes, datetime] = {}
        self._oldest = 0.0

    def take(self, row: bytes, page: Page, rows: Iterable[bytes], receipt: Receipt) -> None:
        """Add *page*, which depends on the stored state of *rows*."""
        if not self.pages:
            self._oldest = clock.monotonic()
        self.pages.append((row, page))
        # Weak, so that a receipt that nobody keeps is gone when `put` returns.
        self.receipts.append(weakref.ref(receipt))
        self.rows.update(rows)
        self._last[row] = page.fetched_at
        self.bytes += memory_of(page) + ENTRY_BYTES + LINK_BYTES * len(page.outlinks or ())

    def is_before(self, row: bytes, page: Page, rows: Iterable[bytes]) -> bool:
        """Whether these pages must be stored before it can be decided what to write for *page*.

        That is so if *page* depends on one of the same *rows*. It is not if the decision about a capture here gives all
        the state that *page* needs: if *page* has its own body, and is the later one.
        """
        if self.rows.isdisjoint(rows):
            return False
        last = self._last.get(row)
        return last is None or page.body is None or page.same_as is not None or page.fetched_at <= last

    def following(self) -> Buffer:
        """Return the next, empty buffer."""
        return Buffer(*self._limits, self.number + 1)

    @property
    def is_full(self) -> bool:
        """Whether the pages should be sent now."""
        return self.bytes >= self._limits[0] or len(self.pages) >= self._limits[1]

    def is_older(self, seconds: float) -> bool:
        """Whether the first page, if there is one, was added *seconds* ago or earlier."""
        return bool(self.pages) and clock.monotonic() - self._oldest >= seconds


MOST_IN_FLIGHT = 8


class _UnderWay(NamedTuple):
    """A batch in flight: its pages with the rows that it reads and writes, its outcomes, and its deadline."""

    buffer: Buffer
    outcomes: Task[list[PageOutcome]]
    deadline: Deadline


class Dispatch:
    """The batches of one writer that are in flight. All methods but `hasten` and `metrics` need the writer's lock.

    There are at most *in_flight* batches, and their rows are disjoint, so that two captures of a page cannot overtake
    each other.

    *on_stored* is called with each batch when it is done, in the thread that stored it and before it is settled, so it
    must not wait for the writer's lock. With a *deadline*, in seconds after it was sent, pages of a batch that failed
    for a temporary reason are retried until then, after a call of *on_retry*; other pages that depend on their rows
    wait for them.
    """

    def __init__(
        self,
        batch_writer: BatchWriter,
        on_stored: Callable[[Buffer, list[PageOutcome]], None],
        in_flight: int,
        deadline: float | None,
        on_retry: RetryCallback | None,
    ) -> None:
        if not isinstance(in_flight, int) or not 1 <= in_flight <= MOST_IN_FLIGHT:
            raise errors.InvalidArgument(
                f"in_flight={in_flight!r} must be a number of batches from 1 to {MOST_IN_FLIGHT}"
            )
        self._batch_writer = batch_writer
        self._in_flight = in_flight
        self._deadline = deadline
        self._on_stored = on_stored
        self._on_retry = on_retry
        # In both, a batch that waits for a thread waits only for batches that were sent before it.
        self._preparing = Threads(max(1, in_flight // 2), "webtable-prepare")
        self._storing = Threads(max(1, in_flight - 1), "webtable-store")
        self._under_way: list[_UnderWay] = []

    def __bool__(self) -> bool:
        """Whether a batch is in flight."""
        return bool(self._under_way)

    def has_room_for(self, buffer: Buffer) -> bool:
        """Whether *buffer* may be sent: there is a place for it, and no batch in flight shares a row with it."""
        return len(self._under_way) < self._in_flight and all(
            buffer.rows.isdisjoint(other.buffer.rows) for other in self._under_way
        )

    def send(self, buffer: Buffer) -> None:
        """Send the pages of *buffer*, for which there is room."""
        batch, its_own = buffer.pages, Deadline(float("inf") if self._deadline is None else self._deadline)
        with until(its_own):
            # In a list, so that it can be removed, and its memory freed, before any of the batch is prepared again.
            ready = [self._preparing.submit(lambda: self._batch_writer.prepare(batch))]
            outcomes = self._storing.submit(lambda: self._store(buffer, ready, its_own))
        self._under_way.append(_UnderWay(buffer, outcomes, its_own))

    def metrics(self, waiting: Buffer) -> WriterMetrics:
        """Return the size of the batches in flight and of the *waiting* buffer. Any thread may call this."""
        under_way = [batch.buffer for batch in list(self._under_way)]
        buffers = under_way if waiting in under_way else [*under_way, waiting]
        pages, size = sum(len(buffer.pages) for buffer in buffers), sum(buffer.bytes for buffer in buffers)
        return WriterMetrics(1, pages, size, len(under_way))

    def hasten(self, deadline: Deadline) -> None:
        """Let batches in flight fail that are not stored by *deadline*."""
        for batch in list(self._under_way):
            batch.deadline.limit_to(deadline)

    def give_up_after(self, seconds: float) -> None:
        """Retry no batch for more than *seconds*, those in flight from now on."""
        if self._deadline is not None:
            self._deadline = min(self._deadline, seconds)
        self.hasten(Deadline(seconds))

    def is_first_done(self) -> bool:
        """Whether `settle_first` would return at once."""
        return bool(self._under_way) and self._under_way[0].outcomes.done()

    def settle_first(self, deadline: Deadline) -> list[PageOutcome]:
        """Wait for the first batch in flight, and return the outcomes of its pages; fails at *deadline*."""
        first = self._under_way[0]
        first.deadline.limit_to(deadline)
        outcomes = first.outcomes.result()
        del self._under_way[0]
        return outcomes

    def close(self) -> None:
        """Stop the threads."""
        self._preparing.close()
        self._storing.close()
        self._batch_writer.close()

    def _store(self, buffer: Buffer, ready: list[Task[Prepared]], deadline: Deadline) -> list[PageOutcome]:
        """Store the pages of *buffer*, and retry those that failed for a temporary reason, until *deadline*."""
        batch, outcomes = buffer.pages, dict[int, PageOutcome]()
        remaining = list(range(len(batch)))
        began = clock.monotonic()
        for number in (1,) if self._deadline is None else attempts(deadline):
            if number > 1:
                self._report(outcomes[remaining[0]].error, len(remaining), clock.monotonic() - began, number)
            attempted = self._attempt([batch[index] for index in remaining], ready)
            for index, outcome in zip(remaining, attempted, strict=True):
                before = outcomes.get(index)
                outcomes[index] = outcome if before is None else _merged(before, outcome)
            remaining = [index for index in remaining if isinstance(outcomes[index].error, errors.StoreUnavailable)]
            if not remaining:
                break
        done = [outcomes[index] for index in range(len(batch))]
        self._on_stored(buffer, done)
        return done

    def _report(self, error: errors.WebTableError | None, pages: int, seconds: float, attempt: int) -> None:
        text = f"attempt {attempt} for {pages} pages"
        self._batch_writer.context.log(INFO, "resent", text, seconds, type(error).__name__)
        if self._on_retry is not None and error is not None:
            with suppress(Exception):  # it must not keep the pages from being stored
                self._on_retry(Retry(pages, error, seconds))

    def _attempt(self, batch: Sequence[KeyedPage], ready: list[Task[Prepared]]) -> list[PageOutcome]:
        """Store *batch* as it was prepared, which is removed from *ready*; if that is empty, prepare it here."""
        outcomes: list[PageOutcome] = []
        prepared = None
        try:
            prepared = ready.pop().result() if ready else self._batch_writer.prepare(batch, is_retry=True)
            while True:
                outcomes += self._batch_writer.store(prepared)
                if not prepared.rest:
                    return outcomes
                rest, prepared = prepared.rest, None
                prepared = self._batch_writer.prepare(rest)
        except errors.WebTableError as exc:
            error = exc
        except Exception as exc:  # noqa: BLE001 - after any error, every page must be reported
            error = errors.WriteFailed(f"unexpected error: {exc!r}")
        if prepared is not None:
            # Some of it may be stored in spite of the error; whether it is new was decided before.
            outcomes += prepared.outcomes(dict.fromkeys(range(len(prepared.batch)), error))
        missing = batch[len(outcomes) :]
        return outcomes + [PageOutcome(page.url, page.fetched_at, error, is_new=False) for _, page in missing]


def _merged(before: PageOutcome, outcome: PageOutcome) -> PageOutcome:
    """Return *outcome* with the facts of *before*: a page whose acknowledgement was lost counts as new."""
    return replace(
        outcome,
        is_new=before.is_new or outcome.is_new,
        pushed_out=max(before.pushed_out, outcome.pushed_out),
        is_kept=before.is_kept and outcome.is_kept,
        replaced=before.replaced or outcome.replaced,
    )


# --- Writers that are left open ---------------------------------------------------------------------------------------


_open: set[Writer] = set()
_registered_in: int | None = None
# In a child the writers are the parent's, which has the threads that store their pages.
os.register_at_fork(after_in_child=_open.clear)


def _close_at_exit() -> None:
    """Have the writers that are open closed when this process ends."""
    global _registered_in
    if _registered_in == os.getpid():
        return
    _registered_in = os.getpid()
    atexit.register(_close_all)
    # A child of multiprocessing ends with os._exit, which runs no atexit handlers, only multiprocessing's own.
    if (util := sys.modules.get("multiprocessing.util")) is not None:
        util.Finalize(None, _close_all, exitpriority=100)


def _close_all() -> None:
    """Close the writers that are open; the interpreter prints the errors that this raises."""
    raised: list[Exception] = []
    for writer in list(_open):
        try:
            writer.close()
        except Exception as exc:  # noqa: BLE001 - the other writers have pages too
            raised.append(exc)
        _open.discard(writer)
        try:
            warnings.warn(
                f"{writer.name}: a writer was left open; its pages were stored as the interpreter exited. "
                "Open it in a with block, or close() it",
                ResourceWarning,
                stacklevel=1,
            )
        except ResourceWarning as exc:  # where warnings are errors
            raised.append(exc)
    if raised:
        raise errors.failed_together("the writers that were left open", raised)


# --- The writer -------------------------------------------------------------------------------------------------------


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
        self._context = batch_writer.context
        self._taken = batch_writer.taken
        self.name: str = self._context.name
        self._timeout = timeout if deadline is None else deadline
        self._max_age = max_age
        self._lock = threading.RLock()
        self._counting = threading.Lock()
        self._buffer = Buffer(buffer_bytes, buffer_pages)
        self._outcomes = Callbacks(on_outcome)
        self._receipts = Receipts(self._check_process, self._send_batch, self._outcomes, self._context.log)
        self._failures: list[PageOutcome] = []
        # Without a spool, failed pages that the callback got are needed no longer.
        files = None if spool is None else Spool(spool)
        self._unsent = (
            None if on_outcome and spool is None else Unsent((in_flight + 1) * buffer_bytes, files, self._context.log)
        )
        self._raised: list[Exception] = []
        """What the caller's functions have raised in the thread that flushes aged pages."""
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
        _open.add(self)
        _close_at_exit()

    def put(self, page: Page) -> Receipt:
        """Take *page* to be stored, and return a receipt: a future of its `PageOutcome`.

        Raises, before anything is written, `InvalidURL`, `ExpiredCapture`, `FutureCapture` or `InvalidCapture` for a
        page that the table cannot keep, `InvalidArgument` if *page* is not a `Page`, and `StoreUnavailable` if the
        buffer stays full.
        """
        self._check_process()
        try:
            key, page, rows = self._taken(page)
        except errors.ExpiredCapture:
            with self._counting:
                self.dropped.expired += 1
            raise
        deadline = Deadline(self._timeout)
        if not self._lock.acquire(timeout=deadline.left()):
            raise errors.StoreUnavailable(
                f"{self.name}: the page was not taken: the buffer is full; no batch was stored for {self._timeout:g} s"
            )
        try:
            if self._closed and not self._outcomes.is_delivering():
                raise errors.WriteFailed("the writer is closed")
            if self._buffer.is_before(key, page, rows):
                self._send(deadline)
            receipt = Receipt(page.url, self._buffer.number, self._receipts)
            self._buffer.take(key, page, rows, receipt)
            if self._buffer.is_full:
                self._send(deadline)
        finally:
            self._lock.release()
        if raised := self._outcomes.deliver():
            raise errors.failed_together("the function on_outcome", raised)
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
            except (errors.InvalidURL, errors.InvalidCapture) as exc:
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

    def put_failed(
        self,
        url: str,
        reason: str,
        *,
        at: datetime | None = None,
        detail: str | None = None,
        backoff: Backoff | None = None,
    ) -> FailedFetch | None:
        """Store at once that fetching *url* failed, as `WebTable.put_failed` does; returns and raises what that does.

        *reason*, *at*, *detail* and *backoff* are as there. Pages that wait in the buffer need not be stored before:
        their dates say what came last.
        """
        from webtable.repository.failed_fetches import put_failed

        self._check_process()
        if self._closed:
            raise errors.WriteFailed("the writer is closed")
        with until(Deadline(self._timeout)):
            return put_failed(self._context, url, reason, at, detail, backoff)

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
                    not_stored = (
                        self._unsent.taken() if self._unsent and self._unsent.has_any else NotStored([], [], None)
                    )
                    failures, self._failures = self._failures, []
                    raised, self._raised = self._raised + raised, []
                    break
        if failures or not_stored.error:
            raised.insert(0, failed(failures, not_stored))
        if raised:
            raise errors.failed_together(f"{self.name}: a writer", raised)

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
            raise errors.OtherProcess(
                f"{self.name}: this writer is of the parent process; make one here, with table.writer()"
            )

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
        _open.discard(self)
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
        if self._unsent is not None and any(outcome.error is not None for outcome in outcomes):
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

    def _note(self, raised: list[Exception]) -> None:
        self._raised += raised[: MOST_ERRORS - len(self._raised)]
