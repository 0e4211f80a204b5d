"""The question how many clicks lead to each page of a site: from the roots of its hosts, or from given pages.

The site is walked level by level, so that each page is read once. What was reached is on disk.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from webtable.errors import InvalidArgument, KeyFormatError
from webtable.page.page import Page
from webtable.page.parts import PAGE_KINDS
from webtable.page.robots import rules_for
from webtable.repository.answers.columns import column, column_names, declared, page_in, records_with
from webtable.repository.answers.listing import BY_URL, SITE, Listing, ListingOption
from webtable.repository.links.inlink_cells import links_of
from webtable.repository.questions.findings import BOT
from webtable.repository.questions.pages import ScopeRows, SortedQuestion, pieces_of, url_at
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.rowkey import canonical_url
from webtable.rowkey.urls import split_url
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scan import ScanSpec
    from webtable.repository.reading.scope import Scope

PAGES_AT_ONCE: Final = 64
"""The links of how many pages are read by one call."""

_TABLES = (
    "CREATE TABLE reached (place BLOB PRIMARY KEY, via BLOB, clicks INTEGER, step INTEGER) WITHOUT ROWID",
    "CREATE INDEX by_step ON reached (step, place)",
    "CREATE TABLE ahead (place BLOB PRIMARY KEY, via BLOB) WITHOUT ROWID",
)
_AT_STEP = "SELECT place FROM reached WHERE step = ? ORDER BY place"
_CLICK = "INSERT OR IGNORE INTO reached SELECT place, via, ?, ? FROM ahead"
_OF_PLACE = "SELECT clicks, via FROM reached WHERE place = ?"


@dataclass(frozen=True, slots=True)
class Depth:
    """How many `clicks` lead to a `page` at least, None if no way does; `via` is the URL of the page before it."""

    page: Page
    clicks: int | None
    via: str | None

    @property
    def url(self) -> str:
        """The URL of the page."""
        return self.page.url


_OWN = (
    column("url", "url"),
    column("clicks", "count", width=6),
    column("via", "url", share=2),
    column("status", "status", "page.status", heading="status"),
    column("title", "title", "page.title"),
)
LISTING = Listing(
    "depths",
    declared(
        Depth,
        "depth",
        *_OWN,
        *page_in(attrgetter("page"), [own.name for own in _OWN]),
        listed=("url", "clicks", "via", "status"),
    ),
    orders=BY_URL,
    options=(
        SITE,
        ListingOption(
            "start",
            "Count from this page (repeatable). Default: the roots of the hosts.",
            metavar="URL",
            is_many=True,
            example="https://example.com/",
        ),
    ),
    examples=(
        "webtable depths example.com",
        "webtable depths https://example.com/ --start https://example.com/shop --format csv > depths.csv",
        "webtable depths example.com --columns url,clicks,index_status",
    ),
    is_of_pages=True,
    help="""List for each page how many clicks lead to it from the root of its host, or from given pages.

    Redirects, refreshes and frames take no click. Links with nofollow, of nofollow pages, and of error pages are not
    followed. Unreachable pages have no number.
    """,
)


class DepthsQuestion(SortedQuestion[Depth]):
    """How many clicks lead to the pages of a scope."""

    listing = LISTING
    notes: Sequence[str] = ("the links of every page that is reached are read; those of a directory are of its host",)

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        start: str | Collection[str] | None,
        columns: Sequence[str] | None,
    ) -> None:
        super().__init__(context, scope, window)
        if not isinstance(start, str | Collection | None):
            raise InvalidArgument(f"start={start!r} must be the URL of a page, or several")
        urls = [start] if isinstance(start, str) else start or ()
        self.starts: tuple[str, ...] = tuple(map(canonical_url, urls))
        begins = ", ".join(self.starts) or "the roots of their hosts"
        self.title: str = f"{self.pages.label} by the clicks from {begins}"
        self.selected: Sequence[bytes] = context.codec.select(columns)
        self.columns: Columns = records_with(column_names(columns), LISTING.columns)
        self._around = scope.of_host()

    def spec(self) -> ScanSpec:
        return self.pages.spec(Wanted(self.selected))

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Depth]:
        with TemporaryTables(*_TABLES) as scratch:
            self._reach(scratch, damage)
            for page in self.pages.pages(self.spec(), self.window.order, after, damage):
                clicks, via = scratch.first(_OF_PLACE, (self.pages.by_url(page.url),)) or (None, None)
                yield Depth(page, clicks, None if via is None else url_at(via))

    def _reach(self, scratch: TemporaryTables, damage: Damage) -> None:
        """Fill the table of what is reached."""
        pages, is_within = ScopeRows(self.context, self._around), self._around.contains()
        begins = map(pages.by_url, self.starts) if self.starts else self._roots(pages)
        scratch.fill("reached", ((place, None, 0, 0) for place in begins), 4)
        clicks, step = 0, 0
        while True:
            for places in pieces_of((place for (place,) in scratch.rows(_AT_STEP, (step,))), None, PAGES_AT_ONCE):
                keys = [self.context.key.encode(url_at(place)) for place in places]
                read = damage.sift(self.context.counted.read_each(keys, ("outlinks",)))
                links = [
                    (target, pages.by_url(page.url), is_click)
                    for page in read
                    if page is not None
                    for target, is_click in _targets(page, pages)
                    if is_within is None or is_within(target)
                ]
                scratch.fill("ahead", (link[:2] for link in links if link[2]), 2)
                scratch.fill("reached", ((*link[:2], clicks, step + 1) for link in links if not link[2]), 4)
            step += 1
            # All that is as many clicks away comes before what is one more.
            if scratch.first(_AT_STEP, (step,)) is None:
                clicks += 1
                scratch.run(_CLICK, (clicks, step))
                scratch.run("DELETE FROM ahead")
                if scratch.first(_AT_STEP, (step,)) is None:
                    return

    def _roots(self, pages: ScopeRows) -> Iterator[bytes]:
        """Yield the places of the roots of hosts; their keys alone are read."""
        wanted = Wanted([self.context.codec.columns.page], keys_only=True)
        for key in pages.keys(pages.spec(wanted), "storage", None):
            place = self.context.key.unsalted(key)
            with suppress(KeyFormatError):
                parts = split_url(url_at(place))
                if parts.path == "/" and not parts.query:
                    yield place


def _targets(page: Page, pages: ScopeRows) -> Iterator[tuple[bytes, bool]]:
    """Yield the places to which the followed links of *page* lead, and whether it takes a click."""
    rules = rules_for(page.robots, page.robots_by_bot, BOT) if page.robots or page.robots_by_bot else ()
    if page.status >= 400 or "nofollow" in rules or "none" in rules:
        return
    for link in links_of(page):
        if link.kind in PAGE_KINDS and "nofollow" not in link.rel.lower().split():
            target = pages.by_any_url(link.url)
            if target is not None:
                yield target, link.kind == "a"
