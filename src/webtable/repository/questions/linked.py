"""Questions about links: who links to a page, what is linked most, what leads nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Unpack

from webtable.errors import DamagedRow
from webtable.page import Page
from webtable.repository.hints.counts import LinkCounter, Recount
from webtable.repository.hints.inlinks import CURRENT_SOURCES, PAST, PAST_SOURCES, link_of
from webtable.repository.hints.queue import RecountQueue
from webtable.repository.hints.targets import Targets
from webtable.repository.indexes.lookup import Lookup
from webtable.repository.indexes.web import HIGHEST_COUNT, LINK, STATUS, descending
from webtable.repository.moments import moment_of, now_in_milliseconds
from webtable.repository.questions.base import PLAIN_KEY, Asked, Asking
from webtable.repository.results import Explanation, Results, check_order, invalid_token, position_of
from webtable.rowkey import KeyRange, canonical_host, canonical_url, prefix_stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.page import Link
    from webtable.repository.arguments import Progress
    from webtable.repository.damage import Damage
    from webtable.repository.results import Pages
    from webtable.store import Cell

PAGES_AT_ONCE = 256
"""Of how many error pages it is looked at once whether anybody links to them."""
SOURCES_AT_ONCE = 64
"""How many linking pages are checked at once."""

_NO_LINKS = descending(0, HIGHEST_COUNT)


@dataclass(frozen=True, slots=True)
class Inlink:
    """A link from the page `source`: its anchor text and `rel` as the page has them now (or had them last).

    `at` is the capture that brought it (or that no longer had it); `page` is the linking page without its body, None
    where that is not stored any more.
    """

    source: str
    anchor: str
    rel: str
    at: datetime
    is_current: bool
    page: Page | None


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link from the page `source` to a page whose last capture is an error."""

    source: str
    target: str
    status_code: int
    anchor: str
    rel: str


class Freshness(NamedTuple):
    """How many batches of pages wait to have their links counted, and since when the oldest of them does."""

    waiting: int
    since: datetime | None


