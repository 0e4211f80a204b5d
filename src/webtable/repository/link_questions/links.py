"""Questions about links: most-linked pages, dead ends, broken links, and the links of a page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from webtable._clock import moment_of, now_in_milliseconds
from webtable.page.parts import Link
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import BY_URL, SITE, URL, Listing
from webtable.repository.answers.page_columns import PAGES
from webtable.repository.answers.results import Explanation, Question
from webtable.repository.answers.tokens import invalid_token
from webtable.repository.derived.queue import RecountQueue
from webtable.repository.derived.refresh import Recount, Refresh
from webtable.repository.indexes.index import HIGHEST_COUNT, LINK, STATUS, descending
from webtable.repository.indexes.lookup import EntryReader, Lookup
from webtable.repository.link_questions.inlinks import InlinkReader
from webtable.repository.questions.index_answer import IndexQuestion, SitePageOptions
from webtable.repository.questions.rows import TableQuestion
from webtable.repository.questions.similar_hosts import host_meant
from webtable.rowkey import KeyRange, canonical_url, prefix_stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.errors import DamagedRow
    from webtable.repository.answers.results import Pages, Window
    from webtable.repository.arguments import Progress
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.repository.reading.scope import Scope

_NO_LINKS = descending(0, HIGHEST_COUNT)


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link from the page `source` to a page whose last capture is an error."""

    source: str
    target: str
    status: int
    anchor: str
    rel: str


BROKEN_LINKS = declared(
    BrokenLink,
    "broken link",
    column("source", "url"),
    column("target", "url"),
    column("status", "status", heading="status"),
    column("anchor", share=2),
    column("rel", width=9),
    listed=("target", "status", "source", "anchor"),
)
LINKS = declared(Link, "link", column("url", "url"), column("anchor", share=2), column("rel", width=9))


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
    options=(SITE,),
    examples=("webtable dead-ends example.com", "webtable dead-ends --columns url,title --format csv"),
    indexes=(LINK,),
    is_of_pages=True,
    help="List the pages that have no links to others.",
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
    options=(SITE,),
    examples=("webtable broken-links example.com", "webtable broken-links --format csv > broken.csv"),
    indexes=(LINK, STATUS),
    help="""List the links that lead to an error page, by its status and URL.

    If a site is given, links on pages elsewhere are left out.
    """,
)


class Freshness(NamedTuple):
    """How many batches of pages wait to have their links counted, and since when the oldest has waited."""

    waiting: int
    since: datetime | None


def most_linked(frame: Frame, options: SitePageOptions) -> Pages:
    """Return what `TableLinks.most_linked` does."""
    return IndexQuestion(
        frame,
        options,
        title="pages by inbound links",
        columns=MOST_LINKED.columns,
        index=LINK,
        places=lambda: [KeyRange(b"inlinks_", LINK.term(("inlinks", _NO_LINKS)))],
        orders={"most": False, "fewest": True},
        is_counted=True,
        notes=lambda: [_freshness_note(links_freshness(frame))],
    ).answer()


def dead_ends(frame: Frame, options: SitePageOptions) -> Pages:
    """Return what `TableLinks.dead_ends` does."""
    return IndexQuestion(
        frame,
        options,
        title="pages without links",
        index=LINK,
        places=lambda: [LINK.range_of(("outlinks", _NO_LINKS))],
        orders={"url": False},
        is_by_url=True,
    ).answer()


class LinksQuestion(Question[Link]):
    """Which links a page has."""

    columns = LINKS

    def __init__(self, frame: Frame, url: str, window: Window) -> None:
        window.check(*LINKS_OF.orders)
        self.window = window
        self._frame, self._source = frame, canonical_url(url)
        self._row = frame.key.encode(self._source)
        self.title: str = f"links of {self._source}"

    def damage(self, rows: list[DamagedRow]) -> Damage:
        return self._frame.damage(rows)

    def suggestion(self) -> str:
        return host_meant(self._frame, self._source)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Link]:
        if after is None:
            return iter(self._links())
        # After the link, if it is still there; else after its former position.
        position, _, url = after.partition(b" ")
        if not position.isdigit():
            raise invalid_token(self.window.after)
        links = self._links()
        at = next((at for at, link in enumerate(links) if link.url.encode() == url), int(position) - 1)
        return iter(links[at + 1 :])

    def place(self, result: Link) -> bytes:
        at = next((at for at, link in enumerate(self._links()) if link.url == result.url), 0)
        return b"%d %s" % (at, result.url.encode())

    def explain(self) -> Explanation:
        names = tuple(column.decode() for column in self._frame.codec.select(("outlinks",)))
        return Explanation(self.title, self.window.order, names, (KeyRange(self._row, self._row + b"\x00"),))

    def _links(self) -> Sequence[Link]:
        (page,) = self._frame.counted.read([self._row], ("outlinks",))
        return (page and page.outlinks) or ()


class BrokenLinksQuestion(TableQuestion[BrokenLink]):
    """Which links lead to an error page."""

    def __init__(self, frame: Frame, scope: Scope, window: Window) -> None:
        super().__init__(frame, scope, window, BROKEN)
        self.title: str = "broken links" + (f" of {scope}" if scope.place else "")

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[BrokenLink]:
        start, _, source = (after or b"400").partition(b"\x00")
        pages = EntryReader(self.frame).pages(self._lookup(start), (), damage, None, expected)
        targets = ((page, source if place == start and source else None) for place, page in pages)
        reader = InlinkReader(self.frame, damage)
        inlinks = reader.of_each(targets, inside=self.scope.contains(), expected=expected)
        return (BrokenLink(link.source, page.url, page.status, link.anchor, link.rel) for page, link in inlinks)

    def place(self, result: BrokenLink) -> bytes:
        key = self.frame.key.unsalted(self.frame.key.encode(result.target))
        return STATUS.range_of(f"{result.status:03d}").start + key + b"\x00" + result.source.encode()

    def explain(self) -> Explanation:
        note = "the inlinks of some error pages at once are read, and checked against the pages that link to them"
        return self.plan((), self._lookup(b"400").ranges(), note, index=STATUS.name)

    def _lookup(self, start: bytes) -> Lookup:
        self.frame.indexes.ready(LINK.name, self.title)
        table = self.frame.indexes.ready(STATUS.name, self.title).table
        return Lookup(STATUS, table, [KeyRange(start, prefix_stop(b"999"))], part=self.frame.keys_of(table))


def refresh_links(frame: Frame, on_progress: Progress | None, *, also_unfinished: bool) -> Recount:
    """Do what `TableLinks.refresh` does."""
    queue, began = RecountQueue(frame.store, frame.table), now_in_milliseconds()
    waiting = queue.waiting(also_unfinished=also_unfinished)
    # Read afterwards: the batch of an index that is being added must not be removed by a run that does not know it.
    indexes = frame.indexes.read()
    done = Refresh(frame, indexes.values(), frame.damage(), on_progress).run(waiting, queue)
    if LINK.name in indexes and indexes[LINK.name].state.phase == "ready":
        # Pages that a writer still holds, or that came in meanwhile, are not counted.
        _, since = queue.extent()
        frame.refreshed.advance(min(began, since or began))
    return done


def links_freshness(frame: Frame) -> Freshness:
    """Return what `TableLinks.freshness` does."""
    waiting, since = RecountQueue(frame.store, frame.table).extent()
    return Freshness(waiting, None if since is None else moment_of(since))


def _freshness_note(freshness: Freshness) -> str:
    waiting, since = freshness
    return f"counts: {waiting:,} batches wait since {since:%Y-%m-%d %H:%M:%S}" if since else "counts: up to date"
