"""The page about one stored page: its capture, versions, text and links, and its place in the store."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

from msgspec.structs import replace
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from webtable.errors import DamagedRow
from webtable.explorer.http import SANDBOX, inert
from webtable.explorer.page_model import URL, PagePart, Rows, Sheet, facts
from webtable.explorer.views.keys import pieces_of
from webtable.questions import LISTINGS, ListingOption, column
from webtable.rowkey import key_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from webtable import Page, WebTable
    from webtable.answers import Difference
    from webtable.explorer.page_model import AskedPage
    from webtable.questions import Column


# --- What is stored of a page, as it is: its text and its markup by lines, its markup in a sandbox, its bytes ---------


MOST_BYTES: Final = 2_000_000
"""Of a body, or characters of its text, that are shown."""
MOST_LINES: Final = 50_000
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def rendered(asked: AskedPage) -> Response:
    """Return the stored HTML, which a browser renders without running or loading anything."""
    page = _body(asked)
    if page is None or page.html is None:
        return PlainTextResponse(f"HTML of it is not stored: {asked.url()}", 404)
    markup = inert(page.html).encode("utf-8", "replace")
    return HTMLResponse(markup, headers={"content-security-policy": SANDBOX})


def raw(asked: AskedPage) -> Response:
    """Return the stored body as a file to save, whatever it is."""
    page = _body(asked)
    if page is None or page.body is None:
        return PlainTextResponse(f"Its body is not stored: {asked.url()}", 404)
    headers = {"content-disposition": 'attachment; filename="page.bin"', "content-security-policy": SANDBOX}
    return Response(page.body, headers=headers, media_type="application/octet-stream")


def source(asked: AskedPage) -> Sheet:
    """Return the page with the markup, or other text, of a stored body, by numbered lines."""
    return _lines(asked, "Source", _source)


def text(asked: AskedPage) -> Sheet:
    """Return the page with the readable text of a stored body, by numbered lines."""
    return _lines(asked, "Text", lambda page: page.text)


def _body(asked: AskedPage) -> Page | None:
    return asked.table.get(asked.url(), as_of=asked.moment, columns=["body"])


def _lines(asked: AskedPage, what: str, read: Callable[[Page], str | None]) -> Sheet:
    page, link = _body(asked), asked.link("/page/raw", url=asked.url())
    if page is None or page.body is None:
        return Sheet(what, None, problem="Its body is not stored.", status=404, address=asked.url())
    found, said = read(page), ""
    lines = [] if found is None else _LINE_END.split(found[:MOST_BYTES], MOST_LINES)
    if found is None:
        said = "Its body cannot be shown as text."
    elif max(len(found), len(page.body) * (what == "Source")) > MOST_BYTES or len(lines) > MOST_LINES:
        said = "Only the beginning is shown."
    columns = column("number", "count", of=itemgetter(0)), column("line", of=itemgetter(1))
    part = PagePart("lines", lambda: Rows(columns, enumerate(lines[:MOST_LINES], 1), empty=""), "", said, look="lines")
    shown = Sheet(f"{what}: {page.title or asked.url()}", lambda _: iter([part]), address=asked.url())
    shown.links, shown.is_now = {"Download": link}, False
    return shown


def _source(page: Page) -> str | None:
    """Return the beginning of the body of *page* as text; None if it is binary."""
    begins = replace(page, body=(page.body or b"")[:MOST_BYTES])
    return begins.text if begins.html is None else begins.html


# --- The versions of a page on a time line, and the differences of any two of them side by side -----------------------


MOST_VERSIONS: Final = 200
"""How many versions a page shows, the newest ones."""
MOST_ROWS: Final = 5_000
"""How many differences a page shows."""
_SAID: Final = frozenset({"status", "title"})
"""What the differences themselves say."""
OLD: Final = ListingOption("old", "The moment of one version; that before the other one without it.")
NEW: Final = ListingOption("new", "The moment of the other version; the newest without it.")


def history(asked: AskedPage) -> Sheet:
    """Return the page of all versions of a URL."""
    url = asked.url()
    rows = versions(asked, asked.table, url)
    found = Sheet("Versions", lambda _: iter([PagePart("versions", lambda: rows)]), address=url)
    if not rows.records:
        found.status, found.problem = 404, f"It is not stored: {url}"
    return found


def versions(asked: AskedPage, table: WebTable, url: str, most: int | None = None) -> Rows:
    """Return the versions of *url*, the newest first, or the first *most* of them."""
    found = list(table.history(url))
    dates = [exact(page.fetched_at) for page in found]
    before = dict(pairwise(dates))

    def difference(page: Page) -> str | None:
        new = exact(page.fetched_at)
        return asked.link("/page/diff", url=url, old=before[new], new=new) if new in before else None

    columns = (
        column("date", "moment", of="fetched_at"),
        column("status", "status"),
        column("size", "bytes"),
        column("title", "title"),
        column("digest", "digest"),
        column("difference", of=lambda page: "to the one before" if difference(page) else None, is_usual=False),
    )
    hrefs = {"date": lambda page: asked.link("/page", url=url, as_of=exact(page.fetched_at)), "difference": difference}
    return Rows(columns if asked.is_file else [one for one in columns if one.name != "digest"], found[:most], hrefs)


def difference(asked: AskedPage) -> Sheet:
    """Return the page with the differences of two versions, and with the form to choose them."""
    url, old, new = asked.url(), asked.one("old") or None, asked.one("new") or asked.moment
    for moment in filter(None, (old, new)):
        asked.table.get(url, as_of=moment, columns=["url"])  # raises for what is no moment
    dates = [exact(page.fetched_at) for page in asked.table.history(url)[:MOST_VERSIONS]]
    if not dates:
        return Sheet("Not stored", None, problem=f"It is not stored: {url}", status=404, address=url)
    place = dates.index(new) if new in dates else 0
    chosen = {"old": old or dates[min(place + 1, len(dates) - 1)], "new": new or dates[0], "url": url}
    asked.query.update({name: [value] for name, value in chosen.items()})
    options = [ListingOption(name, "", choices=tuple(dict.fromkeys([*dates, chosen[name]]))) for name in ("old", "new")]

    def parts(table: WebTable) -> Iterator[PagePart]:
        found = table.diff(url, old, new)
        columns = column("part"), column("name"), column("old"), column("new")
        if found is None or not asked.is_file:
            yield PagePart("choice", lambda: None, form=[*options, URL])
        if found is not None and asked.is_file:
            yield PagePart("differences", lambda: Rows(columns, found))
        elif found is not None:
            title = f"{exact(found.old.fetched_at)} to {exact(found.new.fetched_at)}"
            yield PagePart("differences", lambda: _shown(found), title)

    return Sheet("Differences", parts, address=url, is_now=False)


def _shown(found: Difference) -> Rows:
    """Return the differences side by side, those of the metadata of both captures last."""
    columns = (one for one in LISTINGS["pages"].columns.chosen() if one.name not in _SAID)
    pairs = ((one.name, one.shown(found.old), one.shown(found.new)) for one in columns)
    rows: list[Any] = [*islice(found.side_by_side(), MOST_ROWS)]
    rows += [("body", found.text[0], None, None)] if len(found.text) == 1 else []
    rows += (("capture", name, old, new) for name, old, new in pairs if old != new)
    shown = [column(name, of=itemgetter(number)) for number, name in enumerate(("part", "name", "old", "new"))]
    return Rows(shown, rows, empty="Text, links and headers are the same.")


def exact(moment: datetime) -> str:
    """Return *moment* as it is written in an address: to the second, or to the millisecond if it has some."""
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


# ----------------------------------------------------------------------------------------------------------------------


MOST_LINKS: Final = 10
MOST_TEXT: Final = 20_000
"""Characters of the main text that the page shows."""
OPTIONS: Final = (URL, ListingOption("as_of", "The moment as of which it is shown; now without it.", "time"))
_LINKS: Final = {
    "Text": "/page/text",
    "Source": "/page/source",
    "Download": "/page/raw",
    "Differences": "/page/diff",
    "Duplicates": "/q/duplicates",
    "Near duplicates": "/q/near-duplicates",
}


def sheet(asked: AskedPage) -> Sheet:
    """Return the page about a URL, with status 404 if that is not stored."""
    url, link = asked.url(), asked.link
    directory, host = urljoin(url, "."), urlsplit(url).netloc
    links = {name: link(path, url=url) for name, path in _LINKS.items()}
    links["Redirects to it"] = link("/q/redirects", to=url)
    around = {
        "Pages of its directory": link("/q/pages", site=directory),
        f"Pages of {host}": link("/q/pages", site=host),
    }
    try:
        found, problem = asked.table.get(url, as_of=asked.moment, columns=["url"]), ""
    except DamagedRow as exc:
        found, problem = None, str(exc)
    if found is None and not problem:
        problem = f"This page is not stored{f' as of {asked.moment}' if asked.moment else ''}."
    known = Sheet(url, lambda table: _parts(asked, table, url, found), address=url, links=around, problem=problem)
    known.is_now = False
    if found is not None:
        known.title, known.links = found.title or url, links | around
    elif problem.startswith("This page"):
        known.status = 404
    return known


def _parts(asked: AskedPage, table: WebTable, url: str, page: Page | None) -> Iterator[PagePart]:
    @cache
    def whole() -> Page | None:
        return None if page is None else table.get(url, as_of=asked.moment)

    most = None if asked.is_file else MOST_LINKS

    def text() -> Rows:
        found = page and (whole() or page).main_text
        shown = found if asked.is_file or not found else found[:MOST_TEXT]
        return Rows([column("text", of=str)], [shown] if shown else [], empty="There is no text.")

    def outlinks() -> Rows:
        found = (page and (whole() or page).outlinks) or ()
        return Rows(_listed("links_of"), found[:most], empty="It has no links.")

    if page is not None:
        columns = LISTINGS["pages"].columns.chosen()
        known = [one for one in columns if one.name == "status" or one.of(page) not in (None, one.default)]
        yield PagePart("capture", lambda: Rows(known, [page]), "Capture", look="facts")
        yield PagePart("headers", lambda: facts(dict(page.headers)), "Headers", look="facts")
    pieces = column("part"), column("text")
    yield PagePart("key", lambda: Rows(pieces, pieces_of(table.key, url)), "Row key", look="key")
    more = "All versions", asked.link("/page/history", url=url)
    newest = None if asked.is_file else MOST_VERSIONS
    yield PagePart("versions", lambda: versions(asked, table, url, newest), "Versions", look="timeline", more=more)
    if page is not None:
        yield PagePart("redirects", lambda: _redirects(table, url), "Redirects")
        more = "All text, by lines", asked.link("/page/text", url=url)
        yield PagePart("text", text, "Main text", look="text", more=more)
        if page.content_type in (None, "text/html", "application/xhtml+xml"):
            yield PagePart("", lambda: None, look="rendered")
        more = "All of them", asked.link("/q/links-of", url=url)
        yield PagePart("links", outlinks, "Links of this page", more=more)
    more = "All of them", asked.link("/q/linking-to", url=url)
    inlinks = table.links.to(url, limit=most)
    yield PagePart(
        "inlinks",
        lambda: Rows(_listed("linking_to"), inlinks, empty="No stored page links to it."),
        "Links to this page",
        more=more,
    )
    yield PagePart("region", lambda: _region(table, url), "Region", look="facts")


def _redirects(table: WebTable, url: str) -> Rows:
    hops = table.resolve(url).hops
    return Rows([column("url", "url", str)], hops if len(hops) > 1 else (), empty="It does not redirect.")


def _listed(question: str) -> Sequence[Column]:
    columns = LISTINGS[question].columns
    return columns.chosen(columns.listed)


def _region(table: WebTable, url: str) -> Rows | None:
    """Return the region that holds the row of *url*; None while it moves or splits."""
    row, regions = table.key.encode(url), table.store.regions(table.table)
    for number, region in enumerate(regions, 1):
        if row in region.keys:
            start, stop = map(key_text, region.keys)
            known = {
                "region": f"{number} of {len(regions)}",
                "from": start or "the first key",
                "to": stop or "the last key",
            }
            return facts(known | ({"on": region.server} if region.server else {}))
    return None
