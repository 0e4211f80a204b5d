"""A copy of a web table, from its beginning or from where one has ended: first its pages, then who links to them."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webtable._clock import now_in_milliseconds, possible_moment
from webtable.errors import DamagedRow, ExpiredCapture, InvalidArgument
from webtable.repository.copying.counts import LINKS, PAGES, Copied, Counts, place_of, token_of
from webtable.repository.copying.pages import PageCopier
from webtable.repository.copying.tables import ROWS_AT_ONCE, Pace, Sides, behind
from webtable.repository.derived.inlinks import PAST
from webtable.repository.derived.queue import RecountQueue
from webtable.repository.stored.cells import NARROW, PIECE, written
from webtable.rowkey import KeyRange
from webtable.store import Cell, Delete, NewCell, Put, TimeRange
from webtable.store.rows import ALL_QUALIFIERS, Wanted
from webtable.store.url import StoreURL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.repository.frame import Frame


def copy(
    source: Frame,
    target: Frame,
    after: str | None,
    rate: float | None,
    on_copied: Callable[[Copied], object] | None,
) -> Copied:
    """Return what `WebTable.copy_to` does."""
    step, row = place_of(after)
    pace, sides, counts = Pace(rate), Sides(source, target), Counts()
    check_apart(source, target)
    check_kept(source, target.layouts.recent().ttl, target.name)

    def told(step: str, row: bytes) -> None:
        if on_copied is not None:
            on_copied(counts.copied(token_of(step, row)))

    keep_inlinks = sides.keep_inlinks
    if step == PAGES:
        with closing(PageCopier(sides, counts, with_inlinks=not keep_inlinks)) as pages:
            for last in pages.run(row, pace):
                told(PAGES, last)
        row = b""
    if keep_inlinks:
        for last in InlinkCopier(sides, counts).run(row, pace):
            told(LINKS, last)
    return counts.copied(None)


def check_apart(source: Frame, target: Frame) -> None:
    """Raise `InvalidArgument` where both are one table."""
    same_store = source.store is target.store or _place(source.store.name) == _place(target.store.name)
    if same_store and source.table == target.table:
        raise InvalidArgument(f"target={target.name!r} is the table that is copied: name another one")


def _place(name: str) -> str:
    url = StoreURL.parse(name)
    return str(Path(url.rest).resolve()) if url.is_path else name


def check_kept(source: Frame, ttl: int | None, name: str) -> None:
    """Raise `ExpiredCapture` where the table *name*, which keeps content *ttl* seconds, would drop some of *source*.

    What is about to expire in the source as well is none.
    """
    kept = source.layouts.recent().ttl
    if ttl is None or (kept is not None and kept <= ttl):
        return
    column = source.codec.columns.capture
    past = TimeRange(0, now_in_milliseconds() - ttl * 1000 + 1)
    old = next(source.store.scan(source.table, [KeyRange()], Wanted([column], time_range=past), limit=1), None)
    if old is not None:
        at = possible_moment(old.cells[column][0].timestamp)
        raise ExpiredCapture(
            f"{source.codec.damaged(old.key, column, '').url or source.name}: a capture of {at:%Y-%m-%d} is past the "
            f"{ttl / 86_400:g} days for which {name} keeps content: have it keep that longer (webtable copy --ttl none "
            "for a new table, else webtable alter --ttl none). Nothing was written"
        )


class RowInlinks(NamedTuple):
    """The inlinks of a row in the source and in the target, by their qualifiers; `are_all` where there are no more."""

    row: bytes
    target_row: bytes
    there: dict[bytes, Cell]
    here: dict[bytes, Cell]
    are_all: bool


class BothInlinks:
    """Reads the inlinks of two tables beside each other; the target's have values where it is asked *with_values*."""

    def __init__(self, sides: Sides, *, with_values: bool = False) -> None:
        self._sides = sides
        self._with_values = with_values
        self._there = sides.source.codec.columns.inlinks.encode()
        self._here = sides.target.codec.columns.inlinks.encode()

    def pieces(self, after: bytes, pace: Pace) -> Iterator[tuple[bytes, Iterator[list[RowInlinks]]]]:
        """Yield the inlinks of some rows behind the row key *after* at once, with the last of these rows."""
        source = self._sides.source
        wanted = Wanted([self._there + b":"], keys_only=True)
        found = source.store.scan(source.table, [behind(after)], wanted)
        while rows := [row.key for row in islice(found, pace.at_once(ROWS_AT_ONCE))]:
            yield rows[-1], self._some(rows)
            pace.wait(len(rows))

    def _some(self, rows: Sequence[bytes]) -> Iterator[list[RowInlinks]]:
        """Yield the inlinks of *rows*: those of all that have few at once, then those of the others in pieces."""
        # A row without a key in the target was told of in the first pass.
        keys = {row: key for row in rows if not isinstance(key := self._sides.target_row(row), DamagedRow)}
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
        source, target = self._sides.source, self._sides.target
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
        """Return what the source and the target have of a row under these *qualifiers*."""
        found = []
        for side, row, family in (
            (self._sides.source, one.row, self._there),
            (self._sides.target, one.target_row, self._here),
        ):
            columns = {family + b":" + qualifier: qualifier for qualifier in qualifiers}
            (cells,) = side.store.read(side.table, [row], Wanted(list(columns)))
            found.append({columns[column]: some[0] for column, some in cells.cells.items()} if cells else {})
        return found


class InlinkCopier:
    """Copies the inlinks of one table into another, both of which keep them."""

    def __init__(self, sides: Sides, counts: Counts) -> None:
        self._sides = sides
        self._counts = counts
        # Of those that the target has more of, too many are written again: that changes nothing.
        self._both = BothInlinks(sides)
        self._queue = RecountQueue(sides.target.store, sides.target.table)
        self._here = sides.target.codec.columns.inlinks.encode()

    def run(self, after: bytes, pace: Pace) -> Iterator[bytes]:
        """Copy what is behind the row key *after*, and yield up to which row all is copied, again and again."""
        for last, pieces in self._both.pieces(after, pace):
            for some in pieces:
                self._copy(some)
            yield last

    def _copy(self, some: Sequence[RowInlinks]) -> None:
        changes: list[Put | Delete] = []
        for one in some:
            changes += self._changes(one)
        if not changes:
            return
        # As before a batch of pages: a count too many does no harm.
        target = self._sides.target
        with target.store.together():
            entered = self._queue.entered({change.row for change in changes})
            self._queue.write([entered])
            written(target.store, target.table, changes)
            self._queue.write([self._queue.done(entered)])

    def _changes(self, one: RowInlinks) -> Iterator[Put | Delete]:
        """Yield what makes the inlinks of the target those of the source."""
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
