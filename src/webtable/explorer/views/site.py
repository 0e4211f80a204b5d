"""A site: the directories below it, its pages as a table, and its counts; and all hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from webtable import Page
from webtable.errors import InvalidArgument
from webtable.explorer.listings import AskedListing, QuestionPage, query_of
from webtable.explorer.reading import reading
from webtable.explorer.rendering import Ending, Linker, ShownCell, rows_of
from webtable.explorer.views.json_pages import json_page
from webtable.explorer.views.statistics import MOST_COUNTED, USUAL, GroupBar, as_dict, bars, counted
from webtable.questions import LISTINGS
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from webtable import WebTable
    from webtable.answers import Stats
    from webtable.explorer.explorer import Explorer
    from webtable.explorer.streaming import Outlet

HOSTS: Final = 200
DIRECTORIES: Final = 100
"""How many directories a page shows."""
MOST_READ: Final = 2_000
"""How many pages are read at most to find them: those of the directory itself lie between its directories."""
MOST_IN_A_DIRECTORY: Final = 2_000
"""How far the pages of each directory are counted."""
HOST_COLUMNS: Final = LISTINGS["hosts"].columns.chosen(["name", "pages", "bytes", "counted_at"])
_OURS: Final = frozenset({"below", "count"})
# A URL has no character above `~`, so this is after all URLs of a directory that are not longer.
_LAST: Final = "~" * 1_000


def host_rows(table: WebTable, linker: Linker, ending: Ending, most: int, after: str = "") -> Iterator[list[ShownCell]]:
    """Yield the first *most* hosts after a token as rows; *ending* is how they go on, or that the index is missing."""
    listed = AskedListing(LISTINGS["hosts"], {"after": [after]}).answer(table, most)
    yield from rows_of(listed, HOST_COLUMNS, linker, ending)
    if listed.next_token is not None:
        ending.next = linker.link("/site/", after=listed.next_token)


class Directory(NamedTuple):
    """A directory below another one: its name with a `/` at the end, the URL as a site, and its page."""

    name: str
    site: str
    href: str


class Directories:
    """The directories right below the directory *site*, found one after another as they are read.

    After a page in one of them, the next page is looked for after all of that one. `next` is the token that goes on
    where this had to end.
    """

    def __init__(self, table: WebTable, site: str, linker: Linker, after: str | None = None) -> None:
        self.next: str | None = None
        self.found: Final[list[Directory]] = []
        self._table, self._site, self._linker, self._after = table, site, linker, after

    def __iter__(self) -> Iterator[Directory]:
        pages, after, read, run = self._table.pages(self._site), self._after, 0, 1
        while len(self.found) < DIRECTORIES and read < MOST_READ:
            last, name = None, ""
            for last in self._table.pages(self._site, limit=run, after=after):
                read += 1
                if name := self._name(last.url):
                    break
            if last is None:
                return
            after, run = pages.token_after(last), min(2 * run, 256)
            if name and not (self.found and self.found[-1].name == name):
                site = f"{self._site}{name}"
                after, run = pages.token_after(Page(url=f"{site}{_LAST}")), 1
                self.found.append(Directory(name, site, self._linker.link(site_path(site))))
                yield self.found[-1]
        self.next = after

    def _name(self, url: str) -> str:
        """Return the name of the directory that *url* is in, with its `/`; "" for a page of the directory itself."""
        name, slash, _ = urlsplit(url).path.removeprefix(urlsplit(self._site).path).partition("/")
        return name + slash if slash else ""


def site_path(site: str) -> str:
    """Return the path of the page about the directory *site*."""
    parts = urlsplit(site)
    return f"/site/{parts.netloc}{parts.path}"


def directory_named(explorer: Explorer, text: str) -> str:
    """Return the canonical URL of the directory of one host that *text* names; raises `InvalidURL` and others."""
    url = text if "://" in text else f"https://{text}"
    explorer.table.pages(url, limit=0)  # it raises what is wrong with the site, and reads nothing
    return canonical_url(url if url.endswith("/") else f"{url}/")


class SiteSketch:
    """What the page about the directory *site* of a host shows, each part when it is asked for."""

    def __init__(self, table: WebTable, site: str, linker: Linker, *, below: str | None, most: int | None) -> None:
        self.site: Final = site
        self.directories: Final = Directories(table, site, linker, below)
        self._table, self._linker, self._most = table, linker, most

    def more(self) -> str | None:
        """Return where the directories go on."""
        token = self.directories.next
        return None if token is None else self._linker.link(site_path(self.site), below=token)

    def pages_of(self, directory: Directory) -> str:
        """Return how many pages a directory has, counted as far as that is quick."""
        most = None if self._most is None else MOST_IN_A_DIRECTORY
        found = counted(self._table, directory.site, (), most=most, size=False)
        return f"over {most:,}" if found is None else f"{found.pages:,}"

    def stats(self) -> Stats | None:
        """Return the counts of the site, or None if it has too many pages to count them unasked."""
        return counted(self._table, self.site, USUAL, most=self._most)

    def bars(self, stats: Stats) -> dict[str, list[GroupBar]]:
        """Return the groups of *stats*."""
        return bars(stats, self.site, self._linker)


def page(explorer: Explorer, request: Request) -> Response:
    """Return the page of all hosts, or that of a directory of one."""
    linker, path, query = Linker(request), str(request.path_params["path"]), query_of(request)
    if not path:
        return _hosts(explorer, linker, query.get("after", [""])[-1])
    site = directory_named(explorer, path)
    below = query.get("below", [""])[-1] or None
    explorer.table.pages(site, after=below, limit=0)
    filters = {name: values for name, values in query.items() if name not in _OURS}
    answer = QuestionPage(LISTINGS["pages"], linker, site_path(site), filters, {"site": [site]})

    def make(outlet: Outlet) -> None:
        table = reading(explorer.table, outlet.gone)
        most = None if query.get("count") == ["1"] else MOST_COUNTED
        values = answer.values(table)
        explorer.pages.write(
            outlet,
            "site.html",
            linker,
            site.removeprefix("https://"),
            sketch=SiteSketch(table, site, linker, below=below, most=most),
            above=_above(site, linker),
            host=urlsplit(site).netloc,
            is_first="after" not in filters,
            count=linker.link(site_path(site), count=1),
            **values,
        )

    return explorer.streaming.response(make, "text/html", 400 if answer.problem else 200)


def _above(site: str, linker: Linker) -> list[tuple[str, str]]:
    """Return the host and the directories of *site*, each with its page."""
    parts = urlsplit(site)
    names, found = [f"{parts.netloc}/", *(f"{name}/" for name in parts.path[1:-1].split("/") if parts.path != "/")], []
    path = "/site/"
    for name in names:
        path += name
        found.append((name, linker.link(path)))
    return found


def _hosts(explorer: Explorer, linker: Linker, after: str) -> Response:
    explorer.table.hosts(after=after or None, limit=0)

    def make(outlet: Outlet) -> None:
        ending = Ending(empty="No host.")
        rows = host_rows(reading(explorer.table, outlet.gone), linker, ending, HOSTS, after)
        explorer.pages.write(outlet, "hosts.html", linker, "Sites", columns=HOST_COLUMNS, rows=rows, after=ending)

    return explorer.streaming.response(make, "text/html")


def as_json(explorer: Explorer, request: Request) -> Response:
    """Return the directories below a directory as JSON; with `count=1` with their pages, and the statistics."""
    query = query_of(request)
    if not any(query.get("site", [])):
        raise InvalidArgument("site is needed, as in /site.json?site=https://example.com/docs/")
    site, linker = directory_named(explorer, query["site"][-1]), Linker(request)
    below = query.get("below", [""])[-1] or None
    explorer.table.pages(site, after=below, limit=0)
    is_whole = query.get("count") == ["1"]

    def make(table: WebTable) -> dict[str, Any]:
        directories = Directories(table, site, linker, below)
        found: list[dict[str, Any]] = [{"name": one.name, "site": one.site} for one in directories]
        for one in found if is_whole else ():
            one["pages"] = table.stats(one["site"], by=(), bytes=False).pages
        stats = {"statistics": as_dict(table.stats(site, by=USUAL))} if is_whole else {}
        return {"site": site, "directories": found, "below": directories.next, **stats}

    return json_page(explorer, make)
