"""The pages and files of the questions that list records: one for each, made of what it declares of itself."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, urlencode

from webtable.errors import InvalidArgument, WebTableError
from webtable.explorer.late_response import LateResponse
from webtable.explorer.reading import Gone, reading
from webtable.explorer.rendering import Ending, Linker, dashed, problem_of, rows_of, words
from webtable.formats import write
from webtable.questions import LISTINGS, Limited

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from webtable import WebTable
    from webtable.explorer.explorer import Explorer
    from webtable.explorer.streaming import Outlet
    from webtable.questions import Column, Listing, ListingOption

ROWS: Final = 100
"""Rows of a page."""
MEDIA: Final = {
    "json": "application/json",
    "jsonl": "application/jsonl",
    "csv": "text/csv; charset=utf-8",
    "csv_raw": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
"""The media types of the files, by their endings."""
_JSON = frozenset({"json", "jsonl"})
_PARTS = frozenset({"order", "limit", "after", "columns", "as_of"})


class AskedListing:
    """What a request asks of a *listing*: the arguments of its method, and which part of the answer."""

    def __init__(self, listing: Listing, query: Mapping[str, Sequence[str]]) -> None:
        self.listing: Final = listing
        if unknown := sorted(query.keys() - listing.takes - _PARTS):
            known = ", ".join(sorted(listing.takes | _PARTS))
            raise InvalidArgument(f"{unknown[0]}: not an option of {listing.name}; these are: {known}")
        if "until" in listing.takes and not any(query.get("until", ())):
            query = {**query, "until": query.get("as_of", ())}
        # A moment that a method needs, such as `since`, is no needed option: the method itself says what is missing.
        missing = {one.name: None for one in listing.options if one.default is None and one.kind == "time"}
        self.arguments: Final[dict[str, Any]] = {**missing, **listing.arguments(query)}
        given = {name: texts[-1] for name, texts in query.items() if texts and texts[-1]}
        self.limit: Final = _limit(given.get("limit"))
        self.columns: Final = [name.strip() for name in given.get("columns", "").split(",") if name.strip()] or None
        for name in ("order", "after"):
            if name in given:
                self.arguments[name] = given[name]
        if listing.is_of_pages and self.columns:
            self.arguments["columns"] = self.columns

    def answer(self, table: WebTable, most: int | None) -> Limited[Any]:
        """Return the answer, of at most *most* records."""
        limit = None if most is None else most + 1
        return Limited(self.listing.ask(table, {**self.arguments, "limit": limit}), most)


class QuestionPage:
    """What a page shows of a *listing*: its form, which is sent to *path*, and the answer to *query*, or its `problem`.

    *fixed* are options that the page itself gives, such as its site.
    """

    def __init__(
        self,
        listing: Listing,
        linker: Linker,
        path: str,
        query: Mapping[str, Sequence[str]],
        fixed: Mapping[str, Sequence[str]] = {},
    ) -> None:
        self.problem: str = ""
        self._listing, self._linker, self._path = listing, linker, path
        self._query, self._fixed = query, fixed
        self._asked: AskedListing | None = None
        given = {**query, **fixed}
        if given.keys() - {"as_of"} or not any(option.is_needed for option in listing.options):
            try:
                self._asked = AskedListing(listing, given)
            except WebTableError as exc:
                self.problem = str(exc)

    def values(self, table: WebTable) -> dict[str, Any]:
        """Return the values for a template that includes answer.html; *table* is read while the rows are."""
        ending, said = Ending(), self.problem
        columns: Sequence[Column] = ()
        rows = None
        if self._asked is not None:
            try:
                listed = self._asked.answer(table, min(self._asked.limit or ROWS, 1_000))
                columns = self._listing.columns.chosen(self._asked.columns or self._listing.columns.listed)
                rows = self._rows(listed, columns, ending)
            except Gone:
                raise
            except WebTableError as exc:
                said = problem_of(exc)
        asked = urlencode({**self._query, **self._fixed}, doseq=True)
        return {
            "listing": self._listing,
            "action": self._linker.root + quote(self._path),
            "fields": [one for one in _fields(self._listing, self._query) if one["name"] not in self._fixed],
            "problem": said,
            "columns": columns,
            "rows": rows,
            "after": ending,
            "formats": MEDIA,
            "file_link": lambda name: f"{self._linker.root}/q/{dashed(self._listing.name)}.{name}?{asked}",
        }

    def _rows(self, listed: Limited[Any], columns: Sequence[Column], ending: Ending) -> Iterator[Any]:
        yield from rows_of(listed, columns, self._linker, ending)
        if listed.next_token is not None:
            ending.next = self._linker.link(self._path, **{**self._query, "after": listed.next_token})


def page(explorer: Explorer, request: Request) -> Response:
    """Return the page of a question; without what it needs, its form alone."""
    listing, linker = _listing(request), Linker(request)
    answer = QuestionPage(listing, linker, f"/q/{dashed(listing.name)}", query_of(request))

    def make(outlet: Outlet) -> None:
        values = answer.values(reading(explorer.table, outlet.gone))
        explorer.pages.write(outlet, "listing.html", linker, words(listing.name), **values)

    return explorer.streaming.response(make, "text/html", 400 if answer.problem else 200)


def query_of(request: Request) -> dict[str, list[str]]:
    """Return the options in the URL of *request*, by name."""
    return {name: request.query_params.getlist(name) for name in request.query_params}


def file(explorer: Explorer, request: Request) -> Response:
    """Return the whole answer to a question as a file, or with `limit` so much of it, and a token to go on."""
    listing, ending = _listing(request), request.path_params["ending"]
    if ending not in MEDIA:
        raise InvalidArgument(f"there is no format {ending!r}: one of {', '.join(MEDIA)}")
    asked = AskedListing(listing, query_of(request))

    usual = [one.name for one in listing.columns.in_json()] if ending in _JSON else listing.columns.usual
    columns = asked.columns or usual

    def make(outlet: Outlet) -> None:
        listed = asked.answer(reading(explorer.table, outlet.gone), asked.limit)
        if ending == "json":
            _write_json(outlet, listed, columns)
        else:
            write(listed, cast("IO[bytes]", outlet), format=ending, columns=columns)

    name = f"{dashed(listing.name)}.{ending}"
    headers = {} if ending in _JSON else {"content-disposition": f'attachment; filename="{name}"'}
    return LateResponse(explorer.streaming, make, MEDIA[ending], headers)


def _write_json(outlet: Outlet, listed: Limited[Any], columns: Sequence[str]) -> None:
    """Write an object with the results, and with the token after them, which is known at the end."""
    outlet.write('{"results": [')
    problem = None
    try:
        write(listed, cast("IO[bytes]", _Array(outlet)), format="jsonl", columns=columns)
    except Gone:
        raise
    except (WebTableError, OSError) as exc:
        problem = str(exc)
    outlet.write(f'\n], "next": {json.dumps(listed.next_token)}, "problem": {json.dumps(problem)}}}\n')


class _Array:
    """Where lines of JSON are written as the elements of an array."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._between = b"\n"

    def write(self, line: bytes) -> int:
        self._outlet.write(self._between + line.rstrip(b"\n"))
        self._between = b",\n"
        return len(line)


