"""Excerpts: pieces of a text around the words of a query, which are marked in them. Pure: no I/O."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from webtable.display import Marked
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
