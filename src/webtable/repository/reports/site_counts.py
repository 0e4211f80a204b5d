"""The results of one pass over the metadata of a site: counts, the largest pages, and findings about heads."""

from __future__ import annotations

import heapq
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.display.text import class_bounds, class_name, size_class
from webtable.page.completion import is_html_page
from webtable.repository.reading.page_counts import OTHERS, UNKNOWN, GroupCounts, PageCounts, grouping
from webtable.repository.reports.section import Found
from webtable.rowkey.urls import canonical_or_none, split_url

if TYPE_CHECKING:
    from webtable.page.page import Page
    from webtable.repository.arguments import Grouping

_NOT_INDEXED = re.compile(r"\b(noindex|none)\b")
_GROUPINGS: Final[tuple[Grouping, ...]] = ("status", "type", "language", "size")
_MOST_GROUPS: Final = 1_000
_MOST_OF_THEM: Final = 0.8


class NamedGroup(NamedTuple):
    """The pages of one status or type: their number and their bytes."""

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
        """The name of the class."""
        return class_name(size_class(self.low))


class SiteCounts(PageCounts):
    """Counts of the pages of a site, and the first *most* of each finding. Pages come in the order of URLs."""

    def __init__(self, most: int) -> None:
        super().__init__({name: grouping(name, most=_MOST_GROUPS) for name in _GROUPINGS})
        self.hosts: int = 0
        self.undescribed: Final = Found(most)
        self.without_h1: Final = Found(most)
        self.elsewhere: Final = Found(most)
        self.not_indexed: Final = Found(most)
        self._largest: list[tuple[int, str, str]] = []
        self._with_body = 0
        self._most = most
        self._host = ""

    def take(self, page: Page) -> None:
        """Count *page*, and add its findings."""
        self.add_dated(b"", page)
        host = split_url(page.url).host
        self.hosts, self._host = self.hosts + (host != self._host), host
        if page.size:
            self._with_body += 1
            one = (page.size, page.url, page.title or "")
            if len(self._largest) < self._most:
                heapq.heappush(self._largest, one)
            else:
                heapq.heappushpop(self._largest, one)
        if 200 <= page.status < 300:
            self._look_at(page)

    @property
    def statuses(self) -> tuple[NamedGroup, ...]:
        """The statuses, the one with the most pages first."""
        return _by_pages(self.groups["status"])

    @property
    def types(self) -> tuple[NamedGroup, ...]:
        """The media types, the one with the most pages first."""
        return _by_pages(self.groups["type"])

    @property
    def languages(self) -> tuple[NamedGroup, ...]:
        """The languages, the one with the most pages first."""
        return _by_pages(self.groups["language"])

    @property
    def main_language(self) -> str | None:
        """The language of the site: that of four fifths of its pages that have one; None where none is."""
        named = [one for one in self.languages if one.name not in (UNKNOWN, OTHERS)]
        total = sum(one.pages for one in named)
        return named[0].name if named and named[0].pages >= _MOST_OF_THEM * total else None

    @property
    def sizes(self) -> tuple[SizeCount, ...]:
        """The size classes, from the first with pages to the last."""
        pages = {number: pages for number, pages, _ in self.groups["size"].counted() if number}
        numbers = range(min(pages), max(pages) + 1) if pages else ()
        return tuple(SizeCount(*class_bounds(number), pages.get(number, 0)) for number in numbers)

    @property
    def largest(self) -> Found:
        """The largest pages that have a body."""
        found = Found(self._most)
        for size, url, title in sorted(self._largest, key=lambda one: (-one[0], one[1])):
            found.add(url, title, size)
        found.count = self._with_body
        return found

    def _look_at(self, page: Page) -> None:
        """Add the findings about the head of *page*, which is neither an error nor a redirect."""
        if page.has_body and is_html_page(page):
            if not page.description:
                self.undescribed.add(page.url, page.title)
            if not page.h1:
                self.without_h1.add(page.url, page.title)
        if page.canonical and canonical_or_none(page.canonical) != page.url:
            self.elsewhere.add(page.url, page.canonical)
        if page.robots and _NOT_INDEXED.search(page.robots):
            self.not_indexed.add(page.url, page.robots)


def _by_pages(counts: GroupCounts) -> tuple[NamedGroup, ...]:
    groups = sorted((-pages, str(group), size) for group, pages, size in counts.counted())
    return tuple(NamedGroup(name, -pages, size) for pages, name, size in groups)
