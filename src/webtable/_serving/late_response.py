"""Responses to programs, whose status is known once their first bytes are made; what fails is a sentence of text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from webtable.errors import StoreError, WebTableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.responses import AsyncContentStream
    from starlette.types import Send

    from webtable._serving.streaming import Outlet, Streaming


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
