"""Pages with the same content or title: the duplicates of a page, and groups of them, which are sorted on disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar, get_args

from webtable.errors import InvalidArgument
from webtable.repository.answers.columns import PAGES, column, declared
from webtable.repository.answers.listing import BY_URL, SITE, URL, Listing, ListingOption
from webtable.repository.answers.tokens import number_of
from webtable.repository.indexes.index import DIGEST, HIGHEST_SIZE
from webtable.repository.indexes.pages import IndexQuestion, SitePageOptions
from webtable.repository.questions.findings import is_content
from webtable.repository.questions.page import stored_page
from webtable.repository.questions.pages import SortedQuestion, url_at
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webtable.page.page import Page
    from webtable.repository.answers.results import Pages, Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Scope

Sameness = Literal["content", "title"]
"""What the pages of a group have in common."""
FIRST_URLS = 10
"""How many URLs of a group are listed."""


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Pages with the same `value`: the digest of their content, or their title.

    `pages` is their number, `bytes` the size of all their bodies, `urls` the first ten of them.
    """

    by: Sameness
    value: str
    pages: int
    bytes: int
    urls: tuple[str, ...]


DUPLICATE_GROUPS = declared(
    DuplicateGroup,
    "group",
    column("by"),
    column("value", share=2),
    column("pages", "count"),
    column("bytes", "bytes", heading="size"),
    column("urls", "urls", lambda group: list(group.urls)),
    listed=("value", "pages", "bytes", "urls"),
)


DUPLICATES = Listing(
    "duplicates",
    PAGES,
    orders=BY_URL,
    options=(URL, SITE),
    examples=(
        "webtable duplicates https://example.com/products",
        "webtable duplicates https://example.com/products --columns url,fetched_at --format csv",
    ),
    indexes=(DIGEST,),
    help="List the other pages with exactly the content of a page.",
    is_of_pages=True,
)
FACETS = ListingOption(
    "facets", "Only indexable pages, in groups of URLs with one path that differ in their query.", "flag", default=False
)
LISTING = Listing(
    "duplicate_groups",
    DUPLICATE_GROUPS,
    orders=("pages", "bytes"),
    options=(
        SITE,
        ListingOption("by", "What they have in common.", default="content", choices=get_args(Sameness)),
        FACETS,
    ),
    examples=(
        "webtable duplicate-groups example.com --limit 20",
        "webtable duplicate-groups example.com --by title --format csv > titles.csv",
        "webtable duplicate-groups all --order bytes",
        "webtable duplicate-groups example.com --facets",
    ),
    help="""List the groups of pages that have the same content, or the same title: the group with the most pages first.

    Errors and redirects are left out. Each has the digest or the title, how many pages, how many bytes in all, and the
    first ten URLs.
    """,
)


class GroupOfPages(Protocol):
    """A group as answers have it: its first URLs stand for it, and `pages` or `bytes` for its order."""

    @property
    def urls(self) -> tuple[str, ...]: ...


G = TypeVar("G", bound=GroupOfPages)
# The index has all columns, so that groups are made, and their first pages are found, without a look at the table.
_MEMBERS = "CREATE TABLE members (value BLOB, place BLOB, size INTEGER)"
_BY_VALUE = "CREATE INDEX by_value ON members (value, place, size)"
_GROUPS = """
    SELECT value, pages, bytes FROM (
        SELECT value, count(*) AS pages, sum(size) AS bytes, min(place) AS first FROM members GROUP BY value
    ) WHERE pages > 1 AND (-{order}, first) > (?, ?) ORDER BY -{order}, first
"""
_FIRST = f"SELECT place FROM members WHERE value = ? ORDER BY place LIMIT {FIRST_URLS}"


