"""A site: the directories below it, its pages as a table, and its counts; and all hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from webtable import Page
from webtable.errors import InvalidArgument
from webtable.explorer.page_model import PagePart, Rows, Sheet
from webtable.explorer.views.questions import AskedQuestion
from webtable.explorer.views.statistics import MOST_COUNTED, USUAL, counted, counts
from webtable.questions import LISTINGS, Limited, ListingOption, column
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from webtable import WebTable
    from webtable.answers import Stats
    from webtable.explorer.page_model import AskedPage

HOSTS: Final = 200
DIRECTORIES: Final = 100
"""How many directories a page shows."""
MOST_READ: Final = 2_000
"""How many pages are read at most to find them: those of the directory itself lie between its directories."""
MOST_IN_A_DIRECTORY: Final = 2_000
"""How far the pages of each directory are counted."""
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


def sheet(asked: AskedPage) -> Sheet:
    """Return the page of all hosts, or that of a directory of one."""
    if not (url := asked.place):
        if asked.is_file:
            raise InvalidArgument("site is needed, as in /site.json?site=https://example.com/docs/")
        asked.table.hosts(after=asked.one("after") or None, limit=0)
        about = "All hosts that have pages, by their names read from the end, with the counts of the last refresh."
        return Sheet("Sites", lambda table: iter([hosts(asked, table, HOSTS, "No host.")]), about)
    url = url if "://" in url else f"https://{url}"
    asked.table.pages(url, limit=0)  # it raises what is wrong with the site, and reads nothing
    site, below = canonical_url(url if url.endswith("/") else f"{url}/"), asked.one("below") or None
    asked.table.pages(site, after=below, limit=0)
    query = {name: texts for name, texts in asked.query.items() if name not in _OURS}
    question = AskedQuestion(asked, LISTINGS["pages"], query, {"site": site})
    most = None if asked.one("count") == "1" else MOST_COUNTED

    def parts(table: WebTable) -> Iterator[PagePart]:
        directories = Directories(table, site, below, asked.query.get("open", ()))
        if not asked.one("after"):
            yield PagePart("directories", lambda: _tree(asked, directories), "Directories")
        if not asked.is_file or asked.one("part") == "pages":
            yield question.part(table, "pages", "Pages")
        if not asked.one("after") and not (asked.is_file and most):
            yield PagePart("pages_by_directory", lambda: _sizes(asked, table, directories.found), "Pages by directory")
            yield from counts_of(asked, counted(table, site, USUAL, most))

    host, status = urlsplit(site).netloc, 400 if question.problem else 200
    links = {
        **{name: asked.link(path) for name, path in _above(site)},
        **{name: asked.link(path, site=site) for name, path in _ABOUT.items()},
        "Words in titles": asked.link("/q/search", site=site, in_="title"),
        "Hosts below": asked.link("/q/hosts", site=host),
    }
    return Sheet(site.removeprefix("https://"), parts, links=links, status=status)


_ABOUT: Final = {
    "Audit": "/audit",
    "Comparison": "/compare",
    "Statistics": "/stats",
    "Broken links": "/q/broken-links",
    "Link graph": "/q/edges",
    "Fetched in a period": "/q/fetched",
}


def hosts(asked: AskedPage, table: WebTable, most: int, empty: str) -> PagePart:
    """Return the part with the first *most* hosts."""
    columns = LISTINGS["hosts"].columns.chosen(["name", "pages", "bytes", "counted_at"])

    def make() -> Rows:
        found = Limited(table.hosts(after=asked.one("after") or None, limit=most + 1), most)
        return Rows(columns, found, {"name": lambda host: asked.link(f"/site/{host.name}/")}, empty=empty)

    return PagePart("hosts", make, "Hosts")


def counts_of(asked: AskedPage, stats: Stats | None) -> Iterator[PagePart]:
    """Yield the counts that *stats* has; without them, what counts all pages."""
    if stats is not None:
        yield from counts(asked, stats, "counts", "Counts")
        return
    said = f"There are over {MOST_COUNTED:,} pages. Counting reads the metadata of each, and stops when you leave."
    more = "Count all of them", asked.link(asked.path, count=1)
    yield PagePart("counts", lambda: None, "Counts", said, more=more)


def _tree(asked: AskedPage, directories: Directories) -> Rows:
    opened = asked.query.get("open", [])

    def switched(one: Directory) -> str:
        others = [site for site in opened if site != one.site] if one.site in opened else [*opened, one.site]
        return asked.link(asked.path, **{**asked.query, "open": others})

    columns = [column("name", heading="directory"), column("site")]
    if not asked.is_file:
        columns[1] = column("open", of=lambda one: "close" if one.site in opened else "open", is_usual=False)
    hrefs = {"name": lambda one: asked.link(site_path(one.site)), "open": switched}
    return Rows(columns, directories, hrefs, "below", "None.")


def _sizes(asked: AskedPage, table: WebTable, directories: Sequence[Directory]) -> Rows:
    def pages(one: Directory) -> str:
        found = counted(table, one.site, (), None if asked.is_file else MOST_IN_A_DIRECTORY, size=False)
        return f"over {MOST_IN_A_DIRECTORY:,}" if found is None else str(found.pages)

    columns = [column("name", heading="directory"), column("pages", "count", pages)]
    return Rows(columns, directories, {"name": lambda one: asked.link(site_path(one.site))}, empty="None.")


def _above(site: str) -> Iterator[tuple[str, str]]:
    """Yield the host and the directories of *site*, each with the path of its page."""
    parts, path = urlsplit(site), "/site/"
    for name in (parts.netloc, *parts.path.strip("/").split("/")):
        if name:
            path += f"{name}/"
            yield f"{name}/", path
