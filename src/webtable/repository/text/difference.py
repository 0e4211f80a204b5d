"""What two versions of a page differ in: title, status, headers, readable text and links. Pure: no I/O."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC
from difflib import Match, SequenceMatcher
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from webtable._page.digests import digest_like
from webtable._page.extract import extract, is_html
from webtable._page.headers import Headers
from webtable._page.page import Link, Page, charset_of
from webtable._shown import harmless
from webtable.repository.answers.columns import CHANGES, Kind
from webtable.repository.answers.tabular import Tabular
from webtable.repository.text.matcher import text_of
from webtable.repository.text.side_by_side import side_by_side

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from webtable._shown import Shown

    Pair = tuple[int, int]

_CLOCKS = ("date", "age")
_CONTEXT = 3
_DEPTH = 8
"""How often what is between lines in common is cut at such lines again."""


class Change(NamedTuple):
    """One of the differences as a row of a table: the part of the page, what in it, and both values as text.

    `part` is title, status_code, header, link or text; `name` is that of the header, or where the link leads. A line of
    text that is the same in both is left out.
    """

    part: str
    name: str | None
    old: str | None
    new: str | None


@dataclass(frozen=True)
class Difference(Tabular[Change]):
    """What `difference` found; each part is None or empty where the versions are the same in it.

    As a table it has a row for each `Change`.
    """

    old: Page
    new: Page
    title: tuple[str | None, str | None] | None
    status_code: tuple[int, int] | None
    headers: dict[str, tuple[str | None, str | None]]
    """The old and new value of each header that changed, None where it was absent."""
    text: tuple[str, ...]
    """A unified diff of what can be read; one line of words where a body is no text or was not read."""
    links_added: tuple[Link, ...]
    """In document order, as the new version has them."""
    links_removed: tuple[Link, ...]
    """In document order, as the old version had them."""
    links_changed: tuple[tuple[Link, Link], ...]
    """The old and new form of the links that lead where they did, with another anchor or `rel`."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no difference, but of markup, order of links and clocks."""
        return not (self.title or self.status_code or self.headers or self.text or self._links)

    @property
    def _kind(self) -> Kind:
        return CHANGES

    def _shown(self) -> Shown:
        return side_by_side(next(self._lines()), self)

    def __iter__(self) -> Iterator[Change]:
        if self.title:
            yield Change("title", None, *self.title)
        if self.status_code:
            yield Change("status_code", None, *map(str, self.status_code))
        yield from (Change("header", name, *values) for name, values in self.headers.items())
        yield from (Change("link", link.url, None, link.anchor) for link in self.links_added)
        yield from (Change("link", link.url, link.anchor, None) for link in self.links_removed)
        yield from (Change("link", old.url, old.anchor, new.anchor) for old, new in self.links_changed)
        for line in self.text[2:]:  # behind the names of both sides
            if line[0] in "-+":
                yield Change("text", None, *((line[1:], None) if line[0] == "-" else (None, line[1:])))

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
        if self.status_code:
            yield f"status code: {self.status_code[0]} -> {self.status_code[1]}"
        yield from (f"header {name}: {_change(values)}" for name, values in self.headers.items())
        yield from (f"link added: {_shown(link)}" for link in self.links_added)
        yield from (f"link removed: {_shown(link)}" for link in self.links_removed)
        for old, new in self.links_changed:
            yield f"link changed: {_shown(old)} -> {_shown(new)}"
        yield from self.text


def difference(old: Page, new: Page) -> Difference:
    """Return what differs between two versions of a page, as far as both were read.

    The headers `date` and `age`, which change with the clock, are left out; headers are not compared where a version
    has none at all, nor links where those of a version were not read. A title and links that a page does not bring are
    taken from its body. A line of the text is a block of HTML, or a line of other text; white space at the end of a
    line and what ends it do not count.

    >>> from datetime import UTC, datetime
    >>> first = Page(url="https://example.com/", html=b"<p>Tea<p>2.50", fetched_at=datetime(2026, 1, 1, tzinfo=UTC))
    >>> second = Page(url="https://example.com/", html=b"<p>Tea<p>2.80", fetched_at=datetime(2026, 1, 2, tzinfo=UTC))
    >>> print(difference(first, second))
    https://example.com/: 2026-01-01T00:00:00Z -> 2026-01-02T00:00:00Z
    --- 2026-01-01T00:00:00Z
    +++ 2026-01-02T00:00:00Z
    @@ -1,2 +1,2 @@
     Tea
    -2.50
    +2.80
    """
    (old_title, before), (new_title, after) = _head(old), _head(new)
    if before is None or after is None:
        before = after = {}
    return Difference(
        old=old,
        new=new,
        title=None if old_title == new_title else (old_title, new_title),
        status_code=None if old.status_code == new.status_code else (old.status_code, new.status_code),
        headers=_headers(old.headers, new.headers),
        text=_text(old, new),
        links_added=tuple(link for url, link in after.items() if url not in before),
        links_removed=tuple(link for url, link in before.items() if url not in after),
        links_changed=tuple((before[url], link) for url, link in after.items() if before.get(url, link) != link),
    )


