"""Thrift in messages of HTTP: a call is a POST on a connection that is kept open, its reply the body that comes back.

The gateways speak it where `hbase.regionserver.thrift.http` is true, and then alone by the binary protocol.
"""

from __future__ import annotations

import io
import re
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Final

from webtable.errors import InvalidArgument
from webtable.store.hbase.thrift.stream import LARGEST, PIECE, GatewaySocket, NothingLeft, WrongReply

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
    """An answer of HTTP that is no reply of Thrift: of a gateway, or of a proxy in front of it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"HTTP {status} {reason}{_MEANING.get(status, '')}")
        self.passes = status in _PASSING
        """Whether the same request may be answered later."""


_MEANING: Final = {
    401: ": credentials are missing, or are not taken (auth=basic|bearer|negotiate|hook)",
    403: ": these credentials may not do this",
    404: ": no gateway is there",
    407: ": a proxy wants credentials",
    413: ": a proxy takes no request of this size",
} | dict.fromkeys((301, 302, 303, 307, 308), ": redirects are not followed, for the sake of credentials")


class NoHeaders(OSError):
    """The headers that are to go with a request could not be made; the cause says why."""


class HTTPSocket(GatewaySocket):
    """A socket on which each message that is written and flushed is a POST, and what is read is the body of its answer.

    *headers* returns what else stands in the head of each request to a host.
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
        self._http.auto_open = 0  # a connection that is gone is never replaced behind the pool's back
        self._http.sock = _Wire(super().write, self._incoming)

    def write(self, data: bytes) -> None:
        """Keep *data* for the message that is sent by `flush`."""
        self._written.append(data)

    def flush(self) -> None:
        """Send what was written as one POST of a fixed length."""
        body = b"".join(self._written)
        self._written.clear()
        with _errors():
            if self._response is not None and self._response.read(1):
                raise WrongReply("an answer of HTTP that goes on behind its reply")
            self._response = None
            self._http.request("POST", "/", body, headers=_THRIFT | self._own_headers())

    def read(self, size: int) -> bytes:
        """Return the next of the answer's body, at most *size* bytes and at least one."""
        if size > LARGEST:
            raise WrongReply(f"a reply announces {size:,} bytes")
        with _errors():
            if self._response is None:
                self._response = self._begun()
            data = self._response.read(min(size, PIECE))
        if not data and self._at_end:
            raise NothingLeft
        if not data:
            raise WrongReply("an answer of HTTP that ends before its reply")
        return data

    def is_quiet(self) -> bool:
        """Whether the connection stays open, and nothing has come since the last answer."""
        return (self._response is None or not self._response.will_close) and super().is_quiet()

    def is_read_whole(self, read: Callable[[int], object]) -> bool:
        """Whether nothing is left of the answer of HTTP, and nothing has come behind it."""
        self._at_end = True
        try:
            read(1)
        except NothingLeft:
            return super().is_read_whole(self._incoming.peek)
        finally:
            self._at_end = False
        return False

    def _begun(self) -> HTTPResponse:
        """Return the answer, of which the head was read."""
        response = self._http.getresponse()
        self._answers += 1
        if response.status != 200:
            raise WrongStatus(response.status, response.reason[:100])
        if (response.length or 0) > LARGEST:
            raise WrongReply(f"an answer of HTTP announces {response.length:,} bytes")
        if response.will_close and self._answers == 1:  # a later one may be the last before a restart
            raise WrongReply("the connection ends with its first answer; a proxy must keep connections open")
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
            # Its text is not told: nobody knows what is in it.
            raise NoHeaders(f"the headers of the request could not be made ({type(exc).__name__})") from exc
        check_headers(headers)
        return headers


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise `NoHeaders` that names a header which cannot stand in a request; its value is in no message."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or name.lower() in _OURS:
            raise NoHeaders(f"the header {name!r:.100} cannot be given")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise NoHeaders(f"the value of the header {name!r:.100} cannot stand in a request")


@contextmanager
def _errors() -> Iterator[None]:
    """Raise what is wrong with an answer of HTTP as a `WrongReply`."""
    try:
        yield
    except HTTPException as exc:
        raise WrongReply(f"an answer that is no HTTP ({type(exc).__name__})") from exc


class _Incoming(io.RawIOBase):
    """What *read* gives, as the library wants a file."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _KeptOpen(io.BufferedReader):
    """One buffer for all answers of a connection: what comes behind an answer is not lost with it."""

    def close(self) -> None:
        """Do nothing: each answer closes what it was read from."""


class _Wire:
    """What an HTTP connection of the library takes for its socket."""

    def __init__(self, send: Callable[[bytes], None], incoming: io.BufferedReader) -> None:
        self.sendall = send
        self._incoming = incoming

    def makefile(self, _mode: str) -> io.BufferedReader:
        return self._incoming

    def close(self) -> None:
        """Do nothing: the connection is closed by who made it."""
