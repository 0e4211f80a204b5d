"""The server of the explorer: uvicorn on one port, until it is stopped, or in a thread of a notebook."""

from __future__ import annotations

import atexit
import threading
from functools import partial
from typing import TYPE_CHECKING

from webtable.explorer.application import create_app
from webtable.explorer.http.server import listening, server_of
from webtable.maintenance import RunningExplorer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable import WebTable


def serve(
    table: WebTable,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    names: Sequence[str] = (),
    on_start: Callable[[str], object] = print,
) -> None:
    """Serve the explorer of *table* on *host* and *port* until SIGINT or SIGTERM; *names* are further names of it.

    *on_start* is called with the address to open, which has the token. Port 0 is any free one. Raises
    `InvalidArgument` for a port that is in use, or that may not be used.
    """
    with listening(host, port) as sock:
        server, address = server_of(partial(create_app, table), sock, host, token, names)
        on_start(address)
        server.run(sockets=[sock])


def explore(table: WebTable, *, port: int = 0) -> RunningExplorer:
    """Serve the explorer of *table* in a thread, on any free port of this machine or on *port*, and return it.

    The browser must run on the same machine, or reach the port by a tunnel (`ssh -L`).
    """
    sock = listening("127.0.0.1", port)
    server, address = server_of(partial(create_app, table), sock, "127.0.0.1", None, ())

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
