"""What is stored of a page, as it is: its bytes, its text and markup by lines, and its markup in a sandbox."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from webtable.explorer.http import SANDBOX, inert
from webtable.explorer.page_model import PagePart, Rows, View, ViewRequest
from webtable.explorer.views.pages import headed
from webtable.questions import column

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable import Page

# More would keep a browser busy; the whole body is one click away.
MOST_BYTES: Final = 2_000_000
MOST_LINES: Final = 50_000
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def rendered(request: ViewRequest) -> Response:
    """Return the stored HTML, which a browser renders without running or loading anything."""

    def made(page: Page | None) -> Response:
        if page is None or page.html is None:
            return PlainTextResponse(f"HTML of it is not stored: {request.url()}", 404)
        markup = inert(page.html).encode("utf-8", "replace")
        return HTMLResponse(markup, headers={"content-security-policy": SANDBOX})

    return _bounded(request, "rendered", made)


def body(request: ViewRequest) -> Response:
    """Return the stored body as a file to save, whatever it is."""

    def made(page: Page | None) -> Response:
        if page is None or page.body is None:
            return PlainTextResponse(f"Its body is not stored: {request.url()}", 404)
        # Neither its type nor its name are those of the page: no browser or system opens it as what it claims to be.
        headers = {"content-disposition": 'attachment; filename="page.bin"', "content-security-policy": SANDBOX}
        return Response(page.body, headers=headers, media_type="application/octet-stream")

    return _bounded(request, "raw", made)


def _bounded(request: ViewRequest, form: str, made: Callable[[Page | None], Response]) -> Response:
    page = request.table.get(request.url(), as_of=request.moment, columns=["url"])
    if page is None:
        return made(None)
    key = form, page.url, request.moment, page.fetched_at, page.digest
    return request.streaming.bounded(request.request, page.size, key, lambda: made(_stored(request)))


def source(request: ViewRequest) -> View:
    """Return the page with the markup, or other text, of a stored body, by numbered lines."""
    return _lines(request, "Source", _source)


def text(request: ViewRequest) -> View:
    """Return the page with the readable text of a stored body, by numbered lines."""
    return _lines(request, "Text", lambda page: page.text)


def _stored(request: ViewRequest) -> Page | None:
    return request.table.get(request.url(), as_of=request.moment, columns=["body"])


def _lines(request: ViewRequest, what: str, read: Callable[[Page], str | None]) -> View:
    page, url = _stored(request), request.url()
    if page is None or page.body is None:
        return View(what, None, problem="Its body is not stored.", status=404, address=url)
    content, about = read(page), ""
    lines = [] if content is None else _LINE_END.split(content[:MOST_BYTES], MOST_LINES)
    if content is None:
        about = "Its body cannot be shown as text."
    elif max(len(content), len(page.body) * (what == "Source")) > MOST_BYTES or len(lines) > MOST_LINES:
        about = "Only the beginning is shown."
    columns = column("number", "count", of=itemgetter(0)), column("line", of=itemgetter(1))
    rows = Rows(columns, enumerate(lines[:MOST_LINES], 1), empty="")
    part = PagePart("lines", lambda: rows, about=about, look="lines")
    part.more = "The stored body, as a file", request.link("/page/raw", url=url)
    whole = request.table.get(url, as_of=request.moment, columns=["url"])
    return headed(request, View(page.title or url, lambda _: [part]), url, whole, what)


def _source(page: Page) -> str | None:
    """Return the beginning of the body of *page* as text; None if it is binary."""
    beginning = replace(page, body=(page.body or b"")[:MOST_BYTES])
    return beginning.text if beginning.html is None else beginning.html
