"""How what failed for a passing reason is tried again: after pauses that grow, each random, until a deadline."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from webtable._clock import clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.store.deadline import Deadline

_LEAST_LEFT: Final = 0.05
"""The seconds below which there is no other attempt: its error would say nothing but that there was no time."""
_MOST_DOUBLINGS: Final = 30
"""A power of any number of failures would be too large for a float."""


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
