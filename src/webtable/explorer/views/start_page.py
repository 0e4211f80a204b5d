"""Where people begin: the table as a whole, how it is stored, and where a text typed at the top leads."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from starlette.responses import RedirectResponse

import webtable
from webtable import ALL, WebTable
from webtable.display.addresses import age_of
from webtable.display.charts import Amount, area, heat
from webtable.errors import IndexNeeded, WebTableError
from webtable.explorer.counts import MOST_COUNTED, sampled
from webtable.explorer.page_model import PagePart, Rows, View, ViewRequest, facts
from webtable.explorer.views.questions import named
from webtable.explorer.views.sites import hosts
from webtable.explorer.views.statistics import GroupBar, bar_rows, stacked
from webtable.questions import LISTINGS, ListingOption, column
from webtable.rowkey import canonical_host, key_text, parse_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.responses import Response

    from webtable.answers import Crawl
    from webtable.explorer.counts import SiteCounts
    from webtable.store import Region


# --- The field at the top ---------------------------------------------------------------------------------------------


def go(request: ViewRequest) -> Response:
    """Return the way to what was typed: the page of a URL or of a row key, a site, a question, or a search."""
    return RedirectResponse(_goal(request, " ".join(request.option("go").split())), 303)


_HOST: Final = re.compile(r"(?P<host>[^\s/?#@]+)(?P<rest>/\S*)?")


def _goal(request: ViewRequest, text: str) -> str:
    if not text:
        return request.link("/")
    url = text if re.match(r"(?i)https?://", text) else _url_of_key(request.table, text)
    if url is not None:
        return request.page(url)
    if (parts := _HOST.fullmatch(text)) and _is_host(parts["host"]):
        is_site = (parts["rest"] or "/").endswith("/")
        return request.link(f"/site/{text.rstrip('/')}/") if is_site else request.page(f"https://{text}")
    if (links := named(request, text[:100])) and links[0].question == text.lower():
        return links[0].href
    order = "relevance" if (state := request.table.search_index.state()) is not None and state.is_complete else None
    return request.link("/q/search", text=text, site="all", order=order)


def _url_of_key(table: WebTable, text: str) -> str | None:
    """Return the URL of the row key that *text* is, as the HBase shell shows it or in hex; None if it is not one."""
    try:
        if re.fullmatch(r"(?:[0-9a-fA-F]{2}){4,}", text):
            return table.key.decode(bytes.fromhex(text))
        return table.key.decode(parse_key(text)) if table.layout.digits else None
    except WebTableError:
        return None


def _is_host(text: str) -> bool:
    # A name with a dot, or an address with a port or in brackets; `localhost` alone has neither.
    if text != "localhost" and not any(mark in text for mark in ".:]"):
        return False
    try:
        return bool(canonical_host(re.sub(r":\d*$", "", text) if text.count(":") == 1 or "]" in text else text))
    except WebTableError:
        return False


# --- The table as a whole ---------------------------------------------------------------------------------------------


SHOWN_HOSTS: Final = 10
# A crawl is a run of captures without a pause of so long, and of the last one so many pages are read.
GAP: Final = timedelta(hours=6)
MOST_OF_A_CRAWL: Final = 5_000
OPTIONS: Final = (ListingOption("count", "1: count all pages, however many there are."),)


class Tile(NamedTuple):
    """A figure of the table: its name, its text, a line below it, where it leads, and a drawing."""

    name: str
    text: str
    about: str = ""
    href: str | None = None
    chart: str = ""
    kind: str = ""


TILES: Final = column("name"), column("text"), column("about")


def last_crawl(table: WebTable) -> tuple[datetime, datetime, int, int] | None:
    """Return when the last crawl began and ended, its pages and its errors, as far as its newest pages show them.

    None without the index of times, or without pages.
    """
    begin = end = None
    pages = errors = 0
    try:
        for page in table.fetched(ALL, order="newest", limit=MOST_OF_A_CRAWL, columns=["status", "fetched_at"]):
            if begin is not None and begin - page.fetched_at > GAP:
                break
            begin, end = page.fetched_at, end or page.fetched_at
            pages, errors = pages + 1, errors + (page.status >= 400)
    except IndexNeeded:
        return None
    return None if begin is None or end is None else (begin, end, pages, errors)


def view(request: ViewRequest) -> View:
    """Return the page of the table."""
    is_all = request.option("count") == "1"

    def parts(table: WebTable) -> Iterator[PagePart]:
        counts = request.counts.of(ALL, is_all=is_all)
        crawl = request.counts.kept("last crawl", lambda: last_crawl(table))
        if not counts.all.pages:
            step = "No page is stored yet. webtable ingest crawl.warc.gz stores a crawl, webtable crawl makes one."
            yield PagePart("empty", lambda: None, "Nothing here yet", step)
        yield PagePart("tiles", lambda: Rows(TILES, _tiles(request, counts, crawl)), look="tiles")
        yield hosts(request, SHOWN_HOSTS, "main")
        title = f"Status{counts.sample_text}"
        yield PagePart("statuses", lambda: stacked(request, counts.statuses), title, look="stack", place="side")
        types = (GroupBar("type", *count, None, counts.all.pages) for count in counts.types.most_common(6))
        title = f"Content{counts.sample_text}"
        yield PagePart("types", lambda: bar_rows(request, types), title, look="bars", place="side")
        if table.layout.digits:
            title = f"Pages by salt{counts.sample_text}"
            yield PagePart("salts", lambda: _heat(table, counts), title, look="heat", place="side")
        if len(regions := table.store.regions(table.table)) > 1 and counts.all.pages:
            title = "Pages by region, estimated"
            made = partial(_region_rows, request, regions, HEATED_REGIONS)
            yield PagePart("regions", made, title, look="heat", place="side")
        if request.is_file and counts.is_whole:
            sums = {"pages": counts.all.pages, "bytes": counts.all.bytes}
            yield PagePart("total", lambda: facts(sums), look="facts")

    return View(request.table.name, parts, links=_tabs(request), tab="Overview")


def _tabs(request: ViewRequest) -> dict[str, str]:
    return {"Overview": request.link("/"), "Storage": request.link("/storage")}


def _tiles(
    request: ViewRequest, counts: SiteCounts, crawl: tuple[datetime, datetime, int, int] | None
) -> Iterator[Tile]:
    counted = request.counts.hosts() or []
    (bodies,) = facts({"bytes": 0}).columns
    about, number = "", f"{len(counts.groups):,}"
    pages, size = f"{counts.all.pages:,}", str(bodies.shown({"bytes": counts.all.bytes}))
    if not counts.is_whole and counted:
        about, number = "as of the last refresh of links", f"{len(counted):,}"
        pages = f"{sum(host.pages for host in counted):,}"
        size = str(bodies.shown({"bytes": sum(host.bytes for host in counted)}))
    elif not counts.is_whole:
        pages, size, number = f"over {MOST_COUNTED:,}", "not counted", "many"
        about = "count=1 in the address counts them"
    days = [Amount(day, count) for day, count in sorted(counts.days.items())]
    line = area(days[-90:], "pages by the day of their last capture, from") if days else ""
    by_day = request.link("/stats", site="all", by="day")
    yield Tile("Pages", pages, about or "by the day of their last capture", by_day, line)
    yield Tile("Hosts", number, "all hosts, with their counts", request.link("/site/"))
    yield Tile("Bodies", size, about or "as they were fetched")
    newest = crawl[1] if crawl else counts.all.newest
    if newest is not None:
        fetched = request.link("/q/fetched", site="all", order="newest")
        yield Tile("Last fetched", age_of(newest), f"{newest:%Y-%m-%d %H:%M} UTC", fetched)
    if crawl is not None:
        begin, _, number_of_pages, errors = crawl
        least = "" if number_of_pages < MOST_OF_A_CRAWL else "at least "
        about = f"{errors / number_of_pages:.1%} of {least}{number_of_pages:,} pages since {begin:%Y-%m-%d %H:%M} UTC"
        link = request.link("/q/errors", site="all")
        yield Tile("Errors, last crawl", f"{errors:,}", about, link, kind="s4" if errors else "")


def _heat(table: WebTable, counts: SiteCounts) -> Rows:
    digits = min(table.layout.digits, 2)
    names = [f"{number:0{digits}x}" for number in range(16**digits)]
    sums = Counter[str]()
    for salt, count in counts.keys.items():
        sums[salt[:2]] += count
    amounts = [Amount(name, sums[name]) for name in names]
    columns = column("salt", of="name"), column("pages", "count", of="number")
    rows = Rows(columns, amounts)
    rows.drawing = heat(amounts, 32, f"salts{counts.sample_text}: pages of each")
    return rows


# --- How it is stored -------------------------------------------------------------------------------------------------


SHOWN: Final = 50  # crawls
# Of so many regions, the first ones, there are bars, and squares of the heat map on the first page.
REGIONS: Final = 200
HEATED_REGIONS: Final = 1_024
DOCTOR_SECONDS: Final = 20.0
# A region with this many times its fair share of the pages is hot, as the doctor says.
_HOT: Final = 2.0
_REGIONS: Final = (
    "HBase divides a table into regions, ranges of keys, and each server holds some. Pages should be spread evenly "
    "over them: one with over twice its share is hot. An embedded table is one file, and one region."
)


def storage(request: ViewRequest) -> View:
    """Return the page about how the table is stored."""

    def parts(table: WebTable) -> Iterator[PagePart]:
        yield PagePart("table", lambda: _table(table), look="facts")
        about = "An index answers a question without reading all pages; full text finds pages by words, best first."
        yield PagePart("indexes", lambda: _indexes(table), "Indexes and full text", about)
        regions = table.store.regions(table.table)
        servers = len({region.server for region in regions if region.server}) or 1
        about = f"{len(regions):,} regions on {servers} server(s). {_REGIONS}"
        yield PagePart("regions", lambda: _region_rows(request, regions, REGIONS), "Regions", about, look="bars")
        yield PagePart("doctor", lambda: _diagnosis(table), "The doctor", "Checks of the store and of the table.")
        about = "A crawl is a run of captures without a pause of over six hours."
        part = PagePart("crawls", lambda: _crawls(request, table), "Crawls", about, look="timeline")
        if not request.is_file and not request.counts.of(ALL).is_whole:  # of ten million pages it takes ten minutes
            links = [("Read all captures for its crawls", request.link("/q/crawls", site="all"))]
            asking = Rows([column("question", of=itemgetter(0))], links, {"question": itemgetter(1)})
            part = PagePart("crawls", lambda: asking, "Crawls", about, look="list")
        yield part

    return View(request.table.name, parts, links=_tabs(request), tab="Storage")


def _table(table: WebTable) -> Rows:
    layout, text = table.layout, table.search_index.state()
    about_text = "none: webtable search-index create adds it" if text is None else text.bytes
    return facts({"name": table.name, "salt": layout.salt, "salt digits": layout.digits, "full text": about_text})


def _indexes(table: WebTable) -> Rows:
    columns = column("name", of=itemgetter(0)), column("phase", of=lambda entry: entry[1].phase)
    return Rows(columns, table.indexes.states().items(), empty="None: webtable index add adds one.")


def _bars_of(request: ViewRequest, regions: Sequence[Region]) -> list[GroupBar]:
    """Return *regions* with estimates of their rows; hot ones are marked."""
    table, starts = request.table, [region.keys.start for region in regions]
    rows = [0] * len(starts)
    if len(starts) > 1:
        for part in table.pages(ALL).partitions(min(16 * len(starts), 1_024)):
            rows[bisect_right(starts, part.keys.start) - 1] += part.rows or 0
    if not any(rows):
        for page in sampled(table):
            rows[bisect_right(starts, table.key.encode(page.url)) - 1] += 1
    total, by = sum(rows), "estimated rows by region"
    hot = _HOT * total / len(rows) if len(rows) > 1 else total
    return [
        GroupBar(by, key_text(start) or "the first key", count, None, total, "hot" * (count > hot))
        for start, count in zip(starts, rows, strict=True)
    ]


def _region_rows(request: ViewRequest, regions: Sequence[Region], most: int) -> Rows:
    """Return the first *most* regions with their bars, and a heat map of them."""
    bars = request.counts.kept("regions", lambda: _bars_of(request, regions))[: None if request.is_file else most]
    rows, amounts = bar_rows(request, bars), [Amount(f"{bar.group} {bar.mark}".strip(), bar.pages) for bar in bars]
    rows.drawing = heat(amounts, 32, "regions: estimated rows of each")
    return rows


def _crawls(request: ViewRequest, table: WebTable) -> Rows:
    """Return the last crawls, the newest first."""
    crawls = list(table.crawls(ALL, limit=None if request.is_file else SHOWN))
    before = dict(pairwise(crawls))

    def change(crawl: Crawl) -> str | None:
        if crawl not in before:
            return None
        return request.link("/compare", site="all", since=before[crawl].end.isoformat(), until=crawl.end.isoformat())

    changes = column("changes", of=lambda crawl: "what it changed" if crawl in before else None, is_usual=False)
    columns = [*LISTINGS["crawls"].columns.chosen(), changes]
    hrefs = {"end": lambda crawl: request.link("/", as_of=crawl.end.isoformat()), "changes": change}
    return Rows(columns, crawls, hrefs)


def _diagnosis(table: WebTable) -> Rows:
    address = table.store.address
    checks = () if address is None else webtable.doctor(address, timeout=DOCTOR_SECONDS)
    columns = column("state"), column("check"), column("finding"), column("fix")
    return Rows(columns, checks, empty="A table in memory is not examined.")
