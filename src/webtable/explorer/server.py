"""The server of the explorer: uvicorn on one port, until it is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import uvicorn

from webtable.explorer.access import LOCAL, Access, new_token
from webtable.explorer.application import create_app

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

    *on_start* is called with the address to open, which has the token. Port 0 is any free one.
    """
    access = Access(token or new_token(), (*LOCAL, *names))
    config = uvicorn.Config(
        create_app(table, access),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    sock = config.bind_socket()
    with sock:
        shown = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104 - what a browser here can open
        on_start(f"http://{shown}:{sock.getsockname()[1]}/?token={access.token}")
        server.run(sockets=[sock])
