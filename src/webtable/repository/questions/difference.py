"""The differences of two versions of a page: title, status, facts, headers, readable text, links. Pure: no I/O."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC
from difflib import Match, SequenceMatcher
from itertools import chain, count, islice, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from webtable.display import MOST_CHARACTERS, Marked, Shown, harmless
from webtable.display.text import plural
from webtable.page.body import digest_like
from webtable.page.facts import filled
from webtable.page.headers import Headers
from webtable.page.page import Page
from webtable.page.parts import SAID, Link
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.tabular import Tabular
from webtable.repository.full_text.words import excerpts
from webtable.repository.page_storage.state import brought

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from webtable.repository.answers.columns import Columns
    from webtable.repository.full_text.words import Span


# --- Views of a difference --------------------------------------------------------------------------------------------
#
# A unified diff of lines, and changes side by side with differing words marked.


SHOWN_CHANGES = 30
"""How many changes are shown."""
MOST_WORDS = 100
"""Up to this many words between the first and the last that differ are compared; if there are more, all are marked."""
_WORD = re.compile(r"\w+|[^\w\s]")
_CONTEXT = 3
"""How many lines around a change are shown, as `diff -u` does."""
_DEPTH = 8
"""How many times the lines between common lines are divided at such lines again."""


class DifferenceRow(NamedTuple):
    """One of the differences as a row of a table: the part of the page, a name in it, and both values as text.

    `part` is title, status, fact, header, link or text; `name` is that of the fact or the header, or the target of the
    link. Lines of text that are the same in both are left out.
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
    steps = _steps([word[0] for word in words], [word[0] for word in others])
    spans = [(_span(words, *step[:2]), _span(others, *step[2:])) for step in steps]
    return _excerpt(old, [span for span, _ in spans if span]), _excerpt(new, [other for _, other in spans if other])


def _span(words: list[re.Match[str]], first: int, last: int) -> Span | None:
    """Return the span of the *words* from *first* up to *last*, or None if there are none."""
    return (words[first].start(), words[last - 1].end()) if last > first else None


def _steps(words: list[str], others: list[str]) -> list[tuple[int, int, int, int]]:
    """Return the spans of differing words in both; one span if a comparison would take too long."""
    shortest = min(len(words), len(others))
    start = next((at for at in range(shortest) if words[at] != others[at]), shortest)
    same = next((at for at in range(shortest - start) if words[-1 - at] != others[-1 - at]), shortest - start)
    ours, theirs = words[start : len(words) - same], others[start : len(others) - same]
    if max(len(ours), len(theirs)) > MOST_WORDS:
        return [(start, start + len(ours), start, start + len(theirs))]
    steps = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    return [(start + a, start + b, start + c, start + d) for name, a, b, c, d in steps if name != "equal"]


def _excerpt(text: str | None, marks: list[Span]) -> Marked | None:
    if text is None:
        return None
    shortened = [(start, min(stop, start + MOST_CHARACTERS)) for start, stop in marks]
    pieces = excerpts(text, shortened or [(0, 0)])
    return Marked([piece for excerpt in pieces for piece in excerpt.marked().pieces])


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
        pairs += (pairs_here := [(i + place, j + new_place) for place, new_place in anchors])
        ends = [*pairs_here, (i_stop, j_stop)] if pairs_here else []
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
    # Patience sorting: `ends` has the lowest last number of a selection of each length, `rows` its row.
    ends: list[int] = []
    rows: list[int] = []
    before: list[int] = []
    for row, (_, number) in enumerate(pairs):
        length = bisect_left(ends, number)
        before.append(rows[length - 1] if length else -1)
        ends[length : length + 1] = [number]
        rows[length : length + 1] = [row]
    longest, row = [], rows[-1] if rows else -1
    while row >= 0:
        longest.append(pairs[row])
        row = before[row]
    return longest[::-1]


# --- The difference ---------------------------------------------------------------------------------------------------


_CLOCKS = ("date", "age")


