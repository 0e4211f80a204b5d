"""Deletes of pages, one or many, with the cells that other rows have of them, and compaction, which frees space.

A delete in HBase hides every cell older than its timestamp, even one that is put later, and clients cannot see it. So a
delete leaves a small cell, `metadata:deleted`, with the moment up to which it hides. The read before every batch finds
that cell, and a capture that would be hidden is refused (see `capture_checks.hidden`).
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from webtable._clock import EPOCH, milliseconds, now_in_milliseconds, possible_moment
from webtable._page.page import Page
from webtable.errors import DamagedRow, InvalidArgument
from webtable.repository.derived.updates import Updater
from webtable.repository.questions.pages import Condition
from webtable.repository.removing.erasure import Erasure
from webtable.repository.scanning.scan import ScanSpec, in_storage_order
from webtable.repository.stored.cells import later_removed, written
from webtable.repository.stored.page_state import Deleted
from webtable.rowkey import KeyRange
from webtable.schema import meta_table, queue_table
from webtable.store import Delete, Put, Row
from webtable.store.deadline import Deadline, until
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.repository.frame import Frame
    from webtable.repository.scanning.scope import Scope


_PIECE = 500


class Deletion:
    """Deletes pages of one web table, with their cells in indexes and other rows; must be closed.

    *with_inlinks* is False if inlinks are removed by other means, as in a copy.
    """

    def __init__(self, frame: Frame, *, with_inlinks: bool = True) -> None:
        self._frame = frame
        self._store = frame.store
        self._table = frame.table
        self._codec = frame.codec
        self._updater = Updater(frame, with_inlinks=with_inlinks)
        names = frame.codec.columns
        self._content = [f"{names.content}:".encode(), names.page, *names.plain.values()]
        self._links = [names.urls]

    def close(self) -> None:
        """Stop the threads."""
        self._updater.close()

    def of(self, row: bytes, is_meant: Callable[[Row], bool] | None = None, *, dry_run: bool = False) -> bool:
        """Delete the page at *row*, if *is_meant* holds for it as it is now, and return whether there was one.

        With *dry_run* it stays.

        The links of the page are removed last: if this is interrupted, the next attempt finds by them which inlinks are
        left.
        """
        deleted = self._codec.columns.deleted
        (found,) = self._store.read(self._table, [row], Wanted([*self._content, *self._links, deleted]))
        if found is None or found.cells.keys() == {deleted} or (is_meant is not None and not is_meant(found)):
            return False
        if dry_run:
            return True
        with self._store.transaction():
            entered = self._updater.enter_removal(found)
            until = self._marked(found, now_in_milliseconds())
            self._write([Delete(row, until, self._content)])
            self._updater.remove(found, until, entered)
            self._write([Delete(row, until, self._links)])
        return True

    def repeat(self, row: bytes, deleted: Deleted) -> None:
        """Remove the cells of *row* that *deleted*, a delete in another table, hides, and write the same mark."""
        names = self._codec.columns
        (found,) = self._store.read(self._table, [row], Wanted([*self._content, *self._links, names.deleted]))
        mark = Put(row, [self._codec.deleted_cell(row, deleted)])
        if found is None or found.cells.keys() == {names.deleted}:
            self._write([mark])
            return
        until = milliseconds(deleted.until)
        page, _ = self._frame.pages.page_and_links(found)
        is_gone = page is None or deleted.hides(page.fetched_at)
        later = [
            Delete(row, milliseconds(one), [column], exact=True)
            for one in deleted.also
            for column in (names.body, names.capture, names.page, *names.plain.values(), *self._links)
        ]
        with self._store.transaction():
            entered = self._updater.enter_removal(found) if is_gone else None
            self._write([mark, *later, Delete(row, until, self._content)])
            if is_gone:
                self._updater.remove(found, until, entered)
            self._write([Delete(row, until, self._links)])

    def _marked(self, found: Row, now: int) -> int:
        """Write the mark of a delete, remove cells dated later than *now*, and return up to when it must hide.

        The mark is written before any delete: if this is interrupted, captures that the delete hides are refused.
        """

        def mark(until: int, later: Sequence[int]) -> None:
            before = self._codec.deleted(found)
            also = {possible_moment(one) for one in later}.union(before.also if before else ())
            moment = max(possible_moment(until), before.until if before else EPOCH)
            deleted = Deleted(moment, tuple(sorted(one for one in also if one > moment)))
            self._write([Put(found.key, [self._codec.deleted_cell(found.key, deleted)])])

        columns = [*self._content, *self._links]
        later, until = later_removed(
            self._store, self._table, found, columns, now, on_dates=lambda dates: mark(now, dates)
        )
        if not later:
            mark(until, ())
        return until

    def _write(self, mutations: Sequence[Put | Delete]) -> None:
        written(self._store, self._table, mutations)


def forget_deletes(frame: Frame, *, dry_run: bool = False) -> int:
    """Remove the marks of deletes, unless it is a *dry_run*, and return how many pages had one."""
    store, table, column, count = frame.store, frame.table, frame.codec.columns.deleted, 0
    rows = store.scan(table, [KeyRange()], Wanted([column]))
    while some := list(islice(rows, _PIECE)):
        if not dry_run:
            written(store, table, [Delete(row.key, row.cells[column][0].timestamp, [column]) for row in some])
        count += len(some)
    return count


def compact(frame: Frame, *, dry_run: bool = False) -> int:
    """Do what `TableMaintenance.compact` promises."""
    if dry_run and (space := frame.store.space()) is not None:
        return space.free
    indexes = [index.table for _, index in sorted(frame.indexes.read().items())]
    tables = [frame.table, meta_table(frame.table).name, queue_table(frame.table).name, *indexes]
    freed = frame.store.compact(tables)
    # Only now: captures that a delete still hides must be refused.
    if forget_deletes(frame):
        # The marks of deletes are in the rows of the pages, whose URLs must not remain.
        freed += frame.store.compact(tables)
    return freed


PAGES_AT_ONCE = 100
"""How many pages are deleted in one transaction, if the store has transactions."""


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
        before_delete: Callable[[Sequence[DeletedPage]], None] | None = None,
    ) -> Deletions:
        """Delete the pages, or with *dry_run* only count them."""
        place = self._scope.place
        if and_links and (place is None or place.port is not None or self._is_chosen is not None):
            raise InvalidArgument(
                "and_links=True is for all pages of a site without a port, status= and fetched_before="
            )
        pages = versions = size = 0
        for page in (page for _, page in self._found()) if dry_run else self._deleted(before_delete):
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

    def _deleted(self, before_delete: Callable[[Sequence[DeletedPage]], None] | None) -> Iterator[DeletedPage]:
        """Delete the pages, and yield each once it is deleted for good."""
        found, store = self._found(), self._frame.store
        with closing(Deletion(self._frame)) as deletion:
            while some := list(islice(found, PAGES_AT_ONCE)):
                gone: list[DeletedPage] = []
                if before_delete is not None:
                    before_delete([page for _, page in some])
                with store.transaction():
                    for key, page in some:
                        with until(Deadline(store.timeout)):
                            if deletion.of(key, self._is_meant):
                                gone.append(page)
                yield from gone

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
