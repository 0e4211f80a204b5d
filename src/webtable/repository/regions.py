"""The regions of a table beside the split points that it was meant to have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable._shown.text import plural
from webtable.errors import InvalidArgument
from webtable.repository.records.table import KeyedTable
from webtable.rowkey.ranges import key_text, merged_split_points, split_points
from webtable.store import Region, Store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webtable.repository.table import WebTable


@dataclass(frozen=True, slots=True)
class RegionComparison:
    """The regions that a table has, in key order, and the split points that were wanted for it, sorted."""

    regions: tuple[Region, ...]
    wanted: tuple[bytes, ...]

    @property
    def actual(self) -> tuple[bytes, ...]:
        """The split points that the table has: the first keys of all regions but the first."""
        return tuple(region.keys.start for region in self.regions if region.keys.start)

    @property
    def missing(self) -> tuple[bytes, ...]:
        """The wanted split points at which no region begins."""
        actual = set(self.actual)
        return tuple(point for point in self.wanted if point not in actual)

    @property
    def extra(self) -> tuple[bytes, ...]:
        """The first keys of regions that nobody wanted there: HBase splits regions as they grow."""
        wanted = set(self.wanted)
        return tuple(point for point in self.actual if point not in wanted)

    @property
    def as_wanted(self) -> bool:
        """Whether regions begin where they were wanted and nowhere else."""
        return self.actual == self.wanted

    def __str__(self) -> str:
        """Return a line on the whole and one for each difference, in key order."""
        count = plural(len(self.regions), "region")
        if self.as_wanted:
            return f"{count}, as wanted"
        missing = [(point, "missing: no region begins at") for point in self.missing]
        extra = [(point, "extra: a region begins at") for point in self.extra]
        lines = [f"{what} {key_text(point)}" for point, what in sorted(missing + extra)]
        return "\n".join([f"{count}, missing: {len(missing):,}, extra: {len(extra):,}", *lines])


def regions_of(table: WebTable | KeyedTable, wanted: Iterable[bytes] | None = None) -> RegionComparison:
    """Return the regions of *table* beside those that begin at the split points *wanted*.

    None wants what a new web table with as many regions and this table's salt would have had, as `create` makes them:
    equally many salts a region, at most one region a salt, and no split point without a salt. Raises `InvalidArgument`
    for split points that are no bytes, and for none of a `KeyedTable`, whose key says nothing of them.
    """
    if wanted is not None:
        return compared_regions(table.store, table.table, wanted)
    if isinstance(table, KeyedTable):
        raise InvalidArgument(f"wanted={wanted!r}: the split points that {table.name} was meant to have must be given")
    regions = tuple(table.store.regions(table.table))
    digits = table.layout.digits
    return RegionComparison(regions, tuple(split_points(min(len(regions), 16**digits), digits)))


def compared_regions(store: Store, table: str, wanted: Iterable[bytes]) -> RegionComparison:
    """Return the regions of the table named *table*, whatever its keys are, beside the split points *wanted*.

    Raises `InvalidArgument` for split points that are no bytes, `TableNotFound`.
    """
    points = tuple(merged_split_points(wanted))
    return RegionComparison(tuple(store.regions(table)), points)
