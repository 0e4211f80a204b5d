"""Requests and who may send them, responses that are made in threads, and stored markup that a browser may show."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import secrets
import threading
from base64 import b64encode
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from markupsafe import Markup
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse

from webtable.errors import StoreError, WebTableError
from webtable.store import CallCancelled, cancelled_by

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Hashable, Mapping

    from starlette.requests import Request
    from starlette.responses import AsyncContentStream
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


# --- Access -----------------------------------------------------------------------------------------------------------
#
# A page of another site that the same browser shows can send requests to 127.0.0.1, and may even have a name of its
# own that leads there (DNS rebinding). So every request needs the cookie, which the browser sends for no request of
# another site (SameSite=Strict), or the token, and the header Host must have a name of this server.


LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# The name and the port in a header Host; the name of an IPv6 address has brackets.
_HOST: Final = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(?::(?P<port>\d{0,5}))?", re.ASCII)
_FORWARD: Final = Markup(
    '<!doctype html><title>webtable</title><meta http-equiv="refresh" content="0;url={0}"><a href="{0}">Go on</a>'
)
SECURITY_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-dns-prefetch-control": "off",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": POLICY,
    "cache-control": "no-store",
}


# Of stored captures: a browser may keep them, if it asks each time whether they have changed. It keeps no answers.
STORED: Final = "private, no-cache"


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class Access:
    """The *token* that requests need, and the *names* (hosts without port) by which the server may be called.

    Programs send the token as `Authorization: Bearer TOKEN`, or begin their paths with `/-/TOKEN/`. With *is_https* all
    requests count as https, because a proxy before the server speaks it: links and the cookie are those of https.
    """

    token: str = field(default_factory=new_token, repr=False)
    names: tuple[str, ...] = LOCAL
    is_https: bool = False

    def is_token(self, text: str) -> bool:
        """Whether *text* is the token, in a time that does not depend on how much of it is right."""
        return hmac.compare_digest(text.encode(), self.token.encode())


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
        if self._access.is_https:
            scope["scheme"] = "https"
        refused = self._refusal(scope)
        await (refused or self._app)(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Return the response to a request that does not get through, and None for one that does."""
        headers = Headers(scope=scope)
        text = headers.get("host", "")
        if (parts := _HOST.fullmatch(text)) is None or int(parts["port"] or 0) > 65_535:
            return PlainTextResponse(f"400: Host: {text[:100]!r} is not the name of a host and a port\n", 400)
        host, port = parts["name"], parts["port"]
        if host.lower() not in self._access.names:
            return PlainTextResponse(f"421: this server has no name {host[:100]!r}: see --allow-host\n", 421)
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse("405: the explorer only reads\n", 405, {"allow": "GET, HEAD"})
        if scope["path"].startswith("/-/"):
            return self._by_path(scope, headers)
        # Browsers send cookies to all ports of a host: each server has its own name for it.
        cookie = f"webtable-{port or 80}"
        if self._access.is_token(_cookie(headers.get("cookie", ""), cookie)):
            return None
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._access.is_token(token.strip()):
            return None
        return self._by_query(scope, cookie, headers)

    def _by_path(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        token = scope["path"].removeprefix("/-/").partition("/")[0]
        if not self._access.is_token(token):
            return _forbidden(headers)
        # As ASGI has it, `path` goes on having the root path in it: where it has not, static files are not found.
        scope["root_path"] = f"/-/{token}"
        return None

    def _by_query(self, scope: Scope, cookie: str, headers: Headers) -> ASGIApp | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if not tokens or not self._access.is_token(tokens[0]):
            return _forbidden(headers)
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # The token would stay in the address bar, in the history, and in what is copied from there. A redirect would
        # not do: after a click on a page of another site, a notebook's for one, the browser follows it without cookie.
        path = "/" + quote(scope["path"].lstrip("/")) + (f"?{rest}" if rest else "")
        to = HTMLResponse(_FORWARD.format(path))
        is_secure = scope["scheme"] == "https"
        to.set_cookie(cookie, self._access.token, httponly=True, samesite="strict", secure=is_secure, path="/")
        return to


def _cookie(header: str, name: str) -> str:
    # The token is never quoted. Python's own parser takes time quadratic in the backslashes of quotes (CVE-2024-7592).
    cookies = (part.strip().partition("=") for part in header.split(";"))
    return next((value for cookie, _, value in cookies if cookie == name), "")


# The stylesheet needs the token, too: this page has its own rules, which the policy of this response names.
_RULES: Final = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:34em;margin:12vh auto;padding:0 1em}"
    "code{background:#8882;padding:.15em .4em;border-radius:4px}"
)
_FORBIDDEN: Final = "Open the address with its token, which webtable serve has printed or its --token-file has"


