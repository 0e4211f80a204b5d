"""The query of a search by relevance: its words as phrases of terms, and their places in the texts of a page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Self

from webtable.errors import InvalidArgument
from webtable.repository.text.terms import TextTerm
from webtable.rowkey.fields.field import shown
from webtable.store.search import FIELDS, TermPhrase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.text.terms import Analyzer
    from webtable.repository.text.words import Span

MOST_PHRASES = 64
"""The most words and phrases of a query."""
_PART = re.compile(r'(?P<minus>-)?(?:(?P<name>title|lang):)?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]\S*))(?=\s|\Z)')
_OPENED = re.compile(r'-?(?:title:|lang:)?"')
_ENDS_WITH_WORD = re.compile(r"\w\*\Z")


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What a page must have in its texts (`wanted`), what it must not have, and its language."""

    wanted: tuple[TermPhrase, ...]
    without: tuple[TermPhrase, ...]
    language: str | None

    @classmethod
    def of(cls, text: str, analyzer: Analyzer, fields: Sequence[str] = tuple(FIELDS)) -> Self:
        """Return the query that *text* writes: words, "phrases", beginnings*, -without, title:word and lang:de.

        Raises `InvalidArgument` if there is no word to look for, more than 64 of them, or a quote that is not closed.

        >>> from webtable.repository.text.terms import Analyzer
        >>> query = TextQuery.of('title:Salt "row key" comp* -hbase lang:DE', Analyzer())
        >>> [(one.terms, one.is_prefix) for one in query.wanted], query.wanted[0].fields
        ([(('salt',), False), (('row', 'key'), False), (('comp',), True)], ('title',))
        >>> query.without[0].terms, query.language
        (('hbase',), 'de')
        """
        if not isinstance(text, str):
            raise InvalidArgument(f"text={shown(text)} must be a string")
        wanted: list[TermPhrase] = []
        without: list[TermPhrase] = []
        language = None
        for minus, name, written in _parts(text):
            if name == "lang" and not minus:
                language = written.lower()
                continue
            # A minus or a name inside of a word are no operators, and what has no terms, as a dash, says nothing.
            phrase = _phrase(written, analyzer, ("title",) if name == "title" else tuple(fields))
            if phrase is not None:
                (without if minus else wanted).append(phrase)
        if not wanted:
            raise InvalidArgument(f"text={shown(text)} has no words to look for")
        if len(wanted) + len(without) > MOST_PHRASES:
            raise InvalidArgument(
                f"text has {len(wanted) + len(without):,} words and phrases; the most are {MOST_PHRASES}"
            )
        return cls(tuple(dict.fromkeys(wanted)), tuple(dict.fromkeys(without)), language)

    def spans(self, texts: Mapping[str, str], analyzer: Analyzer) -> dict[str, list[Span]] | None:
        """Return where the words are in *texts*, which are named as fields; None if the query does not match."""
        found = {name: _Places.of(analyzer.terms(text)) for name, text in texts.items()}
        if any(found[name].has(one) for one in self.without for name in one.fields):
            return None
        if not all(any(found[name].has(one) for name in one.fields) for one in self.wanted):
            return None
        return {
            name: sorted({span for one in self.wanted if name in one.fields for span in places.spans(one)})
            for name, places in found.items()
        }


@dataclass(frozen=True, slots=True)
class _Places:
    """The terms of a text, and the places of each among them."""

    terms: Sequence[TextTerm]
    places: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, terms: Iterator[TextTerm]) -> Self:
        found = list(terms)
        places: dict[str, list[int]] = {}
        for place, one in enumerate(found):
            places.setdefault(one.term, []).append(place)
        return cls(found, places)

    def has(self, phrase: TermPhrase) -> bool:
        return next(self.spans(phrase), None) is not None

    def spans(self, phrase: TermPhrase) -> Iterator[Span]:
        """Yield where *phrase* is written."""
        *before, last = phrase.terms
        length = len(phrase.terms)
        if before:
            starts: Iterator[int] = iter(self.places.get(before[0], ()))
        elif phrase.is_prefix:
            starts = chain.from_iterable(some for term, some in self.places.items() if term.startswith(last))
        else:
            starts = iter(self.places.get(last, ()))
        for start in starts:
            some = self.terms[start : start + length]
            if len(some) == length and all(one.term == term for one, term in zip(some, before, strict=False)):
                end = some[-1]
                if end.term == last or (phrase.is_prefix and end.term.startswith(last)):
                    # Of a term that only begins so, the beginning is marked.
                    yield some[0].start, end.start + len(last) if phrase.is_prefix else end.stop


def _parts(text: str) -> Iterator[tuple[bool, str | None, str]]:
    """Yield the parts of a query: whether they have a minus, the name before the colon, and what is written."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        found = _PART.match(text, at)
        if found is None or _OPENED.match(found["word"] or ""):
            raise InvalidArgument(f"text={shown(text)}: a quote that a word begins with is not closed")
        phrase, word = found["phrase"], found["word"]
        yield found["minus"] is not None, found["name"], phrase if phrase is not None else word
        at = found.end()


def _phrase(written: str, analyzer: Analyzer, fields: tuple[str, ...]) -> TermPhrase | None:
    terms = list(analyzer.terms(written.removesuffix("*")))
    if not terms:
        return None
    if not terms[-1].is_open:
        return TermPhrase(tuple(one.term for one in terms), _ENDS_WITH_WORD.search(written) is not None, fields)
    # A run of Chinese or Japanese: its last bigram says it all, and a single character begins a term wherever it is.
    alone = len(terms) == 1 or terms[-2].stop <= terms[-1].start
    some = terms if alone else terms[:-1]
    return TermPhrase(tuple(one.term for one in some), alone, fields)
