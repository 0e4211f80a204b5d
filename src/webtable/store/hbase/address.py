"""What a store URL says to the adapter of HBase: `hbase://host:port/[namespace:]table`, and options behind a `?`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict, cast
from urllib.parse import unquote, urlsplit

from webtable.errors import InvalidArgument
from webtable.store.url import DEFAULT_TABLE, URLOptions

if TYPE_CHECKING:
    from webtable.store.hbase.connection import Protocol, Transport
    from webtable.store.url import StoreURL

OPTIONS: Final = frozenset({"thrift2", "transport", "protocol", "timeout", "pool"})
"""`thrift2=PORT`, `transport=buffered|framed`, `protocol=binary|compact`, `timeout=SECONDS`, `pool=CONNECTIONS`."""
_PORT: Final = 9090


class Settings(TypedDict):
    """How gateways are to be used, as `HBaseStore` takes it."""

    thrift2: int | None
    transport: Transport
    protocol: Protocol
    timeout: float
    pool_size: int


class Address(NamedTuple):
    """A gateway, and a table behind it: `pages` unless it is named."""

    host: str
    port: int
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
    try:
        parts = urlsplit(url.text)
        port = parts.port or _PORT
    except ValueError as exc:
        raise InvalidArgument(f"store={url.text!r}: {exc}") from exc
    if not parts.hostname:
        raise InvalidArgument(f"store={url.text!r} must name a host, as in hbase://localhost:9090/crawl")
    table = unquote(parts.path.strip("/")) or DEFAULT_TABLE
    return Address(parts.hostname, port, table, url.options(parts.query, OPTIONS))
