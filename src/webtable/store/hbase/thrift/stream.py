"""The socket below a Thrift connection: no wait beyond the deadline, no memory for what has not come."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from webtable._forks import renew_after_fork
from webtable.store.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable

CONNECT_SECONDS: Final = 5.0
"""How long a gateway may take to accept a connection."""
LARGEST: Final = 2**30
"""No string of a reply, and no frame, is longer: a number above it was never a length."""
PIECE: Final = 2**20  # of memory that is set aside before the bytes for it have come


class WrongReply(OSError):
    """A reply that does not belong to the call that waits for it, or is no reply at all."""


class NotServed(TimeoutError):
    """A connection that was accepted, and on which no byte has ever come back.

    The system accepts connections for a gateway whose threads all serve others; it answers when one of them is free.
    """

    def __init__(self) -> None:
        super().__init__("it accepted the connection and answered nothing (is it out of worker threads?)")


class NotBelieved(OSError):
    """A server whose certificate does not prove that it is the one that was asked for, or that speaks no TLS."""


class NothingLeft(Exception):
    """There is no byte left of the reply."""


class GatewaySocket:
    """What Thrift's transport reads and writes. A read waits until `deadline` in all, not for each piece anew.

    With *tls* nothing is sent before the other end has proven, by its certificate, that it is *host*.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        self.address = (host, port)
        self._tls = tls
        self.deadline = Deadline(CONNECT_SECONDS)
        self.sock: socket.socket | None = None
        self._over = False
        self.has_answered = False
        """Whether anything has come on it."""
        renew_after_fork(self)

    def open(self) -> None:
        """Connect to the first address of the host that lets itself be connected to."""
        failure: OSError = OSError(f"{self.address[0]} has no address")
        for family, kind, protocol, _, address in _addresses(*self.address, self.deadline):
            # It is known here before it is connected, so that a child forked meanwhile can close it.
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
        """Whether there is a connection, as far as is known here."""
        return self.sock is not None

    def is_quiet(self) -> bool:
        """Whether nothing has come since the last reply, neither bytes nor the end of the connection."""
        if self.sock is None:
            return False
        poll = select.poll()  # select.select takes no file descriptor over 1023
        poll.register(self.sock, select.POLLIN)
        if isinstance(self.sock, ssl.SSLSocket):
            return not self.sock.pending() and (not poll.poll(0) or _has_only_records(self.sock))
        return not poll.poll(0)

    def read(self, size: int) -> bytes:
        """Return what has come, at most *size* bytes and at least one."""
        if self._over:
            raise NothingLeft
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
        """Whether nothing of a reply is left where *read* takes it from before it asks this socket."""
        self._over = True
        try:
            read(1)
        except NothingLeft:
            return True
        finally:
            self._over = False
        return False

    def write(self, data: bytes) -> None:
        """Send all of *data*."""
        self._ready().sendall(data)

    def flush(self) -> None:
        """Do nothing: what is written is sent."""

    def close(self) -> None:
        """Close the connection."""
        sock, self.sock = self.sock, None
        if sock is not None:
            sock.close()

    def after_fork(self) -> None:
        """Close this process's copy of the descriptor; the connection is the parent's, and goes on."""
        self.close()

    def _secure(self, tls: ssl.SSLContext) -> None:
        assert self.sock is not None  # noqa: S101 - it was connected just now
        # Known here before the handshake, as it is before it is connected.
        self.sock = sock = tls.wrap_socket(self.sock, server_hostname=self.address[0], do_handshake_on_connect=False)
        try:
            sock.settimeout(self._seconds(CONNECT_SECONDS))
            sock.do_handshake()
        except ssl.SSLCertVerificationError as exc:
            raise NotBelieved(f"its certificate is not believed: {exc.verify_message}") from exc
        except ssl.SSLError as exc:
            raise NotBelieved(f"no TLS connection ({exc.reason or exc}); does it speak TLS there?") from exc

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
    """Whether what has come is TLS's own, as a ticket for the next session; what is not is lost here."""
    sock.settimeout(0)
    try:
        sock.recv(1)
    except ssl.SSLWantReadError:
        return True
    except OSError:
        return False
    return False


def _addresses(host: str, port: int, deadline: Deadline) -> list[Any]:
    """Return what `socket.getaddrinfo` does, within *deadline*: a resolver takes as long as it likes."""
    with suppress(socket.gaierror):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    answer: Future[list[Any]] = Future()

    def resolve() -> None:
        try:
            answer.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except BaseException as exc:  # noqa: BLE001 - it is raised where the addresses are asked for
            answer.set_exception(exc)

    try:
        threading.Thread(target=resolve, daemon=True).start()
    except RuntimeError:  # the interpreter ends
        resolve()
    try:
        return answer.result(deadline.left())
    except TimeoutError as exc:
        raise TimeoutError(f"the name {host!r} was not resolved in time") from exc
