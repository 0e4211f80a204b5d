"""A gateway: calls over its connection pool, within a deadline, with retries of idempotent calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, contextmanager
from logging import INFO, WARNING
from typing import TYPE_CHECKING, Any, Final, TypeVar

from webtable._clock import clock
from webtable.errors import StoreUnavailable, WebTableError
from webtable.store.hbase.failures import WrongReply, disabled, log_server_event
from webtable.store.hbase.retries import one_attempt, repeated
from webtable.store.hbase.thrift.descriptors import table_name
from webtable.store.hbase.thrift.failures import DRIVER_ERRORS, is_answer, is_unanswered, translated
from webtable.store.hbase.thrift.gateway_socket import NotServed
from webtable.store.metrics import ServerMetrics, Tally, subject_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.thrift.connection import Connection
    from webtable.store.hbase.thrift.pool import OnCall, Pool

T = TypeVar("T")

_SLOW_SHARE: Final = 1 / 3
"""The share of the remaining time above which a call is logged as slow."""
_LEAST_SLOW: Final = 0.1
"""Faster calls are never slow: near the end of a deadline every share is small."""
_LOOK_SECONDS: Final = 1.0
"""The time, in seconds, in which a gateway must say whether a table is disabled."""
_UNREADABLE: Final = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError)
"""The exceptions of reading an answer in which something is missing or of a wrong type."""


class Session:
    """Calls on one *connection* to a gateway, whose name is in `gateway`, within one deadline.

    *on_call* is called with the method of each before it is sent; calls over *slow* seconds are logged.
    """

    __slots__ = ("_deadline", "_log", "_on_call", "_slow", "_table", "connection", "gateway")

    def __init__(
        self,
        connection: Connection,
        deadline: Deadline,
        on_call: OnCall | None,
        *,
        gateway: Gateway,
        table: str | None,
        slow: float,
    ) -> None:
        self.connection: Final = connection
        self.gateway: Final = gateway.name
        self._log = gateway.log
        self._deadline = deadline
        self._on_call = on_call
        self._table = table
        self._slow = slow

    def call(self, method: str, *args: Any, read: Callable[[Any], Any] | None = None) -> Any:
        """Return the gateway's answer, converted by *read*; an answer that *read* cannot convert is a `WrongReply`."""
        if self._on_call is not None:
            self._on_call(method)
        try:
            answer = self.connection.call(method, *args, deadline=self._deadline)
        finally:
            seconds = clock.monotonic() - self.connection.busy[1]
            if seconds > self._slow:
                self._log(WARNING, "slow", f"{method} took long", self._table, seconds)
        if read is None:
            return answer
        try:
            return read(answer)
        except WebTableError:
            raise
        except _UNREADABLE as exc:
            raise WrongReply(f"an answer that cannot be read ({type(exc).__name__}: {exc!s:.200})") from exc


