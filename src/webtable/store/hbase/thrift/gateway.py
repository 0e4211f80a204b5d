"""A Thrift service of HBase: calls over its connections, within a deadline, with retries of idempotent calls."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from logging import INFO, WARNING
from typing import TYPE_CHECKING, Any, Final

from webtable._clock import clock
from webtable.errors import StoreUnavailable, WebTableError
from webtable.store.deadline import Deadline
from webtable.store.hbase.shared.failures import ServerLog, WrongReply, disabled
from webtable.store.hbase.shared.retries import one_attempt, repeated
from webtable.store.hbase.thrift.connection import Connection, GatewaySocket, NotServed, Protocol, Transport, thrift2
from webtable.store.hbase.thrift.failures import DRIVER_ERRORS, is_answer, is_declined, is_unanswered, translated
from webtable.store.hbase.thrift.http import HTTPMode
from webtable.store.hbase.thrift.pool import OnCall, Pool
from webtable.store.metrics import ServerMetrics, subject_of
from webtable.store.url import HostPort

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_SLOW_SHARE: Final = 1 / 3
"""The share of the remaining time above which a call is logged as slow."""
_LEAST_SLOW: Final = 0.1
"""Faster calls are never slow: near the end of a deadline every share is small."""
_LOOK_SECONDS: Final = 1.0
"""The time, in seconds, in which a gateway must say whether a table is disabled."""
_NEXT_SECONDS: Final = 5.0
"""How long one of several gateways may take for a new connection; then the next one is tried."""
_UNREADABLE: Final = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError)
"""The exceptions of reading an answer in which something is missing or of a wrong type."""


@dataclass(frozen=True, slots=True)
class Connector:
    """Makes connections to a gateway, given its host, port, transport, protocol and service."""

    host: str
    port: int
    transport: Transport
    protocol: Protocol
    service: Any
    http: HTTPMode | None = None

    @property
    def address(self) -> str:
        """The host and the port."""
        return str(HostPort(self.host, self.port))

    @property
    def scheme(self) -> str:
        """The scheme of the store URLs."""
        return "hbase" if self.http is None else self.http.scheme

    def served(self, number: int, deadline: Deadline) -> Connection:
        """Return a new connection to the Thrift*number* service that has been answered."""
        connection = self(deadline)
        try:
            if (found := connection.service(deadline)) not in (None, number):
                raise WrongReply(f"a Thrift{found} gateway answers where Thrift{number} is expected")
        except BaseException:
            connection.close()
            raise
        return connection

    def __call__(self, deadline: Deadline) -> Connection:
        """Return a new, open connection."""
        make_socket = GatewaySocket if self.http is None else self.http.socket
        connection = Connection(self.host, self.port, self.transport, self.protocol, self.service, make_socket)
        connection.socket.deadline = deadline
        connection.open()
        return connection


@dataclass(frozen=True, slots=True)
class Session:
    """Calls on one connection to a gateway within one deadline; calls over `slow` seconds are logged.

    `on_call` is called with the method of each before it is sent.
    """

    connection: Connection
    deadline: Deadline
    on_call: OnCall | None
    log: ServerLog
    table: str | None
    slow: float

    def call(self, method: str, *args: Any, read: Callable[[Any], Any] | None = None) -> Any:
        """Return the gateway's answer, converted by *read*; an answer that *read* cannot convert is a `WrongReply`."""
        if self.on_call is not None:
            self.on_call(method)
        try:
            answer = self.connection.call(method, *args, deadline=self.deadline)
        finally:
            seconds = clock.monotonic() - self.connection.busy[1]
            if seconds > self.slow:
                self.log(WARNING, "slow", f"{method} took long", self.table, seconds)
        if read is None:
            return answer
        try:
            return read(answer)
        except WebTableError:
            raise
        except _UNREADABLE as exc:
            raise WrongReply(f"an answer that cannot be read ({type(exc).__name__}: {exc!s:.200})") from exc


