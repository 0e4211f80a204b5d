"""How many batches of a writer should be on their way to HBase at once?"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from benchmarks.material import made_up_pages
from benchmarks.measuring import Result, stopwatch, wait_until_idle
from benchmarks.setting import REGIONS, Setting
from webtable.repository.indexes.index import WEB_INDEXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable import Page

NEEDS = frozenset({"hbase"})
HOSTS = [f"h{number}.inflight.example" for number in range(40)]
IN_FLIGHT = (1, 2, 4, 8)
BODY_BYTES = 6_000


def run(setting: Setting) -> list[Result]:
    """Ingest the same pages with each number of batches in flight, in turn, without indexes and with all of them."""
    pages = list(made_up_pages(setting.scaled(6_000), HOSTS, body_bytes=BODY_BYTES))
    sides = [(in_flight, indexes) for indexes in ((), tuple(WEB_INDEXES)) for in_flight in IN_FLIGHT]
    # In turn, since the machine and HBase become slower and faster: neighbours in time are compared.
    turns = [[_rate(setting, pages, *side) for side in sides] for _ in range(setting.pairs(3))]
    return [
        Result(
            f"ingest of {len(pages):,} generated pages ({BODY_BYTES / 1000:.0f} KB each) into HBase, "
            f"in_flight={in_flight}, {'all seven indexes' if indexes else 'no index'}",
            "–",
            f"{median(rates):,.0f} pages/s",
            "–",
            median(rates),
            None,
            unit=" pages/s",
            note=f"batches of 500 pages, {REGIONS} regions; runs: {', '.join(f'{rate:,.0f}' for rate in rates)}",
        )
        for (in_flight, indexes), rates in zip(sides, zip(*turns, strict=True), strict=True)
    ]


def _rate(setting: Setting, pages: Sequence[Page], in_flight: int, indexes: Sequence[str]) -> float:
    """Return how many pages a second are stored in a fresh table."""
    with setting.hbase_table(indexes) as table:
        if not setting.quick:
            wait_until_idle()
        with stopwatch() as watch, table.writer(in_flight=in_flight, buffer_bytes=64 * 2**20) as writer:
            for page in pages:
                writer.put(page)
        assert writer.stored == len(pages)
    return len(pages) / watch.seconds
