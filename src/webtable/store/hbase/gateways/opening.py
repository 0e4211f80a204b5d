"""The gateways of a store as they are opened: looked at, and each with its pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable.errors import StoreUnavailable
from webtable.store.hbase.gateways.gateway import OneGateway
from webtable.store.hbase.gateways.gateways import Gateways
from webtable.store.hbase.gateways.probe import ServedConnector, check_gateway
from webtable.store.hbase.thrift.connection import Connector, thrift1, thrift2
from webtable.store.hbase.thrift.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.address import HostPort
    from webtable.store.hbase.gateways.gateway import Gateway
    from webtable.store.hbase.thrift.connection import Connection, Protocol, Transport
    from webtable.store.hbase.thrift.transport import Way
    from webtable.store.hbase.workers import Workers

_LOOK_SECONDS: Final = 5.0
"""How long one of several gateways has to answer when the store is opened, which goes on without it."""

_HTTP_SECONDS: Final = 25.0
"""How long a connection to a gateway in HTTP mode may lie idle, which closes it after 30."""


class Opening:
    """Opens the services of the store *name*; `pools` are those of all gateways that were opened so far."""

    def __init__(
        self,
        name: str,
        transport: Transport,
        protocol: Protocol,
        pool_size: int,
        max_age: float,
        workers: Workers,
        deadline: Deadline,
        way: Way,
    ) -> None:
        self.pools: list[Pool] = []
        self._name = name
        self._transport: Transport = transport
        self._protocol: Protocol = protocol
        self._pool_size = pool_size
        self._max_age = min(max_age, _HTTP_SECONDS) if way.http else max_age
        self._workers = workers
        self._deadline = deadline
        self._way = way

    def gateway(self, number: int, addresses: Sequence[HostPort]) -> Gateway:
        """Return the Thrift*number* service of HBase behind *addresses*.

        Raises `NotAStore` where something else answers, `StoreUnavailable` where nothing does.
        """
        name = self._name if number == 1 else f"{self._name} (Thrift2 at {','.join(map(str, addresses))})"
        if len(addresses) > 1:
            return self._several(name, number, addresses)
        connector = self._connector(number, addresses[0])
        check_gateway(connector, self._name, number, self._deadline)
        return OneGateway(name, number, self._pool(connector, name))

    def _several(self, name: str, number: int, addresses: Sequence[HostPort]) -> Gateways:
        """Return gateways of which one at least is there; the others may come later."""
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
        return Connector(*address, transport=self._transport, protocol=self._protocol, service=service, way=self._way)

    def _pool(self, connector: Callable[[Deadline], Connection], name: str) -> Pool:
        self.pools.append(Pool(connector, size=self._pool_size, max_age=self._max_age, name=name))
        return self.pools[-1]
