"""Updates of derived data by writers, before and after the pages of a batch; and its removal with deleted pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from msgspec.structs import replace

from webtable.errors import IndexFailed, LayoutMismatch, WebTableError
from webtable.repository.indexes.states import Maintained
from webtable.repository.links.inlink_cells import InlinkCells, with_redirect
from webtable.repository.page_storage.cells import removals
from webtable.repository.page_storage.codec import bare
from webtable.repository.page_storage.state import hints_at
from webtable.repository.upkeep.cells import (
    DerivedCells,
    DerivedCellWriter,
    PageChange,
    add_entries,
    sign_pages,
    signed,
    signed_changes,
)
from webtable.repository.upkeep.queue import RecountQueue
from webtable.schema import INDEX_COLUMN
from webtable.store import Put, Row

if TYPE_CHECKING:
    from webtable.page.page import Page
    from webtable.page.parts import Link
    from webtable.repository.context import TableContext


class Updater:
    """Updates the indexes of one web table, and the inlinks of its pages if it has a link index.

    *with_inlinks* is False if inlinks are written by other means, as in a copy.
    """

    def __init__(self, context: TableContext, *, with_inlinks: bool = True) -> None:
        self.context = context
        self._with_inlinks = with_inlinks
        self.inlinks: Final = InlinkCells(context.table, context.codec.columns.inlinks.encode(), context.key)
        self.queue: Final = RecountQueue(context.store, context.table)
        self.writer: Final = DerivedCellWriter(context.store, context.indexes)

    def close(self) -> None:
        """Stop the threads."""
        self.writer.close()

    def keeps_inlinks(self, indexes: Iterable[Maintained]) -> bool:
        """Whether the inlinks of pages are maintained, for one of *indexes*."""
        return self._with_inlinks and any(index.keeps_inlinks for index in indexes)

    def prepare(
        self, changes: Sequence[PageChange], indexes: dict[str, Maintained], late: Sequence[PageChange] = ()
    ) -> BatchUpdate:
        """Return the update for *changes* in *indexes*, which were read before the changes were decided.

        *late* are captures that are older than the page before them, which stays the newest: their links are history.
        """
        update = BatchUpdate(self, changes, indexes)
        update.add(indexes.values(), changes)
        update.add_past(indexes.values(), late)
        return update

    def former_links(self, changes: Sequence[PageChange]) -> dict[int, Sequence[Link]]:
        """Return the former links of pages whose links may have changed, by owner."""
        former = [
            (change.owner, change.row, change.before)
            for change in changes
            if change.before is not None
            and change.former is None
            and change.before.outlink_count
            and change.brings_content
        ]
        links = self.context.pages.links_of([(row, before) for _, row, before in former]) if former else []
        in_batch = {change.owner: change.former for change in changes if change.former is not None}
        return in_batch | {owner: outlinks for (owner, _, _), outlinks in zip(former, links, strict=True)}

    def stored_links(self, changes: Sequence[PageChange]) -> dict[int, tuple[Sequence[Link], Sequence[Link]]]:
        """Return the links of captures that were stored already, and those of the capture before each, by owner.

        The writer of the capture may have been killed before it removed those of the one before.
        """
        again = [change for change in changes if change.is_repeated]
        links = self.context.pages.links_and_older([(change.row, change.page) for change in again]) if again else []
        return {change.owner: of_page for change, of_page in zip(again, links, strict=True)}


# Inlinks are written where they differ from the stored links: a page with a thousand unchanged links must not write
# them every day. Entries are all written again, so that each has the date of the newest capture.
@dataclass(slots=True)
class BatchUpdate:
    """The update for one batch; its methods are called once each, in the order of their definition."""

    updater: Updater
    changes: Sequence[PageChange]
    indexes: dict[str, Maintained]
    derived: DerivedCells = field(default_factory=DerivedCells)
    touched: set[bytes] = field(default_factory=set)
    """The rows whose inlinks are to be counted again."""
    resized: set[bytes] = field(default_factory=set)
    """The rows whose page is new or has another size: the pages of their hosts are to be counted again."""
    asking: set[int] = field(default_factory=set)
    """The owners of the pages that need these recounts."""
    errors: dict[int, WebTableError] = field(default_factory=dict)
    _entered: list[Put] = field(default_factory=list)

    def add(self, indexes: Iterable[Maintained], changes: Sequence[PageChange]) -> None:
        """Add the cells of *changes* for *indexes*."""
        indexes = list(indexes)
        if sign_pages(indexes):
            changes = signed_changes(self.updater.context, changes)
        self.errors |= add_entries(self.derived, changes, indexes, self.updater.context.key)
        if self.updater.keeps_inlinks(indexes):
            former, stored = self.updater.former_links(changes), self.updater.stored_links(changes)
            for change in changes:
                if change.is_repeated:
                    links, older = stored[change.owner]
                    page = replace(change.page, outlinks=tuple(links))
                    self._touch(change, self.updater.inlinks.add_again(self.derived, change.owner, page, older))
                    continue
                if change.brings_content:
                    links = former.get(change.owner, ())
                    self._touch(
                        change, self.updater.inlinks.add(self.derived, change.owner, change.page, change.before, links)
                    )

        if any(index.counts_pages for index in indexes):
            for change in changes:
                if change.before is None or change.before.size != change.page.size:
                    self.resized.add(change.row)
                    self.asking.add(change.owner)

    def add_past(self, indexes: Iterable[Maintained], late: Sequence[PageChange]) -> None:
        """Add the past inlinks of captures that are *late*."""
        if not late or not self.updater.keeps_inlinks(indexes):
            return
        newest = self.updater.context.pages.links_of([(change.row, change.before or change.page) for change in late])
        for change, links in zip(late, newest, strict=True):
            self.updater.inlinks.add_past(self.derived, change.owner, change.page, links)

    def before_pages(self) -> dict[int, WebTableError]:
        """Write the entries and inlinks, and return the errors of pages that must not be stored, by owner."""
        return self.errors | self._put()

    def after_pages(
        self, stored: Sequence[bool], overtaken: Collection[int] = (), redated: Collection[int] = ()
    ) -> dict[int, WebTableError]:
        """Finish the update after the pages; returns errors of stored pages that must not be acknowledged, by owner.

        No inlinks are removed for *overtaken* pages, of which another writer has stored a later capture: that capture
        may have the same links. Nothing is removed for *redated* ones, whose former entries may be right again.
        """
        if not self.changes:
            return {}
        changes = [change for change in self.changes if stored[change.owner]]
        removals, self.derived.removals = self.derived.removals, []
        failed: dict[int, WebTableError] = {}
        # Again until none is new: an index is added while the table is in use, and a page that is acknowledged has its
        # entries.
        while self._add_new_indexes(changes) or self.derived.puts or self.asking:
            failed |= self._put()
        failed |= self.errors
        lasting = [is_stored and owner not in failed for owner, is_stored in enumerate(stored)]
        removals = [
            removal
            for removal in removals
            if removal[0] not in redated and (removal[0] not in overtaken or removal[1] != self.updater.context.table)
        ]
        self.updater.writer.remove(DerivedCells(removals=removals), lasting)
        with suppress(WebTableError):  # after an error they are counted in ten minutes
            self.updater.queue.write([self.updater.queue.done(entered) for entered in self._entered])
        return failed

    def _put(self) -> dict[int, WebTableError]:
        touched, self.touched = self.touched, set()
        resized, self.resized = self.resized, set()
        asking, self.asking = self.asking, set()
        derived, self.derived = self.derived, DerivedCells(removals=self.derived.removals)
        failed: dict[int, WebTableError] = {}
        if asking:
            # Before the inlinks themselves: an unnecessary recount does no harm.
            self._entered.append(self.updater.queue.entered(touched, pages=resized))
            try:
                self.updater.queue.write(self._entered[-1:])
            except WebTableError as exc:
                failed = dict.fromkeys(asking, exc)
        return failed | self.updater.writer.put(derived, self.indexes.values())

    def _touch(self, change: PageChange, rows: set[bytes]) -> None:
        self.touched |= rows
        if rows:
            self.asking.add(change.owner)

    def _add_new_indexes(self, changes: Sequence[PageChange]) -> bool:
        """Add the cells for indexes that were added since the indexes were last read; return whether there are any.

        An index that was dropped and added again meanwhile counts as a new one.
        """
        before = {(name, index.state.added) for name, index in self.indexes.items()}
        now = self.updater.context.indexes.read()
        new = [index for name, index in now.items() if (name, index.state.added) not in before]
        if new:
            self.indexes = now
            last = {change.row: change for change in changes}.values()
            self.add(new, [PageChange(change.owner, change.row, None, change.page) for change in last])
        return bool(new)


# --- Removal ----------------------------------------------------------------------------------------------------------


_FOREVER = 2**63 - 2


class PageRemoval:
    """The removal of what other rows have of the pages in the rows *found*; its methods are called once, in order."""

    def __init__(self, updater: Updater, rows: Sequence[Row]) -> None:
        self._updater = updater
        self._indexes = updater.context.indexes.read().values()
        has_inlinks = updater.keeps_inlinks(self._indexes)
        self._found = []
        for row in rows:
            page, links = updater.context.pages.page_and_links(row)
            self._found.append(
                (
                    row.key,
                    page,
                    updater.inlinks.rows(links if page is None else with_redirect(page, links)) if has_inlinks else {},
                )
            )
        if sign_pages(self._indexes):
            readable = [(row, page) for row, page, _ in self._found if page is not None]
            pages = dict(zip((row for row, _ in readable), signed(updater.context, readable), strict=True))
            self._found = [(row, pages.get(row), links) for row, _, links in self._found]
        self._entered: Put | None = None

    def entered(self) -> Self:
        """Enter the recounts that the removal will need into the queue."""
        targets = {target for _, _, links in self._found for target in links}
        pages = [row for row, _, _ in self._found] if any(index.counts_pages for index in self._indexes) else []
        if targets or pages:
            self._entered = self._updater.queue.entered(targets, pages=pages)
            self._updater.queue.write([self._entered])
        return self

    def remove(self, until: int) -> None:
        """Remove the entries and inlinks of the pages up to a moment, and mark the recounts as due."""
        derived = DerivedCells()
        for row, page, links in self._found:
            if page is not None:
                self._remove_entries(derived, row, page, until)
            # Where the page linked, its inlinks stay as history, under another name.
            url = self._updater.context.key.url_of(row)
            self._updater.inlinks.remove(derived, 0, links, url, until=_FOREVER, before=page, now=until)
        self._updater.writer.remove(derived, [True])
        if self._entered is not None:
            self._updater.queue.write([self._updater.queue.done(self._entered)])

    def _remove_entries(self, derived: DerivedCells, row: bytes, page: Page, until: int) -> None:
        without_body, unsalted, written = bare(page), self._updater.context.key.unsalted(row), hints_at(page)
        # As the links are, up to the moment of all deletes together: Thrift1 takes a call for each timestamp.
        removed = removals(INDEX_COLUMN, _FOREVER, [written], until)
        for maintained in self._indexes:
            # If an index that the user has defined fails, readers drop its entries.
            with suppress(IndexFailed, LayoutMismatch):
                if maintained.index.names_pages:
                    derived.remove(0, maintained.table, maintained.index.entries(without_body, unsalted), removed)
