"""The application: which request is answered by what."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from webtable.errors import WebTableError
from webtable.explorer import listings
from webtable.explorer.access import Access, Guard
from webtable.explorer.explorer import Explorer
from webtable.explorer.protocols import cdx, memento, openapi
from webtable.explorer.rendering import Linker
from webtable.explorer.views import keys, page, questions, rendered, reports, site, statistics, versions
from webtable.explorer.views import table as home

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from webtable import WebTable

ROUTES: Final[dict[str, Callable[[Explorer, Request], Response | Awaitable[Response]]]] = {
    "/": home.page,
    "/table.json": home.as_json,
    "/questions": questions.page,
    "/go": questions.go,
    "/keys": keys.page,
    "/keys.json": keys.as_json,
    "/site.json": site.as_json,
    "/site/{path:path}": site.page,
    "/q/{name}.{ending}": listings.file,
    "/q/{name}": listings.page,
    "/cdx": cdx.pywb,
    "/cdx/search/cdx": cdx.wayback,
    "/timegate/{url:rest}": memento.timegate,
    "/timemap/{form}/{url:rest}": memento.timemap,
    "/web/{time}/{url:rest}": memento.memento,
    "/openapi.json": openapi.description,
    "/stats": statistics.page,
    "/stats.json": statistics.as_json,
    "/audit": reports.audit,
    "/audit.json": reports.audit_json,
    "/compare": reports.compare,
    "/compare.json": reports.compare_json,
    "/page": page.page,
    "/page.json": page.page_json,
    "/page/text": rendered.text,
    "/page/source": rendered.source,
    "/page/raw": rendered.raw,
    "/page/rendered": rendered.rendered,
    "/page/diff": versions.diff,
    "/page/diff.json": versions.diff_json,
    "/page/history.json": versions.history_json,
}


def create_app(table: WebTable, access: Access | None = None) -> Starlette:
    """Return the explorer of *table* as an ASGI application, for requests that *access* allows.

    The table stays open when the application ends.
    """
    explorer = Explorer(table)

    def endpoint(answer: Callable[[Explorer, Request], Response | Awaitable[Response]]) -> Callable[[Request], object]:
        async def answered(request: Request) -> Response:
            found = answer(explorer, request)
            return await found if isawaitable(found) else found

        return answered

    def failed(request: Request, exc: Exception) -> Response:
        if request.url.path.endswith(".json"):
            return JSONResponse({"problem": str(exc)}, 400)
        title = "This cannot be answered"
        return HTMLResponse(explorer.pages.text("message.html", Linker(request), title, problem=str(exc)), 400)

    static = Mount("/static", StaticFiles(packages=[("webtable.explorer", "static")]))
    routes = [Route(path, endpoint(answer)) for path, answer in ROUTES.items()]
    return Starlette(
        routes=[*routes, static],
        middleware=[Middleware(Guard, access=access or Access())],
        exception_handlers={WebTableError: failed},
    )