@dataclass(frozen=True)
class Difference(Tabular[DifferenceRow]):
    """The result of `difference`; each part is None or empty if it is the same in both versions.

    As a table it has a row for each `DifferenceRow`.
    """

    old: Page
    new: Page
    title: tuple[str | None, str | None] | None
    status: tuple[int, int] | None
    facts: dict[str, tuple[str | None, str | None]]
    """The old and new value of what else the page says of itself, by the names of fields: `robots`, `canonical`, …"""
    headers: dict[str, tuple[str | None, str | None]]
    """The old and new value of each header that changed, None if it was absent."""
    text: tuple[str, ...]
    """A unified diff of the readable text; one line in words if a body is not text or was not read."""
    links_added: tuple[Link, ...]
    """In document order, as in the new version."""
    links_removed: tuple[Link, ...]
    """In document order, as in the old version."""
    links_changed: tuple[tuple[Link, Link], ...]
    """The old and new form of links to the same URL with another anchor, `rel`, kind, position or number (`times`)."""

    @property
    def is_empty(self) -> bool:
        """Whether there are no differences, except of markup, the order of links, and clocks."""
        return not (self.title or self.status or self.facts or self.headers or self.text or self._links)

    @property
    def _columns(self) -> Columns:
        return DIFFERENCES

    def _shown(self) -> Shown:
        return side_by_side(next(self._lines()), self)

    def __iter__(self) -> Iterator[DifferenceRow]:
        if self.title:
            yield DifferenceRow("title", None, *self.title)
        if self.status:
            yield DifferenceRow("status", None, *map(str, self.status))
        yield from (DifferenceRow("fact", name, *values) for name, values in self.facts.items())
        yield from (DifferenceRow("header", name, *values) for name, values in self.headers.items())
        yield from (DifferenceRow("link", link.url, None, link.anchor) for link in self.links_added)
        yield from (DifferenceRow("link", link.url, link.anchor, None) for link in self.links_removed)
        for old, new in self.links_changed:
            values = (old.anchor, new.anchor) if old.anchor != new.anchor else (_details(old), _details(new))
            yield DifferenceRow("link", old.url, *values)
        for line in self.text[2:]:  # after the names of both versions
            if line[0] in "-+":
                yield DifferenceRow("text", None, *((line[1:], None) if line[0] == "-" else (None, line[1:])))

    def side_by_side(self) -> Iterator[tuple[str, str | None, Marked | None, Marked | None]]:
        """Yield part, name, old and new value of each row, for display.

        A removed line is beside the line that replaced it, words that the other value does not have are marked, and
        long values are excerpts.
        """
        return marked(self)

    @property
    def _links(self) -> bool:
        return bool(self.links_added or self.links_removed or self.links_changed)

    def __str__(self) -> str:
        return "\n".join(map(harmless, self._lines()))

    def _lines(self) -> Iterator[str]:
        urls = dict.fromkeys((self.old.url, self.new.url))
        yield f"{' -> '.join(urls)}: {_moment(self.old)} -> {_moment(self.new)}"
        if self.is_empty:
            yield "no difference"
        if self.title:
            yield f"title: {_change(self.title)}"
        if self.status:
            yield f"status code: {self.status[0]} -> {self.status[1]}"
        yield from (f"{name}: {_change(values)}" for name, values in self.facts.items())
        yield from (f"header {name}: {_change(values)}" for name, values in self.headers.items())
        yield from (f"link added: {_shown(link)}" for link in self.links_added)
        yield from (f"link removed: {_shown(link)}" for link in self.links_removed)
        for old, new in self.links_changed:
            yield f"link changed: {_shown(old)} -> {_shown(new)}"
        yield from self.text


def difference(old: Page, new: Page) -> Difference:
    """Return the differences between two versions of a page, in the parts that were read of both.

    The headers `date` and `age`, which change with the clock, are ignored; headers are not compared if a version has no
    headers, nor links if those of a version were not read. If a page has no title or links, they and its facts are
    taken from its body. A line of the text is a block of HTML, or a line of other text; white space at the end of a
    line, and the kind of line end, are ignored.

    >>> from datetime import UTC, datetime
    >>> first = Page(url="https://example.com/", body=b"<p>Tea<p>2.50", fetched_at=datetime(2026, 1, 1, tzinfo=UTC))
    >>> second = Page(url="https://example.com/", body=b"<p>Tea<p>2.80", fetched_at=datetime(2026, 1, 2, tzinfo=UTC))
    >>> print(difference(first, second))
    https://example.com/: 2026-01-01T00:00:00Z -> 2026-01-02T00:00:00Z
    --- 2026-01-01T00:00:00Z
    +++ 2026-01-02T00:00:00Z
    @@ -1,2 +1,2 @@
     Tea
    -2.50
    +2.80
    """
    (old_head, before), (new_head, after) = _head(old), _head(new)
    if before is None or after is None:
        before = after = ()
    added, removed, changed = _changed_links(before, after)
    return Difference(
        old=old,
        new=new,
        title=None if old_head.title == new_head.title else (old_head.title, new_head.title),
        status=None if old.status == new.status else (old.status, new.status),
        facts=_facts(old_head, new_head),
        headers=_headers(old.headers, new.headers),
        text=_text(old, new),
        links_added=tuple(added),
        links_removed=tuple(removed),
        links_changed=tuple(changed),
    )


