"""The application: which request is answered by what."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.routing import Route

from webtable import WebTable
from webtable.errors import DamagedRow, InvalidArgument, StoreError, WebTableError
from webtable.explorer import page_model
from webtable.explorer.archive_api import cdx, memento
from webtable.explorer.archive_api.server import ArchiveServer, Blocks
from webtable.explorer.counts import RecentCounts
from webtable.explorer.http import Access, Guard, LateResponse, Streaming
from webtable.explorer.page_model import Explored
from webtable.explorer.rendering import StaticFiles, Templates
from webtable.explorer.views.routes import RAW_ROUTES, ROUTES, ViewRoute

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp


def create_app(table: WebTable, access: Access | None = None) -> ASGIApp:
    """Return the explorer of *table* as an ASGI application, for requests that *access* allows.

    The application has no way to write into the table, which stays open when it ends.
    """
    # The view of the store refuses to write, whatever a page of the explorer would call. All requests share it.
    table = WebTable(table.store.reading(), table.table, table.layout, strict=table.strict)
    static = StaticFiles()
    explored, templates = Explored(table, Streaming(), RecentCounts(table)), Templates(table.name, static)
    answers: dict[str, Callable[[Request], Awaitable[Response]]] = {
        path: partial(_view, explored, templates, name, route)
        for name, route in ROUTES.items()
        for path in (f"/{name}.{{ending}}", route.path or f"/{name}")
    }
    answers |= {path: partial(_raw, explored, answer) for path, answer in RAW_ROUTES.items()}
    archive = ArchiveServer(table, explored.streaming, Blocks())
    answers |= {
        "/cdx": partial(cdx.answer, archive, is_wayback=False),
        "/cdx/search/cdx": partial(cdx.answer, archive, is_wayback=True),
        "/timegate/{url:rest}": partial(memento.timegate, archive),
        "/timemap/{form}/{url:rest}": partial(memento.timemap, archive),
        "/web/{time}/{url:rest}": partial(memento.memento, archive),
        "/static/{name}": static.response,
    }
    routes = [Route(path, answer) for path, answer in answers.items()]
    failed = partial(_failed, templates)
    app = Starlette(routes=routes, exception_handlers=dict.fromkeys([WebTableError, HTTPException, Exception], failed))
    return Guard(app, access or Access())  # around all of it: Starlette's own answer to an error has its headers, too


def _failed(templates: Templates, request: Request, exc: Exception) -> Response:
    """Return the page that says what went wrong, and what to do."""
    path = request.url.path
    if isinstance(exc, HTTPException):
        title, status, problem = "There is no such page", exc.status_code, f"The explorer has no page {path}"
        step = "The menu above has all questions; the field beside it finds pages, hosts and words."
    elif isinstance(exc, StoreError) and not isinstance(exc, DamagedRow):
        title, status, problem = "The store does not answer", 503, str(exc)
        step = "Try again; webtable doctor finds out why."
    elif isinstance(exc, WebTableError):
        title, status, problem = "This cannot be answered", 400, str(exc)
        step = "Change the address, or type what you look for above."
    else:
        title, status, problem = "Something broke in the explorer", 500, f"{type(exc).__name__} at {path}"
        step = "Its server has printed the traceback. Please report it with that."
    if path.endswith(".json"):
        return JSONResponse({"problem": problem}, status)
    view = page_model.View(title, None, problem=problem, next_step=step)
    return HTMLResponse("".join(templates.pieces(page_model.Linker(request), view)), status)


async def _view(explored: Explored, templates: Templates, name: str, route: ViewRoute, request: Request) -> Response:
    """Return the page or the file that a *route* leads to."""
    table, streaming, _ = explored
    view_request = page_model.ViewRequest(explored, request, name, route.options)

    view = await streaming.value(partial(route.make, view_request))
    if view_request.is_file and view.parts is None and not view.problem:
        needed = next(option for option in route.options if option.is_needed)
        raise InvalidArgument(f"{needed.name} is needed: {needed.help}")
    media, headers = page_model.MEDIA.get(view_request.ending, "text/html"), dict[str, str]()
    pieces: Generator[bytes | str]
    if not view_request.is_file:
        pieces = templates.pieces(view_request, view, page_model.parts_of(view, table))
    elif view_request.ending == "json":
        pieces = page_model.json_pieces(view_request, view, table)
    else:
        # JSON says in itself what went wrong; of other files a status is all that can, so it waits for the first bytes.
        if view_request.ending != "jsonl":
            headers["content-disposition"] = f'attachment; filename="{view_request.path.rpartition("/")[2]}"'
        return LateResponse(streaming.body(page_model.file_pieces(view_request, view, table)), media, headers)
    return StreamingResponse(streaming.body(pieces), view.status, media_type=media)


async def _raw(explored: Explored, answer: Callable[[page_model.ViewRequest], Response], request: Request) -> Response:
    return await explored.streaming.value(lambda: answer(page_model.ViewRequest(explored, request, "", ())))