class LinkQuestions(Asked):
    """The questions about links; each raises `IndexNeeded`, when it is asked, on a table without the link index."""

    def most_linked(self, **asking: Unpack[Asking]) -> Pages:
        """Return the pages by how many others link to them, the `most` first or the `fewest`; none without a link.

        The counts (`Page.link_counts`) are those of `refresh_links`, and each says when it was made; `links_freshness`
        tells what waits.
        """
        places = KeyRange(b"inlinks_", LINK.term(("inlinks", _NO_LINKS)))
        return self._by_index(
            "pages by inbound links",
            LINK,
            lambda: [places],
            {"most": False, "fewest": True},
            notes=self._freshness_note,
            **asking,
        )

    def dead_ends(self, **asking: Unpack[Asking]) -> Pages:
        """Return the pages that have no links to others, in the order of their URLs.

        One whose links all lead to itself is one of them, but where an earlier version has stored its content.
        """
        places = LINK.range_of(("outlinks", _NO_LINKS))
        if (domain := asking.get("domain")) is not None:
            (inside,) = PLAIN_KEY.subtree_ranges(canonical_host(domain))
            places = KeyRange(places.start + inside.start, places.start + inside.stop)
        return self._by_index("pages without links", LINK, lambda: [places], {"url": False}, within=True, **asking)

    def linking_to(
        self,
        url: str,
        *,
        past: bool = False,
        domain: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "source",
    ) -> Results[Inlink]:
        """Return the links that lead to *url* now, by the URL of the linking page; with *past* those that did once.

        Each is checked against the linking page. *domain* leaves out the pages of other domains. None where nobody
        links there; *url* need not be stored. Raises `InvalidURL`, `InvalidToken`, `InvalidArgument`.
        """
        check_order(order, ["source"], limit)
        target = canonical_url(url)
        inside = None if domain is None else PLAIN_KEY.subtree_ranges(canonical_host(domain))[0]
        question = f"{'past ' if past else ''}links to {target}" + (f" from {domain}" if domain else "")
        behind = position_of(after, question, order)

        def run(source: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Inlink]:
            self.indexes.ready(LINK.name, question)
            found = self._inlinks(target, source, damage, past=past, inside=inside, expected=at_most)
            return islice(found, at_most)

        def explain() -> Explanation:
            row, family = self.key.encode(target), self._codec.columns.inlinks
            calls = (
                f"read_cells: up to {SOURCES_AT_ONCE} inlinks of the row {row!r}",
                f"read: the links of {SOURCES_AT_ONCE} linking pages",
            )
            return Explanation(question, order, (f"{family}:",), (KeyRange(row, row + b"\x00"),), calls)

        return Results(
            question, order, limit, behind, run, lambda inlink: inlink.source.encode(), explain, self._damage
        )

    def links_of(
        self, url: str, *, limit: int | None = None, after: str | None = None, order: str = "page"
    ) -> Results[Link]:
        """Return the links of *url*, in the order in which the page has them; none where it is not stored.

        Raises `InvalidURL`, `InvalidToken`, `InvalidArgument`, and when it is asked `DamagedRow`.
        """
        check_order(order, ["page"], limit)
        source = canonical_url(url)
        question = f"links of {source}"
        behind = position_of(after, question, order)
        row = self.key.encode(source)

        def links() -> Sequence[Link]:
            (page,) = self._reader.read([row], ("outlinks",))
            return (page and page.outlinks) or ()

        def run(behind: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Link]:  # noqa: ARG001
            if behind is None:
                return iter(links()[:at_most])
            # Behind the link, where it still is; else as far down as it was.
            position, _, url = behind.partition(b" ")
            if not position.isdigit():
                raise invalid_token(after)
            found = links()
            at = next((at for at, link in enumerate(found) if link.url.encode() == url), int(position) - 1)
            return iter(found[at + 1 :][:at_most])

        def place(link: Link) -> bytes:
            at = next((at for at, other in enumerate(links()) if other.url == link.url), 0)
            return b"%d %s" % (at, link.url.encode())

        def explain() -> Explanation:
            names = tuple(column.decode() for column in self._codec.select(("outlinks",)))
            return Explanation(question, order, names, (KeyRange(row, row + b"\x00"),), ("read: 1 row",))

        return Results(question, order, limit, behind, run, place, explain, self._damage)

    def broken_links(
        self,
        *,
        domain: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "status",
    ) -> Results[BrokenLink]:
        """Return the links that lead to an error page, by its status, its URL and the URL of the linking page.

        *domain* leaves out the links on pages of other domains. Raises `InvalidURL`, `InvalidToken`, `InvalidArgument`,
        and when it is asked `IndexNeeded` on a table without the status or the link index.
        """
        check_order(order, ["status"], limit)
        inside = None if domain is None else PLAIN_KEY.subtree_ranges(canonical_host(domain))[0]
        question = "broken links" + (f" of {domain}" if domain else "")
        behind = position_of(after, question, order)

        def lookup(start: bytes) -> Lookup:
            self.indexes.ready(LINK.name, question)
            table = self.indexes.ready(STATUS.name, question).table
            return Lookup(STATUS, table, [KeyRange(start, prefix_stop(b"999"))])

        def run(position: bytes | None, at_most: int | None, damage: Damage) -> Iterator[BrokenLink]:
            place, _, source = (position or b"400").partition(b"\x00")
            asked = lookup(place)

            def links() -> Iterator[BrokenLink]:
                pages = self._entries.pages(asked, (), damage, None, at_most)
                while some := list(islice(pages, PAGES_AT_ONCE)):
                    linked = self._have_inlinks([page.url for _, page in some])
                    for found, page in (one for one in some if one[1].url in linked):
                        behind = source if found == place and source else None
                        found_links = self._inlinks(
                            page.url, behind, damage, past=False, inside=inside, expected=at_most
                        )
                        for link in found_links:
                            yield BrokenLink(link.source, page.url, page.status_code, link.anchor, link.rel)

            return islice(links(), at_most)

        def position(link: BrokenLink) -> bytes:
            key = self.key.unsalted(self.key.encode(link.target))
            return STATUS.range_of(f"{link.status_code:03d}").start + key + b"\x00" + link.source.encode()

        def explain() -> Explanation:
            asked = lookup(b"400")
            ranges = asked.ranges()
            calls = self.store.describe_calls(asked.table, ranges, each=True)
            note = "for each error page its inlinks are read, and checked against the pages that link to it"
            return Explanation(question, order, (), tuple(ranges), tuple(calls), STATUS.name, (note,))

        return Results(question, order, limit, behind, run, position, explain, self._damage)

    def refresh_links(self, *, on_progress: Progress | None = None, also_unfinished: bool = False) -> Recount:
        """Count the inbound links of the pages that were linked or unlinked since the last run, and their hosts' pages.

        Safe to be run at any time, by several at once, and again after a crash. The pages of a writer that did not come
        to its end are counted when they are ten minutes old; with *also_unfinished* they are counted now as well, and
        again then. *on_progress* is told how many pages were counted so far.
        """
        queue, indexes, began = RecountQueue(self.store, self.table), self.indexes.read(), now_in_milliseconds()
        counter = LinkCounter(self._frame, queue, indexes.values(), self._damage())
        done = counter.run(on_progress, also_unfinished=also_unfinished)
        if LINK.name in indexes and indexes[LINK.name].state.phase == "ready":
            # What a writer is still at, or what came in meanwhile, is not counted.
            _, since = queue.extent()
            self.refreshed.advance(min(began, since or began))
        return done

    def links_freshness(self) -> Freshness:
        """Return what waits for `refresh_links`: how fresh the counts of links are."""
        waiting, since = RecountQueue(self.store, self.table).extent()
        return Freshness(waiting, None if since is None else moment_of(since))

    def _freshness_note(self) -> list[str]:
        waiting, since = self.links_freshness()
        return [f"counts: {waiting:,} batches wait since {since:%Y-%m-%d %H:%M:%S}" if since else "counts: up to date"]

    def _have_inlinks(self, urls: Sequence[str]) -> set[str]:
        """Return those of *urls* that have an inlink, whether it holds or not."""
        rows, family = [self.key.encode(url) for url in urls], self._codec.columns.inlinks.encode()
        found = self.store.read_cells(self.table, rows, family, CURRENT_SOURCES, limit=1, keys_only=True)
        return {url for url, cells in zip(urls, found, strict=True) if cells}

    def _inlinks(
        self,
        target: str,
        after: bytes | None,
        damage: Damage,
        *,
        past: bool = False,
        inside: KeyRange | None = None,
        sources: KeyRange | None = None,
        expected: int | None = None,
    ) -> Iterator[Inlink]:
        """Yield the inlinks of *target* behind the page *after*; only from pages *inside*, or named in *sources*."""
        row, family = self.key.encode(target), self._codec.columns.inlinks.encode()
        prefix = PAST if past else b""
        rest = sources or (PAST_SOURCES if past else CURRENT_SOURCES)
        rest = rest if after is None else rest.after(prefix + after)
        size = min(expected or SOURCES_AT_ONCE, SOURCES_AT_ONCE)
        while True:
            (cells,) = self.store.read_cells(self.table, [row], family, rest, limit=size)
            named = [(column[len(family) + 1 + len(prefix) :], cell) for column, cell in cells]
            yield from self._checked(target, named, damage, past=past, inside=inside)
            if len(cells) < size:
                return
            rest, size = rest.after(cells[-1][0][len(family) + 1 :]), SOURCES_AT_ONCE

    def _checked(
        self, target: str, cells: Sequence[tuple[bytes, Cell]], damage: Damage, *, past: bool, inside: KeyRange | None
    ) -> Iterator[Inlink]:
        row = self.key.encode(target)
        named = damage.sift(self._inlink(row, source, cell) for source, cell in cells)
        wanted = [one for one in named if inside is None or self.key.unsalted(one.row) in inside]
        pages = self._reader.read_each([one.row for one in wanted], ("outlinks",)) if wanted else []
        for one, page in zip(wanted, pages, strict=True):
            self.metrics["inlinks.read"] += 1
            if isinstance(page, DamagedRow):
                damage.add(page)
                continue
            link = None if page is None else Targets(page.outlinks or ()).link_to(target)
            if (link is None) != past:
                self.metrics["inlinks.dropped"] += 1
                continue
            shown = link or link_of(target, one.value)
            yield Inlink(one.source, shown.anchor, shown.rel, one.at, not past, page)

    def _inlink(self, target: bytes, source: bytes, cell: Cell) -> _Named | DamagedRow:
        """Return the inlink of the row *target* that *cell* is, or the error where it is none."""
        found = self._source_of(target, source)
        if isinstance(found, DamagedRow):
            return found
        try:
            return _Named(*found, moment_of(cell.timestamp), cell.value)
        except OverflowError as exc:
            return self._codec.damaged(target, self._codec.columns.inlinks.encode(), exc)

    def _source_of(self, target: bytes, source: bytes) -> tuple[bytes, str] | DamagedRow:
        """Return the row and the URL of the page that an inlink of *target* names, or the error where it names none."""
        try:
            url = source.decode()
            return self.key.encode(url), url
        except ValueError as exc:
            return self._codec.damaged(target, self._codec.columns.inlinks.encode(), f"no page links here: {exc}")


class _Named(NamedTuple):
    """An inlink: the row and the URL of the page that links, since when, and the value."""

    row: bytes
    source: str
    at: datetime
    value: bytes
