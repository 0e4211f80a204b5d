"""The server: uvicorn on one socket, with the address that has the token."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from typing import TYPE_CHECKING, Final

import uvicorn

from webtable.errors import InvalidArgument
from webtable.explorer.http.access import LOCAL, Access, new_token

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.types import ASGIApp

_ALL_ADDRESSES: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - to recognize them
_GRACE: Final = 1
"""Seconds that open responses have to end, once the server is stopped."""


def server_of(
    make: Callable[[Access], ASGIApp], sock: socket.socket, host: str, token: str | None, names: Sequence[str]
) -> tuple[uvicorn.Server, str]:
    """Return the server of the application that *make* makes, and the address to open."""
    shown = "127.0.0.1" if host in _ALL_ADDRESSES else f"[{host}]" if ":" in host else host
    access = Access(token or new_token(), tuple(name.lower() for name in (*LOCAL, shown, *names)))
    config = uvicorn.Config(
        make(access),
        lifespan="off",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_GRACE,
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
        text = f"port={port} of {host}: {os.strerror(exc.errno or 0)}; give another one, or port=0 for any that is free"
        raise InvalidArgument(text) from exc
    return sock