class Gateway(ABC):
    """Calls to the Thrift*number* service of HBase; *name* is in every error.

    `events` counts the logged events.
    """

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self._number = number
        self.events: Final = Tally()

    def log(
        self,
        level: int,
        event: str,
        text: str,
        table: str | None,
        seconds: float,
        error: WebTableError | None = None,
        *,
        name: str | None = None,
    ) -> None:
        """Count and log *event*, as an event of the gateway *name* if that is one of several."""
        self.events(event)
        log_server_event(level, event, text, server=name or self.name, table=table, seconds=seconds, error=error)

    def all_events(self) -> Counter[str]:
        """Return how often each event has occurred, in total for several gateways."""
        return self.events.snapshot()

    @abstractmethod
    def state(self) -> list[ServerMetrics]:
        """Return the state of the gateway, or of each of several."""

    def call(
        self,
        method: str,
        *args: Any,
        deadline: Deadline,
        table: str | None = None,
        read: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Return the gateway's answer, converted by *read*; repeats the call until *deadline*.

        It is for idempotent calls. Only `StoreUnavailable` is worth a retry, and a call to a disabled table is not.
        """

        def attempt() -> Any:
            try:
                return self.call_once(method, *args, deadline=deadline, table=table, read=read)
            except StoreUnavailable as error:
                if table and is_unanswered(error) and self._is_disabled(table, deadline):
                    raise disabled(self.name, table) from error
                raise

        return repeated(attempt, deadline, self, table)

    def call_once(
        self,
        method: str,
        *args: Any,
        deadline: Deadline,
        table: str | None = None,
        read: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Make a single attempt of the same, which leaves some time for another."""
        with self.session(deadline, table) as session:
            return session.call(method, *args, read=read)

    def _is_disabled(self, table: str, deadline: Deadline) -> bool:
        """Whether *table* is disabled; the HBase client in a gateway would retry such rows for minutes."""
        asked = table_name(table) if self._number == 2 else table.encode()
        try:
            return not self.call_once("isTableEnabled", asked, deadline=deadline.within(_LOOK_SECONDS), table=table)
        except WebTableError:
            return False

    @abstractmethod
    def session(
        self, deadline: Deadline, table: str | None = None, *, preferred: Connection | None = None, only: bool = False
    ) -> AbstractContextManager[Session]:
        """Lend a connection for several calls: *preferred* if that is free, and with *only* no other.

        Failures on the way to the gateway and back, and errors of the gateway, leave the block as errors of the store;
        the connection is closed then.
        """


class OneGateway(Gateway):
    """Calls to one gateway, over the connections of its *pool*."""

    def __init__(self, name: str, number: int, pool: Pool) -> None:
        super().__init__(name, number)
        self.pool = pool
        self._is_down = False

    def state(self, cool_down: float = 0.0) -> list[ServerMetrics]:
        """Return the state of the gateway, which is in its cool-down for *cool_down* more seconds."""
        in_use, idle, opened = self.pool.in_use(), self.pool.idle, self.pool.opened
        dropped = self.events.snapshot()["dropped"]
        return [ServerMetrics(self.name, in_use, idle, opened, dropped, self._is_down, cool_down)]

    @contextmanager
    def session(
        self, deadline: Deadline, table: str | None = None, *, preferred: Connection | None = None, only: bool = False
    ) -> Iterator[Session]:
        """Lend a connection of the pool."""
        began, left = clock.monotonic(), deadline.left()
        attempt = one_attempt(deadline, subject_of(self.name, table))
        session = None
        lent = (
            self.pool.same_connection(preferred)
            if only and preferred is not None
            else self.pool.connection(attempt, preferred)
        )
        try:
            with lent as connection:
                session = Session(
                    connection,
                    attempt,
                    self.pool.on_call,
                    gateway=self,
                    table=table,
                    slow=max(left * _SLOW_SHARE, _LEAST_SLOW),
                )
                if not connection.socket.has_answered:
                    # A cheap call, which distinguishes a slow first call from a gateway without a free thread.
                    connection.service(attempt)
                if self._is_down:
                    self.came_up(table, clock.monotonic() - began)
                yield session
        except DRIVER_ERRORS as exc:
            doing = "connecting" if session is None else session.connection.busy[0]
            seconds = clock.monotonic() - began
            error = translated(exc, self.name, table, doing, seconds)
            error.__cause__ = exc
            if not is_answer(exc):
                # If a gateway has no thread for a new connection, only the connections that it serves can be used.
                self.pool.failed(error, alone=isinstance(exc, NotServed))
                if session is None:
                    self.went_down(error, table, seconds)
                else:
                    self.log(INFO, "dropped", "dropped a connection", table, seconds, error)
            raise error from exc

    def went_down(self, error: WebTableError, table: str | None, seconds: float) -> None:
        """Log that no connection can be made, once until there is one again."""
        if not self._is_down:
            self._is_down = True
            self.log(WARNING, "down", "is down", table, seconds, error)

    def came_up(self, table: str | None, seconds: float) -> None:
        """Log that there is a connection again."""
        self._is_down = False
        self.log(INFO, "up", "is up again", table, seconds)
