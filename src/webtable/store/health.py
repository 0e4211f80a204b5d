"""What was looked at of a store or a table, and found well or not, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "failed"]
"""`warning` works, and will be trouble; `failed` does not work, or is damaged."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: its name, its state, what was found, and what to do where it is not `ok`."""

    check: str
    state: State
    found: str
    remedy: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether there is nothing to do."""
        return self.state == "ok"


def well(check: str, found: str) -> Check:
    """Return a check that found nothing to do."""
    return Check(check, "ok", found)


def warned(check: str, found: str, remedy: str) -> Check:
    """Return a check of what works, and will be trouble."""
    return Check(check, "warning", found, remedy)


def failed(check: str, found: str, remedy: str) -> Check:
    """Return a check of what does not work."""
    return Check(check, "failed", found, remedy)


@dataclass(frozen=True, slots=True)
class Space:
    """The space that a store takes: the bytes of all of it, and how many of these `compact` would give back now.

    What has been deleted or has expired and is still there comes on top of that.
    """

    bytes: int
    free: int
