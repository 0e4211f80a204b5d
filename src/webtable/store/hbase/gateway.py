"""One gateway: calls over its pool, counted, within a deadline, and repeated where that is harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_random_exponential

from webtable.errors import StoreUnavailable
from webtable.store.hbase.failures import DRIVER_ERRORS, translated

if TYPE_CHECKING:
    import threading
    from collections import Counter
    from collections.abc import Callable

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.pool import Pool

T = TypeVar("T")

_FIRST_SHARE: Final = 2 / 3
"""The share of the time that is left which one attempt may use, so that there is some for another."""
_LEAST_ATTEMPT: Final = 2.0
_PAUSE: Final = wait_random_exponential(multiplier=0.05, max=2.0)


class Gateway:
    """Calls to one Thrift gateway. *calls* is the store's counter, *lock* guards it."""

    def __init__(self, name: str, pool: Pool, calls: Counter[str], lock: threading.Lock) -> None:
        self.name = name
        self.pool = pool
        self._calls = calls
        self._lock = lock

    def call(self, method: str, *args: Any, deadline: Deadline, table: str | None = None) -> Any:
        """Return the gateway's answer; for calls that may be repeated: repeats them until *deadline*.

        Pauses grow from 50 ms to 2 s and are random; only `StoreUnavailable` is worth a repetition.
        """
        return repeated(lambda: self.call_once(method, *args, deadline=deadline, table=table), deadline)

    def call_once(self, method: str, *args: Any, deadline: Deadline, table: str | None = None) -> Any:
        """Return the gateway's answer to a single attempt, which leaves some of the time for another."""
        left = deadline.left()
        attempt = deadline.within(max(left * _FIRST_SHARE, _LEAST_ATTEMPT))
        try:
            with self.pool.connection(attempt) as connection:
                with self._lock:
                    self._calls[method] += 1
                return connection.call(method, *args, deadline=attempt)
        except DRIVER_ERRORS as exc:
            error = translated(exc, self.name, table, method)
            if isinstance(error, StoreUnavailable):
                self.pool.forget_idle()
            raise error from exc


def repeated(attempt: Callable[[], T], deadline: Deadline) -> T:
    """Return what *attempt* returns, tried again while it raises `StoreUnavailable` and there is time for a pause.

    The second attempt comes at once: most often the first one found that its connection was gone.
    """
    try:
        return attempt()
    except StoreUnavailable:
        if not deadline.left():
            raise

    def out_of_time(state: RetryCallState) -> bool:
        return deadline.left() <= state.upcoming_sleep

    return Retrying(retry=retry_if_exception_type(StoreUnavailable), wait=_PAUSE, stop=out_of_time,
                    reraise=True)(attempt)
