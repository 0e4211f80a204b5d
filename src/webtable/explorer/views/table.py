"""The table as a whole: its hosts, regions, indexes and counts, when it was crawled, and what the doctor says."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import webtable
from webtable import ALL
from webtable.answers import Crawl
from webtable.explorer.reading import reading
from webtable.explorer.rendering import Ending, Linker, value_text
from webtable.explorer.views.json_pages import json_page
from webtable.explorer.views.questions import groups_of
from webtable.explorer.views.site import HOST_COLUMNS, host_rows
from webtable.explorer.views.statistics import MOST_COUNTED, GroupBar, as_dict, bars, counted
from webtable.rowkey import key_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from starlette.requests import Request
    from starlette.responses import Response

    from webtable import WebTable
    from webtable.answers import Grouping, Stats
    from webtable.explorer.explorer import Explorer
    from webtable.explorer.streaming import Outlet
    from webtable.maintenance import Diagnosis
    from webtable.store import Region

HOSTS: Final = 50
CRAWLS: Final = 50
REGIONS: Final = 200
MOST_PARTS: Final = 1_024
DOCTOR_SECONDS: Final = 20.0
_GROUPINGS: Final[tuple[Grouping, ...]] = ("status", "type", "age", "month", "region")
_HOT: Final = 2.0
"""A region with this many times its fair share of the pages is hot, as the doctor says."""
_WIDTH: Final = 1_000
"""Of the time line, in units of its picture."""


class CrawlMark(NamedTuple):
    """A crawl on the time line: where it begins and how long it is there, and the crawl before it, if any."""

    crawl: Crawl
    x: float
    width: float
    before: Crawl | None

    @property
    def text(self) -> str:
        """The crawl in words."""
        begin, end = value_text("time", self.crawl.begin), value_text("time", self.crawl.end)
        return f"{begin} to {end}: {self.crawl.captures:,} captures"


class TableSketch:
    """What the page about the *table* shows, each part when it is asked for; what is slow comes last there."""

    def __init__(self, table: WebTable, linker: Linker, *, is_whole: bool) -> None:
        self.table: Final = table
        self.hosts_after: Final = Ending(empty="There is no host yet.")
        self._linker, self._is_whole = linker, is_whole

    def hosts(self) -> Any:
        """Yield the first hosts as rows."""
        return host_rows(self.table, self._linker, self.hosts_after, HOSTS)

    def regions(self) -> list[Region]:
        """Return the regions."""
        return self.table.store.regions(self.table.table)

    def stats(self) -> Stats | None:
        """Return the counts, or None if there are too many pages to count them unasked."""
        return counted(self.table, ALL, _GROUPINGS, most=None if self._is_whole else MOST_COUNTED)

    def bars(self, stats: Stats) -> dict[str, list[GroupBar]]:
        """Return the groups of *stats*, without those of the regions."""
        return {by: some for by, some in bars(stats, "all", self._linker).items() if by != "region"}

    def region_bars(self, stats: Stats) -> list[GroupBar]:
        """Return the first regions with their pages, those without any included; hot ones are marked."""
        return _region_bars({name: stats.by["region"].get(name, (0, 0)) for name in stats.regions}, stats.pages)

    def estimated_bars(self, regions: Sequence[Region]) -> list[GroupBar]:
        """Return the same with estimates of their rows: some ten thousand keys are read, spread over the table."""
        starts = [region.keys.start for region in regions]
        rows = [0] * len(starts)
        for part in self.table.pages(ALL).partitions(min(16 * len(starts), MOST_PARTS)):
            rows[bisect_right(starts, part.keys.start) - 1] += part.rows or 0
        found = {key_text(start): (count, None) for start, count in zip(starts, rows, strict=True)}
        return _region_bars(found, sum(rows))

    def crawls(self) -> list[CrawlMark]:
        """Return the last crawls, the newest first."""
        found = list(self.table.crawls(ALL, limit=CRAWLS))
        if not found:
            return []
        first = min(one.begin for one in found)
        seconds = max((max(one.end for one in found) - first).total_seconds(), 1)

        def along(moment: datetime) -> float:
            return round(_WIDTH * (moment - first).total_seconds() / seconds, 1)

        return [
            CrawlMark(one, along(one.begin), max(along(one.end) - along(one.begin), 6.0), before)
            for one, before in zip(found, [*found[1:], None], strict=True)
        ]

    def diagnosis(self) -> Diagnosis | None:
        """Return what the doctor says; None for a table in memory, which the doctor cannot open."""
        address = self.table.store.address
        return None if address is None else webtable.doctor(address, timeout=DOCTOR_SECONDS)


def _region_bars(groups: Mapping[str, tuple[int, int | None]], total: int) -> list[GroupBar]:
    hot = _HOT * total / max(len(groups), 1) if len(groups) > 1 else total
    return [
        GroupBar(name or "the first key", rows, size, round(100 * rows / max(total, 1), 2), mark="hot" * (rows > hot))
        for name, (rows, size) in islice(groups.items(), REGIONS)
    ]


def page(explorer: Explorer, request: Request) -> Response:
    """Return the page of the table."""
    linker, is_whole = Linker(request), request.query_params.get("count") == "1"

    def make(outlet: Outlet) -> None:
        sketch = TableSketch(reading(explorer.table, outlet.gone), linker, is_whole=is_whole)
        explorer.pages.write(
            outlet,
            "home.html",
            linker,
            "The table",
            sketch=sketch,
            columns=HOST_COLUMNS,
            rows=sketch.hosts(),
            after=sketch.hosts_after,
            groups=groups_of(linker),
        )

    return explorer.streaming.response(make, "text/html")


def as_json(explorer: Explorer, request: Request) -> Response:
    """Return the table as JSON; with `count=1` with its statistics and crawls, for which all its pages are read."""
    is_whole = request.query_params.get("count") == "1"

    def make(table: WebTable) -> dict[str, Any]:
        text = table.search_index.state()
        found: dict[str, Any] = {
            "name": table.name,
            "salt": table.layout.salt,
            "salt_digits": table.layout.digits,
            "indexes": {name: state.phase for name, state in table.indexes.states().items()},
            "full_text": None if text is None else {"is_complete": text.is_complete, "bytes": text.bytes},
            "regions": [
                {"start": key_text(one.keys.start), "stop": key_text(one.keys.stop), "server": one.server}
                for one in table.store.regions(table.table)
            ],
        }
        if is_whole:
            found["statistics"] = as_dict(table.stats(ALL, by=_GROUPINGS))
            found["crawls"] = list(table.crawls(ALL))
        return found

    return json_page(explorer, make)
