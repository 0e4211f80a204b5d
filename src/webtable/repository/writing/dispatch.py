"""The pages that a writer holds: those that wait for their batch to go, and the batches that are in flight."""

from __future__ import annotations

import weakref
from dataclasses import replace
from logging import INFO
from typing import TYPE_CHECKING, NamedTuple

from webtable._clock import clock
from webtable._page.memory import memory_of
from webtable._page.page import Page
from webtable._threads import Task, Threads
from webtable.errors import InvalidArgument, StoreUnavailable, WebTableError, WriteFailed
from webtable.repository.metrics import WriterMetrics
from webtable.repository.writing.outcomes import PageOutcome
from webtable.store.deadline import Deadline, attempts, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from webtable.repository.writing.batch import BatchWriter
    from webtable.repository.writing.outcomes import Receipt
    from webtable.repository.writing.packing import Prepared


ENTRY_BYTES = 4_000
LINK_BYTES = 450
"""What a page, and each of its links, costs in memory while it is written, beside what it is: cells, entries, rows.

Measured with tracemalloc, as the mean over the buffer, a batch that is prepared and one that is stored, with the seven
indexes on SQLite.
"""


def weight_of(page: Page) -> int:
    """Return about how many bytes *page* takes until it is stored, with what is written for it and its links."""
    return memory_of(page) + ENTRY_BYTES + LINK_BYTES * len(page.outlinks or ())


class Buffer:
    """Pages, each with its row; full at *most_bytes* in all, as they are weighed, or at *most_pages*."""

    def __init__(self, most_bytes: float, most_pages: float, number: int = 0) -> None:
        self._limits = most_bytes, most_pages
        self.number = number
        """Which buffer of its writer it is: a batch of it has this number."""
        self.pages: list[tuple[bytes, Page]] = []
        self.receipts: list[weakref.ref[Receipt]] = []
        """Those of the pages, in their order."""
        self.rows: set[bytes] = set()
        """All rows whose stored state decides what becomes of the pages."""
        self._bytes = 0
        self._last: dict[bytes, datetime] = {}
        self._oldest = 0.0

    def take(self, row: bytes, page: Page, rows: Iterable[bytes], receipt: Receipt) -> None:
        """Take *page*, which rests on what is stored in *rows*."""
        if not self.pages:
            self._oldest = clock.monotonic()
        self.pages.append((row, page))
        self.receipts.append(weakref.ref(receipt))
        self.rows.update(rows)
        self._last[row] = page.fetched_at
        self._bytes += weight_of(page)

    def is_before(self, row: bytes, page: Page, rows: Iterable[bytes]) -> bool:
        """Whether what is here must be stored before it can be known what becomes of *page*.

        So it is where *page* rests on one of the same *rows*, unless all that it needs of what is stored is known when
        a capture here has been decided upon: it brings a body of its own, and is the later one.
        """
        if self.rows.isdisjoint(rows):
            return False
        last = self._last.get(row)
        return last is None or page.body is None or page.same_as is not None or page.fetched_at <= last

    def following(self) -> Buffer:
        """Return the empty buffer that comes after this one."""
        return Buffer(*self._limits, self.number + 1)

    @property
    def bytes(self) -> int:
        """How many bytes the pages take, as they are weighed."""
        return self._bytes

    @property
    def is_full(self) -> bool:
        """Whether a batch should go out now."""
        return self._bytes >= self._limits[0] or len(self.pages) >= self._limits[1]

    def is_older(self, seconds: float) -> bool:
        """Whether the first page, where there is one, has been here for so many *seconds*."""
        return bool(self.pages) and clock.monotonic() - self._oldest >= seconds


MOST_IN_FLIGHT = 8

Entry = tuple[bytes, Page]
"""A page with its row."""


class _UnderWay(NamedTuple):
    """A batch that was sent off: its pages, the rows that it reads and writes, and what becomes of it until when."""

    buffer: Buffer
    outcomes: Task[list[PageOutcome]]
    deadline: Deadline


