"""Worker processes that read parts of files, and the crew that starts them, gives them parts and replaces dead ones."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from webtable._signals import ENDING
from webtable.errors import WebTableError
from webtable.ingest.batches import Chunk, ChunkWriter, chunks_of
from webtable.ingest.engine import Given, Job
from webtable.ingest.report import LoadCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

_SECONDS = 0.2
"""A signal is noticed after at most this many seconds, since no message comes with it."""
MOST_DEATHS = 2
"""A part is given up after this many workers have died on it without any progress."""


class Idle(NamedTuple):
    """The message of a worker that has nothing to read."""


class Waiting(NamedTuple):
    """The message of a worker whose store does not answer, with the `error`; None when it does again."""

    error: str | None


class Ended(NamedTuple):
    """The last message of a worker; `counts` are those not reported in chunks."""

    counts: LoadCounts
    lost: WebTableError | None = None
    """The error that ended it, if the store is gone."""
    broken: str | None = None
    """Any other error that ended it."""


def work(job: Job, pipe: Connection) -> None:
    """Run a worker: read parts that come through *pipe* until None does, and store their pages or send them back."""
    for one in ENDING:  # the parent handles these signals, and tells the workers when to end
        signal.signal(one, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        ended = _work(job, pipe)
    except WebTableError as exc:
        ended = Ended(LoadCounts(), lost=exc)
    except Exception as exc:  # noqa: BLE001 - the parent reports it
        ended = Ended(LoadCounts(), broken=f"unexpected error: {exc!r}")
    with suppress(OSError):  # the parent is gone
        pipe.send(ended)


def _end_with_parent() -> None:
    """Exit as soon as the parent has: nothing that is stored could be reported."""
    if parent := multiprocessing.parent_process():
        wait([parent.sentinel])
        os._exit(1)


def _work(job: Job, pipe: Connection) -> Ended:
    sending = threading.Lock()

    def send(message: Chunk | Idle | Waiting) -> None:
        with sending:
            pipe.send(message)

    with ExitStack() as stack:
        if job.session is None:
            _read_all(job, pipe, send, send, lambda: False)
            return Ended(LoadCounts())
        table = stack.enter_context(job.session.open(**(job.options or {})))
        writer = ChunkWriter(table, job, send, lambda error: send(Waiting(error)))
        _read_all(job, pipe, send, writer.put, lambda: writer.lost is not None)
        rest = writer.close()
        return Ended(rest, lost=writer.lost)


def _read_all(
    job: Job,
    pipe: Connection,
    send: Callable[[Idle], None],
    hand_on: Callable[[Chunk], None],
    is_lost: Callable[[], bool],
) -> None:
    """Ask for parts, and pass on their chunks, until there are no more or the store is lost."""
    while not is_lost():
        send(Idle())
        given = pipe.recv()
        if given is None:
            return
        for chunk in chunks_of(given, job):
            hand_on(chunk)
            if is_lost() or pipe.poll():  # a message while it reads can only mean that it is to end
                return


class Boss(Protocol):
    """What a crew reports to."""

    @property
    def is_ending(self) -> bool:
        """Whether the workers are to stop."""

    @property
    def is_overdue(self) -> bool:
        """Whether workers that wait for the store after a signal are to be killed."""

    def wait(self, error: str | None) -> None:
        """Record that the store of a worker does not answer, with this *error*, or that it does again."""

    def take(self, chunk: Chunk, given: Given) -> None:
        """Accept a chunk, which was also stored if workers store."""

    def give_up(self, given: Given, why: str) -> None:
        """Record that the part is not read further."""

    def end(self, ended: Ended) -> None:
        """Accept the final report of a worker."""


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    doing: dict[int, Given] = field(default_factory=dict)
    """The parts that it was given and has not finished."""
    was_heard: bool = False
    is_idle: bool = False
    is_to_end: bool = False
    ended: Ended | None = None

    @property
    def death(self) -> str | None:
        """How it died, None if it ended normally."""
        if self.ended is not None:
            return self.ended.broken
        code = self.process.exitcode or 0
        return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with exit code {code}"


class Crew:
    """At most *most* processes that do *job*; at the end of its `with` block those still running are killed."""

    def __init__(self, job: Job, most: int, boss: Boss) -> None:
        self._job = job
        self._most = most
        self._boss = boss
        self._context = multiprocessing.get_context("spawn")
        # A pipe for each: a shared queue has a lock, which a killed worker may hold forever.
        self._workers: dict[Connection, _Worker] = {}
        self._again: deque[Given] = deque()
        self._deaths: Counter[int] = Counter()
        self._false_starts = 0
        """How many workers died before their first message, since the last message of any worker."""
        self.deaths: list[str] = []
        """How each dead worker died."""
        self.unfinished: list[Given] = []
        """The parts that were begun but not finished, because the crew was to stop."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers.values():
            worker.process.kill()
            worker.process.join()

    def run(self, parts: Iterator[Given]) -> None:
        """Have all *parts* read; returns when the last worker has ended."""
        following = next(parts, None)
        while True:
            while self._again and not self._boss.is_ending and self._is_given(self._again[0]):
                self._again.popleft()
            while following and not self._again and not self._boss.is_ending and self._is_given(following):
                following = next(parts, None)
            if self._boss.is_ending or not (self._again or following):
                self._end(all_of_them=self._boss.is_ending)
            if self._boss.is_overdue:
                for worker in self._workers.values():
                    worker.process.kill()
            if not self._workers:
                break
            for pipe in wait(list(self._workers), _SECONDS):
                self._hear(self._workers[pipe])  # type: ignore[index]  # wait() returns what it was given
        self.unfinished += self._again

    def _is_given(self, given: Given) -> bool:
        """Give the part to an idle worker; returns False if there is none yet."""
        for worker in self._workers.values():
            if worker.is_idle and _sent(worker, given):
                worker.is_idle = False
                worker.doing[given.number] = given
                return True
        self.start()
        return False

    def start(self) -> None:
        """Start the missing workers; that takes a moment, in which the caller can do other work."""
        for _ in range(self._most - len(self._workers)):
            self._start()

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=work, args=(self._job, theirs), daemon=True)
        # Signals are blocked until the worker can ignore them. The tracker goes first, since starting it unblocks them.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._workers[ours] = _Worker(process, ours)

    def _end(self, *, all_of_them: bool) -> None:
        """Tell the idle workers to end, or all of them."""
        for worker in self._workers.values():
            if (worker.is_idle or all_of_them) and not worker.is_to_end:
                worker.is_to_end = _sent(worker, None)

    def _hear(self, worker: _Worker) -> None:
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            self._let_go(worker)
            return
        worker.was_heard, self._false_starts = True, 0
        match message:
            case Idle():
                worker.is_idle = True
            case Waiting(error):
                self._boss.wait(error)
            case Chunk():
                self._take(worker, message)
            case Ended():
                worker.ended = message
                self._boss.end(message)

    def _take(self, worker: _Worker, chunk: Chunk) -> None:
        given = worker.doing.pop(chunk.number)
        del self._deaths[given.number]
        if not chunk.ends_part:
            worker.doing[given.number] = given._replace(place=chunk.place, records=chunk.records)
        self._boss.take(chunk, given)

    def _let_go(self, worker: _Worker) -> None:
        """Remove a worker that has ended; its unfinished parts are given to others."""
        del self._workers[worker.pipe]
        worker.pipe.close()
        worker.process.join()
        death, left = worker.death, list(worker.doing.values())
        if death is not None:
            self.deaths.append(death)
            self._false_starts += not worker.was_heard
            if self._false_starts > self._most:
                raise WebTableError(f"workers die before they can begin: {death}")
        if self._boss.is_ending:
            self.unfinished += left
            return
        for given in left:
            self._deaths[given.number] += 1
            if self._deaths[given.number] < MOST_DEATHS:
                self._again.append(given)
            else:
                self._boss.give_up(given, f"{MOST_DEATHS} workers died there: {death}")


def _sent(worker: _Worker, message: Given | None) -> bool:
    """Send *message*; returns False if the worker has died, which is noticed soon."""
    try:
        worker.pipe.send(message)
    except OSError:
        return False
    return True
