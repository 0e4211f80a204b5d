"""The question for words in titles and bodies: rows are read and matched a little ahead of the caller."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, get_args

import msgspec

from webtable.errors import DamagedRow
from webtable.repository.answers.columns import EXTRA_COLUMNS, column_names, fields_of
from webtable.repository.answers.listing import BY_URL, SITE, Listing, ListingOption
from webtable.repository.answers.page_columns import records_with
from webtable.repository.arguments import TIME_FORMS
from webtable.repository.context import Frame
from webtable.repository.questions.ranked import RankedQuestion
from webtable.repository.questions.rows import PageRows, ScopeQuestion
from webtable.repository.reading.damage import Damage
from webtable.repository.reading.scan import ScanSpec
from webtable.repository.text.matching import HITS, Hit, Phrase, SearchIn, hit_in, matched, query_of, texts_of
from webtable.repository.text.words import TextQuery, folded
from webtable.store import Containing
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.page.page import Page
    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Explanation, Question, Window
    from webtable.repository.reading.scope import Scope
    from webtable.store import Row

HITS_AT_ONCE = 64
"""The most pages with a matching title that are completed at once, if more than the metadata is wanted."""
_WHERE: dict[SearchIn, str] = {"title": "title", "body": "body", "page": "title or body", "all": "title or body"}


LISTING = Listing(
    "search",
    HITS,
    orders=(*BY_URL, "relevance"),
    options=(
        ListingOption(
            "text",
            "Words that must all occur, upper or lower case, as one argument; a phrase in double quotes is one word, "
            "prefix* is every word that begins with it, and there are -without, title:word and lang:de.",
            is_argument=True,
            is_needed=True,
        ),
        ListingOption(
            "in_",
            "Where to look for them: by relevance, all has also links to the page and its URL.",
            default="all",
            flag="in",
            choices=get_args(SearchIn),
        ),
        ListingOption("substring", "Find the characters, inside of words too.", "flag"),
        ListingOption("status", "Only pages whose last capture has this status.", "number"),
        ListingOption("content_type", "Only pages of this media type, as in text/html.", flag="type"),
        ListingOption("since", f"Only pages fetched from this moment on: {TIME_FORMS}.", "time", metavar="TIME"),
        ListingOption("until", "Only pages fetched before this moment.", "time", metavar="TIME"),
        SITE,
    ),
    examples=(
        "webtable search salt example.com",
        "webtable search 'salt \"row key\"' https://docs.example.com/guide/",
        "webtable search 'salt*' example.com",
        "webtable search hbase --in title all --format csv",
        "webtable search 'title:salt \"row key\"' all --order relevance --limit 10",
    ),
    is_of_pages=True,
    help="""List the pages with some words in their title or their body, with the text around them.

    The bodies of the domain are read for it, one after another; titles alone are filtered in the store. By relevance
    the best pages come first, if the table has full text.
    """,
    of_command="`webtable search-index create` adds full text to a table.",
)


def search(frame: Frame, scope: Scope, window: Window, phrase: Phrase, columns: Sequence[str] | None) -> Question[Hit]:
    """Return the question for the pages with a *phrase*, by URL, as they are stored, or by relevance."""
    kind = RankedQuestion if window.order == "relevance" else SearchQuestion
    return kind(frame, scope, window, LISTING, phrase, columns)


class SearchQuestion(ScopeQuestion[Hit]):
    """Which pages of a scope have a phrase in their title or body."""

    def __init__(
        self,
        frame: Frame,
        scope: Scope,
        window: Window,
        listing: Listing,
        phrase: Phrase,
        columns: Sequence[str] | None,
    ) -> None:
        super().__init__(frame, scope, window, listing)
        self.phrase = phrase
        self.query: TextQuery = query_of(phrase)
        words = f"{folded(phrase.text)!r}{' (in words too)' * phrase.substring}"
        self.title: str = f"{self.pages.label} with {words} in their {_WHERE[phrase.in_]}{phrase.said}"
        names = column_names(columns)
        self.columns: Columns = records_with(names, HITS)
        self.fields: Sequence[str] = fields_of(names)
        self.in_titles: bool = self.query.is_of_titles

    def url_of(self, result: Hit) -> str:
        return result.page.url

    def spec(self) -> ScanSpec:
        frame = self.frame
        if self.in_titles:
            wanted = Wanted(frame.codec.select(None), containing=_title_filter(frame, self.query))
        else:
            wanted = Wanted(frame.codec.select((*self.fields, "body")))
        spec = self.pages.spec(wanted)
        return self.pages.in_one_range(spec) if self.window.order == "storage" else spec

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Hit]:
        order, fields = self.window.order, self.fields
        running = _Search(self.frame, self.spec(), order, after, expected, damage, self.phrase, self.query, fields)
        return running.in_titles() if self.in_titles else running.in_bodies()

    def explain(self) -> Explanation:
        spec = self.spec()
        notes = _notes(spec.wanted.containing, self.fields, in_titles=self.in_titles)
        return self.plan(spec.wanted.columns or (), spec.ranges, *notes)


@dataclass(frozen=True, slots=True)
class _Search:
    """A search in progress: its rows, their order and start, and how many hits are wanted."""

    frame: Frame
    spec: ScanSpec
    order: str
    after: bytes | None
    at_most: int | None
    damage: Damage
    phrase: Phrase
    query: TextQuery
    names: Sequence[str]

    @property
    def _content(self) -> list[bytes]:
        return self.frame.codec.contents(self.spec.wanted.columns or ())

    def in_titles(self) -> Iterator[Hit]:
        if self.spec.wanted.containing is not None:
            pages = self._likely()
        else:
            pages = PageRows(self.frame).pages(self.spec, self.order, self.after, self.damage)
        hits = (hit for page in pages if (hit := self._matched(page)))
        return self._completed(hits) if set(self.names) & set(EXTRA_COLUMNS) else hits

    def in_bodies(self) -> Iterator[Hit]:
        frame = self.frame
        rows = PageRows(frame).rows(self.spec, self.order, self.after)
        with closing(matched(rows, self._hit, frame.codec.columns.body)) as found:
            for row, hit in found:
                if isinstance(hit, DamagedRow):
                    self.damage.add(hit)
                    continue
                whole = frame.counted.each(row, self._content) if "body" in self.names else hit.page
                for page in self.damage.sift([whole]):
                    if page is not None:
                        yield replace(hit, page=frame.refreshed.counted(page, self.names))

    def _likely(self) -> Iterator[Page]:
        """Return the pages that the store's filter lets through."""
        rows = PageRows(self.frame).likely(
            msgspec.structs.replace(self.spec, expected=self.at_most), self.order, self.after
        )
        pages = self.damage.sift(map(self.frame.counted.each, rows))
        return (page for page in pages if page is not None)

    def _completed(self, hits: Iterator[Hit]) -> Iterator[Hit]:
        """Yield *hits* with the columns that are wanted: the first by itself, as the next one may be far away."""
        frame = self.frame
        size, left = 1, HITS_AT_ONCE if self.at_most is None else self.at_most
        while some := list(islice(hits, min(size, left))):
            rows = [frame.key.encode(hit.page.url) for hit in some]
            found = frame.counted.read_each(rows, self.names, weights=[hit.page.size or 0 for hit in some])
            for page in self.damage.sift(found):
                # The page may have changed meanwhile.
                if page is not None and (hit := self._matched(page)) is not None:
                    left -= self.at_most is not None
                    yield hit
            size = min(2 * size, HITS_AT_ONCE)

    def _matched(self, page: Page) -> Hit | None:
        return hit_in(page, self.query, texts_of(page, self.query)) if self.phrase.allows(page) else None

    def _hit(self, row: Row) -> Hit | DamagedRow | None:
        page = self.frame.counted.each(row, self._content)
        if isinstance(page, DamagedRow):
            return page
        hit = None if page is None else self._matched(page)
        return hit and replace(hit, page=msgspec.structs.replace(hit.page, body=None))


def _title_filter(frame: Frame, query: TextQuery) -> Containing | None:
    if "title" not in frame.layout.plain_columns or not query.filters:
        return None
    return Containing(frame.codec.columns.plain["title"], query.filters)


def _notes(in_store: Containing | None, names: Sequence[str], *, in_titles: bool) -> list[str]:
    """Return notes on how rows are matched."""
    if in_store is not None:
        words = ", ".join(map(repr, in_store.words))
        notes = [f"filter in the store: {in_store.column.decode()} contains {words}; titles are matched here again"]
    elif in_titles:
        notes = ["no filter in the store, for want of a title column or of words for it: titles are matched here"]
    else:
        notes = ["no filter in the store: bodies are unpacked and matched here"]
    extra = [name for name in EXTRA_COLUMNS if name in names]
    if in_titles and extra:
        notes.append(f"{', '.join(extra)}: read for the pages found, {HITS_AT_ONCE} at once")
    return notes
