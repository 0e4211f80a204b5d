"""The page about one stored page: its capture, versions, text and links, and its place in the store."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from webtable.errors import DamagedRow
from webtable.explorer.page_model import URL, PagePart, Sheet
from webtable.explorer.rows import Rows, facts
from webtable.explorer.views.keys import pieces_of
from webtable.explorer.views.versions import MOST_VERSIONS, versions
from webtable.questions import LISTINGS, ListingOption, column
from webtable.rowkey import key_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable import Page, WebTable
    from webtable.explorer.page_model import AskedPage
    from webtable.questions import Column

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
