"""The application: which request is answered by what."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from webtable import WebTable
from webtable.errors import InvalidArgument, WebTableError
from webtable.explorer import archive_api
from webtable.explorer.http import Access, Guard, LateResponse, Streaming
from webtable.explorer.openapi import openapi
from webtable.explorer.page_model import MEDIA, AskedPage, Linker, Sheet, parts_of, write_file, write_json
from webtable.explorer.rendering import Pages
from webtable.explorer.views.routes import RAW, VIEWS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from webtable.explorer.http import Outlet
    from webtable.explorer.views.routes import Raw, View


def create_app(table: WebTable, access: Access | None = None) -> Starlette:
    """Return the explorer of *table* as an ASGI application, for requests that *access* allows.

    The application has no way to write into the table, which stays open when it ends.
    """
    table = WebTable(table.store.reading(), table.table, table.layout, strict=table.strict)
    streaming, pages = Streaming(), Pages(table.name)

    def failed(request: Request, exc: Exception) -> Response:
        if request.url.path.endswith(".json"):
            return JSONResponse({"problem": str(exc)}, 400)
        sheet = Sheet("This cannot be answered", None, problem=str(exc))
        return HTMLResponse("".join(pages.pieces(Linker(request), sheet)), 400)

    made = {
        path: partial(_sheet, table, streaming, pages, name, view)
        for name, view in VIEWS.items()
        for path in (f"/{name}.{{ending}}", view.path or f"/{name}")
    }
    made |= {path: partial(_raw, table, streaming, answer) for path, answer in RAW.items()}
    routes = [Route(path, answer) for path, answer in made.items()]
    routes += [Route("/openapi.json", _description), *archive_api.routes(table, streaming)]
    static = Mount("/static", StaticFiles(packages=[("webtable.explorer", "static")]))
    return Starlette(
        routes=[*routes, static],
        middleware=[Middleware(Guard, access=access or Access())],
        exception_handlers={WebTableError: failed},
    )


async def _sheet(
    table: WebTable, streaming: Streaming, pages: Pages, name: str, view: View, request: Request
) -> Response:
    """Return the page or the file that a *view* makes."""
    asked = AskedPage(table, request, name, view.options)

    sheet = await streaming.value(partial(view.make, asked))
    if asked.is_file and sheet.parts is None and not sheet.problem:
        needed = next(one for one in view.options if one.is_needed)
        raise InvalidArgument(f"{needed.name} is needed: {needed.help}")
    media, headers = MEDIA.get(asked.ending, "text/html"), {}

    def make(outlet: Outlet) -> None:
        if asked.ending == "json":
            write_json(outlet, asked, sheet, table)
        elif asked.is_file:
            write_file(outlet, asked, sheet, table)
        else:
            for piece in pages.pieces(asked, sheet, parts_of(sheet, table)):
                outlet.write(piece)

    if asked.is_file and asked.ending != "json":
        if asked.ending != "jsonl":
            headers["content-disposition"] = f'attachment; filename="{asked.path.rpartition("/")[2]}"'
        return LateResponse(streaming, make, media, headers)
    return streaming.response(make, media, sheet.status)


async def _raw(table: WebTable, streaming: Streaming, answer: Raw, request: Request) -> Response:
    return await streaming.value(lambda: answer(AskedPage(table, request, "", ())))


def _description(request: Request) -> Response:
    """Return the description; its server is the address at which it was asked for, with the token if that has one."""
    return JSONResponse(openapi(request.scope.get("root_path", "") or "/"))
