"""What became of pages, told to whoever put them: to a function, page by page, or as an error."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from webtable.errors import WriteFailed
from webtable.page import PageOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OutcomeCallback = Callable[[PageOutcome], None]


class Outcomes:
    """Outcomes that the caller's function *on_outcome* is to be given, one after another, by one thread at a time."""

    def __init__(self, on_outcome: OutcomeCallback) -> None:
        self._on_outcome = on_outcome
        self._waiting: deque[PageOutcome] = deque()
        self._delivering = threading.Lock()
        self._deliverer: int | None = None

    def add(self, outcomes: Iterable[PageOutcome]) -> None:
        """Take outcomes to be delivered."""
        self._waiting.extend(outcomes)

    def is_delivering(self) -> bool:
        """Whether it is the caller's function that is at work here, in this thread."""
        return self._deliverer == threading.get_ident()

    def deliver(self, *, wait: bool = False) -> list[Exception]:
        """Give the outcomes to the caller's function, and return what it has raised.

        The next outcome is given to it all the same. Not to be called with a lock held: the function may put pages
        itself. Where another thread is at it, that goes on to the last of them; with *wait* this one waits for it.
        """
        errors: list[Exception] = []
        # This thread may be at it further up, which then goes on to the last of them.
        if self.is_delivering() or not self._waiting or not self._delivering.acquire(blocking=wait):
            return errors
        self._deliverer = threading.get_ident()
        try:
            while self._waiting:
                try:
                    self._on_outcome(self._waiting.popleft())
                except Exception as exc:  # noqa: BLE001 - it is the caller's, and raised to the caller
                    errors.append(exc)
        finally:
            self._deliverer = None
            self._delivering.release()
        return errors

    def after_fork(self) -> None:
        """Leave the outcomes to the parent."""
        self._delivering = threading.Lock()


def failed(failures: Sequence[PageOutcome]) -> WriteFailed:
    """Return the error that names pages which were not stored."""
    reasons = "; ".join(_reason(failure) for failure in failures[:3])
    more = f"; and {len(failures) - 3:,} more" if len(failures) > 3 else ""
    return WriteFailed(f"{len(failures):,} page{'s'[: len(failures) > 1]} not stored: {reasons}{more}", failures)


def _reason(failure: PageOutcome) -> str:
    reason = str(failure.error)
    return reason if reason.startswith(failure.url[:100]) else f"{failure.url[:100]}: {reason}"
