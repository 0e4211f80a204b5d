"""What is stored of a page, as it is: its markup as text or rendered in a sandbox, its text, its bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace
from starlette.responses import HTMLResponse, Response

from webtable.explorer.views.asked_page import AskedPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from webtable import Page
    from webtable.explorer.explorer import Explorer
    from webtable.explorer.streaming import Outlet

SANDBOX: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""The policy of stored markup: it runs nothing, asks no other host, and is shown by the pages of the explorer alone."""
MOST_BYTES: Final = 2_000_000
"""Of a body, or characters of its text, that are shown."""
MOST_LINES: Final = 50_000
# No policy holds back the connections that a browser opens ahead: for `rel=preconnect` and `dns-prefetch`, and to where
# a frame leads before it is refused. So `<link` and `<frame` become `<meta`, an element of the same form without that
# effect, and `<iframe` hidden text, as its `srcdoc` may have more of them.
_CONNECTING: Final = re.compile(r"<(/?)(?:(link|frame(?!set))|iframe)", re.IGNORECASE)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


async def rendered(explorer: Explorer, request: Request) -> Response:
    """Return the stored HTML, which a browser renders without running or loading anything."""
    asked = AskedPage(request)
    page = await asked.read(explorer, ["body"])
    markup = None if page is None else page.html
    if markup is None:
        return asked.missing(explorer, "HTML of it")
    return HTMLResponse(inert(markup).encode("utf-8", "replace"), headers={"content-security-policy": SANDBOX})


def inert(markup: str) -> str:
    """Return *markup* without elements that connect to other hosts whatever the policy is.

    >>> inert("<LINK rel=preconnect href=//a.example><iframe srcdoc='<link>'></iframe>")
    "<meta rel=preconnect href=//a.example><noframes srcdoc='<meta>'></noframes>"
    """
    return _CONNECTING.sub(lambda one: f"<{one[1]}{'meta' if one[2] else 'noframes'}", markup)


async def raw(explorer: Explorer, request: Request) -> Response:
    """Return the stored body as a file to save, whatever it is."""
    asked = AskedPage(request)
    page = await asked.read(explorer, ["body"])
    if page is None or page.body is None:
        return asked.missing(explorer, "Its body")
    headers = {"content-disposition": 'attachment; filename="page.bin"', "content-security-policy": SANDBOX}
    return Response(page.body, headers=headers, media_type="application/octet-stream")


async def source(explorer: Explorer, request: Request) -> Response:
    """Return the page with the markup, or other text, of a stored body, by numbered lines."""
    return await _lines(explorer, request, "Source", _source)


async def text(explorer: Explorer, request: Request) -> Response:
    """Return the page with the readable text of a stored body, by numbered lines."""
    return await _lines(explorer, request, "Text", lambda page: page.text)


class Lines(NamedTuple):
    """The lines of a text that are shown, and whether there is more of it."""

    shown: list[str]
    is_cut: bool


async def _lines(explorer: Explorer, request: Request, what: str, read: Callable[[Page], str | None]) -> Response:
    asked = AskedPage(request)
    page = await asked.read(explorer, ["body"])
    if page is None or page.body is None:
        return asked.missing(explorer, "Its body")

    def lines() -> Lines | None:
        text = read(page)
        return None if text is None else _cut(text, is_cut=what == "Source" and len(page.body or b"") > MOST_BYTES)

    def make(outlet: Outlet) -> None:
        title = f"{what}: {asked.url}"
        explorer.pages.write(
            outlet, "source.html", asked.linker, title, url=asked.url, what=what, page=page, lines=lines
        )

    return explorer.streaming.response(make, "text/html")


def _source(page: Page) -> str | None:
    """Return the beginning of the body of *page* as text; None if it is binary."""
    begins = replace(page, body=(page.body or b"")[:MOST_BYTES])
    return begins.text if begins.html is None else begins.html


def _cut(text: str, *, is_cut: bool) -> Lines:
    lines = _LINE_END.split(text[:MOST_BYTES], MOST_LINES)
    return Lines(lines[:MOST_LINES], is_cut or len(text) > MOST_BYTES or len(lines) > MOST_LINES)
