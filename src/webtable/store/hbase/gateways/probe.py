"""What answers at a host and port: the gateway that is looked for, another one, or something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from thriftpy2.thrift import TApplicationException

from webtable.errors import NotAStore, StoreUnavailable
from webtable.store.hbase.failures import DRIVER_ERRORS, is_declined, translated
from webtable.store.hbase.thrift.connection import Connector, Protocol, Transport, thrift2
from webtable.store.hbase.thrift.stream import GatewaySocket, WrongReply
from webtable.store.hbase.thrift.transport import Way

if TYPE_CHECKING:
    from webtable.store.deadline import Deadline
    from webtable.store.hbase.thrift.connection import Connection

_SECONDS: Final = 5.0
_FIRST_SHARE: Final = 1 / 2
"""The share of the time for the gateway that is looked for; the rest is for finding out what is there instead."""
_ELSEWHERE_SECONDS: Final = 1.5
_WAYS: Final[tuple[tuple[Transport, Protocol], ...]] = (
    ("buffered", "binary"),
    ("framed", "binary"),
    ("buffered", "compact"),
    ("framed", "compact"),
)

_OTHERS: Final = {
    b"HTTP/": "an HTTP server, which hbase+http:// is for where it is a gateway in HTTP mode",
    b"\x15\x03": "a server that speaks TLS, which hbases:// and hbase+https:// are for",
}
"""What answers, by what its first bytes are (those of TLS are an alert)."""


class ServedConnector:
    """Connects to a gateway that serves the connection, within a *share* of the time.

    A gateway out of threads looks like one with a slow answer, but for the first call of a connection where that is
    one which takes it no time. So it is made before the caller's own.
    """

    def __init__(self, connector: Connector, wanted: int, share: float) -> None:
        self._connector = connector
        self._wanted = wanted
        self._share = share

    def __call__(self, deadline: Deadline) -> Connection:
        """Return a new connection that was answered on."""
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

    Raises `NotAStore` that says what is there instead and how to reach it, and `StoreUnavailable` where nothing
    answers, or something that shows no sign of what it is; each before *deadline*.
    """
    address = f"{connector.host}:{connector.port}"
    try:
        found = _service(connector, deadline.within(min(deadline.left() * _FIRST_SHARE, _SECONDS)))
    except ConnectionRefusedError as exc:
        raise StoreUnavailable(f"{name}: nothing listens at {address}; is the Thrift{wanted} gateway up?") from exc
    except DRIVER_ERRORS as exc:
        if is_declined(exc):
            raise translated(exc, f"{name}: {address}", None, "looking at it") from exc
        if connector.way == Way.CLEAR:
            _explain(connector, name, deadline)
        raise StoreUnavailable(f"{name}: no answer from a Thrift{wanted} gateway at {address}: {exc}") from exc
    if found != wanted:
        scheme = connector.way.scheme
        option = (
            f"it can be given as ?thrift2={connector.port}, beside the port of a Thrift1 gateway"
            if found == 2
            else f"the port itself is for Thrift1: {scheme}://{address}, and ?thrift2= for a Thrift2 gateway"
        )
        raise NotAStore(
            f"{name}: a Thrift{found} gateway answers at {address} where Thrift{wanted} is expected; {option}"
        )


def _service(connector: Connector, deadline: Deadline) -> int:
    """Return 1 or 2 for the service that answers; gateways before HBase 2.x are told by a method of Thrift1 alone."""
    probe = Connector(
        connector.host,
        connector.port,
        transport=connector.transport,
        protocol=connector.protocol,
        service=thrift2.THBaseService,
        way=connector.way,
    )
    connection = probe(deadline)
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
    """Raise `NotAStore` where the other end can be made to show what it is."""
    address = f"{connector.host}:{connector.port}"
    for transport, protocol in _WAYS:
        if (transport, protocol) == (connector.transport, connector.protocol):
            continue
        other = Connector(connector.host, connector.port, transport=transport, protocol=protocol, service=None)
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
    """Return the first bytes that the other end sends to an HTTP request; servers that speak first send theirs."""
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
