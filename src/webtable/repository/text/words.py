"""The words of a query, their places in a text, and excerpts of the text around them. Pure: no I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self

import regex

from webtable._shown import Marked
from webtable.errors import InvalidArgument
from webtable.rowkey.fields.field import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Span = tuple[int, int]
"""A range of characters in a text: the first, and the one after the last."""


_QUERY = re.compile(r'"([^"]*)"|(\S+)')
_LETTER = regex.compile(r"\w")
"""A letter, a mark, a digit or an underscore, as Unicode defines them."""
_FIRST = regex.compile(r"[^\W\p{M}]")
_BOUNDARY = regex.compile(r"(?w)\b")
"""A word boundary by the default rules of UAX #29."""
_SEPARATORS = frozenset(".:")
"""Characters that also separate words: the rules leave them to each program, and a tag may follow without a space."""
# JSON escapes quotes, backslashes and control characters; Java's lower case distinguishes a sigma at the end of a word.
_WRITTEN_OTHERWISE = re.compile(r'["\\\x00-\x1fσ]+')


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a query, in lower case; a phrase is one of them, with single spaces.

    All must occur, in upper or lower case as Unicode defines it: as whole words, or with *substring* anywhere in the
    words of a text. Words are separated by the default rules of Unicode (UAX #29), and by full stops and colons.
    """

    words: tuple[str, ...]
    substring: bool = False

    @classmethod
    def of(cls, text: str, *, substring: bool = False) -> Self:
        r"""Return the words of *text*, separated by white space; a phrase in double quotes is one word.

        A `*` after a letter or digit at the end of a word matches any rest of a word. A quote inside a word, or at its
        end, stands for itself, and so does a `*` with *substring*. Raises `InvalidArgument` if there are no words, for
        a quote before a word that is not closed, and for surrogates.

        >>> Words.of('Row  "New\tYork" sal* row').words
        ('row', 'new york', 'sal*')
        """
        if not isinstance(text, str):
            raise InvalidArgument(f"text={shown(text)} must be a string")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidArgument(f"text={shown(text)} has half of a surrogate pair")
        found = _QUERY.findall(text)
        for _, word in found:
            if word.startswith('"'):
                raise InvalidArgument(f"text={shown(text)}: the quote that {shown(word)} begins with is not closed")
        parts = (" ".join((phrase or word).split()) for phrase, word in found)
        words = tuple(dict.fromkeys(_folded(part) for part in parts if part))
        if not words:
            raise InvalidArgument(f"text={shown(text)} has no words to look for")
        return cls(words, substring)

    @property
    def texts(self) -> tuple[str, ...]:
        r"""Texts for a filter in the store, which ignores the case, on titles, or on JSON that contains them.

        Every title with all the words contains all of them, but so may other titles. May be empty.

        >>> Words.of('"new york" C:\\logs sal*').texts
        ('new', 'york', 'c:', 'logs', 'sal')
        """
        single = (part for word in self.words for part in _text_of(word, substring=self.substring)[0].split())
        return tuple(dict.fromkeys(part for word in single for part in _WRITTEN_OTHERWISE.split(word) if part))

    def in_text(self, text: str) -> list[Span]:
        """Return the spans of the words in *text*, in order, or an empty list if one of them is missing.

        >>> Words.of("the end").in_text("The end of the friend")
        [(0, 3), (4, 7), (11, 14)]
        >>> Words.of("the end", substring=True).in_text("The end of the friend")
        [(0, 3), (4, 7), (11, 14), (18, 21)]
        """
        return self.in_texts(text)[0]

    def in_texts(self, *texts: str) -> list[list[Span]]:
        """Return the spans of the words in each of *texts*; empty lists if one of the words is in none of the texts.

        A space in a phrase matches any white space in a text. Overlapping matches of one word count once; spans of two
        words may overlap.
        """
        folded = [_folded(text) for text in texts]
        patterns = [_pattern(word, substring=self.substring) for word in self.words]
        if not all(any(pattern.is_in(text) for text in folded) for pattern in patterns):
            return [[] for _ in texts]
        return [_spans(patterns, *pair) for pair in zip(texts, folded, strict=True)]


class _Pattern(NamedTuple):
    """A word to be found in texts in lower case, and whether it must begin or end at a word boundary."""

    written: re.Pattern[str]
    begins: bool
    ends: bool

    def is_in(self, text: str) -> bool:
        """Whether *text* has the word."""
        return next(self.spans(text), None) is not None

    def spans(self, text: str) -> Iterator[Span]:
        """Yield the spans of the word in *text*."""
        at = 0
        while (match := self.written.search(text, at)) is not None:
            start, stop = match.span()
            if (not self.begins or _is_boundary(text, start)) and (not self.ends or _is_boundary(text, stop)):
                yield start, stop
                at = stop
            else:
                at = start + 1


def _is_boundary(text: str, at: int) -> bool:
    before, after = text[at - 1 : at], text[at : at + 1]
    # In most cases this is obvious, and the rules are not needed.
    if before.isascii() and after.isascii():
        if before.isalnum() and after.isalnum():
            return False
        if not before or not after or before.isspace() or after.isspace():
            return True
    if (before in _SEPARATORS and after.isalpha()) or (after in _SEPARATORS and before.isalpha()):
        return True
    return _BOUNDARY.match(text, at) is not None


def _text_of(word: str, *, substring: bool) -> tuple[str, bool]:
    """Return the text that *word* of a query matches, and whether the word in the page may continue after it."""
    is_prefix = not substring and word.endswith("*") and _LETTER.match(word[-2:-1]) is not None
    return (word[:-1], True) if is_prefix else (word, substring)


@lru_cache(maxsize=256)
def _pattern(word: str, *, substring: bool) -> _Pattern:
    text, goes_on = _text_of(word, substring=substring)
    written = r"\s+".join(map(re.escape, text.split()))
    # No boundary is required next to a character that does not belong to a word, as in `100%`. A mark belongs to the
    # letter before it.
    begins = not substring and _FIRST.match(text) is not None
    ends = not goes_on and _LETTER.match(text[-1]) is not None
    if ends and text[-1].isascii():
        # There is never a boundary here, and checking this is faster.
        written += "(?![0-9a-z_])"
    return _Pattern(re.compile(written), begins, ends)


def _folded(text: str) -> str:
    # The lower case of a sigma depends on its neighbours, so the same word would differ from place to place.
    return text.lower().replace("ς", "σ")


def _spans(patterns: Sequence[_Pattern], text: str, folded: str) -> list[Span]:
    found = sorted({span for pattern in patterns for span in pattern.spans(folded)})
    if len(folded) == len(text):
        return found
    # 'İ' has two characters in lower case.
    places = [place for place, character in enumerate(text) for _ in character.lower()]
    return sorted({(places[start], places[stop - 1] + 1) for start, stop in found})


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


def joined(some: Sequence[Excerpt]) -> Marked:
    """Return several texts with their marks as one, with a space in between."""
    pieces = [[*one.marked().pieces, (" ", False)] for one in some]
    return Marked([piece for one in pieces for piece in one][:-1])


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