class Gateway:
    """Calls to the Thrift*number* service of HBase; *name* is in every error.

    New connections lead to the first of *connectors* that works, from the one on that worked last. A `pool` of *size*
    keeps them for *max_age* seconds.
    """

    def __init__(self, name: str, number: int, connectors: Sequence[Connector], size: int, max_age: float) -> None:
        self.name = name
        self.log: Final = ServerLog(name)
        self.pool: Final = Pool(self._connected, size=size, max_age=max_age, name=name)
        self._number = number
        self._connectors = connectors
        self._turn = 0
        self._is_down = False

    def state(self) -> ServerMetrics:
        """Return the state of the connections."""
        dropped = self.log.events.snapshot()["dropped"]
        return ServerMetrics(
            self.name, self.pool.in_use(), self.pool.idle, self.pool.opened, dropped, is_down=self._is_down
        )

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

        return repeated(attempt, deadline, self.log, table)

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

    @contextmanager
    def session(
        self, deadline: Deadline, table: str | None = None, *, preferred: Connection | None = None, only: bool = False
    ) -> Iterator[Session]:
        """Lend a connection for several calls: *preferred* if that is free, and with *only* no other.

        Failures on the way to the gateway and back, and errors of the gateway, leave the block as errors of the store;
        the connection is closed then.
        """
        began, slow = clock.monotonic(), max(deadline.left() * _SLOW_SHARE, _LEAST_SLOW)
        attempt = one_attempt(deadline, subject_of(self.name, table))
        connection = None
        lent = (
            self.pool.same_connection(preferred)
            if only and preferred is not None
            else self.pool.connection(attempt, preferred)
        )
        try:
            with lent as connection:
                if not connection.socket.has_answered:
                    # A cheap call, which distinguishes a slow first call from a gateway without a free thread.
                    connection.service(attempt)
                if self._is_down:
                    self._is_down = False
                    self.log(INFO, "up", "is up again", table, clock.monotonic() - began)
                yield Session(connection, attempt, self.pool.on_call, self.log, table, slow)
        except DRIVER_ERRORS as exc:
            seconds = clock.monotonic() - began
            error = translated(
                exc, self.name, table, "connecting" if connection is None else connection.busy[0], seconds
            )
            error.__cause__ = exc
            if not is_answer(exc):
                # If a gateway has no thread for a new connection, only the connections that it serves can be used.
                self.pool.failed(error, alone=isinstance(exc, NotServed))
                if connection is not None:
                    self.log(INFO, "dropped", "dropped a connection", table, seconds, error)
                elif not self._is_down:  # logged once, until there is a connection again
                    self._is_down = True
                    self.log(WARNING, "down", "is down", table, seconds, error)
            raise error from exc

    def _is_disabled(self, table: str, deadline: Deadline) -> bool:
        """Whether *table* is disabled; the HBase client in a gateway would retry such rows for minutes."""
        name = table_name(table) if self._number == 2 else table.encode()
        try:
            return not self.call_once("isTableEnabled", name, deadline=deadline.within(_LOOK_SECONDS), table=table)
        except WebTableError:
            return False

    def _connected(self, deadline: Deadline) -> Connection:
        """Return a new connection; of several gateways to the first that answers on one."""
        if len(self._connectors) == 1:
            return self._connectors[0](deadline)
        errors: list[tuple[Connector, Exception]] = []
        began, first, count = clock.monotonic(), self._turn, len(self._connectors)
        for place in range(first, first + count):
            connector = self._connectors[place % count]
            waiting = count - len(errors)
            soon = deadline.within(min(deadline.left() / (waiting + 1), _NEXT_SECONDS))
            try:
                connection = connector.served(self._number, soon)
            except DRIVER_ERRORS as exc:
                if is_declined(exc):
                    raise
                errors.append((connector, exc))
                continue
            if errors:
                self._turn = place % count
                gone = ", ".join(failed.address for failed, _ in errors)
                text = f"{connector.address} takes the place of {gone}"
                self.log(INFO, "failover", text, None, clock.monotonic() - began)
            return connection
        *_, (_, last) = errors
        raise ConnectionError(none_of(errors)) from last


def table_name(name: str) -> Any:
    """Return Thrift2's table name of `table` or `namespace:table`."""
    namespace, colon, qualifier = name.rpartition(":")
    return thrift2.TTableName(ns=namespace.encode() if colon else None, qualifier=qualifier.encode())


def none_of(errors: Sequence[tuple[Connector, Exception]]) -> str:
    """Return the message that no gateway can be used, with the reason of each."""
    reasons = "; ".join(f"{connector.address}: {exc}" for connector, exc in errors)
    return f"none of {len(errors)} gateways can be used: {reasons}"
