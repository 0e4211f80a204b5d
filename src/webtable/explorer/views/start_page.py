"""Where people begin: the table as a whole, all questions in groups, and where a text typed at the top leads."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from starlette.responses import RedirectResponse

import webtable
from webtable import ALL, WebTable
from webtable.errors import WebTableError
from webtable.explorer.page_model import PagePart, Rows, View, ViewRequest, facts
from webtable.explorer.rendering import words
from webtable.explorer.views.sites import counts_of, hosts
from webtable.explorer.views.statistics import bar_of, bar_rows, count_limit, counted
from webtable.questions import GROUPS, LISTINGS, ListingOption, column
from webtable.rowkey import canonical_host, key_text, parse_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.responses import Response

    from webtable.answers import Crawl, Grouping, Stats
    from webtable.store import Region


# --- Questions in groups ----------------------------------------------------------------------------------------------


class QuestionLink(NamedTuple):
    """A question in its group: its name in words, one line about it, and the path of its page."""

    group: str
    question: str
    about: str
    path: str | None
    """None if it is one for each stored page, whose URL must be given."""


# What each group has beside the questions of the catalogue.
_OTHERS: Final = {
    "one page": (
        ("page", "A page as it was stored: its text, its source, its headers and its links", None),
        ("history", "The versions of a page, on a time line", None),
        ("difference", "What changed between two versions of a page, side by side", None),
    ),
    "pages of a site": (("statistics", "Counts and bytes by status, type, language, age, host and more", "/stats"),),
    "a site as a whole": (
        ("audit", "Broken links, errors, redirects, titles, copies", "/audit"),
        ("comparison", "Pages added, removed or changed between two times", "/compare"),
    ),
}


def questions_view(request: ViewRequest) -> View:
    """Return the page with all questions."""
    return View("Questions", lambda _: [groups(request)])


def groups(request: ViewRequest) -> PagePart:
    """Return the part with all questions in groups."""

    def links() -> Iterator[QuestionLink]:
        for group in dict.fromkeys([*_OTHERS, *GROUPS]):
            heading = group[0].upper() + group[1:]
            for name, about, path in _OTHERS.get(group, ()):
                yield QuestionLink(heading, words(name), about, path)
            for name, question in GROUPS.get(group, {}).items():
                yield QuestionLink(heading, words(name), question.title, f"/q/{name.replace('_', '-')}")

    def href(link: QuestionLink) -> str | None:
        return None if link.path is None else request.link(link.path)

    columns = column("group"), column("question"), column("about")
    return PagePart("questions", lambda: Rows(columns, links(), {"question": href}), "Questions", look="groups")


# --- The field at the top ---------------------------------------------------------------------------------------------


def go(request: ViewRequest) -> Response:
    """Return the way to what was typed: the page of a URL or of a row key, a site, or the search for words."""
    if request.as_of:
        request.table.changes(since=request.as_of, limit=0)  # raises what is wrong with the moment
    return RedirectResponse(_goal(request, " ".join(request.option("go").split())), 303)


_HOST: Final = re.compile(r"(?P<host>[^\s/?#@]+)(?P<rest>/\S*)?")


def _goal(request: ViewRequest, text: str) -> str:
    if not text:
        return request.link("/")
    url = text if re.match(r"(?i)https?://", text) else _url_of_key(request.table, text)
    if url is not None:
        return request.page(url)
    if (named := _HOST.fullmatch(text)) and _is_host(named["host"]):
        is_site = (named["rest"] or "/").endswith("/")
        return request.link(f"/site/{text.rstrip('/')}/") if is_site else request.page(f"https://{text}")
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


SHOWN: Final = 50  # hosts, and crawls
REGIONS: Final = 200
DOCTOR_SECONDS: Final = 20.0
OPTIONS: Final = (ListingOption("count", "1: count all pages, however many there are."),)
_GROUPINGS: Final[tuple[Grouping, ...]] = ("status", "type", "age", "month", "region")
# A region with this many times its fair share of the pages is hot, as the doctor says.
_HOT: Final = 2.0
_ABOUT: Final = (
    "A table of crawled web pages: a row for each page, with its versions, its text and its links. Rows are ordered "
    "by their keys, which are made of the URLs, so the pages of a site lie side by side. Type a URL, a host or words "
    "at the top, or choose a host or a question."
)
_REGIONS: Final = (
    "HBase divides a table into regions, ranges of keys, and each server holds some. Pages should be spread evenly "
    "over them: one with over twice its share is hot. An embedded table is one file, and one region."
)


def view(request: ViewRequest) -> View:
    """Return the page of the table."""
    limit = count_limit(request)

    def parts(table: WebTable) -> Iterator[PagePart]:
        yield PagePart("table", lambda: _table(table), look="facts")
        yield hosts(request, table, SHOWN, "There is no host yet.")
        yield groups(request)
        about = "An index answers a question without reading all pages; full text finds pages by words, best first."
        yield PagePart("indexes", lambda: _indexes(table), "Indexes and full text", about)
        regions = table.store.regions(table.table)
        if request.is_file and limit is not None and not request.option("part"):
            yield PagePart("regions", lambda: _regions(regions))
            return
        stats = counted(table, ALL, _GROUPINGS, limit)
        yield from counts_of(request, stats)
        servers = len({region.server for region in regions if region.server}) or 1
        about = f"{len(regions):,} regions on {servers} server(s). {_REGIONS}"
        yield PagePart("regions", lambda: _region_bars(request, table, stats, regions), "Regions", about, look="bars")
        if stats is not None:
            about = "A crawl is a run of captures without a pause of over six hours."
            yield PagePart("crawls", lambda: _crawls(request, table), "Crawls", about, look="timeline")
            about = "Checks of the store and of the table, as webtable doctor makes them."
            yield PagePart("doctor", lambda: _diagnosis(table), "The doctor", about)

    return View(request.table.name, parts, _ABOUT)


def _table(table: WebTable) -> Rows:
    layout, text = table.layout, table.search_index.state()
    about_text = "none: webtable search-index create adds it" if text is None else text.bytes
    return facts({"name": table.name, "salt": layout.salt, "salt digits": layout.digits, "full text": about_text})


def _indexes(table: WebTable) -> Rows:
    columns = column("name", of=itemgetter(0)), column("phase", of=lambda entry: entry[1].phase)
    return Rows(columns, table.indexes.states().items(), empty="None: webtable index add adds one.")


def _region_bars(request: ViewRequest, table: WebTable, stats: Stats | None, regions: Sequence[Region]) -> Rows:
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
    bars = (
        bar_of(by, name or "the first key", count, size, total, "hot" * (count > hot))
        for name, (count, size) in islice(pages.items(), None if request.is_file else REGIONS)
    )
    return bar_rows(request, bars)


def _regions(regions: Sequence[Region]) -> Rows:
    columns = (
        column("start", of=lambda region: key_text(region.keys.start)),
        column("stop", of=lambda region: key_text(region.keys.stop)),
        column("server"),
    )
    return Rows(columns, regions)


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
