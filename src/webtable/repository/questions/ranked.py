"""The question for words by relevance: full text names the best pages, and each is compared with its texts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from webtable._clock import milliseconds
from webtable.errors import InvalidArgument, InvalidToken
from webtable.repository.answers.columns import column_names, fields_of
from webtable.repository.answers.page_columns import records_with
from webtable.repository.context import Frame
from webtable.repository.full_text.index import FullTextOfTable, needed_full_text
from webtable.repository.page_storage.cells import BODY_ROWS
from webtable.repository.questions.rows import TableQuestion
from webtable.repository.reading.damage import Damage
from webtable.repository.reading.scope import PLAIN_KEY, Scope
from webtable.repository.text.matching import HITS, Hit, Phrase, hit_in, query_of
from webtable.repository.text.words import TextQuery
from webtable.store.full_text import Match, TermQuery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.listing import Listing
    from webtable.repository.answers.results import Explanation, Window

FIRST = 64
"""How many matches are looked up at first, if nobody says how many are wanted; then four times as many each time."""
MOST = 4_096
_END = 2**63 - 1
_PLACE = struct.Struct(">d")


class RankedQuestion(TableQuestion[Hit]):
    """Which pages of a scope have a phrase, the best first, by full text."""

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
        frame, phrase = self.frame, self.phrase
        full_text = needed_full_text(frame)
        query = query_of(phrase, full_text.maker.analyzer)
        search = _RankedSearch(frame, full_text, self.scope, phrase, query, self.fields, damage)
        return search.hits(None if after is None else _match_at(after), expected)

    def place(self, result: Hit) -> bytes:
        return _PLACE.pack(result.score or 0.0) + PLAIN_KEY.encode(result.page.url)

    def explain(self) -> Explanation:
        note = "the bodies of the matches in full text are read, and their texts compared with the query again"
        return self.plan(("body",), (self.scope.unsalted(),), note)

    def as_of(self) -> datetime | None:
        return needed_full_text(self.frame).index.as_of


def _match_at(place: bytes) -> Match:
    if len(place) <= _PLACE.size:
        raise InvalidToken("the token does not name a page of an answer by relevance")
    return Match(place[_PLACE.size :], _PLACE.unpack_from(place)[0])


@dataclass(frozen=True, slots=True)
class _RankedSearch:
    """A search in progress."""

    frame: Frame
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
        frame = self.frame
        rows = [frame.key.salted(one.row) for one in matches]
        found = frame.counted.read_each(rows, list(dict.fromkeys((*self.names, "body"))))
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
