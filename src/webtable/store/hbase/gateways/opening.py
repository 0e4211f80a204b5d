"""Opening of gateways: what answers at an address is identified, and each gateway gets its pool."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from thriftpy2.thrift import TApplicationException

from webtable._clock import clock
from webtable.errors import NotAStore, StoreUnavailable
from webtable.store.hbase.failures import WrongReply
from webtable.store.hbase.gateways.gateway import OneGateway
from webtable.store.hbase.gateways.gateways import Gateways
from webtable.store.hbase.thrift.connection import Connector, Protocol, Transport, thrift1, thrift2
from webtable.store.hbase.thrift.failures import DRIVER_ERRORS, is_declined, translated
from webtable.store.hbase.thrift.gateway_socket import GatewaySocket
from webtable.store.hbase.thrift.pool import Pool
from webtable.store.hbase.thrift.transport import ConnectionMode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.gateways.gateway import Gateway
    from webtable.store.hbase.thrift.connection import Connection
    from webtable.store.hbase.workers import Workers
    from webtable.store.url import HostPort

_LOOK_SECONDS: Final = 5.0
"""The time, in seconds, in which each of several gateways must answer at opening, which goes on without it."""

_HTTP_SECONDS: Final = 25.0
"""The longest idle time of a connection in HTTP mode; the gateway closes it after 30 s."""


class Opening:
    """Opens the services of the store *name*; `pools` has those of all gateways opened so far."""

    def __init__(
        self,
        name: str,
        transport: Transport,
        protocol: Protocol,
        pool_size: int,
        max_age: float,
        workers: Workers,
        deadline: Deadline,
        mode: ConnectionMode,
    ) -> None:
        self.pools: list[Pool] = []
        self._name = name
        self._transport: Transport = transport
        self._protocol: Protocol = protocol
        self._pool_size = pool_size
        self._max_age = min(max_age, _HTTP_SECONDS) if mode.http else max_age
        self._workers = workers
        self._deadline = deadline
        self._mode = mode

    def gateway(self, number: int, addresses: Sequence[HostPort]) -> Gateway:
        """Return the Thrift*number* service of HBase behind *addresses*.

        Raises `NotAStore` if something else answers, `StoreUnavailable` if nothing does.
        """
        name = self._name if number == 1 else f"{self._name} (Thrift2 at {','.join(map(str, addresses))})"
        if len(addresses) > 1:
            return self._several(name, number, addresses)
        connector = self._connector(number, addresses[0])
        check_gateway(connector, self._name, number, self._deadline)
        return OneGateway(name, number, self._pool(connector, name))

    def _several(self, name: str, number: int, addresses: Sequence[HostPort]) -> Gateways:
        """Return gateways of which at least one answers; the others may start later."""
        began = clock.monotonic()

        def found(address: HostPort) -> StoreUnavailable | None:
            deadline = self._deadline.within(_LOOK_SECONDS)
            try:
                check_gateway(self._connector(number, address), self._name_of(number, address), number, deadline)
            except StoreUnavailable as error:
                return error
            return None

        gateways = Gateways(
            name, number, {address: self._one_of(number, address, len(addresses)) for address in addresses}
        )
        looks = zip(gateways.members, self._workers.map(found, addresses), strict=True)
        errors = {member: error for member, error in looks if error is not None}
        if len(errors) == len(addresses):
            raise gateways.unavailable(None, errors) from next(iter(errors.values()))
        for member, error in errors.items():
            member.gateway.went_down(error, None, clock.monotonic() - began)
            gateways.failed(member)
        return gateways

    def _one_of(self, number: int, address: HostPort, count: int) -> OneGateway:
        name = self._name_of(number, address)
        served = ServedConnector(self._connector(number, address), number, 1 / (count + 1))
        return OneGateway(name, number, self._pool(served, name))

    def _name_of(self, number: int, address: HostPort) -> str:
        return f"{self._name} (Thrift{number} at {address})"

    def _connector(self, number: int, address: HostPort) -> Connector:
        service = thrift1.Hbase if number == 1 else thrift2.THBaseService
        return Connector(*address, transport=self._transport, protocol=self._protocol, service=service, mode=self._mode)

    def _pool(self, connector: Callable[[Deadline], Connection], name: str) -> Pool:
        self.pools.append(Pool(connector, size=self._pool_size, max_age=self._max_age, name=name))
        return self.pools[-1]


_SECONDS: Final = 5.0
_FIRST_SHARE: Final = 1 / 2
"""The share of the time for the expected gateway; the rest is for identifying what is there instead."""
_ELSEWHERE_SECONDS: Final = 1.5
_WAYS: Final[tuple[tuple[Transport, Protocol], ...]] = (
    ("buffered", "binary"),
    ("framed", "binary"),
    ("buffered", "compact"),
    ("framed", "compact"),
)

_OTHERS: Final = {
    b"HTTP/": "an HTTP server; if it is a gateway in HTTP mode, use hbase+http://",
    b"\x15\x03": "a server that speaks TLS; use hbases:// or hbase+https://",
}
"""Descriptions of servers by the first bytes of their answer (those of TLS are an alert)."""


class ServedConnector:
    """Connects to a gateway that serves the connection, within a *share* of the time.

    A gateway without a free thread looks like one with a slow answer, except in the first call of a connection, if that
    is a cheap one. So a cheap call is made before the caller's own.
    """

    def __init__(self, connector: Connector, wanted: int, share: float) -> None:
        self._connector = connector
        self._wanted = wanted
        self._share = share

    def __call__(self, deadline: Deadline) -> Connection:
        """Return a new connection that has been answered."""
        soon = deadline.within(min(deadline.left() * self._share, _SECONDS))
        connection = self._connector(soon)
        try:
            found = connection.service(soon)
            if found not in (None, self._wanted):
                raise WrongReply(f"a Thrift{found} gateway answers where Thrift{self._wanted} is expected")
        except BaseException:
            connection.close()
            raise
        return connection


def check_gateway(connector: Connector, name: str, wanted: int, deadline: Deadline) -> None:
    """Return when the Thrift*wanted* service of HBase answers there.

    Raises `NotAStore` that says what is there instead and how to reach it, and `StoreUnavailable` if nothing answers,
    or something that cannot be identified; each before *deadline*.
    """
    address = f"{connector.host}:{connector.port}"
    try:
        found = _service(connector, deadline.within(min(deadline.left() * _FIRST_SHARE, _SECONDS)))
    except ConnectionRefusedError as exc:
        raise StoreUnavailable(f"{name}: nothing listens at {address}; is the Thrift{wanted} gateway up?") from exc
    except DRIVER_ERRORS as exc:
        if is_declined(exc):
            raise translated(exc, f"{name}: {address}", None, "looking at it") from exc
        if connector.mode == ConnectionMode.PLAIN:
            _explain(connector, name, deadline)
        raise StoreUnavailable(f"{name}: no answer from a Thrift{wanted} gateway at {address}: {exc}") from exc
    if found != wanted:
        scheme = connector.mode.scheme
        option = (
            f"it can be given as ?thrift2={connector.port}, beside the port of a Thrift1 gateway"
            if found == 2
            else f"the port itself is for Thrift1: {scheme}://{address}, and ?thrift2= for a Thrift2 gateway"
        )
        raise NotAStore(
            f"{name}: a Thrift{found} gateway answers at {address} where Thrift{wanted} is expected; {option}"
        )


def _service(connector: Connector, deadline: Deadline) -> int:
    """Return 1 or 2 for the service that answers; before HBase 2.x a method that only Thrift1 has shows it."""
    connection = replace(connector, service=thrift2.THBaseService)(deadline)
    try:
        if (found := connection.service(deadline)) is not None:
            return found
        try:
            connection.call("getTableNames", deadline=deadline)
        except TApplicationException as exc:
            if exc.type != TApplicationException.UNKNOWN_METHOD:
                raise
            return 2
        except thrift2.TIOError:
            return 1
        return 1
    finally:
        connection.close()


def _explain(connector: Connector, name: str, deadline: Deadline) -> None:
    """Raise `NotAStore` if the other end can be identified."""
    address = f"{connector.host}:{connector.port}"
    for transport, protocol in _WAYS:
        if (transport, protocol) == (connector.transport, connector.protocol):
            continue
        other = replace(connector, transport=transport, protocol=protocol, service=None)
        try:
            found = _service(other, deadline.within(min(deadline.left() / 2, _ELSEWHERE_SECONDS)))
        except DRIVER_ERRORS:
            continue
        options = [f"transport={transport}"] * (transport != connector.transport)
        options += [f"protocol={protocol}"] * (protocol != connector.protocol)
        raise NotAStore(
            f"{name}: the Thrift{found} gateway at {address} speaks the {transport} transport and the "
            f"{protocol} protocol; the URL needs ?{'&'.join(options)}"
        )
    greeting = _greeting(connector, deadline.within(_ELSEWHERE_SECONDS))
    if greeting:
        kind = next((kind for start, kind in _OTHERS.items() if greeting.startswith(start)), "no Thrift gateway")
        raise NotAStore(
            f"{name}: {address} is {kind} (it answers {greeting[:40]!r}); hbase:// needs the port of "
            "HBase's Thrift gateway, 9090 unless configured otherwise"
        )


def _greeting(connector: Connector, deadline: Deadline) -> bytes:
    """Return the first bytes of the answer to an HTTP request, or of a server that speaks first."""
    sock = GatewaySocket(connector.host, connector.port)
    sock.deadline = deadline
    try:
        sock.open()
        sock.write(b"GET / HTTP/1.0\r\n\r\n")
        return sock.read(100)
    except OSError:
        return b""
    finally:
        sock.close()
