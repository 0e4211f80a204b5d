"""The addresses of hosts, and connections to them, within a deadline."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webtable.store.deadline import Deadline


def connected(host: str, port: int, deadline: Deadline) -> socket.socket:
    """Return a connection to the first address of *host* that accepts it; raises `OSError`."""
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in addresses(host, port, deadline):
        made = socket.socket(family, kind, protocol)
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
