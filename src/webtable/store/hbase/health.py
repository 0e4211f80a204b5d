"""Health checks of HBase: the gateways of a store URL, and the clock as far as it can be read."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable.errors import NotAStore, StoreError, StoreUnavailable
from webtable.store.deadline import of_call
from webtable.store.hbase.address import address_of, store_name
from webtable.store.hbase.base import HBaseBase, clock_check
from webtable.store.hbase.gateways.opening import check_gateway
from webtable.store.hbase.thrift.connection import Connector, thrift1, thrift2
from webtable.store.hbase.thrift.failures import DRIVER_ERRORS
from webtable.store.health import Check, failed, warned, well
from webtable.store.url import HostPort

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from webtable.store.hbase.address import Settings
    from webtable.store.hbase.gateways.gateway import Gateway
    from webtable.store.metrics import ServerMetrics
    from webtable.store.url import StoreURL


class HBaseHealth(HBaseBase):
    """Base class of the HBase store with the checks of its health and of its gateways."""

    _gateways: list[Gateway]

    @classmethod
    def connection_checks(cls, url: StoreURL) -> Iterator[Check]:
        """Yield the checks of each gateway that *url* names."""
        yield from GatewayChecks(url).checks()

    def health(self, table: str) -> Iterator[Check]:
        """Yield the check of HBase's clock."""
        yield clock_check(self, table)

    def events(self) -> Counter[str]:
        """Return how often each event has occurred, including those of the gateways."""
        return sum((one.all_events() for one in self._gateways), super().events())

    def servers(self) -> list[ServerMetrics]:
        """Return the state of each gateway, those of Thrift1 first."""
        return [state for one in self._gateways for state in one.state()]


_PING_SECONDS: Final = 1.0
_USUAL_THRIFT2: Final = 9091
_UNSEEN_SECONDS: Final = 1.0
"""The time, in seconds, to look for a Thrift2 gateway that the URL does not name."""


class GatewayChecks:
    """Checks of the gateways that *url* names, each separately, before *deadline*."""

    def __init__(self, url: StoreURL) -> None:
        address = address_of(url)
        self._settings: Settings = address.settings()
        self._deadline = of_call(self._settings["timeout"])
        self._addresses = address.gateways
        self._name = store_name(address.gateways, self._settings["mode"].scheme)

    def checks(self) -> Iterator[Check]:
        """Yield the check of each address; a service without an answering gateway has failed."""
        port = self._settings["thrift2"]
        yield from self._service(1, self._addresses)
        if port is not None:
            yield from self._service(2, list(dict.fromkeys(HostPort(one.host, port) for one in self._addresses)))
        else:
            yield from self._unnamed()

    def _service(self, number: int, addresses: Sequence[HostPort]) -> Iterator[Check]:
        looks = [self._gateway(number, address) for address in addresses]
        is_there = any(look.is_ok for look, _ in looks)
        for look, address in looks:
            if look.is_ok:
                yield look
                yield self._connections(number, address)
            elif is_there:
                yield warned(look.check, look.found, f"{look.remedy}; until then the others are used")
            else:
                yield look

    def _gateway(self, number: int, address: HostPort) -> tuple[Check, HostPort]:
        name, connector = f"gateway {address}", self._connector(number, address)
        began = clock.monotonic()
        try:
            check_gateway(connector, self._name, number, self._deadline)
        except (NotAStore, StoreUnavailable) as exc:
            found, _, remedy = str(exc).removeprefix(f"{self._name}: ").partition("; ")
            return failed(name, found, remedy if isinstance(exc, NotAStore) else _start(number, address)), address
        took = (clock.monotonic() - began) * 1000
        mode = f"{connector.transport} transport, {connector.protocol} protocol"
        if connector.mode.scheme != "hbase":
            mode += f" ({connector.mode.scheme})"
        return well(name, f"Thrift{number}, {mode}, answers in {took:.0f} ms"), address

    def _connections(self, number: int, address: HostPort) -> Check:
        """Return the check of how many of the connections of one process are served at the same time."""
        name, wanted = f"connections {address}", self._settings["pool_size"]
        connector, served, is_old = self._connector(number, address), 0, False
        with ExitStack() as opened:
            try:
                for served in range(wanted):  # noqa: B007, used after the loop
                    soon = self._deadline.within(_PING_SECONDS)
                    connection = opened.enter_context(closing(connector(soon)))
                    is_old = connection.service(soon) is None
                served = wanted
            except DRIVER_ERRORS as exc:
                found = f"{served} of {wanted} connections at once are answered within a second: {exc}"
                remedy = "raise hbase.thrift.maxWorkerThreads of the gateway, or lower ?pool= of its users"
                return warned(name, found, remedy)
        if is_old:
            return warned(name, f"{wanted} at once are answered, by HBase before 2.x", "webtable is tested with 2.6")
        return well(name, f"{wanted} at once are answered within a second, by HBase 2.x or later")

    def _unnamed(self) -> Iterator[Check]:
        """Yield a warning if a Thrift2 gateway that the URL does not name is at its usual port."""
        address = HostPort(self._addresses[0].host, _USUAL_THRIFT2)
        if address in self._addresses:
            return
        soon = self._deadline.within(_UNSEEN_SECONDS)
        try:
            check_gateway(self._connector(2, address), self._name, 2, soon)
        except StoreError:
            return
        found = "the URL names no Thrift2 gateway, and one answers there: without it a scan takes a call for each range"
        yield warned(f"gateway {address}", found, f"add ?thrift2={_USUAL_THRIFT2} to the URL")

    def _connector(self, number: int, address: HostPort) -> Connector:
        service = thrift1.Hbase if number == 1 else thrift2.THBaseService
        how = self._settings
        return Connector(
            *address, transport=how["transport"], protocol=how["protocol"], service=service, mode=how["mode"]
        )


def _start(number: int, address: HostPort) -> str:
    command = "thrift" if number == 1 else "thrift2"
    return f"start it (hbase {command} start -p {address.port}), or correct the host and the port in the URL"
