"""The terms of a text, under which full text is indexed and looked up: its words in one case, with their places.

A word is a run of letters, marks and digits, in canonical form (NFC) and without regard to case; everything else parts
words, so `to_arrow` and `don't` are two words each. Chinese and Japanese have no spaces: a run of their characters
becomes its bigrams, then its last character, so that every character begins a term. With *stemming* words are reduced
to their stems by Snowball (https://snowballstem.org/), in pages and in queries alike.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import regex

from webtable._extras import missing_extra
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_TERM = 64
"""The most characters of a term; what a longer word has after them does not count, as in encoded data."""
_ASCII_WORD = re.compile(r"[^\W_]+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー々〆]+")
_PARTS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー々〆]+|[^\p{Han}\p{Hiragana}\p{Katakana}ー々〆]+")


class TextTerm(NamedTuple):
    """A term of a text, and where it is written there: from the character `start` to the one before `stop`."""

    term: str
    start: int
    stop: int
    is_open: bool = False
    """Whether it is the last character of a run of Chinese or Japanese, with which no bigram begins."""


@dataclass(frozen=True)
class Analyzer:
    """Makes the terms of texts; raises `InvalidArgument` for a language that Snowball does not know."""

    stemming: str | None = None

    def __post_init__(self) -> None:
        if self.stemming is not None:
            self._stem("")

    def terms(self, text: str) -> Iterator[TextTerm]:
        """Yield the terms of *text* in their order.

        >>> [one.term for one in Analyzer().terms("Salted row_keys, 表格 42")]
        ['salted', 'row', 'keys', '表格', '格', '42']
        """
        words = _ASCII_WORD if text.isascii() else _WORD
        for match in words.finditer(text):
            for at, piece in _pieces(match.group()):
                start = match.start() + at
                is_open = len(piece) == 1 and _UNSPACED.match(piece) is not None
                yield TextTerm(self._term(piece), start, start + len(piece), is_open)

    def joined(self, text: str) -> str:
        """Return the terms of *text*, separated by spaces."""
        others = set(_NOT_ASCII.findall(text))
        if not any(map(_WORD.match, others)):
            # Only what parts words is not ASCII, as dashes and quotation marks: "?" does that, too.
            words = _ASCII_WORD.findall(text.encode("ascii", "replace").decode().lower())
        elif any(map(_UNSPACED.match, others)):
            words = [piece for word in _WORD.findall(text) for _, piece in _pieces(word)]
        else:
            words = _WORD.findall(text)
        # Texts repeat their words.
        terms = {word: self._term(word) for word in set(words)}
        return " ".join([terms[word] for word in words])

    def _term(self, word: str) -> str:
        term = _folded(word)[:MAX_TERM]
        return term if self.stemming is None or _UNSPACED.match(word) else self._stem(term)

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        try:
            import snowballstemmer
        except ImportError as exc:
            raise missing_extra("snowballstemmer", "search", exc) from exc
        try:
            stemmer = snowballstemmer.stemmer(self.stemming)
        except KeyError:
            known = ", ".join(snowballstemmer.algorithms())
            raise InvalidArgument(f"stemming={self.stemming!r} must be one of {known}") from None
        # Texts repeat their words, and a stem takes longer than to look it up.
        return lru_cache(maxsize=65_536)(stemmer.stemWord)


def _pieces(word: str) -> list[tuple[int, str]]:
    """Return what becomes terms of a *word*, which may have runs of Chinese and Japanese, with its places there."""
    if word.isascii() or _UNSPACED.search(word) is None:
        return [(0, word)]
    pieces: list[tuple[int, str]] = []
    for part in _PARTS.finditer(word):
        run, start = part.group(), part.start()
        if _UNSPACED.match(run) is None:
            pieces.append((start, run))
        else:
            pieces += [(start + at, run[at : at + 2]) for at in range(len(run))]
    return pieces


def _folded(word: str) -> str:
    return (
        word.lower() if word.isascii() else unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).casefold())
    )
