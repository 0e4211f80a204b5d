"""The pages that no other page links to, and the linked URLs that are not pages yet: what to crawl next."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable.errors import DamagedRow, KeyFormatError
from webtable.page.page import Page
from webtable.repository.answers.columns import EXTRA_COLUMNS, column, column_names, declared, fields_of
from webtable.repository.answers.listing import BY_URL, SITE, Listing, ListingOption
from webtable.repository.answers.page_columns import PAGES, pages_with
from webtable.repository.indexes.index import LINK
from webtable.repository.link_questions.confirmation import URLS_AT_ONCE, Confirmation, Sources
from webtable.repository.questions.rows import PageRows, ScopeQuestion
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Window
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.repository.reading.scan import ScanSpec
    from webtable.repository.reading.scope import Scope

ORPHANS = Listing(
    "orphans",
    PAGES,
    orders=BY_URL,
    of_links="orphans",
    options=(
        SITE,
        ListingOption("within_host", "Those that no other page of their own host links to.", "flag"),
    ),
    examples=(
        "webtable orphans example.com",
        "webtable orphans example.com --within-host --columns url,title",
        "webtable orphans all --format csv > orphans.csv",
    ),
    indexes=(LINK,),
    is_of_pages=True,
    help="""List the pages of a host, and of all hosts below it, that no other page links to.

    A link of a page to itself does not count. Links are checked as they are now, whenever they were counted last.
    """,
)


class OrphansQuestion(ScopeQuestion[Page]):
    """Which pages of a scope no other page links to."""

    notes: Sequence[str] = (
        "the first inlinks of 256 pages are read at once, and one page is looked for that still links",
    )

    def __init__(
        self, frame: Frame, scope: Scope, window: Window, columns: Sequence[str] | None, *, within_host: bool
    ) -> None:
        super().__init__(frame, scope, window, ORPHANS)
        self.within_host = within_host
        of_host = " of their host" if within_host else ""
        self.title: str = f"{self.pages.label} without a link from another page{of_host}"
        names = column_names(columns)
        frame.codec.select(names)
        self.columns: Columns = pages_with(names)
        self.fields: Sequence[str] = fields_of(names)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Page]:
        frame = self.frame
        frame.indexes.ready(LINK.name, self.title)
        pages = self.pages.pages(self.pages.spec(expected=expected), self.window.order, after, damage)
        confirmation = Confirmation(frame, damage, Sources(others=True, host=self.within_host))
        return _with_columns(frame, _unlinked(frame, pages, expected, confirmation), self.fields, damage)


def _unlinked(
    frame: Frame, pages: Iterator[Page], expected: int | None, confirmation: Confirmation
) -> Iterator[list[tuple[bytes, Page]]]:
    """Yield those of *pages* that nobody links to, with their rows, in batches."""
    size = min(expected or URLS_AT_ONCE, URLS_AT_ONCE)
    while batch := [(frame.key.encode(page.url), page) for page in islice(pages, size)]:
        linked = confirmation.linked({row: page.url for row, page in batch})
        yield [(row, page) for row, page in batch if row not in linked]
        size = URLS_AT_ONCE


def _with_columns(
    frame: Frame, found: Iterator[list[tuple[bytes, Page]]], names: Sequence[str], damage: Damage
) -> Iterator[Page]:
    """Yield the pages *found*, with their bodies, links and counts if *names* has them."""
    is_bare = not set(names) & set(EXTRA_COLUMNS)
    for some in found:
        if is_bare:
            yield from (page for _, page in some)
        elif some:
            whole = frame.counted.read_each([row for row, _ in some], names)
            yield from (page for page in damage.sift(whole) if page is not None)


URLS = declared(str, "URL", column("url", "url", str))


DISCOVERED = Listing(
    "discovered",
    URLS,
    orders=BY_URL,
    of_links="discovered",
    options=(SITE,),
    examples=("webtable discovered example.com --limit 1000 > crawl-next.txt", "webtable discovered all"),
    indexes=(LINK,),
    help="List the URLs that pages link to and that are not pages yet: what to crawl next.",
)


class DiscoveredQuestion(ScopeQuestion[str]):
    """Which URLs of a scope are linked to, and are not pages."""

    notes: Sequence[str] = ("rows that are pages are read as well, keys only, and left out",)

    def __init__(self, frame: Frame, scope: Scope, window: Window) -> None:
        super().__init__(frame, scope, window, DISCOVERED)
        self.title: str = "URLs without a page" if scope.place is None else f"URLs of {scope.place} without a page"

    def spec(self) -> ScanSpec:
        return self.pages.unnarrowed(Wanted([self.frame.codec.columns.inlinks.encode() + b":"], keys_only=True))

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[str]:
        self.frame.indexes.ready(LINK.name, self.title)
        bare = _bare(self.frame, replace(self.spec(), expected=expected), self.window.order, after)
        return _linked(self.frame, bare, expected, damage)

    def url_of(self, result: str) -> str:
        return result


def _bare(frame: Frame, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[bytes]:
    """Yield the keys of the rows of *spec* that are not pages."""
    rows = PageRows(frame)

    def place(row: bytes) -> tuple[bytes, bytes]:
        return rows.place(row, order), row

    pages = rows.keys(replace(spec, wanted=Wanted([frame.codec.columns.page], keys_only=True)), order, after)
    page = next(pages, None)
    for row in rows.keys(spec, order, after):
        while page is not None and place(page) < place(row):
            page = next(pages, None)
        if page != row:
            yield row


def _linked(frame: Frame, rows: Iterator[bytes], expected: int | None, damage: Damage) -> Iterator[str]:
    """Yield the URLs of those of *rows*, which are not pages, that a page links to."""
    confirmation = Confirmation(frame, damage)
    size = min(expected or URLS_AT_ONCE, URLS_AT_ONCE)
    while batch := list(islice(rows, size)):
        bare = dict(damage.sift(_named(frame, row) for row in batch))
        linked = confirmation.linked(bare) if bare else ()
        yield from (url for row, url in bare.items() if row in linked)
        size = URLS_AT_ONCE


def _named(frame: Frame, row: bytes) -> tuple[bytes, str] | DamagedRow:
    """Return *row* with its URL, or the error if it is not a row key."""
    try:
        return row, frame.key.decode(row)
    except KeyFormatError as exc:
        return DamagedRow(row, None, str(exc))
