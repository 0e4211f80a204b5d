"""A Thrift connection that waits no longer than it may and believes no answer but its own."""

from __future__ import annotations

import importlib
import select
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import happybase
import thriftpy2
from thriftpy2.protocol import TBinaryProtocol, TCompactProtocol
from thriftpy2.thrift import TApplicationException, TClient, TMessageType
from thriftpy2.transport import TBufferedTransport, TFramedTransport

from webtable.store.deadline import Deadline

if TYPE_CHECKING:
    from types import ModuleType

Transport = Literal["buffered", "framed"]
Protocol = Literal["binary", "compact"]

thrift1: Final[ModuleType] = importlib.import_module("Hbase_thrift")  # HappyBase loads its IDL under this name
thrift2: Final[ModuleType] = thriftpy2.load(str(Path(__file__).with_name("hbase2.thrift")), "webtable_hbase2_thrift")

CONNECT_SECONDS: Final = 5.0
"""How long a gateway may take to accept a connection."""

_BUFFER: Final = 64 * 1024
_TRANSPORTS = {"buffered": TBufferedTransport, "framed": TFramedTransport}
_PROTOCOLS = {"binary": TBinaryProtocol, "compact": TCompactProtocol}


class WrongReply(OSError):
    """A reply that does not belong to the call that waits for it, or is no reply at all."""


class GatewaySocket:
    """The socket below Thrift's transport. A read waits until `deadline` in all, not for each piece anew."""

    def __init__(self, host: str, port: int) -> None:
        self.address = (host, port)
        self.deadline = Deadline(CONNECT_SECONDS)
        self.sock: socket.socket | None = None

    def open(self) -> None:
        """Connect."""
        self.sock = socket.create_connection(self.address, timeout=self._seconds(CONNECT_SECONDS))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def is_open(self) -> bool:
        """Whether there is a connection, as far as is known here."""
        return self.sock is not None

    def is_quiet(self) -> bool:
        """Whether nothing has come since the last reply, neither bytes nor the end of the connection."""
        if self.sock is None:
            return False
        poll = select.poll()  # select.select takes no file descriptor over 1023
        poll.register(self.sock, select.POLLIN)
        return not poll.poll(0)

    def read(self, size: int) -> bytes:
        """Return what has come, at most *size* bytes and at least one."""
        data = self._ready().recv(size)
        if not data:
            raise ConnectionResetError("the gateway closed the connection")
        return data

    def write(self, data: bytes) -> None:
        """Send all of *data*."""
        self._ready().sendall(data)

    def flush(self) -> None:
        """Do nothing: what is written is sent."""

    def close(self) -> None:
        """Close the connection."""
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def _ready(self) -> socket.socket:
        if self.sock is None:
            raise ConnectionResetError("the connection is closed")
        self.sock.settimeout(self._seconds())
        return self.sock

    def _seconds(self, most: float = float("inf")) -> float:
        left = self.deadline.left()
        if not left:
            raise TimeoutError("timed out")
        return min(left, most)


class CheckedClient(TClient):  # type: ignore[misc,unused-ignore]
    """A Thrift client that numbers its calls and takes only the reply with the number and name of its call."""

    def _req(self, _api: str, *args: Any, **kwargs: Any) -> Any:
        self._seqid = self._seqid + 1 & 0x7FFFFFFF
        return super()._req(_api, *args, **kwargs)

    def _recv(self, _api: str) -> Any:
        name: Any
        name, kind, number = self._iprot.read_message_begin()
        name = name.decode(errors="replace") if isinstance(name, bytes) else name  # bytes by the compact protocol
        if name != _api or number != self._seqid:
            raise WrongReply(f"the answer to {name!r} {number} came instead of that to {_api!r} {self._seqid}")
        if kind == TMessageType.EXCEPTION:
            refusal = TApplicationException()
            refusal.read(self._iprot)
            raise refusal
        result = getattr(self._service, _api + "_result")()
        result.read(self._iprot)
        self._iprot.read_message_end()
        if getattr(result, "success", None) is not None:
            return result.success
        for field, value in vars(result).items():
            if field != "success" and value is not None:
                raise value
        if hasattr(result, "success"):
            raise TApplicationException(TApplicationException.MISSING_RESULT)
        return None


class Connection(happybase.Connection):  # type: ignore[misc,unused-ignore]
    """A HappyBase connection on such a socket and client; with *service* for Thrift2 or for any other service."""

    def __init__(self, host: str, port: int, *, transport: Transport, protocol: Protocol,
                 service: Any = thrift1.Hbase) -> None:
        self._service = service
        super().__init__(host, port, autoconnect=False, transport=transport, protocol=protocol)

    def _refresh_thrift_client(self) -> None:
        self.socket = GatewaySocket(self.host, self.port)
        self.transport = self._transport_class(self.socket, _BUFFER)
        # Strings stay bytes: HBase's names and messages need not be UTF-8.
        self.client = CheckedClient(self._service, self._protocol_class(self.transport, decode_response=False))

    def call(self, method: str, *args: Any, deadline: Deadline) -> Any:
        """Return what the gateway answers; any exception leaves the connection unfit for another call."""
        self.socket.deadline = deadline
        return getattr(self.client, method)(*args)


class Connector:
    """How to reach a gateway: host, port, transport, protocol and service."""

    def __init__(self, host: str, port: int, *, transport: Transport, protocol: Protocol, service: Any) -> None:
        self.host = host
        self.port = port
        self.transport: Transport = transport
        self.protocol: Protocol = protocol
        self.service = service

    def __call__(self, deadline: Deadline) -> Connection:
        """Return a new, open connection."""
        connection = Connection(self.host, self.port, transport=self.transport, protocol=self.protocol,
                                service=self.service)
        connection.socket.deadline = deadline
        connection.open()
        return connection
