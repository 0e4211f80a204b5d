"""A Thrift service of HBase: its errors, its connections, and its calls within a deadline, with retries."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from logging import INFO, WARNING
from typing import TYPE_CHECKING, Any, Final, TypeVar

from thriftpy2.thrift import TApplicationException, TException
from thriftpy2.transport import TTransportException

from webtable._clock import clock
from webtable._process_hooks import renew_after_fork
from webtable.errors import CapabilityError, StoreError, StoreRefused, StoreUnavailable, TableNotFound, WebTableError
from webtable.store.deadline import Deadline
from webtable.store.hbase.shared import failures
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.thrift.connection import (
    SERVICES,
    Connection,
    GatewaySocket,
    NotServed,
    Unsendable,
    thrift1,
    thrift2,
)
from webtable.store.hbase.thrift.http import HTTPMode, NoHeaders, WrongStatus
from webtable.store.metrics import ServerMetrics, subject_of
from webtable.store.url import HostPort

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")
OnCall = Callable[[str], object]


# --- Errors -----------------------------------------------------------------------------------------------------------


DRIVER_ERRORS: Final = (OSError, EOFError, TException, Unsendable)
"""The exceptions of a call on a connection: those of sockets, of Thrift, and of the gateway's IDL."""

_DECLARED: Final = (
    thrift1.IOError,
    thrift1.IllegalArgument,
    thrift1.AlreadyExists,
    thrift2.TIOError,
    thrift2.TIllegalArgument,
)


def is_declined(exc: Exception) -> bool:
    """Whether *exc* is an HTTP status, or a lack of headers, that would be the same for another attempt."""
    return isinstance(exc, NoHeaders) or (isinstance(exc, WrongStatus) and not exc.passes)


def translated(
    exc: Exception, name: str, table: str | None, call: str, seconds: float = 0.0
) -> StoreError | TableNotFound:
    """The error of the store for *exc*, raised by a call to *table* on *name*, *seconds* after it began."""
    subject = subject_of(name, table)
    if isinstance(exc, _DECLARED):
        return failures.answered(
            _text(exc.message),
            name,
            table,
            call,
            can_retry=bool(getattr(exc, "canRetry", False)),
            exists=isinstance(exc, thrift1.AlreadyExists),
        )
    if isinstance(exc, TApplicationException):
        if exc.type == TApplicationException.UNKNOWN_METHOD:
            return CapabilityError(f"{subject}: the gateway has no {call}; it is from HBase 1.x or no gateway of HBase")
        return StoreRefused(f"{subject}: {call}: {_text(exc.message) or 'the gateway gave no result'}")
    if isinstance(exc, Unsendable) or is_declined(exc):
        return StoreRefused(f"{subject}: {call}: {exc}")
    if isinstance(exc, NotServed):
        return StoreUnavailable(f"{subject}: {call}: no answer within {seconds:.1f} s: {exc}")
    if isinstance(exc, TTransportException):
        return StoreUnavailable(f"{subject}: {call}: {_text(exc.message)}")
    return failures.unanswered(exc, subject, call, seconds)


def _text(message: object) -> str:
    return message.decode(errors="replace") if isinstance(message, bytes) else str(message or "")


# --- Connections ------------------------------------------------------------------------------------------------------


class Pool:
    """At most *size* open connections to one gateway, made when they are needed.

    A connection that was idle for *max_age* seconds is closed: a gateway closes it after 60, and a call on it would be
    lost. A connection on which an exception occurred is closed too, because its next answer is unpredictable.

    `opened` is how many were made so far. `on_call` is called with the method of each call before it is sent, in its
    thread.
    """

    # A scanner is bound to the connection on which it was opened: to another gateway its number means another scanner,
    # or none, and nothing says to which gateway the next connection leads. So the owner of a scanner asks for its
    # connection, and others get a connection with scanners only if there is no other.

    on_call: OnCall | None = None

    def __init__(self, connect: Callable[[Deadline], Connection], *, size: int, max_age: float, name: str) -> None:
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
        self.opened: int = 0

    @contextmanager
    def connection(
        self, deadline: Deadline, preferred: Connection | None = None, *, only: bool = False
    ) -> Iterator[Connection]:
        """Lend a connection: *preferred* if it is free and usable, and with *only* no other.

        Waits for a free one until *deadline*, then raises `StoreUnavailable`; with *only* that is raised at once.
        """
        connection = self._take_back(preferred)
        if connection is None and only:
            raise StoreUnavailable(f"{self.name}: the connection is in use, or gone")
        connection = connection or self._take(deadline)
        try:
            yield connection
        except BaseException:
            self._give_back(connection, fit=False)
            raise
        self._give_back(connection, fit=True)

    @property
    def idle(self) -> int:
        """How many connections are idle."""
        return len(self._idle)

    def in_use(self) -> int:
        """How many connections are lent or being made."""
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

    def _take_back(self, wanted: Connection | None) -> Connection | None:
        with self._changed:
            entry = next((entry for entry in self._idle if entry[1] is wanted), None)
            return None if entry is None else self._taken(entry)

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
        try:  # without the lock, as it may take seconds
            connection = self._connect(deadline)
        except BaseException:
            with self._changed:
                self._connecting.remove(began)
                self._changed.notify()
            raise
        with self._changed:
            self._connecting.remove(began)
            self._lent.add(connection)
            self.opened += 1
        return connection

    def _free(self) -> Connection | None:
        """An idle connection: the latest without a scanner, or at the pool's size the one idle for longest."""
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
        """The idle connection; None, and it is closed, if it is too old, or received unexpected data."""
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
        return len(self._idle) + self.in_use()

    def _uses(self) -> str:
        """The uses of the connections, the longest first, and the latest error."""
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


