"""Comparing the newest capture of each page with the versions of its content.

They disagree where two writers have stored captures of a page at once and did not come to notice it (`crossings`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from webtable.repository.hints.drift import PIECE, Comparison, Drift, Place
from webtable.repository.stored.captures import mended
from webtable.repository.stored.timestamps import milliseconds
from webtable.rowkey import KeyRange
from webtable.store import NewCell
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webtable.repository.frame import Frame
    from webtable.repository.stored.damaged_rows import Damage
    from webtable.store import Row

Mend = Callable[[Sequence[bytes]], None]
"""Mends the pages of rows; raises the first error."""


class HistoryComparison(Comparison):
    """A comparison of all pages with their own versions; *mend_pages* mends those that disagree."""

    def __init__(
        self, frame: Frame, drift: Drift, damage: Damage, *, settle: float, apply: bool, mend_pages: Mend
    ) -> None:
        super().__init__(frame, drift, damage, settle=settle, apply=apply)
        self._mend_pages = mend_pages
        names = frame.codec.columns
        frame.layouts.recent()
        self._wanted = Wanted([names.page, names.deleted, names.capture], versions=frame.versions_at_first)

    def run(self) -> Iterator[None]:
        """Compare, with a pause after each piece of the work."""
        yield from self.mend(self._crossed(), self._still_crossed, "crossed")

    def write(self, places: Sequence[Place], kind: str) -> None:
        """Mend pages."""
        del kind
        self._mend_pages([place.row for place in places])

    def _crossed(self) -> Iterator[list[Place]]:
        rows = self._frame.store.scan(self._frame.table, [KeyRange()], self._wanted)
        while piece := list(islice(rows, PIECE)):
            yield self._crossed_among(piece)

    def _still_crossed(self, suspects: Sequence[Place]) -> list[Place]:
        found = self._frame.store.read(self._frame.table, [place.row for place in suspects], self._wanted)
        return self._crossed_among(row for row in found if row is not None)

    def _crossed_among(self, rows: Iterable[Row]) -> list[Place]:
        column, places = self._frame.codec.columns.page, []
        for row in rows:
            stored = self._frame.codec.stored(row)
            if stored.page is not None and mended(stored) is not None:
                timestamp = milliseconds(stored.page.fetched_at)
                places.append(Place(self._frame.table, row.key, NewCell(column, timestamp, b""), row.key))
        return [place for place in places if place.cell.timestamp < self._until]
