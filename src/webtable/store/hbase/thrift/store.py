"""The store for HBase by its Thrift gateways, and its URLs: `hbase://host:port/[namespace:]table?thrift2=port`.

The schemes `hbase+http` and `hbase+https` are for gateways in HTTP mode, in the clear and by TLS. Several gateways to
the same HBase, which are tried in turn, are separated by commas: `hbase://host1:9090,host2:9090/table`.
"""

from __future__ import annotations

import re
import warnings
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar
from urllib.parse import unquote

from thriftpy2.thrift import TApplicationException

from webtable._clock import clock
from webtable._messages import Command
from webtable.errors import CapabilityError, InvalidArgument, NotAStore, StoreError, StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.schema import FAMILY_OPTIONS, FamilySchema, TableSchema, alter_statement, create_statement
from webtable.store.capabilities import Capabilities
from webtable.store.deadline import Deadline, of_call
from webtable.store.hbase.shared.base import FOREVER, HBaseBase, Tables, clock_check, known_family, ttl_of
from webtable.store.hbase.shared.failures import missing
from webtable.store.hbase.shared.scans import FIRST_ROWS
from webtable.store.hbase.shared.sockets import client_context
from webtable.store.hbase.shared.urls import hosts_of, parts_of
from webtable.store.hbase.thrift import http as http_mode
from webtable.store.hbase.thrift.connection import GatewaySocket, thrift1, thrift2
from webtable.store.hbase.thrift.gateway import (
    DRIVER_ERRORS,
    Connector,
    Gateway,
    is_declined,
    none_of,
    table_name,
    translated,
)
from webtable.store.hbase.thrift.http import HTTPMode, Login
from webtable.store.hbase.thrift.thrift1 import ScannerPieces, Thrift1
from webtable.store.hbase.thrift.thrift2 import StatelessPieces, Thrift2
from webtable.store.health import Check, failed, warned, well
from webtable.store.rows import Region, TableDescription
from webtable.store.url import HostPort, StoreURL, URLOptions

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from webtable.store.hbase.shared.filters import Selection
    from webtable.store.hbase.shared.scans import Pieces
    from webtable.store.hbase.thrift.gateway import OnCall
    from webtable.store.metrics import ServerMetrics

T = TypeVar("T")


# --- What answers at an address ---------------------------------------------------------------------------------------


_SECONDS: Final = 5.0
_FIRST_SHARE: Final = 1 / 2  # of the time, for the expected gateway; the rest is to learn what is there instead
_ELSEWHERE_SECONDS: Final = 1.5
_RESET: Final = " (was it started with -f, -c, -nonblocking, -hsha or -threadedselector? It must be without)"
"""Why a gateway may close a connection at the first call: by these it has another transport or protocol."""
_OTHERS: Final = {
    b"HTTP/": "an HTTP server; if it is a gateway in HTTP mode, use hbase+http://",
    b"\x15\x03": "a server that speaks TLS; if it is a gateway in HTTP mode, use hbase+https://",
}
"""Descriptions of servers by the first bytes of their answer (those of TLS are an alert)."""


def check_gateways(connectors: Sequence[Connector], name: str, deadline: Deadline) -> None:
    """Return when the expected service of HBase answers at one of *connectors*, which are tried in turn.

    Raises `NotAStore` if something else answers there, `StoreUnavailable` if nothing does.
    """
    errors: list[tuple[Connector, Exception]] = []
    for connector in connectors:
        soon = deadline if len(connectors) == 1 else deadline.within(_SECONDS)
        try:
            return check_gateway(connector, name, soon)
        except StoreUnavailable as error:
            errors.append((connector, error))
    if len(errors) == 1:
        raise errors[0][1]
    raise StoreUnavailable(f"{name}: {none_of(errors)}") from errors[-1][1]