@dataclass(frozen=True, slots=True)
class Connector:
    """Makes connections to the gateway of Thrift*number* at *address*."""

    address: HostPort
    number: int
    http: HTTPMode | None = None

    def __call__(self, deadline: Deadline) -> Connection:
        """A new, open connection."""
        make_socket = GatewaySocket if self.http is None else self.http.socket
        connection = Connection(*self.address, SERVICES[self.number], make_socket)
        connection.socket.deadline = deadline
        connection.open()
        return connection

    def answering(self, deadline: Deadline) -> Connection:
        """A new connection to a service that has answered, and is the expected one."""
        connection = self(deadline)
        try:
            if (number := connection.service(deadline)) not in (None, self.number):
                raise WrongReply(f"a Thrift{number} gateway answers where Thrift{self.number} is expected")
        except BaseException:
            connection.close()
            raise
        return connection


def none_of(errors: Sequence[tuple[Connector, Exception]]) -> str:
    """The message that no gateway can be used, with the reason of each."""
    reasons = "; ".join(f"{connector.address}: {exc}" for connector, exc in errors)
    return f"none of {len(errors)} gateways can be used: {reasons}"


# --- Calls ------------------------------------------------------------------------------------------------------------


_SLOW_SHARE: Final = 1 / 3  # of the remaining time, above which a call is logged as slow
_LEAST_SLOW: Final = 0.1  # faster calls are never slow: near the end of a deadline every share is small
_LOOK_SECONDS: Final = 1.0  # in which a gateway must say whether a table is disabled
_IDLE_SECONDS: Final = 0.2  # after which a connection may have fallen silent without an end; to ask takes 0.2 ms
_PROBE_SECONDS: Final = 2.0  # in which a gateway must then answer something quick
_NEXT_SECONDS: Final = 5.0  # for a new connection to one of several gateways; then the next one is tried
_UNREADABLE: Final = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError)
"""The exceptions of reading an answer in which something is missing or of a wrong type."""


def _as_it_is(answer: Any) -> Any:
    return answer


@dataclass(frozen=True, slots=True)
class Session:
    """Calls on one connection to a gateway within one deadline; calls over `slow` seconds are logged."""

    gateway: Gateway
    connection: Connection
    deadline: Deadline
    table: str | None
    slow: float

    def call(self, method: str, *args: Any, read: Callable[[Any], T] = _as_it_is) -> T:
        """The gateway's answer, converted by *read*; an answer that *read* cannot convert is a `WrongReply`."""
        if (on_call := self.gateway.pool.on_call) is not None:
            on_call(method)
        try:
            answer = self.connection.call(method, *args, deadline=self.deadline)
        finally:
            seconds = clock.monotonic() - self.connection.busy[1]
            if seconds > self.slow:
                self.gateway.log(WARNING, "slow", f"{method} took long", self.table, seconds)
        # Here, while the connection is lent: a wrong answer closes it, and the call is repeated on another one.
        try:
            return read(answer)
        except WebTableError:
            raise
        except _UNREADABLE as exc:
            raise WrongReply(f"an answer that cannot be read ({type(exc).__name__}: {exc!s:.200})") from exc


