"""Questions about links: most-linked pages, dead ends, broken links, the links of a page, and the link graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace as replace_page

from webtable._clock import moment_of, now_in_milliseconds
from webtable.errors import DamagedRow
from webtable.page.page import Page
from webtable.page.parts import PAGE_KINDS, Link, LinkKind
from webtable.repository.answers.columns import PAGES, column, column_names, declared, fields_of, pages_with
from webtable.repository.answers.listing import BY_URL, SITE, URL, Listing
from webtable.repository.answers.results import Window
from webtable.repository.answers.tokens import invalid_token, last_number
from webtable.repository.indexes.index import HIGHEST_COUNT, LINK, STATUS, descending
from webtable.repository.indexes.lookup import EntryReader, Lookup
from webtable.repository.indexes.pages import IndexQuestion, SitePageOptions
from webtable.repository.links.inlink_cells import is_only_self, links_of
from webtable.repository.links.inlinks import InlinkReader
from webtable.repository.links.kinds import KINDS, LinkKinds, by_kinds, checked_kinds
from webtable.repository.questions.pages import ScopeQuestion, TableQuestion, url_at
from webtable.repository.reading.scope import Scope, SiteParts
from webtable.repository.upkeep.queue import RecountQueue
from webtable.repository.upkeep.recounts import Recount, Refresh
from webtable.rowkey import KeyRange, canonical_url, prefix_stop
from webtable.rowkey.urls import canonical_or_none, split_url
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Explanation, Pages
    from webtable.repository.arguments import Progress
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scan import ScanSpec


_NO_LINKS = descending(0, HIGHEST_COUNT)
"""The end of the entries of counts: the highest come first, so pages without links are last."""


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link from the page `source` to a page whose last capture is an error; a row for each link.

    `anchor`, `rel`, `kind`, `position` and `times` are as in `Link`.
    """

    source: str
    target: str
    status: int
    anchor: str
    rel: str
    kind: str = "a"
    position: str = ""
    times: int = 1
    _place: bytes = field(default=b"", repr=False, compare=False)


_POSITION = (column("position", width=8), column("times", "count", width=6))
BROKEN_LINKS = declared(
    BrokenLink,
    "broken link",
    column("source", "url"),
    column("target", "url"),
    column("status", "status", heading="status"),
    column("anchor", share=2),
    column("rel", width=9),
    column("kind", width=8),
    *_POSITION,
    listed=("target", "status", "source", "anchor"),
)
LINKS = declared(
    Link,
    "link",
    column("url", "url"),
    column("anchor", share=2),
    column("rel", width=9),
    column("kind", width=8),
    *_POSITION,
)


MOST_LINKED = Listing(
    "most_linked",
    PAGES.listing("url", "inlinks", "internal", "external", "title"),
    orders=("most", "fewest", "storage"),
    of_links="most_linked",
    options=(SITE,),
    examples=(
        "webtable most-linked --limit 20",
        "webtable most-linked example.com --columns url,inlinks,external,counted_at",
    ),
    indexes=(LINK,),
    is_of_pages=True,
    has_counts=True,
    help="""List the pages by how many others link to them, the most first; pages without inlinks are left out.

    The counts are those of the last refresh of the links.
    """,
    of_command="`links refresh` counts again; standard error says how many pages wait for that.",
)
DEAD_ENDS = Listing(
    "dead_ends",
    PAGES,
    orders=BY_URL,
    of_links="dead_ends",
    options=(SITE, KINDS),
    examples=("webtable dead-ends example.com", "webtable dead-ends --columns url,title --format csv"),
    indexes=(LINK,),
    is_of_pages=True,
    help="""List the pages that have no links to others. A page that only shows images has none.

    With `--kinds` the links of all pages are read.
    """,
)
LINKS_OF = Listing(
    "links_of",
    LINKS,
    orders=("page",),
    of_links="of",
    options=(URL,),
    examples=(
        "webtable links-of https://example.com/products",
        "webtable links-of https://example.com/products --columns url",
    ),
    help="List the links of a page, in the order in which it has them.",
)
BROKEN = Listing(
    "broken_links",
    BROKEN_LINKS,
    orders=("status",),
    of_links="broken",
    options=(SITE, KINDS),
    examples=("webtable broken-links example.com", "webtable broken-links --format csv > broken.csv"),
    indexes=(LINK, STATUS),
    help="""List the links that lead to an error page, by its status and URL, a line for each link.

    If a site is given, links on pages elsewhere are left out.
    """,
)


