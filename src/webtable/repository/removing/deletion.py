"""Deleting pages, one or many, with all that other rows have of them, and giving back the space of what nobody sees.

A delete of HBase hides what is older than its timestamp, also where that is put later, and no client can see it. So a
delete leaves a small cell behind, `metadata:deleted`, under the moment up to which it hides. The read that every batch
makes finds it there, and a capture that would be hidden is refused (see `capture_checks.hidden`).
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
    """The removal of pages from one web table, with what indexes and other rows have of them; close it at the end.

    Where somebody else keeps the inlinks in these, as a copy does, *with_inlinks* is False.
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

    def of(self, row: bytes, is_meant: Callable[[Row], bool] | None = None) -> bool:
        """Remove the page at *row*, if it still *is_meant* as it is now, and return whether there was one.

        The links of the page go last: where this is cut short, they tell the next try whose inlinks are left.
        """
        deleted = self._codec.columns.deleted
        (found,) = self._store.read(self._table, [row], Wanted([*self._content, *self._links, deleted]))
        if found is None or found.cells.keys() == {deleted} or (is_meant is not None and not is_meant(found)):
            return False
        with self._store.together():
            entered = self._updater.enter_removal(found)
            until = self._marked(found, now_in_milliseconds())
            self._write([Delete(row, until, self._content)])
            self._updater.remove(found, until, entered)
            self._write([Delete(row, until, self._links)])
        return True

    def repeat(self, row: bytes, deleted: Deleted) -> None:
        """Remove of *row* what *deleted* hides, as a delete in another table did, and leave the same mark behind."""
        names = self._codec.columns
        (found,) = self._store.read(self._table, [row], Wanted([*self._content, *self._links, names.deleted]))
        mark = Put(row, [self._codec.deleted_cell(row, deleted)])
        if found is None or found.cells.keys() == {names.deleted}:
            self._write([mark])
            return
        until = milliseconds(deleted.until)
        page, _ = self._frame.pages.what_is_left(found)
        is_gone = page is None or deleted.hides(page.fetched_at)
        later = [
            Delete(row, milliseconds(one), [column], exact=True)
            for one in deleted.also
            for column in (names.body, names.capture, names.page, *names.plain.values(), *self._links)
        ]
        with self._store.together():
            entered = self._updater.enter_removal(found) if is_gone else None
            self._write([mark, *later, Delete(row, until, self._content)])
            if is_gone:
                self._updater.remove(found, until, entered)
            self._write([Delete(row, until, self._links)])

    def _marked(self, found: Row, now: int) -> int:
        """Leave behind what the delete hides, remove what is dated later than *now*, and return what is left to hide.

        No delete may be there without the mark, so it is written first: where this is cut short after a removal, the
        capture that it hides is refused.
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


def forget_deletes(frame: Frame) -> int:
    """Remove what deletes have left behind, and return of how many pages."""
    store, table, column, count = frame.store, frame.table, frame.codec.columns.deleted, 0
    rows = store.scan(table, [KeyRange()], Wanted([column]))
    while some := list(islice(rows, _PIECE)):
        written(store, table, [Delete(row.key, row.cells[column][0].timestamp, [column]) for row in some])
        count += len(some)
    return count


def compact(frame: Frame) -> int:
    """Return what `WebTable.compact` does."""
    indexes = [index.table for _, index in sorted(frame.indexes.read().items())]
    tables = [frame.table, meta_table(frame.table).name, queue_table(frame.table).name, *indexes]
    freed = frame.store.compact(tables)
    # Not before: captures that a delete still hides must be refused.
    if forget_deletes(frame):
        # What a delete leaves behind names the page: nothing of it is to be left.
        freed += frame.store.compact(tables)
    return freed


PAGES_AT_ONCE = 100
"""How many pages go in one transaction, where the store has any."""


class DeletedPage(NamedTuple):
    """A page that was deleted: its URL (None where its row key is none), its newest capture, and how many were kept.

    What cannot be read of a damaged page is None.
    """

    url: str | None
    fetched_at: datetime | None
    status: int | None
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
            return DeletedPage(page.url, page.fetched_at, page.status, page.size, versions)
        case DamagedRow():
            return DeletedPage(page.url, None, None, None, versions)
        case None:
            return DeletedPage(None, None, None, None, versions)