def check_gateway(connector: Connector, name: str, deadline: Deadline) -> None:
    """Return when the expected service of HBase answers there.

    Raises `NotAStore` that says what is there instead and how to reach it, and `StoreUnavailable` if nothing answers,
    or something that cannot be identified; each before *deadline*.
    """
    address, expected = connector.address, f"Thrift{connector.number}"
    try:
        number = _service(connector, deadline.within(min(deadline.left() * _FIRST_SHARE, _SECONDS)))
    except ConnectionRefusedError as exc:
        raise StoreUnavailable(f"{name}: nothing listens at {address}; is the {expected} gateway up?") from exc
    except DRIVER_ERRORS as exc:
        if is_declined(exc):
            raise translated(exc, f"{name}: {address}", None, "looking at it") from exc
        if connector.http is None:
            _check_greeting(connector, name, deadline.within(_ELSEWHERE_SECONDS))
        hint = _RESET if isinstance(exc, ConnectionResetError) else ""
        raise StoreUnavailable(f"{name}: no answer from a {expected} gateway at {address}: {exc}{hint}") from exc
    if number != connector.number:
        option = (
            f"it can be given as ?thrift2={address.port}, beside the port of a Thrift1 gateway"
            if number == 2
            else f"the port itself is for Thrift1: {_scheme(connector.http)}://{address}, and ?thrift2= for a Thrift2 "
            "gateway"
        )
        raise NotAStore(f"{name}: a Thrift{number} gateway answers at {address} where {expected} is expected; {option}")


def _service(connector: Connector, deadline: Deadline) -> int:
    """1 or 2 for the service that answers; before HBase 2.x a method that only Thrift1 has shows it."""
    with closing(connector(deadline)) as connection:
        if (number := connection.service(deadline)) is not None:
            return number
        try:
            connection.call("getTableNames", deadline=deadline)
        except TApplicationException as exc:
            if exc.type != TApplicationException.UNKNOWN_METHOD:
                raise
            return 2
        except (thrift1.IOError, thrift2.TIOError):
            return 1
        return 1


def _check_greeting(connector: Connector, name: str, deadline: Deadline) -> None:
    """Raise `NotAStore` if the other end answers an HTTP request, or is a server that speaks first."""
    with closing(GatewaySocket(*connector.address)) as sock:
        sock.deadline = deadline
        try:
            sock.open()
            sock.write(b"GET / HTTP/1.0\r\n\r\n")
            greeting = sock.read(100)
        except OSError:
            return
    kind = next((kind for start, kind in _OTHERS.items() if greeting.startswith(start)), "no Thrift gateway")
    raise NotAStore(
        f"{name}: {connector.address} is {kind} (it answers {greeting[:40]!r}); hbase:// needs the port of "
        "HBase's Thrift gateway, 9090 unless configured otherwise"
    )


# --- Tables -----------------------------------------------------------------------------------------------------------


# The options that Thrift1's ColumnDescriptor does not have.
_UNREAD: Final = frozenset({"min_versions", "block_encoding", "block_size", "replication_scope"})


