"""The question what to crawl next: URLs that pages link to, and that are no pages yet."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from webtable.errors import DamagedRow, KeyFormatError
from webtable.repository.indexes.web import LINK
from webtable.repository.questions.confirming import URLS_AT_ONCE, LinkConfirming
from webtable.repository.questions.pages import ROW_ORDERS, PageQuestions
from webtable.repository.results import Explanation, Results, check_order, position_of
from webtable.repository.scan import ScanSpec, in_key_order, in_storage_order
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.damage import Damage


class DiscoveryQuestions(PageQuestions, LinkConfirming):
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

        They are found by their rows, all of which are read, without values; of the pages that link to each one is
        looked for that does so now. *full_scan* as in `pages`. Raises as `pages` does.
        """
        check_order(order, ROW_ORDERS, limit)
        question, ranges = self._rows_of(domain, host_only=False, path=None, full_scan=full_scan)
        question = f"URLs without a page among the {question}"
        behind = position_of(after, question, order)
        spec = ScanSpec(self.table, ranges, Wanted([self._codec.columns.inlinks.encode() + b":"], keys_only=True))

        def run(after_key: bytes | None, at_most: int | None, damage: Damage) -> Iterator[str]:
            self.indexes.ready(LINK.name, question)
            rows = self._bare(replace(spec, expected=at_most), order, after_key)
            return islice(self._not_fetched(rows, at_most, damage), at_most)

        def explain() -> Explanation:
            note = "rows that are pages are read as well, keys only, and left out"
            return self._explain_scan(question, order, spec, (note,))

        return Results(question, order, limit, behind, run, lambda url: self._place(url, order), explain, self._damage)

    def _bare(self, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[bytes]:
        """Yield the keys of the rows of *spec* that are no pages."""

        def place(row: bytes) -> tuple[bytes, bytes]:
            return (row if order == "storage" else self.key.unsalted(row)), row

        pages = self._keys(replace(spec, wanted=Wanted([self._codec.columns.page], keys_only=True)), order, after)
        page = next(pages, None)
        for row in self._keys(spec, order, after):
            while page is not None and place(page) < place(row):
                page = next(pages, None)
            if page != row:
                yield row

    def _keys(self, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[bytes]:
        if order == "storage":
            rows = in_storage_order(self.store, spec, after)
        else:
            rows = in_key_order(self.store, spec, self.key.unsalted, None, after)
        return (row.key for row in rows)

    def _not_fetched(self, rows: Iterator[bytes], expected: int | None, damage: Damage) -> Iterator[str]:
        """Yield the URLs of those of *rows*, which are no pages, that a page links to."""
        size = min(expected or URLS_AT_ONCE, URLS_AT_ONCE)
        while batch := list(islice(rows, size)):
            bare = dict(damage.sift(map(self._named, batch)))
            linked = self._linked(bare, damage) if bare else ()
            yield from (url for row, url in bare.items() if row in linked)
            size = URLS_AT_ONCE

    def _named(self, row: bytes) -> tuple[bytes, str] | DamagedRow:
        """Return *row* with its URL, or the error where it is no row key."""
        try:
            return row, self.key.decode(row)
        except KeyFormatError as exc:
            return DamagedRow(row, None, str(exc))
