"""What HBase tells of its health: how its gateways are reached, and its clock, as far as that shows without a write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable.errors import StoreError, TableNotFound
from webtable.rowkey import KeyRange, prefix_stop
from webtable.store.health import Check, warned, well
from webtable.store.port import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.store.url import StoreURL

_META: Final = "hbase:meta"
_REGIONS: Final = 10_000
_TOLERATED: Final = 1_000


class ExaminedHBase(Store):
    """A store that can be asked about the health of its HBase."""

    @classmethod
    def reached(cls, url: StoreURL) -> Iterator[Check]:
        """Yield what is found at each of the gateways that *url* names."""
        from webtable.store.hbase.gateways.reachability import Gateways  # no other call needs it

        yield from Gateways(url).checks()

    def health(self, table: str) -> Iterator[Check]:
        """Yield what HBase's dates say of its clock."""
        yield clock_check(self, table)


def clock_check(store: Store, table: str) -> Check:
    """Return whether HBase has dated the regions of *table* in the future of this machine.

    Region servers date a region when they open it. A clock that is behind would show by a cell that is written alone.
    """
    start = f"{table.removeprefix('default:')},".encode()
    rows = store.scan(_META, [KeyRange(start, prefix_stop(start))], limit=_REGIONS)
    try:
        newest = max((cell.timestamp for row in rows for cells in row.cells.values() for cell in cells), default=0)
    except (StoreError, TableNotFound) as exc:
        return warned(
            "clock", f"{_META} cannot be read: {exc}", f"grant 'READ' on {_META}, or leave it: nothing needs it"
        )
    ahead = newest - clock.milliseconds()
    if ahead > _TOLERATED:
        told = f"HBase's clock is {ahead / 1000:.1f} s ahead of this machine's at least"
        return warned("clock", told, "set all machines by NTP: cells expire, and deletes hide, by their dates")
    return well("clock", "HBase has dated no region in the future of this machine (that it is behind does not show)")
