"""The transport of connections to a gateway: plain, HTTP, and TLS."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from webtable.errors import InvalidArgument
from webtable.store.hbase.thrift.gateway_socket import GatewaySocket
from webtable.store.hbase.thrift.http_socket import HTTPSocket

Headers = Callable[[str], Mapping[str, str]]
"""A function that returns the headers of a request to a host, as `{"Authorization": "Bearer …"}`."""


@dataclass(frozen=True, slots=True)
class ConnectionMode:
    """The transport to a gateway, with the *headers* of HTTP requests. `ConnectionMode.PLAIN` is plain Thrift."""

    http: bool = False
    tls: ssl.SSLContext | None = None
    headers: Headers | None = field(default=None, repr=False)

    PLAIN: ClassVar[ConnectionMode]

    @property
    def scheme(self) -> str:
        """The scheme of store URLs for this transport."""
        if self.http:
            return "hbase+http" if self.tls is None else "hbase+https"
        return "hbase" if self.tls is None else "hbases"

    def socket(self, host: str, port: int) -> GatewaySocket:
        """Return the socket for Thrift, not connected yet."""
        if self.http:
            return HTTPSocket(host, port, self.tls, self.headers)
        return GatewaySocket(host, port, self.tls)


ConnectionMode.PLAIN = ConnectionMode()


KEY_PASSWORD: Final = "WEBTABLE_HBASE_KEY_PASSWORD"  # noqa: S105 - the name of the variable
"""The variable of the environment with the password of an encrypted private key."""


def client_context(ca: str | None = None, cert: str | None = None, key: str | None = None) -> ssl.SSLContext:
    """Return the context of connections with TLS 1.2 and later, which verifies the host by its certificate.

    Certificates are verified by the authorities in the file *ca* (PEM), without it by those of the system. *cert* is
    sent to a server that requests a certificate, with its private *key* if that is in a separate file. Raises
    `InvalidArgument` that names a file which cannot be used. Verification cannot be switched off.
    """
    if key is not None and cert is None:
        raise InvalidArgument(f"store: key={key!r} needs cert, the certificate to which it belongs")
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
    """Return the password; without it OpenSSL would prompt in the terminal."""
    password = os.environ.get(KEY_PASSWORD)
    if password is None:
        raise InvalidArgument(f"the private key is encrypted: {KEY_PASSWORD} must have its password")
    return password


def _reason(exc: OSError) -> str:
    if isinstance(exc, ssl.SSLError):
        return f"not usable PEM ({exc.reason or 'not readable'})"
    return exc.strerror or str(exc)
