"""What answers at the addresses of a store URL is identified before it is used."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from thriftpy2.thrift import TApplicationException

from webtable.errors import NotAStore, StoreUnavailable
from webtable.store.hbase.thrift.connection import GatewaySocket, Protocol, Transport, thrift2
from webtable.store.hbase.thrift.failures import DRIVER_ERRORS, is_declined, translated
from webtable.store.hbase.thrift.gateway import Connector, none_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store.deadline import Deadline

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
    b"\x15\x03": "a server that speaks TLS; if it is a gateway in HTTP mode, use hbase+https://",
}
"""Descriptions of servers by the first bytes of their answer (those of TLS are an alert)."""


def check_gateways(connectors: Sequence[Connector], name: str, wanted: int, deadline: Deadline) -> None:
    """Return when the Thrift*wanted* service of HBase answers at one of *connectors*, which are tried in turn.

    Raises `NotAStore` if something else answers there, `StoreUnavailable` if nothing does.
    """
    errors: list[tuple[Connector, Exception]] = []
    for connector in connectors:
        soon = deadline if len(connectors) == 1 else deadline.within(_SECONDS)
        try:
            check_gateway(connector, name, wanted, soon)
        except StoreUnavailable as error:
            errors.append((connector, error))
        else:
            return
    *_, (_, last) = errors
    if len(errors) == 1:
        raise last
    raise StoreUnavailable(f"{name}: {none_of(errors)}") from last


def check_gateway(connector: Connector, name: str, wanted: int, deadline: Deadline) -> None:
    """Return when the Thrift*wanted* service of HBase answers there.

    Raises `NotAStore` that says what is there instead and how to reach it, and `StoreUnavailable` if nothing answers,
    or something that cannot be identified; each before *deadline*.
    """
    address = connector.address
    try:
        found = _service(connector, deadline.within(min(deadline.left() * _FIRST_SHARE, _SECONDS)))
    except ConnectionRefusedError as exc:
        raise StoreUnavailable(f"{name}: nothing listens at {address}; is the Thrift{wanted} gateway up?") from exc
    except DRIVER_ERRORS as exc:
        if is_declined(exc):
            raise translated(exc, f"{name}: {address}", None, "looking at it") from exc
        if connector.http is None:
            _explain(connector, name, deadline)
        raise StoreUnavailable(f"{name}: no answer from a Thrift{wanted} gateway at {address}: {exc}") from exc
    if found != wanted:
        scheme = connector.scheme
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
    address = connector.address
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
