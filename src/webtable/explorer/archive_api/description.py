"""The description of the protocols as OpenAPI 3.1, and how an operation and its parameters are written there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webtable.explorer.archive_api.cdx_query import MANY, NUMBERS, PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Iterable

JSON = dict[str, Any]
TEXT: Final[JSON] = {"type": "string"}
_HEADERS: Final = {
    name: {"description": said, "schema": TEXT}
    for name, said in (
        ("Memento-Datetime", "When this version was fetched."),
        ("Link", "The original, the TimeGate, the TimeMap, and the versions around this one."),
    )
}
_NOT_FOUND: Final = {"404": {"description": "No version is stored."}}


def paths() -> JSON:
    """Return the paths of the protocols."""
    url = path("url", "The URL of the page, as it is, with its slashes and its query, or quoted as a whole.", TEXT)
    time = path("time", "Up to 14 digits, as in 2026 or 20261120103000.", {**TEXT, "pattern": "^[0-9]{1,14}$"})
    form = path("form", "The format.", {**TEXT, "enum": ["link", "json"]})
    accepted = {"name": "Accept-Datetime", "in": "header", "required": False, "schema": TEXT}
    accepted["description"] = "A date of HTTP; without it, the newest version is meant."
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
    said = {"operationId": name, "tags": [tag], "summary": summary, "parameters": list(parameters)}
    wrong = {"400": {"description": "A sentence that says what cannot be asked so."}}
    return {"get": said | ({"description": about} if about else {}) | {"responses": responses | wrong}}


def query(name: str, about: str, schema: JSON, *, is_needed: bool = False) -> JSON:
    """Return a parameter in the query."""
    return {"name": name, "in": "query", "required": is_needed, "description": about, "schema": schema}


def path(name: str, about: str, schema: JSON) -> JSON:
    """Return a parameter in the path."""
    return {"name": name, "in": "path", "required": True, "description": about, "schema": schema}


def _cdx(name: str, like: str) -> JSON:
    def schema(one: str) -> JSON:
        if one in NUMBERS:
            return {"type": "integer", "minimum": NUMBERS[one]}
        return {"type": "array", "items": TEXT} if one in MANY else TEXT

    asked = [query(one, said, schema(one), is_needed=one == "url") for one, said in PARAMETERS.items()]
    content = _content("text/plain", "application/json", "application/x-ndjson")
    answer = {"200": {"description": "A line for each version, or with output=json JSON.", "content": content}}
    return operation(name, "cdx", f"The stored versions of pages, as {like} lists them", asked, answer | _NOT_FOUND)


def _content(*media: str) -> JSON:
    return {one: {"schema": TEXT} for one in media}
