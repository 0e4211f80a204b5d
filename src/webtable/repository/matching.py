"""Words looked for in titles and bodies: where they are, and the pieces of text around them. Pure: no I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, get_args

from webtable.errors import InvalidArgument
from webtable.extract import plain_text
from webtable.page import Page
from webtable.rowkey.conditions import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Span = tuple[int, int]
"""Where something is in a text: from its first character up to the one behind its last."""
SearchIn = Literal["title", "body", "all"]
"""What is searched."""

_QUERY = re.compile(r'"([^"]*)"|(\S+)')
_CHARSET = re.compile(r"""\bcharset\s*=\s*["']?([^\s"';,]+)""", re.IGNORECASE)
_NEAR = 24
"""How many characters a piece of text gives up to begin and end with whole words."""
# JSON escapes a quote, a backslash and what is below the space; Java knows a sigma at the end of a word from others.
_WRITTEN_OTHERWISE = re.compile(r'["\\\x00-\x1fσ]+')


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a query, in lower case; a phrase is one of them, with single spaces.

    All must occur, anywhere in a word of the text and whatever the case, as Unicode's lower case has it.
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        r"""Return the words of *text*, parted by white space; a phrase in double quotes is one word.

        A quote that is not closed, or is inside a word, stands for itself. Raises `InvalidArgument` where there are no
        words, and for what no text can hold.

        >>> Words.of('Row  "New\tYork" row').words
        ('row', 'new york')
        """
        if not isinstance(text, str):
            raise InvalidArgument(f"text={shown(text)} must be a string")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidArgument(f"text={shown(text)} has half of a surrogate pair")
        found = (" ".join((phrase or word).split()) for phrase, word in _QUERY.findall(text))
        words = tuple(dict.fromkeys(_folded(word) for word in found if word))
        if not words:
            raise InvalidArgument(f"text={shown(text)} has no words to look for")
        return cls(words)

    @property
    def texts(self) -> tuple[str, ...]:
        r"""What a filter in the store may look for, whatever the case, in a title, or in JSON that holds it.

        All of it is in every title that has all the words, and in some others too. It may be empty.

        >>> Words.of('"new york" C:\\logs').texts
        ('new', 'york', 'c:', 'logs')
        """
        single = (part for word in self.words for part in word.split())
        return tuple(dict.fromkeys(part for word in single for part in _WRITTEN_OTHERWISE.split(word) if part))

    def in_text(self, text: str) -> list[Span]:
        """Return where the words are in *text*, in order, or an empty list where one of them is not.

        >>> Words.of("the end").in_text("The end of the friend")
        [(0, 3), (4, 7), (11, 14), (18, 21)]
        """
        return self.in_texts(text)[0]

    def in_texts(self, *texts: str) -> list[list[Span]]:
        """Return for each of *texts* where the words are in it; empty lists where one of them is in none of the texts.

        White space in a phrase is any white space in a text. What a word covers twice counts once; two words may share
        characters.
        """
        folded = [_folded(text) for text in texts]
        patterns = [re.compile(r"\s+".join(map(re.escape, word.split()))) for word in self.words]
        if not all(any(pattern.search(text) for text in folded) for pattern in patterns):
            return [[] for _ in texts]
        return [_spans(patterns, *pair) for pair in zip(texts, folded, strict=True)]


def _folded(text: str) -> str:
    # Which sigma a letter becomes depends on its neighbours, so the same word would differ from place to place.
    return text.lower().replace("ς", "σ")


def _spans(patterns: Sequence[re.Pattern[str]], text: str, folded: str) -> list[Span]:
    found = sorted({match.span() for pattern in patterns for match in pattern.finditer(folded)})
    if len(folded) == len(text):
        return found
    # 'İ' has two characters in lower case.
    places = [place for place, character in enumerate(text) for _ in character.lower()]
    return sorted({(places[start], places[stop - 1] + 1) for start, stop in found})


class Excerpt(NamedTuple):
    """A piece of a text and where the words are in it; the marks may overlap."""

    text: str
    marks: tuple[Span, ...] = ()

    def highlighted(self, before: str = "[", after: str = "]") -> str:
        """Return the text with *before* and *after* around its marks, of which those that overlap are one.

        >>> Excerpt("web tables", ((0, 3), (4, 7), (5, 9))).highlighted()
        '[web] [table]s'
        """
        parts, at = [], 0
        for start, stop in _merged(self.marks, gap=-1):
            parts += [self.text[at:start], before, self.text[start:stop], after]
            at = stop
        return "".join([*parts, self.text[at:]])


def excerpts(text: str, spans: Sequence[Span], *, width: int = 160, most: int = 3) -> tuple[Excerpt, ...]:
    """Return at most *most* pieces of *text* around the first of *spans*, each of about *width* characters.

    They are cut between words where one ends nearby, with "…" where something was cut off; pieces that meet are one.
    All spans in a piece are marked, one at its end as far as it is in. Raises `InvalidArgument` for a *width* below 1
    or a *most* below 0.

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
    """Yield from where to where neighbouring spans reach that have room in one piece."""
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
    """Return *window* from the start of a word to the end of one, with all *groups* that are in it."""
    start, stop = window
    inside = [group for group in groups if start <= group[0] < stop]
    first, last = inside[0][0], max(end for _, end in inside)
    if start > 0 and not text[start - 1].isspace():
        start = next((at + 1 for at in range(start, min(first, start + _NEAR)) if text[at].isspace()), start)
    if stop < len(text) and not text[stop].isspace():
        stop = next((at for at in range(stop - 1, max(last, stop - _NEAR) - 1, -1) if text[at].isspace()), stop)
    return start, stop


def _merged(spans: Sequence[Span], gap: int) -> list[Span]:
    """Return *spans* in order, those as one that are at most *gap* characters apart."""
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


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that has all the words."""

    page: Page
    title: Excerpt | None
    """Its title, with the words marked where titles are searched; None where it has none."""
    excerpts: tuple[Excerpt, ...]
    """Pieces of its body around the words; none where they are in the title only."""
    matches: int
    """How many times the words occur in what was searched."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """Tells which pages have all of *words* in their title, their body, or the two together ("all").

    A body that is neither HTML nor text has no words, and neither has one that was not read. Raises `InvalidArgument`
    where `in_` is none of the three.
    """

    words: Words
    in_: SearchIn = "all"

    def __post_init__(self) -> None:
        if self.in_ not in get_args(SearchIn):
            raise InvalidArgument(f"in_={shown(self.in_)} must be one of {', '.join(map(repr, get_args(SearchIn)))}")

    def hit(self, page: Page) -> Hit | None:
        """Return what was found in *page*, None where one of the words is missing.

        >>> from webtable.page import Page
        >>> page = Page(url="https://example.com/", title="A table", html=b"<p>of the web", content_type="text/html")
        >>> found = Matcher(Words.of("WEB table")).hit(page)
        >>> found.title.highlighted(), found.excerpts[0].highlighted(), found.matches
        ('A [table]', 'of the [web]', 2)
        """
        title = page.title or "" if self.in_ != "body" else ""
        body = " ".join((text_of(page) or "").split()) if self.in_ != "title" else ""
        in_title, in_body = self.words.in_texts(title, body)
        if not (in_title or in_body):
            return None
        marked = Excerpt(page.title, tuple(in_title)) if page.title is not None else None
        return Hit(page, marked, excerpts(body, in_body), len(in_title) + len(in_body))


def text_of(page: Page) -> str | None:
    """Return what can be read of the body of *page*, None where it has no body here or one that is no text."""
    return None if page.html is None else plain_text(page.html, charset_of(page), page.content_type)


def charset_of(page: Page) -> str | None:
    """Return the charset that *page* brings, or else the one that its header announces.

    A version from the history does not bring its own.
    """
    announced = _CHARSET.search(page.headers.get("content-type", ""))
    return page.charset or (announced[1] if announced else None)
