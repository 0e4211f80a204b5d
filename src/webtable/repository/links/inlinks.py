"""The pages that link to a page, or once did: the inlinks in its row, each checked against the page that it names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from webtable._clock import moment_of
from webtable.errors import DamagedRow
from webtable.page.page import Page
from webtable.repository.answers.columns import column, declared, page_in
from webtable.repository.answers.listing import SITE, URL, Listing, ListingOption
from webtable.repository.answers.tokens import last_number
from webtable.repository.hosts.entries import host_meant
from webtable.repository.indexes.index import LINK
from webtable.repository.links.inlink_cells import (
    CURRENT_SOURCES,
    PAST,
    PAST_SOURCES,
    links_in,
    links_of,
    links_to,
)
from webtable.repository.questions.pages import TableQuestion, pieces_of
from webtable.rowkey import KeyRange, canonical_url
from webtable.rowkey.ranges import ALL_KEYS
from webtable.store import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from webtable.page.parts import Link
    from webtable.repository.answers.results import Explanation, Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Scope

T = TypeVar("T")

SOURCES_AT_ONCE = 64
"""How many linking pages are checked at once."""
PAGES_AT_ONCE = 256
"""For how many pages the first inlinks are read at once."""
FIRST_INLINKS = 16
"""How many inlinks of each of them are read at once; if a page has more, these are read separately."""


@dataclass(frozen=True, slots=True)
class Inlink:
    """A link from the page `source`; a row for each.

    `anchor`, `rel`, `kind`, `position` and `times` are as in `Link`, as the page has them now (or had them last). `at`
    is the capture that brought the links of the page (or that no longer had them); `page` is the linking page without
    its body, None if that is no longer stored.
    """

    source: str
    anchor: str
    rel: str
    at: datetime
    is_current: bool
    page: Page | None
    kind: str = "a"
    position: str = ""
    times: int = 1
    _number: int = field(default=0, repr=False, compare=False)

    @property
    def _place(self) -> bytes:
        """The place among the links of all pages: that of the page, and which of its links it is."""
        return b"%s\0%d" % (self.source.encode(), self._number)


_OWN = (
    column("source", "url"),
    column("anchor", share=2),
    column("rel", width=9),
    column("at", "time"),
    column("is_current", "bool", heading="current"),
    column("source_status", "status", lambda inlink: inlink.page and inlink.page.status),
    column("source_title", "title", lambda inlink: inlink.page and inlink.page.title),
    column("kind", width=8),
    column("position", width=8),
    column("times", "count", width=6),
)
INLINKS = declared(
    Inlink,
    "link",
    *_OWN,
    *page_in(attrgetter("page"), [own.name for own in _OWN]),
    listed=("source", "anchor", "rel", "position", "at"),
)


LISTING = Listing(
    "linking_to",
    INLINKS,
    orders=("source",),
    of_links="to",
    options=(
        replace(URL, help="Where the links lead; it need not be stored."),
        ListingOption("past", "Links that used to lead there and no longer do.", "flag"),
        SITE,
    ),
    examples=(
        "webtable linking-to https://example.com/products",
        "webtable linking-to https://example.com/products example.org --past",
        "webtable linking-to https://example.com/products --columns source,title,anchor",
    ),
    indexes=(LINK,),
    help="""List the links that lead to a URL, with their anchors, by the pages that have them.

    A page has a line for each link. If a site is given, links on pages elsewhere are left out.
    """,
)


class InlinksQuestion(TableQuestion[Inlink]):
    """Which links lead to a page, from the pages of a scope."""

    listing = LISTING

    def __init__(self, context: TableContext, url: str, scope: Scope, window: Window, *, past: bool) -> None:
        super().__init__(context, scope, window)
        self.target: str = canonical_url(url)
        self.past: bool = past
        self.title: str = f"{'past ' if past else ''}links to {self.target}" + (f" from {scope}" if scope.place else "")

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Inlink]:
        self.context.indexes.ready(LINK.name, self.title)
        reader = InlinkReader(self.context, damage)
        return reader.of(self.target, after, past=self.past, inside=self._inside(), expected=expected)

    def place(self, result: Inlink) -> bytes:
        return result._place

    def explain(self) -> Explanation:
        row, family = self.context.key.encode(self.target), self.context.codec.columns.inlinks
        note = f"the inlinks in this row are read {SOURCES_AT_ONCE} at a time, with the links of the linking pages"
        return self.plan((f"{family}:",), (KeyRange(row, row + b"\x00"),), note)

    def suggestion(self) -> str:
        return super().suggestion() or host_meant(self.context, self.target)

    def _inside(self) -> Callable[[bytes], bool] | None:
        """Return a test by unsalted key whether links from a page count: it is in the scope and in the part."""
        key, contains, part = self.context.key, self.scope.contains(), self.context.keys_of(self.context.table)
        if part == ALL_KEYS:
            return contains
        return lambda page: key.salted(page) in part and (contains is None or contains(page))


class InlinkReader:
    """Reads the inlinks of one web table, and reports to *damage* what cannot be read."""

    def __init__(self, context: TableContext, damage: Damage) -> None:
        self._context = context
        self._family = context.codec.columns.inlinks.encode()
        self._damage = damage

    def of(
        self,
        target: str,
        after: bytes | None = None,
        *,
        past: bool = False,
        inside: Callable[[bytes], bool] | None = None,
        sources: KeyRange | None = None,
        expected: int | None = None,
    ) -> Iterator[Inlink]:
        """Yield the inlinks of *target* after the place *after*; only from pages whose unsalted key is *inside*,
        or whose name is in *sources*.
        """
        prefix = PAST if past else b""
        rest = sources or (PAST_SOURCES if past else CURRENT_SOURCES)
        rest = rest if after is None else KeyRange(prefix + _source_of(after), rest.stop)
        size = min(expected or SOURCES_AT_ONCE, SOURCES_AT_ONCE)
        cells = self._cells(self._context.key.encode(target), rest, size)
        for batch in pieces_of(cells, expected, SOURCES_AT_ONCE):
            inlinks = [_StoredInlink(target, name[len(prefix) :], cell) for name, cell in batch]
            for _, inlink in self._checked(inlinks, past=past, inside=inside):
                if after is None or _is_after(inlink, after):
                    yield inlink

    def of_each(
        self,
        targets: Iterable[tuple[Page, bytes | None]],
        *,
        inside: Callable[[bytes], bool] | None,
        expected: int | None,
    ) -> Iterator[tuple[Page, Inlink]]:
        """Yield the inlinks of each of *targets*, each with its target; only from pages *inside*.

        Each target has the place after which its inlinks are wanted (None: all of them). The inlinks of several
        targets are read at once, and the pages that link to them are checked together.
        """
        for batch in pieces_of(self._cells_of_each(iter(targets), expected), expected, SOURCES_AT_ONCE):
            inlinks = [_StoredInlink(page.url, name, cell) for page, _, name, cell in batch]
            for place, inlink in self._checked(inlinks, past=False, inside=inside):
                page, after, _, _ = batch[place]
                if after is None or _is_after(inlink, after):
                    yield page, inlink

    def first(self, rows: Sequence[bytes], limit: int) -> list[list[bytes]]:
        """Return, for each of *rows*, the URLs of the first *limit* pages that have an inlink there."""
        read = self._context.store.read_cells(
            self._context.table, rows, self._family, CURRENT_SOURCES, limit=limit, keys_only=True
        )
        return [[self._name(column) for column, _ in cells] for cells in read]

    def source(self, target: bytes, source: bytes) -> tuple[bytes, str] | DamagedRow:
        """Return the row and the URL of the page that an inlink of *target* names, or the error if it names none."""
        try:
            url = source.decode()
            return self._context.key.encode(url), url
        except ValueError as exc:
            return self._context.codec.damaged(target, self._family, f"no page links here: {exc}")

    def _cells(self, row: bytes, names: KeyRange, size: int) -> Iterator[tuple[bytes, Cell]]:
        """Yield the inlinks of *row* whose names are in the range *names*, with these names; *size* are read first."""
        while True:
            (cells,) = self._context.store.read_cells(self._context.table, [row], self._family, names, limit=size)
            yield from ((self._name(column), cell) for column, cell in cells)
            if len(cells) < size:
                return
            names, size = names.after(self._name(cells[-1][0])), SOURCES_AT_ONCE

    def _cells_of_each(
        self, targets: Iterator[tuple[Page, bytes | None]], expected: int | None
    ) -> Iterator[tuple[Page, bytes | None, bytes, Cell]]:
        context = self._context
        limit = min(expected or FIRST_INLINKS, FIRST_INLINKS)
        for batch in pieces_of(targets, expected, PAGES_AT_ONCE):
            rows = [context.key.encode(page.url) for page, _ in batch]
            first = context.store.read_cells(context.table, rows, self._family, CURRENT_SOURCES, limit=limit)
            for (page, after), row, cells in zip(batch, rows, first, strict=True):
                if after is None:
                    # Most pages have fewer, so that one call serves all of the batch.
                    yield from ((page, None, self._name(column), cell) for column, cell in cells)
                    if len(cells) < limit:
                        continue
                    names = CURRENT_SOURCES.after(self._name(cells[-1][0]))
                else:
                    names = KeyRange(_source_of(after), CURRENT_SOURCES.stop)
                rest = self._cells(row, names, SOURCES_AT_ONCE)
                yield from ((page, after, name, cell) for name, cell in rest)

    def _name(self, column: bytes) -> bytes:
        return column[len(self._family) + 1 :]

    def _checked(
        self, inlinks: Sequence[_StoredInlink], *, past: bool, inside: Callable[[bytes], bool] | None
    ) -> Iterator[tuple[int, Inlink]]:
        """Yield those of *inlinks* that hold, each with its place among them."""
        context, damage = self._context, self._damage
        named = damage.sift(self._named(place, source) for place, source in enumerate(inlinks))
        wanted = [source for source in named if inside is None or inside(context.key.unsalted(source.row))]
        pages = list(context.counted.read_each([source.row for source in wanted], ("outlinks",)) if wanted else ())
        # Of most pages the date of the inlink is right.
        late = [source.row for source, page in zip(wanted, pages, strict=True) if _has_late(page)]
        histories = dict(zip(late, context.pages.link_versions(late), strict=True)) if late else {}
        for source, page in zip(wanted, pages, strict=True):
            context.counts("inlinks.read")
            if isinstance(page, DamagedRow):
                damage.add(page)
                continue
            target = inlinks[source.place].target
            stored = links_in(target, inlinks[source.place].cell.value)
            # The stored links of the page decide: an inlink that they do not confirm is of the past, or left by a
            # killed writer.
            links = [] if page is None else links_to(target, links_of(page), len(stored))
            if (not links) != past:
                context.counts("inlinks.dropped")
                continue
            shown, at = links or stored, source.at
            if source.row in histories:
                at, shown = _since(histories[source.row], target, links) or (at, shown)
            for number, (_, anchor, rel, kind, position, times) in enumerate(shown):
                yield (
                    source.place,
                    Inlink(source.source, anchor, rel, at, not past, page, kind, position, times, number),
                )

    def _named(self, place: int, inlink: _StoredInlink) -> _Source | DamagedRow:
        """The page that *inlink*, in this *place* among others, names, or the error if it names nothing."""
        target = self._context.key.encode(inlink.target)
        source = self.source(target, inlink.source)
        if isinstance(source, DamagedRow):
            return source
        try:
            return _Source(place, *source, moment_of(inlink.cell.timestamp))
        except OverflowError as exc:
            return self._context.codec.damaged(target, self._family, exc)


def _has_late(page: Page | DamagedRow | None) -> bool:
    return isinstance(page, Page) and page._has_late


def _since(
    history: Sequence[tuple[datetime, Sequence[Link]]], target: str, links: list[Link]
) -> tuple[datetime, list[Link]] | None:
    """Return since when a page has its *links* to *target*, or if there are none, no longer has the last ones it had.

    *history* are the links of its versions, the newest first. None if it does not tell.
    """
    since: datetime | None = None
    for at, of_version in history:
        before = links_to(target, of_version, len(links))
        if links and before != links:
            break
        if not links and (before := before or links_to(target, of_version, 1)):
            return None if since is None else (since, before)
        since = at
    return None if not links or since is None else (since, links)


def _source_of(place: bytes) -> bytes:
    return last_number(place, b"\0")[0]


def _is_after(inlink: Inlink, place: bytes) -> bool:
    source, number = last_number(place, b"\0")
    return inlink.source.encode() != source or inlink._number > number


class _StoredInlink(NamedTuple):
    """An inlink as it is stored: the page that is linked to, the URL of the page that links, and the cell."""

    target: str
    source: bytes
    cell: Cell


class _Source(NamedTuple):
    """The page that an inlink names: the place of the inlink among others, row and URL of the page, and since when."""

    place: int
    row: bytes
    source: str
    at: datetime
