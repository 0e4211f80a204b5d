"""A worker: a process that reads parts of files, and stores their pages or sends them to the one that started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Collection
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from webtable._limits import ReadLimits
from webtable._page.page import memory_of
from webtable.cli.loading.workers.chunks import CHUNK_BYTES, CHUNK_PAGES, Chunk, Ended, Given, Reading, Tally, Wanted
from webtable.cli.loading.workers.storing import Storing
from webtable.cli.session import Session
from webtable.cli.terminal.interrupts import ENDING
from webtable.errors import FormatError, WebTableError
from webtable.formats import read_pages
from webtable.repository import LayoutOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from webtable._page.page import Page


@dataclass(frozen=True)
class Job:
    """What workers do: how files are read, and into which store they go, where the workers store them."""

    types: Collection[str] | None
    limits: ReadLimits
    batch: int
    max_body: int | None
    store: Session | None = None
    options: LayoutOptions | None = None


def work(job: Job, pipe: Connection) -> None:
    """Be a worker: read what comes through *pipe* until None does."""
    for one in ENDING:  # they are for the process that was asked to do all this, which says what is to be done
        signal.signal(one, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        ended = _Worker(job, pipe).run()
    except WebTableError as exc:
        ended = Ended(Tally(), lost=exc)
    except Exception as exc:  # noqa: BLE001 - it is told where it can be shown
        ended = Ended(Tally(), broken=f"unexpectedly: {exc!r}")
    with suppress(OSError):  # there is nobody left to be told, and nobody should be told of that
        pipe.send(ended)


def _end_with_parent() -> None:
    """End at once when the parent has: nobody would be told of what is stored."""
    if parent := multiprocessing.parent_process():
        wait([parent.sentinel])
        os._exit(1)


class _Worker:
    def __init__(self, job: Job, pipe: Connection) -> None:
        self._job = job
        self._pipe = pipe
        self._sending = threading.Lock()
        self._is_ending = False
        self._storing: Storing | None = None

    def run(self) -> Ended:
        with ExitStack() as stack:
            if self._job.store is not None:
                table = stack.enter_context(self._job.store.open(**(self._job.options or {})))
                self._storing = Storing(table, self._send, batch=self._job.batch, max_body=self._job.max_body)
            hand_on = self._send if self._storing is None else self._storing.put
            while not self._is_ending:
                self._send(Wanted())
                given = self._pipe.recv()
                if given is None:
                    break
                self._read(given, hand_on)
            if self._storing is None:
                return Ended(Tally())
            rest = self._storing.close()
            return Ended(rest, lost=self._storing.lost)

    def _send(self, message: Chunk | Wanted) -> None:
        with self._sending:
            self._pipe.send(message)

    def _read(self, given: Given, hand_on: Callable[[Chunk], None]) -> None:
        for chunk in chunks_of(given, self._job):
            hand_on(chunk)
            # What comes while it reads can only be that it is to end.
            self._is_ending = (self._storing is not None and self._storing.lost is not None) or self._pipe.poll()
            if self._is_ending:
                return


def chunks_of(given: Given, job: Job) -> Iterator[Chunk]:
    """Yield what is read of a part, up to its end or to where it is damaged."""
    reading = Reading(given.place)
    pages: list[Page] = []
    repeats: list[Page] = []
    size = 0

    def chunk(*, is_last: bool = False, damage: str | None = None) -> Chunk:
        report = reading.report
        return Chunk(
            given.number,
            report.place,
            given.records + report.records,
            pages,
            repeats,
            Tally(reading.taken()),
            is_last,
            damage,
        )

    try:
        with given.part.opened() as source:
            for page in read_pages(
                source, types=job.types, report=reading.report, limits=job.limits, start=given.place
            ):
                (repeats if page.same_as is not None and page.html is None else pages).append(page)
                size += memory_of(page)
                if size >= CHUNK_BYTES or len(pages) + len(repeats) >= CHUNK_PAGES:
                    yield chunk()
                    pages, repeats, size = [], [], 0
    except (FormatError, OSError) as exc:
        yield chunk(damage=str(exc))
    else:
        yield chunk(is_last=True)