class Freshness(NamedTuple):
    """How many batches of pages wait to have their links counted, and since when the oldest has waited."""

    waiting: int
    since: datetime | None


def most_linked(context: TableContext, options: SitePageOptions) -> Pages:
    """Return the pages by how many others link to them, as counted last."""
    return IndexQuestion(
        context,
        options,
        MOST_LINKED,
        title="pages by inbound links",
        index=LINK,
        places=lambda: [KeyRange(b"inlinks_", LINK.term(("inlinks", _NO_LINKS)))],
        backwards="fewest",
        notes=lambda: [_freshness_note(links_freshness(context))],
    ).answer()


def dead_ends(context: TableContext, kinds: LinkKinds, options: SitePageOptions) -> Pages:
    """Return the pages that have no links to others."""
    chosen = checked_kinds(kinds)
    if chosen != PAGE_KINDS:
        return DeadEndsQuestion(context, chosen, options).answer()
    return IndexQuestion(
        context,
        options,
        DEAD_ENDS,
        title="pages without links",
        index=LINK,
        places=lambda: [LINK.range_of(("outlinks", _NO_LINKS))],
    ).answer()


class DeadEndsQuestion(ScopeQuestion[Page]):
    """Which pages of a scope have no links of some kinds to others."""

    listing = DEAD_ENDS
    notes: Sequence[str] = ("the links of all pages are read: the index has counts of those that lead to pages alone",)

    def __init__(self, context: TableContext, kinds: Sequence[str], options: SitePageOptions) -> None:
        limit, order = options.get("limit"), options.get("order") or DEAD_ENDS.orders[0]
        window = Window(order, limit, options.get("after"), options.get("urls"))
        super().__init__(context, Scope.of(options.get("site"), limit=limit), window)
        self.kinds: Sequence[str] = kinds
        self.title: str = f"{self.pages.label} without links of the kinds {', '.join(kinds)}"
        names = column_names(options.get("columns"))
        context.codec.select(names)
        self.columns: Columns = pages_with(names)
        self._fields = fields_of(names)

    def spec(self) -> ScanSpec:
        return self.pages.spec(Wanted(self.context.codec.select((*self._fields, "outlinks"))))

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Page]:
        del expected  # few pages are dead ends
        for page in self.pages.pages(self.spec(), self.window.order, after, damage):
            if page.outlink_count is not None and is_only_self(page.url, links_of(page), self.kinds):
                yield page if "outlinks" in self._fields else replace_page(page, outlinks=None)


class LinksQuestion(TableQuestion[Link]):
    """Which links a page has."""

    listing = LINKS_OF

    def __init__(self, context: TableContext, url: str, window: Window) -> None:
        page = canonical_url(url)
        # The scope is for the suggestion of another host alone: one row is read.
        super().__init__(context, Scope(SiteParts(split_url(page).host, is_subtree=True)), window)
        self._row = context.key.encode(page)
        self._last_read: Sequence[Link] = ()
        self.title: str = f"links of {page}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Link]:
        links = self._last_read = self._links()
        if after is None:
            return iter(links)
        position, _, url = after.partition(b" ")
        if not position.isdigit():
            raise invalid_token(self.window.after)
        # After the link, if it is still there, else after its former position. A page may have several links to one
        # target (`about:blank` after an erasure), so the position counts first.
        at = int(position)
        if at >= len(links) or links[at].url.encode() != url:
            at = next((number for number, link in enumerate(links) if link.url.encode() == url), at - 1)
        return iter(links[at + 1 :])

    def place(self, result: Link) -> bytes:
        # By identity first: of several equal links each has a position of its own.
        at = next((number for number, link in enumerate(self._last_read) if link is result), None)
        if at is None:
            at = next((number for number, link in enumerate(self._links()) if link == result), 0)
        return b"%d %s" % (at, result.url.encode())

    def explain(self) -> Explanation:
        row = KeyRange(self._row, self._row + b"\x00")
        return self.plan(self.context.codec.select(("outlinks",)), [row])

    def _links(self) -> Sequence[Link]:
        (page,) = self.context.counted.read([self._row], ("outlinks",))
        return () if page is None else links_of(page)


