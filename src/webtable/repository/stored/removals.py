"""What removes single cells and rows, so that nothing is hidden that is put later with a date up to now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._clock import milliseconds
from webtable.errors import CapabilityError
from webtable.store import Delete, Put, TimeRange
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from webtable.store import Row, Store


def removals(row: bytes, column: bytes, until: int, dates: Iterable[datetime | None], now: int) -> list[Delete]:
    """Return the deletes of the cells of a column that were written up to *until*, under *dates* among others.

    No delete goes beyond *now*. Of a page that is dated ahead of the clock, and deleted, what is fetched next has an
    earlier date, and would be hidden. Cells that are dated later are removed one by one.
    """
    stamps = {milliseconds(date) for date in dates if date is not None}
    later = [Delete(row, stamp, [column], exact=True) for stamp in sorted(stamps) if now < stamp <= until]
    return [Delete(row, min(until, now), [column]), *later]


def later_removed(
    store: Store,
    table: str,
    found: Row,
    columns: Sequence[bytes] | None,
    now: int,
    *,
    on_dates: Callable[[Sequence[int]], None] | None = None,
) -> tuple[Sequence[int], int]:
    """Remove the cells of a row that are dated later than *now*; return their dates, and what a delete has to hide.

    *found* is the row with its newest cells in *columns* (None: all). A delete has to hide what is up to *now*: if it
    went up to the newest cell it would hide what is put until then as well. Where a store cannot remove single cells
    none are, and the delete has to go that far.
    """
    newest = max(cell.timestamp for cells in found.cells.values() for cell in cells)
    dates: set[int] = set()
    # Again as long as there are any: after a cell that is removed HBase may show the one that it had replaced.
    while newest > now and (cells := _later_cells(store, table, found.key, columns, now)):
        dates.update(timestamp for _, timestamp in cells)
        if on_dates is not None:
            on_dates(sorted(dates))
        try:
            written(store, table, [Delete(found.key, timestamp, [column], exact=True) for column, timestamp in cells])
        except CapabilityError:
            return (), newest
    return sorted(dates), now


def _later_cells(
    store: Store, table: str, row: bytes, columns: Sequence[bytes] | None, now: int
) -> list[tuple[bytes, int]]:
    (later,) = store.read(table, [row], Wanted(columns, time_range=TimeRange(now + 1)))
    return [(column, cell.timestamp) for column, some in later.cells.items() for cell in some] if later else []


def written(store: Store, table: str, mutations: Sequence[Put | Delete]) -> None:
    """Write *mutations*; raises the first error of any."""
    for error in store.write(table, mutations) if mutations else ():
        if error is not None:
            raise error
