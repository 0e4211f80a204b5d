"""A check whether pages link to URLs, many URLs at once: an inlink counts if the page that it names still has the link.

The first few inlinks of each URL are read, keys only. A linking page is read once for all URLs of a batch, and those
that the most URLs name are read first: one page that links to a URL is enough.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable.errors import DamagedRow
from webtable.repository.derived.inlinks import CURRENT_SOURCES
from webtable.repository.link_questions.inlinks import InlinkReader
from webtable.rowkey import KeyRange
from webtable.rowkey.urls import canonical_or_none, without_port

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from webtable.page.parts import Link
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage

URLS_AT_ONCE = 256
FIRST_SOURCES = 4
"""How many inlinks of a URL are read together with those of others; the rest are read separately."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Which linking pages count for a URL: all, or only `others` than itself, or only those of its own `host`."""

    others: bool = False
    host: bool = False

    def have(self, url: str, source: bytes) -> bool:
        """Whether the page *source*, a URL as stored in an inlink, counts for *url*."""
        if self.others and source == url.encode():
            return False
        return not self.host or _host(source) == _host(url.encode())

    def ranges(self, url: str) -> list[KeyRange]:
        """Return the ranges of the inlinks of *url* that may count, in its row."""
        if not self.host:
            return [CURRENT_SOURCES]
        # After the host comes a `/`, or a `:` before a port: in between are only digits, and `;` comes next.
        hosts = [scheme + _host(url.encode()) for scheme in (b"http://", b"https://")]
        return [KeyRange(host + b"/", host + b";") for host in hosts]


ANYBODY = Sources()


class Confirmation:
    """Checks whether pages link to URLs, by the inlinks of one web table."""

    def __init__(self, frame: Frame, damage: Damage, wanted: Sources = ANYBODY) -> None:
        self._frame = frame
        self._damage = damage
        self._wanted = wanted
        self._inlinks = InlinkReader(frame, damage)

    def linked(self, urls: Mapping[bytes, str]) -> set[bytes]:
        """Return the rows of those of *urls*, which are given by row, to which a wanted page links."""
        sources, rest = self._first_sources(urls)
        linked: set[bytes] = set()
        while waiting := {row: some for row, some in sources.items() if some and row not in linked}:
            linked |= self._confirmed(_most_common(waiting), urls)
        return linked.union(row for row in rest if row not in linked and self._is_linked(urls[row]))

    def _first_sources(self, urls: Mapping[bytes, str]) -> tuple[dict[bytes, list[bytes]], list[bytes]]:
        """Return the URLs of the first pages that may link to each of *urls*, and the rows that may have more."""
        found = self._inlinks.first(list(urls), FIRST_SOURCES)
        sources = dict(zip(urls, found, strict=True))
        more = [row for row, some in sources.items() if len(some) == FIRST_SOURCES]
        if self._wanted is not ANYBODY:
            sources = {row: [one for one in some if self._wanted.have(urls[row], one)] for row, some in sources.items()}
        return sources, more

    def _confirmed(self, named: Mapping[bytes, Sequence[bytes]], urls: Mapping[bytes, str]) -> set[bytes]:
        """Return the rows to which *named* pages really link; *named* has rows of *urls* by the URL of a page."""
        pages: dict[bytes, Sequence[bytes]] = {}
        for source, rows in named.items():
            for row, _ in self._damage.sift([self._inlinks.source(rows[0], source)]):
                pages[row] = rows
        linked: set[bytes] = set()
        found = self._frame.counted.read_each(list(pages), ("outlinks",))
        for rows, page in zip(pages.values(), found, strict=True):
            if isinstance(page, DamagedRow):
                self._damage.add(page)
            elif page is not None and page.outlinks:
                linked |= _led_to(page.outlinks, {urls[row]: row for row in rows})
        return linked

    def _is_linked(self, url: str) -> bool:
        inlinks = (self._inlinks.of(url, sources=sources) for sources in self._wanted.ranges(url))
        return any(self._wanted.have(url, inlink.source.encode()) for some in inlinks for inlink in some)


def _most_common(waiting: Mapping[bytes, list[bytes]]) -> dict[bytes, list[bytes]]:
    """Take from each list its source that is in the most lists, and return the rows of the lists by source."""
    in_lists = Counter(source for some in waiting.values() for source in some)
    named: dict[bytes, list[bytes]] = defaultdict(list)
    for row, some in waiting.items():
        chosen = max(some, key=in_lists.__getitem__)
        some.remove(chosen)
        named[chosen].append(row)
    return named


def _led_to(links: Iterable[Link], wanted: Mapping[str, bytes]) -> set[bytes]:
    """Return the rows of the *wanted* canonical URLs to which *links* lead."""
    urls = {link.url for link in links}
    left = wanted.keys() - urls
    # Most links are stored in canonical form, and canonicalizing a URL takes as long as reading a link.
    return {wanted[url] for url in wanted.keys() & (urls.union(map(canonical_or_none, urls)) if left else urls)}


def _host(url: bytes) -> bytes:
    """Return the host of a canonical URL, without its port; empty if it is not a URL."""
    parts = url.split(b"/", 3)
    return without_port(parts[2]) if len(parts) > 2 else b""
