"""The page about one stored page: its capture, versions, text and links, and its place in the store."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urljoin, urlsplit

from webtable.errors import DamagedRow
from webtable.explorer.reading import reading
from webtable.explorer.views.asked_page import AskedPage, exact, facts_of
from webtable.explorer.views.row_key import holder_of, pieces_of
from webtable.explorer.views.versions import WIDTH, json_of, timeline

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from webtable import Page, WebTable
    from webtable.explorer.explorer import Explorer
    from webtable.explorer.streaming import Outlet

MOST_LINKS: Final = 10
MOST_TEXT: Final = 20_000
"""Characters of the main text that the page shows."""


async def page(explorer: Explorer, request: Request) -> Response:
    """Return the page about a URL, with status 404 if that is not stored."""
    asked = AskedPage(request)
    try:
        found, problem = await asked.read(explorer, ["url"]), ""
    except DamagedRow as exc:
        found, problem = None, str(exc)

    def make(outlet: Outlet) -> None:
        title = (found and found.title) or asked.url
        parts = _parts(reading(explorer.table, outlet.gone), asked)
        explorer.pages.write(outlet, "page.html", asked.linker, title, page=found, problem=problem, **parts)

    return explorer.streaming.response(make, "text/html", 200 if found or problem else 404)


async def page_json(explorer: Explorer, request: Request) -> Response:
    """Return the fields of a page, with its headers and links, without its body."""
    asked = AskedPage(request)
    return await json_of(explorer, lambda table: table.get(asked.url, as_of=asked.moment, columns=["outlinks"]))


def _parts(table: WebTable, asked: AskedPage) -> dict[str, Any]:
    """Return what the template of a page takes; what reads *table* is a function, which it calls in its linker."""
    url, linker = asked.url, asked.linker

    @cache
    def whole() -> Page | None:
        return table.get(url, as_of=asked.moment)

    def text() -> str:
        found = whole()
        return (found and found.main_text) or ""

    return {
        "url": url,
        "host": urlsplit(url).netloc,
        "directory": urljoin(url, "."),
        "now": f"{linker.root}/page?{urlencode({'url': url})}",
        "facts": lambda page: facts_of(page, linker),
        "pieces": pieces_of(table.key, url),
        "versions": lambda: timeline(table, url, linker),
        "chain": lambda: table.resolve(url),
        "text": text,
        "outlinks": lambda: (found := whole()) and found.outlinks,
        "inlinks": lambda: list(table.links.to(url, limit=MOST_LINKS + 1)),
        "holder": lambda: holder_of(table, url),
        "exact": exact,
        "width": WIDTH,
        "most_links": MOST_LINKS,
        "most_text": MOST_TEXT,
    }
