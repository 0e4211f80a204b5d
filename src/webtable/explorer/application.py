"""The application: which request is answered by what."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from webtable import WebTable
from webtable.errors import InvalidArgument, WebTableError
from webtable.explorer import archive_api, page_model
from webtable.explorer.http import Access, Guard, LateResponse, Outlet, Streaming
from webtable.explorer.openapi import openapi
from webtable.explorer.rendering import Templates
from webtable.explorer.views.routes import RAW_ROUTES, ROUTES, RawRoute, ViewRoute

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp


def create_app(table: WebTable, access: Access | None = None) -> ASGIApp:
    """Return the explorer of *table* as an ASGI application, for requests that *access* allows.

    The application has no way to write into the table, which stays open when it ends.
    """
    # The view of the store refuses to write, whatever a page of the explorer would call.
    table = WebTable(table.store.reading(), table.table, table.layout, strict=table.strict)
    streaming, templates = Streaming(), Templates(table.name)

    def failed(request: Request, exc: Exception) -> Response:
        if request.url.path.endswith(".json"):
            return JSONResponse({"problem": str(exc)}, 400)
        view = page_model.View("This cannot be answered", None, problem=str(exc))
        return HTMLResponse("".join(templates.pieces(page_model.Linker(request), view)), 400)

    answers = {
        path: partial(_view, table, streaming, templates, name, route)
        for name, route in ROUTES.items()
        for path in (f"/{name}.{{ending}}", route.path or f"/{name}")
    }
    answers |= {path: partial(_raw, table, streaming, answer) for path, answer in RAW_ROUTES.items()}
    routes = [Route(path, answer) for path, answer in answers.items()]
    routes += [Route("/openapi.json", _description), *archive_api.routes(table, streaming)]
    static = Mount("/static", StaticFiles(packages=[("webtable.explorer", "static")]))
    app = Starlette(routes=[*routes, static], exception_handlers={WebTableError: failed})
    return Guard(app, access or Access())  # around all of it: Starlette's own answer to an error has its headers, too


async def _view(
    table: WebTable, streaming: Streaming, templates: Templates, name: str, route: ViewRoute, request: Request
) -> Response:
    """Return the page or the file that a *route* leads to."""
    view_request = page_model.ViewRequest(table, request, name, route.options, streaming)

    view = await streaming.value(partial(route.make, view_request))
    if view_request.is_file and view.parts is None and not view.problem:
        needed = next(option for option in route.options if option.is_needed)
        raise InvalidArgument(f"{needed.name} is needed: {needed.help}")
    media, headers = page_model.MEDIA.get(view_request.ending, "text/html"), {}

    def make(outlet: Outlet) -> None:
        if view_request.ending == "json":
            page_model.write_json(outlet, view_request, view, table)
        elif view_request.is_file:
            page_model.write_file(outlet, view_request, view, table)
        else:
            for piece in templates.pieces(view_request, view, page_model.parts_of(view, table)):
                outlet.write(piece)

    # JSON says in itself what went wrong; of other files a status is all that can, so it waits for the first bytes.
    if view_request.is_file and view_request.ending != "json":
        if view_request.ending != "jsonl":
            headers["content-disposition"] = f'attachment; filename="{view_request.path.rpartition("/")[2]}"'
        return LateResponse(streaming, make, media, headers)
    return streaming.response(make, media, view.status)


async def _raw(table: WebTable, streaming: Streaming, answer: RawRoute, request: Request) -> Response:
    return await streaming.value(lambda: answer(page_model.ViewRequest(table, request, "", (), streaming)))


def _description(request: Request) -> Response:
    """Return the description; its server is the address at which it was asked for, with the token if that has one."""
    return JSONResponse(openapi(request.scope.get("root_path", "") or "/"))
