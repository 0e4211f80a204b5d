"""The pages about one stored page: its capture, versions, text and links, its place in the store, and its body."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from webtable.answers import Change
from webtable.display.addresses import decoded, exact
from webtable.errors import DamagedRow
from webtable.explorer.http import SANDBOX, inert
from webtable.explorer.page_model import URL, PagePart, Rows, View, ViewRequest, facts
from webtable.questions import LISTINGS, Column, ListingOption, column
from webtable.rowkey import WebKey, key_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable import Page, WebTable
    from webtable.answers import Difference


# --- Versions and their differences -----------------------------------------------------------------------------------


# How many versions, the newest ones, and how many differences a page shows; files have all.
MOST_VERSIONS: Final = 200
MOST_ROWS: Final = 5_000
# A difference has these itself, so the comparison of the captures leaves them out.
_COMPARED_ALREADY: Final = frozenset({"status", "title"})
OLD: Final = ListingOption("old", "The moment of one version; that before the other one without it.")
NEW: Final = ListingOption("new", "The moment of the other version; the newest without it.")


def history(request: ViewRequest) -> View:
    """Return the page of all versions of a URL."""
    url = request.url()
    rows = versions(request, request.table, url)
    view = View("Versions", lambda _: [PagePart("versions", lambda: rows, look="versions")], address=url)
    if not rows.records:
        view.status, view.problem = 404, f"It is not stored: {url}"
    return view


def versions(request: ViewRequest, table: WebTable, url: str, limit: int | None = None) -> Rows:
    """Return the versions of *url*, the newest first, up to *limit* of them."""
    pages = list(table.history(url))
    older = {exact(new.fetched_at): old for new, old in pairwise(pages)}

    def changed(page: Page) -> str | None:
        old = older.get(exact(page.fetched_at))
        return None if old is None else ", ".join(Change("changed", url, old, page).changed)

    columns = (
        column("date", "moment", of="fetched_at"),
        column("status", "status"),
        column("changed", of=changed),
        column("size", "bytes"),
        column("title", "title"),
        column("digest", "digest"),
    )
    hrefs = {"date": lambda page: request.link("/page", url=url, as_of=exact(page.fetched_at))}
    shown = columns if request.is_file else [column for column in columns if column.name != "digest"]
    return Rows(shown, pages[:limit], hrefs)


def difference(request: ViewRequest) -> View:
    """Return the page with the differences of two versions, and with the time line on which they are chosen."""
    url, old, new = request.url(), request.option("old") or None, request.option("new") or request.as_of
    for moment in filter(None, (old, new)):
        # It raises for what is no moment, before the page has begun.
        request.table.get(url, as_of=moment, columns=["url"])
    page = request.table.get(url, as_of=new, columns=["url"])
    if page is None:
        return View("Not stored", None, problem=f"It is not stored: {url}", status=404, address=url)
    view = View(page.title or url, lambda table: compared(request, table, url, old, new))
    return headed(request, view, url, page, "History")


def compared(request: ViewRequest, table: WebTable, url: str, old: str | None, new: str | None) -> Iterator[PagePart]:
    """Yield the versions of *url*, of which two can be chosen, and the differences of those that are."""
    if request.is_file:
        difference = table.diff(url, old, new)
        yield PagePart("differences", lambda: Rows(list(map(column, _SIDES)), difference or ()))
        return
    rows = versions(request, table, url, MOST_VERSIONS)
    dates = [exact(page.fetched_at) for page in rows.records]
    if not dates:
        return
    newer = dates.index(new) if new in dates else 0
    # The form shows what is compared, whether the address named it or not.
    older = dates[min(newer + 1, len(dates) - 1)]
    request.query.update({"old": [old or older], "new": [new or dates[0]], "url": [url]})
    more = ("All versions", request.link("/page/history", url=url)) if len(dates) == MOST_VERSIONS else None
    yield PagePart("versions", lambda: rows, look="versions", more=more)
    if len(dates) > 1:
        difference = table.diff(url, old, new)
        if difference is not None:
            title = f"{exact(difference.old.fetched_at)} and {exact(difference.new.fetched_at)}"
            yield PagePart("differences", lambda: _side_by_side(difference), title)


_SIDES: Final = ("part", "name", "old", "new")


def _side_by_side(difference: Difference) -> Rows:
    """Return the differences side by side, those of the metadata of both captures last."""
    rows: list[Any] = [*islice(difference.side_by_side(), MOST_ROWS)]
    if len(difference.text) == 1:  # what cannot be compared by lines is one sentence
        rows.append(("body", difference.text[0], None, None))
    for compared in LISTINGS["pages"].columns.chosen():
        old, new = compared.shown(difference.old), compared.shown(difference.new)
        if old != new and compared.name not in _COMPARED_ALREADY and compared.name not in difference.facts:
            rows.append(("capture", compared.name, old, new))
    columns = [column(name, of=itemgetter(number)) for number, name in enumerate(_SIDES)]
    return Rows(columns, rows, empty="Text, links and headers are the same.")


# --- The page itself --------------------------------------------------------------------------------------------------


MOST_LINKS: Final = 100
MOST_TEXT: Final = 20_000  # characters of the main text
# The tabs of a page, and which of them need a stored page, or its body.
TABS: Final = ("History", "Links in", "Links out", "Text", "Source", "Rendered", "Headers", "Key", "Storage")
_OF_A_PAGE: Final = frozenset({"Links out", "Headers"})
_OF_THE_BODY: Final = frozenset({"Text", "Source", "Rendered"})
_MARKUP: Final = (None, "text/html", "application/xhtml+xml")
_CHOICES: Final = tuple(name.lower().replace(" ", "-") for name in TABS if name != "Source")
OPTIONS: Final = (URL, ListingOption("as_of", "The moment as of which it is shown; now without it.", "time"))
TAB: Final = ListingOption("tab", "What of it a page shows; files have all.", choices=_CHOICES)


def view(request: ViewRequest) -> View:
    """Return the page about a URL; as a file with status 404 if that is not stored."""
    url, tab = request.url(), TAB.value(request.option("tab", "history"))
    try:
        page, problem = request.table.get(url, as_of=request.as_of, columns=["url"]), ""
    except DamagedRow as exc:  # what is around it can be shown: its key, its versions, its region
        page, problem = None, str(exc)
    view = View(url, lambda table: _parts(request, table, url, page, tab))
    if page is not None:
        view.title = page.title or url
    elif not problem:
        problem = f"This page is not stored{f' as of {request.as_of}' if request.as_of else ''}."
        view.next_step = "Below are its row key, its place, and, under Links in, the pages that link to it."
        # A page that others link to is a page of the explorer; for a program that asks for it as a file it is missing.
        view.status = 404 if request.is_file else 200
    view.problem = problem
    return headed(request, view, url, page, next(name for name in TABS if name.lower().replace(" ", "-") == tab))


def headed(request: ViewRequest, view: View, url: str, page: Page | None, tab: str) -> View:
    """Return *view* with what all pages about the stored page *url* have: where it is, what it is, and its tabs."""
    link = request.link
    view.address, view.tab, view.is_now, view.crumbs = url, tab, False, request.above(url)
    for name in TABS:
        is_there = page is not None or name not in _OF_A_PAGE | _OF_THE_BODY
        if name in _OF_THE_BODY and page is not None:
            is_there = page.size is not None and (name != "Rendered" or page.content_type in _MARKUP)
        if is_there:
            view_of = name.lower().replace(" ", "-")
            view.links[name] = (
                link("/page/source", url=url) if name == "Source" else link("/page", url=url, tab=view_of)
            )
    if page is not None:
        shown = LISTINGS["pages"].columns
        sizes = shown.chosen(["size"])[0].shown(page).pieces
        chips = [(str(page.status), f"status s{page.status // 100}"), (page.content_type or "", "")]
        chips += [("".join(text for text, _ in sizes), ""), (page.language or "", "")]
        (index_status,) = shown.chosen(["index_status"])
        chips += [(str(index_status.of(page) or ""), ""), (f"robots: {page.robots}" if page.robots else "", "")]
        if page.canonical and page.canonical != url:
            chips.append((f"canonical: {decoded(page.canonical)}", ""))
        first = page.first_seen or page.fetched_at
        chips += [(f"first seen {first:%Y-%m-%d} UTC", ""), (f"last seen {page.fetched_at:%Y-%m-%d %H:%M} UTC", "")]
        view.chips = [(text, kind) for text, kind in chips if text]
    return view


def _parts(  # noqa: C901 - a tab after the other
    request: ViewRequest, table: WebTable, url: str, page: Page | None, tab: str
) -> Iterator[PagePart]:
    """Yield the parts of the tab, or of a file all; those of a page that is not stored in its first tab."""

    def is_in(name: str) -> bool:
        return request.is_file or tab == name or (page is None and tab == "history")

    @cache  # the body is read once, when the first part that needs it is made
    def whole() -> Page | None:
        return (table.get(url, as_of=request.as_of) or page) if page is not None else None

    limit = None if request.is_file else MOST_LINKS

    def text() -> Rows:
        main_text = (stored := whole()) and stored.main_text
        shown = main_text if request.is_file or not main_text else main_text[:MOST_TEXT]
        return Rows([column("text", of=str)], [shown] if shown else [], empty="There is no text.")

    def outlinks() -> Rows:
        links = (stored := whole()) and stored.outlinks
        return Rows(_listed("links_of"), (links or ())[:limit], empty="It has no links.")

    if is_in("storage") and page is not None:
        declared = LISTINGS["pages"].columns
        columns = declared.chosen([*declared.usual, "index_status", "index_reason"])
        filled = [field for field in columns if field.name == "status" or field.of(page) not in (None, field.default)]
        yield PagePart("capture", lambda: Rows(filled, [page]), "Capture", look="facts")
    if is_in("headers") and page is not None:
        yield PagePart("headers", lambda: facts(dict(page.headers)), look="facts")
    if is_in("key"):
        pieces = column("part", of=itemgetter(1)), column("text", of=itemgetter(2))
        yield PagePart("key", lambda: Rows(pieces, pieces_of(table.key, url)), "Row key", look="key")
    if request.is_file:
        yield PagePart("versions", lambda: versions(request, table, url))
    elif is_in("history"):
        old, new = request.option("old") or None, request.option("new") or request.as_of
        yield from compared(request, table, url, old, new)
    if is_in("links-out") and page is not None:
        yield PagePart("redirects", lambda: _redirects(table, url), "Redirects")
        more = "All of them", request.link("/q/links-of", url=url)
        yield PagePart("links", outlinks, "Links of this page", more=more)
    if is_in("text") and page is not None:
        lines = ("All text, by lines", request.link("/page/text", url=url)) if page.size is not None else None
        yield PagePart("text", text, look="text", more=lines)
    if tab == "rendered" and not request.is_file and page is not None and page.content_type in _MARKUP:
        yield PagePart("", lambda: None, look="rendered")
    if is_in("links-in"):
        more = "All of them", request.link("/q/linking-to", url=url)
        inlinks = Rows(_listed("linking_to"), table.links.to(url, limit=limit), empty="No stored page links to it.")
        yield PagePart("inlinks", lambda: inlinks, "Links to this page", more=more)
    if is_in("storage"):
        yield PagePart("region", lambda: _region(table, url), "Region", look="facts")
        if page is not None and not request.is_file:
            names = {"Exact copies": "/q/duplicates", "Near-duplicates": "/q/near-duplicates"}
            links = [(name, request.link(path, url=url)) for name, path in names.items()]
            links.append(("Redirects to it", request.link("/q/redirects", to=url)))
            links += [("The stored body", request.link("/page/raw", url=url))] if page.size is not None else []
            others = Rows([column("question", of=itemgetter(0))], links, {"question": itemgetter(1)})
            yield PagePart("others", lambda: others, "Ask more", look="list")


def _redirects(table: WebTable, url: str) -> Rows:
    hops = table.resolve(url).hops
    return Rows([column("url", "url", str)], hops if len(hops) > 1 else (), empty="It does not redirect.")


def _listed(question: str) -> Sequence[Column]:
    columns = LISTINGS[question].columns
    return columns.chosen(columns.listed)


def pieces_of(key: WebKey, url: str) -> list[tuple[str, str, str]]:
    """Return the pieces of the row key of *url*, in their order: the class of each, what it is, and its text.

    The port and the scheme may be missing.
    """
    row = key.encode(url)
    plain = key.unsalted(row)
    host, slash, rest = plain.partition(b"/")
    path, mark, scheme = rest.partition(b"#")
    pieces = (
        ("salt", "salt", row[: len(row) - len(plain)]),
        ("host", "host, reversed", host),
        ("terminator", "terminator", slash),
        ("path", "path and query", path),
        ("scheme", "scheme and port", mark + scheme),
    )
    return [(kind, label, key_text(piece)) for kind, label, piece in pieces if piece]


def _region(table: WebTable, url: str) -> Rows | None:
    """Return the region that holds the row of *url*; None while it moves or splits."""
    row, regions = table.key.encode(url), table.store.regions(table.table)
    for number, region in enumerate(regions, 1):
        if row in region.keys:
            start, stop = map(key_text, region.keys)
            place = {"region": f"{number} of {len(regions)}", "from": start or "the first key"}
            place |= {"to": stop or "the last key"} | ({"on": region.server} if region.server else {})
            return facts(place)
    return None


# --- What is stored of it, as it is: its bytes, its text and markup by lines, and its markup in a sandbox -------------


# More would keep a browser busy; the whole body is one click away.
MOST_BYTES: Final = 2_000_000
MOST_LINES: Final = 50_000
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def rendered(request: ViewRequest) -> Response:
    """Return the stored HTML, which a browser renders without running or loading anything."""

    def made(page: Page | None) -> Response:
        if page is None or page.html is None:
            return PlainTextResponse(f"HTML of it is not stored: {request.url()}", 404)
        markup = inert(page.html).encode("utf-8", "replace")
        return HTMLResponse(markup, headers={"content-security-policy": SANDBOX})

    return _bounded(request, "rendered", made)


def body(request: ViewRequest) -> Response:
    """Return the stored body as a file to save, whatever it is."""

    def made(page: Page | None) -> Response:
        if page is None or page.body is None:
            return PlainTextResponse(f"Its body is not stored: {request.url()}", 404)
        # Neither its type nor its name are those of the page: no browser or system opens it as what it claims to be.
        headers = {"content-disposition": 'attachment; filename="page.bin"', "content-security-policy": SANDBOX}
        return Response(page.body, headers=headers, media_type="application/octet-stream")

    return _bounded(request, "raw", made)


def _bounded(request: ViewRequest, form: str, made: Callable[[Page | None], Response]) -> Response:
    page = request.table.get(request.url(), as_of=request.as_of, columns=["url"])
    if page is None:
        return made(None)
    key = form, page.url, request.as_of, page.fetched_at, page.digest
    return request.streaming.bounded(request.request, page.size, key, lambda: made(_stored(request)))


def source(request: ViewRequest) -> View:
    """Return the page with the markup, or other text, of a stored body, by numbered lines."""
    return _lines(request, "Source", _source)


def readable(request: ViewRequest) -> View:
    """Return the page with the readable text of a stored body, by numbered lines."""
    return _lines(request, "Text", lambda page: page.text)


def _stored(request: ViewRequest) -> Page | None:
    return request.table.get(request.url(), as_of=request.as_of, columns=["body"])


def _lines(request: ViewRequest, what: str, read: Callable[[Page], str | None]) -> View:
    page, url = _stored(request), request.url()
    if page is None or page.body is None:
        return View(what, None, problem="Its body is not stored.", status=404, address=url)
    content, about = read(page), ""
    lines = [] if content is None else _LINE_END.split(content[:MOST_BYTES], MOST_LINES)
    if content is None:
        about = "Its body cannot be shown as text."
    elif max(len(content), len(page.body) * (what == "Source")) > MOST_BYTES or len(lines) > MOST_LINES:
        about = "Only the beginning is shown."
    columns = column("number", "count", of=itemgetter(0)), column("line", of=itemgetter(1))
    rows = Rows(columns, enumerate(lines[:MOST_LINES], 1), empty="")
    part = PagePart("lines", lambda: rows, about=about, look="lines")
    part.more = "The stored body, as a file", request.link("/page/raw", url=url)
    whole = request.table.get(url, as_of=request.as_of, columns=["url"])
    return headed(request, View(page.title or url, lambda _: [part]), url, whole, what)


def _source(page: Page) -> str | None:
    """Return the beginning of the body of *page* as text; None if it is binary."""
    beginning = replace(page, body=(page.body or b"")[:MOST_BYTES])
    return beginning.text if beginning.html is None else beginning.html
