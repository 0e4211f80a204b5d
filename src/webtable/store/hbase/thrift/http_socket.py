"""Thrift over HTTP: a call is a POST on a connection that is kept open, its reply the body of the response.

Gateways use it if `hbase.regionserver.thrift.http` is true, with the binary protocol only.
"""

from __future__ import annotations

import io
import re
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Final

from webtable.errors import InvalidArgument
from webtable.store.hbase.failures import WrongReply
from webtable.store.hbase.thrift.gateway_socket import LARGEST, PIECE, EndOfReply, GatewaySocket

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping

_THRIFT: Final = {"Content-Type": "application/x-thrift", "Accept": "application/x-thrift", "User-Agent": "webtable"}
_OURS: Final = {"connection", "content-length", "content-type", "host", "transfer-encoding"}
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\x20-\x7e\xa0-\xff]*")
_OUT: Final = 64 * 1024
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class WrongStatus(OSError):
    """An HTTP response that is not a Thrift reply, from a gateway or a proxy before it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"HTTP {status} {reason}{_MEANING.get(status, '')}")
        self.passes: Final = status in _PASSING
        """Whether the same request may succeed later."""


_MEANING: Final = {
    401: ": credentials are missing, or not accepted (auth=basic|bearer|negotiate|hook)",
    403: ": these credentials may not do this",
    404: ": there is no gateway",
    407: ": a proxy wants credentials",
    413: ": a proxy refuses requests of this size",
} | dict.fromkeys((301, 302, 303, 307, 308), ": redirects are not followed, to protect credentials")


class NoHeaders(OSError):
    """The headers of a request could not be made; the cause says why."""


class HTTPSocket(GatewaySocket):
    """A socket on which each flushed message is a POST, and reads return the body of its response.

    *headers* returns the additional headers of each request to a host.
    """

    def __init__(
        self,
        host: str,
        port: int,
        tls: ssl.SSLContext | None = None,
        headers: Callable[[str], Mapping[str, str]] | None = None,
    ) -> None:
        super().__init__(host, port, tls)
        self._headers = headers
        self._written: list[bytes] = []
        self._incoming = _KeptOpen(_Incoming(super().read), _OUT)
        self._response: HTTPResponse | None = None
        self._answers = 0
        self._at_end = False
        self._http = HTTPConnection(host, port)
        self._http.auto_open = 0  # the library must not replace a lost connection without the pool
        self._http.sock = _Wire(super().write, self._incoming)

    def write(self, data: bytes) -> None:
        """Add *data* to the message that `flush` sends."""
        self._written.append(data)

    def flush(self) -> None:
        """Send what was written as one POST of a fixed length."""
        body = b"".join(self._written)
        self._written.clear()
        with _errors():
            if self._response is not None and self._response.read(1):
                raise WrongReply("an HTTP response with data after its reply")
            self._response = None
            self._http.request("POST", "/", body, headers=_THRIFT | self._own_headers())

    def read(self, size: int) -> bytes:
        """Return the next bytes of the response body, at least one and at most *size*."""
        if size > LARGEST:
            raise WrongReply(f"a reply announces {size:,} bytes")
        with _errors():
            if self._response is None:
                self._response = self._begun()
            data = self._response.read(min(size, PIECE))
        if not data and self._at_end:
            raise EndOfReply
        if not data:
            raise WrongReply("an HTTP response that ends before its reply")
        return data

    def is_quiet(self) -> bool:
        """Whether the connection stays open, and nothing has come since the last answer."""
        return (self._response is None or not self._response.will_close) and super().is_quiet()

    def is_read_whole(self, read: Callable[[int], object]) -> bool:
        """Whether the HTTP response was read to its end, and nothing has come after it."""
        self._at_end = True
        try:
            read(1)
        except EndOfReply:
            return super().is_read_whole(self._incoming.peek)
        finally:
            self._at_end = False
        return False

    def _begun(self) -> HTTPResponse:
        """Return the response, after its head was read."""
        response = self._http.getresponse()
        self._answers += 1
        if response.status != 200:
            raise WrongStatus(response.status, response.reason[:100])
        if (response.length or 0) > LARGEST:
            raise WrongReply(f"an HTTP response announces {response.length:,} bytes")
        if response.will_close and self._answers == 1:  # a later response may be the last before a restart
            raise WrongReply("the connection ends after its first response; a proxy must keep connections open")
        return response

    def _own_headers(self) -> dict[str, str]:
        if self._headers is None:
            return {}
        try:
            headers = dict(self._headers(self.address[0]))
        except OSError:
            raise
        except InvalidArgument as exc:
            raise NoHeaders(str(exc)) from exc
        except Exception as exc:
            # Its text is not shown, because it may contain anything.
            raise NoHeaders(f"the headers of the request could not be made ({type(exc).__name__})") from exc
        check_headers(headers)
        return headers


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise `NoHeaders` that names a header which is not valid in a request; its value is never in a message."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or name.lower() in _OURS:
            raise NoHeaders(f"the header {name!r:.100} is not allowed")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise NoHeaders(f"the value of the header {name!r:.100} is not valid in a request")


@contextmanager
def _errors() -> Iterator[None]:
    """Raise errors of an HTTP response as a `WrongReply`."""
    try:
        yield
    except HTTPException as exc:
        raise WrongReply(f"an answer that is not HTTP ({type(exc).__name__})") from exc


class _Incoming(io.RawIOBase):
    """The results of *read* as a file, which the library needs."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _KeptOpen(io.BufferedReader):
    """One buffer for all responses of a connection, so that data after a response is not lost with it."""

    def close(self) -> None:
        """Do nothing: each response closes its file."""


class _Wire:
    """The socket of an HTTP connection of the library."""

    def __init__(self, send: Callable[[bytes], None], incoming: io.BufferedReader) -> None:
        self.sendall = send
        self._incoming = incoming

    def makefile(self, _mode: str) -> io.BufferedReader:
        return self._incoming

    def close(self) -> None:
        """Do nothing: the owner closes the connection."""
