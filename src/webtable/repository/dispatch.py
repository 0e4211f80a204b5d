"""Batches that were sent off: prepared one behind the other, stored, and settled in the order in which they went."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webtable.errors import WebTableError, WriteFailed
from webtable.page import Page, PageOutcome
from webtable.store.deadline import Deadline, until
from webtable.threads import Task, Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.repository.batch import BatchWriter, Prepared
    from webtable.repository.buffer import Buffer

IN_FLIGHT = 2
"""How many batches are on their way at once: one is compressed while the one before it is sent."""


class _UnderWay(NamedTuple):
    """A batch that was sent off: the rows that it reads and writes, and what becomes of its pages until when."""

    rows: set[bytes]
    outcomes: Task[list[PageOutcome]]
    deadline: Deadline


class Dispatch:
    """The batches of one writer that are on their way; all but `hasten` is called with the writer's lock held.

    *on_stored* is told of each when it is done, in the thread that stored it and before that is settled; so it must not
    wait for the writer's lock.
    """

    def __init__(self, batch_writer: BatchWriter, on_stored: Callable[[Buffer, list[PageOutcome]], None]) -> None:
        self._batch_writer = batch_writer
        self._on_stored = on_stored
        # Each one after another, so that two captures of a page cannot overtake each other.
        self._preparing = Threads(1, "webtable-prepare")
        self._storing = Threads(1, "webtable-store")
        self._under_way: list[_UnderWay] = []

    def __bool__(self) -> bool:
        """Whether a batch is on its way."""
        return bool(self._under_way)

    def has_room_for(self, buffer: Buffer) -> bool:
        """Whether what is in *buffer* may go: there is a place, and no batch under way has a row in common with it."""
        return len(self._under_way) < IN_FLIGHT and all(buffer.rows.isdisjoint(other.rows) for other in self._under_way)

    def send(self, buffer: Buffer) -> None:
        """Send off what is in *buffer*, for which there is room."""
        batch, its_own = buffer.pages, Deadline(float("inf"))
        with until(its_own):
            prepared = self._preparing.submit(lambda: self._batch_writer.prepare(batch))
            outcomes = self._storing.submit(lambda: self._done(buffer, prepared))
        self._under_way.append(_UnderWay(buffer.rows, outcomes, its_own))

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

    def _done(self, buffer: Buffer, prepared: Task[Prepared]) -> list[PageOutcome]:
        outcomes = self._store(buffer.pages, prepared)
        self._on_stored(buffer, outcomes)
        return outcomes

    def _store(self, batch: Sequence[tuple[bytes, Page]], prepared: Task[Prepared]) -> list[PageOutcome]:
        outcomes: list[PageOutcome] = []
        try:
            ready = prepared.result()
            while True:
                outcomes += self._batch_writer.store(ready)
                if not ready.rest:
                    return outcomes
                ready = self._batch_writer.prepare(ready.rest)
        except WebTableError as exc:
            error = exc
        except Exception as exc:  # noqa: BLE001 - whatever it is, no page may be lost without a word
            error = WriteFailed(f"unexpectedly: {exc!r}")
        left = batch[len(outcomes) :]
        return outcomes + [PageOutcome(page.url, page.fetched_at, error, is_new=False) for _, page in left]
