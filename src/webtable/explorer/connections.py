"""The connections of the explorer's server: how many there may be, and when one ends that its client leaves open.

uvicorn ends idle connections (`timeout_keep_alive`), and calls `callback_notify` now and then: what it lacks are ends
for a request's head that does not come and for an answer that nobody reads, and a limit that still lets new clients in.
Hypercorn has no limit either and waits for readers without end (`drain` in its tcp_server); granian starts processes of
its own, which a notebook could not do.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from contextlib import suppress
from http import HTTPStatus
from math import inf
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from webtable._clock import clock
from webtable.explorer.http import SECURITY_HEADERS

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp


# Seconds until a connection ends on which a request's head does not become complete, on which no further request comes,
# and of whose answer nothing is read.
HEAD_SECONDS: Final = 10
IDLE_SECONDS: Final = 30
UNREAD_SECONDS: Final = 60
# How many connections there are at most.
MOST_CONNECTIONS: Final = 256
# Seconds between two messages that no file can be opened for a new connection.
_BETWEEN_MESSAGES: Final = 60
# How many connections are accepted at once, before those that are too many end: each of them is an open file.
_BACKLOG: Final = 64
# Seconds that open responses have to end, once the server is stopped.
_GRACE: Final = 1
# What uvicorn says of requests that anybody can send as often as he likes, and of its own end.
_UNTOLD: Final = ("Invalid HTTP request", "Unsupported upgrade request", "No supported WebSocket", "graceful shutdown")


class Connection(H11Protocol):
    """A connection that ends where its client does not send, or does not read, for too long."""

    def __init__(self, *args: Any, limit: int, **options: Any) -> None:
        super().__init__(*args, **options)
        self._limit = limit
        self.waits_since: float = inf
        """Since when it has waited for the head of a request; infinity while a request is answered."""
        self._has_begun = True
        self._unsent, self._read_at = 0, 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request; if there are too many connections, in the place of that which has waited longest."""
        super().connection_made(transport)
        self.waits_since = self._read_at = clock.monotonic()
        if len(self.connections) <= self._limit:
            return
        others = (other for other in self.connections if isinstance(other, Connection) and other is not self)
        longest = min(others, key=lambda other: other.waits_since)
        if longest.waits_since == inf:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, f"{self._limit} connections are open; try again later")
            longest = self
        else:
            longest.transport.abort()
        # asyncio tells of its end later, and more connections may come before.
        self.connections.discard(longest)

    def data_received(self, data: bytes) -> None:
        """Read a request, or a part of one."""
        super().data_received(data)
        if self._is_answering():
            self.waits_since = inf
        elif not self._has_begun:
            self.waits_since, self._has_begun = clock.monotonic(), True

    def on_response_complete(self) -> None:
        """Wait for the next request; uvicorn ends the connection if none begins."""
        self.waits_since, self._has_begun = clock.monotonic(), False
        super().on_response_complete()
        if self._is_answering():  # a request that came before the answer to this one
            self.waits_since = inf

    def resume_writing(self) -> None:
        """Go on writing, as something was read."""
        self._read_at = clock.monotonic()
        super().resume_writing()

    def end_if_late(self) -> None:
        """End the connection if its client is too late."""
        now, unsent = clock.monotonic(), self.transport.get_write_buffer_size()
        if unsent < self._unsent or not unsent:
            self._read_at = now
        self._unsent = unsent
        is_head_late = self._has_begun and now - self.waits_since > HEAD_SECONDS
        if is_head_late or now - self._read_at > UNREAD_SECONDS:
            self.transport.abort()  # `close` would wait until all is read

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request of HTTP; uvicorn's own answer has no headers of security."""
        if self._is_answering():
            self.transport.abort()
        else:
            self._refuse(HTTPStatus.BAD_REQUEST, msg)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        body = f"{status.value}: {text}\n"
        headers = {**SECURITY_HEADERS, "content-type": "text/plain", "content-length": str(len(body))}
        lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
        self.transport.write("\r\n".join([*lines, "connection: close", "", body]).encode())
        self.transport.close()


class ExplorerServer(uvicorn.Server):
    """The server of *app*, with at most *limit* connections, and no more than half of the files of this process."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._log_again_at = -inf
        with suppress(ImportError):  # Windows has no such limit
            import resource

            files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            limit = limit if files == resource.RLIM_INFINITY else min(limit, files // 2)

        def connection(*args: Any, **options: Any) -> Connection:
            return Connection(*args, limit=limit, **options)

        config = uvicorn.Config(
            app,
            http=connection,  # type: ignore[arg-type] # it is called, as a class would be
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            backlog=_BACKLOG,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=_GRACE,
            callback_notify=self.end_late,
            timeout_notify=1,
        )
        super().__init__(config)
        logging.getLogger("uvicorn.error").addFilter(_is_trouble)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen; where asyncio finds no file for a connection, it tells so many times a second."""
        asyncio.get_running_loop().set_exception_handler(self.log_trouble)
        await super().startup(sockets)

    async def end_late(self) -> None:
        """End the connections whose clients are too late."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection):
                connection.end_if_late()

    def log_trouble(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what went wrong in the event loop; that files have run out, once a minute."""
        exc = context.get("exception")
        if not isinstance(exc, OSError) or exc.errno not in {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}:
            loop.default_exception_handler(context)
        elif clock.monotonic() >= self._log_again_at:
            self._log_again_at = clock.monotonic() + _BETWEEN_MESSAGES
            text = "no file for a new connection: %s. Raise the limit (ulimit -n), or lower --connections"
            logging.getLogger("uvicorn.error").error(text, exc.strerror)


def _is_trouble(record: logging.LogRecord) -> bool:
    is_end = record.exc_info and record.exc_info[0] is asyncio.CancelledError
    return not is_end and not any(text in str(record.msg) for text in _UNTOLD)
