"""The table as a whole: its hosts, regions, indexes and counts, when it was crawled, and what the doctor says."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import webtable
from webtable import ALL
from webtable.explorer.page_model import PagePart, Sheet
from webtable.explorer.rows import Rows, facts
from webtable.explorer.views.sites import counts_of, hosts
from webtable.explorer.views.start_page import groups
from webtable.explorer.views.statistics import MOST_COUNTED, bar_of, bar_rows, counted
from webtable.questions import LISTINGS, ListingOption, column
from webtable.rowkey import key_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable import WebTable
    from webtable.answers import Crawl, Grouping, Stats
    from webtable.explorer.page_model import AskedPage
    from webtable.store import Region

SHOWN: Final = 50
"""How many hosts, and how many crawls."""
REGIONS: Final = 200
DOCTOR_SECONDS: Final = 20.0
OPTIONS: Final = (ListingOption("count", "1: count all pages, however many there are."),)
_GROUPINGS: Final[tuple[Grouping, ...]] = ("status", "type", "age", "month", "region")
_HOT: Final = 2.0
"""A region with this many times its fair share of the pages is hot, as the doctor says."""
_ABOUT: Final = (
    "A table of crawled web pages: a row for each page, with its versions, its text and its links. Rows are ordered "
    "by their keys, which are made of the URLs, so the pages of a site lie side by side. Type a URL, a host or words "
    "at the top, or choose a host or a question."
)
_REGIONS: Final = (
    "HBase divides a table into regions, ranges of keys, and each server holds some. Pages should be spread evenly "
    "over them: one with over twice its share is hot. An embedded table is one file, and one region."
)


def sheet(asked: AskedPage) -> Sheet:
    """Return the page of the table."""
    most = None if asked.one("count") == "1" else MOST_COUNTED

    def parts(table: WebTable) -> Iterator[PagePart]:
        yield PagePart("table", lambda: _table(table), look="facts")
        yield hosts(asked, table, SHOWN, "There is no host yet.")
        yield groups(asked)
        about = "An index answers a question without reading all pages; full text finds pages by words, best first."
        yield PagePart("indexes", lambda: _indexes(table), "Indexes and full text", about)
        regions = table.store.regions(table.table)
        if asked.is_file and most is not None:
            yield PagePart("regions", lambda: _regions(regions))
            return
        stats = counted(table, ALL, _GROUPINGS, most)
        yield from counts_of(asked, stats)
        servers = len({one.server for one in regions if one.server}) or 1
        about = f"{len(regions):,} regions on {servers} server(s). {_REGIONS}"
        yield PagePart("regions", lambda: _region_bars(asked, table, stats, regions), "Regions", about, look="bars")
        if stats is not None:
            about = "A crawl is a run of captures without a pause of over six hours."
            yield PagePart("crawls", lambda: _crawls(asked, table), "Crawls", about, look="timeline")
            about = "Checks of the store and of the table, as webtable doctor makes them."
            yield PagePart("doctor", lambda: _diagnosis(table), "The doctor", about)

    return Sheet(asked.table.name, parts, _ABOUT)


def _table(table: WebTable) -> Rows:
    layout, text = table.layout, table.search_index.state()
    known = {"name": table.name, "salt": layout.salt, "salt digits": layout.digits}
    known["full text"] = "none: webtable search-index create adds it" if text is None else text.bytes
    return facts(known)


def _indexes(table: WebTable) -> Rows:
    columns = column("name", of=itemgetter(0)), column("phase", of=lambda one: one[1].phase)
    return Rows(columns, table.indexes.states().items(), empty="None: webtable index add adds one.")


def _region_bars(asked: AskedPage, table: WebTable, stats: Stats | None, regions: Sequence[Region]) -> Rows:
    """Return the regions with their pages, or estimates of their rows; hot ones are marked."""
    if stats is not None:
        pages: dict[str, Any] = {name: stats.by["region"].get(name, (0, 0)) for name in stats.regions}
    else:
        starts = [region.keys.start for region in regions]
        rows = [0] * len(starts)
        for part in table.pages(ALL).partitions(min(16 * len(starts), 1_024)) if len(starts) > 1 else ():
            rows[bisect_right(starts, part.keys.start) - 1] += part.rows or 0
        pages = {key_text(start): (count, None) for start, count in zip(starts, rows, strict=True)}
    total = sum(count for count, _ in pages.values())
    hot = _HOT * total / len(pages) if len(pages) > 1 else total
    by = "pages by region" if stats else "estimated rows by region"
    found = (
        bar_of(by, name or "the first key", count, size, total, "hot" * (count > hot))
        for name, (count, size) in islice(pages.items(), None if asked.is_file else REGIONS)
    )
    return bar_rows(asked, found)


def _regions(regions: Sequence[Region]) -> Rows:
    columns = (
        column("start", of=lambda one: key_text(one.keys.start)),
        column("stop", of=lambda one: key_text(one.keys.stop)),
        column("server"),
    )
    return Rows(columns, regions)


def _crawls(asked: AskedPage, table: WebTable) -> Rows:
    """Return the last crawls, the newest first."""
    found = list(table.crawls(ALL, limit=None if asked.is_file else SHOWN))
    before = dict(pairwise(found))

    def change(crawl: Crawl) -> str | None:
        if crawl not in before:
            return None
        return asked.link("/compare", site="all", since=before[crawl].end.isoformat(), until=crawl.end.isoformat())

    changes = column("changes", of=lambda one: "what it changed" if one in before else None, is_usual=False)
    columns = [*LISTINGS["crawls"].columns.chosen(), changes]
    return Rows(columns, found, {"end": lambda one: asked.link("/", as_of=one.end.isoformat()), "changes": change})


def _diagnosis(table: WebTable) -> Rows:
    address = table.store.address
    checks = () if address is None else webtable.doctor(address, timeout=DOCTOR_SECONDS)
    columns = column("state"), column("check"), column("found"), column("remedy")
    return Rows(columns, checks, empty="A table in memory is not examined.")