class BrokenLinksQuestion(TableQuestion[BrokenLink]):
    """Which links lead to an error page."""

    listing = BROKEN

    def __init__(self, context: TableContext, scope: Scope, window: Window, kinds: LinkKinds) -> None:
        super().__init__(context, scope, window)
        self.kinds: tuple[LinkKind, ...] = checked_kinds(kinds)
        self.title: str = "broken links" + (f" of {scope}" if scope.place else "") + by_kinds(self.kinds)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[BrokenLink]:
        start, _, source = (after or b"400").partition(b"\x00")
        pages = EntryReader(self.context).pages(self._lookup(start), (), damage, None, expected)
        targets = ((page, source if place == start and source else None) for place, page in pages)
        reader = InlinkReader(self.context, damage)
        inlinks = reader.of_each(targets, inside=self.scope.contains(), expected=expected)
        return (
            BrokenLink(
                link.source,
                page.url,
                page.status,
                link.anchor,
                link.rel,
                link.kind,
                link.position,
                link.times,
                link._place,
            )
            for page, link in inlinks
            if link.kind in self.kinds
        )

    def place(self, result: BrokenLink) -> bytes:
        key = self.context.key.unsalted(self.context.key.encode(result.target))
        return STATUS.range_of(f"{result.status:03d}").start + key + b"\x00" + result._place

    def explain(self) -> Explanation:
        # Each inlink of each error page is checked, so there are no counts to be out of date.
        note = "the inlinks of some error pages at once are read, and checked against the pages that link to them"
        return self.plan((), self._lookup(b"400").ranges(), note, index=STATUS.name)

    def _lookup(self, start: bytes) -> Lookup:
        self.context.indexes.ready(LINK.name, self.title)
        table = self.context.indexes.ready(STATUS.name, self.title).table
        return Lookup(STATUS, table, [KeyRange(start, prefix_stop(b"999"))], part=self.context.keys_of(table))


def refresh_links(context: TableContext, on_progress: Progress | None, *, also_unfinished: bool) -> Recount:
    """Count the links and the hosts that wait for it."""
    queue, began = RecountQueue(context.store, context.table), now_in_milliseconds()
    waiting = queue.waiting(also_unfinished=also_unfinished)
    # Read afterwards: the batch of an index that is being added must not be removed by a run that does not know it.
    indexes = context.indexes.read()
    done = Refresh(context, indexes.values(), context.damage(), on_progress).run(waiting, queue)
    if LINK.name in indexes and indexes[LINK.name].state.phase == "ready":
        # Pages that a writer still holds, or that came in meanwhile, are not counted.
        _, since = queue.extent()
        context.refreshed.advance(min(began, since or began))
    return done


def links_freshness(context: TableContext) -> Freshness:
    """Return how much waits to be counted."""
    waiting, since = RecountQueue(context.store, context.table).extent()
    return Freshness(waiting, None if since is None else moment_of(since))


def _freshness_note(freshness: Freshness) -> str:
    waiting, since = freshness
    return f"counts: {waiting:,} batches wait since {since:%Y-%m-%d %H:%M:%S}" if since else "counts: up to date"


# --- The link graph ---------------------------------------------------------------------------------------------------
#
# Its edges are all links of all pages of a site; the status of their targets is read for many at once.


EDGES_AT_ONCE: Final = 1_000
"""How many edges are completed with the status of their targets at once, at most."""
FIRST_EDGES: Final = 64
"""How many are at first, if nobody says how many are wanted."""
_BETWEEN: Final = b"\x00"
"""What separates the page from its target in the place of an edge: it is in no key."""
TARGETS_REMEMBERED: Final = 10_000
"""Of how many targets the status is remembered: the pages of a site mostly link to the same ones."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A link of the page `source` to the page `target`, which is on `host`; a row for each link.

    `anchor`, `rel`, `kind`, `position` and `times` are as in `Link`. `status` is that of the last capture of the
    target, None if it is not stored or cannot be read.
    """

    source: str
    target: str
    anchor: str
    host: str
    status: int | None = None
    kind: str = "a"
    rel: str = ""
    position: str = ""
    times: int = 1
    _number: int = field(default=0, repr=False, compare=False)


