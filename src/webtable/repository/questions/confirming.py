"""Whether pages link to URLs, of many URLs at once: an inlink counts where the page that it names has that link now.

Of each URL the first few inlinks are read, by their keys. A linking page is read once for all URLs of a batch, those
first that are said to link to most of them: one page that does is enough.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from webtable.errors import DamagedRow, InvalidURL
from webtable.repository.links.inlinks import CURRENT_SOURCES
from webtable.repository.questions.linked import LinkQuestions
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from webtable.page import Link
    from webtable.repository.damage import Damage

URLS_AT_ONCE = 256
FIRST_SOURCES = 4
"""How many inlinks of a URL are read together with those of others; the rest is read by itself."""

Counts = Callable[[str, bytes], bool]
"""Takes a URL and the one, as it is stored, of a page that may link to it, and returns whether such a link counts."""


class LinkConfirming(LinkQuestions):
    """What tells whether pages link to URLs."""

    def _linked(self, urls: Mapping[bytes, str], damage: Damage, counts: Counts | None = None) -> set[bytes]:
        """Return those of *urls*, which are by their rows, to which a page links by a link that *counts* (or any)."""
        sources, rest = self._first_sources(urls, counts)
        linked: set[bytes] = set()
        while waiting := {row: some for row, some in sources.items() if some and row not in linked}:
            linked |= self._confirmed(_most_common(waiting), urls, damage)
        return linked.union(row for row in rest if row not in linked and self._is_linked(urls[row], damage, counts))

    def _first_sources(
        self, urls: Mapping[bytes, str], counts: Counts | None
    ) -> tuple[dict[bytes, list[bytes]], list[bytes]]:
        """Return the URLs of the first pages that may link to each of *urls*, and the rows that may have more."""
        family = self._codec.columns.inlinks.encode()
        start = len(family) + 1
        found = self.store.read_cells(
            self.table, list(urls), family, CURRENT_SOURCES, limit=FIRST_SOURCES, keys_only=True
        )
        sources = {row: [column[start:] for column, _ in cells] for row, cells in zip(urls, found, strict=True)}
        more = [row for row, some in sources.items() if len(some) == FIRST_SOURCES]
        if counts is not None:
            sources = {row: [one for one in some if counts(urls[row], one)] for row, some in sources.items()}
        return sources, more

    def _confirmed(
        self, named: Mapping[bytes, Sequence[bytes]], urls: Mapping[bytes, str], damage: Damage
    ) -> set[bytes]:
        """Return the rows to which the pages link that are *named*: pages, by their URLs, with rows of *urls*."""
        pages: dict[bytes, Sequence[bytes]] = {}
        for source, rows in named.items():
            for row, _ in damage.sift([self._source_of(rows[0], source)]):
                pages[row] = rows
        linked: set[bytes] = set()
        for rows, page in zip(pages.values(), self._reader.read_each(list(pages), ("outlinks",)), strict=True):
            if isinstance(page, DamagedRow):
                damage.add(page)
            elif page is not None and page.outlinks:
                linked |= _led_to(page.outlinks, {urls[row]: row for row in rows})
        return linked

    def _is_linked(self, url: str, damage: Damage, counts: Counts | None) -> bool:
        inlinks = self._inlinks(url, None, damage, past=False, inside=None)
        return any(counts is None or counts(url, inlink.source.encode()) for inlink in inlinks)


def _most_common(waiting: Mapping[bytes, list[bytes]]) -> dict[bytes, list[bytes]]:
    """Take of each list the source that is in most of them, and return the rows of the lists by their sources."""
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
    # Most links are stored as they are canonical, and to make a URL so takes as long as to read a link.
    return {wanted[url] for url in wanted.keys() & (urls | _canonical(urls) if left else urls)}


def _canonical(urls: Iterable[str]) -> set[str]:
    made: set[str] = set()
    for url in urls:
        try:
            made.add(canonical_url(url))
        except InvalidURL:
            continue
    return made