class GatewayTables(Tables):
    """Tables by a Thrift1 *gateway*, without changes of a family.

    A new table with split keys, or with options that Thrift1 does not have, is made by Thrift2 at *beside*, if that is
    given.
    """

    def __init__(self, gateway: Gateway, beside: Gateway | None = None) -> None:
        super().__init__(gateway.name)
        self._gateway = gateway
        self._beside = beside

    def names(self, deadline: Deadline) -> list[str]:
        """The names of all tables, sorted."""
        return self._gateway.call(
            "getTableNames", deadline=deadline, read=lambda answer: sorted(name.decode() for name in answer)
        )

    def describe(self, table: str, deadline: Deadline) -> TableDescription:
        """The table as far as Thrift1 describes it."""
        families = self._descriptors(table, deadline, lambda answer: tuple(_family(answer[n]) for n in sorted(answer)))
        return TableDescription(TableSchema(table, families, self._splits(table, deadline)), _UNREAD)

    def families(self, table: str, deadline: Deadline) -> frozenset[bytes]:
        """The names of the table's families."""
        return self._descriptors(table, deadline, lambda answer: frozenset(name.rstrip(b":") for name in answer))

    def regions(self, table: str, deadline: Deadline) -> list[Region]:
        """The table's regions in key order."""

        def read(answer: list[Any]) -> list[Region]:
            # None + b"" raises here, where it makes a wrong reply: KeyRange takes any value.
            return [Region(KeyRange(r.startKey + b"", r.endKey + b""), _server(r.serverName, r.port)) for r in answer]

        regions = self._gateway.call("getTableRegions", table.encode(), deadline=deadline, table=table, read=read)
        if not regions:
            raise missing(self._name, table)
        return sorted(regions, key=lambda region: region.keys)

    def set_family(self, table: str, family: FamilySchema, deadline: Deadline) -> None:  # noqa: ARG002
        """Raise `CapabilityError`: Thrift1 has no call for it."""
        raise CapabilityError(
            f"{self._name}: table {table!r}: a gateway can neither add nor change a family; HBase's own protocol can "
            f"(hbase+native://), and the HBase shell: {alter_statement(table, family)}"
        )

    def _create(self, schema: TableSchema, deadline: Deadline) -> None:
        beyond = _beyond_thrift1(schema)
        if not beyond:
            families = [_descriptor(family) for family in schema.families]
            self._gateway.call_once("createTable", schema.name.encode(), families, deadline=deadline, table=schema.name)
            return
        if self._beside is None:
            raise CapabilityError(
                f"{self._name}: table {schema.name!r}: a Thrift1 gateway cannot set {', '.join(beyond)}; a Thrift2 "
                "gateway can (?thrift2=9091), HBase's own protocol (hbase+native://), and the HBase shell: "
                f"{create_statement(schema)}"
            )
        table = thrift2.TTableDescriptor(
            tableName=table_name(schema.name), columns=[_descriptor2(family) for family in schema.families]
        )
        splits = list(schema.split_keys) or None
        self._beside.call_once("createTable", table, splits, deadline=deadline, table=schema.name)

    def _disable(self, table: str, deadline: Deadline) -> None:
        if self._gateway.call("isTableEnabled", table.encode(), deadline=deadline, table=table):
            self._gateway.call_once("disableTable", table.encode(), deadline=deadline, table=table)

    def _delete(self, table: str, deadline: Deadline) -> None:
        self._gateway.call_once("deleteTable", table.encode(), deadline=deadline, table=table)

    def _descriptors(self, table: str, deadline: Deadline, read: Callable[[dict[bytes, Any]], T]) -> T:
        return self._gateway.call("getColumnDescriptors", table.encode(), deadline=deadline, table=table, read=read)


def _server(host: bytes | None, port: int) -> str:
    """The region server; empty if the region has none at the moment."""
    return f"{host.decode()}:{port}" if host else ""


def _beyond_thrift1(schema: TableSchema) -> list[str]:
    """The parts of *schema* that Thrift1 cannot express: split keys, and options that are not the default."""
    beyond = ["split keys"] if schema.split_keys else []
    for family in schema.families:
        default = FamilySchema(family.name)
        beyond += [
            f"{option} of family {family.name!r}"
            for option in FAMILY_OPTIONS
            if option in _UNREAD and getattr(family, option) != getattr(default, option)
        ]
    return beyond


def _descriptor(family: FamilySchema) -> Any:
    """Thrift1's descriptor, without the options that it does not have."""
    return thrift1.ColumnDescriptor(
        name=family.name.encode() + b":",
        maxVersions=family.versions,
        compression=family.compression,
        inMemory=family.in_memory,
        bloomFilterType=family.bloom,
        blockCacheEnabled=family.block_cache,
        timeToLive=FOREVER if family.ttl is None else family.ttl,
    )


