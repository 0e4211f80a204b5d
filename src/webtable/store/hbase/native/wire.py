"""The bytes of a connection: written and read before a deadline, by one thread each at the same time.

What meets its deadline is continued by the next call: what has come is kept, and so is what was not sent yet. Python's
time limit of a socket is a property of the object, not of the connection, so that the reading thread and the writing
one have an object each.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable.store.hbase.native.failures import ConnectionLost
from webtable.store.hbase.shared.sockets import CONNECT_SECONDS, connected

if TYPE_CHECKING:
    from webtable.store.deadline import Deadline

_PIECE: Final = 2**18
"""The bytes that are read at once: memory is allocated as they come, not as a length promises them."""
_LEAST_PIECE: Final = 2**14
_CLOSED: Final = "the server has closed the connection"
_NO_ANSWER: Final = "and answered nothing: does it want Kerberos (auth=kerberos), or TLS (hbases+native://)?"


class Wire:
    """A TCP connection to *host* and *port*, made before *deadline*."""

    def __init__(self, host: str, port: int, deadline: Deadline) -> None:
        self._reader = connected(host, port, deadline.within(CONNECT_SECONDS))
        self._reader.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._writer = self._reader.dup()
        self._unsent: list[memoryview] = []
        self._pieces: list[bytes] = []
        """What has come and was not asked for yet, or belongs to something that is not complete."""
        self._received = 0
        self._heard = self._made = clock.monotonic()

    @property
    def heard(self) -> float:
        """When something has come last."""
        return self._heard

    def write(self, data: bytes, deadline: Deadline, more: bytes = b"") -> None:
        """Send all of *data* and *more*; after a `TimeoutError` the next call sends the rest."""
        self._unsent += [memoryview(part) for part in (data, more) if part]
        self.flush(deadline)

    def flush(self, deadline: Deadline) -> None:
        """Send what was written before a deadline and not sent."""
        while self._unsent:
            self._writer.settimeout(_seconds(deadline))
            rest = self._unsent[0][self._writer.send(self._unsent[0]) :]
            self._unsent[:1] = [rest] if rest else []

    def read(self, size: int, deadline: Deadline) -> bytes:
        """Return the next *size* bytes; after a `TimeoutError` the call may be repeated."""
        while self._received < size:
            more = self._more(max(size - self._received, _LEAST_PIECE), deadline)
            self._pieces.append(more)
            self._received += len(more)
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._received -= size
        self._pieces = [data[size:]] if self._received else []
        return data[:size]

    def is_open(self) -> bool:
        """Whether the other end has not closed the connection, as far as is known here; nobody may read meanwhile."""
        self._reader.settimeout(0)
        try:
            return bool(self._reader.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def shut(self) -> None:
        """End the connection; threads that read or write get an `OSError`, and it can be closed when they are gone."""
        with contextlib.suppress(OSError):
            self._reader.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, which no thread uses: the next one that is made may have the same descriptor."""
        self.shut()
        self.forget()

    def forget(self) -> None:
        """Close the descriptors of a forked child; the connection stays the parent's."""
        self._reader.close()
        self._writer.close()

    def _more(self, wanted: int, deadline: Deadline) -> bytes:
        self._reader.settimeout(_seconds(deadline))
        data = self._reader.recv(min(wanted, _PIECE))
        if not data:
            raise ConnectionLost(_CLOSED if self._heard > self._made else f"{_CLOSED} {_NO_ANSWER}")
        self._heard = clock.monotonic()
        return data


class SecureWire(Wire):
    """The same by TLS. Nothing is sent before the other end has proven by its certificate that it is *host*.

    OpenSSL lets only one thread at a time use a connection, so it gets its bytes from memory, under a lock.
    """

    def __init__(self, host: str, port: int, deadline: Deadline, tls: ssl.SSLContext, server: str) -> None:
        super().__init__(host, port, deadline)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = tls.wrap_bio(self._incoming, self._outgoing, server_hostname=server)
        self._lock = threading.Lock()
        try:
            self._shake_hands(deadline.within(CONNECT_SECONDS))
        except BaseException:
            self.close()
            raise

    def write(self, data: bytes, deadline: Deadline, more: bytes = b"") -> None:
        """Send all of *data* and *more*, encrypted."""
        with self._lock:
            for part in filter(None, (data, more)):
                self._tls.write(part)
            encrypted = self._outgoing.read()
        super().write(encrypted, deadline)

    def _shake_hands(self, deadline: Deadline) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                super().write(self._outgoing.read(), deadline)
                self._incoming.write(super()._more(_PIECE, deadline))
            except ssl.SSLError as exc:
                raise _not_secure(exc) from exc
            else:
                super().write(self._outgoing.read(), deadline)
                return

    def _more(self, wanted: int, deadline: Deadline) -> bytes:
        while True:
            with self._lock:
                try:
                    data = self._tls.read(min(wanted, _PIECE))
                except ssl.SSLWantReadError:
                    data = None
                except ssl.SSLError as exc:  # a TLS 1.3 server looks at the client's certificate after the handshake
                    raise _not_secure(exc) from exc
            if data is not None:
                if not data:
                    raise ConnectionLost(_CLOSED)
                return data
            encrypted = super()._more(_PIECE, deadline)
            with self._lock:
                self._incoming.write(encrypted)


def _not_secure(exc: ssl.SSLError) -> ConnectionLost:
    if isinstance(exc, ssl.SSLCertVerificationError):
        return ConnectionLost(f"certificate verify failed: {exc.verify_message}")
    reason = (exc.reason or "no TLS").replace("_", " ").lower()
    if "alert" in reason:
        return ConnectionLost(f"{reason}: the server may want another certificate of the client (cert=FILE)")
    return ConnectionLost(f"{reason}: what answers may not speak TLS")


def _seconds(deadline: Deadline) -> float:
    left = deadline.left()
    if not left:
        raise TimeoutError
    return left
