"""The way to a gateway: by Thrift on a socket or in HTTP messages, each in the clear or by TLS."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

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