def _headers(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    if not (before and after):
        return {}
    old, new = Headers(before).folded(), Headers(after).folded()
    names = sorted((old.keys() | new.keys()) - set(_CLOCKS))
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _was_read(page: Page) -> bool:
    # A version from the history has its size instead of `has_body`.
    return page.body is not None or not (page.has_body or page.size)


def _head(page: Page) -> tuple[Page, Sequence[Link] | None]:
    """Return *page* with what it says of itself, and its links, or None if they were not read."""
    if page.body is None:
        unread = page.outlinks is None and (page.outlink_count or not _was_read(page))
        return page, None if unread else page.outlinks or ()
    if page.title is None or page.outlinks is None:
        page = filled(page)[0]
    return page, page.outlinks or ()


def _facts(old: Page, new: Page) -> dict[str, tuple[str | None, str | None]]:
    (*_, old_target, old_facts), (*_, new_target, new_facts) = brought(old), brought(new)
    values = zip(("redirect_to", *SAID), (old_target, *old_facts), (new_target, *new_facts), strict=True)
    return {name: (before, after) for name, before, after in values if before != after and name != "title"}


def _changed_links(old: Sequence[Link], new: Sequence[Link]) -> tuple[list[Link], list[Link], list[tuple[Link, Link]]]:
    """Return the links that came, those that went, and pairs of those to one URL that differ, in the pages' order."""
    before, after = set(old), set(new)
    gone: dict[str, list[Link]] = {}
    for link in old:
        if link not in after:
            gone.setdefault(link.url, []).append(link)
    added: list[Link] = []
    changed: list[tuple[Link, Link]] = []
    for link in new:
        if link in before:
            continue
        if others := gone.get(link.url):
            changed.append((others.pop(0), link))
        else:
            added.append(link)
    removed = set(chain.from_iterable(gone.values()))
    return added, [link for link in old if link in removed], changed


def _text(old: Page, new: Page) -> tuple[str, ...]:
    if not (_was_read(old) and _was_read(new)):
        return () if _has_digest_of(old, new) else (f"body, not read: {_size(old)} -> {_size(new)}",)
    before, after = _lines_of(old), _lines_of(new)
    if before is None or after is None:
        return () if old.body == new.body else (f"binary body: {_size(old)} -> {_size(new)}",)
    changes = list(unified(before, after))
    return (f"--- {_moment(old)}", f"+++ {_moment(new)}", *changes) if changes else ()


def _has_digest_of(old: Page, new: Page) -> bool:
    """Whether both have the same digest; for a body that was read, by the algorithm of the other's digest."""
    for page, digest in ((old, new.digest), (new, old.digest)):
        if digest is not None and page.body is not None and not page.truncated:
            return digest_like(digest, page.body) == digest
    return old.digest == new.digest and (old.digest is not None or old.body is new.body)


def _lines_of(page: Page) -> list[str] | None:
    if page.body is None:
        return []
    text = page.text
    return None if text is None else [line.rstrip() for line in text.splitlines()]


def _size(page: Page) -> str:
    size = len(page.body or b"") if page.size is None else page.size
    return plural(size, "byte")


def _moment(page: Page) -> str:
    return f"{page.fetched_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _change(values: tuple[str | None, str | None]) -> str:
    return " -> ".join("none" if value is None else repr(value) for value in values)


def _shown(link: Link) -> str:
    return " ".join(filter(None, (link.url, repr(link.anchor), _details(link))))


def _details(link: Link) -> str:
    """What is unusual about *link* besides its anchor."""
    named = zip(Link._fields[2:], link[2:], Link("")[2:], strict=True)
    return " ".join(f"{name}={value!r}" for name, value, usual in named if value != usual)
