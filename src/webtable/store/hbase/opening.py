"""The gateways of a store as they are opened: looked at, and each with its pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.store.hbase.connection import Connector, thrift1, thrift2
from webtable.store.hbase.gateway import OneGateway
from webtable.store.hbase.pool import Pool
from webtable.store.hbase.probe import check_gateway

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.address import HostPort
    from webtable.store.hbase.connection import Protocol, Transport
    from webtable.store.hbase.gateway import Gateway


class Opening:
    """Opens the services of the store *name*; `pools` are those of all gateways that were opened so far."""

    def __init__(
        self, name: str, transport: Transport, protocol: Protocol, pool_size: int, max_age: float, deadline: Deadline
    ) -> None:
        self.pools: list[Pool] = []
        self._name = name
        self._transport: Transport = transport
        self._protocol: Protocol = protocol
        self._pool_size = pool_size
        self._max_age = max_age
        self._deadline = deadline

    def gateway(self, number: int, addresses: Sequence[HostPort]) -> Gateway:
        """Return the Thrift*number* service of HBase behind *addresses*.

        Raises `NotAStore` where something else answers, `StoreUnavailable` where nothing does.
        """
        [address] = addresses
        connector = self._connector(number, address)
        check_gateway(connector, self._name, number, self._deadline)
        name = service_name(self._name, number, addresses)
        return OneGateway(name, self._pool(connector, name))

    def _connector(self, number: int, address: HostPort) -> Connector:
        service = thrift1.Hbase if number == 1 else thrift2.THBaseService
        return Connector(*address, transport=self._transport, protocol=self._protocol, service=service)

    def _pool(self, connector: Connector, name: str) -> Pool:
        self.pools.append(Pool(connector, size=self._pool_size, max_age=self._max_age, name=name))
        return self.pools[-1]


def service_name(store: str, number: int, addresses: Sequence[HostPort]) -> str:
    """Return what errors call the Thrift*number* service of *store*."""
    return store if number == 1 else f"{store} (Thrift2 at {','.join(map(str, addresses))})"