class Dispatch:
    """The batches of one writer that are on their way; but for `hasten` and `held` called with its lock held.

    At most *in_flight*, whose rows are disjoint, so that two captures of a page cannot overtake each other.

    *on_stored* is told of each when it is done, in the thread that stored it and before that is settled; so it must not
    wait for the writer's lock. With a *deadline*, in seconds from when it goes, the pages of a batch that failed for a
    passing reason are tried again until then; what else rests on their rows waits, so nothing overtakes them.
    """

    def __init__(
        self,
        batch_writer: BatchWriter,
        on_stored: Callable[[Buffer, list[PageOutcome]], None],
        *,
        in_flight: int,
        deadline: float | None,
    ) -> None:
        if not isinstance(in_flight, int) or not 1 <= in_flight <= MOST_IN_FLIGHT:
            raise InvalidArgument(f"in_flight={in_flight!r} must be a number of batches from 1 to {MOST_IN_FLIGHT}")
        self._batch_writer = batch_writer
        self._in_flight = in_flight
        self._deadline = deadline
        self._on_stored = on_stored
        # A batch that has no thread yet is after others that were sent before it, in both.
        self._preparing = Threads(max(1, in_flight // 2), "webtable-prepare")
        self._storing = Threads(max(1, in_flight - 1), "webtable-store")
        self._under_way: list[_UnderWay] = []

    def __bool__(self) -> bool:
        """Whether a batch is on its way."""
        return bool(self._under_way)

    def has_room_for(self, buffer: Buffer) -> bool:
        """Whether what is in *buffer* may go: there is a place, and no batch under way has a row in common with it."""
        return len(self._under_way) < self._in_flight and all(
            buffer.rows.isdisjoint(other.buffer.rows) for other in self._under_way
        )

    def send(self, buffer: Buffer) -> None:
        """Send off what is in *buffer*, for which there is room."""
        batch, its_own = buffer.pages, Deadline(float("inf") if self._deadline is None else self._deadline)
        with until(its_own):
            # In a list, for it is taken out, and its memory with it, before anything of the batch is prepared again.
            ready = [self._preparing.submit(lambda: self._batch_writer.prepare(batch))]
            outcomes = self._storing.submit(lambda: self._store(buffer, ready, its_own))
        self._under_way.append(_UnderWay(buffer, outcomes, its_own))

    def held(self, waiting: Buffer) -> WriterMetrics:
        """Return what is on its way, and what is *waiting*, as of a moment ago; any thread may ask."""
        under_way = [batch.buffer for batch in list(self._under_way)]
        buffers = under_way if waiting in under_way else [*under_way, waiting]
        pages, size = sum(len(one.pages) for one in buffers), sum(one.bytes for one in buffers)
        return WriterMetrics(1, pages, size, len(under_way))

    def hasten(self, deadline: Deadline) -> None:
        """Let what is under way and not done by *deadline* fail."""
        for batch in list(self._under_way):
            batch.deadline.hasten(deadline)

    def is_first_done(self) -> bool:
        """Whether `settle_first` would return at once."""
        return bool(self._under_way) and self._under_way[0].outcomes.done()

    def settle_first(self, deadline: Deadline) -> list[PageOutcome]:
        """Wait for the first batch under way, and return what became of its pages.

        What it has not done by *deadline* fails.
        """
        first = self._under_way[0]
        first.deadline.hasten(deadline)
        outcomes = first.outcomes.result()
        del self._under_way[0]
        return outcomes

    def close(self) -> None:
        """Stop the threads."""
        self._preparing.close()
        self._storing.close()
        self._batch_writer.close()

    def _store(self, buffer: Buffer, ready: list[Task[Prepared]], deadline: Deadline) -> list[PageOutcome]:
        """Store what is in *buffer*, and what of it has failed for a passing reason again, until *deadline*."""
        batch, outcomes = buffer.pages, dict[int, PageOutcome]()
        left = list(range(len(batch)))
        began = clock.monotonic()
        for number in (1,) if self._deadline is None else attempts(deadline):
            if number > 1:
                text = f"attempt {number} for {len(left)} pages"
                error = type(outcomes[left[0]].error).__name__
                self._batch_writer.frame.tell(INFO, "resent", text, clock.monotonic() - began, error)
            found = self._attempt([batch[index] for index in left], ready)
            for index, outcome in zip(left, found, strict=True):
                before = outcomes.get(index)
                outcomes[index] = outcome if before is None else _told_again(before, outcome)
            left = [index for index in left if isinstance(outcomes[index].error, StoreUnavailable)]
            if not left:
                break
        done = [outcomes[index] for index in range(len(batch))]
        self._on_stored(buffer, done)
        return done

    def _attempt(self, batch: Sequence[Entry], ready: list[Task[Prepared]]) -> list[PageOutcome]:
        """Store *batch* as it is *ready*, which is taken, or prepared here."""
        outcomes: list[PageOutcome] = []
        prepared = None
        try:
            prepared = ready.pop().result() if ready else self._batch_writer.prepare(batch, is_again=True)
            while True:
                outcomes += self._batch_writer.store(prepared)
                if not prepared.rest:
                    return outcomes
                rest, prepared = prepared.rest, None
                prepared = self._batch_writer.prepare(rest)
        except WebTableError as exc:
            error = exc
        except Exception as exc:  # noqa: BLE001 - whatever it is, no page may be lost without a word
            error = WriteFailed(f"unexpectedly: {exc!r}")
        if prepared is not None:
            # Some of it may be stored all the same: whether it is new is known from before.
            outcomes += prepared.outcomes(dict.fromkeys(range(len(prepared.batch)), error))
        missing = batch[len(outcomes) :]
        return outcomes + [PageOutcome(page.url, page.fetched_at, error, is_new=False) for _, page in missing]


def _told_again(before: PageOutcome, outcome: PageOutcome) -> PageOutcome:
    """Return *outcome* with what was so *before*: one whose acknowledgement was lost was new all the same."""
    return replace(
        outcome,
        is_new=before.is_new or outcome.is_new,
        pushed_out=max(before.pushed_out, outcome.pushed_out),
        is_kept=before.is_kept and outcome.is_kept,
    )
