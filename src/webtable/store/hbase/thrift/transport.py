"""How a connection goes to a gateway: the transport, and TLS to it, or to the proxy in front of it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from webtable.errors import InvalidArgument
from webtable.store.hbase.thrift.http_socket import HTTPSocket
from webtable.store.hbase.thrift.stream import GatewaySocket

Headers = Callable[[str], Mapping[str, str]]
"""Returns what is to stand in the head of a request to a host, as `{"Authorization": "Bearer …"}`."""


@dataclass(frozen=True, slots=True)
class Way:
    """How bytes come to a gateway; with *headers* in each request of HTTP. `Way.CLEAR` is Thrift as it is."""

    http: bool = False
    tls: ssl.SSLContext | None = None
    headers: Headers | None = field(default=None, repr=False)

    CLEAR: ClassVar[Way]

    @property
    def scheme(self) -> str:
        """The scheme of a store URL that goes this way."""
        if self.http:
            return "hbase+http" if self.tls is None else "hbase+https"
        return "hbase" if self.tls is None else "hbases"

    def socket(self, host: str, port: int) -> GatewaySocket:
        """Return what Thrift's transport is to read and write; it is not connected yet."""
        if self.http:
            return HTTPSocket(host, port, self.tls, self.headers)
        return GatewaySocket(host, port, self.tls)


Way.CLEAR = Way()


KEY_PASSWORD: Final = "WEBTABLE_HBASE_KEY_PASSWORD"  # noqa: S105 - the name of the variable
"""The variable of the environment with the password of an encrypted private key."""


def client_context(ca: str | None = None, cert: str | None = None, key: str | None = None) -> ssl.SSLContext:
    """Return the context of connections by TLS 1.2 and later, on which the server proves that it is the host asked for.

    It is believed by the authorities in the file *ca* (PEM) alone, without one by those of the system. *cert* is shown
    to a server that asks for a certificate, with its private *key* where that is in a file of its own. Raises
    `InvalidArgument` that names a file which cannot be used. There is no way to believe everybody.
    """
    if key is not None and cert is None:
        raise InvalidArgument(f"store: key={key!r} is of no use without cert, the certificate that it belongs to")
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as exc:  # ssl.SSLError is one
        raise InvalidArgument(f"store: ca={ca!r}: {_reason(exc)}") from exc
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if cert is not None:
        try:
            context.load_cert_chain(cert, key, password=_key_password)
        except OSError as exc:
            raise InvalidArgument(f"store: cert={cert!r}, key={key!r}: {_reason(exc)}") from exc
    return context


def _key_password() -> str:
    """Return the password, without which OpenSSL would ask the terminal for one."""
    password = os.environ.get(KEY_PASSWORD)
    if password is None:
        raise InvalidArgument(f"the private key is encrypted: {KEY_PASSWORD} must have its password")
    return password


def _reason(exc: OSError) -> str:
    if isinstance(exc, ssl.SSLError):
        return f"no PEM that can be used ({exc.reason or 'not readable'})"
    return exc.strerror or str(exc)
