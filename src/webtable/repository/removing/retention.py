"""Deletes of the pages of a site: all of them, or those of a status or an age."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from webtable.errors import DamagedRow, InvalidArgument
from webtable.page.page import Page
from webtable.repository.questions.pages import Condition
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.repository.removing.deletion import PAGES_AT_ONCE, Deletion
from webtable.repository.removing.erasure import Erasure
from webtable.store import Row
from webtable.store.deadline import Deadline, until
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable.repository.context import Frame
    from webtable.repository.reading.scope import Scope


class DeletedPage(NamedTuple):
    """A page that was deleted: its URL (None if its row key is invalid), its newest capture, its number of versions.

    Fields of a damaged page that cannot be read are None.
    """

    url: str | None
    fetched_at: datetime | None
    status: int | None
    size: int | None
    versions: int


@dataclass(frozen=True, slots=True)
class Deletions:
    """The pages that `delete_pages` has deleted, or would delete: their number, versions, and bytes of bodies.

    The bytes are those of the newest bodies, uncompressed. `links` is the number of links from other pages to them,
    `inlinks` that of their links stored with other pages; both are counted, and erased, only with `and_links`.
    `damaged` pages cannot be read; they are deleted, and counted in `pages`, unless pages are selected by their values.
    """

    pages: int = 0
    versions: int = 0
    bytes: int = 0
    links: int = 0
    inlinks: int = 0
    damaged: int = 0


class Chosen(NamedTuple):
    """The pages of a scope to be deleted: those with a status, those last fetched before a moment, or all."""

    status: int | Collection[int] | None = None
    fetched_before: datetime | None = None

    def filter(self) -> Callable[[Page], bool] | None:
        """Return a function that tests whether a page is chosen, or None if all are; raises `InvalidArgument`."""
        has_status, _ = Condition(self.status).filter()
        before = self.fetched_before
        if before is None:
            return has_status
        return lambda page: page.fetched_at < before and (has_status is None or has_status(page))


class Retention:
    """The deletion of those pages of *scope* that are *chosen*; raises what `WebTable.delete_pages` does."""

    def __init__(self, frame: Frame, scope: Scope, chosen: Chosen) -> None:
        self._frame = frame
        self._scope = scope
        self._is_chosen = chosen.filter()
        if scope.place is None and self._is_chosen is None:
            raise InvalidArgument("to delete pages of all sites, give status= or fetched_before= as well")
        self._ranges = scope.ranges(frame)
        self._damage = frame.damage()

    def run(
        self,
        *,
        and_links: bool,
        dry_run: bool,
        on_page: Callable[[DeletedPage], None] | None = None,
    ) -> Deletions:
        """Delete the pages, or with *dry_run* only count them."""
        place = self._scope.place
        if and_links and (place is None or place.port is not None or self._is_chosen is not None):
            raise InvalidArgument(
                "and_links=True is for all pages of a site without a port, status= and fetched_before="
            )
        pages = versions = size = 0
        for page in (page for _, page in self._found()) if dry_run else self._deleted():
            pages, versions, size = pages + 1, versions + page.versions, size + (page.size or 0)
            if on_page is not None:
                on_page(page)
        erasure = Erasure(self._frame, self._scope.unsalted(), self._damage)
        if place is not None and and_links:
            # After the pages: deleting them turns their links, in other rows, into history.
            erasure.of_others(dry_run=dry_run)
            if not dry_run:
                erasure.of_its_own(place.host, self._ranges)
        return Deletions(pages, versions, size, erasure.links, erasure.inlinks, self._damage.count)

    def _deleted(self) -> Iterator[DeletedPage]:
        """Delete the pages, and yield each once it is deleted for good."""
        found, store = self._found(), self._frame.store
        with closing(Deletion(self._frame)) as deletion:
            while some := list(islice(found, PAGES_AT_ONCE)):
                with store.transaction(), until(Deadline(store.timeout)):
                    gone = deletion.of([key for key, _ in some], self._is_meant)
                yield from (page for (_, page), is_gone in zip(some, gone, strict=True) if is_gone)
            if self._is_chosen is None:
                self._complete(deletion)

    def _complete(self, deletion: Deletion) -> None:
        """Remove the links, and what other rows have of them, of pages whose delete was killed half-way."""
        store, links = self._frame.store, Wanted([self._frame.codec.columns.urls], keys_only=True)
        spec = ScanSpec(self._frame.table, self._ranges, links, keep=self._scope.keeps)
        rows = (row.key for row in in_storage_order(store, spec, None))
        while some := list(islice(rows, PAGES_AT_ONCE)):
            with store.transaction(), until(Deadline(store.timeout)):
                deletion.of(some, lambda row: self._page_of(row) is None)

    def _found(self) -> Iterator[tuple[bytes, DeletedPage]]:
        """Yield the chosen rows, with their pages."""
        names, versions = self._frame.codec.columns, self._frame.layouts.recent().versions
        wanted = Wanted([names.page, names.capture], versions=versions)
        spec = ScanSpec(self._frame.table, self._ranges, wanted, keep=self._scope.keeps)
        for row in in_storage_order(self._frame.store, spec, None):
            captures = len(row.cells.get(names.capture, ()))
            page = self._page_of(row)
            if isinstance(page, DamagedRow):
                self._damage.add(page)
            if self._is_wanted(page):
                yield row.key, _deleted_page(page, captures)

    def _is_meant(self, row: Row) -> bool:
        return self._is_wanted(self._page_of(row))

    def _is_wanted(self, page: Page | DamagedRow | None) -> bool:
        return self._is_chosen is None or (isinstance(page, Page) and self._is_chosen(page))

    def _page_of(self, row: Row) -> Page | DamagedRow | None:
        """Return the page of *row*, from its metadata alone."""
        column = self._frame.codec.columns.page
        return self._frame.pages.each(Row(row.key, {column: row.cells.get(column, ())}))


def _deleted_page(page: Page | DamagedRow | None, versions: int) -> DeletedPage:
    match page:
        case Page():
            return DeletedPage(page.url, page.fetched_at, page.status, page.size, versions)
        case DamagedRow():
            return DeletedPage(page.url, None, None, None, versions)
        case None:
            return DeletedPage(None, None, None, None, versions)
