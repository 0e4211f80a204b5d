"""The page about one stored page: its capture, versions, text and links, and its place in the store."""

from __future__ import annotations

from functools import cache
from itertools import islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

from webtable.answers import Change
from webtable.errors import DamagedRow
from webtable.explorer.page_model import URL, PagePart, Rows, View, ViewRequest, facts
from webtable.explorer.views.keys import pieces_of
from webtable.questions import LISTINGS, Column, ListingOption, column
from webtable.rowkey import key_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

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
    view = View("Versions", lambda _: [PagePart("versions", lambda: rows)], address=url)
    if not rows.records:
        view.status, view.problem = 404, f"It is not stored: {url}"
    return view


def versions(request: ViewRequest, table: WebTable, url: str, limit: int | None = None) -> Rows:
    """Return the versions of *url*, the newest first, up to *limit* of them."""
    pages = list(table.history(url))
    dates = [exact(page.fetched_at) for page in pages]
    before = dict(pairwise(dates))

    def difference(page: Page) -> str | None:
        new = exact(page.fetched_at)
        return request.link("/page/diff", url=url, old=before[new], new=new) if new in before else None

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
        column("difference", of=lambda page: "to the one before" if difference(page) else None, is_usual=False),
    )
    hrefs = {
        "date": lambda page: request.link("/page", url=url, as_of=exact(page.fetched_at)),
        "difference": difference,
    }
    shown = columns if request.is_file else [column for column in columns if column.name != "digest"]
    return Rows(shown, pages[:limit], hrefs)


def difference(request: ViewRequest) -> View:
    """Return the page with the differences of two versions, and with the form to choose them."""
    url, old, new = request.url(), request.option("old") or None, request.option("new") or request.moment
    for moment in filter(None, (old, new)):
        # It raises for what is no moment, before the page has begun.
        request.table.get(url, as_of=moment, columns=["url"])
    dates = [exact(page.fetched_at) for page in request.table.history(url)[:MOST_VERSIONS]]
    if not dates:
        return View("Not stored", None, problem=f"It is not stored: {url}", status=404, address=url)
    newer = dates.index(new) if new in dates else 0
    chosen = {"old": old or dates[min(newer + 1, len(dates) - 1)], "new": new or dates[0], "url": url}
    # The form shows what is compared, whether the address named it or not.
    request.query.update({name: [value] for name, value in chosen.items()})
    options = [ListingOption(name, "", choices=tuple(dict.fromkeys([*dates, chosen[name]]))) for name in ("old", "new")]

    def parts(table: WebTable) -> Iterator[PagePart]:
        difference = table.diff(url, old, new)
        if difference is None or not request.is_file:
            yield PagePart("choice", lambda: None, form=[*options, URL])
        if difference is not None and request.is_file:
            yield PagePart("differences", lambda: Rows(list(map(column, _SIDES)), difference))
        elif difference is not None:
            title = f"{exact(difference.old.fetched_at)} to {exact(difference.new.fetched_at)}"
            yield PagePart("differences", lambda: _side_by_side(difference), title)

    return View("Differences", parts, address=url, is_now=False)


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


def exact(moment: datetime) -> str:
    """Return *moment* as it is written in an address: to the second, or to the millisecond if it has some."""
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


# --- The page itself --------------------------------------------------------------------------------------------------


MOST_LINKS: Final = 10
MOST_TEXT: Final = 20_000  # characters of the main text
OPTIONS: Final = (URL, ListingOption("as_of", "The moment as of which it is shown; now without it.", "time"))
_OF_THE_BODY: Final = frozenset({"Text", "Source", "Download"})
_LINKS: Final = {
    "Text": "/page/text",
    "Source": "/page/source",
    "Download": "/page/raw",
    "Differences": "/page/diff",
    "Duplicates": "/q/duplicates",
    "Near duplicates": "/q/near-duplicates",
}


