"""What is stored of a page, as it is: its text and its markup by lines, its markup in a sandbox, its bytes."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from webtable.explorer.http.streaming import SANDBOX, inert
from webtable.explorer.page_model import PagePart, Sheet
from webtable.explorer.rows import Rows
from webtable.questions import column

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable import Page
    from webtable.explorer.page_model import AskedPage

MOST_BYTES: Final = 2_000_000
"""Of a body, or characters of its text, that are shown."""
MOST_LINES: Final = 50_000
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def rendered(asked: AskedPage) -> Response:
    """Return the stored HTML, which a browser renders without running or loading anything."""
    page = _body(asked)
    if page is None or page.html is None:
        return PlainTextResponse(f"HTML of it is not stored: {asked.url()}", 404)
    markup = inert(page.html).encode("utf-8", "replace")
    return HTMLResponse(markup, headers={"content-security-policy": SANDBOX})


def raw(asked: AskedPage) -> Response:
    """Return the stored body as a file to save, whatever it is."""
    page = _body(asked)
    if page is None or page.body is None:
        return PlainTextResponse(f"Its body is not stored: {asked.url()}", 404)
    headers = {"content-disposition": 'attachment; filename="page.bin"', "content-security-policy": SANDBOX}
    return Response(page.body, headers=headers, media_type="application/octet-stream")


def source(asked: AskedPage) -> Sheet:
    """Return the page with the markup, or other text, of a stored body, by numbered lines."""
    return _lines(asked, "Source", _source)


def text(asked: AskedPage) -> Sheet:
    """Return the page with the readable text of a stored body, by numbered lines."""
    return _lines(asked, "Text", lambda page: page.text)


def _body(asked: AskedPage) -> Page | None:
    return asked.table.get(asked.url(), as_of=asked.moment, columns=["body"])


def _lines(asked: AskedPage, what: str, read: Callable[[Page], str | None]) -> Sheet:
    page, link = _body(asked), asked.link("/page/raw", url=asked.url())
    if page is None or page.body is None:
        return Sheet(what, None, problem="Its body is not stored.", status=404, address=asked.url())
    found, said = read(page), ""
    lines = [] if found is None else _LINE_END.split(found[:MOST_BYTES], MOST_LINES)
    if found is None:
        said = "Its body cannot be shown as text."
    elif max(len(found), len(page.body) * (what == "Source")) > MOST_BYTES or len(lines) > MOST_LINES:
        said = "Only the beginning is shown."
    columns = column("number", "count", of=itemgetter(0)), column("line", of=itemgetter(1))
    part = PagePart("lines", lambda: Rows(columns, enumerate(lines[:MOST_LINES], 1), empty=""), "", said, look="lines")
    shown = Sheet(f"{what}: {page.title or asked.url()}", lambda _: iter([part]), address=asked.url())
    shown.links, shown.is_now = {"Download": link}, False
    return shown


def _source(page: Page) -> str | None:
    """Return the beginning of the body of *page* as text; None if it is binary."""
    begins = replace(page, body=(page.body or b"")[:MOST_BYTES])
    return begins.text if begins.html is None else begins.html
