"""The removal of pages from the rows of others: their entries in indexes, their inlinks, and their counts."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from webtable.errors import IndexFailed, LayoutMismatch
from webtable.repository.derived.cells import DerivedCells
from webtable.repository.derived.signatures import sign_pages, signed
from webtable.repository.page_storage.cells import removals
from webtable.repository.page_storage.codec import bare
from webtable.repository.page_storage.state import hints_at
from webtable.schema import INDEX_COLUMN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.page.page import Page
    from webtable.repository.derived.updates import Updater
    from webtable.store import Put, Row

_FOREVER = 2**63 - 2


class PageRemoval:
    """The removal of what other rows have of the pages in the rows *found*; its methods are called once, in order."""

    def __init__(self, updater: Updater, found: Sequence[Row]) -> None:
        self._updater = updater
        self._indexes = updater.frame.indexes.read().values()
        has_inlinks = updater.keeps_inlinks(self._indexes)
        self._found = []
        for row in found:
            page, links = updater.frame.pages.page_and_links(row)
            self._found.append((row.key, page, updater.inlinks.rows(links) if has_inlinks else {}))
        if sign_pages(self._indexes):
            known = [(row, page) for row, page, _ in self._found if page is not None]
            pages = dict(zip((row for row, _ in known), signed(updater.frame, known), strict=True))
            self._found = [(row, pages.get(row), links) for row, _, links in self._found]
        self._entered: Put | None = None

    def enter(self) -> None:
        """Enter the recounts that the removal will need into the queue."""
        targets = {target for _, _, links in self._found for target in links}
        pages = [row for row, _, _ in self._found] if any(one.counts_pages for one in self._indexes) else []
        if targets or pages:
            self._entered = self._updater.queue.entered(targets, pages=pages)
            self._updater.queue.write([self._entered])

    def remove(self, until: int) -> None:
        """Remove the entries and inlinks of the pages up to a moment, and mark the recounts as due."""
        derived = DerivedCells()
        for row, page, links in self._found:
            if page is not None:
                self._remove_entries(derived, row, page, until)
            url = self._updater.frame.key.url_of(row)
            self._updater.inlinks.remove(derived, 0, links, url, until=_FOREVER, before=page, now=until)
        self._updater.writer.remove(derived, [True])
        if self._entered is not None:
            self._updater.queue.write([self._updater.queue.done(self._entered)])

    def _remove_entries(self, derived: DerivedCells, row: bytes, page: Page, until: int) -> None:
        without_body, unsalted, written = bare(page), self._updater.frame.key.unsalted(row), hints_at(page)
        # As the links are, up to the moment of all deletes together: Thrift1 takes a call for each timestamp.
        removed = removals(INDEX_COLUMN, _FOREVER, [written], until)
        for one in self._indexes:
            # If an index that the user has defined fails, readers drop its entries.
            with suppress(IndexFailed, LayoutMismatch):
                if one.index.names_pages:
                    derived.remove(0, one.table, one.index.entries(without_body, unsalted), removed)
