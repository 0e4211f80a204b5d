"""The question which pages nobody finds by links: those to which no other page links, or none of their own host."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from webtable.repository.answers.page_columns import PAGES, pages_with
from webtable.repository.answers.page_rows import PageRows
from webtable.repository.indexes.web import LINK
from webtable.repository.questions.confirmation import URLS_AT_ONCE, Confirmation, Sources
from webtable.repository.questions.hosts import narrowed
from webtable.repository.questions.listing import BY_URL, DOMAIN, FULL_SCAN, Listing, ListingOption
from webtable.repository.scanning.scan import ScanSpec
from webtable.repository.stored.codec import EXTRA_COLUMNS, column_names
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable._page.page import Page
    from webtable.repository.answers.results import Explanation, Pages, Slice
    from webtable.repository.frame import Frame
    from webtable.repository.scanning.scope import Scope
    from webtable.repository.stored.damaged_rows import Damage


LISTING = Listing(
    "orphans",
    PAGES,
    orders=BY_URL,
    options=(
        DOMAIN,
        ListingOption("within_host", "Those that no other page of their own host links to.", "flag"),
        FULL_SCAN,
    ),
    examples=(
        "webtable orphans example.com",
        "webtable orphans example.com --within-host --columns url,title",
        "webtable orphans --full-scan --format csv > orphans.csv",
    ),
    indexes=(LINK,),
    is_of_pages=True,
    help="""List the pages of a host, and of all hosts below it, that no other page links to.

    A link of a page to itself is none. Links are looked at as they are now, whenever they were counted last.
    """,
)


def orphans(frame: Frame, scope: Scope, columns: Sequence[str] | None, part: Slice, *, within_host: bool) -> Pages:
    """Return what `WebTable.orphans` does."""
    LISTING.check(part)
    rows = PageRows(frame)
    said, ranges = scope.ranges(frame)
    question = f"{said}, without a link from another page{' of their host' if within_host else ''}"
    names = column_names(columns)
    frame.codec.select(names)

    def spec(expected: int | None) -> ScanSpec:
        some = narrowed(frame, scope, ranges)
        return ScanSpec(frame.table, some, Wanted(frame.codec.select(None)), expected=expected)

    def run(after: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Page]:
        if at_most == 0:
            return iter(())
        frame.indexes.ready(LINK.name, question)
        pages = rows.pages(spec(at_most), part.order, after, damage)
        confirmation = Confirmation(frame, damage, Sources(others=True, host=within_host))
        found = _unlinked(frame, pages, at_most, confirmation)
        return islice(_with_columns(frame, found, names, damage), at_most)

    def place(page: Page) -> bytes:
        return rows.place_of(page.url, part.order)

    def explain() -> Explanation:
        note = "the first inlinks of 256 pages are read at once, and one page is looked for that still links"
        return rows.explained(question, part.order, spec(None), note)

    return part.of(question, run, place, explain, frame.damage, pages_with(names))


def _unlinked(
    frame: Frame, pages: Iterator[Page], expected: int | None, confirmation: Confirmation
) -> Iterator[list[tuple[bytes, Page]]]:
    """Yield, with their rows and some at once, those of *pages* to which nobody links."""
    size = min(expected or URLS_AT_ONCE, URLS_AT_ONCE)
    while batch := [(frame.key.encode(page.url), page) for page in islice(pages, size)]:
        linked = confirmation.linked({row: page.url for row, page in batch})
        yield [(row, page) for row, page in batch if row not in linked]
        size = URLS_AT_ONCE


def _with_columns(
    frame: Frame, found: Iterator[list[tuple[bytes, Page]]], names: Sequence[str], damage: Damage
) -> Iterator[Page]:
    """Yield the pages *found*, with their bodies, links and counts where *names* has them."""
    is_bare = not set(names) & set(EXTRA_COLUMNS)
    for some in found:
        if is_bare:
            yield from (page for _, page in some)
        elif some:
            whole = frame.counted.read_each([row for row, _ in some], names)
            yield from (page for page in damage.sift(whole) if page is not None)
