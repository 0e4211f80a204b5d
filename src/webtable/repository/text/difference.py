"""The differences of two versions of a page, in title, status, headers, readable text and links. Pure: no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from webtable.display import harmless
from webtable.display.text import plural
from webtable.page.body import digest_like, is_html
from webtable.page.extract import extract
from webtable.page.headers import Headers
from webtable.page.page import Page, charset_of
from webtable.page.parts import Link
from webtable.repository.answers.tabular import Tabular
from webtable.repository.text.diff_views import DIFFERENCES, DifferenceRow, marked, side_by_side, unified

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from webtable.display import Marked, Shown
    from webtable.repository.answers.columns import Columns

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
    headers: dict[str, tuple[str | None, str | None]]
    """The old and new value of each header that changed, None if it was absent."""
    text: tuple[str, ...]
    """A unified diff of the readable text; one line in words if a body is not text or was not read."""
    links_added: tuple[Link, ...]
    """In document order, as in the new version."""
    links_removed: tuple[Link, ...]
    """In document order, as in the old version."""
    links_changed: tuple[tuple[Link, Link], ...]
    """The old and new form of links to the same URL with another anchor or `rel`."""

    @property
    def is_empty(self) -> bool:
        """Whether there are no differences, except of markup, the order of links, and clocks."""
        return not (self.title or self.status or self.headers or self.text or self._links)

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
        yield from (DifferenceRow("header", name, *values) for name, values in self.headers.items())
        yield from (DifferenceRow("link", link.url, None, link.anchor) for link in self.links_added)
        yield from (DifferenceRow("link", link.url, link.anchor, None) for link in self.links_removed)
        yield from (DifferenceRow("link", old.url, old.anchor, new.anchor) for old, new in self.links_changed)
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
        yield from (f"header {name}: {_change(values)}" for name, values in self.headers.items())
        yield from (f"link added: {_shown(link)}" for link in self.links_added)
        yield from (f"link removed: {_shown(link)}" for link in self.links_removed)
        for old, new in self.links_changed:
            yield f"link changed: {_shown(old)} -> {_shown(new)}"
        yield from self.text


def difference(old: Page, new: Page) -> Difference:
    """Return the differences between two versions of a page, in the parts that were read of both.

    The headers `date` and `age`, which change with the clock, are ignored; headers are not compared if a version has no
    headers, nor links if those of a version were not read. If a page has no title or links, they are taken from its
    body. A line of the text is a block of HTML, or a line of other text; white space at the end of a line, and the kind
    of line end, are ignored.

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
    (old_title, before), (new_title, after) = _head(old), _head(new)
    if before is None or after is None:
        before = after = {}
    return Difference(
        old=old,
        new=new,
        title=None if old_title == new_title else (old_title, new_title),
        status=None if old.status == new.status else (old.status, new.status),
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
    # A version from the history has its size instead of `has_body`.
    return page.body is not None or not (page.has_body or page.size)


def _head(page: Page) -> tuple[str | None, dict[str, Link] | None]:
    """Return the title of *page*, and its links by URL, or None if they were not read."""
    title, links = page.title, page.outlinks
    if page.body is None:
        unread = links is None and (page.outlink_count or not _was_read(page))
        return title, None if unread else _by_url(links or ())
    if (title is None or links is None) and (page.content_type is None or is_html(page.content_type)):
        found = extract(page.body, page.url, charset_of(page))
        title, links = title or found.title, found.outlinks if links is None else links
    return title, _by_url(links or ())


def _by_url(links: Sequence[Link]) -> dict[str, Link]:
    return {link.url: link for link in links}


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
    return " ".join([link.url, repr(link.anchor), *([f"rel={link.rel!r}"] if link.rel else [])])
