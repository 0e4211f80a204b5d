"""Gateways in HTTP mode, and credentials: a call is a POST on a connection that is kept open, its reply the response.

Gateways use it if `hbase.regionserver.thrift.http` is true. It is their only TLS, and their only way to identify a
client, or a proxy's: the header `Authorization`.
"""

from __future__ import annotations

import base64
import io
import netrc
import os
import re
import ssl
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from http.client import HTTPConnection, HTTPException, HTTPResponse
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webtable.errors import InvalidArgument
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.shared.sockets import CONNECT_SECONDS, seconds_until
from webtable.store.hbase.thrift.connection import LARGEST, PIECE, EndOfReply, GatewaySocket

if TYPE_CHECKING:
    from collections.abc import Iterator

Headers = Callable[[str], Mapping[str, str]]
"""A function that returns the headers of a request to a host, as `{"Authorization": "Bearer …"}`."""


@dataclass(frozen=True, slots=True)
class HTTPMode:
    """How gateways in HTTP mode are reached: by TLS or in the clear, and with which *headers* of requests."""

    tls: ssl.SSLContext | None = None
    headers: Headers | None = field(default=None, repr=False)

    @property
    def scheme(self) -> str:
        """The scheme of their store URLs."""
        return "hbase+http" if self.tls is None else "hbase+https"

    def socket(self, host: str, port: int) -> HTTPSocket:
        """The socket for Thrift, not connected yet."""
        return HTTPSocket(host, port, self.tls, self.headers)


# --- Connections ------------------------------------------------------------------------------------------------------


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
    401: ": credentials are missing, or not accepted (auth=basic|bearer|hook)",
    403: ": these credentials may not do this",
    404: ": there is no gateway",
    407: ": a proxy wants credentials",
    413: ": a proxy refuses requests of this size",
} | dict.fromkeys((301, 302, 303, 307, 308), ": redirects are not followed, to protect credentials")


class NoHeaders(OSError):
    """The headers of a request could not be made; the cause says why."""


class UntrustedServer(OSError):
    """A server without a valid certificate for its host, or that does not speak TLS."""


