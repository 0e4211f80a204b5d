"""A Thrift connection: no wait beyond the deadline, no memory before the data is there, and only complete replies to
its own calls.
"""

from __future__ import annotations

import importlib
import select
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import thriftpy2
from thriftpy2.thrift import TApplicationException, TClient, TException, TMessageType
from thriftpy2.transport import TTransportException

from webtable._clock import clock
from webtable._process_hooks import renew_after_fork
from webtable.store.deadline import Deadline
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.shared.sockets import CONNECT_SECONDS, connected, seconds_until

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import ModuleType

    class HappyBaseConnection:
        """The members of HappyBase's connection that are used here; it has no types of its own."""

        host: str
        port: int
        _transport_class: Any
        _protocol_class: Any

        def __init__(self, host: str, port: int, *, autoconnect: bool) -> None: ...
        def open(self) -> None:
            """Connect to the gateway."""

        def close(self) -> None:
            """Close the socket."""

else:
    from happybase import Connection as HappyBaseConnection


thrift1: Final[ModuleType] = importlib.import_module("Hbase_thrift")  # HappyBase loads its IDL under this name
thrift2: Final[ModuleType] = thriftpy2.load(str(Path(__file__).with_name("hbase2.thrift")), "webtable_hbase2_thrift")

SERVICES: Final[dict[int, Any]] = {1: thrift1.Hbase, 2: thrift2.THBaseService}
_BUFFER: Final = 64 * 1024
LARGEST: Final = 2**30
"""The longest string of a reply; a larger number is not a length."""
PIECE: Final = 2**20  # of memory that is allocated before its bytes have arrived


class NotServed(TimeoutError):
    """A connection that was accepted but never answered.

    The system accepts connections even if all threads of the gateway are busy with others.
    """

    def __init__(self) -> None:
        super().__init__("it accepted the connection and answered nothing (is it out of worker threads?)")


class EndOfReply(Exception):
    """The reply has no bytes left."""


class GatewaySocket:
    """The socket of Thrift's transport. A read waits until `deadline` in total, not again for each piece."""

    def __init__(self, host: str, port: int) -> None:
        self.address: Final = (host, port)
        self.deadline: Deadline = Deadline(CONNECT_SECONDS)
        self.sock: socket.socket | None = None
        self._over = False
        self.has_answered: bool = False
        """Whether anything has been received."""
        self.heard: float = 0.0
        """When something was received last."""
        renew_after_fork(self)

    def open(self) -> None:
        """Connect to the first address of the host that accepts the connection."""
        try:
            connected(*self.address, self.deadline.within(CONNECT_SECONDS), self._made)
        except BaseException:
            self.close()
            raise

    def _made(self, sock: socket.socket) -> None:
        self.sock = sock

    def is_open(self) -> bool:
        """Whether there is a connection, as far as this side knows."""
        return self.sock is not None

    def is_quiet(self) -> bool:
        """Whether nothing was received since the last reply, neither bytes nor the end of the connection."""
        if self.sock is None:
            return False
        poll = select.poll()  # select.select does not support file descriptors over 1023
        poll.register(self.sock, select.POLLIN)
        return not poll.poll(0)

    def read(self, size: int) -> bytes:
        """The next bytes, at least one and at most *size*."""
        if self._over:
            raise EndOfReply
        if size > LARGEST:
            raise WrongReply(f"a reply announces {size:,} bytes")
        sock = self._ready()
        try:
            data = sock.recv(min(size, PIECE))
        except TimeoutError as exc:
            if self.has_answered:
                raise
            raise NotServed from exc
        if not data:
            raise ConnectionResetError("the gateway closed the connection")
        self.has_answered, self.heard = True, clock.monotonic()
        return data

    def is_read_whole(self, read: Callable[[int], object]) -> bool:
        """Whether the buffer from which *read* takes bytes before it reads from this socket is empty."""
        self._over = True
        try:
            read(1)
        except EndOfReply:
            return True
        finally:
            self._over = False
        return False

    def write(self, data: bytes) -> None:
        """Send all of *data*."""
        self._ready().sendall(data)

    def flush(self) -> None:
        """Do nothing: `write` sends at once."""

    def close(self) -> None:
        """Close the connection."""
        sock, self.sock = self.sock, None
        if sock is not None:
            sock.close()

    def after_fork(self) -> None:
        """Close this process's copy of the descriptor; the parent goes on using the connection."""
        self.close()

    def _ready(self) -> socket.socket:
        if self.sock is None:
            raise ConnectionResetError("the connection is closed")
        self.sock.settimeout(seconds_until(self.deadline))
        return self.sock