EDGES = declared(
    Edge,
    "edge",
    column("source", "url"),
    column("target", "url"),
    column("anchor", share=2),
    column("host"),
    column("status", "status", heading="status"),
    column("kind", width=8),
    column("rel", width=9),
    *_POSITION,
)
LISTING = Listing(
    "edges",
    EDGES,
    orders=BY_URL,
    options=(SITE,),
    examples=(
        "webtable edges example.com --limit 20",
        "webtable edges all --out edges.parquet",
        "webtable edges example.com --columns source,target --format csv",
    ),
    help="""List the links of all pages of a site: the link graph, a line for each link.

    They come by the URL of the linking page, then by that of the target. The links of all pages are read.
    """,
)


class EdgesQuestion(ScopeQuestion[Edge]):
    """Which links the pages of a scope have."""

    listing = LISTING
    notes: Sequence[str] = (
        f"the metadata of the targets of {EDGES_AT_ONCE:,} links is read at once, for their status",
    )

    def __init__(self, context: TableContext, scope: Scope, window: Window) -> None:
        super().__init__(context, scope, window)
        self.title: str = f"links{self.pages.label_after('of')}"

    def spec(self) -> ScanSpec:
        return self.pages.spec(Wanted(self.context.codec.select(("outlinks",))))

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Edge]:
        context, order = self.context, self.window.order
        source, _, rest_of_place = (after or b"").partition(_BETWEEN)
        rest = self.pages.pages(self.spec(), order, source or None, damage)
        if not source:
            edges = _edges_of(rest)
        else:
            row = source if order == "storage" else context.key.encode(url_at(source))
            begun = damage.sift(context.counted.read_each([row], ("outlinks",)))
            target, number = last_number(rest_of_place, _BETWEEN)
            place = target.decode("utf-8", "replace"), number
            of_page = _edges_of(page for page in begun if page)
            remaining = (edge for edge in of_page if (edge.target, edge._number) > place)
            edges = chain(remaining, _edges_of(rest))
        return _completed(context, edges, expected, damage)

    def place(self, result: Edge) -> bytes:
        target = result.target.encode() + _BETWEEN + b"%d" % result._number
        return self.pages.place_of(result.source, self.window.order) + _BETWEEN + target


def _edges_of(pages: Iterable[Page]) -> Iterator[Edge]:
    """Yield the edges from *pages*, without the status of their targets; those of a page by URL."""
    for page in pages:
        links: dict[str, list[Link]] = {}
        for link in links_of(page):
            if (target := canonical_or_none(link.url)) is not None:
                links.setdefault(target, []).append(link)
        for target in sorted(links):
            host = split_url(target).host
            for number, (_, anchor, rel, kind, position, times) in enumerate(links[target]):
                yield Edge(page.url, target, anchor, host, None, kind, rel, position, times, number)


def _completed(context: TableContext, edges: Iterator[Edge], expected: int | None, damage: Damage) -> Iterator[Edge]:
    """Yield *edges* with the status of their targets, which are read for some of them at once."""
    remembered: dict[str, int | None] = {}
    size = min(expected or FIRST_EDGES, EDGES_AT_ONCE)
    while batch := list(islice(edges, size)):
        missing = list(dict.fromkeys(edge.target for edge in batch if edge.target not in remembered))
        statuses = dict(zip(missing, _statuses(context, missing, damage), strict=True))
        remembered |= statuses
        yield from (replace(edge, status=remembered[edge.target]) for edge in batch)
        # The oldest go: a dict keeps the order in which targets came.
        for target in list(islice(remembered, max(0, len(remembered) - TARGETS_REMEMBERED))):
            del remembered[target]
        size = min(2 * size, EDGES_AT_ONCE)


def _statuses(context: TableContext, urls: Sequence[str], damage: Damage) -> Iterator[int | None]:
    rows = [context.key.encode(url) for url in urls]
    for page in context.counted.read_each(rows, ()) if rows else ():
        if isinstance(page, DamagedRow):
            damage.add(page)
        yield page.status if isinstance(page, Page) else None