def view(request: ViewRequest) -> View:
    """Return the page about a URL, with status 404 if that is not stored."""
    url, link = request.url(), request.link
    directory, host = urljoin(url, "."), urlsplit(url).netloc
    links = {name: link(path, url=url) for name, path in _LINKS.items()}
    links["Redirects to it"] = link("/q/redirects", to=url)
    around = {
        "Pages of its directory": link("/q/pages", site=directory),
        f"Pages of {host}": link("/q/pages", site=host),
    }
    try:
        page, problem = request.table.get(url, as_of=request.moment, columns=["url"]), ""
    except DamagedRow as exc:  # what is around it can be shown: its key, its versions, its region
        page, problem = None, str(exc)
    view = View(url, lambda table: _parts(request, table, url, page), address=url, links=around, is_now=False)
    if page is not None:
        if page.size is None:  # there is no body, so nothing to show or to compare
            links = {name: href for name, href in links.items() if name not in _OF_THE_BODY}
        view.title, view.links = page.title or url, links | around
    elif not problem:
        problem = f"This page is not stored{f' as of {request.moment}' if request.moment else ''}."
        # A page that others link to is a page of the explorer; for a program that asks for it as a file it is missing.
        view.status = 404 if request.is_file else 200
    view.problem = problem
    return view


def _parts(request: ViewRequest, table: WebTable, url: str, page: Page | None) -> Iterator[PagePart]:
    @cache  # the body is read once, when the first part that needs it is made
    def whole() -> Page | None:
        return (table.get(url, as_of=request.moment) or page) if page is not None else None

    limit = None if request.is_file else MOST_LINKS

    def text() -> Rows:
        main_text = (stored := whole()) and stored.main_text
        shown = main_text if request.is_file or not main_text else main_text[:MOST_TEXT]
        return Rows([column("text", of=str)], [shown] if shown else [], empty="There is no text.")

    def outlinks() -> Rows:
        links = (stored := whole()) and stored.outlinks
        return Rows(_listed("links_of"), (links or ())[:limit], empty="It has no links.")

    if page is not None:
        declared = LISTINGS["pages"].columns
        columns = declared.chosen([*declared.usual, "index_status", "index_reason"])
        filled = [field for field in columns if field.name == "status" or field.of(page) not in (None, field.default)]
        yield PagePart("capture", lambda: Rows(filled, [page]), "Capture", look="facts")
        yield PagePart("headers", lambda: facts(dict(page.headers)), "Headers", look="facts")
    pieces = column("part"), column("text")
    yield PagePart("key", lambda: Rows(pieces, pieces_of(table.key, url)), "Row key", look="key")
    history = ("All versions", request.link("/page/history", url=url)) if page is not None else None
    newest = None if request.is_file else MOST_VERSIONS
    yield PagePart("versions", lambda: versions(request, table, url, newest), "Versions", look="timeline", more=history)
    if page is not None:
        yield PagePart("redirects", lambda: _redirects(table, url), "Redirects")
        more = ("All text, by lines", request.link("/page/text", url=url)) if page.size is not None else None
        yield PagePart("text", text, "Main text", look="text", more=more)
        if page.size is not None and page.content_type in (None, "text/html", "application/xhtml+xml"):
            yield PagePart("", lambda: None, look="rendered")
        more = "All of them", request.link("/q/links-of", url=url)
        yield PagePart("links", outlinks, "Links of this page", more=more)
    more = "All of them", request.link("/q/linking-to", url=url)
    inlinks = Rows(_listed("linking_to"), table.links.to(url, limit=limit), empty="No stored page links to it.")
    yield PagePart("inlinks", lambda: inlinks, "Links to this page", more=more)
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
            place = {"region": f"{number} of {len(regions)}", "from": start or "the first key"}
            place |= {"to": stop or "the last key"} | ({"on": region.server} if region.server else {})
            return facts(place)
    return None
