"""Actors that run one at a time, in threads that hand on one baton: which one is next is drawn, so a seed tells all.

Also the time that they live in, and threads of webtable's own that do their jobs where they are given.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from importlib import import_module
from types import SimpleNamespace
from unittest.mock import patch

from webtable import Writer
from webtable._clock import clock as webtable_clock
from webtable._threads import Task, Threads

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SimulatedClock:
    """The wall's clock, which may jump, and the one that only goes on; webtable's own goes by it in `simulated`."""

    def __init__(self) -> None:
        self._wall = (BEGAN - EPOCH) // timedelta(milliseconds=1) * 1_000_000
        self._run = 1_000_000_000_000
        self._last = self._wall

    def jump(self, seconds: float) -> None:
        self._wall += int(seconds * 1e9)
        self._last = max(self._last, self._wall)

    def sleep(self, seconds: float) -> None:
        self._wall += int(seconds * 1e9)
        self._run += int(seconds * 1e9)
        self._last = max(self._last, self._wall)

    def beyond_all(self, seconds: float) -> None:
        """Go on to so many *seconds* after the latest moment that there was."""
        self.jump((self._last - self._wall) / 1e9)
        self.sleep(seconds)

    def nanoseconds(self) -> int:
        return self._wall

    def monotonic(self) -> float:
        return self._run / 1e9

    def now(self) -> datetime:
        return EPOCH + timedelta(microseconds=self._wall // 1000)


class Baton:
    """Who holds it runs; `pass_on` gives it to one that is drawn, now and then, and returns when it is back."""

    def __init__(self, chance: random.Random, eagerness: float) -> None:
        self._chance = chance
        self._eagerness = eagerness
        self._waiting: dict[str, threading.Semaphore] = {}
        self._holder = ""
        self._all_done = threading.Semaphore(0)
        self.errors: list[BaseException] = []

    def run(self, actors: dict[str, Callable[[], None]]) -> None:
        """Run *actors* to their ends."""
        self._waiting = {name: threading.Semaphore(0) for name in actors}
        threads = [threading.Thread(target=self._act, args=one, daemon=True) for one in actors.items()]
        for thread in threads:
            thread.start()
        self._give()
        assert self._all_done.acquire(timeout=120), f"{self._holder} neither goes on nor ends"
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def pass_on(self) -> None:
        if len(self._waiting) < 2 or self._chance.random() > self._eagerness:
            return
        me = self._holder
        if self._give() != me:
            self._waiting[me].acquire()

    def _give(self) -> str:
        holder = self._holder
        self._holder = self._chance.choice(list(self._waiting))
        if self._holder != holder:
            self._waiting[self._holder].release()
        return self._holder

    def _act(self, name: str, act: Callable[[], None]) -> None:
        self._waiting[name].acquire()
        try:
            act()
        except BaseException as exc:  # noqa: BLE001 - it is raised where the actors are run
            self.errors.append(exc)
        del self._waiting[name]
        if self._waiting:
            self._give()
        else:
            self._all_done.release()


@contextmanager
def simulated(clock: SimulatedClock, chance: random.Random) -> Iterator[None]:
    """Let webtable, in the block, live by *clock*, and its threads do one thing after another in a drawn order."""

    def submit(self: Threads, job: Callable[[], object]) -> Task[object]:
        future: Future[object] = Future()
        try:
            future.set_result(copy_context().run(job))
        except BaseException as exc:  # noqa: BLE001 - it is raised where the result is asked for
            future.set_exception(exc)
        return Task(future)

    def in_any_order(self: Threads, job: Callable[[object], object], items: object) -> list[object]:
        every = list(items)  # type: ignore[call-overload]
        tasks: dict[int, Task[object]] = {}
        for at in chance.sample(range(len(every)), len(every)):
            tasks[at] = submit(self, lambda at=at: job(every[at]))  # type: ignore[misc]
        return [tasks[at].result() for at in range(len(every))]

    ids = SimpleNamespace(uuid4=lambda: SimpleNamespace(hex=f"{chance.getrandbits(128):032x}"))
    with ExitStack() as stack:
        stack.enter_context(patch.object(Threads, "submit", submit))
        stack.enter_context(patch.object(Threads, "map", in_any_order))
        # It would wake by the real clock, in a thread that has no turn.
        stack.enter_context(patch.object(Writer, "_flush_aged", lambda _: None))
        stack.enter_context(patch.object(import_module("webtable.repository.upkeep.queue"), "uuid", ids))
        # A million sums take longer than all else that is done with a few pages.
        stack.enter_context(patch.object(import_module("webtable.repository.upkeep.repair"), "GROUPS", 2**12))
        for name in ("monotonic", "nanoseconds", "sleep"):
            stack.enter_context(patch.object(webtable_clock, name, getattr(clock, name)))
        yield
