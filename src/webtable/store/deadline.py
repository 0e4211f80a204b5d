"""One deadline for one call of the caller's, also where that takes many calls of a store, and attempts until then.

Each call of a store has a deadline of its own. A caller who makes several for one question of somebody else puts them
into `until(…)`: then none of them waits beyond that moment. It holds for the thread and for what it hands to
`webtable._threads`. What failed for a passing reason is tried again after pauses that grow, each random.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from webtable._clock import clock

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEAST_LEFT: Final = 0.05
"""The seconds below which there is no other attempt: its error would say nothing but that there was no time."""
_MOST_DOUBLINGS: Final = 30
"""A power of any number of failures would be too large for a float."""


class Deadline:
    """A moment after which nothing is waited for; it may be moved nearer while somebody works towards it."""

    __slots__ = ("at",)

    def __init__(self, seconds: float) -> None:
        self.at = clock.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds until then; never below 0."""
        return max(0.0, self.at - clock.monotonic())

    def within(self, seconds: float) -> Deadline:
        """Return the deadline in *seconds*, or this one where it is earlier."""
        sooner = Deadline(seconds)
        sooner.at = min(sooner.at, self.at)
        return sooner

    def hasten(self, other: Deadline) -> None:
        """Move this deadline to that of *other* where that is earlier."""
        self.at = min(self.at, other.at)


_outer: ContextVar[Deadline | None] = ContextVar("webtable_deadline", default=None)


@contextmanager
def until(deadline: Deadline) -> Iterator[None]:
    """Let no call of a store in the block wait beyond *deadline*, nor beyond that of a block around this one."""
    around = _outer.get()
    token = _outer.set(deadline if around is None or deadline.at < around.at else around)
    try:
        yield
    finally:
        _outer.reset(token)


def of_call(seconds: float) -> Deadline:
    """Return the deadline of a call of a store that has *seconds*, or as long as the caller's own call has left."""
    around = _outer.get()
    return Deadline(seconds) if around is None else around.within(seconds)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses of up to `first` seconds, and twice as long after every further failure, but `longest` at most.

    Each is a random part of its full length, so that many processes do not come back at the same moment.
    """

    first: float = 0.05
    longest: float = 5.0

    def pause(self, failures: int) -> float:
        """Return the seconds of the pause after so many *failures* in a row, from 1 on."""
        full = min(self.longest, self.first * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
        return random.uniform(0.0, full)  # noqa: S311 - it spreads, it keeps no secret


BACKOFF: Final = Backoff()


def attempts(deadline: Deadline, *, at_once: bool = False) -> Iterator[int]:
    """Yield 1 and, each after a pause, 2, 3 … while *deadline* leaves time for it: who has succeeded asks no more.

    With *at_once* the second one comes without a pause.
    """
    number = 1
    yield number
    while True:
        failures = number - at_once
        pause = BACKOFF.pause(failures) if failures else 0.0
        if deadline.left() <= pause + _LEAST_LEFT:
            return
        clock.sleep(pause)
        number += 1
        yield number
