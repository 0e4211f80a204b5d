"""The server of the explorer: uvicorn on one port, until it is stopped, or in a thread of a notebook."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import socket
import threading
from functools import partial
from typing import TYPE_CHECKING, Final

import uvicorn

from webtable._messages import Argument
from webtable.errors import InvalidArgument
from webtable.explorer.application import create_app
from webtable.explorer.http import LOCAL, Access, new_token
from webtable.maintenance import RunningExplorer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.types import ASGIApp

    from webtable import WebTable


_ALL_ADDRESSES: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - to recognize them
# Seconds that open responses have to end, once the server is stopped.
_GRACE: Final = 1


def server_of(
    make: Callable[[Access], ASGIApp], sock: socket.socket, host: str, token: str | None, names: Sequence[str]
) -> tuple[uvicorn.Server, str]:
    """Return the server of the application that *make* makes, and the address to open."""
    shown = "127.0.0.1" if host in _ALL_ADDRESSES else f"[{host}]" if ":" in host else host
    access = Access(token or new_token(), tuple(name.lower() for name in (*LOCAL, shown, *names)))
    config = uvicorn.Config(
        make(access), lifespan="off", log_level="warning", access_log=False, timeout_graceful_shutdown=_GRACE
    )
    # It knows of no end but one without open responses.
    logging.getLogger("uvicorn.error").addFilter(_is_trouble)
    return uvicorn.Server(config), f"http://{shown}:{sock.getsockname()[1]}/?token={access.token}"


def _is_trouble(record: logging.LogRecord) -> bool:
    is_end = "graceful shutdown" in record.msg or (record.exc_info and record.exc_info[0] is asyncio.CancelledError)
    return not is_end


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens on *host* and *port*."""
    if not 0 <= port <= 65_535:
        raise InvalidArgument(f"port={port} must be from 0 to 65535")
    try:
        sock = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        # Its connections have this, too: without it the first piece of a page waits for the browser to acknowledge the
        # headers, 40 ms. asyncio sets it for sockets alone that were made for TCP by name.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
