"""A Thrift service of HBase: calls over its connections, within a deadline, with retries of idempotent calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from logging import INFO, WARNING
from typing import TYPE_CHECKING, Any, Final

from webtable._clock import clock
from webtable._process_hooks import renew_after_fork
from webtable.errors import StoreError, StoreUnavailable, WebTableError
from webtable.store.deadline import Deadline
from webtable.store.hbase.shared.failures import ServerLog, WrongReply, disabled, one_attempt, repeated
from webtable.store.hbase.thrift.connection import Connection, GatewaySocket, NotServed, thrift2
from webtable.store.hbase.thrift.http import DRIVER_ERRORS, HTTPMode, is_answer, is_declined, is_unanswered, translated
from webtable.store.metrics import ServerMetrics, subject_of
from webtable.store.url import HostPort

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# --- A pool of connections, each used by one thread at a time and closed after any error ------------------------------


OnCall = Callable[[str], object]


class Pool:
    """At most *size* open connections to one gateway, made when they are needed.

    A connection that was idle for *max_age* seconds is closed: a gateway closes it after 60, and a call on it would be
    lost. A connection on which an exception occurred is closed too, because its next answer is unpredictable.

    A scanner is bound to the connection on which it was opened: to another gateway its number means another scanner, or
    none, and nothing says to which gateway the next connection leads. So the owner of a scanner requests its connection
    explicitly, and others get a connection with scanners only if there is no other.

    `on_call` is called with the method of each call before it is sent, in its thread.
    """

    on_call: OnCall | None = None

    def __init__(
        self,
        connect: Callable[[Deadline], Connection],
        *,
        size: int,
        max_age: float,
        name: str,
    ) -> None:
        self.name = name
        self.size = size
        self._connect = connect
        self._max_age = max_age
        self._closed = False
        self._trouble: tuple[float, Exception] | None = None
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Drop the connections, which are the parent's."""
        self._changed = threading.Condition()
        self._idle: list[tuple[float, Connection]] = []
        self._lent: set[Connection] = set()
        self._connecting: list[float] = []
        self._opened = 0

    @contextmanager
    def connection(self, deadline: Deadline, preferred: Connection | None = None) -> Iterator[Connection]:
        """Lend a connection: *preferred* if it is free and usable.

        Waits for a free one until *deadline*, then raises `StoreUnavailable`.
        """
        with self._returned(self._take_back(preferred) or self._take(deadline)) as connection:
            yield connection

    @contextmanager
    def same_connection(self, wanted: Connection) -> Iterator[Connection]:
        """Lend *wanted*, or raise `StoreUnavailable` at once if it is in use or gone."""
        connection = self._take_back(wanted)
        if connection is None:
            raise StoreUnavailable(f"{self.name}: the connection is in use, or gone")
        with self._returned(connection):
            yield connection

    @property
    def opened(self) -> int:
        """How many connections were opened so far."""
        return self._opened

    @property
    def idle(self) -> int:
        """How many connections are idle."""
        return len(self._idle)

    def in_use(self) -> int:
        """Return how many connections are lent or being made."""
        return len(self._lent) + len(self._connecting)

    def failed(self, error: Exception, *, alone: bool = False) -> None:
        """Remember *error*, for the messages of waiting callers, and close the idle connections.

        After one is lost the others probably are as well, except with *alone*.
        """
        self._trouble = clock.monotonic(), error
        if not alone:
            self.forget_idle()

    def forget_idle(self) -> None:
        """Close the idle connections."""
        with self._changed:
            idle, self._idle = self._idle, []
            self._changed.notify_all()
        for _, connection in idle:
            connection.close()

    def close(self) -> None:
        """Close all connections; those in use when they are returned."""
        self._closed = True
        self.forget_idle()

    @contextmanager
    def _returned(self, connection: Connection) -> Iterator[Connection]:
        try:
            yield connection
        except BaseException:
            self._give_back(connection, fit=False)
            raise
        self._give_back(connection, fit=True)

    def _take_back(self, wanted: Connection | None) -> Connection | None:
        with self._changed:
            for entry in self._idle:
                if entry[1] is wanted:
                    return self._taken(entry)
        return None

    def _take(self, deadline: Deadline) -> Connection:
        with self._changed:
            while True:
                if self._closed:
                    raise StoreError(f"{self.name}: the store is closed")
                if (connection := self._free()) is not None:
                    return connection
                if self._open() < self.size:
                    began = clock.monotonic()
                    self._connecting.append(began)
                    break
                if not self._changed.wait(deadline.left()):
                    raise StoreUnavailable(f"{self.name}: all {self.size} connections are in use: {self._uses()}")
        try:
            connection = self._connect(deadline)
        except BaseException:
            with self._changed:
                self._connecting.remove(began)
                self._changed.notify()
            raise
        with self._changed:
            self._connecting.remove(began)
            self._lent.add(connection)
            self._opened += 1
        return connection

    def _free(self) -> Connection | None:
        """Return an idle connection: the latest without a scanner, or at the pool's size the one idle for longest."""
        while True:
            plain = [entry for entry in self._idle if not entry[1].scanners]
            if plain:
                entry = plain[-1]
            elif self._idle and self._open() >= self.size:
                entry = self._idle[0]
            else:
                return None
            if (connection := self._taken(entry)) is not None:
                return connection

    def _taken(self, entry: tuple[float, Connection]) -> Connection | None:
        """Return the idle connection, or close it and return None if it is too old, or received unexpected data."""
        self._idle.remove(entry)
        since, connection = entry
        if clock.monotonic() - since < self._max_age and connection.socket.is_quiet():
            self._lent.add(connection)
            return connection
        connection.close()
        self._changed.notify()  # there is room for another one
        return None

    def _give_back(self, connection: Connection, *, fit: bool) -> None:
        with self._changed:
            # A connection that was lent before a fork is unknown here.
            kept = connection in self._lent and fit and not self._closed
            self._lent.discard(connection)
            if kept:
                self._idle.append((clock.monotonic(), connection))
            self._changed.notify()
        if not kept:
            connection.close()

    def _open(self) -> int:
        return len(self._idle) + len(self._lent) + len(self._connecting)

    def _uses(self) -> str:
        """Return the uses of the connections, the longest first, and the latest error."""
        longest: dict[str, tuple[int, float]] = {}
        busy = [connection.busy for connection in self._lent]
        for call, since in [*busy, *(("connecting", since) for since in self._connecting)]:
            count, seconds = longest.get(call, (0, 0.0))
            longest[call] = count + 1, max(seconds, clock.monotonic() - since)
        uses = ", ".join(
            f"{count} {call} for up to {seconds:.1f} s"
            for call, (count, seconds) in sorted(longest.items(), key=lambda use: -use[1][1])
        )
        if self._trouble is None:
            return uses
        when, error = self._trouble
        return f"{uses}; {clock.monotonic() - when:.1f} s ago: {error}"


# ----------------------------------------------------------------------------------------------------------------------


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
    """Makes connections to a gateway, given its host, port and service."""

    host: str
    port: int
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
        connection = Connection(self.host, self.port, self.service, make_socket)
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
