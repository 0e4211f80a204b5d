"""Words: what a word of a text is, what a query asks for of them, and where a text has it. Pure: no I/O.

Full text and every search go by this one rule. A word is a run of letters, marks and digits; everything else parts
words, so `to_arrow` and `don't` are two words each. Texts are compared without regard to case and to the canonical
forms of Unicode: `folded`. Chinese, Japanese, Thai, Lao, Khmer and Burmese have no spaces: a run of their characters
becomes its bigrams, then its last character, so that every character begins a term. With *stemming* words are reduced
to their stems by Snowball (https://snowballstem.org/), in pages and in queries alike.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import regex

from webtable._importable import needed
from webtable.display import Marked
from webtable.errors import InvalidArgument
from webtable.rowkey.fields.field import shown
from webtable.store.full_text import FIELDS, TermPhrase

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


# --- Excerpts ---------------------------------------------------------------------------------------------------------
#
# Pieces of a text around the words of a query, which are marked in them.


Span = tuple[int, int]
"""A range of characters in a text: the first, and the one after the last."""

_NEAR = 24
"""How many characters an excerpt may lose so that it begins and ends with whole words."""


class Excerpt(NamedTuple):
    """A piece of a text, and the spans of the words in it, which may overlap."""

    text: str
    marks: tuple[Span, ...] = ()

    def highlighted(self, before: str = "[", after: str = "]") -> str:
        """Return the text with *before* and *after* around its marks; overlapping marks are merged.

        >>> Excerpt("web tables", ((0, 3), (4, 7), (5, 9))).highlighted()
        '[web] [table]s'
        """
        return self.marked().highlighted(before, after)

    def marked(self) -> Marked:
        """Return the text with its marks; overlapping marks are merged."""
        return Marked.of(self.text, _merged(self.marks, gap=-1))


def joined(texts: Sequence[Excerpt]) -> Marked:
    """Return several texts with their marks as one, with a space in between."""
    return Marked([piece for text in texts for piece in (*text.marked().pieces, (" ", False))][:-1])


def excerpts(text: str, spans: Sequence[Span], *, width: int = 160, most: int = 3) -> tuple[Excerpt, ...]:
    """Return at most *most* pieces of *text* around the first of *spans*, each of about *width* characters.

    They are cut between words if one ends nearby, with "…" at each cut; adjacent pieces are merged. All spans in a
    piece are marked; one at its end only as far as it is included. Raises `InvalidArgument` for a *width* below 1 or a
    *most* below 0.

    >>> excerpts("one two three four five six", [(8, 13)], width=15)
    (Excerpt(text='…two three four…', marks=((5, 10),)),)
    """
    if width < 1 or most < 0:
        raise InvalidArgument(f"width={width!r} must be at least 1, and most={most!r} at least 0")
    ordered = sorted(spans)
    groups = list(islice(_groups(ordered, width), most))
    windows = _merged([_window(len(text), group, width) for group in groups], gap=1)
    return tuple(_excerpt(text, _whole_words(text, window, groups), ordered) for window in windows)


def _groups(spans: Sequence[Span], width: int) -> Iterator[Span]:
    """Yield the ranges of neighbouring spans that fit into one piece."""
    group: Span | None = None
    for start, stop in spans:
        if group is not None and max(stop, group[1]) - group[0] <= max(width, group[1] - group[0]):
            group = group[0], max(stop, group[1])
            continue
        if group is not None:
            yield group
        group = start, stop
    if group is not None:
        yield group


def _window(length: int, group: Span, width: int) -> Span:
    """Return a piece of *width* characters of a text of *length* with *group* in its middle."""
    first, last = group
    start = max(0, min(first - (width - (last - first)) // 2, first, length - width))
    return start, min(length, max(start + width, last))


def _whole_words(text: str, window: Span, groups: Sequence[Span]) -> Span:
    """Return *window* from the start of a word to the end of one, with all *groups* in it."""
    start, stop = window
    inside = [group for group in groups if start <= group[0] < stop]
    first, last = inside[0][0], max(end for _, end in inside)
    if start > 0 and not text[start - 1].isspace():
        start = next((at + 1 for at in range(start, min(first, start + _NEAR)) if text[at].isspace()), start)
    if stop < len(text) and not text[stop].isspace():
        stop = next((at for at in range(stop - 1, max(last, stop - _NEAR) - 1, -1) if text[at].isspace()), stop)
    return start, stop


def _merged(spans: Sequence[Span], gap: int) -> list[Span]:
    """Return *spans* in order, merging those that are at most *gap* characters apart."""
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1] + gap:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return merged


def _excerpt(text: str, piece: Span, spans: Sequence[Span]) -> Excerpt:
    start, stop = piece
    front = "…" if start else ""
    offset = len(front) - start
    inside = [(max(first, start), min(last, stop)) for first, last in spans if first < stop and last > start]
    marks = tuple((first + offset, last + offset) for first, last in inside)
    return Excerpt(f"{front}{text[start:stop]}{'…' if stop < len(text) else ''}", marks)


# --- Terms and queries ------------------------------------------------------------------------------------------------


MAX_TERM = 64
"""The most characters of a term; what a longer word has after them does not count, as in encoded data."""
MOST_PHRASES = 64
"""The most words and phrases of a query."""

_LETTERS: Final = r"\p{L}\p{M}\p{N}"
_SCRIPTS: Final = r"\p{Han}\p{Hiragana}\p{Katakana}ー々〆\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_UNSPACED_LETTER: Final = f"[[{_LETTERS}]&&[{_SCRIPTS}]]"
_SPACED_LETTER: Final = f"[[{_LETTERS}]--[{_SCRIPTS}]]"
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_ASCII_WORD = re.compile(r"[^\W_]+")
_WORD = regex.compile(f"[{_LETTERS}]+")
_UNSPACED = regex.compile(_UNSPACED_LETTER, regex.V1)
_TERM = regex.compile(f"{_UNSPACED_LETTER}{{1,2}}|(?<!{_SPACED_LETTER}){_SPACED_LETTER}+", regex.V1)
"""Overlapping matches of it are the terms of a word."""


def folded(text: str) -> str:
    """Return *text* in one case, in Unicode's canonical composed form (NFC).

    >>> folded("STRASSE") == folded("Straße"), folded("Cafe\u0301") == folded("café")
    (True, True)
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


