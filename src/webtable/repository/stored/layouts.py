"""The layout of a web table as it is now: what can be altered of it is read anew while the table is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable._clock import Fresh, clock
from webtable.errors import LayoutMismatch, TableNotFound
from webtable.schema import LAYOUT_ROW, STATES_FAMILY, Layout, meta_table, option_column
from webtable.store import Wanted

if TYPE_CHECKING:
    from webtable.store import Row, Store

FRESH_SECONDS = 2.0
"""How long ago what a table goes by may have been read."""


class Layouts:
    """The layout of one web table. May be used by many threads.

    It is read together with the states of the indexes, as by every batch that is written; so that costs no call.
    """

    def __init__(self, store: Store, table: str, known: Layout) -> None:
        self._store = store
        self._table = table
        self._cells: dict[bytes, bytes] = {}
        self._altered: dict[bytes, int] | None = None
        self._recent: Fresh[Layout] = Fresh(FRESH_SECONDS)
        self._recent.learn(known, clock.monotonic())
        self.known = known
        """The layout as it was when it was read last."""

    def recent(self) -> Layout:
        """Return the layout as it was at most `FRESH_SECONDS` ago."""
        return self._recent.recent(self.read)

    def read(self) -> Layout:
        """Return the layout as it is now; raises `LayoutMismatch` where this version cannot read it."""
        began = clock.monotonic()
        try:
            (row,) = self._store.read(meta_table(self._table).name, [LAYOUT_ROW], Wanted([STATES_FAMILY]))
        except TableNotFound:
            row = None
        self.learn(row, began)
        return self.known

    def altered_at(self, option: str) -> int | None:
        """Return when *option* was altered last, in epoch milliseconds; None where it is as the table was created."""
        if self._altered is None:
            self.read()
        self.recent()
        return (self._altered or {}).get(option_column(option))

    def learn(self, row: Row | None, read_at: float) -> None:
        """Take the layout from its *row*, which was read at that moment; raises `LayoutMismatch`.

        Where there is none the table is being dropped, and who uses it will hear of that from the table itself.
        """
        cells = cells_of(row)
        if cells and cells != self._cells:
            name = f"{self._store.name}/{self._table}"
            found = Layout.from_cells(name, cells)
            if _created(found) != _created(self.known):
                raise LayoutMismatch(f"{name} was dropped and created anew, with another layout: open it again")
            self.known, self._cells = found, cells
        self._altered = {column: versions[0].timestamp for column, versions in row.cells.items()} if row else {}
        self._recent.learn(self.known, read_at)


def cells_of(row: Row | None) -> dict[bytes, bytes]:
    """Return the newest values of the *row* of a layout by their columns."""
    return {column: versions[0].value for column, versions in row.cells.items()} if row else {}


def _created(layout: Layout) -> Layout:
    """Return *layout* as far as it cannot be altered."""
    return replace(layout, ttl=None, versions=1, family_options={})
