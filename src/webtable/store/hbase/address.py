"""What a store URL says to the adapter of HBase: `hbase://host:port/[namespace:]table`, and options behind a `?`.

Gateways that lead to the same HBase stand beside each other: `hbase://host1:9090,host2:9090/table`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict, cast
from urllib.parse import unquote, urlsplit

from webtable.errors import InvalidArgument
from webtable.store.url import DEFAULT_TABLE, URLOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store.hbase.connection import Protocol, Transport
    from webtable.store.url import StoreURL

OPTIONS: Final = frozenset({"thrift2", "transport", "protocol", "timeout", "pool"})
"""`thrift2=PORT`, `transport=buffered|framed`, `protocol=binary|compact`, `timeout=SECONDS`, `pool=CONNECTIONS`."""
_PORT: Final = 9090
_AUTHORITY: Final = re.compile("//([^/?#]*)")


class Settings(TypedDict):
    """How gateways are to be used, as `HBaseStore` takes it."""

    thrift2: int | None
    transport: Transport
    protocol: Protocol
    timeout: float
    pool_size: int


class HostPort(NamedTuple):
    """Where a gateway listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Address(NamedTuple):
    """One gateway or several, and a table behind them: `pages` unless it is named."""

    gateways: tuple[HostPort, ...]
    table: str
    options: URLOptions

    def settings(self) -> Settings:
        """Return what the options mean; raises `InvalidArgument` for what is no number."""
        options = self.options
        return {
            "thrift2": int(options.number("thrift2", 9091)) if "thrift2" in options else None,
            # What is neither of two words the store itself refuses.
            "transport": cast("Transport", options.get("transport", "buffered")),
            "protocol": cast("Protocol", options.get("protocol", "binary")),
            "timeout": options.number("timeout", 30.0),
            "pool_size": int(options.number("pool", 8)),
        }


def address_of(url: StoreURL) -> Address:
    """Return what *url* says; raises `InvalidArgument` that says what is wrong with it."""
    authority = _AUTHORITY.match(url.rest)
    hosts, behind = ("", url.rest) if authority is None else (authority[1], url.rest[authority.end() :])
    try:
        gateways = tuple(_host_port(host) for host in hosts.split(","))
        parts = urlsplit(behind)
    except ValueError as exc:
        raise InvalidArgument(f"store={url.text!r}: {exc}") from exc
    if not all(gateway.host for gateway in gateways):
        raise InvalidArgument(f"store={url.text!r} must name a host, as in hbase://localhost:9090/crawl")
    for place, gateway in enumerate(gateways):
        if gateway in gateways[:place]:
            raise InvalidArgument(f"store={url.text!r} names the gateway {gateway} twice")
    table = unquote(parts.path.strip("/")) or DEFAULT_TABLE
    return Address(gateways, table, url.options(parts.query, OPTIONS))


def store_name(gateways: Sequence[HostPort]) -> str:
    """Return what errors call the store behind *gateways*."""
    return f"hbase://{','.join(map(str, gateways))}"


def _host_port(text: str) -> HostPort:
    parts = urlsplit(f"//{text}")
    return HostPort(parts.hostname or "", parts.port or _PORT)