def _forbidden(headers: Headers) -> Response:
    if "text/html" not in headers.get("accept", ""):
        return PlainTextResponse(f"403: {_FORBIDDEN}: /?token=TOKEN\n", 403)
    digest = b64encode(sha256(_RULES.encode()).digest()).decode()
    page = (
        f'<!doctype html><html lang="en"><title>webtable: the token is missing</title><style>{_RULES}</style><main>'
        f"<h1>The token is missing</h1><p>{_FORBIDDEN}: <code>/?token=TOKEN</code>. The browser keeps it as a cookie, "
        "until the server is started again.</main>"
    )
    return HTMLResponse(page, 403, {"content-security-policy": f"default-src 'none'; style-src 'sha256-{digest}'"})


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            message["headers"] = headers.raw
        await send(message)

    return sending


# --- Threads: a page begins before its questions are answered ---------------------------------------------------------
#
# The library is synchronous, so each response is made in threads: one makes some of it ahead of the reader, and once
# that is sent the next goes on. A template yields some thousand fragments a page: the event loop is woken by the first
# of a piece, and once the piece is large enough, not by each of them.


T = TypeVar("T")
# How many responses are made at once; further ones wait for one of these. One that waits for its reader has no thread.
MOST_AT_ONCE: Final = 8
# Bytes of a response that are made ahead of its reader.
MOST_UNSENT: Final = 256 * 1024
# Bytes of bodies that are held for all readers together.
MOST_HELD: Final = 64 * 1024 * 1024
# A piece is sent when it has so many bytes, or after so many seconds; the first one soon, for the browser to begin.
PIECE: Final = 4 * 1024
FIRST_WAIT: Final = 0.002
WAIT: Final = 0.04


