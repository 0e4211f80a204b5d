"""Changes of a page as a table of old and new values side by side, with the words marked that differ."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable._shown import MOST_CHARACTERS, Marked, Shown
from webtable.repository.text.excerpts import excerpts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webtable.repository.text.excerpts import Span

SHOWN_CHANGES = 30
"""How many changes are shown."""
MOST_WORDS = 100
"""Words between the first and the last that differ are compared as long as they are no more; else all are marked."""
_WORD = re.compile(r"\w+|[^\w\s]")


class Pair(NamedTuple):
    """A part of a page, which of its things, and its old and new value; None where one has it not."""

    part: str
    name: str | None
    old: str | None
    new: str | None


def side_by_side(title: str, changes: Iterable[Any]) -> Shown:
    """Return *changes*, each with `part`, `name`, `old` and `new`, as a table that notebooks and terminals show."""
    pairs = list(islice(paired(changes), SHOWN_CHANGES + 1))
    rows = [(pair.part, pair.name, *_marked(pair.old, pair.new)) for pair in pairs[:SHOWN_CHANGES]]
    more = f"the first {SHOWN_CHANGES}; str() or .to_dicts() has all" if len(pairs) > SHOWN_CHANGES else ""
    return Shown(title, ("part", "name", "old", "new"), rows, more or ("" if pairs else "no difference"))


def paired(changes: Iterable[Any]) -> Iterator[Pair]:
    """Yield *changes*, with lines of text that were taken out beside those that came in their place."""
    removed: list[str] = []
    added: list[str] = []
    for change in changes:
        is_line = change.part == "text"
        # A line that goes, behind one that has come, begins another place of the text.
        if not is_line or (added and change.new is None):
            yield from _lines(removed, added)
            removed, added = [], []
        if not is_line:
            yield Pair(change.part, change.name, change.old, change.new)
        elif change.new is None:
            removed.append(change.old)
        else:
            added.append(change.new)
    yield from _lines(removed, added)


def _lines(removed: list[str], added: list[str]) -> Iterator[Pair]:
    return (Pair("text", None, old, new) for old, new in zip_longest(removed, added))


def _marked(old: str | None, new: str | None) -> tuple[Marked | None, Marked | None]:
    """Return both values with the words marked that the other one has not, as excerpts where they are long."""
    if old is None or new is None:
        return _excerpt(old, []), _excerpt(new, [])
    words, others = list(_WORD.finditer(old)), list(_WORD.finditer(new))
    spans = [(_span(words, *step[:2]), _span(others, *step[2:])) for step in _steps(_texts(words), _texts(others))]
    return _excerpt(old, [one for one, _ in spans if one]), _excerpt(new, [other for _, other in spans if other])


def _texts(words: list[re.Match[str]]) -> list[str]:
    return [word[0] for word in words]


def _span(words: list[re.Match[str]], first: int, last: int) -> Span | None:
    """Return from where to where the *words* from *first* up to *last* stand, None where there are none."""
    return (words[first].start(), words[last - 1].end()) if last > first else None


def _steps(words: list[str], others: list[str]) -> list[tuple[int, int, int, int]]:
    """Return which words differ: from where to where in both, as far as a comparison takes no long time."""
    shortest = min(len(words), len(others))
    start = next((at for at in range(shortest) if words[at] != others[at]), shortest)
    same = next((at for at in range(shortest - start) if words[-1 - at] != others[-1 - at]), shortest - start)
    one, other = words[start : len(words) - same], others[start : len(others) - same]
    if max(len(one), len(other)) > MOST_WORDS:
        return [(start, start + len(one), start, start + len(other))]
    found = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return [(start + a, start + b, start + c, start + d) for name, a, b, c, d in found if name != "equal"]


def _excerpt(text: str | None, marks: list[Span]) -> Marked | None:
    if text is None:
        return None
    shortened = [(start, min(stop, start + MOST_CHARACTERS)) for start, stop in marks]
    pieces = excerpts(text, shortened or [(0, 0)])
    return Marked([piece for one in pieces for piece in one.marked().pieces])
