"""The question what to crawl next: URLs that pages link to, and that are no pages yet."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from webtable.errors import DamagedRow, KeyFormatError
from webtable.repository.indexes.web import LINK
from webtable.repository.links.inlinks import CURRENT_SOURCES, link_to
from webtable.repository.questions.linked import LinkQuestions
from webtable.repository.questions.pages import ROW_ORDERS, PageQuestions
from webtable.repository.results import Results, check_order, position_of
from webtable.repository.scan import ScanSpec, in_key_order
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webtable.repository.damage import Damage
    from webtable.store import Row

URLS_AT_ONCE = 64
FIRST_SOURCES = 3
"""How many of the pages that link to a URL are looked at together with those of others."""


class DiscoveryQuestions(PageQuestions, LinkQuestions):
    """What the link graph knows of URLs that are not stored."""

    def discovered(
        self,
        domain: str | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
        full_scan: bool = False,
    ) -> Results[str]:
        """Return the URLs of *domain* (and below) that pages link to and that are no pages yet: what to crawl next.

        They are found by their rows, all of which are read, without values; some of the pages that link to each are
        checked. *full_scan* as in `pages`. Raises as `pages` does.
        """
        check_order(order, ROW_ORDERS, limit)
        question, ranges = self._rows_of(domain, host_only=False, path=None, full_scan=full_scan)
        question = f"URLs without a page among the {question}"
        behind = position_of(after, question, order)
        spec = ScanSpec(self.table, ranges, Wanted([self._codec.columns.inlinks.encode() + b":"], keys_only=True))

        def run(after_key: bytes | None, at_most: int | None, damage: Damage) -> Iterator[str]:
            self.indexes.ready(LINK.name, question)
            if order == "storage":
                rows = self._rows(spec, order, after_key)
            else:
                rows = in_key_order(self.store, spec, self.key.unsalted, None, after_key)
            return islice(self._not_fetched(rows, damage), at_most)

        return Results(
            question,
            order,
            limit,
            behind,
            run,
            lambda url: self._place(url, order),
            lambda: self._explain_scan(question, order, spec),
            self._damage,
        )

    def _not_fetched(self, rows: Iterator[Row], damage: Damage) -> Iterator[str]:
        """Yield the URLs of those of *rows* that are no pages and that a page links to."""
        while batch := [row.key for row in islice(rows, URLS_AT_ONCE)]:
            found = self.store.read(self.table, batch, Wanted([self._codec.columns.page]))
            named = damage.sift(self._named(row) for row, page in zip(batch, found, strict=True) if page is None)
            bare = dict(named)
            for url, is_linked in zip(bare.values(), self._are_linked(bare, damage), strict=True):
                if is_linked is None:
                    inlinks = self._inlinks(url, None, damage, past=False, inside=None, expected=8)
                    is_linked = next(inlinks, None) is not None
                if is_linked:
                    yield url

    def _named(self, row: bytes) -> tuple[bytes, str] | DamagedRow:
        """Return *row* with its URL, or the error where it is no row key."""
        try:
            return row, self.key.decode(row)
        except KeyFormatError as exc:
            return DamagedRow(row, None, str(exc))

    def _are_linked(self, urls: Mapping[bytes, str], damage: Damage) -> Iterator[bool | None]:
        """Yield for each of *urls*, which are by row, whether one of the first pages that link there does.

        None where the rest of them must be asked.
        """
        family = self._codec.columns.inlinks.encode()
        cells = self.store.read_cells(
            self.table, list(urls), family, CURRENT_SOURCES, limit=FIRST_SOURCES, keys_only=True
        )
        linking = [
            list(damage.sift(self._source_of(row, column[len(family) + 1 :]) for column, _ in some))
            for row, some in zip(urls, cells, strict=True)
        ]
        rows = list(dict.fromkeys(source for some in linking for source, _ in some))
        pages = dict(zip(rows, self._reader.read_each(rows, ("outlinks",)), strict=True))
        for url, some, found in zip(urls.values(), linking, cells, strict=True):
            read = list(damage.sift(pages[source] for source, _ in some))
            is_linked = any(page is not None and link_to(url, page.outlinks or ()) for page in read)
            yield None if not is_linked and len(found) == FIRST_SOURCES else is_linked
