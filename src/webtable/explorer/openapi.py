"""The description of all that programs can ask, as OpenAPI 3.1: made of what pages and questions declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webtable.explorer.archive_api.cdx import MANY, NUMBERS, PARAMETERS
from webtable.explorer.page_model import MEDIA, words
from webtable.explorer.views.routes import ROUTES
from webtable.questions import LISTINGS, Listing, ListingOption

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# --- The protocols of web archives, and how an operation and its parameters are written -------------------------------


JSON = dict[str, Any]
TEXT: Final[JSON] = {"type": "string"}
_LINKS: Final = "The original, the TimeGate, the TimeMap, and the versions around this one."
_HEADERS: Final = {
    "Memento-Datetime": {"description": "When this version was fetched.", "schema": TEXT},
    "Link": {"description": _LINKS, "schema": TEXT},
}
_NOT_FOUND: Final = {"404": {"description": "No version is stored."}}


def paths() -> JSON:
    """Return the paths of the protocols."""
    url = path("url", "The URL of the page, as it is, with its slashes and its query, or quoted as a whole.", TEXT)
    time = path("time", "Up to 14 digits, as in 2026 or 20261120103000.", {**TEXT, "pattern": "^[0-9]{1,14}$"})
    form = path("form", "The format.", {**TEXT, "enum": ["link", "json"]})
    about = "A date of HTTP; without it, the newest version is meant."
    accepted = {"name": "Accept-Datetime", "in": "header", "required": False, "schema": TEXT, "description": about}
    body = {"description": "The version.", "headers": _HEADERS, "content": _content("*/*")}
    moved = {"302": {"description": "To the version nearest to the time."}}
    listed = _content("application/link-format", "application/json")
    lines = {"200": {"description": "All versions, the oldest first.", "content": listed}} | _NOT_FOUND
    shown = {"200": body} | _NOT_FOUND | moved
    return {
        "/cdx": _cdx("cdx", "pywb"),
        "/cdx/search/cdx": _cdx("cdx-search-cdx", "the Wayback Machine"),
        "/timegate/{url}": operation("timegate", "memento", "The version nearest to a time", [url, accepted], moved),
        "/timemap/{form}/{url}": operation("timemap", "memento", "All versions of a page", [form, url], lines),
        "/web/{time}/{url}": operation("memento", "memento", "A version as a browser shows it", [time, url], shown),
        "/web/{time}id_/{url}": operation("body", "memento", "The stored body", [time, url], shown),
    }


def operation(
    name: str, tag: str, summary: str, parameters: Iterable[JSON], responses: JSON, about: str | None = None
) -> JSON:
    """Return the operation of a path."""
    described = {"operationId": name, "tags": [tag], "summary": summary, "parameters": list(parameters)}
    wrong = {"400": {"description": "A sentence that says what cannot be asked so."}}
    return {"get": described | ({"description": about} if about else {}) | {"responses": responses | wrong}}


def query(name: str, about: str, schema: JSON, *, is_needed: bool = False) -> JSON:
    """Return a parameter in the query."""
    return {"name": name, "in": "query", "required": is_needed, "description": about, "schema": schema}


def path(name: str, about: str, schema: JSON) -> JSON:
    """Return a parameter in the path."""
    return {"name": name, "in": "path", "required": True, "description": about, "schema": schema}


def _cdx(name: str, like: str) -> JSON:
    def schema(parameter: str) -> JSON:
        if parameter in NUMBERS:
            return {"type": "integer", "minimum": NUMBERS[parameter]}
        return {"type": "array", "items": TEXT} if parameter in MANY else TEXT

    parameters = [
        query(parameter, about, schema(parameter), is_needed=parameter == "url")
        for parameter, about in PARAMETERS.items()
    ]
    content = _content("text/plain", "application/json", "application/x-ndjson")
    answer = {"200": {"description": "A line for each version, or with output=json JSON.", "content": content}}
    return operation(
        name, "cdx", f"The stored versions of pages, as {like} lists them", parameters, answer | _NOT_FOUND
    )


def _content(*media: str) -> JSON:
    return {name: {"schema": TEXT} for name in media}


# --- The questions and the pages --------------------------------------------------------------------------------------


_TYPES: Final = {"number": "integer", "fraction": "number", "flag": "boolean"}
_FORMS: Final = {
    "time": " A date, a time in ISO 8601, or how long ago: 2026-11-20, 2026-11-20T10:30, 7d, 12h, yesterday.",
    "size": " Bytes, as in 500 or 5MB.",
}
_ABOUT: Final = (
    "Questions about a crawl, and the protocols of web archives over it. It only reads. The token is a bearer token, "
    "or begins the path: /-/TOKEN/cdx?url=… A stored body (/page/raw) and rendered markup (/page/rendered) have no "
    "rows, and so no files."
)
_PROBLEM: Final = {"type": ["string", "null"], "description": "What ended the answer too early."}
_NEXT: Final = {"type": ["string", "null"], "description": "The token to go on, if there is more."}


def openapi(server: str) -> dict[str, Any]:
    """Return the description for the explorer at the address *server*."""
    questions = {f"/q/{name.replace('_', '-')}.{{ending}}": _question(listing) for name, listing in LISTINGS.items()}
    part = query("part", "The part of the page in other files than JSON, which has all; its first without it.", TEXT)
    views = {
        f"/{name}.{{ending}}": _answer(name.replace("/", "-"), "pages", route.about, route.options, [part], {})
        for name, route in ROUTES.items()
        if "{" not in name
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "webtable explorer", "version": "1", "description": _ABOUT},
        "servers": [{"url": server}],
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": questions | views | paths(),
    }


def _question(listing: Listing) -> dict[str, Any]:
    array = {"type": "array", "items": {"type": "string", "enum": list(listing.columns.names)}}
    more = [
        query("order", "The order of the answer.", {**TEXT, "enum": list(listing.orders)}),
        query("limit", "The most results.", {"type": "integer", "minimum": 1}),
        query("after", "The token `next` of an answer, after which this one begins.", TEXT),
        {**query("columns", "The columns, with commas between them.", array), "style": "form", "explode": False},
    ]
    results = {"results": {"type": "array", "items": {"type": "object"}}, "next": _NEXT}
    name = listing.name.replace("_", "-")
    return _answer(name, "questions", words(listing.name), listing.options, more, results, listing.help)


def _answer(
    name: str,
    tag: str,
    summary: str,
    options: Sequence[ListingOption],
    more: Sequence[dict[str, Any]],
    results: dict[str, Any],
    about: str | None = None,
) -> dict[str, Any]:
    whole = {"type": "object", "properties": {**results, "problem": _PROBLEM}}
    content = {media: {"schema": whole if media == MEDIA["json"] else TEXT} for media in MEDIA.values()}
    ending = path("ending", "The format.", {**TEXT, "enum": list(MEDIA)})
    answered = {"200": {"description": "The whole answer, or so much of it as `limit` says.", "content": content}}
    return operation(name, tag, summary, [ending, *map(_option, options), *more], answered, about)


def _option(option: ListingOption) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES.get(option.kind, "string")}
    schema |= {"enum": list(option.choices)} if option.choices else {}
    schema |= {"default": option.default} if option.default is not None else {}
    schema = {"type": "array", "items": schema} if option.is_many else schema
    return query(option.name, option.help + _FORMS.get(option.kind, ""), schema, is_needed=option.is_needed)
