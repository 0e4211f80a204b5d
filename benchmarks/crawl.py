"""A crawl made up by number: 40 hosts on 8 domains, with errors, redirects, duplicates and links among its pages."""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

from benchmarks.material import PARSED
from webtable import Link, Page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HOSTS = 40
DOMAINS = 8
ERRORS = (404, 404, 404, 404, 404, 403, 410, 500, 503)
REDIRECTS = (301, 302, 308)
POPULAR = 100
"""How many pages are linked to from everywhere, the first of them most; none of these is an error."""
SUBJECT = 300
"""A page that a hundred others link to, however many there are; a page of its content is on four other hosts."""
SECONDS = 1_000_003
"""The time in which it was crawled. It is a prime number, so that no two pages have the same second."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """So many pages, a multiple of 40, each fetched in another second before `end`. Page for page always the same."""

    count: int
    end: datetime

    @classmethod
    def until_now(cls, count: int) -> Crawl:
        """Return a crawl that ended this minute."""
        return cls(count, datetime.now(UTC).replace(second=0, microsecond=0))

    def ago(self, share: float) -> datetime:
        """Return the moment since when that *share* of the pages was fetched, and as many were modified."""
        return self.end - timedelta(seconds=int(SECONDS * share))

    def pages(self) -> Iterator[Page]:
        """Yield the pages."""
        for number in range(self.count):
            yield self.page(number)

    def inlinks(self) -> Sequence[int]:
        """Return how many other pages link to each page, by its number: four bytes a page."""
        counts = array("I", bytes(4 * self.count))
        for number in range(self.count):
            for target in self._targets(number):
                counts[target] += 1
        return counts

    def url(self, number: int) -> str:
        """Return the URL of a page."""
        place = number // HOSTS
        return f"https://{_host(number)}/section-{place % 97:02}/page-{place:05}.html"

    def page(self, number: int) -> Page:
        """Return a page, without a body: its size and digest are those that a body would have."""
        draw = Random(number)
        kind, status = draw.random(), 200
        if kind < 0.08 and number >= POPULAR:
            status = draw.choice(ERRORS if kind < 0.05 else REDIRECTS)
        # Five pages of fifty have the content of the first of them.
        content = Random(2 * SECONDS + (number - number % 50 if number % 50 < 5 else number))
        modified = self.end - timedelta(seconds=number * 7_919 % SECONDS)
        return Page(
            url=self.url(number),
            title=f"Page {number // HOSTS:,} of {_host(number)}",
            status=status,
            content_type="text/html",
            charset="utf-8",
            size=int(10 ** content.uniform(2, 5.3)),
            digest=hashlib.sha256(content.randbytes(8)).hexdigest(),
            headers={"content-type": "text/html; charset=utf-8", "server": "Apache", "cache-control": "max-age=3600"},
            fetched_at=self.end - timedelta(seconds=number * 104_729 % SECONDS),
            last_modified=modified,
            etag=f'"{number:016x}"',
            redirect_to=self.url((number + 7 * HOSTS) % self.count) if 300 <= status < 400 else None,
            outlinks=tuple(Link(self.url(target), f"page {target}") for target in self._targets(number)),
            _html_facts=PARSED,
        )

    def _targets(self, number: int) -> list[int]:
        """Return to which others a page links: three in a hundred to none, the rest in its host and to popular ones."""
        draw = Random(3 * SECONDS + number)
        if draw.random() < 0.03:
            return []
        targets = [(number + HOSTS * step) % self.count for step in (1, 2, 3)]
        targets += [int(POPULAR * draw.random() ** 3) for _ in range(2)]
        targets += [SUBJECT % self.count] * (number < 100)
        return [target for target in dict.fromkeys(targets) if target != number]


def domain(number: int) -> str:
    """Return the domain of a page."""
    return f"site{number % DOMAINS}.example"


def _host(number: int) -> str:
    return f"h{number % HOSTS}.{domain(number)}"
