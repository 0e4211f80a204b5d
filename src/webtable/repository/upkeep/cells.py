"""Derived cells of a batch of pages: new entries, written before the pages, and removals, made after them.

The order keeps the indexes complete. Entries come first, so that no page is ever stored without them. Outdated entries
are removed last, and with the timestamp of the capture that they were made for, so that an entry that another writer
has written for a later capture meanwhile survives. For that, every capture writes all its entries under its own date,
even those that exist already. A writer that is killed leaves outdated entries; readers drop them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from webtable._clock import milliseconds, now_in_milliseconds
from webtable._threads import Threads
from webtable.errors import DamagedRow, WebTableError
from webtable.page.page import Page
from webtable.page.parts import Link
from webtable.repository.page_storage.cells import RemovedCells, removals, together
from webtable.repository.page_storage.codec import as_stored, bare
from webtable.repository.page_storage.state import KeyedPage, hints_at
from webtable.schema import INDEX_COLUMN
from webtable.store import Delete, NewCell, Put, Store

if TYPE_CHECKING:
    from webtable.repository.context import TableContext
    from webtable.repository.indexes.states import Indexes, Maintained
    from webtable.rowkey import WebKey


class PageChange(NamedTuple):
    """A page that replaces the page stored *before*; *owner* is its place in the batch."""

    owner: int
    row: bytes
    before: Page | None
    page: Page
    former: Sequence[Link] | None = None
    """The links of *before*, if it is in the same batch and not stored yet."""
    is_repeated: bool = False
    """Whether the same capture was stored already."""
    is_concurrent: bool = False
    """Whether another writer has stored a capture of the page meanwhile: its inlinks are written again."""
    keeps_links: bool = False
    """Whether the page is the capture *before*, of which a late one has changed the history alone."""

    @property
    def brings_content(self) -> bool:
        """Whether the content of the page differs from the content before, so that its links may differ."""
        page, before = self.page, self.before
        if self.keeps_links:
            return False
        if (
            self.is_concurrent
            or before is None
            or page.stored.content_at == page.fetched_at
            or page.stored.content_at != before.stored.content_at
        ):
            return True
        return page.outlink_count != before.outlink_count  # a capture that repeats it was stored before the content


class Removal(NamedTuple):
    """The arguments of `DerivedCells.remove`."""

    owner: int
    table: str
    rows: Collection[bytes]
    removed: Sequence[RemovedCells]
    history: Sequence[NewCell]


@dataclass(slots=True)
class DerivedCells:
    """Cells in other rows that belong to the pages of a batch: to be written before them, or removed after them."""

    puts: dict[str, dict[bytes, list[NewCell]]] = field(default_factory=lambda: defaultdict(dict))
    """The cells, by table and row."""
    owned: list[tuple[int, str, Sequence[bytes]]] = field(default_factory=list)
    """An owner, which is a page, a table, and the rows there that must be written before the page is stored."""
    removals: list[Removal] = field(default_factory=list)

    def put(self, owner: int, table: str, rows: Sequence[bytes], cells: Iterable[NewCell]) -> None:
        """Add *cells*, one for each of *rows*; of two in one place the one with the later timestamp is written."""
        puts = self.puts[table]
        for row, cell in zip(rows, cells, strict=False):
            if row in puts:
                puts[row].append(cell)
            else:
                puts[row] = [cell]
        self.owned.append((owner, table, rows))

    def remove(
        self,
        owner: int,
        table: str,
        rows: Collection[bytes],
        removed: Sequence[RemovedCells],
        history: Sequence[NewCell] = (),
    ) -> None:
        """Add that the cells *removed* go from each of *rows* once the page of *owner* is stored.

        *history* has a cell for each of the rows that keeps what was there, or is empty.
        """
        if rows:
            self.removals.append(Removal(owner, table, rows, removed, history))


def add_entries(
    derived: DerivedCells, changes: Iterable[PageChange], maintained: Iterable[Maintained], key: WebKey
) -> dict[int, WebTableError]:
    """Add the entries of *changes* to *derived*, and return the errors of pages for which an index failed, by owner."""
    errors: dict[int, WebTableError] = {}
    indexes = [(each.index, each.table) for each in maintained]
    if not indexes:
        return errors
    now = now_in_milliseconds()
    for change in changes:
        unsalted, timestamp = key.unsalted(change.row), milliseconds(hints_at(change.page))
        page, before = as_stored(change.page), change.before and bare(change.before)
        cell = NewCell(INDEX_COLUMN, timestamp, b"")
        try:
            for index, table in indexes:
                entries = index.entries(page, unsalted)
                derived.put(change.owner, table, entries, repeat(cell))
                # Up to the millisecond before its own date: what another writer has put for a later capture stays.
                if before is not None and index.names_pages:
                    gone = set(index.entries(before, unsalted)).difference(entries)
                    removed = removals(INDEX_COLUMN, timestamp - 1, [hints_at(before)], now)
                    derived.remove(change.owner, table, gone, removed)
        except WebTableError as exc:
            errors[change.owner] = exc
    return errors


# The row of the page is the truth, what is written here a hint: a reader drops it if the page disagrees.
class DerivedCellWriter:
    """Writes derived cells, to several tables at once."""

    def __init__(self, store: Store, indexes: Indexes) -> None:
        self._store = store
        self._indexes = indexes
        self._threads = Threads(4, "webtable-derived")

    def close(self) -> None:
        """Stop the threads."""
        self._threads.close()

    def put(self, derived: DerivedCells, maintained: Iterable[Maintained]) -> dict[int, WebTableError]:
        """Write the cells that come before the pages, and return the errors of pages that must not be stored, by owner.

        The entries belong to the indexes *maintained*; an error of one that was dropped meanwhile refuses no page.
        """
        # In the order of their keys, so that neighbours are written together, in few pieces.
        rows = {table: sorted(cells) for table, cells in derived.puts.items() if cells}
        puts = {table: [_put(row, derived.puts[table][row]) for row in in_order] for table, in_order in rows.items()}
        refused: dict[str, dict[bytes, WebTableError]] = {}
        for (table, in_order), errors in zip(rows.items(), self._written(puts), strict=True):
            if any(errors) and not any(index.table == table and self._is_dropped(index) for index in maintained):
                refused[table] = {row: error for row, error in zip(in_order, errors, strict=True) if error is not None}
        return {
            owner: refused[table][row]
            for owner, table, in_order in (derived.owned if refused else ())
            for row in in_order
            if row in refused.get(table, ())
        }

    def remove(self, derived: DerivedCells, stored: Sequence[bool]) -> None:
        """Remove outdated cells of the pages that are *stored*; readers drop those that stay.

        There is one put a row, and one delete a row and moment: pages of a site share most of their links, so a row has
        the cells of many pages.
        """
        puts: dict[str, dict[bytes, list[NewCell]]] = defaultdict(dict)
        deletes: dict[str, dict[tuple[bytes, int, bool], list[bytes]]] = defaultdict(dict)
        for owner, table, rows, removed, history in derived.removals:
            if stored[owner]:
                for row, cell in zip(rows, history, strict=False):
                    puts[table].setdefault(row, []).append(cell)
                for column, stamp, exact in removed:
                    for row in rows:
                        deletes[table].setdefault((row, stamp, exact), []).append(column)
        changes: dict[str, list[Put | Delete]] = {
            removal.table: [] for removal in derived.removals if stored[removal.owner]
        }
        for table, of_rows in puts.items():
            changes[table] += (_put(row, cells) for row, cells in of_rows.items())
        for table, of_places in deletes.items():
            changes[table] += (Delete(row, at, columns, exact=exact) for (row, at, exact), columns in of_places.items())
        self._written(changes)

    def _written(self, changes: Mapping[str, Sequence[Put | Delete]]) -> list[list[WebTableError | None]]:
        """Write the changes to each of several tables, and return their outcomes."""
        if self._store.capabilities.writes_concurrently:
            return self._threads.map(lambda change: self._write(*change), changes.items())
        return [self._write(table, mutations) for table, mutations in changes.items()]

    def _is_dropped(self, index: Maintained) -> bool:
        """Whether *index* was dropped meanwhile; one that was dropped and added again is another index."""
        now = self._indexes.read().get(index.name)
        return now is None or now.state.added != index.state.added

    def _write(self, table: str, changes: Sequence[Put | Delete]) -> list[WebTableError | None]:
        try:
            return list(self._store.write(table, changes))
        except WebTableError as exc:
            return [exc] * len(changes)


def _put(row: bytes, cells: Sequence[NewCell]) -> Put:
    if len(cells) == 1 or len({cell.column for cell in cells}) == len(cells):
        return Put(row, cells)
    newest: dict[bytes, NewCell] = {}
    for cell in cells:
        there = newest.get(cell.column)
        if there is None or there.timestamp < cell.timestamp:
            newest[cell.column] = cell
    return Put(row, list(newest.values()))


# --- Signatures -------------------------------------------------------------------------------------------------------
#
# Of the main texts of pages that were stored before the table had an index that needs them.


def sign_pages(indexes: Iterable[Maintained]) -> bool:
    """Whether pages get signatures for one of *indexes*."""
    return any(index.signs_pages for index in indexes)


def is_unsigned(page: Page) -> bool:
    """Whether *page* has a body, and no signature yet."""
    return page._similarity is None and page.has_body


def with_signature(page: Page, body: bytes | None) -> Page:
    """Return *page* with the signature of its *body*; without a signature if that is None."""
    from webtable.page.similarity import signature_of  # it needs numpy, and who has no such index does without

    return page if body is None else replace(page, _similarity=signature_of(replace(page, body=body)))


def read_and_signed(context: TableContext, pages: Sequence[KeyedPage]) -> list[Page | DamagedRow]:
    """Return *pages*, given with their rows, with the signatures that they lack; stored bodies are read for these.

    A page whose body cannot be read is returned as the error.
    """
    results: list[Page | DamagedRow] = [page for _, page in pages]
    unread: list[int] = []
    for at, (_, page) in enumerate(pages):
        if is_unsigned(page):
            if page.body is None:
                unread.append(at)
            else:
                results[at] = with_signature(page, page.body)
    for places in together((at, pages[at][1].size or 0) for at in unread):
        contents = context.pages.contents_of([pages[at] for at in places])
        for at, content in zip(places, contents, strict=True):
            results[at] = with_signature(pages[at][1], content.body) if isinstance(content, Page) else content
    return results


def signed(context: TableContext, pages: Sequence[KeyedPage]) -> list[Page]:
    """The *pages* with their signatures, as by `read_and_signed`; one whose body cannot be read stays without."""
    results = read_and_signed(context, pages)
    return [result if isinstance(result, Page) else page for result, (_, page) in zip(results, pages, strict=True)]


def signed_changes(context: TableContext, changes: Sequence[PageChange]) -> list[PageChange]:
    """Return *changes* with the signatures that their pages lack, those of the pages before them included."""
    pages = signed(context, [(change.row, change.page) for change in changes])
    former: list[Page | None] = []
    for change, page in zip(changes, pages, strict=True):
        before = change.before
        if before is not None and is_unsigned(before) and before.digest == page.digest:
            before = replace(before, _similarity=page._similarity)  # of the same body, which need not be read again
        former.append(before)
    unsigned = [at for at, before in enumerate(former) if before is not None and is_unsigned(before)]
    renewed = signed(context, [(changes[at].row, before) for at in unsigned if (before := former[at]) is not None])
    for at, before in zip(unsigned, renewed, strict=True):
        former[at] = before
    triples = zip(changes, pages, former, strict=True)
    return [change._replace(page=page, before=before) for change, page, before in triples]
