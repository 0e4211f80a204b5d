"""A site: the directories below it, its pages as a table, and what is counted of it; and all hosts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from webtable import ALL, HostOnly, Page, WebTable
from webtable.display.addresses import decoded
from webtable.display.charts import Amount, area, bar, stack
from webtable.errors import InvalidArgument
from webtable.explorer.counts import OTHERS, GroupCounts, SiteCounts
from webtable.explorer.page_model import PagePart, Rows, View, ViewRequest
from webtable.explorer.views.questions import ListingRequest
from webtable.explorer.views.statistics import figures_of, findings_of, stacked_classes
from webtable.questions import LISTINGS, Limited, ListingOption, column
from webtable.reports import compare
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterator

HOSTS: Final = 50
# Of how many pages of a host the statuses are shown, where not all pages of the table are counted.
SAMPLE_OF_A_HOST: Final = 200
# How many directories a page shows, and how many pages are read at most to find them: the pages of the directory itself
# lie between its directories, and may be a million.
DIRECTORIES: Final = 100
MOST_READ: Final = 2_000
# How far the pages of each directory are counted, where no pass over all of the site has counted them.
MOST_IN_A_DIRECTORY: Final = 1_000
# Up to how many pages a site is audited, and its last crawls compared, on its page.
MOST_AUDITED: Final = 2_000
# How many directories with a single one in them are shown as one line with it.
MOST_MERGED: Final = 8
OPTIONS: Final = (
    ListingOption("site", "A directory of one host: https://example.com/docs/.", is_needed=True),
    ListingOption("below", "The token after which the directories go on."),
    ListingOption("open", "The directories that are shown with those below them.", is_many=True),
    ListingOption("count", "1: count all pages, however many there are."),
)
_OURS: Final = frozenset({"below", "count", "open", "part", "site", "sort", "host"})
_FILTERS: Final = frozenset(LISTINGS["pages"].takes - {"site"})
# A URL has no character above `~`, so this is after all URLs of a directory that are not longer.
_LAST: Final = "~" * 1_000


class Directory(NamedTuple):
    """A directory below another one: its name with a `/` at the end, and its URL as a site."""

    name: str
    site: str


class Directories:
    """The directories right below the directory *site*, found one after another as they are read.

    After a page in one of them, the next page is looked for after all of that one. `next_token` goes on where this had
    to end. Those in *opened* are followed by those below them.
    """

    def __init__(
        self, table: WebTable, site: str, after: str | None = None, opened: Collection[str] = (), above: str = ""
    ) -> None:
        self.next_token: str | None = None
        self.site: Final = site
        self.found: Final[list[Directory]] = []
        self._table, self._site, self._after, self._opened, self._above = table, site, after, opened, above

    def __iter__(self) -> Iterator[Directory]:
        # A directory is left by one seek, whatever it holds. Between directories runs of pages are read, each twice as
        # long as the last: few pages where directories lie close to each other, few calls where they do not.
        pages, after, read, run, before = self._table.pages(self._site), self._after, 0, 1, ""
        while len(self.found) < DIRECTORIES and read < MOST_READ:
            last, name = None, ""
            for last in self._table.pages(self._site, limit=run, after=after):
                read += 1
                if name := self._name(last.url):
                    break
            if last is None:
                return
            after, run = pages.token_after(last), min(2 * run, 256)
            if name and name != before:
                before, site = name, f"{self._site}{name}"
                after, run = pages.token_after(Page(url=f"{site}{_LAST}")), 1
                whole = self._merged(site)
                self.found.append(Directory(self._above + whole.removeprefix(self._site), whole))
                yield self.found[-1]
                if whole in self._opened:
                    yield from Directories(self._table, whole, None, self._opened, self.found[-1].name)
        self.next_token = after

    def _merged(self, site: str) -> str:
        """Return the directory *site*, or the one below it that holds all of its pages."""
        for _ in range(MOST_MERGED):
            answer = self._table.pages(site, limit=1)
            name = "" if (first := answer.first()) is None else Directories(self._table, site)._name(first.url)
            if not name or self._table.pages(site, after=answer.token_after(Page(url=f"{site}{name}{_LAST}")), limit=1):
                break
            site += name
        return site

    def _name(self, url: str) -> str:
        """Return the name of the directory that *url* is in, with its `/`; "" for a page of the directory itself."""
        name, slash, _ = urlsplit(url).path.removeprefix(urlsplit(self._site).path).partition("/")
        return name + slash if slash else ""


def view(request: ViewRequest) -> View:
    """Return the page of all hosts, or that of a directory of one."""
    if not (url := request.place):
        if request.is_file:
            raise InvalidArgument("site is needed, as in /site.json?site=https://example.com/docs/")
        request.table.hosts(after=request.option("after") or None, limit=0)
        _ = request.first  # raises what is wrong with it
        return View("Hosts", lambda _: [hosts(request, HOSTS)], has_file=False)
    url = url if "://" in url else f"https://{url}"
    request.table.pages(url, limit=0)  # raises what is wrong with the site, and reads nothing
    site, below = canonical_url(url if url.endswith("/") else f"{url}/"), request.option("below") or None
    request.table.pages(site, after=below, limit=0)
    query = {name: texts for name, texts in request.query.items() if name not in _OURS}
    question = ListingRequest(request, LISTINGS["pages"], query, {"site": site})
    is_all, has_filter = request.option("count") == "1", any(request.option(name) for name in _FILTERS)
    sorts = {} if has_filter else {
        "fetched_at": request.link("/q/fetched", site=site, order="newest"),
        "size": request.link("/q/largest", site=site),
    }  # fmt: skip

    def parts(table: WebTable) -> Iterator[PagePart]:
        counts = request.counts.of(site, is_all=is_all) if not request.is_file or is_all else SiteCounts(is_whole=False)
        directories = Directories(table, site, below, request.query.get("open", ()))
        if not request.option("after"):
            made = partial(_tree, request, directories, counts)
            yield PagePart("directories", made, "Directories", place="side")
        if not request.is_file or request.option("part") == "pages":
            question.counts = counts
            part = question.part(table, "pages", "Pages", sorts)
            part.place, part.form_title = "main", "More filters"
            yield part
        if request.option("after") or (request.is_file and not is_all):
            return
        if counts.all.pages:
            title = f"Pages by the day of their last capture{counts.sample_text}"
            yield PagePart("captures", lambda: _captures(counts), title, look="heat", place="side")
        if request.is_file:
            yield PagePart("total", lambda: Rows(GROUPS, [counts.all]), look="facts")
        elif counts.is_whole and 0 < counts.all.pages <= MOST_AUDITED:
            yield _audited(request, table, site)
            yield _changed(request, table, site)

    host, status = urlsplit(site).netloc, 400 if question.problem else 200
    links = {
        "Pages": request.link(request.path),
        **{name: request.link(path, site=site) for name, path in _ABOUT.items()},
        "Words in titles": request.link("/q/search", site=site, in_="title"),
        "Hosts below": request.link("/q/hosts", site=host),
    }
    *above, (title, _) = request.above(site)
    crumbs = [("Hosts", request.link("/site/")), *above]
    return View(title, parts, address=site, links=links, tab="Pages", crumbs=crumbs, status=status)


_ABOUT: Final = {
    "Audit": "/audit",
    "Compare": "/compare",
    "Statistics": "/stats",
    "Broken links": "/q/broken-links",
    "Links": "/q/edges",
    "Crawls": "/q/crawls",
    "Fetched": "/q/fetched",
}


# --- Hosts ------------------------------------------------------------------------------------------------------------


GROUPS: Final = (
    column("name", heading="host"), column("pages", "count"), column("bytes", "bytes", heading="size"),
    column("fine", "fraction", of=lambda counts: _share_of_200s(counts.classes), heading="200s, %"),
    column("errors", "count", of=lambda counts: counts.classes[4] + counts.classes[5] if counts.classes else None),
    column("newest", "time", heading="last fetched"),
)  # fmt: skip


def _share_of_200s(classes: Counter[int]) -> float | None:
    return 100 * classes[2] / classes.total() if classes else None


def hosts(request: ViewRequest, size: int, place: str = "") -> PagePart:
    """Return the part with the hosts, *size* of them a page, by pages, or in the order of another column."""

    def with_statuses(host: GroupCounts) -> GroupCounts:
        first = request.counts.of_first(HostOnly(host.name), SAMPLE_OF_A_HOST)
        return replace(host, classes=first.classes, newest=first.newest)

    def make() -> Rows:
        table, counted, sort = request.table, request.counts.hosts(), request.option("sort", "pages")
        if counted is None:  # too many to be sorted
            first = Limited(table.hosts(after=request.option("after") or None, limit=size + 1), size)
            columns = LISTINGS["hosts"].columns.chosen(["name", "pages", "bytes", "counted_at"])
            return Rows(columns, first, {"name": lambda host: request.link(f"/site/{host.name}/")})
        counts = request.counts.of(ALL)
        is_whole = counts.is_whole and OTHERS not in counts.groups
        if not is_whole and not counted:
            list(table.hosts(limit=1))  # raises that it needs an index
        all_hosts = list(counts.groups.values()) if is_whole else counted
        names = [column.name for column in GROUPS if is_whole or column.name in ("name", "pages", "bytes")]
        if sort.removeprefix("-") not in names:
            raise InvalidArgument(f"sort={sort!r} must be one of {', '.join(names)}, or with a - before it")
        by = next(column.of for column in GROUPS if column.name == sort.removeprefix("-"))
        text = request.option("host").lower()
        chosen = [host for host in all_hosts if text in host.name and by(host) is not None]
        is_down = (sort != "name") != sort.startswith("-")
        chosen.sort(key=by, reverse=is_down)
        largest = max((host.pages for host in chosen), default=0) or 1
        at, end = (0, len(chosen)) if request.is_file else (request.first - 1, request.first - 1 + size)
        page = chosen[at:end]
        if not is_whole and not request.is_file:
            page = list(map(with_statuses, page))
        rows = Rows(GROUPS, page, following=str(end + 1) if end < len(chosen) else None)
        rows.hrefs = {"name": lambda host: request.link(f"/site/{host.name}/")}
        rows.charts = {
            "name": lambda host: bar(host.pages / largest, f"{host.pages:,} pages"),
            "fine": lambda host: stack(stacked_classes(host), host.name) if host.classes else "",
        }
        rows.goes_on, rows.first, rows.size = "from", at + 1, size
        rows.further = lambda: (len(chosen) - end, True)
        rows.empty = f"No host has {text!r} in its name." if text else "No host yet: webtable ingest stores a crawl."
        for name in names:
            now = sort.removeprefix("-") == name
            href = request.sorting(sort=f"-{name}" if sort == name else name)
            rows.sorts[name] = href, "↓↑"[not is_down] if now else ""
        return rows

    form = [ListingOption("host", "A part of the names of hosts.")]
    more = ("All hosts", request.link("/site/")) if place else None
    return PagePart("hosts", make, "Hosts" if place else "", form=form, more=more, place=place)


# --- The parts of a site ----------------------------------------------------------------------------------------------


def _captures(counts: SiteCounts) -> Rows:
    days = sorted(counts.days.items())
    rows = Rows([column("day", of=lambda entry: entry[0]), column("pages", "count", of=lambda entry: entry[1])], days)
    rows.drawing = area([Amount(day, count) for day, count in days[-90:]], "pages, from")
    return rows


def _audited(request: ViewRequest, table: WebTable, site: str) -> PagePart:
    def make() -> Rows:
        report = request.counts.kept(("audit", site), lambda: table.audit(site))
        return findings_of(request, report, is_short=True)

    more = "The whole audit", request.link("/audit", site=site)
    return PagePart("audit", make, "Audit", look="findings", place="side", more=more)


def _changed(request: ViewRequest, table: WebTable, site: str) -> PagePart:
    def make() -> Rows:
        try:
            report = request.counts.kept(("compare", site), lambda: compare(table, site))
        except InvalidArgument:  # there are no two crawls to be compared
            return Rows((), (), empty="It was crawled once.")
        return figures_of(request, report)

    more = "Both crawls compared", request.link("/compare", site=site)
    return PagePart("changes", make, "Changes since the last crawl", look="figures", place="side", more=more)


def _tree(request: ViewRequest, directories: Directories, counts: SiteCounts) -> Rows:
    opened = request.query.get("open", [])

    def switched(directory: Directory) -> str:
        sites = [other for other in opened if other != directory.site]
        sites += [directory.site] if directory.site not in opened else []
        return request.link(request.path, **{**request.query, "open": sites})

    def counted(directory: Directory) -> GroupCounts:
        # A directory that all of another one is in has its counts; what is below an opened one has its own.
        is_below = any(directory.site != other and directory.site.startswith(other) for other in opened)
        name = directory.name.partition("/")[0] + "/"
        if counts.is_whole and not is_below and name in counts.groups:
            return counts.groups[name]
        return request.counts.of_first(directory.site, MOST_IN_A_DIRECTORY + 1)

    def pages(directory: Directory) -> str:
        count = counted(directory).pages
        return f"{count:,}" if count <= MOST_IN_A_DIRECTORY or counts.is_whole else f"over {MOST_IN_A_DIRECTORY:,}"

    name = column("name", of=lambda below: decoded(below.name), heading="directory")
    columns = [name, column("pages", "count", pages)]
    if request.is_file:
        return Rows([column("name", heading="directory"), column("site"), *columns[1:]], directories, goes_on="below")
    columns.append(column("open", of=lambda below: "−" if below.site in opened else "+", heading="", is_usual=False))
    hrefs = {"name": lambda below: request.link(f"/site/{below.site.partition('://')[2]}"), "open": switched}
    rows = Rows(columns, directories, hrefs, "below", "None: all pages are in this directory.")
    rows.charts = {"name": lambda below: stack(stacked_classes(counted(below)), below.name)}
    return rows
