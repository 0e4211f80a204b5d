"""Deletes of pages, one or many, with the cells that other rows have of them; erasure, and compaction.

A delete in HBase hides every cell older than its timestamp, even one that is put later, and clients cannot see it. So a
delete leaves a small cell, `metadata:deleted`, with the moment up to which it hides. The read before every batch finds
that cell, and a capture that would be hidden is refused (see `capture_checks.hidden`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from webtable._clock import EPOCH, milliseconds, now_in_milliseconds, possible_moment
from webtable._messages import Argument, Words
from webtable.errors import DamagedRow, InvalidArgument, InvalidURL
from webtable.page.page import Page
from webtable.page.parts import Link
from webtable.repository.failed_fetches import FailedFetches
from webtable.repository.full_text import upkeep
from webtable.repository.full_text.index import remove_documents
from webtable.repository.hosts.entries import entries_without_pages
from webtable.repository.indexes.index import HOST, LINK, place_of
from webtable.repository.links.inlink_cells import PAST, entries_of, inlinks_of
from webtable.repository.links.links import refresh_links
from webtable.repository.page_storage.cells import later_removed, removed, together, written
from webtable.repository.page_storage.state import Deleted
from webtable.repository.questions.pages import Condition
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.repository.reading.scope import PLAIN_KEY, Scope
from webtable.repository.upkeep.queue import RecountQueue
from webtable.repository.upkeep.revisits import OpenRevisits, page_in
from webtable.repository.upkeep.updates import PageRemoval, Updater
from webtable.rowkey import KeyRange
from webtable.schema import index_table_name, meta_table, queue_table
from webtable.store import Delete, NewCell, Put, Row
from webtable.store.deadline import Deadline, until
from webtable.store.rows import TimeRange, Wanted

if TYPE_CHECKING:
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage


PAGES_AT_ONCE = 200
"""How many pages are deleted together, in one transaction if the store has transactions."""


class Deletion:
    """Deletes pages of one web table, with their cells in indexes and other rows; must be closed.

    *with_inlinks* is False if inlinks are removed by other means, as in a copy.
    """

    def __init__(self, context: TableContext, *, with_inlinks: bool = True) -> None:
        self._context = context
        self._updater = Updater(context, with_inlinks=with_inlinks)
        self._revisits = OpenRevisits(context.store, context.table, context.key)
        self._failures = FailedFetches(context)
        names = context.codec.columns
        # Column by column: a delete of the family of metadata would hide the mark of the delete, which has its date.
        self._content = [names.body, names.capture, names.page, *names.plain.values()]
        self._links = [names.urls]
        self._all = [*self._content, *self._links]

    def close(self) -> None:
        """Stop the threads."""
        self._updater.close()

    def of(
        self, rows: Sequence[bytes], is_meant: Callable[[Row], bool] | None = None, *, dry_run: bool = False
    ) -> list[bool]:
        """Delete the pages at *rows* for which *is_meant* holds now, and return for each whether it was deleted.

        With *dry_run* they stay. All of them take as many calls as one does, and no body is read.
        """
        context, names, now = self._context, self._context.codec.columns, now_in_milliseconds()
        columns = [names.capture, names.page, *names.plain.values(), *self._links, names.deleted]
        stored_rows = context.read(rows, Wanted(columns))
        # A read of its own, since the one above has no bodies: a delete that was killed may have left one alone.
        later = context.read(rows, Wanted(self._all, time_range=TimeRange(now + 1), keys_only=True))
        done, together = [], []
        for row, stored, dated_later in zip(rows, stored_rows, later, strict=True):
            if dated_later is not None or stored is None or stored.cells.keys() == {names.deleted}:
                done.append(self._of_each(row, is_meant, dry_run=dry_run))
            elif is_meant is None or is_meant(stored):
                together.append(stored)
                done.append(True)
            else:
                done.append(False)
        if together and not dry_run:
            with context.store.transaction():
                removal = PageRemoval(self._updater, together).entered()
                context.write([self._mark(stored, now) for stored in together])
                self._remove(together, now, removal)
        return done

    def _of_each(self, row: bytes, is_meant: Callable[[Row], bool] | None, *, dry_run: bool) -> bool:
        """Delete a page with cells that are dated later than now, or what is left of one in a row without a page."""
        stored = self._stored(row)
        if stored is None or (is_meant is not None and not is_meant(stored)):
            return False
        if not dry_run:
            with self._context.store.transaction():
                removal = PageRemoval(self._updater, [stored]).entered()
                self._remove([stored], self._marked(stored, now_in_milliseconds()), removal)
        return True

    def _stored(self, row: bytes) -> Row | None:
        """Return all columns of a page, with the mark of a delete; None if that mark is all there is."""
        deleted = self._context.codec.columns.deleted
        (stored,) = self._context.read([row], Wanted([*self._all, deleted]))
        return None if stored is None or stored.cells.keys() == {deleted} else stored

    def _remove(self, removed: Sequence[Row], until: int, removal: PageRemoval) -> None:
        """Remove rows whose deletes are marked, up to a moment, and what other rows have of them."""
        context = self._context
        context.write([Delete(row.key, until, self._content) for row in removed])
        removal.remove(until)
        # Last: if this is interrupted, the next attempt finds by the links which inlinks are left.
        context.write([Delete(row.key, until, self._links) for row in removed])
        remove_documents(context, [row.key for row in removed])
        keys = [context.key.unsalted(row.key) for row in removed]
        self._revisits.close_those_of(keys, until)
        self._failures.remove(keys, until)

    def repeat(self, row: bytes, deleted: Deleted) -> None:
        """Remove the cells of *row* that *deleted*, a delete in another table, hides, and write the same mark."""
        context, stored = self._context, self._stored(row)
        mark = Put(row, [context.codec.deleted_cell(row, deleted)])
        if stored is None:
            context.write([mark])
            return
        until = milliseconds(deleted.until)
        page, _ = context.pages.page_and_links(stored)
        later = [
            Delete(row, milliseconds(moment), [column], exact=True) for moment in deleted.also for column in self._all
        ]
        with context.store.transaction():
            self._revisits.close_those_of([context.key.unsalted(row)], until)
            self._failures.remove([context.key.unsalted(row)], until)
            # A page that was fetched since stays, with its entries and inlinks.
            is_gone = page is None or deleted.hides(page.fetched_at)
            removal = PageRemoval(self._updater, [stored]).entered() if is_gone else None
            context.write([mark, *later, Delete(row, until, self._content)])
            if removal is not None:
                removal.remove(until)
                remove_documents(context, [row])
            context.write([Delete(row, until, self._links)])

    def _marked(self, row: Row, now: int) -> int:
        """Write the mark of a delete, remove cells dated later than *now*, and return up to when it must hide."""

        def mark(until: int, later: Sequence[int]) -> None:
            # Before any delete: if this is interrupted, captures that the delete hides are refused.
            self._context.write([self._mark(row, until, later)])

        later, until = later_removed(
            self._context.store, self._context.table, row, self._all, now, on_dates=lambda dates: mark(now, dates)
        )
        if not later:
            mark(until, ())
        return until

    def _mark(self, row: Row, until: int, later: Sequence[int] = ()) -> Put:
        """Return the put of the mark of a delete up to *until* that also hides the dates *later*."""
        codec = self._context.codec
        before = codec.deleted(row)
        also = {possible_moment(date) for date in later}.union(before.also if before else ())
        moment = max(possible_moment(until), before.until if before else EPOCH)
        deleted = Deleted(moment, tuple(sorted(date for date in also if date > moment)))
        return Put(row.key, [codec.deleted_cell(row.key, deleted)])


def delete_many(context: TableContext, rows: Sequence[bytes], *, dry_run: bool) -> list[bool]:
    """Delete the pages at *rows* in batches, and return for each whether there was one."""
    done: dict[bytes, bool] = {}
    distinct = iter(dict.fromkeys(rows))
    with closing(Deletion(context)) as deletion:
        while piece := list(islice(distinct, PAGES_AT_ONCE)):
            with until(Deadline(context.store.timeout)):
                deleted = dict(zip(piece, deletion.of(piece, dry_run=dry_run), strict=True))
                # A URL that only ever failed has no page, whose removal would take its failure along.
                others = [context.key.unsalted(row) for row, is_deleted in deleted.items() if not is_deleted]
                if others and not dry_run:
                    FailedFetches(context).remove(others, now_in_milliseconds())
                done |= deleted
    return [done.pop(row, False) for row in rows]


# --- Erasure ----------------------------------------------------------------------------------------------------------
#
# The erasure of a domain from the rows of other pages, and of the rest of its own rows once its pages are deleted.
#
# Other pages have links to the domain, and inlinks from it. An erased link stays as a link to nowhere, so that a page
# keeps the number of links that it had when it was fetched. All rows are read: no index has the links of older
# captures. The domain's own rows have inlinks from others, and its hosts have entries with counts.


NOWHERE = "about:blank"
"""The target of an erased link."""
ALL_SOURCES = KeyRange()
_PIECE = 500
_NAMELESS: dict[str, Any] = {"same_as": None, "_repeats_at": None, "_payload_digest": None}
"""The fields by which the capture of a revisit names its original."""


class Erasure:
    """Erases, and counts, the links of pages in *place* from all rows of *context* that are not in it.

    *place* is a range of unsalted row keys. Links that cannot be read stay, and are added to *damage*.
    """

    def __init__(self, context: TableContext, place: KeyRange, damage: Damage) -> None:
        self.links: int = 0
        """How many links led to pages in *place*."""
        self.inlinks: int = 0
        """How many inlinks came from pages in *place*, former links included; each page counts once for each row."""
        self._context = context
        self._place = place
        self._damage = damage
        self._family = context.codec.columns.inlinks.encode()
        self._queue = RecountQueue(context.store, context.table)

    def of_others(self, *, dry_run: bool) -> None:
        """Erase the links in other rows; with *dry_run* only count them."""
        store, table = self._context.store, self._context.table
        if not dry_run:
            self._forget_revisits()
        keys = self._others()
        while piece := list(islice(keys, _PIECE)):
            for mutations in (self._without_links(piece), self._without_inlinks(piece)):
                if not dry_run:
                    removed(store, table, mutations)

    def _forget_revisits(self) -> None:
        """Remove the open revisits of erased pages, by others as well, whose metadata must not name them either."""
        context, revisits = self._context, OpenRevisits(self._context.store, self._context.table, self._context.key)
        rows = revisits.rows([KeyRange()])
        while piece := list(islice(rows, _PIECE)):
            readable = [(row, page) for row in piece if (page := page_in(row)) is not None]
            erased = [(row, page) for row, page in readable if self._leads_there(page.same_as or page.url)]
            keys = [context.key.encode(page.url) for _, page in erased]
            stored = zip(keys, context.pages.stored(keys, 1), strict=True)
            puts = [
                Put(key, context.codec.metadata_cells(key, replace(page, **_NAMELESS), page))
                for key, (page, *_) in stored
                if page is not None and page.same_as is not None and self._leads_there(page.same_as)
            ]
            context.write(puts)
            revisits.remove([row for row, page in readable if (row, page) in erased or self._leads_there(page.url)])

    def of_its_own(self, domain: str, ranges: Sequence[KeyRange]) -> None:
        """Erase the rest of the domain's own rows, in *ranges*, after its pages, and its hosts without pages.

        Counts of links are removed after the queue was counted: they are needed to find the entries of the link index.
        """
        for rows in self._rows_with(self._family + b":", ranges):
            entered = self._queue.entered(rows)
            self._queue.write([entered])
            removed(self._context.store, self._context.table, self._inlinks_of(rows, lambda _: True))
            self._queue.write([self._queue.done(entered)])
        refresh_links(self._context, None, also_unfinished=False)
        for rows in self._rows_with(self._context.codec.columns.links, ranges):
            self._forget_counts(rows)
        for entry in entries_without_pages(self._context, domain):
            if place_of(entry.key) in self._place:
                self._forget_host(entry)

    def _rows_with(self, column: bytes, ranges: Sequence[KeyRange]) -> Iterator[list[bytes]]:
        """Yield the keys of the rows in *ranges* that have *column*, or any column of a family."""
        stored = self._context.scan(Wanted([column], keys_only=True), ranges)
        while rows := [row.key for row in islice(stored, _PIECE)]:
            yield rows

    def _forget_counts(self, keys: Sequence[bytes]) -> None:
        """Remove the link counts of some rows, and their entries in the link index."""
        context, column = self._context, self._context.codec.columns.links
        entries, deletes = [], []
        for row in context.read(keys, Wanted([column])):
            if row is None:
                continue
            at = row.cells[column][0].timestamp
            deletes.append(Delete(row.key, at, [column]))
            with suppress(DamagedRow):
                entries_of_row = entries_of(context.codec.counts(row), context.key.unsalted(row.key))
                entries += [Delete(entry, at) for entry in entries_of_row]
        if LINK.name in context.indexes.read():
            written(context.store, index_table_name(context.table, LINK.name), entries)
        context.write(deletes)

    def _forget_host(self, entry: Row) -> None:
        """Remove the entry of a host, cell by cell: a delete up to a moment would hide older cells put later."""
        store, table = self._context.store, self._context.indexes.ready(HOST.name, "").table
        (whole,) = store.read(table, [entry.key])
        if whole is not None:
            later, until = later_removed(store, table, whole, None, 0)
            if not later:  # gateways cannot remove single cells
                written(store, table, [Delete(entry.key, until)])

    def _others(self) -> Iterator[bytes]:
        rows = self._context.scan(Wanted(keys_only=True))
        return (row.key for row in rows if self._context.key.unsalted(row.key) not in self._place)

    def _without_links(self, keys: Sequence[bytes]) -> list[Put]:
        context, puts = self._context, []
        # `schema.web_table_schema` keeps this many versions of outlinks.
        columns, versions = context.codec.with_checksums([context.codec.columns.urls]), max(2, context.layout.versions)
        weights = (weight * versions for weight in context.pages.weights(keys, ["outlinks"]))
        for piece in together(zip(keys, weights, strict=True)):
            for row in context.read(piece, Wanted(columns, versions=versions)):
                cells = self._link_cells(row) if row is not None else []
                if row is not None and cells:
                    puts.append(Put(row.key, cells))
        return puts

    def _link_cells(self, row: Row) -> list[NewCell]:
        """Return cells that replace those of *row* with links to erased pages."""
        codec, cells = self._context.codec, []
        for cell in row.cells.get(codec.columns.urls, ()):
            try:
                links = codec.links(row, cell)
                erased = {link.url for link in links if self._leads_there(link.url)}
                if erased:
                    kept = [Link(NOWHERE, rel=link.rel) if link.url in erased else link for link in links]
                    cells += codec.link_cells(row, cell, kept)
                    self.links += sum(link.url in erased for link in links)
            except DamagedRow as exc:
                self._damage.add(exc)
        return cells

    def _without_inlinks(self, keys: Sequence[bytes]) -> list[Delete]:
        deletes = self._inlinks_of(keys, self._leads_there)
        # The delete of the page has turned current links into former ones, so each source counts once.
        self.inlinks += len(
            {(delete.row, self._source(column)) for delete in deletes for column in delete.columns or ()}
        )
        return deletes

    def _inlinks_of(self, keys: Sequence[bytes], is_erased: Callable[[str], bool]) -> list[Delete]:
        """Return deletes of the current and former inlinks of rows whose source *is_erased*."""
        context, deletes, now = self._context, [], now_in_milliseconds()
        for row, cells in inlinks_of(context.store, context.table, self._family, keys, ALL_SOURCES):
            for column, cell in cells:
                if is_erased(self._source(column)):
                    # Up to its own date only, and a cell dated in the future alone: see `page_storage.cells`.
                    deletes.append(Delete(row, cell.timestamp, [column], exact=cell.timestamp > now))
        return deletes

    def _source(self, column: bytes) -> str:
        return column[len(self._family) + 1 :].removeprefix(PAST).decode(errors="replace")

    def _leads_there(self, url: str) -> bool:
        try:
            return PLAIN_KEY.encode(url) in self._place
        except InvalidURL:
            return False


# --- Deletes of the pages of a site -----------------------------------------------------------------------------------


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

    def __init__(self, context: TableContext, scope: Scope, chosen: Chosen) -> None:
        self._context = context
        self._scope = scope
        self._is_chosen = chosen.filter()
        if scope.place is None and self._is_chosen is None:
            conditions = Argument("status"), " or ", Words("fetched_before=", "--older-than")
            raise InvalidArgument("to delete pages of all sites, give ", *conditions, " as well")
        self._ranges = scope.ranges(context)
        self._damage = context.damage()

    def run(self, *, and_links: bool, dry_run: bool, on_page: Callable[[DeletedPage], None] | None = None) -> Deletions:
        """Delete the pages, or with *dry_run* only count them."""
        place = self._scope.place
        if and_links and (place is None or place.port is not None or self._is_chosen is not None):
            conditions = Argument("status"), " and ", Words("fetched_before=", "--older-than")
            link_option = Words("and_links=True", "--and-links")
            raise InvalidArgument(link_option, " is for all pages of a site without a port, ", *conditions)
        pages = versions = size = 0
        for page in (page for _, page in self._found()) if dry_run else self._deleted():
            pages, versions, size = pages + 1, versions + page.versions, size + (page.size or 0)
            if on_page is not None:
                on_page(page)
        erasure = Erasure(self._context, self._scope.unsalted(), self._damage)
        if place is not None and and_links:
            # After the pages: deleting them turns their links, in other rows, into history.
            erasure.of_others(dry_run=dry_run)
            if not dry_run:
                erasure.of_its_own(place.host, self._ranges)
        return Deletions(pages, versions, size, erasure.links, erasure.inlinks, self._damage.count)

    def _deleted(self) -> Iterator[DeletedPage]:
        """Delete the pages, and yield each once it is deleted for good."""
        chosen, store, pages = self._found(), self._context.store, self._context.pages
        with closing(Deletion(self._context)) as deletion:
            while piece := list(islice(chosen, PAGES_AT_ONCE)):
                with store.transaction(), until(Deadline(store.timeout)):
                    gone = deletion.of([key for key, _ in piece], lambda row: self._is_wanted(pages.metadata_of(row)))
                yield from (page for (_, page), is_gone in zip(piece, gone, strict=True) if is_gone)
            if self._is_chosen is None:
                self._complete(deletion)
                FailedFetches(self._context).remove_all(self._scope)

    def _complete(self, deletion: Deletion) -> None:
        """Remove the links, and what other rows have of them, of pages whose delete was killed half-way."""
        store, links = self._context.store, Wanted([self._context.codec.columns.urls], keys_only=True)
        spec = ScanSpec(self._context.table, self._ranges, links, keep=self._scope.keeps)
        rows = (row.key for row in in_storage_order(store, spec, None))
        while piece := list(islice(rows, PAGES_AT_ONCE)):
            with store.transaction(), until(Deadline(store.timeout)):
                deletion.of(piece, lambda row: self._context.pages.metadata_of(row) is None)

    def _found(self) -> Iterator[tuple[bytes, DeletedPage]]:
        """Yield the chosen rows, with their pages."""
        names, versions = self._context.codec.columns, self._context.layouts.recent().versions
        wanted = Wanted([names.page, names.capture], versions=versions)
        spec = ScanSpec(self._context.table, self._ranges, wanted, keep=self._scope.keeps)
        for row in in_storage_order(self._context.store, spec, None):
            captures = len(row.cells.get(names.capture, ()))
            page = self._context.pages.metadata_of(row)
            if isinstance(page, DamagedRow):
                self._damage.add(page)
            if self._is_wanted(page):
                yield row.key, _deleted_page(page, captures)

    def _is_wanted(self, page: Page | DamagedRow | None) -> bool:
        return self._is_chosen is None or (isinstance(page, Page) and self._is_chosen(page))


def _deleted_page(page: Page | DamagedRow | None, versions: int) -> DeletedPage:
    if isinstance(page, Page):
        return DeletedPage(page.url, page.fetched_at, page.status, page.size, versions)
    return DeletedPage(None if page is None else page.url, None, None, None, versions)


# --- Compaction -------------------------------------------------------------------------------------------------------


def forget_deletes(context: TableContext, *, dry_run: bool = False) -> int:
    """Remove the marks of deletes, unless it is a *dry_run*, and return how many pages had one."""
    column, count = context.codec.columns.deleted, 0
    rows = context.scan(Wanted([column]))
    while piece := list(islice(rows, _PIECE)):
        if not dry_run:
            context.write([Delete(row.key, row.cells[column][0].timestamp, [column]) for row in piece])
        count += len(piece)
    return count


def compact(context: TableContext, *, dry_run: bool = False) -> int:
    """Free the space of deleted content, as `TableMaintenance.compact` promises."""
    if dry_run and (space := context.store.space()) is not None:
        return space.free
    indexes = [index.table for _, index in sorted(context.indexes.read().items())]
    upkeep.compact(context)
    tables = [context.table, meta_table(context.table).name, queue_table(context.table).name, *indexes]
    freed = context.store.compact(tables)
    # Only now: captures that a delete still hides must be refused.
    if forget_deletes(context):
        # The marks of deletes are in the rows of the pages, whose URLs must not remain.
        freed += context.store.compact(tables)
    return freed
