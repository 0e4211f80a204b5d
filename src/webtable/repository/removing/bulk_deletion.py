"""Deleting many pages: those of a domain, those that were fetched too long ago, those with a status."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from webtable._page.page import Page
from webtable.errors import DamagedRow, InvalidArgument
from webtable.repository.questions.pages import Condition
from webtable.repository.removing.deletion import Deletion
from webtable.repository.removing.erasure import Erasure
from webtable.store import Row
from webtable.store.deadline import Deadline, until
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.repository.frame import Frame
    from webtable.repository.scanning.scope import Scope

PAGES_AT_ONCE = 100
"""How many pages go in one transaction, where the store has any."""


class DeletedPage(NamedTuple):
    """A page that was deleted: its URL (None where its row key is none), its newest capture, and how many were kept.

    What cannot be read of a damaged page is None.
    """

    url: str | None
    fetched_at: datetime | None
    status_code: int | None
    size: int | None
    versions: int


@dataclass(frozen=True, slots=True)
class Deletions:
    """What `delete_pages` has deleted, or would delete: how many pages, their versions, and the bytes of their bodies.

    The bytes are those of the newest bodies, unpacked. `links` are those of other pages that led to them, `inlinks`
    what rows of other pages had of links from them: both are counted, and erased, with `and_links` alone. `damaged`
    pages cannot be read; they are among the `pages` where nothing is asked of these, and are left where something is.
    """

    pages: int = 0
    versions: int = 0
    bytes: int = 0
    links: int = 0
    inlinks: int = 0
    damaged: int = 0


class Chosen(NamedTuple):
    """Which pages of a scope are to be deleted: those with a status, those last fetched before a moment, or all."""

    status: int | Collection[int] | None = None
    fetched_before: datetime | None = None

    def filter(self) -> Callable[[Page], bool] | None:
        """Return what tells whether a page is chosen, None where each is; raises `InvalidArgument`."""
        has_status, _ = Condition(self.status).filter()
        before = self.fetched_before
        if before is None:
            return has_status
        return lambda page: page.fetched_at < before and (has_status is None or has_status(page))


class Retention:
    """The deletion of those pages of *scope* that are *chosen*; raises as `WebTable.delete_pages` does."""

    def __init__(self, frame: Frame, scope: Scope, chosen: Chosen) -> None:
        self._frame = frame
        self._scope = scope
        self._is_chosen = chosen.filter()
        if scope.domain is None and self._is_chosen is None:
            raise InvalidArgument("delete_pages() must be told what to delete: domain=, status= or fetched_before=")
        _, self._ranges = scope.ranges(frame)
        self._damage = frame.damage()

    def run(
        self,
        *,
        and_links: bool,
        dry_run: bool,
        on_page: Callable[[DeletedPage], None] | None = None,
        before_delete: Callable[[Sequence[DeletedPage]], None] | None = None,
    ) -> Deletions:
        """Do it, or with *dry_run* only count."""
        if and_links and (self._scope.domain is None or self._is_chosen is not None):
            raise InvalidArgument("and_links=True is for all pages of a domain, without status= and fetched_before=")
        pages = versions = size = 0
        for page in (page for _, page in self._found()) if dry_run else self._deleted(before_delete):
            pages, versions, size = pages + 1, versions + page.versions, size + (page.size or 0)
            if on_page is not None:
                on_page(page)
        erasure = Erasure(self._frame, self._scope.place(), self._damage)
        if self._scope.domain is not None and and_links:
            # Not before the pages: to delete them makes history of their links, which others have.
            erasure.of_others(dry_run=dry_run)
            if not dry_run:
                erasure.of_its_own(self._scope.domain, self._ranges)
        return Deletions(pages, versions, size, erasure.links, erasure.inlinks, self._damage.count)

    def _deleted(self, before_delete: Callable[[Sequence[DeletedPage]], None] | None) -> Iterator[DeletedPage]:
        """Delete the pages, and yield each when it is gone for good."""
        found, store = self._found(), self._frame.store
        with closing(Deletion(self._frame)) as deletion:
            while some := list(islice(found, PAGES_AT_ONCE)):
                gone: list[DeletedPage] = []
                if before_delete is not None:
                    before_delete([page for _, page in some])
                with store.together():
                    for key, page in some:
                        with until(Deadline(store.timeout)):
                            if deletion.of(key, self._is_meant):
                                gone.append(page)
                yield from gone

    def _found(self) -> Iterator[tuple[bytes, DeletedPage]]:
        """Yield the rows that are chosen, and what is in them."""
        names, versions = self._frame.codec.columns, self._frame.layouts.recent().versions
        wanted = Wanted([names.page, names.capture], versions=versions)
        for row in self._frame.store.scan(self._frame.table, self._ranges, wanted):
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
        """Return the page of *row* by its metadata alone."""
        column = self._frame.codec.columns.page
        return self._frame.pages.each(Row(row.key, {column: row.cells.get(column, ())}))


def _deleted_page(page: Page | DamagedRow | None, versions: int) -> DeletedPage:
    match page:
        case Page():
            return DeletedPage(page.url, page.fetched_at, page.status_code, page.size, versions)
        case DamagedRow():
            return DeletedPage(page.url, None, None, None, versions)
        case None:
            return DeletedPage(None, None, None, None, versions)
