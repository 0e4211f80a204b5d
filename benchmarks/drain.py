"""The floor of a scan over Thrift2: what a client asked of the gateway is asked again, and the replies are dropped."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 2**20

Address = tuple[str, int]


@dataclass(slots=True)
class Exchange:
    """A request, and how many bytes the reply to it had."""

    request: bytes
    reply: int = 0


class Relay:
    """Stands in front of the gateway at *target*, at `port`; `exchanges` has what went through since it was emptied."""

    def __init__(self, target: Address) -> None:
        self._target = target
        self._listener = socket.create_server((target[0], 0))
        self.port: int = self._listener.getsockname()[1]
        self.exchanges: list[Exchange] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        last = Exchange(b"", 1)
        with client, socket.create_connection(self._target) as gateway, suppress(OSError):
            while True:
                for ready in select.select([client, gateway], [], [])[0]:
                    data = ready.recv(PIECE)
                    if not data:
                        return
                    if ready is gateway:
                        last.reply += len(data)
                        client.sendall(data)
                        continue
                    if last.reply:
                        last = Exchange(b"")
                        self.exchanges.append(last)
                    last.request += data
                    gateway.sendall(data)


@contextmanager
def relay(target: Address) -> Iterator[Relay]:
    """Lend a relay in front of *target*."""
    made = Relay(target)
    try:
        yield made
    finally:
        made.close()


def drain(gateway: socket.socket, exchanges: list[Exchange]) -> None:
    """Ask over this connection what was asked before, one after another, and take as many bytes as came then."""
    buffer = bytearray(PIECE)
    for exchange in exchanges:
        gateway.sendall(exchange.request)
        left = exchange.reply
        while left:
            taken = gateway.recv_into(buffer, min(left, PIECE))
            assert taken, "the gateway closed the connection"
            left -= taken