class HTTPSocket(GatewaySocket):
    """A socket on which each flushed message is a POST, and reads return the body of its response.

    *headers* returns the additional headers of each request to a host. With *tls* nothing is sent before the other end
    has proven, by its certificate, that it is *host*.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None, headers: Headers | None) -> None:
        super().__init__(host, port)
        self._tls = tls
        self._headers = headers
        self._written: list[bytes] = []
        self._incoming = _KeptOpen(_Incoming(super().read), _OUT)
        self._response: HTTPResponse | None = None
        self._answers = 0
        self._at_end = False
        self._http = HTTPConnection(host, port)
        self._http.auto_open = 0  # the library must not replace a lost connection without the pool
        self._http.sock = _Wire(super().write, self._incoming)

    def open(self) -> None:
        """Connect to the host, and have it prove who it is."""
        super().open()
        if self._tls is not None:
            try:
                self._secure(self._tls)
            except BaseException:
                self.close()
                raise

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
        """The next bytes of the response body, at least one and at most *size*."""
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
        if self._response is not None and self._response.will_close:
            return False
        if not isinstance(self.sock, ssl.SSLSocket):
            return super().is_quiet()
        return not self.sock.pending() and (super().is_quiet() or _has_only_records(self.sock))

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

    def _secure(self, tls: ssl.SSLContext) -> None:
        assert self.sock is not None  # noqa: S101 - it was connected just now
        # Stored before the handshake, so that a child forked in the meantime can close it.
        sock = tls.wrap_socket(self.sock, server_hostname=self.address[0], do_handshake_on_connect=False)
        self._made(sock)
        try:
            sock.settimeout(seconds_until(self.deadline.within(CONNECT_SECONDS)))
            sock.do_handshake()
        except ssl.SSLCertVerificationError as exc:
            raise UntrustedServer(f"its certificate is not trusted: {exc.verify_message}") from exc
        except ssl.SSLError as exc:
            raise UntrustedServer(f"no TLS connection ({exc.reason or exc}); does it speak TLS there?") from exc

    def _begun(self) -> HTTPResponse:
        """The response, after its head was read."""
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


# --- Credentials ------------------------------------------------------------------------------------------------------
#
# They come from the netrc file, from the environment or from a file that the environment names. A store URL only names
# their kind: URLs are visible in process lists and may come from strangers, who must not obtain credentials with them.
# So a host is sent only credentials meant for it: netrc names its hosts, and the environment those of its own.


USER: Final = "WEBTABLE_HBASE_USER"
PASSWORD: Final = "WEBTABLE_HBASE_PASSWORD"  # noqa: S105 - the name of a variable, as is the next one
_TOKEN: Final = "WEBTABLE_HBASE_TOKEN"  # noqa: S105
_HOSTS: Final = "WEBTABLE_HBASE_AUTH_HOSTS"
_HOOK: Final = "WEBTABLE_HBASE_HEADERS"  # as `module:function`; the environment may name code to run, a URL may not
_FILE: Final = "_FILE"  # the ending of variables that name a file with the password or the token


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    """A user and a password; never displayed."""

    user: str
    password: str

    def headers(self, _host: str = "") -> dict[str, str]:
        """The header of the scheme Basic."""
        return {"Authorization": "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()}


def headers_by(kind: str) -> Headers:
    """The function that makes the headers of a request to a host, from credentials of this *kind*.

    It raises `InvalidArgument` for a host without credentials. Raises `InvalidArgument` for an unknown kind, and if the
    hook is missing.
    """
    if kind == "hook":
        return _headers_by_hook()
    if kind == "negotiate":
        raise InvalidArgument(
            "store: auth=negotiate is not there: Kerberos is for HBase's own protocol, as in "
            "hbase+native://ZOOKEEPER:2181/TABLE?auth=kerberos"
        )
    if kind not in ("basic", "bearer"):
        raise InvalidArgument("store: auth must be one of basic, bearer, hook")
    return _basic if kind == "basic" else _bearer


def _basic(host: str) -> Mapping[str, str]:
    if (entry := _netrc_entry(host)) is not None:
        return entry.headers()
    if (user := os.environ.get(USER)) and (password := _secret(PASSWORD, host)):
        return Login(user, password).headers()
    raise _none_for(host, f"{USER} and {PASSWORD} or {PASSWORD}{_FILE}")


def _bearer(host: str) -> Mapping[str, str]:
    entry = _netrc_entry(host)
    if token := entry.password if entry is not None else _secret(_TOKEN, host):
        return {"Authorization": f"Bearer {token}"}
    raise _none_for(host, f"{_TOKEN} or {_TOKEN}{_FILE}")


def _none_for(host: str, variables: str) -> InvalidArgument:
    return InvalidArgument(f"store: no credentials for {host!r}: neither in netrc, nor in {variables}")


def _netrc_entry(host: str) -> Login | None:
    """User and password of *host* in the file that NETRC names, or in ~/.netrc; `default` is ignored."""
    named = os.environ.get("NETRC")
    path = Path(named) if named else Path.home() / ".netrc"
    if not named and not path.is_file():
        return None
    try:
        # Only without a name does the library refuse a file that others may read.
        entry = netrc.netrc(str(path) if named else None).hosts.get(host)
    except netrc.NetrcParseError as exc:
        # The text of the error quotes the unreadable part, which may be a password.
        raise InvalidArgument(f"store: {path}: it is not valid netrc, or others may read it") from exc
    except (OSError, ValueError) as exc:
        raise InvalidArgument(f"store: {path}: it cannot be read ({type(exc).__name__})") from exc
    return None if entry is None else Login(entry[0], entry[2])


def _secret(variable: str, host: str) -> str | None:
    """The value of *variable*, or the content of the file that its sibling names, if *host* may have it.

    The file is read each time because tokens are renewed.
    """
    value, file = os.environ.get(variable), os.environ.get(variable + _FILE)
    if not value and not file:
        return None
    if not any(fnmatchcase(host, pattern.strip()) for pattern in os.environ.get(_HOSTS, "").split(",")):
        raise InvalidArgument(
            f"store: {_HOSTS} does not name {host!r}, so credentials of the environment are not sent to it; it has "
            "names with commas between them, as in gateway-1.example.com,*.hbase.example.com"
        )
    if value:
        return value
    try:
        return Path(str(file)).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as exc:
        raise InvalidArgument(f"store: {variable}{_FILE}={file!r}: it cannot be read ({type(exc).__name__})") from exc


def _headers_by_hook() -> Headers:
    named = os.environ.get(_HOOK, "")
    module, colon, function = named.partition(":")
    if not (module and colon and function):
        raise InvalidArgument(f"store: auth=hook needs {_HOOK}=module:function, which returns headers for a host")
    try:
        hook: Headers = getattr(import_module(module), function)
    except Exception as exc:
        raise InvalidArgument(f"store: {_HOOK}={named!r} cannot be imported ({type(exc).__name__})") from exc
    if not callable(hook):
        raise InvalidArgument(f"store: {_HOOK}={named!r} is no function")
    return hook