@dataclass(frozen=True)
class Analyzer:
    """Makes the terms of texts; raises `InvalidArgument` for a language that Snowball does not know."""

    stemming: str | None = None

    def __post_init__(self) -> None:
        if self.stemming is not None:
            self._stem("")

    def terms(self, text: str) -> list[str]:
        """Return the terms of *text* in their order.

        >>> Analyzer().terms("Salted row_keys, 表格 42")
        ['salted', 'row', 'keys', '表格', '格', '42']
        """
        words = _words(folded(text))
        if self.stemming is None:
            return [word[:MAX_TERM] for word in words]
        return list(map(self.term, words))

    def term(self, word: str) -> str:
        """Return the term of a *word*, which is folded."""
        return word[:MAX_TERM] if self.stemming is None or _UNSPACED.match(word) else self._stem(word[:MAX_TERM])

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        with needed("snowballstemmer", "search"):
            import snowballstemmer
        try:
            stemmer = snowballstemmer.stemmer(self.stemming)
        except KeyError:
            languages = ", ".join(snowballstemmer.algorithms())
            raise InvalidArgument(f"stemming={self.stemming!r} must be one of {languages}") from None
        # Texts repeat their words, and a stem takes longer than to look it up.
        return lru_cache(maxsize=65_536)(stemmer.stemWord)


def _words(text: str) -> list[str]:
    """Return the words of a folded *text*, those without spaces as bigrams."""
    others = set(_NOT_ASCII.findall(text))
    if not any(map(_WORD.match, others)):
        # Only what parts words is not ASCII, as dashes and quotation marks: "?" does that, too.
        return _ASCII_WORD.findall(text.encode("ascii", "replace").decode())
    words: list[str] = _WORD.findall(text)
    if not any(map(_UNSPACED.match, others)):
        return words
    # Texts repeat their words.
    parts = {word: _TERM.findall(word, overlapped=True) if _UNSPACED.search(word) else [word] for word in set(words)}
    return [part for word in words for part in parts[word]]


