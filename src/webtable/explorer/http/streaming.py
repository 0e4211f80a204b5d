"""Responses that are made in a thread and sent as they are made: a page begins before its questions are answered."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from starlette.responses import Response, StreamingResponse

from webtable.errors import StoreError, WebTableError
from webtable.store import CallCancelled, cancelled_by

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.responses import AsyncContentStream
    from starlette.types import Send


T = TypeVar("T")
MOST_AT_ONCE: Final = 32
"""How many responses are made at once; further ones wait for one of these."""
MOST_UNSENT: Final = 256 * 1024
"""Bytes of a response that are made ahead of its reader."""
PIECE: Final = 16 * 1024
FIRST_WAIT: Final = 0.002
WAIT: Final = 0.04
"""After how many seconds the first piece, and others, are sent even though they are small."""


class Outlet:
    """Where a thread writes the bytes of a response; `write` waits for a slow reader, or raises `CallCancelled`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.gone: Final = threading.Event()
        self._loop = loop
        self._changed = threading.Condition()
        self._ready = asyncio.Event()
        self._unsent = bytearray()
        self._is_over = False

    def write(self, data: bytes | str) -> int:
        """Write *data*, text as UTF-8."""
        encoded = data.encode("utf-8", "replace") if isinstance(data, str) else data
        with self._changed:
            while len(self._unsent) >= MOST_UNSENT and not self.gone.is_set():
                self._changed.wait()
            if self.gone.is_set():
                raise CallCancelled("the request was cancelled")
            self._unsent += encoded
        self._notify()
        return len(data)

    def flush(self) -> None:
        """Do nothing: what is written is sent soon."""

    def end(self) -> None:
        """Say that there is no more."""
        self._is_over = True
        self._notify()

    def close(self) -> None:
        """Say that nobody reads any more."""
        self.gone.set()
        with self._changed:
            self._changed.notify_all()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield what is written until its end."""
        wait = FIRST_WAIT
        while True:
            await self._ready.wait()
            if not self._is_over and len(self._unsent) < PIECE:
                await asyncio.sleep(wait)
            wait = WAIT
            self._ready.clear()
            is_over = self._is_over
            with self._changed:
                piece, self._unsent = bytes(self._unsent), bytearray()
                self._changed.notify_all()
            if piece:
                yield piece
            if is_over and not self._unsent:
                return

    def _notify(self) -> None:
        with suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self._ready.set)


class Streaming:
    """Makes responses in threads, at most `MOST_AT_ONCE` at a time."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(MOST_AT_ONCE)

    def response(
        self,
        make: Callable[[Outlet], None],
        media_type: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> StreamingResponse:
        """Return the response whose bytes *make* writes; it handles its own errors, except for `CallCancelled`."""
        return StreamingResponse(self.body(make), status, headers, media_type)

    async def body(self, make: Callable[[Outlet], None]) -> AsyncIterator[bytes]:
        """Yield the bytes that *make* writes."""
        await self._free.acquire()
        outlet = Outlet(asyncio.get_running_loop())
        making = self._started(partial(_made, make, outlet), outlet.gone)
        try:
            async for piece in outlet.pieces():
                yield piece
            await making
        finally:
            outlet.close()

    async def value(self, make: Callable[[], T]) -> T:
        """Return what *make* returns, in a thread, for a response that is small, or whose status depends on it."""
        await self._free.acquire()
        gone = threading.Event()
        try:
            return await self._started(make, gone)
        finally:
            gone.set()

    def _started(self, make: Callable[[], T], gone: threading.Event) -> asyncio.Future[T]:
        """Return what *make* will return, in a thread that the end of the process does not wait for.

        What it reads of a table ends once *gone* is set.
        """
        made: Future[T] = Future()
        loop = asyncio.get_running_loop()

        def run() -> None:
            try:
                with cancelled_by(gone):
                    made.set_result(make())
            except BaseException as exc:  # noqa: BLE001 - raised again by whoever awaits it
                made.set_exception(exc)
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(self._free.release)

        made.set_running_or_notify_cancel()  # so that it is not cancelled with what awaits it
        threading.Thread(target=run, name="webtable-explorer", daemon=True).start()
        return asyncio.wrap_future(made)


def _made(make: Callable[[Outlet], None], outlet: Outlet) -> None:
    try:
        make(outlet)
    except CallCancelled:
        pass
    finally:
        outlet.end()


# --- Responses to programs, whose status is known once their first bytes are made; what fails is a sentence of text


class NoCapture(WebTableError):
    """No stored version answers the request."""


class LateResponse(StreamingResponse):
    """The response whose bytes *make* writes; what it raises before the first of them decides the status.

    What it raises later breaks the connection, so that a part of an answer is not taken for all of it.
    """

    status_code: int
    body_iterator: AsyncContentStream

    def __init__(
        self,
        streaming: Streaming,
        make: Callable[[Outlet], None],
        media_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(streaming.body(make), headers=headers, media_type=media_type)

    async def stream_response(self, send: Send) -> None:
        """Send the response, once its first bytes are there."""
        pieces = aiter(self.body_iterator)
        try:
            first = await anext(pieces, b"")
        except WebTableError as exc:
            refused = refusal(exc)
            self.status_code, first = refused.status_code, bytes(refused.body)
            self.headers["content-type"] = refused.headers["content-type"]
            del self.headers["content-disposition"]

        async def body() -> AsyncIterator[str | bytes | memoryview]:
            yield first
            async for piece in pieces:
                yield piece

        self.body_iterator = body()
        await super().stream_response(send)


def refusal(exc: WebTableError) -> Response:
    """Return the response to a request that failed with *exc*: 404 for no capture, 503 for the store, or else 400."""
    if isinstance(exc, NoCapture):
        # As pywb says it: clients take it for an empty answer.
        return Response(json.dumps({"message": str(exc)}) + "\n", 404, media_type="application/json")
    return Response(
        f"{exc}\n".encode("utf-8", "replace"), 503 if isinstance(exc, StoreError) else 400, None, "text/plain"
    )


# --- Stored markup as a browser may show it: it runs nothing, and asks no other host ----------------------------------


SANDBOX: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""The policy of stored markup: it runs nothing, asks no other host, and is shown by the pages of the explorer alone."""
# No policy holds back the connections that a browser opens ahead: for `rel=preconnect` and `dns-prefetch`, and to where
# a frame leads before it is refused. So `<link` and `<frame` become `<meta`, an element of the same form without that
# effect, and `<iframe` hidden text, as its `srcdoc` may have more of them.
_CONNECTING: Final = re.compile(r"<(/?)(?:(link|frame(?!set))|iframe)", re.IGNORECASE)


def inert(markup: str) -> str:
    """Return *markup* without elements that connect to other hosts whatever the policy is.

    >>> inert("<LINK rel=preconnect href=//a.example><iframe srcdoc='<link>'></iframe>")
    "<meta rel=preconnect href=//a.example><noframes srcdoc='<meta>'></noframes>"
    """
    return _CONNECTING.sub(lambda one: f"<{one[1]}{'meta' if one[2] else 'noframes'}", markup)
