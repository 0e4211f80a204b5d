"""The description of all that programs can ask, as OpenAPI 3.1: made of what the questions declare of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse

from webtable.explorer.listings import MEDIA
from webtable.explorer.protocols.cdx_query import PARAMETERS
from webtable.explorer.rendering import dashed, words
from webtable.questions import LISTINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from webtable.explorer.explorer import Explorer
    from webtable.questions import Listing, ListingOption

JSON = dict[str, Any]
_TYPES: Final = {"number": "integer", "fraction": "number", "flag": "boolean"}
_TEXT: Final[JSON] = {"type": "string"}
_FORMS: Final = {
    "time": " A date, a time in ISO 8601, or how long ago: 2026-11-20, 2026-11-20T10:30, 7d, 12h, yesterday.",
    "size": " Bytes, as in 500 or 5MB.",
}
_WHOLE_URL: Final = "The URL of the page, as it is, with its slashes and its query, or quoted as a whole."
_HEADERS: Final = {
    name: {"description": said, "schema": _TEXT}
    for name, said in (
        ("Memento-Datetime", "When this version was fetched."),
        ("Link", "The original, the TimeGate, the TimeMap, and the versions around this one."),
    )
}


def description(_: Explorer, request: Request) -> Response:
    """Return the description; its server is the address at which it was asked for, with the token if that has one."""
    return JSONResponse(openapi(request.scope.get("root_path", "") or "/"))


def openapi(server: str) -> JSON:
    """Return the description for the explorer at the address *server*."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "webtable explorer",
            "version": "1",
            "description": "Questions about a crawl, and the protocols of web archives over it. It only reads. "
            "The token is a bearer token, or begins the path: /-/TOKEN/cdx?url=…",
        },
        "servers": [{"url": server}],
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {f"/q/{dashed(name)}.{{ending}}": _question(listing) for name, listing in LISTINGS.items()}
        | {f"/cdx{path}": _cdx(path, like) for path, like in (("", "pywb"), ("/search/cdx", "the Wayback Machine"))}
        | _mementos(),
    }


def _question(listing: Listing) -> JSON:
    array = {"type": "array", "items": {"type": "string", "enum": list(listing.columns.names)}}
    parts = [
        _query("order", "The order of the answer.", {**_TEXT, "enum": list(listing.orders)}),
        _query("limit", "The most results.", {"type": "integer", "minimum": 1}),
        _query("after", "The token `next` of an answer, after which this one begins.", _TEXT),
        {**_query("columns", "The columns, with commas between them.", array), "style": "form", "explode": False},
    ]
    whole = {
        "type": "object",
        "properties": {
            "results": {"type": "array", "items": {"type": "object"}},
            "next": {"type": ["string", "null"], "description": "The token to go on, if there is more."},
            "problem": {"type": ["string", "null"], "description": "What ended the answer too early."},
        },
    }
    content = {media: {"schema": whole if media == MEDIA["json"] else _TEXT} for media in MEDIA.values()}
    ending = _path("ending", "The format.", {**_TEXT, "enum": list(MEDIA)})
    return _get(
        dashed(listing.name),
        "questions",
        words(listing.name),
        [ending, *map(_option, listing.options), *parts],
        {"200": {"description": "The whole answer, or so much of it as `limit` says.", "content": content}},
        listing.help,
    )


def _option(option: ListingOption) -> JSON:
    schema: JSON = {"type": _TYPES.get(option.kind, "string")}
    schema |= {"enum": list(option.choices)} if option.choices else {}
    schema |= {"default": option.default} if option.default is not None else {}
    schema = {"type": "array", "items": schema} if option.is_many else schema
    return _query(option.name, option.help + _FORMS.get(option.kind, ""), schema, is_needed=option.is_needed)


def _cdx(path: str, like: str) -> JSON:
    numbers = {"limit": None, "page": 0, "pageSize": 1}

    def schema(name: str) -> JSON:
        if name in numbers:
            return {"type": "integer"} | ({} if numbers[name] is None else {"minimum": numbers[name]})
        return {"type": "array", "items": _TEXT} if name in {"filter", "collapse"} else _TEXT

    asked = [_query(name, said, schema(name), is_needed=name == "url") for name, said in PARAMETERS.items()]
    content = {media: {"schema": _TEXT} for media in ("text/plain", "application/json", "application/x-ndjson")}
    answer = {"description": "A line for each version, or with output=json JSON.", "content": content}
    name = f"cdx{path.replace('/', '-')}"
    return _get(name, "cdx", f"The stored versions of pages, as {like} lists them", asked, _answers(answer))


def _mementos() -> JSON:
    url = _path("url", _WHOLE_URL, _TEXT)
    time = _path("time", "Up to 14 digits, as in 2026 or 20261120103000.", {**_TEXT, "pattern": "^[0-9]{1,14}$"})
    form = _path("form", "The format.", {**_TEXT, "enum": ["link", "json"]})
    accepted = {"name": "Accept-Datetime", "in": "header", "required": False, "schema": _TEXT}
    accepted["description"] = "A date of HTTP; without it, the newest version is meant."
    body = {"description": "The version.", "headers": _HEADERS, "content": {"*/*": {"schema": _TEXT}}}
    moved = {"302": {"description": "To the version nearest to the time."}}
    listed = {media: {"schema": _TEXT} for media in ("application/link-format", "application/json")}
    lines = {"description": "All versions, the oldest first.", "content": listed}
    return {
        "/timegate/{url}": _get("timegate", "memento", "The version nearest to a time", [url, accepted], moved),
        "/timemap/{form}/{url}": _get("timemap", "memento", "All versions of a page", [form, url], _answers(lines)),
        "/web/{time}/{url}": _get(
            "memento", "memento", "A version as a browser shows it", [time, url], _answers(body) | moved
        ),
        "/web/{time}id_/{url}": _get("body", "memento", "The stored body", [time, url], _answers(body) | moved),
    }


def _answers(answer: Mapping[str, Any]) -> JSON:
    return {"200": answer, "404": {"description": "No version is stored."}}


def _get(
    name: str, tag: str, summary: str, parameters: Iterable[JSON], responses: JSON, about: str | None = None
) -> JSON:
    said = {"operationId": name, "tags": [tag], "summary": summary, "parameters": list(parameters)}
    wrong = {"400": {"description": "A sentence that says what cannot be asked so."}}
    return {"get": said | ({"description": about} if about else {}) | {"responses": responses | wrong}}


def _query(name: str, about: str, schema: JSON, *, is_needed: bool = False) -> JSON:
    return {"name": name, "in": "query", "required": is_needed, "description": about, "schema": schema}


def _path(name: str, about: str, schema: JSON) -> JSON:
    return {"name": name, "in": "path", "required": True, "description": about, "schema": schema}
