"""Store URLs of HBase: `hbase://host:port/[namespace:]table`, and options after a `?`.

The schemes `hbases`, `hbase+http` and `hbase+https` are for gateways behind TLS, in HTTP mode, and both. Several
gateways to the same HBase are separated by commas: `hbase://host1:9090,host2:9090/table`.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict, cast
from urllib.parse import unquote, urlsplit

from webtable.errors import InvalidArgument
from webtable.store.hbase.thrift.credentials import PASSWORD, USER, Login, headers_by
from webtable.store.hbase.thrift.http_socket import NoHeaders, check_headers
from webtable.store.hbase.thrift.transport import ConnectionMode, Headers, client_context
from webtable.store.url import HostPort, URLOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store.hbase.thrift.connection import Protocol, Transport
    from webtable.store.url import StoreURL

_EVERY: Final = frozenset({"thrift2", "timeout", "pool"})
_SOCKET: Final = frozenset({"transport", "protocol"})
_TLS: Final = frozenset({"ca", "cert", "key"})
OPTIONS: Final = {
    "hbase": _EVERY | _SOCKET,
    "hbases": _EVERY | _SOCKET | _TLS,
    "hbase+http": _EVERY | {"auth"},
    "hbase+https": _EVERY | _TLS | {"auth"},
}
"""By scheme: `thrift2=PORT`, `transport=buffered|framed`, `protocol=binary|compact`, `timeout=SECONDS`,
`pool=CONNECTIONS`, `ca=FILE`, `cert=FILE`, `key=FILE`, `auth=basic|bearer|negotiate|hook`."""
_PORT: Final = 9090
_AUTHORITY: Final = re.compile("//([^/?#]*)")
_LOOPBACK: Final = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")


class Settings(TypedDict):
    """The arguments of `HBaseStore` that say how gateways are used."""

    thrift2: int | None
    transport: Transport
    protocol: Protocol
    timeout: float
    pool_size: int
    mode: ConnectionMode


class GatewayAddress(NamedTuple):
    """One gateway or several, and the table, by default `pages`."""

    gateways: tuple[HostPort, ...]
    table: str
    options: URLOptions
    scheme: str = "hbase"
    login: Login | None = None

    def settings(self) -> Settings:
        """Return the settings that the options mean.

        Raises `InvalidArgument` for a wrong number, a file that cannot be used, or missing credentials.
        """
        options = self.options
        return {
            "thrift2": int(options.number("thrift2", 9091)) if "thrift2" in options else None,
            # The store itself refuses other words than these two.
            "transport": cast("Transport", options.get("transport", "buffered")),
            "protocol": cast("Protocol", options.get("protocol", "binary")),
            "timeout": options.number("timeout", 30.0),
            "pool_size": int(options.number("pool", 8)),
            "mode": self._mode(),
        }

    def _mode(self) -> ConnectionMode:
        options = self.options
        is_secure = self.scheme in ("hbases", "hbase+https")
        tls = client_context(options.get("ca"), options.get("cert"), options.get("key")) if is_secure else None
        return ConnectionMode(self.scheme in ("hbase+http", "hbase+https"), tls, self._headers())

    def _headers(self) -> Headers | None:
        """Return the function that makes the headers of requests; there must be credentials for each host."""
        if self.login is None and "auth" not in self.options:
            return None
        headers = headers_by(self.options["auth"]) if self.login is None else self.login.headers
        for host, _ in self.gateways:
            if self.scheme == "hbase+http" and not _LOOPBACK.fullmatch(host):
                raise InvalidArgument(f"store: credentials for {host!r} need TLS: hbase+https://")
            if self.options.get("auth") not in ("hook", "negotiate"):  # which make them for each request
                _check_credentials(host, headers)
        return headers


def address_of(url: StoreURL) -> GatewayAddress:
    """Return the address in *url*; raises `InvalidArgument` that says what is wrong with it."""
    authority = _AUTHORITY.match(url.rest)
    hosts, rest = ("", url.rest) if authority is None else (authority[1], url.rest[authority.end() :])
    login, hosts = _login(url, hosts)
    if "@" in url.place.removeprefix(authority[0] if authority else ""):
        raise _unquoted(url)
    try:
        gateways = tuple(_host_port(host) for host in hosts.split(","))
        parts = urlsplit(rest)
    except ValueError as exc:
        # The message of urllib about a wrong port quotes it.
        raise InvalidArgument(f"store={url.text!r}: {exc}") from None
    if not all(gateway.host for gateway in gateways):
        raise InvalidArgument(f"store={url.text!r} must name a host, as in {url.scheme}://localhost:9090/crawl")
    for place, gateway in enumerate(gateways):
        if not _can_be_a_host(gateway.host):
            raise InvalidArgument(f"store={url.text!r}: {gateway.host!r} cannot be a host")
        if gateway in gateways[:place]:
            raise InvalidArgument(f"store={url.text!r} names the gateway {gateway} twice")
    options = url.options(parts.query, OPTIONS[url.scheme])
    return GatewayAddress(gateways, url.table(parts.path), options, url.scheme, login)


def store_name(gateways: Sequence[HostPort], scheme: str = "hbase") -> str:
    """Return the name of the store behind *gateways* for errors."""
    return f"{scheme}://{','.join(map(str, gateways))}"


def _unquoted(url: StoreURL) -> InvalidArgument:
    return InvalidArgument(f"store={url.text!r}: it cannot be read; a password in it must be quoted by %2F and so on")


def _login(url: StoreURL, authority: str) -> tuple[Login | None, str]:
    """Return the user and password of the URL, if it has them, and the hosts after them."""
    given, at, hosts = authority.rpartition("@")
    if not at:
        return None, hosts
    if not url.scheme.startswith("hbase+"):
        raise InvalidArgument(f"store={url.text!r}: there is no logging in by {url.scheme}://; gateways in HTTP mode")
    user, _, password = given.partition(":")
    if password:
        warnings.warn(
            f"store={url.text!r} has a password in it, which process lists and histories of shells show; give user and "
            f"password in netrc, or in {USER} and {PASSWORD}, and auth=basic in the URL",
            UserWarning,
            stacklevel=2,
        )
    return Login(unquote(user), unquote(password)), hosts


def _check_credentials(host: str, headers: Headers) -> None:
    try:
        check_headers(headers(host))
    except NoHeaders as exc:
        raise InvalidArgument(f"store: the credentials for {host!r} are not valid: {exc}") from exc


def _can_be_a_host(text: str) -> bool:
    try:
        text.encode("idna")  # as sockets do, which would raise an error of Python
    except UnicodeError:
        return False
    return text.isprintable() and " " not in text


def _host_port(text: str) -> HostPort:
    parts = urlsplit(f"//{text}")
    return HostPort(parts.hostname or "", parts.port or _PORT)
