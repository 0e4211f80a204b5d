"""Read the responses of HTTP clients by their attributes; no client is imported for it."""

from __future__ import annotations

from typing import Any

from webtable._page.headers import Headers
from webtable.errors import InvalidArgument

_CLIENTS = "give a response of httpx, requests, aiohttp or Scrapy"


def status_of(response: object) -> int:
    """Return the status code of *response*; raises `InvalidArgument` if it has none."""
    for name in ("status_code", "status"):
        status = getattr(response, name, None)
        if isinstance(status, int):
            return int(status)
    raise InvalidArgument(f"response={_shown(response)} has no status: {_CLIENTS}")


def url_of(response: object) -> str:
    """Return the URL of *response* as text; raises `InvalidArgument` if it has none."""
    url = getattr(response, "url", None)
    if not url or callable(url):
        raise InvalidArgument(f"response={_shown(response)} has no URL: {_CLIENTS}")
    return str(url)


def headers_of(response: object) -> Headers:
    """Return the headers of *response*; raises `InvalidArgument` if they are not names and values."""
    headers: Any = getattr(response, "headers", None)
    # httpx joins repeated ones by itself, others only if they are asked for all of them.
    try:
        return Headers(() if headers is None else headers)
    except (TypeError, ValueError) as exc:
        raise InvalidArgument(f"response={_shown(response)} has headers that are none ({exc}): {_CLIENTS}") from exc


def body_of(response: object, body: bytes | None) -> bytes:
    """Return *body* if it is given, else the body that *response* has already read.

    Raises `InvalidArgument` if it has read none, or if *body* is not bytes.
    """
    if body is not None:
        if not isinstance(body, bytes | bytearray | memoryview):
            raise InvalidArgument(f"body is {type(body).__name__}; it must be bytes")
        return bytes(body)
    for name in ("content", "body"):
        found = _attribute(response, name)
        if isinstance(found, bytes):
            return found
    raise InvalidArgument(
        f"response={_shown(response)} has no body that is read already: give it, "
        "as in Page.from_response(response, body=await response.read())"
    )


def _attribute(response: object, name: str) -> object:
    try:
        return getattr(response, name, None)
    except Exception:  # noqa: BLE001 - httpx and others raise an error of their own for a body that was not read
        return None


def _shown(response: object) -> str:
    return repr(response)[:200]
