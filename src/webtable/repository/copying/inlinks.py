"""The second pass of a copy: the inlinks of rows, read side by side in both tables."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from webtable.errors import DamagedRow
from webtable.repository.copying.tables import ROWS_AT_ONCE, RateLimit, TablePair
from webtable.repository.links.inlink_cells import PAST
from webtable.repository.page_storage.cells import NARROW, PIECE, written
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.repository.upkeep.queue import RecountQueue
from webtable.store import Cell, Delete, NewCell, Put
from webtable.store.rows import ALL_QUALIFIERS, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.repository.copying.counts import Counts
    from webtable.rowkey import KeyRange


class RowInlinks(NamedTuple):
    """Inlinks of a row in the source (`there`) and in the target (`here`), by qualifier.

    `are_all` is False if the row may have more.
    """

    row: bytes
    target_row: bytes
    there: dict[bytes, Cell]
    here: dict[bytes, Cell]
    are_all: bool


class InlinkPairs:
    """Reads the inlinks of two tables side by side; those of the target have values only *with_values*."""

    def __init__(self, tables: TablePair, *, with_values: bool = False) -> None:
        self._tables = tables
        self._with_values = with_values
        self._there = tables.source.codec.columns.inlinks.encode()
        self._here = tables.target.codec.columns.inlinks.encode()

    def pieces(self, after: bytes, limit: RateLimit) -> Iterator[tuple[bytes, Iterator[list[RowInlinks]]]]:
        """Yield the inlinks of the rows after the row key *after*, some rows at once, with the last of these rows."""
        source = self._tables.source
        wanted = Wanted([self._there + b":"], keys_only=True)
        spec = ScanSpec(source.table, [source.keys_of(source.table)], wanted)
        found = in_storage_order(source.store, spec, after or None)
        while rows := [row.key for row in islice(found, limit.at_once(ROWS_AT_ONCE))]:
            yield rows[-1], self._some(rows)
            limit.wait(len(rows))

    def _some(self, rows: Sequence[bytes]) -> Iterator[list[RowInlinks]]:
        """Yield the inlinks of *rows*: first some of each row, then the rest of rows with many, in pieces."""
        # A row without a key in the target was reported in the first pass.
        keys = {row: key for row in rows if not isinstance(key := self._tables.target_row(row), DamagedRow)}
        yield (few := self._piece(keys, ALL_QUALIFIERS, NARROW))
        for one in few:
            there = one.there
            limit = NARROW
            while len(there) >= limit:
                limit = PIECE
                (piece,) = self._piece({one.row: one.target_row}, ALL_QUALIFIERS.after(max(there)), limit)
                there = piece.there
                yield [piece]

    def _piece(self, keys: dict[bytes, bytes], qualifiers: KeyRange, limit: int) -> list[RowInlinks]:
        source, target = self._tables.source, self._tables.target
        found = source.store.read_cells(source.table, list(keys), self._there, qualifiers, limit=limit)
        known = target.store.read_cells(
            target.table, list(keys.values()), self._here, qualifiers, limit=limit, keys_only=not self._with_values
        )
        return [
            RowInlinks(
                row,
                keys[row],
                {column[len(self._there) + 1 :]: cell for column, cell in there},
                {column[len(self._here) + 1 :]: cell for column, cell in here},
                qualifiers == ALL_QUALIFIERS and len(there) < limit and len(here) < limit,
            )
            for row, there, here in zip(keys, found, known, strict=True)
        ]

    def exactly(self, one: RowInlinks, qualifiers: Sequence[bytes]) -> list[dict[bytes, Cell]]:
        """Return the cells of a row with these *qualifiers*, in the source and in the target."""
        found = []
        for side, row, family in (
            (self._tables.source, one.row, self._there),
            (self._tables.target, one.target_row, self._here),
        ):
            columns = {family + b":" + qualifier: qualifier for qualifier in qualifiers}
            (cells,) = side.store.read(side.table, [row], Wanted(list(columns)))
            found.append({columns[column]: some[0] for column, some in cells.cells.items()} if cells else {})
        return found


class InlinkCopier:
    """Copies the inlinks of one table into another, if both store them; in a *dry_run* they are only counted."""

    def __init__(self, tables: TablePair, counts: Counts, *, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._tables = tables
        self._counts = counts
        # If a row has more inlinks in the target, some are written again unnecessarily, which changes nothing.
        self._both = InlinkPairs(tables)
        self._queue = RecountQueue(tables.target.store, tables.target.table)
        self._here = tables.target.codec.columns.inlinks.encode()

    def run(self, after: bytes, limit: RateLimit) -> Iterator[bytes]:
        """Copy the inlinks after the row key *after*, and yield the rows up to which they are copied."""
        for last, pieces in self._both.pieces(after, limit):
            for some in pieces:
                self._copy(some)
            yield last

    def _copy(self, some: Sequence[RowInlinks]) -> None:
        changes: list[Put | Delete] = []
        for one in some:
            changes += self._changes(one)
        if not changes or self._dry_run:
            return
        # First, as before a batch of pages: an unnecessary recount does no harm.
        target = self._tables.target
        with target.store.transaction():
            entered = self._queue.entered({change.row for change in changes})
            self._queue.write([entered])
            written(target.store, target.table, changes)
            self._queue.write([self._queue.done(entered)])

    def _changes(self, one: RowInlinks) -> Iterator[Put | Delete]:
        """Yield the changes that make the inlinks of the target equal to those of the source."""
        new = [
            NewCell(self._column(qualifier), cell.timestamp, cell.value)
            for qualifier, cell in one.there.items()
            if qualifier not in one.here or one.here[qualifier].timestamp < cell.timestamp
        ]
        self._counts.add(inlinks=len(new))
        if new:
            yield Put(one.target_row, new)
        past = {qualifier.removeprefix(PAST): cell for qualifier, cell in one.there.items() if qualifier[:1] == PAST}
        if past and one.here:
            there, here = (one.there, one.here) if one.are_all else self._both.exactly(one, list(past))
            for qualifier in past.keys() & here.keys() - there.keys():
                if here[qualifier].timestamp <= past[qualifier].timestamp:
                    yield Delete(one.target_row, here[qualifier].timestamp, [self._column(qualifier)])

    def _column(self, qualifier: bytes) -> bytes:
        return self._here + b":" + qualifier
