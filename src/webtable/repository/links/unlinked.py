"""The pages that no other page links to, and the linked URLs that are not pages yet: what to crawl next."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable.display.text import plural
from webtable.errors import DamagedRow, KeyFormatError
from webtable.page.page import BLANK, Page
from webtable.page.parts import PAGE_KINDS
from webtable.repository.answers.columns import (
    EXTRA_COLUMNS,
    PAGES,
    column,
    column_names,
    declared,
    fields_of,
    pages_with,
)
from webtable.repository.answers.listing import BY_URL, SITE, Listing, ListingOption
from webtable.repository.answers.tokens import invalid_token
from webtable.repository.arguments import check_numbers
from webtable.repository.failed_fetches import due
from webtable.repository.indexes.index import LINK, URL
from webtable.repository.indexes.questions import redirects
from webtable.repository.links.inlink_cells import CURRENT_SOURCES, links_of
from webtable.repository.links.inlinks import InlinkReader
from webtable.repository.links.kinds import (
    KINDS,
    LinkKinds,
    by_kinds,
    checked_kinds,
    is_for_crawlers,
    is_sitemap,
    may_be_sitemap,
    part_kind,
)
from webtable.repository.page_storage.cells import together
from webtable.repository.questions.pages import PageRows, ScopeQuestion, pieces_of, url_at
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.rowkey import KeyRange
from webtable.rowkey.urls import canonical_or_none, without_port
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from webtable.page.parts import Link, LinkKind
    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.page_storage.state import KeyedPage
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scan import ScanSpec
    from webtable.repository.reading.scope import Scope
    from webtable.url_filter import URLFilter


# --- Whether pages link to URLs ---------------------------------------------------------------------------------------
#
# An inlink counts if the page that it names still has the link.
# The first few inlinks of each URL are read, keys only. A linking page is read once for all URLs of a batch, and
# those that the most URLs name are read first: one page that links to a URL is enough.


URLS_AT_ONCE = 256
MOST_REDIRECTS = 100
"""How many redirects to a page are followed back, for a link on another host than theirs."""
FIRST_SOURCES = 4
"""How many inlinks of a URL are read together with those of others; the rest are read separately."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Which linking pages count for a URL: all, or only `others` than itself, or only those of its own `host`.

    Their links count if they are of one of these `kinds`.
    """

    others: bool = False
    host: bool = False
    kinds: Sequence[str] = PAGE_KINDS
    max_depth: int | None = None
    """Only links to a depth of at most this count."""

    def count(self, page: Page, kind: str) -> bool:
        """Whether links of this *kind* of *page*, and of its depth, count."""
        if kind not in self.kinds:
            return False
        return self.max_depth is None or (page.depth is not None and _depth_to(page.depth, kind) <= self.max_depth)

    def have(self, url: str, source: bytes) -> bool:
        """Whether the page *source*, a URL as stored in an inlink, counts for *url*."""
        if self.others and source == url.encode():
            return False
        return not self.host or _host(source) == _host(url.encode())

    def ranges(self, url: str) -> list[KeyRange]:
        """Return the ranges of the inlinks of *url* that may count, in its row."""
        if not self.host:
            return [CURRENT_SOURCES]
        # After the host comes a `/`, or a `:` before a port: in between are only digits, and `;` comes next.
        hosts = [scheme + _host(url.encode()) for scheme in (b"http://", b"https://")]
        return [KeyRange(host + b"/", host + b";") for host in hosts]


def _depth_to(depth: int, kind: str) -> int:
    """Return the depth to which a link of this *kind* leads from *depth*: a redirect is no click."""
    return depth if kind == "redirect" else depth + 1


class Confirmation:
    """Checks whether pages link to URLs, by the inlinks of one web table."""

    def __init__(self, context: TableContext, damage: Damage, wanted: Sources) -> None:
        self._context = context
        self._damage = damage
        self._wanted = wanted
        self._inlinks = InlinkReader(context, damage)

    def linked(self, urls: Mapping[bytes, str]) -> set[bytes]:
        """Return the rows of those of *urls*, which are given by row, to which a wanted page links."""
        sources, rest = self._first_sources(urls)
        linked: set[bytes] = set()
        while waiting := {row: named for row, named in sources.items() if named and row not in linked}:
            linked |= self._confirmed(_most_common(waiting), urls)
        return linked.union(row for row in rest if row not in linked and self._is_linked(urls[row]))

    def _first_sources(self, urls: Mapping[bytes, str]) -> tuple[dict[bytes, list[bytes]], list[bytes]]:
        """Return the URLs of the first pages that may link to each of *urls*, and the rows that may have more."""
        first = self._inlinks.first(list(urls), FIRST_SOURCES)
        sources = dict(zip(urls, first, strict=True))
        # Those with fewer have been seen whole.
        more = [row for row, named in sources.items() if len(named) == FIRST_SOURCES]
        if self._wanted.others or self._wanted.host:
            sources = {
                row: [source for source in named if self._wanted.have(urls[row], source)]
                for row, named in sources.items()
            }
        return sources, more

    def _confirmed(self, named: Mapping[bytes, Sequence[bytes]], urls: Mapping[bytes, str]) -> set[bytes]:
        """Return the rows to which *named* pages really link; *named* has rows of *urls* by the URL of a page."""
        pages: dict[bytes, Sequence[bytes]] = {}
        for source, rows in named.items():
            for row, _ in self._damage.sift([self._inlinks.source(rows[0], source)]):
                pages[row] = rows
        linked: set[bytes] = set()
        read = self._context.counted.read_each(list(pages), ("outlinks",))
        for rows, page in zip(pages.values(), read, strict=True):
            if isinstance(page, DamagedRow):
                self._damage.add(page)
            elif page is not None:
                links = (link for link in links_of(page) if self._wanted.count(page, link.kind))
                linked |= _led_to(links, {urls[row]: row for row in rows})
        return linked

    def _is_linked(self, url: str) -> bool:
        inlinks = (self._inlinks.of(url, sources=sources) for sources in self._wanted.ranges(url))
        return any(
            self._wanted.have(url, inlink.source.encode()) and self._wanted.count(inlink.page or BLANK, inlink.kind)
            for of_range in inlinks
            for inlink in of_range
        )


def _most_common(waiting: Mapping[bytes, list[bytes]]) -> dict[bytes, list[bytes]]:
    """Take from each list its source that is in the most lists, and return the rows of the lists by source."""
    in_lists = Counter(source for named_by in waiting.values() for source in named_by)
    named: dict[bytes, list[bytes]] = defaultdict(list)
    for row, named_by in waiting.items():
        chosen = max(named_by, key=in_lists.__getitem__)
        named_by.remove(chosen)
        named[chosen].append(row)
    return named


def _led_to(links: Iterable[Link], wanted: Mapping[str, bytes]) -> set[bytes]:
    """Return the rows of the *wanted* canonical URLs to which *links* lead."""
    urls = {link.url for link in links}
    others = wanted.keys() - urls
    # Most links are stored in canonical form, and canonicalizing a URL takes as long as reading a link.
    return {wanted[url] for url in wanted.keys() & (urls.union(map(canonical_or_none, urls)) if others else urls)}


def _host(url: bytes) -> bytes:
    """Return the host of a canonical URL, without its port; empty if it is not a URL."""
    parts = url.split(b"/", 3)
    return without_port(parts[2]) if len(parts) > 2 else b""


# --- Orphans, and URLs to crawl ---------------------------------------------------------------------------------------


ORPHANS = Listing(
    "orphans",
    PAGES,
    orders=BY_URL,
    of_links="orphans",
    options=(
        SITE,
        ListingOption("within_host", "Those that no other page of their own host links to.", "flag"),
        KINDS,
    ),
    examples=(
        "webtable orphans example.com",
        "webtable orphans example.com --within-host --columns url,title",
        "webtable orphans all --format csv > orphans.csv",
    ),
    indexes=(LINK,),
    is_of_pages=True,
    help="""List the pages of a host, and of all hosts below it, that no other page links to.

    Frames, `<meta refresh>` and redirects count as links; links of a page to itself do not. robots.txt, sitemaps,
    images, scripts, styles, media and fonts are never orphans, unless `--kinds` names their kind. Links are checked
    now.
    """,
)


class OrphansQuestion(ScopeQuestion[Page]):
    """Which pages of a scope no other page links to."""

    listing = ORPHANS
    notes: Sequence[str] = (
        "the first inlinks of 256 pages are read at once, and one page is looked for that still links",
        "of XML that no page links to the body is read: a sitemap is no orphan",
    )

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        columns: Sequence[str] | None,
        *,
        within_host: bool,
        kinds: LinkKinds,
    ) -> None:
        super().__init__(context, scope, window)
        self.within_host = within_host
        self.kinds: tuple[LinkKind, ...] = checked_kinds(kinds)
        of_host = " of their host" if within_host else ""
        self.title: str = f"{self.pages.label} without a link from another page{of_host}{by_kinds(self.kinds)}"
        names = column_names(columns)
        context.codec.select(names)
        self.columns: Columns = pages_with(names)
        self.fields: Sequence[str] = fields_of(names)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Page]:
        context = self.context
        context.indexes.ready(LINK.name, self.title)
        pages = self.pages.pages(self.pages.spec(expected=expected), self.window.order, after, damage)
        pages = (page for page in pages if self._counts(page))
        confirmation = Confirmation(context, damage, Sources(others=True, host=self.within_host, kinds=self.kinds))
        follows = self.within_host and "redirect" in self.kinds and URL.name in context.indexes.read()
        for batch in pieces_of(pages, expected, URLS_AT_ONCE):
            by_row = {context.key.encode(page.url): page for page in batch}
            linked = confirmation.linked({row: page.url for row, page in by_row.items()})
            orphans = [row for row in by_row if row not in linked]
            if follows:
                orphans = [row for row in orphans if not self._is_redirected_to(by_row[row].url, damage)]
            sitemaps = self._sitemaps([(row, by_row[row]) for row in orphans], damage)
            orphans = [row for row in orphans if row not in sitemaps]
            if not set(self.fields) & set(EXTRA_COLUMNS):
                yield from (by_row[row] for row in orphans)
            elif orphans:
                whole = damage.sift(context.counted.read_each(orphans, self.fields))
                yield from (page for page in whole if page is not None)

    def _is_redirected_to(self, url: str, damage: Damage) -> bool:
        """Whether a page of the host of *url* leads there over redirects of other hosts, as over those of www."""
        inlinks, ranges = InlinkReader(self.context, damage), Sources(host=True).ranges(url)
        known, last = {url}, [url]
        while last and len(known) < MOST_REDIRECTS:
            pages = chain.from_iterable(redirects(self.context, target, {"limit": MOST_REDIRECTS}) for target in last)
            last = [page.url for page in pages if page.url not in known]
            known.update(last)
            named = (inlink for source in last for keys in ranges for inlink in inlinks.of(source, sources=keys))
            if any(inlink.kind in self.kinds and inlink.source != url for inlink in named):
                return True
        return False

    def _counts(self, page: Page) -> bool:
        """Whether *page* is one of its own, or a part of pages that is asked for."""
        kind = part_kind(page)
        return not is_for_crawlers(page) if kind is None else kind in self.kinds

    def _sitemaps(self, pages: Iterable[KeyedPage], damage: Damage) -> set[bytes]:
        """Return the rows of those of *pages* that are sitemaps."""
        sitemaps: set[bytes] = set()
        for piece in together((keyed, keyed[1].size or 0) for keyed in pages if may_be_sitemap(keyed[1])):
            rows = [row for row, _ in piece]
            for row, page in zip(rows, self.context.counted.read_each(rows, ("body",)), strict=True):
                if isinstance(page, DamagedRow):
                    damage.add(page)
                elif page is not None and is_sitemap(page.body):
                    sitemaps.add(row)
        return sitemaps


_MOST_CLEANED = 10_000
"""How many of the URLs that it returned last, without a part, an answer remembers, so that it returns each once."""

URLS = declared(str, "URL", column("url", "url", str))


DISCOVERED = Listing(
    "discovered",
    URLS,
    orders=(*BY_URL, "depth", "priority"),
    of_links="discovered",
    options=(
        SITE,
        KINDS,
        ListingOption(
            "max_depth",
            "Only those to which at most so many links lead from where the crawl began.",
            "number",
            metavar="N",
        ),
    ),
    examples=(
        "webtable discovered example.com --limit 1000 > crawl-next.txt",
        "webtable discovered example.com --order depth --max-depth 3",
        "webtable discovered all",
    ),
    indexes=(LINK,),
    help="""List the URLs that pages link to and that are not pages yet: what to crawl next.

    Frames, `<meta refresh>` and redirects count as links; images, scripts and styles only if a link leads to them or
    `--kinds` names their kind. URLs whose last fetch failed are left out until they are due; see failed. Depth and
    priority are those of the pages that link to a URL, if the crawler has stored them.
    """,
)
_BY_RANK = "SELECT place FROM urls WHERE (rank, place) > (?, ?) ORDER BY rank, place"


class DiscoveredQuestion(ScopeQuestion[str]):
    """Which URLs of a scope are linked to, and are not pages."""

    listing = DISCOVERED
    notes: Sequence[str] = ("rows that are pages are read as well, keys only, and left out",)

    def __init__(
        self, context: TableContext, scope: Scope, window: Window, kinds: LinkKinds, max_depth: int | None = None
    ) -> None:
        super().__init__(context, scope, window)
        check_numbers(max_depth=max_depth)
        self.kinds: tuple[LinkKind, ...] = checked_kinds(kinds)
        self._sources = Sources(kinds=self.kinds, max_depth=max_depth)
        self._dropped_from: dict[str, str] = {}
        """The URLs of the rows of what was returned last without a part of it."""
        title = "URLs without a page" if scope.place is None else f"URLs of {scope.place} without a page"
        near = "" if max_depth is None else f", at most {plural(max_depth, 'link')} from the start"
        self.title: str = title + by_kinds(self.kinds) + near

    def spec(self) -> ScanSpec:
        return self.pages.unnarrowed(Wanted([self.context.codec.columns.inlinks.encode() + b":"], keys_only=True))

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[str]:
        self.context.indexes.ready(LINK.name, self.title)
        if self.window.order in BY_URL:
            bare = _bare(self.context, replace(self.spec(), expected=expected), self.window.order, after)
            urls = _linked(self.context, bare, expected, damage, self._sources)
        else:
            urls = self._sorted(after, damage)
        urls = due(self.context, urls, expected, lambda url: (url, None))
        wanted = self.window.urls
        return urls if wanted is None or not wanted.drops else self._cleaned(urls, wanted)

    def url_of(self, result: str) -> str:
        return self._dropped_from.get(result, result)

    def place(self, result: str) -> bytes:
        if self.window.order in BY_URL:
            return super().place(result)
        url = self.url_of(result)
        rank, place = next(self._ranked([url], self.damage([])), (math.inf, self.pages.by_url(url)))
        return f"{rank} ".encode() + place

    def _sorted(self, after: bytes | None, damage: Damage) -> Iterator[str]:
        """Yield the URLs in the order of their ranks, those *after* a place: a rank, a space and the place of a URL."""
        number, _, start = (after or b"-inf ").partition(b" ")
        try:
            rank = float(number)
        except ValueError:
            raise invalid_token(after) from None
        bare = _bare(self.context, self.spec(), "storage", None)
        urls = (url for row in bare for _, url in damage.sift([_named(self.context, row)]))
        with TemporaryTables("CREATE TABLE urls (rank REAL, place BLOB)") as scratch:
            scratch.fill("urls", self._ranked(urls, damage), 2)
            for (place,) in scratch.rows(_BY_RANK, (rank, start)):
                yield url_at(place)

    def _ranked(self, urls: Iterable[str], damage: Damage) -> Iterator[tuple[float, bytes]]:
        """Yield the least rank that a linking page gives each of *urls*, and its place; without those of no link."""
        targets = ((replace(BLANK, url=url), None) for url in urls)
        inlinks = InlinkReader(self.context, damage).of_each(targets, inside=None, expected=None)
        for url, links in groupby(inlinks, key=lambda link: link[0].url):
            inlinks_here = ((inlink.page, inlink.kind) for _, inlink in links if inlink.page)
            ranks = (self._rank(page, kind) for page, kind in inlinks_here if self._sources.count(page, kind))
            rank = min(ranks, default=None)
            if rank is not None:
                yield rank, self.pages.by_url(url)

    def _rank(self, page: Page, kind: str) -> float:
        if self.window.order == "depth":
            return math.inf if page.depth is None else _depth_to(page.depth, kind)
        return math.inf if page.priority is None else -page.priority

    def _cleaned(self, linked: Iterator[str], urls: URLFilter) -> Iterator[str]:
        """Yield the *linked* URLs as they are to be fetched, without those that are stored so, or were yielded."""
        context, columns = self.context, Wanted([self.context.codec.columns.page], keys_only=True)
        returned = self._dropped_from = {}
        for batch in pieces_of(linked, None, URLS_AT_ONCE):
            cleaned = [(clean, url) for url in batch if (clean := urls.clean(url)) is not None]
            others = list({clean for clean, url in cleaned if clean != url})
            rows = context.read([context.key.encode(url) for url in others], columns)
            stored = {url for url, row in zip(others, rows, strict=True) if row is not None}
            for clean, url in cleaned:
                if clean in stored or clean in returned:
                    continue
                returned[clean] = url
                if len(returned) > _MOST_CLEANED:
                    del returned[next(iter(returned))]
                yield clean


def _bare(context: TableContext, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[bytes]:
    """Yield the keys of the rows of *spec* that are not pages."""
    rows = PageRows(context)

    def place(row: bytes) -> tuple[bytes, bytes]:
        return rows.place(row, order), row

    # Both scans run side by side, in one order, by keys alone: what is in the first and not in the second is no page.
    pages = rows.keys(replace(spec, wanted=Wanted([context.codec.columns.page], keys_only=True)), order, after)
    page = next(pages, None)
    for row in rows.keys(spec, order, after):
        while page is not None and place(page) < place(row):
            page = next(pages, None)
        if page != row:
            yield row


def _linked(
    context: TableContext, rows: Iterator[bytes], expected: int | None, damage: Damage, wanted: Sources
) -> Iterator[str]:
    """Yield the URLs of those of *rows*, which are not pages, that a *wanted* page links to."""
    confirmation = Confirmation(context, damage, wanted)
    for batch in pieces_of(rows, expected, URLS_AT_ONCE):
        bare = dict(damage.sift(_named(context, row) for row in batch))
        linked = confirmation.linked(bare) if bare else ()
        yield from (url for row, url in bare.items() if row in linked)


def _named(context: TableContext, row: bytes) -> tuple[bytes, str] | DamagedRow:
    """Return *row* with its URL, or the error if it is not a row key."""
    try:
        return row, context.key.decode(row)
    except KeyFormatError as exc:
        return DamagedRow(row, None, str(exc))
