"""Connections to hosts within a deadline, and how TLS proves who they are."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable.store.deadline import Deadline

CONNECT_SECONDS: Final = 5.0
"""How long a server may take to accept a connection, and to prove who it is."""
KEY_PASSWORD: Final = "WEBTABLE_HBASE_KEY_PASSWORD"  # noqa: S105 - the name of the variable
"""The variable of the environment with the password of an encrypted private key."""


def connected(
    host: str, port: int, deadline: Deadline, on_made: Callable[[socket.socket], object] | None = None
) -> socket.socket:
    """Return a connection to the first address of *host* that accepts it; raises `OSError`.

    *on_made* gets each socket before it is connected, so that a child forked in the meantime can close it.
    """
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in addresses(host, port, deadline):
        made = socket.socket(family, kind, protocol)
        if on_made is not None:
            on_made(made)
        try:
            if not (left := deadline.left()):
                raise TimeoutError("timed out")
            made.settimeout(left)
            made.connect(address)
        except OSError as exc:
            made.close()
            failure = exc
        except BaseException:
            made.close()
            raise
        else:
            return made
    raise failure


def addresses(host: str, port: int, deadline: Deadline) -> list[Any]:
    """Return what `socket.getaddrinfo` does, within *deadline*: a resolver may take arbitrarily long."""
    with suppress(socket.gaierror):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    answer: Future[list[Any]] = Future()

    def resolve() -> None:
        try:
            answer.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except BaseException as exc:  # noqa: BLE001 - it is raised by the caller
            answer.set_exception(exc)

    try:
        threading.Thread(target=resolve, daemon=True).start()
    except RuntimeError:  # the interpreter shuts down
        resolve()
    try:
        return answer.result(deadline.left())
    except TimeoutError as exc:
        raise TimeoutError(f"the name {host!r} was not resolved in time") from exc


def client_context(ca: str | None = None, cert: str | None = None, key: str | None = None) -> ssl.SSLContext:
    """Return the context of connections with TLS 1.2 and later, which verifies the host by its certificate.

    Certificates are verified by the authorities in the file *ca* (PEM), without it by those of the system. *cert* is
    sent to a server that requests a certificate, with its private *key* if that is in a separate file. Raises
    `InvalidArgument` that names a file which cannot be used. Verification cannot be switched off.
    """
    if key is not None and cert is None:
        raise InvalidArgument(f"store: key={key!r} needs cert, the certificate to which it belongs")
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as exc:  # ssl.SSLError is one
        raise InvalidArgument(f"store: ca={ca!r}: {_reason(exc)}") from exc
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if cert is not None:
        try:
            context.load_cert_chain(cert, key, password=_key_password)
        except OSError as exc:
            raise InvalidArgument(f"store: cert={cert!r}, key={key!r}: {_reason(exc)}") from exc
    return context


def _key_password() -> str:
    """Return the password; without it OpenSSL would prompt in the terminal."""
    password = os.environ.get(KEY_PASSWORD)
    if password is None:
        raise InvalidArgument(f"the private key is encrypted: {KEY_PASSWORD} must have its password")
    return password


def _reason(exc: OSError) -> str:
    if isinstance(exc, ssl.SSLError):
        return f"not usable PEM ({exc.reason or 'not readable'})"
    return exc.strerror or str(exc)
