"""The connections to the servers of a cluster: one for each service of a server, shared by all threads."""

from __future__ import annotations

import getpass
import threading
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeVar

from webtable._process_hooks import renew_after_fork
from webtable.errors import StoreError
from webtable.store.hbase.native.connection import ConnectionLost, RpcConnection, SecureWire, Wire
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.metrics import ServerMetrics

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    from google.protobuf.message import Message

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.native.connection import Kerberos, RpcAnswer, RpcCall
    from webtable.store.url import HostPort

    OnCall = Callable[[str], object]
    Place = tuple[HostPort, str]

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
        self._rename = rename
        self._tls = tls
        self._kerberos = kerberos
        self._user = user or ("" if kerberos else _user())
        self._closed = False
        self._opened: Counter[Place] = Counter()
        self._connections: dict[Place, RpcConnection] = {}
        self._all = weakref.WeakSet[RpcConnection]()
        """Those too on which there are only calls in flight."""
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Drop the connections, which are the parent's."""
        self._connections = {}
        # A thread may come back to a lock that it has: garbage collection closes scans, anywhere.
        self._lock = threading.RLock()
        self._locks: dict[Place, threading.RLock] = {}

    def send(
        self,
        server: HostPort,
        service: str,
        method: str,
        request: Message,
        response: type[Message],
        deadline: Deadline,
        cells: bytes = b"",
    ) -> Sent:
        """Send a call and return it in flight."""
        if self.on_call is not None:
            self.on_call(method)
        connection = self._connection((server, service), deadline)
        return Sent(connection, connection.send(method, request, response, deadline, cells))

    def ask(
        self, server: HostPort, service: str, method: str, request: Message, response: type[T], deadline: Deadline
    ) -> T:
        """Return the message that answers a call."""
        message: T = self.send(server, service, method, request, response, deadline).wait(deadline).message  # type: ignore[arg-type]
        return message

    def touch(self, server: HostPort, service: str, deadline: Deadline) -> None:
        """Connect to the service of *server*, unless there is a connection."""
        self._connection((server, service), deadline)

    def state(self) -> list[ServerMetrics]:
        """Return the state of the connection to each service of a server; of those before it each was lost."""
        with self._lock:
            connections = list(self._connections.items())
            opened = Counter(self._opened)
        return [
            ServerMetrics(
                name=f"{self.name} ({service} at {server})",
                in_use=int(connection.in_flight > 0),
                idle=int(connection.is_alive and not connection.in_flight),
                opened=opened[server, service],
                dropped=opened[server, service] - connection.is_alive,
                is_down=False,
            )
            for (server, service), connection in connections
        ]

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            self._closed = True
            connections = list(self._all)
            self._connections.clear()
        for connection in connections:
            connection.close()

    def _connection(self, place: Place, deadline: Deadline) -> RpcConnection:
        with self._lock:
            connection = self._connections.get(place)
            lock = self._locks.setdefault(place, threading.RLock())
        if connection is not None and connection.is_usable:
            return connection

        def connected() -> RpcConnection:
            with self._lock:
                self._check_open()
                now = self._connections.get(place)
            if now is not None and now is not connection and now.is_usable:
                return now
            made = self._connect(place, deadline)
            with self._lock:
                try:
                    self._check_open()
                except StoreError:
                    made.close()
                    raise
                self._connections[place] = made
                self._all.add(made)
                self._opened[place] += 1
            return made

        # One thread connects; the others wait for it, and each tries again if it failed.
        return exclusively(lock, connected, deadline, f"no connection to {place[0]} in time")

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.name}: the store is closed")

    def _connect(self, place: Place, deadline: Deadline) -> RpcConnection:
        server, service = place
        host, port = self._reached(server)
        try:
            wire = (
                Wire(host, port, deadline)
                if self._tls is None
                else SecureWire(host, port, deadline, self._tls, server.host)
            )
            try:
                if self._kerberos is None:
                    return RpcConnection(wire, service, self._user, deadline)
                wire = self._kerberos.log_in(wire, server.host, deadline)
                return RpcConnection(wire, service, self._user, deadline, preamble=b"")
            except BaseException:
                wire.close()
                raise
        except (OSError, UnicodeError, OverflowError) as exc:  # of names and ports that can be none
            where = f"{host}:{port}" if (host, port) == server else f"{server} (as {host}:{port})"
            kind = type(exc) if isinstance(exc, TimeoutError | WrongReply) else ConnectionLost
            raise kind(f"no connection to {where}: {str(exc) or 'not in time'}") from exc

    def _reached(self, server: HostPort) -> tuple[str, int]:
        """Return the host and port at which *server* is reached."""
        found = self._rename.get(str(server)) or self._rename.get(server.host)
        if found is None:
            return server.host, server.port
        host, colon, port = found.rpartition(":")
        return (host, int(port)) if colon else (found, server.port)


class Sent:
    """A call that was sent, with its connection."""

    __slots__ = ("_call", "_connection")

    def __init__(self, connection: RpcConnection, call: RpcCall) -> None:
        self._connection = connection
        self._call = call

    def wait(self, deadline: Deadline) -> RpcAnswer:
        """Return the answer; see `RpcConnection.wait`."""
        return self._connection.wait(self._call, deadline)

    def drop(self) -> None:
        """Let nobody wait for the answer."""
        self._connection.drop(self._call)


def exclusively(lock: threading.RLock, do: Callable[[], T], deadline: Deadline, late: str) -> T:
    """Return `do()`, called while this thread has *lock*; raises `TimeoutError` with *late* if it does not get it."""
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
