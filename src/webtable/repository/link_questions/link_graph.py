"""The link graph: the edges of a site, which are the links of all its pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from webtable.errors import DamagedRow
from webtable.page.page import Page
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import BY_URL, SITE, Listing
from webtable.repository.questions.rows import ScopeQuestion, url_at
from webtable.rowkey.urls import canonical_or_none, split_url
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.answers.results import Window
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.repository.reading.scan import ScanSpec
    from webtable.repository.reading.scope import Scope

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

    notes: Sequence[str] = (
        f"the metadata of the targets of {EDGES_AT_ONCE:,} links is read at once, for their status",
    )

    def __init__(self, frame: Frame, scope: Scope, window: Window) -> None:
        super().__init__(frame, scope, window, LISTING)
        self.title: str = f"links{self.pages.label_after('of')}"

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
