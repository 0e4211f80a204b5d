"""Questions for pages with some words: by reading rows, or by relevance, for which full text names the best pages."""

from __future__ import annotations

import struct
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, get_args

import msgspec

from webtable._clock import milliseconds
from webtable.errors import DamagedRow, InvalidArgument, InvalidToken, WebTableError
from webtable.repository.answers.columns import EXTRA_COLUMNS, column_names, fields_of, records_with
from webtable.repository.answers.listing import BY_URL, SITE, Listing, ListingOption
from webtable.repository.arguments import TIME_FORMS
from webtable.repository.full_text.index import TextMaker, needed_full_text
from webtable.repository.full_text.matching import HITS, Hit, Phrase, SearchIn, hit_in, matched, query_of, texts_of
from webtable.repository.full_text.words import TextQuery, folded
from webtable.repository.page_storage.cells import BODY_ROWS
from webtable.repository.questions.pages import ScopeRows, TableQuestion
from webtable.repository.reading.scope import PLAIN_KEY, Scope
from webtable.store import Containing
from webtable.store.full_text import ALWAYS, Match, TermQuery
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from webtable.page.page import Page
    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Explanation, Question, Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scan import ScanSpec
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
        ListingOption("since", f"Only pages fetched from this time on: {TIME_FORMS}.", "time", metavar="TIME"),
        ListingOption("until", "Only pages fetched before this time.", "time", metavar="TIME"),
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

    It reads the bodies of the site. By relevance the best pages of any site come first, if the table has full text.
    """,
    of_command="`webtable search-index create` adds full text to a table.",
)


def search(
    context: TableContext, scope: Scope, window: Window, phrase: Phrase, columns: Sequence[str] | None
) -> Question[Hit]:
    """Return the question for the pages with a *phrase*, by URL, as they are stored, or by relevance."""
    kind = RankedQuestion if window.order == "relevance" else SearchQuestion
    return kind(context, scope, window, phrase, columns)


class PhraseQuestion(TableQuestion[Hit]):
    """What both ways to search have in common: the phrase, and the page columns that are read."""

    listing = LISTING

    def __init__(
        self, context: TableContext, scope: Scope, window: Window, phrase: Phrase, columns: Sequence[str] | None
    ) -> None:
        super().__init__(context, scope, window)
        names = column_names(columns)
        self.phrase = phrase
        # By relevance it only shows that the text is right: the full text knows how words are to be reduced.
        self.query: TextQuery = query_of(phrase)
        self.columns: Columns = records_with(names, HITS)
        self.fields: Sequence[str] = fields_of(names)


# --- By reading rows: titles that the store has filtered, or bodies, which are matched a little ahead of the caller ---


class SearchQuestion(PhraseQuestion):
    """Which pages of a scope have a phrase in their title or body; raises `FullScanNeeded`."""

    def __init__(
        self, context: TableContext, scope: Scope, window: Window, phrase: Phrase, columns: Sequence[str] | None
    ) -> None:
        super().__init__(context, scope, window, phrase, columns)
        self.pages: ScopeRows = ScopeRows(context, scope)
        words = f"{folded(phrase.text)!r}{' (in words too)' * phrase.substring}"
        self.title: str = f"{self.pages.label} with {words} in their {_WHERE[phrase.in_]}{phrase.conditions}"
        self.in_titles: bool = self.query.is_of_titles

    def place(self, result: Hit) -> bytes:
        return self.pages.place_of(result.page.url, self.window.order)

    def spec(self) -> ScanSpec:
        """Return the scan of the rows that may match."""
        context = self.context
        if self.in_titles:
            wanted = Wanted(context.codec.select(None), containing=_title_filter(context, self.query))
        else:
            wanted = Wanted(context.codec.select((*self.fields, "body")))
        # For the whole table in one range: salts need not be kept apart where the order does not matter.
        spec = self.pages.spec(wanted)
        return self.pages.in_one_range(spec) if self.window.order == "storage" else spec

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Hit]:
        return self._in_titles(after, expected, damage) if self.in_titles else self._in_bodies(after, damage)

    def explain(self) -> Explanation:
        spec = self.spec()
        notes = _notes(spec.wanted.containing, self.fields, in_titles=self.in_titles)
        return self.plan(spec.wanted.columns or (), spec.ranges, *notes)

    def _in_titles(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Hit]:
        spec, order = self.spec(), self.window.order
        if spec.wanted.containing is None:
            pages = self.pages.pages(spec, order, after, damage)
        else:
            rows = self.pages.likely(msgspec.structs.replace(spec, expected=expected), order, after)
            read = damage.sift(map(self.context.counted.each, rows))
            pages = (page for page in read if page is not None)
        hits = (hit for page in pages if (hit := self._matched(page)))
        return self._completed(hits, expected, damage) if set(self.fields) & set(EXTRA_COLUMNS) else hits

    def _completed(self, hits: Iterator[Hit], expected: int | None, damage: Damage) -> Iterator[Hit]:
        """Yield *hits* with the columns that are wanted: the first by itself, as the next one may be far away."""
        context = self.context
        size, remaining = 1, HITS_AT_ONCE if expected is None else expected
        while batch := list(islice(hits, min(size, remaining))):
            rows = [context.key.encode(hit.page.url) for hit in batch]
            pages = context.counted.read_each(rows, self.fields, weights=[hit.page.size or 0 for hit in batch])
            for page in damage.sift(pages):
                # The page may have changed meanwhile.
                if page is not None and (hit := self._matched(page)) is not None:
                    remaining -= expected is not None
                    yield hit
            size = min(2 * size, HITS_AT_ONCE)

    def _in_bodies(self, after: bytes | None, damage: Damage) -> Iterator[Hit]:
        context, spec = self.context, self.spec()
        content = context.codec.contents(spec.wanted.columns or ())

        def match(row: Row) -> Hit | DamagedRow | None:
            page = context.counted.each(row, content)
            if isinstance(page, DamagedRow):
                return page
            hit = None if page is None else self._matched(page)
            # Without its body: hits wait in a queue until the caller comes to them.
            return hit and replace(hit, page=msgspec.structs.replace(hit.page, body=None))

        rows = self.pages.rows(spec, self.window.order, after)
        with closing(matched(rows, match, context.codec.columns.body)) as hits:
            for row, hit in hits:
                if isinstance(hit, DamagedRow):
                    damage.add(hit)
                    continue
                whole = context.counted.each(row, content) if "body" in self.fields else hit.page
                for page in damage.sift([whole]):
                    if page is not None:
                        yield replace(hit, page=context.refreshed.counted(page, self.fields))

    def _matched(self, page: Page) -> Hit | None:
        return hit_in(page, self.query, texts_of(page, self.query)) if self.phrase.allows(page) else None


def _title_filter(context: TableContext, query: TextQuery) -> Containing | None:
    # Titles have their own column only if the layout says so; a query of other letters alone has no safe filter.
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


# --- By relevance: full text names the best pages, and each is compared with its texts --------------------------------


FIRST_MATCHES = 64
"""How many matches are looked up at first, if nobody says how many are wanted; then four times as many each time."""
MOST_MATCHES = 4_096
_PLACE = struct.Struct(">d")


class RankedQuestion(PhraseQuestion):
    """Which pages of a scope have a phrase, the best first, by full text."""

    def __init__(
        self, context: TableContext, scope: Scope, window: Window, phrase: Phrase, columns: Sequence[str] | None
    ) -> None:
        super().__init__(context, scope, window, phrase, columns)
        if phrase.substring:
            raise InvalidArgument('substring=True: full text has whole words; order="url" looks inside of them')
        self.title: str = f"{scope} for {phrase.text} by relevance{phrase.conditions}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Hit]:
        # A document may be late, or of a page that has changed: the stored page decides, as for entries of an index.
        full_text = needed_full_text(self.context)
        query = query_of(self.phrase, full_text.maker.analyzer)
        terms, contains = self._terms(query), self.scope.contains()
        last = None if after is None else _match_at(after)
        size = FIRST_MATCHES if expected is None else min(max(expected, 1), MOST_MATCHES)
        while True:
            matches = full_text.index.matches(terms, last, size)
            # The range of the terms is that of the site; a port is not a range.
            inside = [match for match in matches if contains is None or contains(match.row)]
            for start in range(0, len(inside), BODY_ROWS):
                yield from self._confirmed(full_text.maker, query, inside[start : start + BODY_ROWS], damage)
            if len(matches) < size:
                return
            last, size = matches[-1], min(4 * size, MOST_MATCHES)

    def place(self, result: Hit) -> bytes:
        return _PLACE.pack(result.score or 0.0) + PLAIN_KEY.encode(result.page.url)

    def explain(self) -> Explanation:
        note = "the bodies of the matches in full text are read, and their texts compared with the query again"
        return self.plan(("body",), (self.scope.unsalted(),), note)

    def as_of(self) -> datetime | None:
        return needed_full_text(self.context).index.as_of

    def _terms(self, query: TextQuery) -> TermQuery:
        phrase = self.phrase
        since = ALWAYS[0] if phrase.since is None else milliseconds(phrase.since)
        until = ALWAYS[1] if phrase.until is None else milliseconds(phrase.until)
        rows, dates = self.scope.unsalted(), (since, until)
        return TermQuery(query.wanted, query.without, rows, dates, phrase.status, phrase.content_type, query.language)

    def _confirmed(self, maker: TextMaker, query: TextQuery, matches: Sequence[Match], damage: Damage) -> Iterator[Hit]:
        """Yield the hits of those *matches* whose stored page still has the words."""
        context = self.context
        keyed = [(match, row) for match in matches if (row := _row_of(context, match)) is not None]
        matches, rows = [match for match, _ in keyed], [row for _, row in keyed]
        pages = context.counted.read_each(rows, list(dict.fromkeys((*self.fields, "body"))))
        for match, anchors, stored in zip(matches, maker.anchors(rows), pages, strict=True):
            for page in damage.sift([stored]):
                if page is None or not self.phrase.allows(page):
                    continue
                texts = maker.texts(page, maker.own_texts(page), anchors)
                hit = hit_in(page, query, texts | {"text": texts["text"].replace("\n", " ")}, match.score)
                if hit is not None:
                    yield hit if "body" in self.fields else replace(hit, page=msgspec.structs.replace(page, body=None))


def _row_of(context: TableContext, match: Match) -> bytes | None:
    # A document whose row is no key is like one whose page is gone: somebody else may have written the file.
    try:
        return context.key.salted(match.row)
    except WebTableError:
        return None


def _match_at(place: bytes) -> Match:
    if len(place) <= _PLACE.size:
        raise InvalidToken("the token does not name a page of an answer by relevance")
    return Match(place[_PLACE.size :], _PLACE.unpack_from(place)[0])