def _listing(request: Request) -> Listing:
    name = request.path_params["name"].replace("-", "_")
    if name not in LISTINGS:
        raise InvalidArgument(f"there is no question {name!r}: one of {', '.join(LISTINGS)}")
    return LISTINGS[name]


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or text == "0":
        raise InvalidArgument(f"limit={text!r} must be a number of results, 1 or more")
    return int(text)


def _fields(listing: Listing, query: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return the fields of the form of a *listing*, with what was given."""
    fields = [_field(option, query) for option in listing.options]
    order = {"name": "order", "help": "The order of the answer.", "kind": "text", "choices": listing.orders}
    columns = {
        "name": "columns",
        "help": f"Of these: {', '.join(listing.columns.names)}",
        "kind": "text",
        "choices": (),
    }
    for one in (order, columns):
        value = (query.get(str(one["name"])) or [""])[-1]
        fields.append({**one, "value": value, "is_needed": False, "is_many": False, "placeholder": ""})
    return fields


def _field(option: ListingOption, query: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    given = query.get(option.name) or [""]
    return {
        "name": option.name,
        "help": option.help,
        "kind": option.kind,
        "choices": option.choices,
        "is_needed": option.is_needed,
        "is_many": option.is_many,
        "value": given[-1],
        "placeholder": query.get("as_of", [""])[-1] if option.name == "until" else option.default or "",
    }
