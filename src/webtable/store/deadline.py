"""One deadline for one call of the caller's, also where that takes many calls of a store.

Each call of a store has a deadline of its own. A caller who makes several for one question of somebody else puts them
into `until(…)`: then none of them waits beyond that moment. It holds for the thread and for what it hands to
`webtable._threads`.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from webtable._clock import clock

if TYPE_CHECKING:
    from collections.abc import Iterator


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
