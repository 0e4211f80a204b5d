"""The question for words in titles and bodies: rows are read and matched a little ahead of the caller."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, get_args

import msgspec

from webtable._clock import milliseconds
from webtable.errors import DamagedRow, InvalidArgument, InvalidToken
from webtable.repository.answers.columns import EXTRA_COLUMNS, column_names, fields_of, records_with
from webtable.repository.answers.listing import BY_URL, SITE, Listing, ListingOption
from webtable.repository.arguments import TIME_FORMS
from webtable.repository.context import TableContext
from webtable.repository.full_text.index import FullTextOfTable, needed_full_text
from webtable.repository.full_text.matching import HITS, Hit, Phrase, SearchIn, hit_in, matched, query_of, texts_of
from webtable.repository.full_text.words import TextQuery, folded
from webtable.repository.page_storage.cells import BODY_ROWS
from webtable.repository.questions.pages import PageRows, ScopeQuestion, TableQuestion
from webtable.repository.reading.read_ahead import Damage
from webtable.repository.reading.scan import ScanSpec
from webtable.repository.reading.scope import PLAIN_KEY, Scope
from webtable.store import Containing
from webtable.store.full_text import Match, TermQuery
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from webtable.page.page import Page
    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Explanation, Question, Window
    from webtable.store import Row


# --- The question for words by relevance: full text names the best pages, and each is compared with its texts ---------


FIRST = 64
"""How many matches are looked up at first, if nobody says how many are wanted; then four times as many each time."""
MOST = 4_096
_END = 2**63 - 1
_PLACE = struct.Struct(">d")


class RankedQuestion(TableQuestion[Hit]):
    """Which pages of a scope have a phrase, the best first, by full text."""

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        listing: Listing,
        phrase: Phrase,
        columns: Sequence[str] | None,
    ) -> None:
        super().__init__(context, scope, window, listing)
        if phrase.substring:
            raise InvalidArgument('substring=True: full text has whole words; order="url" looks inside of them')
        # So that a wrong text is an error at once; the index knows how words are to be reduced.
        query_of(phrase)
        self.phrase = phrase
        names = column_names(columns)
        self.columns: Columns = records_with(names, HITS)
        self.fields: Sequence[str] = fields_of(names)
        self.title: str = f"{scope} for {phrase.text} by relevance{phrase.said}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Hit]:
        context, phrase = self.context, self.phrase
        full_text = needed_full_text(context)
        query = query_of(phrase, full_text.maker.analyzer)
        search = _RankedSearch(context, full_text, self.scope, phrase, query, self.fields, damage)
        return search.hits(None if after is None else _match_at(after), expected)

    def place(self, result: Hit) -> bytes:
        return _PLACE.pack(result.score or 0.0) + PLAIN_KEY.encode(result.page.url)

    def explain(self) -> Explanation:
        note = "the bodies of the matches in full text are read, and their texts compared with the query again"
        return self.plan(("body",), (self.scope.unsalted(),), note)

    def as_of(self) -> datetime | None:
        return needed_full_text(self.context).index.as_of


def _match_at(place: bytes) -> Match:
    if len(place) <= _PLACE.size:
        raise InvalidToken("the token does not name a page of an answer by relevance")
    return Match(place[_PLACE.size :], _PLACE.unpack_from(place)[0])


@dataclass(frozen=True, slots=True)
class _RankedSearch:
    """A search in progress."""

    context: TableContext
    full_text: FullTextOfTable
    scope: Scope
    phrase: Phrase
    query: TextQuery
    names: Sequence[str]
    damage: Damage

    def hits(self, after: Match | None, at_most: int | None) -> Iterator[Hit]:
        """Yield the hits after the match *after*."""
        size = FIRST if at_most is None else min(max(at_most, 1), MOST)
        belongs, asked = self.scope.contains(), self._asked()
        while True:
            matches = self.full_text.index.matches(asked, after, size)
            some = [one for one in matches if belongs is None or belongs(one.row)]
            for start in range(0, len(some), BODY_ROWS):
                yield from self._confirmed(some[start : start + BODY_ROWS])
            if len(matches) < size:
                return
            after = matches[-1]
            size = min(4 * size, MOST)

    def _asked(self) -> TermQuery:
        phrase, query = self.phrase, self.query
        since = 0 if phrase.since is None else milliseconds(phrase.since)
        until = _END if phrase.until is None else milliseconds(phrase.until)
        return TermQuery(
            query.wanted,
            query.without,
            self.scope.unsalted(),
            (since, until),
            phrase.status,
            phrase.content_type,
            query.language,
        )

    def _confirmed(self, matches: Sequence[Match]) -> Iterator[Hit]:
        """Yield the hits of those *matches* whose stored page still has the words."""
        context = self.context
        rows = [context.key.salted(one.row) for one in matches]
        found = context.counted.read_each(rows, list(dict.fromkeys((*self.names, "body"))))
        anchors = self.full_text.maker.anchors(rows)
        for match, some, one in zip(matches, anchors, found, strict=True):
            for page in self.damage.sift([one]):
                if page is None or not self.phrase.allows(page):
                    continue
                maker = self.full_text.maker
                texts = maker.texts(page, maker.own_texts(page), some)
                hit = hit_in(page, self.query, texts | {"text": texts["text"].replace("\n", " ")}, match.score)
                if hit is not None:
                    yield hit if "body" in self.names else replace(hit, page=msgspec.structs.replace(page, body=None))


# ----------------------------------------------------------------------------------------------------------------------


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
            example="salt",
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


def search(
    context: TableContext, scope: Scope, window: Window, phrase: Phrase, columns: Sequence[str] | None
) -> Question[Hit]:
    """Return the question for the pages with a *phrase*, by URL, as they are stored, or by relevance."""
    kind = RankedQuestion if window.order == "relevance" else SearchQuestion
    return kind(context, scope, window, LISTING, phrase, columns)


class SearchQuestion(ScopeQuestion[Hit]):
    """Which pages of a scope have a phrase in their title or body."""

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        listing: Listing,
        phrase: Phrase,
        columns: Sequence[str] | None,
    ) -> None:
        super().__init__(context, scope, window, listing)
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
        context = self.context
        if self.in_titles:
            wanted = Wanted(context.codec.select(None), containing=_title_filter(context, self.query))
        else:
            wanted = Wanted(context.codec.select((*self.fields, "body")))
        spec = self.pages.spec(wanted)
        return self.pages.in_one_range(spec) if self.window.order == "storage" else spec

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Hit]:
        order, fields = self.window.order, self.fields
        running = _Search(self.context, self.spec(), order, after, expected, damage, self.phrase, self.query, fields)
        return running.in_titles() if self.in_titles else running.in_bodies()

    def explain(self) -> Explanation:
        spec = self.spec()
        notes = _notes(spec.wanted.containing, self.fields, in_titles=self.in_titles)
        return self.plan(spec.wanted.columns or (), spec.ranges, *notes)


@dataclass(frozen=True, slots=True)
class _Search:
    """A search in progress: its rows, their order and start, and how many hits are wanted."""

    context: TableContext
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
        return self.context.codec.contents(self.spec.wanted.columns or ())

    def in_titles(self) -> Iterator[Hit]:
        if self.spec.wanted.containing is not None:
            pages = self._likely()
        else:
            pages = PageRows(self.context).pages(self.spec, self.order, self.after, self.damage)
        hits = (hit for page in pages if (hit := self._matched(page)))
        return self._completed(hits) if set(self.names) & set(EXTRA_COLUMNS) else hits

    def in_bodies(self) -> Iterator[Hit]:
        context = self.context
        rows = PageRows(context).rows(self.spec, self.order, self.after)
        with closing(matched(rows, self._hit, context.codec.columns.body)) as found:
            for row, hit in found:
                if isinstance(hit, DamagedRow):
                    self.damage.add(hit)
                    continue
                whole = context.counted.each(row, self._content) if "body" in self.names else hit.page
                for page in self.damage.sift([whole]):
                    if page is not None:
                        yield replace(hit, page=context.refreshed.counted(page, self.names))

    def _likely(self) -> Iterator[Page]:
        """Return the pages that the store's filter lets through."""
        rows = PageRows(self.context).likely(
            msgspec.structs.replace(self.spec, expected=self.at_most), self.order, self.after
        )
        pages = self.damage.sift(map(self.context.counted.each, rows))
        return (page for page in pages if page is not None)

    def _completed(self, hits: Iterator[Hit]) -> Iterator[Hit]:
        """Yield *hits* with the columns that are wanted: the first by itself, as the next one may be far away."""
        context = self.context
        size, left = 1, HITS_AT_ONCE if self.at_most is None else self.at_most
        while some := list(islice(hits, min(size, left))):
            rows = [context.key.encode(hit.page.url) for hit in some]
            found = context.counted.read_each(rows, self.names, weights=[hit.page.size or 0 for hit in some])
            for page in self.damage.sift(found):
                # The page may have changed meanwhile.
                if page is not None and (hit := self._matched(page)) is not None:
                    left -= self.at_most is not None
                    yield hit
            size = min(2 * size, HITS_AT_ONCE)

    def _matched(self, page: Page) -> Hit | None:
        return hit_in(page, self.query, texts_of(page, self.query)) if self.phrase.allows(page) else None

    def _hit(self, row: Row) -> Hit | DamagedRow | None:
        page = self.context.counted.each(row, self._content)
        if isinstance(page, DamagedRow):
            return page
        hit = None if page is None else self._matched(page)
        return hit and replace(hit, page=msgspec.structs.replace(hit.page, body=None))


def _title_filter(context: TableContext, query: TextQuery) -> Containing | None:
    if "title" not in context.layout.plain_columns or not query.filters:
        return None
    return Containing(context.codec.columns.plain["title"], query.filters)


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