class Gateway:
    """Calls to a service of HBase; *name* is in every error.

    New connections lead to the first of *connectors* that works, from the one on that worked last. A `pool` of *size*
    keeps them for *max_age* seconds.
    """

    def __init__(self, name: str, connectors: Sequence[Connector], size: int, max_age: float) -> None:
        self.name = name
        self.log: Final = failures.ServerLog(name)
        self.pool: Final = Pool(self._connected, size=size, max_age=max_age, name=name)
        self._connectors = connectors
        self._turn = 0
        self._is_down = False

    def state(self) -> ServerMetrics:
        """The state of the connections."""
        dropped, pool = self.log.events.snapshot()["dropped"], self.pool
        return ServerMetrics(self.name, pool.in_use(), pool.idle, pool.opened, dropped, is_down=self._is_down)

    def call(
        self,
        method: str,
        *args: Any,
        deadline: Deadline,
        table: str | None = None,
        read: Callable[[Any], T] = _as_it_is,
    ) -> T:
        """The gateway's answer, converted by *read*; repeats the call until *deadline*.

        It is for idempotent calls. Only `StoreUnavailable` is worth a retry, and a call to a disabled table is not.
        """

        def attempt() -> T:
            try:
                return self.call_once(method, *args, deadline=deadline, table=table, read=read)
            except StoreUnavailable as error:
                # The client in a gateway retries the rows of a disabled table for minutes, so nothing comes in time.
                is_mute = isinstance(error.__cause__, TimeoutError) and not isinstance(error.__cause__, NotServed)
                if table and is_mute and self._is_disabled(table, deadline):
                    raise failures.disabled(self.name, table) from error
                raise

        return failures.repeated(attempt, deadline, self.log, table)

    def call_once(
        self,
        method: str,
        *args: Any,
        deadline: Deadline,
        table: str | None = None,
        read: Callable[[Any], T] = _as_it_is,
    ) -> T:
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
        attempt = failures.one_attempt(deadline, subject_of(self.name, table))
        connection = None
        try:
            with self.pool.connection(attempt, preferred, only=only) as connection:
                if not connection.socket.has_answered:
                    # A cheap call, which distinguishes a slow first call from a gateway without a free thread.
                    connection.service(attempt)
                elif clock.monotonic() - connection.socket.heard > _IDLE_SECONDS:
                    connection.check(attempt.within(_PROBE_SECONDS))
                if self._is_down:
                    self._is_down = False
                    self.log(INFO, "up", "is up again", table, clock.monotonic() - began)
                yield Session(self, connection, attempt, table, slow)
        except DRIVER_ERRORS as exc:
            seconds = clock.monotonic() - began
            call = "connecting" if connection is None else connection.busy[0]
            error = translated(exc, self.name, table, call, seconds)
            error.__cause__ = exc  # the log looks at it before it is raised
            # After an answer, or if nothing was sent, the other connections may be fine.
            if not isinstance(exc, (*_DECLARED, TApplicationException, Unsendable)) and not is_declined(exc):
                # If a gateway has no thread for a new connection, only the connections that it serves can be used.
                self.pool.failed(error, alone=isinstance(exc, NotServed))
                if connection is not None:
                    self.log(INFO, "dropped", "dropped a connection", table, seconds, error)
                elif not self._is_down:  # logged once, until there is a connection again
                    self._is_down = True
                    self.log(WARNING, "down", "is down", table, seconds, error)
            raise error from exc

    def _is_disabled(self, table: str, deadline: Deadline) -> bool:
        name = table_name(table) if self._connectors[0].number == 2 else table.encode()
        try:
            return not self.call_once("isTableEnabled", name, deadline=deadline.within(_LOOK_SECONDS), table=table)
        except WebTableError:
            return False

    def _connected(self, deadline: Deadline) -> Connection:
        """A new connection; of several gateways to the first that answers on one."""
        if len(self._connectors) == 1:
            return self._connectors[0](deadline)
        errors: list[tuple[Connector, Exception]] = []
        began, first, count = clock.monotonic(), self._turn, len(self._connectors)
        for place in range(first, first + count):
            connector = self._connectors[place % count]
            waiting = count - len(errors)
            try:
                connection = connector.answering(deadline.within(min(deadline.left() / (waiting + 1), _NEXT_SECONDS)))
            except DRIVER_ERRORS as exc:
                if is_declined(exc):
                    raise
                errors.append((connector, exc))
                continue
            if errors:
                self._turn = place % count
                gone = ", ".join(str(failed.address) for failed, _ in errors)
                text = f"{connector.address} takes the place of {gone}"
                self.log(INFO, "failover", text, None, clock.monotonic() - began)
            return connection
        raise ConnectionError(none_of(errors)) from errors[-1][1]


def table_name(name: str) -> Any:
    """Thrift2's table name of `table` or `namespace:table`."""
    namespace, colon, qualifier = name.rpartition(":")
    return thrift2.TTableName(ns=namespace.encode() if colon else None, qualifier=qualifier.encode())
