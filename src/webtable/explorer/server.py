"""The server of the explorer: uvicorn on one port, until it is stopped, or in a thread of a notebook."""

from __future__ import annotations

import atexit
import os
import socket
import threading
from typing import TYPE_CHECKING, Final

from webtable._messages import Argument
from webtable.errors import InvalidArgument
from webtable.explorer.application import create_app
from webtable.explorer.connections import MOST_CONNECTIONS, ExplorerServer
from webtable.explorer.http import LOCAL, Access, new_token
from webtable.maintenance import RunningExplorer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable import WebTable


_ALL_ADDRESSES: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - to recognize them
# Bytes that the system takes ahead of the reader of each connection. With more it would not tell for minutes that
# somebody reads slowly; with less a network with a long way would be slow.
_AHEAD: Final = 256 * 1024


def server_of(
    table: WebTable,
    sock: socket.socket,
    host: str,
    token: str | None = None,
    names: Sequence[str] = (),
    connections: int = MOST_CONNECTIONS,
    *,
    is_https: bool = False,
) -> tuple[ExplorerServer, str]:
    """Return the server of *table*, and the address to open, with the token if it is a new one."""
    shown = "127.0.0.1" if host in _ALL_ADDRESSES else f"[{host}]" if ":" in host else host
    access = Access(token or new_token(), tuple(name.lower() for name in (*LOCAL, shown, *names)), is_https)
    address = f"http://{shown}:{sock.getsockname()[1]}/"
    return ExplorerServer(create_app(table, access), connections), address + ("" if token else f"?token={access.token}")


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens on *host* and *port*."""
    if not 0 <= port <= 65_535:
        raise InvalidArgument(f"port={port} must be from 0 to 65535")
    try:
        sock = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        # Its connections have this, too: without it the first piece of a page waits for the browser to acknowledge the
        # headers, 40 ms. asyncio sets it for sockets alone that were made for TCP by name.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _AHEAD)
    except socket.gaierror as exc:
        raise InvalidArgument(f"host={host} is no address or name of this machine: {exc.strerror}") from exc
    except OSError as exc:
        text = f"port={port} of {host}: {os.strerror(exc.errno or 0)}; give another one, or "
        raise InvalidArgument(text, Argument("port", 0), " for any that is free") from exc
    return sock


def serve(
    table: WebTable,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    names: Sequence[str] = (),
    behind_https: bool = False,
    connections: int = MOST_CONNECTIONS,
    on_start: Callable[[str], object] = print,
) -> None:
    """Serve the explorer of *table* on *host* and *port* until SIGINT or SIGTERM; *names* are further names of it.

    *on_start* is called with the address to open, which has the token unless you have given one. Port 0 is any free
    one. With *behind_https*, what comes in counts as https, as it is behind a proxy that speaks it: the cookie is
    `Secure` then. There are at most so many *connections*, and never more than half of the files that the process may
    open. Raises `InvalidArgument` for a port that is in use or may not be used, and for fewer than one connection.
    """
    if connections < 1:
        raise InvalidArgument(f"connections={connections} must be 1 or more")
    with listening(host, port) as sock:
        server, address = server_of(table, sock, host, token, names, connections, is_https=behind_https)
        on_start(address)
        server.run(sockets=[sock])


def explore(table: WebTable, *, port: int = 0) -> RunningExplorer:
    """Serve the explorer of *table* in a thread, on any free port of this machine or on *port*, and return it.

    The browser must run on the same machine, or reach the port by a tunnel (`ssh -L`).
    """
    sock = listening("127.0.0.1", port)
    server, address = server_of(table, sock, "127.0.0.1")

    def run() -> None:
        with sock:
            server.run(sockets=[sock])

    def stop() -> None:
        atexit.unregister(stop)
        server.should_exit = True
        thread.join()

    thread = threading.Thread(target=run, name="webtable-explore", daemon=True)
    thread.start()
    atexit.register(stop)
    return RunningExplorer(address, stop)