def _descriptor2(family: FamilySchema) -> Any:
    """Thrift2's descriptor, with every option of *family*."""
    return thrift2.TColumnFamilyDescriptor(
        name=family.name.encode(),
        blockSize=family.block_size,
        bloomnFilterType=getattr(thrift2.TBloomFilterType, family.bloom),
        compressionType=getattr(thrift2.TCompressionAlgorithm, family.compression),
        dataBlockEncoding=getattr(thrift2.TDataBlockEncoding, family.block_encoding),
        maxVersions=family.versions,
        minVersions=family.min_versions,
        scope=family.replication_scope,
        timeToLive=FOREVER if family.ttl is None else family.ttl,
        blockCacheEnabled=family.block_cache,
        inMemory=family.in_memory,
    )


def _family(descriptor: Any) -> FamilySchema:
    """The family; the options in `_UNREAD` are HBase's defaults."""
    return known_family(
        name=descriptor.name.rstrip(b":").decode(),
        versions=descriptor.maxVersions,
        ttl=ttl_of(descriptor.timeToLive),
        compression=descriptor.compression.decode().upper(),
        bloom=descriptor.bloomFilterType.decode().upper(),
        in_memory=bool(descriptor.inMemory),
        block_cache=bool(descriptor.blockCacheEnabled),
    )


# --- The store --------------------------------------------------------------------------------------------------------


_HTTP_SECONDS: Final = 25.0
"""The longest idle time of a connection in HTTP mode; the gateway closes it after 30 s."""


