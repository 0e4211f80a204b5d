"""Retries of idempotent calls until their deadline."""

from __future__ import annotations

from logging import INFO
from typing import TYPE_CHECKING, Final, TypeVar

from webtable._clock import clock
from webtable.errors import StoreUnavailable
from webtable.store.deadline import attempts

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.shared.failures import ServerLog

T = TypeVar("T")

_FIRST_SHARE: Final = 2 / 3
"""The share of the remaining time that one attempt may use, so that there is some for another."""
LEAST_ATTEMPT: Final = 2.0
"""The seconds that an attempt has at least, if they are left."""


def repeated(attempt: Callable[[], T], deadline: Deadline, log: ServerLog | None = None, table: str | None = None) -> T:
    """Return the result of *attempt*, retried while it raises `StoreUnavailable` and there is time for a pause.

    The second attempt comes at once: usually the first one found that its connection was gone. Each is logged as one
    of a call to *table* in *log*.
    """
    began = clock.monotonic()
    errors: list[StoreUnavailable] = []
    for number in attempts(deadline, at_once=True):
        if errors and log is not None:
            log(INFO, "retry", f"attempt {number}", table, clock.monotonic() - began, errors[-1])
        try:
            return attempt()
        except StoreUnavailable as error:
            errors.append(error)
    first, last = errors[0], errors[-1]
    if first is last:
        raise first
    seconds = clock.monotonic() - began
    before = "" if type(first.__cause__) is type(last.__cause__) else f"; the first one: {first}"
    raise StoreUnavailable(f"{last} (the last of {len(errors)} attempts in {seconds:.1f} s{before})") from last


def one_attempt(deadline: Deadline, subject: str, least: float = LEAST_ATTEMPT) -> Deadline:
    """Return the deadline of one attempt, so that there is some time for another; raises if there is none for one.

    It has *least* seconds, if they are left. The error is a `StoreUnavailable` about *subject*.
    """
    left = deadline.left()
    if not left:
        raise StoreUnavailable(f"{subject}: the deadline of the call has passed")
    return deadline.within(max(left * _FIRST_SHARE, least))
