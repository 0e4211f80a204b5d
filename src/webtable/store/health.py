"""What was looked at of a store or a table, and found well or not, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.store.url import StoreURL

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


class Examined:
    """What every store can be asked about its health; one that has nothing to tell need not have any of it."""

    @classmethod
    def reached(cls, url: StoreURL) -> Iterator[Check]:  # noqa: ARG003
        """Yield what is found on the way to the store that *url* leads to, which need not be there: it is not opened.

        Where a check has failed the store cannot be opened. Nothing is written. Raises `InvalidArgument`.
        """
        yield from ()

    def health(self, table: str) -> Iterator[Check]:  # noqa: ARG002
        """Yield what the store itself tells of its health, and of that of *table*; nothing is written."""
        yield from ()

    def space(self) -> Space | None:
        """Return the space that the store takes; None where it cannot tell."""
        return None
