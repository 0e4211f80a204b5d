"""The pages that a writer holds: the buffer of pages that wait to be sent, and the batches that are in flight."""

from __future__ import annotations

import weakref
from contextlib import suppress
from dataclasses import replace
from logging import INFO
from typing import TYPE_CHECKING, NamedTuple

from webtable._clock import clock
from webtable._threads import Task, Threads
from webtable.errors import InvalidArgument, StoreUnavailable, WebTableError, WriteFailed
from webtable.page.page import Page, memory_of
from webtable.repository.metrics import WriterMetrics
from webtable.repository.writing.outcomes import PageOutcome, Retry
from webtable.store.deadline import Deadline, attempts, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from webtable.repository.writing.batch import BatchWriter
    from webtable.repository.writing.outcomes import Receipt, RetryCallback
    from webtable.repository.writing.packing import Prepared


ENTRY_BYTES = 4_000
LINK_BYTES = 450
"""The memory for a page, and for each of its links, while it is written, besides its own: cells, entries, rows.

Measured with tracemalloc, as the mean over the buffer, a batch being prepared and one being stored, with the seven
indexes on SQLite.
"""


def weight_of(page: Page) -> int:
    """Return about how many bytes *page* takes until it is stored, its cells and those of its links included."""
    return memory_of(page) + ENTRY_BYTES + LINK_BYTES * len(page.outlinks or ())


class Buffer:
    """Pages, each with its row; full at *most_bytes* of estimated memory, or at *most_pages*."""

    def __init__(self, most_bytes: float, most_pages: float, number: int = 0) -> None:
        self._limits = most_bytes, most_pages
        self.number = number
        """The number of this buffer in its writer, and of the batch that it becomes."""
        self.pages: list[tuple[bytes, Page]] = []
        self.receipts: list[weakref.ref[Receipt]] = []
        """The receipts of the pages, in their order."""
        self.rows: set[bytes] = set()
        """All rows whose stored state the pages depend on."""
        self._bytes = 0
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
        self._bytes += weight_of(page)

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
    def bytes(self) -> int:
        """About how many bytes of memory the pages take."""
        return self._bytes

    @property
    def is_full(self) -> bool:
        """Whether the pages should be sent now."""
        return self._bytes >= self._limits[0] or len(self.pages) >= self._limits[1]

    def is_older(self, seconds: float) -> bool:
        """Whether the first page, if there is one, was added *seconds* ago or earlier."""
        return bool(self.pages) and clock.monotonic() - self._oldest >= seconds


MOST_IN_FLIGHT = 8

Entry = tuple[bytes, Page]
"""A page with its row."""


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
            raise InvalidArgument(f"in_flight={in_flight!r} must be a number of batches from 1 to {MOST_IN_FLIGHT}")
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
        pages, size = sum(len(one.pages) for one in buffers), sum(one.bytes for one in buffers)
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
        left = list(range(len(batch)))
        began = clock.monotonic()
        for number in (1,) if self._deadline is None else attempts(deadline):
            if number > 1:
                self._report(outcomes[left[0]].error, len(left), clock.monotonic() - began, number)
            found = self._attempt([batch[index] for index in left], ready)
            for index, outcome in zip(left, found, strict=True):
                before = outcomes.get(index)
                outcomes[index] = outcome if before is None else _merged(before, outcome)
            left = [index for index in left if isinstance(outcomes[index].error, StoreUnavailable)]
            if not left:
                break
        done = [outcomes[index] for index in range(len(batch))]
        self._on_stored(buffer, done)
        return done

    def _report(self, error: WebTableError | None, pages: int, seconds: float, attempt: int) -> None:
        text = f"attempt {attempt} for {pages} pages"
        self._batch_writer.frame.log(INFO, "resent", text, seconds, type(error).__name__)
        if self._on_retry is not None and error is not None:
            with suppress(Exception):  # it must not keep the pages from being stored
                self._on_retry(Retry(pages, error, seconds))

    def _attempt(self, batch: Sequence[Entry], ready: list[Task[Prepared]]) -> list[PageOutcome]:
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
        except WebTableError as exc:
            error = exc
        except Exception as exc:  # noqa: BLE001 - after any error, every page must be reported
            error = WriteFailed(f"unexpected error: {exc!r}")
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
