"""Views of a difference: a unified diff of lines, and changes side by side with differing words marked."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from difflib import Match, SequenceMatcher
from itertools import count, islice, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from webtable.display import MOST_CHARACTERS, Marked, Shown
from webtable.repository.answers.columns import column, declared
from webtable.repository.text.excerpts import excerpts

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from webtable.repository.text.excerpts import Span

SHOWN_CHANGES = 30
"""How many changes are shown."""
MOST_WORDS = 100
"""Up to this many words between the first and the last that differ are compared; if there are more, all are marked."""
_WORD = re.compile(r"\w+|[^\w\s]")
_CONTEXT = 3
_DEPTH = 8
"""How many times the lines between common lines are divided at such lines again."""


class DifferenceRow(NamedTuple):
    """One of the differences as a row of a table: the part of the page, a name in it, and both values as text.

    `part` is title, status, header, link or text; `name` is that of the header, or the target of the link. Lines of
    text that are the same in both are left out.
    """

    part: str
    name: str | None
    old: str | None
    new: str | None


DIFFERENCES = declared(
    DifferenceRow, "change", column("part"), column("name", share=3), column("old", share=2), column("new", share=2)
)


def side_by_side(title: str, changes: Iterable[DifferenceRow]) -> Shown:
    """Return *changes*, each with `part`, `name`, `old` and `new`, as a table that notebooks and terminals show."""
    rows = list(islice(marked(changes), SHOWN_CHANGES + 1))
    more = f"the first {SHOWN_CHANGES}; str() or .to_dicts() has all" if len(rows) > SHOWN_CHANGES else ""
    note = more or ("" if rows else "no difference")
    return Shown(title, ("part", "name", "old", "new"), rows[:SHOWN_CHANGES], note)


def marked(changes: Iterable[DifferenceRow]) -> Iterator[tuple[str, str | None, Marked | None, Marked | None]]:
    """Yield *changes* with replaced lines next to each other, and with differing words marked."""
    return ((pair.part, pair.name, *_marked(pair.old, pair.new)) for pair in paired(changes))


def paired(changes: Iterable[DifferenceRow]) -> Iterator[DifferenceRow]:
    """Yield *changes*, with removed lines of text next to the lines that replaced them."""
    removed: list[str | None] = []
    added: list[str | None] = []
    for change in changes:
        is_line = change.part == "text"
        # A removed line after an added one begins another place in the text.
        if not is_line or (added and change.new is None):
            yield from _lines(removed, added)
            removed, added = [], []
        if not is_line:
            yield change
        elif change.new is None:
            removed.append(change.old)
        else:
            added.append(change.new)
    yield from _lines(removed, added)


def _lines(removed: list[str | None], added: list[str | None]) -> Iterator[DifferenceRow]:
    return (DifferenceRow("text", None, old, new) for old, new in zip_longest(removed, added))


def _marked(old: str | None, new: str | None) -> tuple[Marked | None, Marked | None]:
    """Return both values with the words marked that the other one does not have, as excerpts if they are long."""
    if old is None or new is None:
        return _excerpt(old, []), _excerpt(new, [])
    words, others = list(_WORD.finditer(old)), list(_WORD.finditer(new))
    spans = [(_span(words, *step[:2]), _span(others, *step[2:])) for step in _steps(_texts(words), _texts(others))]
    return _excerpt(old, [one for one, _ in spans if one]), _excerpt(new, [other for _, other in spans if other])


def _texts(words: list[re.Match[str]]) -> list[str]:
    return [word[0] for word in words]


def _span(words: list[re.Match[str]], first: int, last: int) -> Span | None:
    """Return the span of the *words* from *first* up to *last*, or None if there are none."""
    return (words[first].start(), words[last - 1].end()) if last > first else None


def _steps(words: list[str], others: list[str]) -> list[tuple[int, int, int, int]]:
    """Return the spans of differing words in both; one span if a comparison would take too long."""
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


def unified(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yield the differences of two texts, given as lines, as a unified diff without its head."""
    for group in _Lines(old, new).get_grouped_opcodes(_CONTEXT):
        (_, old_start, _, new_start, _), (_, _, old_stop, _, new_stop) = group[0], group[-1]
        yield f"@@ -{_range(old_start, old_stop)} +{_range(new_start, new_stop)} @@"
        for tag, first, last, new_first, new_last in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[first:last])
            else:
                yield from (f"-{line}" for line in old[first:last])
                yield from (f"+{line}" for line in new[new_first:new_last])


