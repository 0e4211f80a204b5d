"""The regions of a table beside its keys: those on no server, those without a row, and those that hold most."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Final

from webtable.rowkey import KeyRange, key_text
from webtable.store.health import failed, warned, well
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.repository.diagnosis.patient import Patient
    from webtable.store import Region, Store
    from webtable.store.health import Check

MOST_REGIONS: Final = 256
"""Of how many regions it is looked how many rows they have."""
MOST_ROWS: Final = 200
"""Up to how many rows of a region are counted."""
_UNEVEN: Final = 4
"""From how many times the median on a region holds too much, and a server too many regions."""
_NAMED: Final = 3


def regions(patient: Patient) -> Iterator[Check]:
    """Yield what is wrong with the regions of the pages; nothing of a store that has none."""
    found = patient.store.regions(patient.table)
    yield from placed(patient.store, patient.table, found)
    if not any(region.server for region in found):
        return
    if len(found) == 1:
        return
    digits = patient.stored.layout.digits
    counted = _rows(patient.store, patient.table, found[:MOST_REGIONS], 1 if digits else MOST_ROWS)
    empty, hot = [one for one, rows in counted if not rows], _hot(counted, digits)
    if hot:
        told = f"{_some(hot)} of {len(found):,} regions hold far more than the others"
        remedy = "split them in the HBase shell (split 'TABLE', 'KEY'); webtable keys splits names better split points"
        yield warned("splits", told, remedy)
    elif len(empty) > len(counted) // 2 and len(empty) < len(counted):
        told = f"{_some(empty)} of {len(found):,} regions have no row, so few servers have all the load"
        yield warned(
            "splits", told, "webtable keys splits names split points by keys; merge_region takes empty ones away"
        )
    else:
        yield well("splits", f"{len(found):,} regions, {len(empty):,} without a row, none with far more than others")


def placed(store: Store, table: str, found: Sequence[Region] | None = None) -> Iterator[Check]:
    """Yield on which servers the regions are; nothing of a store that has none."""
    found = store.regions(table) if found is None else found
    if not any(region.server for region in found):
        return
    lost = [region for region in found if not region.server]
    servers = Counter(region.server for region in found if region.server)
    told = f"{len(found):,} on {len(servers):,} servers"
    if lost:
        remedy = "wait while they move; else assign them in the HBase shell (list_regions, assign), or use hbck2"
        yield failed("regions", f"{_some(lost)} of {len(found):,} regions are on no server", remedy)
    elif max(servers.values()) > _UNEVEN * max(1, min(servers.values())):
        (busiest, most), *_ = servers.most_common(1)
        yield warned("regions", f"{told}, {most:,} of them on {busiest}", "run balancer in the HBase shell")
    else:
        yield well("regions", told)


def _rows(store: Store, table: str, found: Sequence[Region], most: int) -> list[tuple[Region, int]]:
    """Return how many rows each region has, those with more than *most* as that many."""
    rows = store.first_rows(table, [region.keys for region in found], most, Wanted(keys_only=True))
    return [(region, len(some)) for region, some in zip(found, rows, strict=True)]


def _hot(counted: Sequence[tuple[Region, int]], digits: int) -> list[Region]:
    """Return the regions that have far more salts than the others, or are full where most have next to nothing."""
    if digits:
        salts = [b"%0*x" % (digits, number) for number in range(16**digits)]
        return _above([(region, _begin_in(region.keys, salts)) for region, _ in counted])
    return [region for region in _above(counted) if (region, MOST_ROWS) in counted]


def _above(counted: Sequence[tuple[Region, int]]) -> list[Region]:
    usual = max(1.0, median(number for _, number in counted))
    return [region for region, number in counted if number > _UNEVEN * usual]


def _begin_in(keys: KeyRange, salts: Sequence[bytes]) -> int:
    """Return how many of *salts*, which are in order, begin in *keys*."""
    stop = bisect_left(salts, keys.stop) if keys.stop else len(salts)
    return max(0, stop - bisect_left(salts, keys.start))


def _some(found: Sequence[Region]) -> str:
    named = ", ".join(key_text(region.keys.start) or "the first" for region in found[:_NAMED])
    return f"{len(found):,} ({named}{', …' if len(found) > _NAMED else ''})"
