"""The wait for a store that does not answer when a command opens it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from webtable.cli.exit_codes import note
from webtable.cli.terminal.interaction import interruptible
from webtable.errors import StoreUnavailable
from webtable.store import Deadline, attempts

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def when_there(opened: Callable[[], T], seconds: float) -> T:
    """Return what *opened* returns, which is called again for up to *seconds* while its store does not answer.

    The wait is reported once; a signal ends it, and the command. Raises the last `StoreUnavailable`.
    """
    errors: list[StoreUnavailable] = []
    with interruptible():
        for number in attempts(Deadline(seconds)):
            if number == 2:
                note(f"waiting up to {seconds:g} s for the store: {errors[0]}")
            try:
                found = opened()
            except StoreUnavailable as exc:
                errors.append(exc)
            else:
                if errors:
                    note("the store answers again")
                return found
    raise errors[-1]