_PART = re.compile(r'\s*(-)?(?:(title|lang):)?(?:"([^"]*)"|((?!-?(?:(?:title|lang):)?")\S+))')
_CHARACTERS = re.compile(r'\s*()()(?:"([^"]*)"|((?!")\S+))')
"""A part of a query for characters, in which nothing but quotes has a meaning."""
_ENDS_WITH_WORD = regex.compile(rf"[{_LETTERS}]\*\Z")


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What the texts of a page must have (`wanted`), what they must not have, and the language of the page.

    With `substring` the parts of a phrase are characters, which may stand inside of words.
    """

    analyzer: Analyzer
    wanted: tuple[TermPhrase, ...]
    without: tuple[TermPhrase, ...] = ()
    language: str | None = None
    substring: bool = False

    @classmethod
    def of(
        cls,
        text: str,
        fields: Sequence[str] = tuple(FIELDS),
        *,
        analyzer: Analyzer = Analyzer(),
        substring: bool = False,
    ) -> Self:
        """Return the query that *text* writes: words, "phrases", beginnings*, -without, title:word and lang:de.

        With *substring* only phrases have a meaning. Raises `InvalidArgument` if there is no word to look for, more
        than 64 of them, a quote before a word that is not closed, or half of a surrogate pair.

        >>> query = TextQuery.of('title:Salt "row key" comp* -hbase lang:DE')
        >>> [(phrase.terms, phrase.is_prefix) for phrase in query.wanted], query.wanted[0].fields
        ([(('salt',), False), (('row', 'key'), False), (('comp',), True)], ('title',))
        >>> query.without[0].terms, query.language
        (('hbase',), 'de')
        """
        if not isinstance(text, str):
            raise InvalidArgument(f"text={shown(text)} must be a string")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidArgument(f"text={shown(text)} has half of a surrogate pair")
        wanted: dict[TermPhrase, None] = {}
        without: dict[TermPhrase, None] = {}
        language = None
        for minus, name, written in _parts(text, _CHARACTERS if substring else _PART):
            if name == "lang" and not minus:
                language = written.lower()
                continue
            of_phrase = ("title",) if name == "title" else tuple(fields)
            phrase = TermPhrase(tuple(folded(written).split()), fields=of_phrase)
            # What has no words, as a dash, says nothing.
            made = phrase if substring else _phrase(written, analyzer, of_phrase)
            if made is not None and made.terms:
                (without if minus else wanted)[made] = None
        if not wanted:
            raise InvalidArgument(f"text={shown(text)} has no words to look for")
        if (count := len(wanted) + len(without)) > MOST_PHRASES:
            raise InvalidArgument(f"text has {count:,} words and phrases; the most are {MOST_PHRASES}")
        return cls(analyzer, tuple(wanted), tuple(without), language, substring)

    @property
    def is_of_titles(self) -> bool:
        """Whether only titles are looked at."""
        return all(phrase.fields == ("title",) for phrase in (*self.wanted, *self.without))

    @property
    def filters(self) -> tuple[str, ...]:
        r"""Texts that the lower case of every title with the words has, also where JSON contains the title.

        Other titles may have them, too. May be empty.

        >>> TextQuery.of('"new york" C:\\logs zürich').filters
        ('new', 'york', 'c', 'log', 'z', 'rich')
        """
        if self.analyzer.stemming is not None:
            return ()
        words = [word for phrase in self.wanted for term in phrase.terms for word in _WORD.findall(term)]
        return tuple(dict.fromkeys(part for word in words for part in _unambiguous(word)))

    def spans(self, texts: Mapping[str, str]) -> dict[str, list[Span]] | None:
        """Return where *texts*, by the names of fields, have the words, in order; None if they are not as wanted.

        A word that begins so is marked only that far. Spans of two words may overlap.

        >>> TextQuery.of("the fr*").spans({"title": "The end", "text": "of the friend"})
        {'title': [(0, 3)], 'text': [(3, 6), (7, 9)]}
        """
        searched = {name: _SearchedText(self, folded(text)) for name, text in texts.items()}
        spans: dict[str, set[Span]] = {name: set() for name in texts}
        for phrase in self.wanted:
            of_phrase = {name: searched[name].spans(phrase) for name in phrase.fields if name in searched}
            if not any(of_phrase.values()):
                return None
            for name, places in of_phrase.items():
                spans[name].update(places)
        if any(searched[name].spans(phrase) for phrase in self.without for name in phrase.fields if name in searched):
            return None
        return {name: _in_original(texts[name], places) for name, places in spans.items()}


def _parts(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[str | None, str | None, str]]:
    """Yield the parts of a query: the minus, the name before the colon, and what is written."""
    at, end = 0, len(text.rstrip())
    while at < end:
        match = pattern.match(text, at)
        if match is None:
            raise InvalidArgument(f"text={shown(text)}: a quote that a word begins with is not closed")
        minus, name, phrase, word = match.groups()
        yield minus, name, word if phrase is None else phrase
        at = match.end()


def _phrase(written: str, analyzer: Analyzer, fields: tuple[str, ...]) -> TermPhrase | None:
    terms = analyzer.terms(written.removesuffix("*"))
    if not terms:
        return None
    if len(terms[-1]) > 1 or not _UNSPACED.match(terms[-1]):
        return TermPhrase(tuple(terms), _ENDS_WITH_WORD.search(written) is not None, fields)
    # The end of a run without spaces: its last bigram says it all. A single character begins a term wherever it is.
    ends_run = len(terms) > 1 and _is_bigram(terms[-2])
    return TermPhrase(tuple(terms[:-1] if ends_run else terms), not ends_run, fields)


def _is_bigram(term: str) -> bool:
    return len(term) == 2 and _UNSPACED.match(term) is not None


class _Alphabet(NamedTuple):
    """How words are written in a text: what compiles patterns, a letter of a word, and what may part two words."""

    compiled: Callable[[str], Any]
    letter: str
    separator: str


# `re` is faster, and has no classes of marks.
_IN_ASCII = _Alphabet(re.compile, "[0-9a-z]", "[^0-9a-z]*")
_IN_OTHERS = _Alphabet(lambda pattern: regex.compile(pattern, regex.V1), _SPACED_LETTER, f"[^{_LETTERS}]*")
_IN_CHARACTERS = _Alphabet(re.compile, "", r"\s+")


class _SearchedText:
    """A folded text in which the phrases of a query are found."""

    def __init__(self, query: TextQuery, text: str) -> None:
        self._query = query
        self._text = text

    def spans(self, phrase: TermPhrase) -> list[Span]:
        """Return where the text has *phrase*."""
        text = self._text
        if self._query.analyzer.stemming is None:
            # Most texts do not have it, and this is the fastest way to know.
            if not all(term in text for term in phrase.terms):
                return []
            pattern = _pattern(phrase, self._alphabet)
        else:
            forms = [self._forms(term, phrase.is_prefix and term is phrase.terms[-1]) for term in phrase.terms]
            if not all(forms):
                return []
            pattern = _compiled(phrase._replace(is_prefix=False), self._alphabet, forms)
        return [match.span() for match in pattern.finditer(text)]

    @property
    def _alphabet(self) -> _Alphabet:
        if self._query.substring:
            return _IN_CHARACTERS
        return _IN_ASCII if self._text.isascii() else _IN_OTHERS

    @cached_property
    def _stems(self) -> dict[str, list[str]]:
        stems: dict[str, list[str]] = {}
        for word in dict.fromkeys(_words(self._text)):
            stems.setdefault(self._query.analyzer.term(word), []).append(word)
        return stems

    def _forms(self, term: str, is_prefix: bool) -> list[str]:
        """Return the words of the text with this stem, or with one that begins so."""
        if not is_prefix:
            return self._stems.get(term, [])
        return [word for stem, words in self._stems.items() if stem.startswith(term) for word in words]


@lru_cache(maxsize=256)
def _pattern(phrase: TermPhrase, alphabet: _Alphabet) -> Any:
    return _compiled(phrase, alphabet, [[term] for term in phrase.terms])


def _compiled(phrase: TermPhrase, alphabet: _Alphabet, forms: Sequence[Collection[str]]) -> Any:
    """Return the pattern for *phrase*, whose terms are written in these *forms*."""
    last = len(forms) - 1
    parts = (
        "|".join(
            _written(form, alphabet.letter, is_last=at == last, is_open=at == last and phrase.is_prefix)
            for form in words
        )
        for at, words in enumerate(forms)
    )
    return alphabet.compiled(alphabet.separator.join(f"(?:{part})" for part in parts))


def _written(term: str, letter: str, *, is_last: bool, is_open: bool) -> str:
    """Return the pattern for a *term*, after which its word may go on if it *is_open*."""
    text = re.escape(term)
    if not letter:
        return text
    if _UNSPACED.match(term):
        # A bigram takes one character, so that the next one begins with its second; a single one ends a run.
        if _is_bigram(term):
            return text if is_last else f"{term[0]}(?={term[1]})"
        return text if is_open else f"{text}(?!{_UNSPACED_LETTER})"
    # The word comes before the look at what is in front of it: so the engine can search for its characters.
    rest = "" if is_open else f"{letter}*" if len(term) >= MAX_TERM else f"(?!{letter})"
    return f"{text}(?<!{letter}{text}){rest}"


def _in_original(text: str, spans: Collection[Span]) -> list[Span]:
    """Return *spans* of the folded *text* as spans of *text*, in order; one ends with a whole character."""
    if not spans or text.isascii():
        return sorted(spans)
    # What may change its length, in the folded text and in the other; all the rest is one character for one.
    resized, shift = [(0, 0, 0, 0)], 0
    pattern, joined = _resizing()
    for match in pattern.finditer(text):
        start, stop = match.span()
        if start and text[start] in joined:
            start -= 1
        begins, length = start + shift, len(folded(text[start:stop]))
        resized.append((begins, begins + length, start, stop))
        shift += length - (stop - start)

    def original(place: int) -> Span:
        _, ends, start, stop = resized[bisect_right(resized, place, key=itemgetter(0)) - 1]
        return (start, stop) if place < ends else (stop + place - ends, stop + place - ends + 1)

    return sorted({(original(start)[0], original(stop - 1)[1]) for start, stop in spans})


@cache
def _resizing() -> tuple[re.Pattern[str], frozenset[str]]:
    """Return the pattern of what folding may resize, and what is composed with the character before it."""
    characters = list(map(chr, (*range(0x80, 0xD800), *range(0xF900, 0x10000))))
    # Marks, and the vowels and finals of Korean syllables. `re` has no class of marks, and is much faster than `regex`,
    # also because it has few ranges: what is above U+FFFF counts as one.
    joined = "".join(
        character
        for character in characters
        if unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff"
    )
    alone = "".join(character for character in characters if len(folded(character)) > 1)
    high = "\U00010000-\U0010ffff"
    return re.compile(f"[{alone}{joined}{high}][{joined}{high}]*"), frozenset(joined)


# Folding makes these of one other character, as of "ſ", "ﬆ", "ﬁ" and "ŉ".
_MADE_BY_FOLDING = re.compile("st?|f[fil]+|ʼn|aʾ")


def _unambiguous(word: str) -> list[str]:
    """Return the parts of a folded *word* whose characters no text writes otherwise than in upper or lower case."""
    parts = _MADE_BY_FOLDING.sub(" ", word)
    if not parts.isascii():
        parts = "".join("\0" if _is_ambiguous(character) else character for character in parts)
        # A mark after "ﬁ" is composed with the last letter that folding makes of it, and the others are left.
        parts = re.sub("f*\0", " ", parts)
    return parts.split()


def _is_ambiguous(character: str) -> bool:
    decomposed = unicodedata.normalize("NFD", character)
    return not character.isascii() and (decomposed != character or character in _ambiguous())


@cache
def _ambiguous() -> frozenset[str]:
    """Return what folding makes of characters whose lower case is another one, and marks, in any order."""
    characters = map(chr, (*range(0x80, 0xD800), *range(0xE000, 0x20000), *range(0x2F800, 0x2FA20)))
    return frozenset(
        part
        for character in characters
        if (made := folded(character)) != character.lower() or unicodedata.combining(character)
        for part in made
    )
