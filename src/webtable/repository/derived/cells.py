"""What a batch of pages writes into the indexes: new entries before the pages, removals after them.

The order is what keeps the indexes from lying. Entries come first, so that no page is ever stored without them. What no
longer holds goes last, and with the timestamp of the capture that it was made for: an entry that somebody else has
written for a later capture in the meantime survives. For that every capture writes all its entries under its own date,
also those that were there already. A writer that is killed leaves entries that do not hold; readers drop those.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from webtable._clock import milliseconds, now_in_milliseconds
from webtable._page.page import Link, Page
from webtable._threads import Threads
from webtable.errors import WebTableError
from webtable.repository.stored.cells import removals
from webtable.repository.stored.codec import as_stored, bare
from webtable.repository.stored.page_state import hints_at
from webtable.schema import INDEX_COLUMN
from webtable.store import Delete, NewCell, Put, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from webtable.repository.indexes.states import Indexes, Maintained
    from webtable.rowkey import WebKey


class PageChange(NamedTuple):
    """A page of a batch (its *owner* is its place there) that takes the place of what was stored *before*."""

    owner: int
    row: bytes
    before: Page | None
    page: Page
    former: Sequence[Link] | None = None
    """The links of *before*, where that is in the same batch and not yet stored."""
    is_repeated: bool = False
    """Whether the very capture was stored already."""
    is_concurrent: bool = False
    """Whether somebody else has stored a capture of it meanwhile: its inlinks are written again."""

    @property
    def brings_content(self) -> bool:
        """Whether the page has other content than what was stored before, and so may have other links."""
        page, before = self.page, self.before
        if (
            self.is_concurrent
            or before is None
            or page.content_at == page.fetched_at
            or page.content_at != before.content_at
        ):
            return True
        return page.outlink_count != before.outlink_count  # a repeat was there before its content


@dataclass(slots=True)
class DerivedCells:
    """Cells of other rows that go with the pages of a batch: to be written before them, or removed after them."""

    puts: dict[str, dict[bytes, list[NewCell]]] = field(default_factory=lambda: defaultdict(dict))
    """By table and row: the cells."""
    owned: list[tuple[int, str, Sequence[bytes]]] = field(default_factory=list)
    """By owner, a page: a table, and the rows there whose cells it must not be stored without."""
    removals: list[tuple[int, str, Delete | Put]] = field(default_factory=list)
    """Each with its owner and its table; a put where something is kept as history."""

    def put(self, owner: int, table: str, rows: Sequence[bytes], cells: Iterable[NewCell]) -> None:
        """Take *cells*, one for each of *rows*; of two in one place the one with the later timestamp counts."""
        puts = self.puts[table]
        for row, cell in zip(rows, cells, strict=False):
            if row in puts:
                puts[row].append(cell)
            else:
                puts[row] = [cell]
        self.owned.append((owner, table, rows))

    def remove(self, owner: int, table: str, change: Delete | Put) -> None:
        """Take a change to be made once the page of *owner* is stored."""
        self.removals.append((owner, table, change))


def add_entries(
    derived: DerivedCells, changes: Iterable[PageChange], maintained: Iterable[Maintained], key: WebKey
) -> dict[int, WebTableError]:
    """Add the entries of *changes* to *derived*, and return, by owner, why a page has none: an index has failed."""
    errors: dict[int, WebTableError] = {}
    indexes = [(one.index, one.table) for one in maintained]
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
                if before is not None and index.names_pages:
                    for entry in set(index.entries(before, unsalted)).difference(entries):
                        for delete in removals(entry, INDEX_COLUMN, timestamp - 1, [hints_at(before)], now):
                            derived.remove(change.owner, table, delete)
        except WebTableError as exc:
            errors[change.owner] = exc
    return errors


class DerivedCellWriter:
    """Writes derived, several tables at once."""

    def __init__(self, store: Store, indexes: Indexes) -> None:
        self._store = store
        self._indexes = indexes
        self._threads = Threads(4, "webtable-derived")

    def close(self) -> None:
        """Stop the threads."""
        self._threads.close()

    def put(self, derived: DerivedCells, maintained: Iterable[Maintained]) -> dict[int, WebTableError]:
        """Write what comes before the pages, and return why a page must not be stored, by owner.

        The entries are those of *maintained*: no page is refused for one of these that was dropped in the meantime.
        """
        # In the order of their keys: so they lie beside each other where they are stored, and come there in few pieces.
        rows = {table: sorted(cells) for table, cells in derived.puts.items() if cells}
        puts = {table: [_put(row, derived.puts[table][row]) for row in some] for table, some in rows.items()}
        refused: dict[str, dict[bytes, WebTableError]] = {}
        for (table, some), errors in zip(rows.items(), self._written(puts), strict=True):
            if any(errors) and not any(one.table == table and self._is_dropped(one) for one in maintained):
                refused[table] = {row: error for row, error in zip(some, errors, strict=True) if error is not None}
        return {
            owner: refused[table][row]
            for owner, table, some in (derived.owned if refused else ())
            for row in some
            if row in refused.get(table, ())
        }

    def remove(self, derived: DerivedCells, stored: Sequence[bool]) -> None:
        """Remove what no longer holds for the pages that are *stored*; what stays is a hint that readers drop."""
        changes: dict[str, list[Delete | Put]] = defaultdict(list)
        for owner, table, change in derived.removals:
            if stored[owner]:
                changes[table].append(change)
        self._written(changes)

    def _written(self, changes: Mapping[str, Sequence[Put | Delete]]) -> list[list[WebTableError | None]]:
        """Write the changes to each of several tables, and return their outcomes."""
        if self._store.capabilities.writes_side_by_side:
            return self._threads.map(lambda one: self._write(*one), changes.items())
        return [self._write(table, some) for table, some in changes.items()]

    def _is_dropped(self, index: Maintained) -> bool:
        """Whether *index* was dropped in the meantime, also where it was added again: then it is another one."""
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
