"""Kerberos on a connection: who the client is, who the server is, and the protection of all that follows.

The mechanism is SASL's GSSAPI (RFC 4752). Before each token of the client there is its length, before each of
the server's a status too (HBaseSaslRpcClient of HBase).
"""

from __future__ import annotations

import struct
import threading
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from webtable.errors import InvalidArgument
from webtable.store.hbase.native.connection import Wire
from webtable.store.hbase.native.failures import ConnectionLost, ServerError
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.shared.sockets import CONNECT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.store.deadline import Deadline

PRINCIPAL: Final = "hbase/_HOST"
"""The principal of HBase's servers; `_HOST` is the host of each."""
_PREAMBLE: Final = b"HBas\x00\x51"
_INT = struct.Struct(">i")
_SWITCH_TO_SIMPLE: Final = -88
"""In place of a length: the server does not know Kerberos, and asks to go on without."""
_MOST_TOKEN: Final = 2**20
_MOST_WRAPPED: Final = 2**28 + 2**20
_PRIVACY: Final = 4
_LAYERS: Final = {_PRIVACY: b"\xff\xff\xff", 2: b"\xff\xff\xff", 1: bytes(3)}
"""`hbase.rpc.protection` (privacy, integrity, authentication), with the most taken at once, which HBase ignores."""


class Kerberos:
    """Proves by tickets who the client is to servers of the *principal* `service/_HOST@REALM`, and has them prove it.

    Tickets are those of the process, of `kinit` or a keytab in KRB5_CLIENT_KTNAME. Raises `InvalidArgument` if there
    is no package gssapi.
    """

    def __init__(self, principal: str = PRINCIPAL) -> None:
        self._principal = principal
        try:
            self._gssapi: Any = import_module("gssapi")
        except ImportError as exc:
            raise InvalidArgument("store: auth=kerberos needs the package gssapi (pip install gssapi)") from exc

    def log_in(self, wire: Wire, host: str, deadline: Deadline) -> Wire:
        """Return *wire* to *host* as the connection's header is to be sent on it, with the best protection offered.

        Waiting for the KDC is not bounded by *deadline*, but by the settings of Kerberos.
        """
        deadline, service = deadline.within(CONNECT_SECONDS), self._principal.replace("_HOST", host)
        with self._told(f"no Kerberos ticket for {service}"):
            context = self._context(service)
            token = context.step()
        wire.write(_PREAMBLE + _framed(token), deadline)
        with self._told(f"{host} has not proven to be {service}"):
            while not context.complete:
                token = context.step(_token(wire, deadline))
                wire.write(_framed(token or b""), deadline)
            offered = context.unwrap(_token(wire, deadline)).message
            layer = next((one for one in _LAYERS if len(offered) == 4 and one & offered[0]), None)
            if layer is None:
                raise WrongReply(f"{host} offers no protection that is known")
            wire.write(_framed(context.wrap(bytes([layer]) + _LAYERS[layer], False).message), deadline)
        return wire if layer == 1 else _ProtectedWire(wire, self, context, layer == _PRIVACY)

    def _context(self, service: str) -> Any:
        gssapi, flags = self._gssapi, self._gssapi.RequirementFlag
        if "@" in service:
            name = gssapi.Name(service, gssapi.NameType.kerberos_principal)
        else:  # the realm is that of the host
            name = gssapi.Name(service.replace("/", "@", 1), gssapi.NameType.hostbased_service)
        wanted = flags.mutual_authentication | flags.integrity | flags.confidentiality
        wanted |= flags.replay_detection | flags.out_of_sequence_detection
        return gssapi.SecurityContext(name=name, mech=gssapi.MechType.kerberos, flags=wanted, usage="initiate")

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except self._gssapi.exceptions.GSSError as exc:
            raise ConnectionLost(f"{what}: {exc}") from exc

    def unwrapped(self, context: Any, data: bytes, *, encrypted: bool) -> bytes:
        """Return what the server has protected; raises `ConnectionLost` if it is not protected as agreed."""
        with self._told("a message was changed on its way"):
            found = context.unwrap(data)
        if encrypted and not found.encrypted:
            raise ConnectionLost("the server has sent something that is not encrypted")
        return bytes(found.message)


class _ProtectedWire(Wire):
    """A wire on which everything is signed, and with *encrypted* encrypted too, in pieces with their length before."""

    def __init__(self, wire: Wire, kerberos: Kerberos, context: Any, encrypted: bool) -> None:
        self._wire, self._kerberos, self._context, self._encrypted = wire, kerberos, context, encrypted
        self._lock = threading.Lock()  # a context is for one thread at a time
        self._size: int | None = None
        self._pieces, self._received = [], 0

    @property
    def heard(self) -> float:
        """When something has come last."""
        return self._wire.heard

    def write(self, data: bytes, deadline: Deadline, more: bytes = b"") -> None:
        """Send all of *data* and *more*."""
        with self._lock:
            wrapped = [self._context.wrap(part, self._encrypted).message for part in (data, more) if part]
        self._wire.write(b"".join(map(_framed, wrapped)), deadline)

    def flush(self, deadline: Deadline) -> None:
        """Send what was written before a deadline and not sent."""
        self._wire.flush(deadline)

    def is_open(self) -> bool:
        """Whether the other end has not closed the connection, as far as is known here."""
        return self._wire.is_open()

    def shut(self) -> None:
        """End the connection."""
        self._wire.shut()

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def forget(self) -> None:
        """Close the descriptors of a forked child."""
        self._wire.forget()

    def _more(self, wanted: int, deadline: Deadline) -> bytes:  # noqa: ARG002 - as much as was wrapped at once
        if self._size is None:
            self._size = _length(self._wire, deadline, _MOST_WRAPPED)
        data = self._wire.read(self._size, deadline)
        self._size = None
        with self._lock:
            return self._kerberos.unwrapped(self._context, data, encrypted=self._encrypted)


def _framed(token: bytes) -> bytes:
    return _INT.pack(len(token)) + token


def _token(wire: Wire, deadline: Deadline) -> bytes:
    """Return the server's next token; raises `ServerError` if it refuses, or does not know Kerberos."""
    (status,) = _INT.unpack(wire.read(4, deadline))
    if status:
        kind, text = (_text(wire, deadline) for _ in range(2))
        raise ServerError(kind, f"the server does not accept the Kerberos ticket: {text}")
    return wire.read(_length(wire, deadline), deadline)


def _text(wire: Wire, deadline: Deadline) -> str:
    return wire.read(_length(wire, deadline), deadline).decode(errors="replace")


def _length(wire: Wire, deadline: Deadline, most: int = _MOST_TOKEN) -> int:
    (size,) = _INT.unpack(wire.read(4, deadline))
    if size == _SWITCH_TO_SIMPLE:
        raise ServerError("SaslException", "the server does not know Kerberos; leave auth=kerberos out for it")
    if not 0 <= size <= most:
        raise WrongReply(f"a token of Kerberos with {size:,} bytes")
    return int(size)
