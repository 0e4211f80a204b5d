"""The results of health checks of a store or a table, and the space that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from webtable._messages import Message, Words

State = Literal["ok", "warning", "failed"]
"""`warning` means that it works but will cause trouble; `failed` that it does not work or is damaged."""


# The argument in Python, the option on the command line.
MORE_TIME = Message("give it more time (", Words("timeout=", "--timeout"), ")")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check: its name, its state, the finding, and what to do if it is not `ok`."""

    check: str
    state: State
    finding: str
    fix: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether there is nothing to do."""
        return self.state == "ok"


def well(check: str, finding: str) -> Check:
    """Return a successful check."""
    return Check(check, "ok", finding)


def warned(check: str, finding: str, fix: str) -> Check:
    """Return a check of something that works but will cause trouble."""
    return Check(check, "warning", finding, fix)


def failed(check: str, finding: str, fix: str) -> Check:
    """Return a check of something that does not work."""
    return Check(check, "failed", finding, fix)


@dataclass(frozen=True, slots=True)
class Rescued:
    """What could be read of a damaged store: how many `records`, and how many `bytes` the new file has.

    Each of `places` is a page of the file or more that could not be read.
    """

    records: int
    places: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Space:
    """The space that a store takes: all of its bytes, and how many of these `compact` would free now.

    Deleted and expired data that was not removed yet is not included in the latter.
    """

    bytes: int
    free: int
