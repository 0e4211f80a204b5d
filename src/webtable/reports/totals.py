"""What one pass over the metadata of a site tells: counts by status, type and size, and what its pages do not say."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from webtable._page.extract import is_html_page
from webtable._progress import counting
from webtable._shown.sizes import class_bounds, class_name, size_class
from webtable.reports.section import Found
from webtable.rowkey.urls import canonical_or_none, split_url

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from webtable._page.page import Page
    from webtable.repository import Progress

_NOT_INDEXED = re.compile(r"\b(noindex|none)\b")
_MOST_GROUPS = 1_000
_OTHERS = "others"


class Group(NamedTuple):
    """How many pages are of one status or type, and how many bytes they have."""

    name: str
    pages: int
    bytes: int


class SizeCount(NamedTuple):
    """How many pages have a body from `low` to below `high` bytes."""

    low: int
    high: int
    pages: int

    @property
    def name(self) -> str:
        """What the class is called."""
        return class_name(size_class(self.low))


class Tally:
    """Pages and bytes by a name."""

    def __init__(self) -> None:
        self._pages: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def add(self, name: str, size: int) -> None:
        """Count a page; where there are too many names, without its own."""
        if name not in self._pages and len(self._pages) >= _MOST_GROUPS:
            name = _OTHERS
        self._pages[name] += 1
        self._bytes[name] += size

    def groups(self) -> tuple[Group, ...]:
        """Return the groups, those with the most pages first."""
        ordered = sorted(self._pages.items(), key=lambda group: (-group[1], group[0]))
        return tuple(Group(name, pages, self._bytes[name]) for name, pages in ordered)


class Totals:
    """What is counted of the pages of a site, and the first *most* of each finding. Pages come in the order of URLs."""

    def __init__(self, most: int) -> None:
        self.pages = self.bytes = self.hosts = 0
        self.oldest: datetime | None = None
        self.newest: datetime | None = None
        self.statuses, self.types = Tally(), Tally()
        self.undescribed, self.without_h1, self.elsewhere, self.not_indexed = (Found(most) for _ in range(4))
        self._sizes: Counter[int] = Counter()
        self._largest: list[tuple[int, str, str]] = []
        self._most = most
        self._host = ""

    def count(self, pages: Iterable[Page], on_progress: Progress | None) -> None:
        """Count *pages*; *on_progress* is told how many they were so far."""
        for page in counting(pages, on_progress):
            self._add(page)

    @property
    def sizes(self) -> tuple[SizeCount, ...]:
        """The classes of sizes, from the first one that has pages to the last."""
        numbers = range(min(self._sizes), max(self._sizes) + 1) if self._sizes else ()
        return tuple(SizeCount(*class_bounds(number), self._sizes[number]) for number in numbers)

    @property
    def largest(self) -> Found:
        """The largest pages that have a body."""
        found = Found(self._most)
        for size, url, title in sorted(self._largest, key=lambda one: (-one[0], one[1])):
            found.add(url, title, size)
        found.count = self._sizes.total()
        return found

    def _add(self, page: Page) -> None:
        size, host = page.size or 0, split_url(page.url).host
        self.pages, self.bytes = self.pages + 1, self.bytes + size
        self.hosts, self._host = self.hosts + (host != self._host), host
        self.oldest = min(self.oldest or page.fetched_at, page.fetched_at)
        self.newest = max(self.newest or page.fetched_at, page.fetched_at)
        self.statuses.add(str(page.status_code), size)
        self.types.add(page.content_type or "unknown", size)
        if page.size:
            self._sizes[size_class(page.size)] += 1
            self._keep_largest(page.size, page)
        if 200 <= page.status_code < 300:
            self._look_at(page)

    def _keep_largest(self, size: int, page: Page) -> None:
        one = (size, page.url, page.title or "")
        if len(self._largest) < self._most:
            heapq.heappush(self._largest, one)
        elif self._largest:
            heapq.heappushpop(self._largest, one)

    def _look_at(self, page: Page) -> None:
        """Note what *page*, which is no error and no redirect, says or does not say of itself."""
        if page.has_body and is_html_page(page):
            if not page.description:
                self.undescribed.add(page.url, page.title)
            if not page.h1:
                self.without_h1.add(page.url, page.title)
        if page.canonical and canonical_or_none(page.canonical) != page.url:
            self.elsewhere.add(page.url, page.canonical)
        if page.robots and _NOT_INDEXED.search(page.robots):
            self.not_indexed.add(page.url, page.robots)