class Unsendable(ValueError):
    """Arguments that do not fit into Thrift's types; nothing was sent."""


class CheckedClient(TClient):  # type: ignore[misc,unused-ignore]
    """A Thrift client that numbers its calls and accepts only the reply with the number and name of its call.

    A reply that cannot be decoded is a `WrongReply`, whatever the decoder raises: for a length below 0 a `SystemError`,
    for deep nesting a `RecursionError`, for an unknown type a `KeyError`, and so on.
    """

    def __init__(self, service: Any, protocol: Any, sock: GatewaySocket) -> None:
        super().__init__(service, protocol)
        self._sock = sock

    def _req(self, _api: str, *args: Any, **kwargs: Any) -> Any:
        self._seqid = self._seqid + 1 & 0x7FFFFFFF
        return super()._req(_api, *args, **kwargs)

    def _send(self, _api: str, **kwargs: Any) -> None:
        try:
            super()._send(_api, **kwargs)
        except (OSError, TTransportException):
            raise
        except Exception as exc:
            raise Unsendable(f"Thrift cannot send it ({exc!s:.200})") from exc

    def _recv(self, _api: str) -> Any:
        try:
            return self._reply(_api)
        except (OSError, EOFError, TException):
            raise
        except Exception as exc:
            raise WrongReply(f"a reply that cannot be read ({type(exc).__name__}: {exc!s:.200})") from exc

    def _reply(self, _api: str) -> Any:
        name, kind, number = self._iprot.read_message_begin()
        if name != _api or number != self._seqid:
            raise WrongReply(f"the answer to {name!r:.100} {number} came instead of that to {_api!r} {self._seqid}")
        if kind == TMessageType.EXCEPTION:
            refusal = TApplicationException()
            refusal.read(self._iprot)
            raise refusal
        if kind != TMessageType.REPLY:
            raise WrongReply(f"a message of kind {kind} came instead of a reply")
        result = getattr(self._service, _api + "_result")()
        result.read(self._iprot)
        self._iprot.read_message_end()
        # The decoder skips fields of a wrong type, and goes on at what it takes for the next field.
        if not self._sock.is_read_whole(self._iprot.trans.read):
            raise WrongReply("a reply with data after its end")
        if getattr(result, "success", None) is not None:
            return result.success
        for field, value in vars(result).items():
            if field != "success" and value is not None:
                raise value
        if hasattr(result, "success"):
            raise TApplicationException(TApplicationException.MISSING_RESULT)
        return None


class Connection(HappyBaseConnection):
    """A HappyBase connection with such a client of *service*, over a socket of *make_socket*.

    `scanners` are the open ones on this connection; `busy` is its latest call and when that began.
    """

    def __init__(
        self,
        host: str,
        port: int,
        service: Any,
        make_socket: Callable[[str, int], GatewaySocket],
    ) -> None:
        self._service, self._make_socket = service, make_socket
        self.scanners: WeakSet[Any] = WeakSet()
        self.busy: tuple[str, float] = ("connecting", clock.monotonic())
        super().__init__(host, port, autoconnect=False)

    def _refresh_thrift_client(self) -> None:
        """Make what HappyBase makes here, by its defaults: the buffered transport and the binary protocol."""
        self.socket: GatewaySocket = self._make_socket(self.host, self.port)
        self.transport: Any = self._transport_class(self.socket, _BUFFER)
        # Strings stay bytes: HBase's names and messages need not be UTF-8.
        reader = self._protocol_class(self.transport, decode_response=False)
        self.client: CheckedClient = CheckedClient(self._service, reader, self.socket)

    def call(self, method: str, *args: Any, deadline: Deadline) -> Any:
        """The answer of the gateway; after any exception the connection cannot be used for another call."""
        self.busy = (method, clock.monotonic())
        self.socket.deadline = deadline
        return getattr(self.client, method)(*args)

    def service(self, deadline: Deadline) -> int | None:
        """1 or 2 for the service that answers, None for a gateway from before HBase 2.x."""
        self.socket.deadline = deadline
        try:
            kind: int = CheckedClient(thrift2.THBaseService, self.client._iprot, self.socket).getThriftServerType()
        except TApplicationException as exc:
            if exc.type != TApplicationException.UNKNOWN_METHOD:
                raise
            return None
        return kind

    def check(self, deadline: Deadline) -> None:
        """Raise `ConnectionResetError` unless the gateway answers something quick before *deadline*."""
        try:
            self.service(deadline)
        except TimeoutError as exc:
            raise ConnectionResetError("the connection has fallen silent") from exc