class Outlet:
    """Where a thread writes the bytes of a response, and the event loop takes them once it is `ready`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.ready: Final = asyncio.Event()
        self.unsent: bytearray = bytearray()
        self._loop = loop
        self._lock = threading.Lock()

    def write(self, data: bytes | str) -> int:
        """Write *data*, text as UTF-8, and return how many bytes they are."""
        encoded = data.encode("utf-8", "replace") if isinstance(data, str) else data
        with self._lock:
            before = len(self.unsent)
            self.unsent += encoded
        if not before or before < PIECE <= before + len(encoded):
            self._notify()
        return len(encoded)

    def taken(self) -> bytes:
        """Return what is there, and begin again."""
        with self._lock:
            piece, self.unsent = bytes(self.unsent), bytearray()
        return piece

    def _notify(self) -> None:
        with suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self.ready.set)


class HeldResponses:
    """Responses with large bodies, that several readers share: up to `MOST_HELD` bytes of them, or a single one."""

    def __init__(self) -> None:
        self._responses: OrderedDict[Hashable, Response] = OrderedDict()
        self._lock = threading.Lock()

    def response(self, key: Hashable, make: Callable[[], Response]) -> Response:
        """Return the response *key*; *make* makes it if it is not held, one at a time."""
        with self._lock:
            response = self._responses.pop(key, None) or make()
            self._responses[key] = response
            while len(self._responses) > 1 and sum(len(held.body) for held in self._responses.values()) > MOST_HELD:
                self._responses.popitem(last=False)
            return response


class Streaming:
    """Makes responses in threads, at most `MOST_AT_ONCE` at a time."""

    def __init__(self) -> None:
        self._places = threading.Semaphore(MOST_AT_ONCE)
        self._held = HeldResponses()

    async def body(self, source: Generator[bytes | str]) -> AsyncIterator[bytes]:
        """Yield the bytes of *source*, text as UTF-8, in pieces; what it raises ends them."""
        outlet, gone, context = Outlet(asyncio.get_running_loop()), threading.Event(), copy_context()

        def fill() -> bool:
            """Make some bytes ahead of the reader; return whether they are the last."""
            size = 0
            with suppress(CallCancelled), cancelled_by(gone):
                for data in source:
                    size += outlet.write(data)
                    if size >= MOST_UNSENT or gone.is_set():
                        return False
            return True

        def close() -> None:
            with suppress(CallCancelled):
                source.close()

        # What the generator sets for its thread goes with it from one to the next.
        filling, wait, is_over = self._started(partial(context.run, fill), gone), FIRST_WAIT, False
        try:
            while not is_over:
                filling.add_done_callback(lambda _: outlet.ready.set())
                while not filling.done() or outlet.unsent:
                    await outlet.ready.wait()
                    if not filling.done() and len(outlet.unsent) < PIECE:
                        await asyncio.wait([filling], timeout=wait)
                    wait = WAIT
                    outlet.ready.clear()
                    if piece := outlet.taken():
                        yield piece
                if not (is_over := await filling):
                    filling = self._started(partial(context.run, fill), gone)
        finally:
            gone.set()
            if filling.done() and not is_over:  # else its thread ends it
                self._started(partial(context.run, close), gone)

    async def value(self, make: Callable[[], T]) -> T:
        """Call *make* in a thread, for a response that is small, or whose status depends on the result."""
        gone = threading.Event()
        try:
            return await self._started(make, gone)
        finally:
            gone.set()

    def bounded(self, request: Request, size: int | None, key: Hashable, make: Callable[[], Response]) -> Response:
        """Return what *make* makes of a stored body of *size* bytes; *key* tells it from all others, and is its ETag.

        Of a large one a reader holds a piece: it is made again if it is not held any more when the next piece is sent.
        What a client has already is not sent again.
        """
        tag = sha256(repr((version("hbase-webtable"), key)).encode()).hexdigest()[:32]
        headers = {"etag": f'"{tag}"', "cache-control": STORED}
        if headers["etag"] in request.headers.get("if-none-match", ""):
            return Response(None, 304, headers)
        is_small = (size or 0) <= MOST_UNSENT
        whole = make() if is_small else self._held.response(key, make)
        if whole.status_code == 200:
            whole.headers.update(headers)
        if is_small:
            return whole
        length = len(whole.body)

        def piece(start: int) -> bytes:
            body = memoryview(self._held.response(key, make).body)
            if len(body) != length:
                raise NoCapture("it was replaced or deleted while it was sent")
            return bytes(body[start : start + MOST_UNSENT])

        pieces = (piece(start) for start in range(0, length, MOST_UNSENT))
        return StreamingResponse(self.body(pieces), whole.status_code, whole.headers)

    def _started(self, make: Callable[[], T], gone: threading.Event) -> asyncio.Future[T]:
        """Call *make* in a thread that the end of the process does not wait for; the future has its result.

        What it reads of a table ends once *gone* is set.
        """
        made: Future[T] = Future()

        def run() -> None:
            try:
                with self._places, cancelled_by(gone):
                    made.set_result(make())
            except BaseException as exc:  # noqa: BLE001 - raised again by whoever awaits it
                made.set_exception(exc)

        made.set_running_or_notify_cancel()  # so that it is not cancelled with what awaits it
        threading.Thread(target=run, name="webtable-explorer", daemon=True).start()
        return asyncio.wrap_future(made)


# --- Responses to programs: their status is known once their first bytes are made -------------------------------------


class NoCapture(WebTableError):
    """No stored version answers the request."""


class LateResponse(StreamingResponse):
    """The response with these *pieces*; what making the first of them raises decides the status.

    What is raised later breaks the connection, so that a part of an answer is not taken for all of it.
    """

    def __init__(self, pieces: AsyncIterator[bytes], media_type: str, headers: Mapping[str, str] = {}) -> None:
        self._pieces = pieces
        self.status_code: int
        self.body_iterator: AsyncContentStream
        super().__init__(pieces, headers=headers, media_type=media_type)

    async def stream_response(self, send: Send) -> None:
        """Send the response, once its first bytes are there."""
        try:
            first = await anext(self._pieces, b"")
        except WebTableError as exc:
            refused = refusal(exc)
            first = bytes(refused.body)
            self.status_code = refused.status_code
            self.headers["content-type"] = refused.headers["content-type"]
            del self.headers["content-disposition"]

        async def body() -> AsyncIterator[bytes]:
            yield first
            async for piece in self._pieces:
                yield piece

        self.body_iterator = body()
        await super().stream_response(send)


def refusal(exc: WebTableError) -> Response:
    """Return the response to a request that failed with *exc*: 404 for no capture, 503 for the store, or else 400."""
    if isinstance(exc, NoCapture):
        # As pywb says it: clients take it for an empty answer.
        return Response(json.dumps({"message": str(exc)}) + "\n", 404, media_type="application/json")
    status = 503 if isinstance(exc, StoreError) else 400
    return Response(f"{exc}\n".encode("utf-8", "replace"), status, media_type="text/plain")


# --- Stored markup as a browser may show it: it runs nothing, and asks no other host ----------------------------------


# The policy of stored markup: it runs nothing, asks no other host, and is shown by the pages of the explorer alone.
SANDBOX: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
# No policy holds back the connections that a browser opens ahead: for `rel=preconnect` and `dns-prefetch`, and to where
# a frame leads before it is refused. So `<link` and `<frame` become `<meta`, an element of the same form without that
# effect, and `<iframe` hidden text, as its `srcdoc` may have more of them.
_CONNECTING: Final = re.compile(r"<(/?)(?:(link|frame(?!set))|iframe)", re.IGNORECASE)


def inert(markup: str) -> str:
    """Return *markup* without elements that connect to other hosts whatever the policy is.

    >>> inert("<LINK rel=preconnect href=//a.example><iframe srcdoc='<link>'></iframe>")
    "<meta rel=preconnect href=//a.example><noframes srcdoc='<meta>'></noframes>"
    """
    return _CONNECTING.sub(lambda tag: f"<{tag[1]}{'meta' if tag[2] else 'noframes'}", markup)