class HBaseStore(HBaseBase):
    """HBase behind its Thrift1 gateway at *port*, and its Thrift2 gateway at the port *thrift2*, if there is one.

    Thrift1 supports everything except split keys, some options of a family, changes of one and deletes of single
    versions (`CapabilityError` says what to use instead). A Thrift2 gateway beside it makes tables with split keys, and
    reads what it is faster at: many ranges, pieces of rows, and versions. *others* are further gateways to the same
    HBase, as host and port, each with its Thrift2 gateway at the port *thrift2*: if no connection can be made to one,
    the next one takes its place.

    *timeout* is the deadline of each call in seconds, including waiting for a connection and for threads, connecting,
    and retries. The iterator of a scan has one for each requested row; table management has four times as long.
    *pool_size* is the number of connections to each service, and of the threads that use them for one call; *max_age*
    is how many seconds one may be idle. *http* is for gateways in HTTP mode, which alone have TLS.
    Raises `NotAStore` if something else answers, `StoreUnavailable` if nothing does.
    """

    capabilities: Capabilities = Capabilities(
        processes_write_concurrently=True, is_of_processes=True, has_snapshots=True, changes_families=False
    )
    _uncompacted = "the gateways have no call to compact a table"
    _client: Thrift1

    def __init__(
        self,
        host: str,
        port: int = 9090,
        *,
        others: Sequence[tuple[str, int]] = (),
        thrift2: int | None = None,
        timeout: float = 30.0,
        pool_size: int = 8,
        max_age: float = 50.0,
        http: HTTPMode | None = None,
    ) -> None:
        _check(timeout > 0, f"timeout={timeout} must be over 0 seconds")
        _check(pool_size > 0, f"pool_size={pool_size} must be at least 1")
        _check(max_age > 0, f"max_age={max_age} must be over 0 seconds")
        deadline = of_call(timeout)
        addresses = [HostPort(*address) for address in ((host, port), *others)]
        super().__init__(_store_name(addresses, http), timeout, pool_size)

        def opened(number: int, addresses: Sequence[HostPort]) -> Gateway:
            connectors = [Connector(address, number, http) for address in addresses]
            check_gateways(connectors, self.name, deadline)
            name = self.name if number == 1 else f"{self.name} (Thrift2 at {','.join(map(str, addresses))})"
            return Gateway(name, connectors, pool_size, max_age if http is None else min(max_age, _HTTP_SECONDS))

        first = opened(1, addresses)
        self._gateways = [first]
        self.capabilities = replace(self.capabilities, scans_ranges_separately=thrift2 is None)
        if thrift2 is None:
            self._client = Thrift1(first, self._workers)
            self._tables = GatewayTables(first)
        else:
            beside = opened(2, _distinct(addresses, thrift2))
            self._gateways.append(beside)
            self._client = self._many = Thrift2(first, beside, self._workers)
            self._tables = GatewayTables(first, beside)
        self._opened(self._tables)

    @classmethod
    def table_of(cls, url: StoreURL) -> str:
        """The table of `hbase://host:port/[namespace:]table`: by default `pages`."""
        return address_of(url).table

    @classmethod
    def from_url(cls, url: StoreURL, *, create: bool = False) -> Self:
        """The store behind the gateways that *url* names; *create* has no effect."""
        del create
        address = address_of(url)
        return cls(*address.gateways[0], others=address.gateways[1:], **address.settings())

    @classmethod
    def connection_checks(cls, url: StoreURL) -> Iterator[Check]:
        """Yield the checks of each gateway that *url* names."""
        yield from GatewayChecks(url).checks()

    def health(self, table: str) -> Iterator[Check]:
        """Yield the check of HBase's clock."""
        yield clock_check(self, table)

    def events(self) -> Counter[str]:
        """How often each event has occurred, including those of the gateways."""
        return sum((gateway.log.events.snapshot() for gateway in self._gateways), super().events())

    def servers(self) -> list[ServerMetrics]:
        """The state of the connections to each service, Thrift1 first."""
        return [gateway.state() for gateway in self._gateways]

    def _rows_a_call(self, count: int) -> int:
        if self._many is not None:
            return super()._rows_a_call(count)
        # Thrift1 makes three calls for each row, or for several neighbouring rows: all connections are in use.
        return -(-count // self._groups(()))

    def backup(self, path: Path, on_progress: Callable[[int], object] | None = None) -> int:  # noqa: ARG002
        """Raise `CapabilityError`: snapshots of HBase are taken in its shell."""
        raise CapabilityError(
            f"{self.name}: the gateways have no call for snapshots; ",
            Command("backup snapshot"),
            " writes the lines for the HBase shell that make them, and ",
            Command("export", python="webtable.formats.write_export(…)"),
            " writes files",
        )

    def close(self) -> None:
        """Close all connections, those in use after their call."""
        super().close()
        for gateway in self._gateways:
            gateway.pool.close()

    @property
    def on_call(self) -> OnCall | None:
        """The function that is called with the method of each gateway call (`scannerOpenWithScan`), in its thread."""
        return self._gateways[0].pool.on_call

    @on_call.setter
    def on_call(self, listener: OnCall | None) -> None:
        for gateway in self._gateways:
            gateway.pool.on_call = listener

    def _groups(self, bounds: Sequence[bytes]) -> int:  # noqa: ARG002 - one for each connection
        return self._gateways[-1].pool.size

    def _pieces(self, table: str, ranges: Sequence[KeyRange], wanted: Selection, limit: int | None) -> Pieces:
        is_short = limit is not None and limit <= FIRST_ROWS
        is_faster = not wanted.reverse and (len(ranges) > 1 or wanted.versions > 1 or is_short)
        if isinstance(self._client, Thrift2) and is_faster:
            return StatelessPieces(self._client, table, ranges, wanted, limit)
        return ScannerPieces(self._client, table, ranges, wanted, limit)


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidArgument(message)


def _distinct(addresses: Sequence[HostPort], port: int) -> list[HostPort]:
    """The hosts of *addresses* with another *port*, each once."""
    return list(dict.fromkeys(HostPort(address.host, port) for address in addresses))


def _scheme(http: HTTPMode | None) -> str:
    return "hbase" if http is None else http.scheme


def _store_name(gateways: Sequence[HostPort], http: HTTPMode | None) -> str:
    """The name of the store behind *gateways* for errors."""
    return f"{_scheme(http)}://{','.join(map(str, gateways))}"


# --- Its URLs ---------------------------------------------------------------------------------------------------------


_EVERY: Final = frozenset({"thrift2", "timeout", "pool"})
OPTIONS: Final = {
    "hbase": _EVERY,
    "hbase+http": _EVERY | {"auth"},
    "hbase+https": _EVERY | {"auth", "ca", "cert", "key"},
}
"""By scheme: `thrift2=PORT`, `timeout=SECONDS`, `pool=CONNECTIONS`, `ca=FILE`, `cert=FILE`, `key=FILE`,
`auth=basic|bearer|hook`."""
_LOOPBACK: Final = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")


class GatewayAddress(NamedTuple):
    """One gateway or several, and the table, by default `pages`."""

    gateways: tuple[HostPort, ...]
    table: str
    options: URLOptions
    scheme: str = "hbase"
    login: Login | None = None

    def settings(self) -> dict[str, Any]:
        """The settings that the options mean.

        Raises `InvalidArgument` for a wrong number, a file that cannot be used, or missing credentials.
        """
        options = self.options
        return {
            "thrift2": int(options.number("thrift2", 9091)) if "thrift2" in options else None,
            "timeout": options.number("timeout", 30.0),
            "pool_size": int(options.number("pool", 8)),
            "http": self._http(),
        }

    def _http(self) -> HTTPMode | None:
        options = self.options
        if self.scheme == "hbase":
            return None
        is_secure = self.scheme == "hbase+https"
        tls = client_context(options.get("ca"), options.get("cert"), options.get("key")) if is_secure else None
        return HTTPMode(tls, self._headers())

    def _headers(self) -> http_mode.Headers | None:
        """The function that makes the headers of requests; there must be credentials for each host."""
        if self.login is None and "auth" not in self.options:
            return None
        headers = http_mode.headers_by(self.options["auth"]) if self.login is None else self.login.headers
        for host, _ in self.gateways:
            if self.scheme == "hbase+http" and not _LOOPBACK.fullmatch(host):
                raise InvalidArgument(f"store: credentials for {host!r} need TLS: hbase+https://")
            if self.options.get("auth") != "hook":  # which makes them for each request
                try:
                    http_mode.check_headers(headers(host))
                except http_mode.NoHeaders as exc:
                    raise InvalidArgument(f"store: the credentials for {host!r} are not valid: {exc}") from exc
        return headers


def address_of(url: StoreURL) -> GatewayAddress:
    """The address in *url*; raises `InvalidArgument` that says what is wrong with it."""
    authority, path, query = parts_of(url)
    login, hosts = _login(url, authority)
    if "@" in url.place.removeprefix(f"//{authority}"):
        raise InvalidArgument(
            f"store={url.text!r}: it cannot be read; a password in it must be quoted by %2F and so on"
        )
    gateways = tuple(HostPort(host, port or 9090) for host, port in hosts_of(url, hosts, "localhost:9090"))
    for place, gateway in enumerate(gateways):
        if gateway in gateways[:place]:
            raise InvalidArgument(f"store={url.text!r} names the gateway {gateway} twice")
    if re.search("(^|&)(transport|protocol)=", query):
        raise InvalidArgument(
            f"store={url.text!r}: there is no transport= or protocol=: start the gateway without -f, -c, -nonblocking, "
            "-hsha and -threadedselector, or use its HTTP mode (hbase+http://) or HBase's own protocol (hbase+native://)"
        )
    options = url.options(query, OPTIONS[url.scheme])
    return GatewayAddress(gateways, url.table(path), options, url.scheme, login)


def _login(url: StoreURL, authority: str) -> tuple[Login | None, str]:
    """The user and password of the URL, if it has them, and the hosts after them."""
    quoted, at, hosts = authority.rpartition("@")
    if not at:
        return None, hosts
    if not url.scheme.startswith("hbase+"):
        raise InvalidArgument(f"store={url.text!r}: there is no logging in by {url.scheme}://; gateways in HTTP mode")
    user, _, password = quoted.partition(":")
    if password:
        warnings.warn(
            f"store={url.text!r} has a password in it, which process lists and histories of shells show; give user and "
            f"password in netrc, or in {http_mode.USER} and {http_mode.PASSWORD}, and auth=basic in the URL",
            UserWarning,
            stacklevel=2,
        )
    return Login(unquote(user), unquote(password)), hosts


# --- The doctor's checks ----------------------------------------------------------------------------------------------


_PING_SECONDS: Final = 1.0
_USUAL_THRIFT2: Final = 9091
_UNSEEN_SECONDS: Final = 1.0  # to look for a Thrift2 gateway that the URL does not name


class GatewayChecks:
    """Checks of the gateways that *url* names, each separately, before *deadline*."""

    def __init__(self, url: StoreURL) -> None:
        address = address_of(url)
        self._settings = address.settings()
        self._http: HTTPMode | None = self._settings["http"]
        self._deadline = of_call(self._settings["timeout"])
        self._addresses = address.gateways
        self._name = _store_name(address.gateways, self._http)

    def checks(self) -> Iterator[Check]:
        """Yield the check of each address; a service without an answering gateway has failed."""
        port = self._settings["thrift2"]
        yield from self._service(1, self._addresses)
        if port is not None:
            yield from self._service(2, _distinct(self._addresses, port))
        else:
            yield from self._unnamed()

    def _service(self, number: int, addresses: Sequence[HostPort]) -> Iterator[Check]:
        connectors = [Connector(address, number, self._http) for address in addresses]
        looks = [self._gateway(connector) for connector in connectors]
        is_there = any(look.is_ok for look in looks)
        for look, connector in zip(looks, connectors, strict=True):
            if look.is_ok:
                yield look
                yield self._connections(connector)
            elif is_there:
                yield warned(look.check, look.finding, f"{look.fix}; until then the others are tried")
            else:
                yield look

    def _gateway(self, connector: Connector) -> Check:
        name, number, began = f"gateway {connector.address}", connector.number, clock.monotonic()
        try:
            check_gateway(connector, self._name, self._deadline)
        except (NotAStore, StoreUnavailable) as exc:
            reason, _, fix = str(exc).removeprefix(f"{self._name}: ").partition("; ")
            if isinstance(exc, StoreUnavailable):
                command = f"hbase {'thrift' if number == 1 else 'thrift2'} start -p {connector.address.port}"
                fix = f"start it ({command}), or correct the host and the port in the URL"
            return failed(name, reason, fix)
        took = (clock.monotonic() - began) * 1000
        mode = "" if self._http is None else f" ({self._http.scheme})"
        return well(name, f"Thrift{number}{mode} answers in {took:.0f} ms")

    def _connections(self, connector: Connector) -> Check:
        """The check of how many of the connections of one process are served at the same time."""
        name, wanted = f"connections {connector.address}", self._settings["pool_size"]
        served, is_old = 0, False
        with ExitStack() as opened:
            try:
                for served in range(wanted):  # noqa: B007, used after the loop
                    soon = self._deadline.within(_PING_SECONDS)
                    connection = opened.enter_context(closing(connector(soon)))
                    is_old = connection.service(soon) is None
            except DRIVER_ERRORS as exc:
                text = f"{served} of {wanted} connections at once are answered within a second: {exc}"
                fix = "raise hbase.thrift.maxWorkerThreads of the gateway, or lower ?pool= of its users"
                return warned(name, text, fix)
        if is_old:
            return warned(name, f"{wanted} at once are answered, by HBase before 2.x", "webtable is tested with 2.6")
        return well(name, f"{wanted} at once are answered within a second, by HBase 2.x or later")

    def _unnamed(self) -> Iterator[Check]:
        """Yield a warning if a Thrift2 gateway that the URL does not name is at its usual port."""
        address = HostPort(self._addresses[0].host, _USUAL_THRIFT2)
        if address in self._addresses:
            return
        try:
            check_gateway(Connector(address, 2, self._http), self._name, self._deadline.within(_UNSEEN_SECONDS))
        except StoreError:
            return
        text = "the URL names no Thrift2 gateway, and one answers there: without it a scan takes a call for each range"
        yield warned(f"gateway {address}", text, f"add ?thrift2={_USUAL_THRIFT2} to the URL")
