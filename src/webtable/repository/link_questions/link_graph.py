"""The link graph: the neighbours of a page, and the edges of a site, which are the links of all its pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from webtable._page.page import Page
from webtable.errors import DamagedRow
from webtable.repository.answers.columns import Columns, column, declared
from webtable.repository.answers.results import Window
from webtable.repository.answers.tabular import Tabular
from webtable.repository.arguments import check_numbers
from webtable.repository.link_questions.inlinks import InlinksQuestion
from webtable.repository.questions.listing import BY_URL, SITE, Listing
from webtable.repository.questions.rows import ScopeQuestion, url_at
from webtable.repository.scanning.scope import Scope
from webtable.rowkey import canonical_url
from webtable.rowkey.urls import canonical_or_none, split_url
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable._page.parts import Link
    from webtable.repository.frame import Frame
    from webtable.repository.scanning.damage import Damage
    from webtable.repository.scanning.scan import ScanSpec

EDGES_AT_ONCE: Final = 1_000
"""How many edges are completed with the status of their targets at once, at most."""
FIRST_EDGES: Final = 64
"""How many are at first, if nobody says how many are wanted."""
_BETWEEN: Final = b"\x00"
"""What separates the page from its target in the place of an edge: it is in no key."""
TARGETS_REMEMBERED: Final = 10_000
"""Of how many targets the status is remembered: the pages of a site mostly link to the same ones."""


class Neighbour(NamedTuple):
    """A page that links to another (`direction` "from"), or that one links to ("to"), and the link.

    `status` is that of its last capture, None if it is not stored.
    """

    direction: Literal["from", "to"]
    url: str
    anchor: str
    rel: str
    status: int | None


NEIGHBOURS = declared(
    Neighbour,
    "neighbour",
    column("direction"),
    column("url", "url"),
    column("anchor", share=2),
    column("rel", width=9),
    column("status", "status", heading="status"),
)


@dataclass(frozen=True, slots=True)
class Neighbours(Tabular[Neighbour]):
    """The pages around `url`, which need not be stored itself: those that link to it, and those that it links to.

    As a table it has a row for each. `more_linking` is whether more pages link here, `more_linked` how many
    more it links to.
    """

    url: str
    linking: tuple[Neighbour, ...]
    linked: tuple[Neighbour, ...]
    more_linking: bool = False
    more_linked: int = 0

    @property
    def _columns(self) -> Columns:
        return NEIGHBOURS

    def _title(self) -> str:
        return f"links from and to {self.url}"

    def __iter__(self) -> Iterator[Neighbour]:
        yield from self.linking
        yield from self.linked


def neighbours(frame: Frame, url: str, limit: int) -> Neighbours:
    """Return what `TableLinks.neighbours` does."""
    check_numbers(limit=limit)
    centre = canonical_url(url)
    # One more for the page itself, and one to see whether there are more.
    question = InlinksQuestion(frame, centre, Scope(), Window("source", limit + 2), past=False)
    inlinks = [inlink for inlink in question.answer() if inlink.source != centre]
    linking = [Neighbour("from", one.source, one.anchor, one.rel, _status(one.page)) for one in inlinks[:limit]]
    links = [link for link in _links(frame, centre) if link.url != centre]
    linked = tuple(_with_status(frame, links[:limit]))
    return Neighbours(centre, tuple(linking), linked, len(inlinks) > limit, max(0, len(links) - limit))


def _links(frame: Frame, url: str) -> Sequence[Link]:
    """Return the links of *url*, the first to each page; none if it is not stored.

    A link that leads to no page, such as an erased one (`about:blank`), is left out.
    """
    (page,) = frame.counted.read([frame.key.encode(url)], ("outlinks",))
    links: dict[str, Link] = {}
    for link in (page and page.outlinks) or ():
        if canonical_or_none(link.url) is not None:
            links.setdefault(link.url, link)
    return tuple(links.values())


def _with_status(frame: Frame, links: Sequence[Link]) -> Iterator[Neighbour]:
    statuses = _statuses(frame, [link.url for link in links], frame.damage())
    for link, status in zip(links, statuses, strict=True):
        yield Neighbour("to", link.url, link.anchor, link.rel, status)


def _status(page: Page | None) -> int | None:
    return None if page is None else page.status


@dataclass(frozen=True, slots=True)
class Edge:
    """A link of the page `source` to the page `target`, which is on `host`; each page once.

    `status` is that of the last capture of the target, None if it is not stored or cannot be read.
    """

    source: str
    target: str
    anchor: str
    host: str
    status: int | None = None


EDGES = declared(
    Edge,
    "edge",
    column("source", "url"),
    column("target", "url"),
    column("anchor", share=2),
    column("host"),
    column("status", "status", heading="status"),
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

    They come by the URL of the linking page, then by that of the page to which they lead, with its host, and its status
    if it is stored. The links of all pages are read.
    """,
)


