"""The description of all that programs can ask, as OpenAPI 3.1: made of what pages and questions declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webtable.explorer.archive_api import description
from webtable.explorer.archive_api.description import TEXT, operation, query
from webtable.explorer.rendering import words
from webtable.explorer.rows import MEDIA
from webtable.explorer.views.routes import VIEWS
from webtable.questions import LISTINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.questions import Listing, ListingOption

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
    questions = {f"/q/{name.replace('_', '-')}.{{ending}}": _question(one) for name, one in LISTINGS.items()}
    part = query("part", "The part of the page in other files than JSON, which has all; its first without it.", TEXT)
    views = {
        f"/{name}.{{ending}}": _answer(name.replace("/", "-"), "pages", one.about, one.options, [part], {})
        for name, one in VIEWS.items()
        if "{" not in name
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "webtable explorer", "version": "1", "description": _ABOUT},
        "servers": [{"url": server}],
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": questions | views | description.paths(),
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
    ending = description.path("ending", "The format.", {**TEXT, "enum": list(MEDIA)})
    answered = {"200": {"description": "The whole answer, or so much of it as `limit` says.", "content": content}}
    return operation(name, tag, summary, [ending, *map(_option, options), *more], answered, about)


def _option(option: ListingOption) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES.get(option.kind, "string")}
    schema |= {"enum": list(option.choices)} if option.choices else {}
    schema |= {"default": option.default} if option.default is not None else {}
    schema = {"type": "array", "items": schema} if option.is_many else schema
    return query(option.name, option.help + _FORMS.get(option.kind, ""), schema, is_needed=option.is_needed)
