"""Deadlines that can span several calls of a store, and attempts with pauses until then.

Each call of a store has a deadline of its own. A caller who makes several calls for one request puts them into
`until(…)`: none of them then waits beyond that moment; and into `cancelled_by(…)`, after whose event no further call
begins. Both apply to the thread and to the jobs that it submits to `webtable._threads`. After a temporary failure a
call is retried, with pauses that grow and are random.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

import msgspec

from webtable._clock import clock
from webtable.errors import WebTableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from threading import Event

_LEAST_LEFT: Final = 0.05
"""The seconds below which there is no further attempt: its only error would be the lack of time."""
_MOST_DOUBLINGS: Final = 30
"""Limits the exponent: a larger power would not fit into a float."""


class Deadline:
    """A moment after which nothing waits; it may be made earlier while calls are in progress."""

    __slots__ = ("at",)

    def __init__(self, seconds: float) -> None:
        self.at: float = clock.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds until then; never below 0."""
        return max(0.0, self.at - clock.monotonic())

    def within(self, seconds: float) -> Deadline:
        """Return the deadline in *seconds*, or this one if it is earlier."""
        sooner = Deadline(seconds)
        sooner.at = min(sooner.at, self.at)
        return sooner

    def limit_to(self, other: Deadline) -> None:
        """Move this deadline to that of *other* if that is earlier."""
        self.at = min(self.at, other.at)


_outer: ContextVar[Deadline | None] = ContextVar("webtable_deadline", default=None)


class _Limited:
    """A block until *deadline*: a class, as each page that is read comes here and a generator takes twice as long."""

    __slots__ = ("_deadline", "_token")

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def __enter__(self) -> None:
        deadline, around = self._deadline, _outer.get()
        self._token = _outer.set(deadline if around is None or deadline.at < around.at else around)

    def __exit__(self, *_: object) -> None:
        _outer.reset(self._token)


def until(deadline: Deadline) -> AbstractContextManager[None]:
    """Limit all calls of a store in the block to *deadline*, and to that of an enclosing block."""
    # A context variable, and not an argument of each call, so that jobs of `_threads` have it too.
    return _Limited(deadline)


def of_call(seconds: float) -> Deadline:
    """Return the deadline of a call of a store that has *seconds*, or less if the block of the caller ends earlier."""
    around = _outer.get()
    return Deadline(seconds) if around is None else around.within(seconds)


class CallCancelled(WebTableError):
    """Nobody waits for the answer any more."""


_cancelled: ContextVar[Event | None] = ContextVar("webtable_cancelled", default=None)


@contextmanager
def cancelled_by(event: Event) -> Iterator[None]:
    """Let tables raise `CallCancelled`, once *event* is set, where the block calls a store or reads on in a scan."""
    token = _cancelled.set(event)
    try:
        yield
    finally:
        _cancelled.reset(token)


def check_cancelled() -> None:
    """Raise `CallCancelled` if the request of this thread is cancelled."""
    event = _cancelled.get()
    if event is not None and event.is_set():
        raise CallCancelled("the request was cancelled")


class Backoff(msgspec.Struct, frozen=True):
    """Exponential backoff: pauses of up to `first` seconds, twice as long after each failure, at most `longest`.

    Each is a random part of its full length, so that many processes do not come back at the same moment.
    """

    first: float = 0.05
    longest: float = 5.0

    def pause(self, failures: int) -> float:
        """Return the seconds of the pause after this number of consecutive *failures*, from 1 on."""
        full = min(self.longest, self.first * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
        return random.uniform(0.0, full)  # noqa: S311 - for spreading, not for security


BACKOFF: Final = Backoff()


def attempts(deadline: Deadline, *, at_once: bool = False) -> Iterator[int]:
    """Yield 1 and, each after a pause, 2, 3 … while *deadline* leaves time for it; break the loop after a success.

    With *at_once* the second attempt comes without a pause.
    """
    number = 1
    yield number
    while True:
        failures = number - at_once  # a broken connection is no reason to wait: the next one may be good
        pause = BACKOFF.pause(failures) if failures else 0.0
        if deadline.left() <= pause + _LEAST_LEFT:
            return
        clock.sleep(pause)
        number += 1
        yield number