def _range(start: int, stop: int) -> str:
    """Return a range in the form of unified diffs: an empty one begins at the line before it."""
    length = stop - start
    return f"{start + 1}" if length == 1 else f"{start + 1 if length else start},{length}"


class _Lines(SequenceMatcher[str]):
    """Matches lines in nearly linear time.

    The matching of `difflib` is quadratic if every other line changed: 50,000 lines take over a minute. Here the equal
    lines at both ends are matched first, then those that occur just once in both versions ("patience diff"), and so on
    between them.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new, autojunk=False)
        self._sides = old, new

    def get_matching_blocks(self) -> list[Match]:
        old, new = self._sides
        blocks: list[Match] = []
        for i, j in _common(old, new):
            if blocks and (i, j) == (blocks[-1].a + blocks[-1].size, blocks[-1].b + blocks[-1].size):
                blocks[-1] = blocks[-1]._replace(size=blocks[-1].size + 1)
            else:
                blocks.append(Match(i, j, 1))
        return [*blocks, Match(len(old), len(new), 0)]


def _common(old: Sequence[str], new: Sequence[str]) -> list[Span]:
    """Return the places of lines that both versions have in the same order."""
    pairs: list[Span] = []
    gaps = [(0, len(old), 0, len(new), 0)]
    while gaps:
        i, i_stop, j, j_stop, depth = gaps.pop()
        while i < i_stop and j < j_stop and old[i] == new[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        while i < i_stop and j < j_stop and old[i_stop - 1] == new[j_stop - 1]:
            i_stop, j_stop = i_stop - 1, j_stop - 1
            pairs.append((i_stop, j_stop))
        if i == i_stop or j == j_stop or depth == _DEPTH:
            continue
        anchors = _anchors(old[i:i_stop], new[j:j_stop])
        pairs += (found := [(i + place, j + new_place) for place, new_place in anchors])
        ends = [*found, (i_stop, j_stop)] if found else []
        for place, new_place in ends:
            gaps.append((i, place, j, new_place, depth + 1))
            i, j = place + 1, new_place + 1
    return sorted(pairs)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[Span]:
    """Return the places of lines that occur once in both; if there are none, of the first in each, and so on."""
    places, new_places = _single(old), _single(new)
    if places.keys().isdisjoint(new_places):
        places, new_places = _numbered(old), _numbered(new)
    return _increasing([(place, new_places[line]) for line, place in places.items() if line in new_places])


def _single(lines: Sequence[str]) -> dict[Hashable, int]:
    counts = Counter(lines)
    return {line: place for place, line in enumerate(lines) if counts[line] == 1}


def _numbered(lines: Sequence[str]) -> dict[Hashable, int]:
    counts: defaultdict[str, count[int]] = defaultdict(count)
    return {(line, next(counts[line])): place for place, line in enumerate(lines)}


def _increasing(pairs: Sequence[Span]) -> list[Span]:
    """Return the longest selection of *pairs*, whose first numbers increase, in which the second numbers increase too.

    >>> _increasing([(0, 5), (1, 1), (2, 2), (3, 0), (4, 3)])
    [(1, 1), (2, 2), (4, 3)]
    """
    ends: list[int] = []
    rows: list[int] = []
    before: list[int] = []
    for row, (_, number) in enumerate(pairs):
        length = bisect_left(ends, number)
        before.append(rows[length - 1] if length else -1)
        ends[length : length + 1] = [number]
        rows[length : length + 1] = [row]
    found, row = [], rows[-1] if rows else -1
    while row >= 0:
        found.append(pairs[row])
        row = before[row]
    return found[::-1]