def _headers(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    if not (one and other):
        return {}
    old, new = Headers(one).folded(), Headers(other).folded()
    names = sorted((old.keys() | new.keys()) - set(_CLOCKS))
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _was_read(page: Page) -> bool:
    # A version from the history has no `has_body`, but its size.
    return page.html is not None or not (page.has_body or page.size)


def _head(page: Page) -> tuple[str | None, dict[str, Link] | None]:
    """Return the title of *page*, and its links by their URLs, None where they were not read."""
    title, links = page.title, page.outlinks
    if page.html is None:
        unread = links is None and (page.outlink_count or not _was_read(page))
        return title, None if unread else _by_url(links or ())
    if (title is None or links is None) and (page.content_type is None or is_html(page.content_type)):
        found = extract(page.html, page.url, charset_of(page))
        title, links = title or found.title, found.outlinks if links is None else links
    return title, _by_url(links or ())


def _by_url(links: Sequence[Link]) -> dict[str, Link]:
    return {link.url: link for link in links}


def _text(old: Page, new: Page) -> tuple[str, ...]:
    if not (_was_read(old) and _was_read(new)):
        return () if _has_digest_of(old, new) else (f"body, not read: {_size(old)} -> {_size(new)}",)
    before, after = _lines_of(old), _lines_of(new)
    if before is None or after is None:
        return () if old.html == new.html else (f"binary body: {_size(old)} -> {_size(new)}",)
    changes = list(_unified(before, after))
    return (f"--- {_moment(old)}", f"+++ {_moment(new)}", *changes) if changes else ()


def _has_digest_of(old: Page, new: Page) -> bool:
    """Whether both have the same digest; that of a body which is here is taken as the other one's was."""
    for page, digest in ((old, new.digest), (new, old.digest)):
        if digest is not None and page.html is not None and not page.truncated:
            return digest_like(digest, page.html) == digest
    return old.digest == new.digest and (old.digest is not None or old.html is new.html)


def _lines_of(page: Page) -> list[str] | None:
    if page.html is None:
        return []
    text = text_of(page)
    return None if text is None else [line.rstrip() for line in text.splitlines()]


def _size(page: Page) -> str:
    size = len(page.html or b"") if page.size is None else page.size
    return f"{size:,} byte{'s'[: size != 1]}"


def _moment(page: Page) -> str:
    return f"{page.fetched_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _change(values: tuple[str | None, str | None]) -> str:
    return " -> ".join("none" if value is None else repr(value) for value in values)


def _shown(link: Link) -> str:
    return " ".join([link.url, repr(link.anchor), *([f"rel={link.rel!r}"] if link.rel else [])])


def _unified(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
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
    """Return a range as unified diffs have it: an empty one begins at the line before it."""
    length = stop - start
    return f"{start + 1}" if length == 1 else f"{start + 1 if length else start},{length}"


class _Lines(SequenceMatcher[str]):
    """Matches lines in time that hardly grows faster than their number.

    The matching of `difflib` is quadratic where every other line changed: 50,000 lines take it over a minute. Here the
    lines that are the same at both ends are matched first, then those that are there just once in both versions
    ("patience diff"), and so on with what is between them.
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


def _common(old: Sequence[str], new: Sequence[str]) -> list[Pair]:
    """Return the places of lines that are in both versions in the same order."""
    pairs: list[Pair] = []
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


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[Pair]:
    """Return the places of lines that are there once in both, or else of the first with the first, and so on."""
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


def _increasing(pairs: Sequence[Pair]) -> list[Pair]:
    """Return as many of *pairs*, whose first numbers increase, as can be had with second numbers that increase too.

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