def groups(
    scratch: TemporaryTables, members: Iterable[tuple[Any, bytes, int]], order: str, after: bytes | None
) -> Iterator[tuple[Any, int, int, tuple[str, ...]]]:
    """Yield the groups of two *members* or more that have the same value: it, their number, bytes and first URLs.

    Each member is a value, the place of a page by URL, and the size of its body. They are sorted in *scratch*. The
    largest come first, by `pages` or `bytes` as the *order* says, then by their first URL; those *after* a place.
    """
    scratch.run(_MEMBERS)
    scratch.fill("members", members, 3)
    # After the rows: so SQLite sorts them once, and places none by itself.
    scratch.run(_BY_VALUE)
    start = -(2**63), b""
    if after is not None:
        number, _, place = after.partition(b" ")
        start = number_of(number), place
    for value, pages, size in scratch.rows(_GROUPS.format(order=order), start):
        urls = tuple(url_at(place) for (place,) in scratch.rows(_FIRST, (value,)))
        yield value, pages, size, urls


class GroupsQuestion(SortedQuestion[G]):
    """A question whose results are `groups`."""

    def place(self, result: G) -> bytes:
        return b"%d %s" % (-getattr(result, self.window.order), self.pages.by_url(result.urls[0]))


class DuplicateGroupsQuestion(GroupsQuestion[DuplicateGroup]):
    """Which pages of a scope have the same content, or the same title."""

    listing = LISTING

    def __init__(self, context: TableContext, scope: Scope, window: Window, by: Sameness, *, facets: bool) -> None:
        super().__init__(context, scope, window)
        if by not in get_args(Sameness):
            raise InvalidArgument(f"by={by!r} must be one of {', '.join(get_args(Sameness))}")
        self.by: Sameness = by
        self.facets = facets
        self.title: str = f"{self.pages.label} in groups of the same {by}{OF_FACETS if facets else ''}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[DuplicateGroup]:
        stored = filter(is_facet if self.facets else is_content, self.pages.all(damage))
        valued = ((value_of(page, self.by), page) for page in stored)
        members = (
            # No address has the end of a line.
            (value + b"\n" + path_of(page) if self.facets else value, self.pages.by_url(page.url), size_of(page))
            for value, page in valued
            if value
        )
        with TemporaryTables() as scratch:
            for value, pages, size, urls in groups(scratch, members, self.window.order, after):
                shared = value.rpartition(b"\n")[0] if self.facets else value
                yield DuplicateGroup(self.by, shared.decode("utf-8", "surrogatepass"), pages, size, urls)


OF_FACETS: Final = " and path, that search engines may list"


def is_facet(page: Page) -> bool:
    """Whether *page* counts among those that differ in their query alone: search engines may list it."""
    return page.index_status == "indexable"


def path_of(page: Page) -> bytes:
    """Return the URL of *page* without its query."""
    return page.url.partition("?")[0].encode()


def size_of(page: Page) -> int:
    """Return the size of the body of *page*, as far as SQLite can add up many of them."""
    return min(page.size or 0, HIGHEST_SIZE)


def value_of(page: Page, by: Sameness) -> bytes | None:
    """Return the value that *page* may share with others; None if it has none."""
    if by == "content":
        return page.digest.encode() if page.digest else None
    # Titles may have half of a surrogate pair, which UTF-8 has no bytes for. As bytes: SQLite ends a text at a zero.
    return page.title.encode("utf-8", "surrogatepass") if page.title and not page.title.isspace() else None


def duplicates(context: TableContext, url: str, options: SitePageOptions) -> Pages:
    """Return the other pages with exactly the content of *url*, which is looked up when the answer is read."""
    own = canonical_url(url)

    # Looked up when the answer is read: to ask a question reads nothing.
    def digest() -> str:
        page = stored_page(context, own)
        return (page and page.digest) or ""

    return IndexQuestion(
        context,
        options,
        DUPLICATES,
        title=f"pages with the content of {own}",
        index=DIGEST,
        places=lambda: [DIGEST.range_of(digest())],
        shard_of=lambda: DIGEST.term(digest()),
        only=lambda page: page.url != own,
    ).answer()