class EdgesQuestion(ScopeQuestion[Edge]):
    """Which links the pages of a scope have."""

    notes = (f"the metadata of the targets of {EDGES_AT_ONCE:,} links is read at once, for their status",)

    def __init__(self, frame: Frame, scope: Scope, window: Window) -> None:
        super().__init__(frame, scope, window, LISTING)
        self.title = f"links{self.pages.label_after('of')}"

    def spec(self) -> ScanSpec:
        return self.pages.spec(Wanted(self.frame.codec.select(("outlinks",))))

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Edge]:
        frame, order = self.frame, self.window.order
        source, _, target = (after or b"").partition(_BETWEEN)
        rest = self.pages.pages(self.spec(), order, source or None, damage)
        if not source:
            edges = _edges_of(rest)
        else:
            row = source if order == "storage" else frame.key.encode(url_at(source))
            begun = damage.sift(frame.counted.read_each([row], ("outlinks",)))
            remaining = (edge for edge in _edges_of(page for page in begun if page) if edge.target.encode() > target)
            edges = chain(remaining, _edges_of(rest))
        return _completed(frame, edges, expected, damage)

    def place(self, result: Edge) -> bytes:
        return self.pages.place_of(result.source, self.window.order) + _BETWEEN + result.target.encode()


def _edges_of(pages: Iterable[Page]) -> Iterator[Edge]:
    """Yield the edges from *pages*, without the status of their targets; those of a page by URL."""
    for page in pages:
        anchors: dict[str, str] = {}
        for link in page.outlinks or ():
            if (target := canonical_or_none(link.url)) is not None:
                anchors.setdefault(target, link.anchor)
        for target in sorted(anchors):
            yield Edge(page.url, target, anchors[target], split_url(target).host)


def _completed(frame: Frame, found: Iterator[Edge], expected: int | None, damage: Damage) -> Iterator[Edge]:
    """Yield the edges *found* with the status of their targets, which are read for some of them at once."""
    remembered: dict[str, int | None] = {}
    size = min(expected or FIRST_EDGES, EDGES_AT_ONCE)
    while some := list(islice(found, size)):
        missing = list(dict.fromkeys(edge.target for edge in some if edge.target not in remembered))
        statuses = dict(zip(missing, _statuses(frame, missing, damage), strict=True))
        remembered |= statuses
        yield from (replace(edge, status=remembered[edge.target]) for edge in some)
        for target in list(islice(remembered, max(0, len(remembered) - TARGETS_REMEMBERED))):
            del remembered[target]
        size = min(2 * size, EDGES_AT_ONCE)


def _statuses(frame: Frame, urls: Sequence[str], damage: Damage) -> Iterator[int | None]:
    rows = [frame.key.encode(url) for url in urls]
    for page in frame.counted.read_each(rows, ()) if rows else ():
        if isinstance(page, DamagedRow):
            damage.add(page)
        yield page.status if isinstance(page, Page) else None
