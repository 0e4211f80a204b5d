"""The question which pages nobody finds by links: those to which no other page links, or none of their own host."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from webtable.repository.codec import EXTRA_COLUMNS, column_names
from webtable.repository.indexes.web import LINK
from webtable.repository.questions.confirming import URLS_AT_ONCE, LinkConfirming, Sources
from webtable.repository.questions.pages import ROW_ORDERS, PageQuestions
from webtable.repository.results import Explanation, Pages, Results, check_order, position_of
from webtable.repository.scan import ScanSpec
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.page import Page
    from webtable.repository.damage import Damage


class OrphanQuestions(PageQuestions, LinkConfirming):
    """What the link graph knows of pages that are stored."""

    def orphans(
        self,
        domain: str | None = None,
        *,
        within_host: bool = False,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
        full_scan: bool = False,
    ) -> Pages:
        """Return the pages of *domain* (and below) that no other stored page links to; a link to itself is none.

        With *within_host* those that no other page of their own host links to, whoever else does. It holds as of now,
        whenever links were counted last: all rows are read, with the first of their inlinks, and of the pages that
        link to each one is looked for that does so now. *columns*, *order* and *full_scan* are as in `pages`. Raises as
        that does, and when it is asked `IndexNeeded` on a table without the link index.
        """
        check_order(order, ROW_ORDERS, limit)
        rows, ranges = self._rows_of(domain, host_only=False, path=None, full_scan=full_scan)
        question = f"{rows}, without a link from another page{' of their host' if within_host else ''}"
        names = column_names(columns)
        self._codec.select(names)
        behind = position_of(after, question, order)

        def spec(expected: int | None) -> ScanSpec:
            some = ranges if domain is None else self._existing(domain, ranges)
            return ScanSpec(self.table, some, Wanted(self._codec.select(None)), expected=expected)

        def run(after_key: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Page]:
            if at_most == 0:
                return iter(())
            self.indexes.ready(LINK.name, question)
            pages = self._scan(spec(at_most), order, after_key, damage)
            found = self._unlinked(pages, at_most, Sources(others=True, host=within_host), damage)
            return islice(self._with_columns(found, names, damage), at_most)

        def explain() -> Explanation:
            notes = ["the first inlinks of 256 pages are read at once, and one page is looked for that still links"]
            return self._explain_scan(question, order, spec(None), notes)

        return Results(
            question, order, limit, behind, run, lambda page: self._place(page.url, order), explain, self._damage
        )

    def _unlinked(
        self, pages: Iterator[Page], expected: int | None, sources: Sources, damage: Damage
    ) -> Iterator[list[tuple[bytes, Page]]]:
        """Yield, with their rows and some at once, those of *pages* to which none of the *sources* links."""
        size = min(expected or URLS_AT_ONCE, URLS_AT_ONCE)
        while batch := [(self.key.encode(page.url), page) for page in islice(pages, size)]:
            linked = self._linked({row: page.url for row, page in batch}, damage, sources)
            yield [(row, page) for row, page in batch if row not in linked]
            size = URLS_AT_ONCE

    def _with_columns(
        self, found: Iterator[list[tuple[bytes, Page]]], names: Sequence[str], damage: Damage
    ) -> Iterator[Page]:
        """Yield the pages *found*, with their bodies, links and counts where *names* has them."""
        is_bare = not set(names) & set(EXTRA_COLUMNS)
        for some in found:
            if is_bare:
                yield from (page for _, page in some)
            elif some:
                whole = self._reader.read_each([row for row, _ in some], names)
                yield from (page for page in damage.sift(whole) if page is not None)
