"""The CDX server: a line for each stored version of each page, by the parameters of pywb and of the Wayback Machine.

Both use the same parameters, and differ in what they mean. `/cdx` answers as pywb does: `output=json` is an object in
each line, an expression of a filter matches the beginning, no line at all is 404, and a page after the last one 400.
`/cdx/search/cdx` answers as the Wayback Machine does: `output=json` is one array of arrays, of which the first has the
names; an expression matches all of a field, and a page after the last one is empty. Clients that know both, such as
cdx-toolkit, go by the form of the answer.

The lines of an exact question come by time. Those of another one come in the order of the table, by reversed host,
path, query and scheme, those of a page by time; they are sent while the table is read.
"""

from __future__ import annotations

import json
import string
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import quote

from webtable.errors import InvalidArgument
from webtable.explorer.archive_api.cdx_query import query_of, value_of
from webtable.explorer.archive_api.server import BlockStart, pages_of
from webtable.explorer.http.streaming import LateResponse, NoCapture

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from webtable import Page, WebTable
    from webtable.explorer.archive_api.cdx_query import CdxQuery, Collapse
    from webtable.explorer.archive_api.server import ArchiveServer
    from webtable.explorer.http.streaming import Outlet


async def answer(server: ArchiveServer, request: Request, *, is_wayback: bool) -> Response:
    """Return what pywb would answer, or the Wayback Machine."""
    given = {name: request.query_params.getlist(name) for name in request.query_params}
    is_json = given.get("output") == ["json"]

    def make(outlet: Outlet) -> None:
        query = query_of(given, is_wayback=is_wayback)
        for line in (_counts if query.is_count else _answer)(server, server.table, query):
            outlet.write(line)

    media = ("application/json" if is_wayback else "application/x-ndjson") if is_json else "text/plain"
    return LateResponse(server.streaming, make, media)


def _counts(server: ArchiveServer, table: WebTable, query: CdxQuery) -> Iterator[str]:
    blocks = len(server.blocks.starts(table, query.sites)) if query.sites else 1
    pages = -(-blocks // query.page_size)
    counts = {"blocks": blocks, "pages": pages, "pageSize": query.page_size}
    yield f"{pages if query.is_wayback else json.dumps(counts)}\n"


def _answer(server: ArchiveServer, table: WebTable, query: CdxQuery) -> Iterator[str]:
    start: BlockStart | None = BlockStart()
    if query.page:
        start = server.blocks.start(table, query.sites, query.page * query.page_size)
    if start is None:
        if query.is_wayback:
            return
        raise InvalidArgument(f"page={query.page} is after the last one")
    versions = _versions(table, query, start)
    for collapse in query.collapse:
        versions = _collapsed(versions, collapse)
    if query.limit is not None:
        versions = islice(versions, query.limit) if query.limit >= 0 else iter(deque(versions, -query.limit))
    if query.is_wayback and query.output == "json":
        yield from _array(versions, query.fields)
        return
    is_empty = True
    for version in versions:
        is_empty = False
        yield _line(version, query)
    if is_empty and not query.is_wayback:
        raise NoCapture(f"No Captures found for: {query.url[:1_000]}")


def _versions(table: WebTable, query: CdxQuery, start: BlockStart) -> Iterator[Page]:
    """Yield the versions that are wanted, in the order that is wanted."""
    if query.urls:
        found = [version for url in query.urls for version in table.history(url) if query.wants(version)]
        found.sort(key=lambda version: version.fetched_at, reverse=query.order == "reverse")
        if (closest := query.closest) is not None:
            found.sort(key=lambda version: abs(version.fetched_at - closest))
        yield from found
        return
    pages = pages_of(table, query.sites, start, None if query.page is None else query.page_size)
    for versions in table.history_many(page.url for page in filter(query.wants_page, pages)):
        yield from filter(query.wants, reversed(versions))


def _collapsed(versions: Iterable[Page], collapse: Collapse) -> Iterator[Page]:
    before = None
    for version in versions:
        value = value_of(version, collapse.field)[: collapse.characters]
        if value != before:
            yield version
        before = value


def _line(version: Page, query: CdxQuery) -> str:
    values = {field: value_of(version, field) for field in query.fields}
    match query.output:
        case "json":
            return f"{json.dumps(values)}\n"
        case "text":
            return " ".join(quote(value, safe=string.punctuation) or "-" for value in values.values()) + "\n"
    rest = {field: value for field, value in values.items() if field not in {"urlkey", "timestamp"}}
    return f"{value_of(version, 'urlkey')} {value_of(version, 'timestamp')} {json.dumps(rest)}\n"


def _array(versions: Iterable[Page], fields: Sequence[str]) -> Iterator[str]:
    """Yield an array of the versions, each an array in which the first one names the *fields*; [] without versions."""
    between = f"[{json.dumps(fields)},\n"
    for version in versions:
        yield between + json.dumps([value_of(version, field) for field in fields])
        between = ",\n"
    yield "[]\n" if between.startswith("[") else "]\n"
