"""A site: the directories below it, its pages as a table, and its counts; and all hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from webtable import Page, WebTable
from webtable.errors import InvalidArgument
from webtable.explorer.page_model import PagePart, Rows, View, ViewRequest
from webtable.explorer.views.questions import ListingRequest
from webtable.explorer.views.statistics import USUAL, count_limit, counted, counts, too_many
from webtable.questions import LISTINGS, Limited, ListingOption, column
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from webtable.answers import Stats

HOSTS: Final = 200
# How many directories a page shows, and how many pages are read at most to find them: the pages of the directory itself
# lie between its directories, and may be a million.
DIRECTORIES: Final = 100
MOST_READ: Final = 2_000
# How far the pages of each directory are counted.
MOST_IN_A_DIRECTORY: Final = 2_000
OPTIONS: Final = (
    ListingOption("site", "A directory of one host: https://example.com/docs/.", is_needed=True),
    ListingOption("below", "The token after which the directories go on."),
    ListingOption("open", "The directories that are shown with those below them.", is_many=True),
    ListingOption("count", "1: count all pages, however many there are."),
)
_OURS: Final = frozenset({"below", "count", "open", "part", "site"})
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
                self.found.append(Directory(self._above + name, site))
                yield self.found[-1]
                if site in self._opened:
                    yield from Directories(self._table, site, None, self._opened, self._above + name)
        self.next_token = after

    def _name(self, url: str) -> str:
        """Return the name of the directory that *url* is in, with its `/`; "" for a page of the directory itself."""
        name, slash, _ = urlsplit(url).path.removeprefix(urlsplit(self._site).path).partition("/")
        return name + slash if slash else ""


def site_path(site: str) -> str:
    """Return the path of the page about the directory *site*."""
    parts = urlsplit(site)
    return f"/site/{parts.netloc}{parts.path}"


def view(request: ViewRequest) -> View:
    """Return the page of all hosts, or that of a directory of one."""
    if not (url := request.place):
        if request.is_file:
            raise InvalidArgument("site is needed, as in /site.json?site=https://example.com/docs/")
        request.table.hosts(after=request.option("after") or None, limit=0)
        about = "All hosts that have pages, by their names read from the end, with the counts of the last refresh."
        return View("Sites", lambda table: [hosts(request, table, HOSTS, "No host.")], about)
    url = url if "://" in url else f"https://{url}"
    request.table.pages(url, limit=0)  # raises what is wrong with the site, and reads nothing
    site, below = canonical_url(url if url.endswith("/") else f"{url}/"), request.option("below") or None
    request.table.pages(site, after=below, limit=0)
    query = {name: texts for name, texts in request.query.items() if name not in _OURS}
    question = ListingRequest(request, LISTINGS["pages"], query, {"site": site})
    limit = count_limit(request)

    def parts(table: WebTable) -> Iterator[PagePart]:
        directories = Directories(table, site, below, request.query.get("open", ()))
        if not request.option("after"):
            yield PagePart("directories", lambda: _tree(request, directories), "Directories")
        if not request.is_file or request.option("part") == "pages":
            yield question.part(table, "pages", "Pages")
        if not request.option("after") and not (request.is_file and limit):
            yield PagePart(
                "pages_by_directory", lambda: _sizes(request, table, directories.found), "Pages by directory"
            )
            yield from counts_of(request, counted(table, site, USUAL, limit))

    host, status = urlsplit(site).netloc, 400 if question.problem else 200
    links = {
        **{name: request.link(path) for name, path in _above(site)},
        **{name: request.link(path, site=site) for name, path in _ABOUT.items()},
        "Words in titles": request.link("/q/search", site=site, in_="title"),
        "Hosts below": request.link("/q/hosts", site=host),
    }
    return View(site.removeprefix("https://"), parts, links=links, status=status)


_ABOUT: Final = {
    "Audit": "/audit",
    "Comparison": "/compare",
    "Statistics": "/stats",
    "Broken links": "/q/broken-links",
    "Link graph": "/q/edges",
    "Fetched in a period": "/q/fetched",
}


def hosts(request: ViewRequest, table: WebTable, limit: int, empty: str) -> PagePart:
    """Return the part with the first *limit* hosts."""
    columns = LISTINGS["hosts"].columns.chosen(["name", "pages", "bytes", "counted_at"])

    def make() -> Rows:
        first = Limited(table.hosts(after=request.option("after") or None, limit=limit + 1), limit)
        return Rows(columns, first, {"name": lambda host: request.link(f"/site/{host.name}/")}, empty=empty)

    return PagePart("hosts", make, "Hosts")


def counts_of(request: ViewRequest, stats: Stats | None) -> Iterator[PagePart]:
    """Return the counts that *stats* has; without them, the link that counts all pages."""
    return iter([too_many(request)]) if stats is None else counts(request, stats, "counts", "Counts")


def _tree(request: ViewRequest, directories: Directories) -> Rows:
    opened = request.query.get("open", [])

    def switched(directory: Directory) -> str:
        site = directory.site
        others = [other for other in opened if other != site] if site in opened else [*opened, site]
        return request.link(request.path, **{**request.query, "open": others})

    columns = [column("name", heading="directory"), column("site")]
    if not request.is_file:
        columns[1] = column("open", of=lambda below: "close" if below.site in opened else "open", is_usual=False)
    hrefs = {"name": lambda below: request.link(site_path(below.site)), "open": switched}
    return Rows(columns, directories, hrefs, "below", "None.")


def _sizes(request: ViewRequest, table: WebTable, directories: Sequence[Directory]) -> Rows:
    def pages(directory: Directory) -> str:
        stats = counted(table, directory.site, (), None if request.is_file else MOST_IN_A_DIRECTORY, size=False)
        return f"over {MOST_IN_A_DIRECTORY:,}" if stats is None else str(stats.pages)

    columns = [column("name", heading="directory"), column("pages", "count", pages)]
    return Rows(columns, directories, {"name": lambda below: request.link(site_path(below.site))}, empty="None.")


def _above(site: str) -> Iterator[tuple[str, str]]:
    """Yield the host and the directories of *site*, each with the path of its page."""
    parts, path = urlsplit(site), "/site/"
    for name in (parts.netloc, *parts.path.strip("/").split("/")):
        if name:
            path += f"{name}/"
            yield f"{name}/", path
