"""The connections to the servers of a cluster: one for each service of a server, shared by all threads."""

from __future__ import annotations

import getpass
import threading
import weakref
from collections import Counter
from functools import partial
from logging import INFO, WARNING
from typing import TYPE_CHECKING, Final, TypeVar

from webtable._clock import clock
from webtable._process_hooks import renew_after_fork
from webtable.errors import StoreError
from webtable.store.hbase.native.connection import TLS, ConnectionLost, RpcConnection, Wire
from webtable.store.hbase.shared.failures import ServerLog, WrongReply, unanswered
from webtable.store.metrics import ServerMetrics

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    from google.protobuf.message import Message

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.native.connection import Kerberos, RpcCall
    from webtable.store.url import HostPort

    OnCall = Callable[[str], object]
    Service = tuple[HostPort, str]

T = TypeVar("T")

CLIENT: Final = "ClientService"
MASTER: Final = "MasterService"


class Servers:
    """Connections by server and service, made when they are needed and again after they were lost.

    *rename* says where the registered names of servers are reached: a host, or a host and port, for a host or a host
    and port. `on_call` is called with the method of each call before it is sent, in its thread.
    """

    on_call: OnCall | None = None

    def __init__(
        self,
        name: str,
        rename: Mapping[str, str],
        tls: ssl.SSLContext | None,
        user: str | None,
        kerberos: Kerberos | None = None,
    ) -> None:
        self.name = name
        self.log: Final = ServerLog(name)
        self._rename = rename
        self._tls = tls
        self._kerberos = kerberos
        self._user = user or ("" if kerberos else _user())
        self._closed = False
        self._connections: dict[Service, RpcConnection] = {}
        self._all = weakref.WeakSet[RpcConnection]()  # those too on which there are only calls in flight
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Drop the connections, which are the parent's."""
        self._connections = {}
        self._opened: Counter[Service] = Counter()
        self._down: dict[Service, float] = {}  # and since when
        # A thread may come back to a lock that it has: garbage collection closes scans, anywhere.
        self._lock = threading.RLock()
        self._locks: dict[Service, threading.RLock] = {}

    def send(
        self,
        server: HostPort,
        service: str,
        method: str,
        request: Message,
        response: type[Message],
        deadline: Deadline,
        cells: bytes = b"",
    ) -> RpcCall:
        """Send a call; it is in flight then."""
        if self.on_call is not None:
            self.on_call(method)
        return self._connection((server, service), deadline).send(method, request, response, deadline, cells)

    def ask(
        self, server: HostPort, service: str, method: str, request: Message, response: type[T], deadline: Deadline
    ) -> T:
        """The message that answers a call."""
        message: T = self.send(server, service, method, request, response, deadline).wait(deadline).message  # type: ignore[arg-type]
        return message

    def touch(self, server: HostPort, service: str, deadline: Deadline) -> None:
        """Connect to the service of *server*, unless there is a connection."""
        self._connection((server, service), deadline)

    def state(self) -> list[ServerMetrics]:
        """The state of the connection to each service of a server; of those before it each was lost."""
        with self._lock:
            connections, opened, down = dict(self._connections), Counter(self._opened), dict(self._down)
        states: list[ServerMetrics] = []
        for service in dict.fromkeys((*connections, *down)):
            connection = connections.get(service)
            alive = int(connection is not None and connection.is_alive)
            in_use = int(connection is not None and connection.in_flight > 0) & alive
            made = opened[service]
            states.append(
                ServerMetrics(self._title(service), in_use, alive - in_use, made, made - alive, is_down=service in down)
            )
        return states

    def forget(self, server: HostPort, service: str) -> None:
        """Have no state of the service of *server*, which nobody may ask again, unless there are calls in flight."""
        with self._lock:
            connection = self._connections.get((server, service))
            if connection is not None and connection.in_flight:
                return
            self._connections.pop((server, service), None)
            self._down.pop((server, service), None)
        if connection is not None:
            connection.close()

    def _title(self, service: Service) -> str:
        return f"{self.name} ({service[1]} at {service[0]})"

    def _lost(self, service: Service, made_at: float, connection: RpcConnection, error: Exception) -> None:
        seconds = clock.monotonic() - made_at
        if connection.has_answered or service not in self._down:
            self._tell(INFO, "dropped", "dropped a connection", service, seconds, error)
        if not connection.has_answered:
            self._gone(service, seconds, error)

    def _gone(self, service: Service, seconds: float, error: Exception) -> None:
        """Log that *service* cannot be had, once until it answers again."""
        with self._lock:
            is_news = service not in self._down
            self._down.setdefault(service, clock.monotonic())
        if is_news:
            self._tell(WARNING, "down", "is down", service, seconds, error)

    def _answered(self, service: Service) -> None:
        with self._lock:
            since = self._down.pop(service, None)
        if since is not None:
            self._tell(INFO, "up", "is up again", service, clock.monotonic() - since, None)

    def _tell(
        self, level: int, event: str, text: str, service: Service, seconds: float, error: Exception | None
    ) -> None:
        title = self._title(service)
        reason = None if error is None else unanswered(error, title, "connection", seconds)
        if reason is not None:
            reason.__cause__ = error
        self.log(level, event, text, None, seconds, reason, server=title)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            self._closed = True
            connections = list(self._all)
            self._connections.clear()
        for connection in connections:
            connection.close()

    def _connection(self, service: Service, deadline: Deadline) -> RpcConnection:
        with self._lock:
            connection = self._connections.get(service)
            lock = self._locks.setdefault(service, threading.RLock())
        if connection is not None and connection.is_usable:
            return connection

        def connected() -> RpcConnection:
            with self._lock:
                self._check_open()
                now = self._connections.get(service)
            if now is not None and now is not connection and now.is_usable:
                return now
            made = self._connect(service, deadline)
            with self._lock:
                try:
                    self._check_open()
                except StoreError:
                    made.close()
                    raise
                self._connections[service] = made
                self._all.add(made)
                self._opened[service] += 1
            return made

        # One thread connects; the others wait for it, and each tries again if it failed.
        return exclusively(lock, connected, deadline, f"no connection to {service[0]} in time")

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.name}: the store is closed")

    def _connect(self, service: Service, deadline: Deadline) -> RpcConnection:
        server, name = service
        host, port = self._reached(server)
        began = clock.monotonic()
        try:
            wire = Wire(host, port, deadline)
            try:
                if self._tls is not None:
                    wire.protect(TLS(wire, self._tls, server.host, deadline))
                if self._kerberos is None:
                    made = RpcConnection(wire, name, self._user, deadline)
                else:
                    self._kerberos.log_in(wire, server.host, deadline)
                    made = RpcConnection(wire, name, self._user, deadline, preamble=b"")
            except BaseException:
                wire.close()
                raise
        except (OSError, UnicodeError, OverflowError) as exc:  # of names and ports that can be none
            where = f"{host}:{port}" if (host, port) == server else f"{server} (as {host}:{port})"
            kind = type(exc) if isinstance(exc, TimeoutError | WrongReply) else ConnectionLost
            error = kind(f"no connection to {where}: {str(exc) or 'not in time'}")
            self._gone(service, clock.monotonic() - began, error)
            raise error from exc
        made.on_answer = partial(self._answered, service)
        made.on_lost = partial(self._lost, service, began)
        return made

    def _reached(self, server: HostPort) -> tuple[str, int]:
        """The host and port at which *server* is reached."""
        renamed = self._rename.get(str(server)) or self._rename.get(server.host)
        if renamed is None:  # which may be an address of IPv6, with colons
            return server
        host, colon, port = renamed.rpartition(":")
        return (host, int(port)) if colon else (renamed, server.port)


def exclusively(lock: threading.RLock, do: Callable[[], T], deadline: Deadline, late: str) -> T:
    """`do()`, called while this thread has *lock*; raises `TimeoutError` with *late* if it does not get it."""
    try:
        if not lock.acquire(timeout=deadline.left()):
            raise TimeoutError(late)
        return do()
    finally:
        # An interrupt may come between two lines: whether this thread has the lock, only the lock knows.
        try:  # noqa: SIM105
            lock.release()
        except RuntimeError:
            pass


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may have no name for the user's number
        return "webtable"
