"""The socket of a Thrift connection: no wait beyond the deadline, and no memory before the data is there."""

from __future__ import annotations

import select
import socket
import ssl
from typing import TYPE_CHECKING, Final

from webtable._forks import renew_after_fork
from webtable.store.deadline import Deadline
from webtable.store.hbase.failures import WrongReply
from webtable.store.hbase.thrift.connecting import addresses

if TYPE_CHECKING:
    from collections.abc import Callable

CONNECT_SECONDS: Final = 5.0
"""How long a gateway may take to accept a connection."""
LARGEST: Final = 2**30
"""The longest string of a reply, or frame; a larger number is not a length."""
PIECE: Final = 2**20  # of memory that is allocated before its bytes have arrived


class NotServed(TimeoutError):
    """A connection that was accepted but never answered.

    The system accepts connections even if all threads of the gateway are busy with others.
    """

    def __init__(self) -> None:
        super().__init__("it accepted the connection and answered nothing (is it out of worker threads?)")


class UntrustedServer(OSError):
    """A server without a valid certificate for its host, or that does not speak TLS."""


class EndOfReply(Exception):
    """The reply has no bytes left."""


class GatewaySocket:
    """The socket of Thrift's transport. A read waits until `deadline` in total, not again for each piece.

    With *tls* nothing is sent before the other end has proven, by its certificate, that it is *host*.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        self.address: Final = (host, port)
        self._tls = tls
        self.deadline: Deadline = Deadline(CONNECT_SECONDS)
        self.sock: socket.socket | None = None
        self._over = False
        self.has_answered: bool = False
        """Whether anything has been received."""
        renew_after_fork(self)

    def open(self) -> None:
        """Connect to the first address of the host that accepts the connection."""
        failure: OSError = OSError(f"{self.address[0]} has no address")
        for family, kind, protocol, _, address in addresses(*self.address, self.deadline):
            # Stored before it is connected, so that a child forked in the meantime can close it.
            self.sock = socket.socket(family, kind, protocol)
            try:
                self.sock.settimeout(self._seconds(CONNECT_SECONDS))
                self.sock.connect(address)
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._tls is not None:
                    self._secure(self._tls)
                return
            except OSError as exc:
                self.close()
                failure = exc
            except BaseException:
                self.close()
                raise
        raise failure

    def is_open(self) -> bool:
        """Whether there is a connection, as far as this side knows."""
        return self.sock is not None

    def is_quiet(self) -> bool:
        """Whether nothing was received since the last reply, neither bytes nor the end of the connection."""
        if self.sock is None:
            return False
        poll = select.poll()  # select.select does not support file descriptors over 1023
        poll.register(self.sock, select.POLLIN)
        if isinstance(self.sock, ssl.SSLSocket):
            return not self.sock.pending() and (not poll.poll(0) or _has_only_records(self.sock))
        return not poll.poll(0)

    def read(self, size: int) -> bytes:
        """Return received bytes, at least one and at most *size*."""
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
        self.has_answered = True
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

    def _secure(self, tls: ssl.SSLContext) -> None:
        assert self.sock is not None  # noqa: S101 - it was connected just now
        # Stored before the handshake, for the same reason as above.
        self.sock = sock = tls.wrap_socket(self.sock, server_hostname=self.address[0], do_handshake_on_connect=False)
        try:
            sock.settimeout(self._seconds(CONNECT_SECONDS))
            sock.do_handshake()
        except ssl.SSLCertVerificationError as exc:
            raise UntrustedServer(f"its certificate is not trusted: {exc.verify_message}") from exc
        except ssl.SSLError as exc:
            raise UntrustedServer(f"no TLS connection ({exc.reason or exc}); does it speak TLS there?") from exc

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


def _has_only_records(sock: ssl.SSLSocket) -> bool:
    """Whether only TLS records, such as session tickets, were received; any data is lost here."""
    sock.settimeout(0)
    try:
        sock.recv(1)
    except ssl.SSLWantReadError:
        return True
    except OSError:
        return False
    return False
