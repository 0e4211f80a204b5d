"""Who may ask: the token, the cookie that takes its place, and the names under which the server answers.

A page of another site that the same browser shows can send requests to 127.0.0.1, and may even have a name of its own
that leads there (DNS rebinding). So every request needs the cookie, which the browser sends for no request of another
site (SameSite=Strict), or the token, and the header Host must have a name of this server.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, urlencode

from markupsafe import Markup
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_FORWARD: Final = Markup(
    '<!doctype html><title>webtable</title><meta http-equiv="refresh" content="0;url={0}"><a href="{0}">Go on</a>'
)
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-dns-prefetch-control": "off",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": POLICY,
    "cache-control": "no-store",
}


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class Access:
    """The *token* that requests need, and the *names* (hosts without port) by which the server may be called.

    Programs send the token as `Authorization: Bearer TOKEN`, or begin their paths with `/-/TOKEN/`.
    """

    token: str = field(default_factory=new_token, repr=False)
    names: tuple[str, ...] = LOCAL

    def is_token(self, given: str) -> bool:
        """Whether *given* is the token, in a time that does not depend on how much of it is right."""
        return hmac.compare_digest(given.encode(), self.token.encode())


class Guard:
    """Lets requests through to *app* that *access* allows, and adds the headers of security to all responses."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refusal(scope)
        await (refused or self._app)(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Return the response to a request that does not get through, and None for one that does."""
        headers = Headers(scope=scope)
        host, port = _parts_of(headers.get("host", ""))
        if host.lower() not in self._access.names:
            return PlainTextResponse(f"421: this server has no name {host[:100]!r}: see --allow-host\n", 421)
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse("405: the explorer only reads\n", 405, {"allow": "GET, HEAD"})
        if scope["path"].startswith("/-/"):
            return self._by_path(scope)
        cookie = f"webtable-{port or 80}"
        if self._access.is_token(cookie_parser(headers.get("cookie", "")).get(cookie, "")):
            return None
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._access.is_token(given.strip()):
            return None
        return self._by_query(scope, cookie)

    def _by_path(self, scope: Scope) -> ASGIApp | None:
        given, _, rest = scope["path"].removeprefix("/-/").partition("/")
        if not self._access.is_token(given):
            return _forbidden()
        # The rest of the path is a URL in some protocols, so the raw path must lose the same.
        raw = scope.get("raw_path") or quote(scope["path"]).encode()
        scope["root_path"] = f"/-/{given}"
        scope["path"], scope["raw_path"] = f"/{rest}", b"/" + raw.split(b"/", 3)[-1]
        return None

    def _by_query(self, scope: Scope, cookie: str) -> ASGIApp | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if not given or not self._access.is_token(given[0]):
            return _forbidden()
        rest = urlencode([one for one in query if one[0] != "token"])
        # The token would stay in the address bar, in the history, and in what is copied from there. A redirect would
        # not do: after a click on a page of another site, a notebook's for one, the browser follows it without cookie.
        path = "/" + quote(scope["path"].lstrip("/")) + (f"?{rest}" if rest else "")
        to = HTMLResponse(_FORWARD.format(path))
        to.set_cookie(cookie, self._access.token, httponly=True, samesite="strict", path="/")
        return to


def _forbidden() -> PlainTextResponse:
    return PlainTextResponse("403: open the address that webtable serve has printed, which has a token\n", 403)


def _parts_of(host: str) -> tuple[str, str]:
    """Return the name and the port in a header Host; the name of an IPv6 address has brackets."""
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and not port.endswith("]") else (host, "")


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            message["headers"] = headers.raw
        await send(message)

    return sending
