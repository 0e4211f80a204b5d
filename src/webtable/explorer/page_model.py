"""Pages of the explorer as data: what a request asks, and the parts of its answer, of which HTML and files are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from webtable import ALL, WebTable
from webtable.display.addresses import address_of, age_of, decoded, exact
from webtable.errors import InvalidArgument, StoreUnavailable, WebTableError
from webtable.explorer.counts import RecentCounts
from webtable.explorer.http import Streaming
from webtable.formats import row_pieces
from webtable.questions import Column, Form, ListingOption, column, parse_time
from webtable.rowkey import canonical_url
from webtable.store import CallCancelled

if TYPE_CHECKING:
    from starlette.requests import Request

    from webtable.answers import Site


# --- Addresses --------------------------------------------------------------------------------------------------------


class Linker:
    """Where a request came in: what links are relative to, its options, and the moment that pages are shown as of."""

    def __init__(self, request: Request) -> None:
        self.request: Final = request
        self.root: str = request.scope.get("root_path", "")
        self.as_of: str | None = request.query_params.get("as_of") or None
        self.path: Final = str(request.url.path).removeprefix(self.root)
        self.query: Final = {option: request.query_params.getlist(option) for option in request.query_params}

    def link(self, path: str, **query: object) -> str:
        """Return the address of the page at *path* with a *query*; empty values are left out."""
        options = {name: value for name, value in query.items() if value not in (None, "", ())}
        if self.as_of:
            options.setdefault("as_of", self.as_of)
        # A path may have the URL of a page in it, whose own characters stay as they are.
        return (
            self.root + quote(path, safe="/:~@!$'()*,;=+") + (f"?{urlencode(options, doseq=True)}" if options else "")
        )

    def page(self, url: str) -> str:
        """Return the address of the page about *url*."""
        return self.link("/page", url=url)

    def above(self, url: str) -> list[tuple[str, str]]:
        """Return the host and the directories of *url*: their names, and the addresses of their pages."""
        parts, path, crumbs = urlsplit(url), "/site/", list[tuple[str, str]]()
        for name in (parts.netloc, *parts.path.split("/")[1:-1]):
            path += f"{name}/"
            if name:
                crumbs.append((decoded(name) + "/" * bool(crumbs), self.link(path)))
        return crumbs


# --- Records and their columns: the cells of a page, the rows of a file -----------------------------------------------


# The media types of the files, by their endings.
MEDIA: Final = {
    "json": "application/json",
    "jsonl": "application/jsonl",
    "csv": "text/csv; charset=utf-8",
    "csv_raw": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "tsv_raw": "text/tab-separated-values; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


class ShownPiece(NamedTuple):
    """A piece of a line: its text, or an address in pieces, where it leads, its mark, and what it says on hover.

    The mark is "marked", "old", "new" or none.
    """

    text: str
    href: str | None = None
    mark: str = ""
    hover: str = ""
    address: Sequence[tuple[str, str]] = ()
    """Texts of the address, each with its class: "off" and "cut" are copied and read aloud, but not seen."""


class ShownCell(NamedTuple):
    """A value of a record: the name and the form of its column, its lines, and the title of the page that it names."""

    name: str
    form: str
    lines: Sequence[Sequence[ShownPiece]]
    below: str | None = None
    chart: str = ""
    """A drawing of its value, as SVG."""
    moment: str = ""
    """Its moment as it is written in an address."""

    @property
    def text(self) -> str:
        """All that it says, in one line."""
        return " ".join("".join(piece.text for piece in line) for line in self.lines)


def words(name: str) -> str:
    """Return the *name* of an option or a question as words."""
    return name.replace("_", " ")


@dataclass(slots=True)
class Rows:
    """Records and their columns; what follows them, and what went wrong, is known once they were read."""

    # Nothing is read before a page or a file is written: the first rows of a long answer are seen at once.

    columns: Sequence[Column]
    records: Iterable[Any]
    hrefs: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)
    """Where the cells of a column lead; those of URLs lead to their pages."""
    goes_on: str = "after"
    """The option of the address that takes the token."""
    empty: str | Callable[[], str] = "Nothing was found."
    """What is said where there are none; to find out what was probably meant may read."""
    charts: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    """The drawings below the values of some columns."""
    drawing: str = ""
    """A drawing of all of them, as SVG."""
    sorts: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    """Of columns that an index or a bounded read can order: the address that does, and the arrow of their order now."""
    first: int = 0
    """The number of the first record in the whole answer; 0 for records that are not numbered."""
    size: int = 0
    """How many of them a page has."""
    further: Callable[[], tuple[int, bool]] | None = None
    """What returns how many records follow, and whether these are all."""
    following: str | None = None
    """The number of the record after them, where it is their token."""
    count: int = 0
    problem: str = ""

    @property
    def extent(self) -> str:
        """Which records these are, and of how many; known once they were read."""
        if not self.first or not self.count:
            return ""
        last, is_all = self.first + self.count - 1, True
        total = last
        if self.next_token is not None:
            more, is_all = self.further() if self.further is not None else (1, False)
            total += more
        return f"{self.first:,}–{last:,} of {'' if is_all else 'at least '}{total:,}"

    @property
    def next_token(self) -> str | None:
        """The token with which they go on."""
        return self.following or getattr(self.records, "next_token", None)

    def read(self) -> Iterator[Any]:
        """Yield the records; counts them, and keeps what goes wrong."""
        try:
            for record in self.records:
                self.count += 1
                yield record
        except (WebTableError, OSError) as exc:
            self.problem = problem_of(exc)

    @property
    def shown_columns(self) -> list[Column]:
        """The columns of a page, where the title of a page stands below its address."""
        has_url = any(column.name == "url" for column in self.columns)
        return [column for column in self.columns if not (has_url and column.form == "title")]

    def cells(self, linker: Linker) -> Iterator[list[ShownCell]]:
        """Yield the cells of each record."""
        columns, hosts = self.shown_columns, dict[str, str | None]()
        title = next((column for column in self.columns if column not in columns), None)
        for record in self.read():
            cells = [self._cell(column, record, linker, hosts) for column in columns]
            below = title and str(title.shown(record)).strip()
            if title:
                cells = [cell._replace(below=below or "") if cell.name == "url" else cell for cell in cells]
            drawn = {name: draw(record) for name, draw in self.charts.items()}
            yield [cell._replace(chart=drawn.get(cell.name, "")) for cell in cells]

    def pieces(self, ending: str) -> Iterator[bytes]:
        """Yield the file of the records in the format *ending*; raises what goes wrong."""
        records = iter(self.records)
        first = list(islice(records, 1))  # before the line of headings, so that a refusal is the whole answer
        yield from row_pieces(chain(first, records), self._filed(), ending)

    def elements(self) -> Iterator[bytes]:
        """Yield the records as elements of an array in JSON, without its brackets."""
        between = b"\n"
        for line in row_pieces(self.read(), self._filed(), "jsonl"):
            yield between + line.rstrip(b"\n")
            between = b",\n"

    def _filed(self) -> list[Column]:
        """Return the columns without those that only lead somewhere."""
        return [column for column in self.columns if column.is_usual or column.name not in self.hrefs]

    def _cell(self, column: Column, record: Any, linker: Linker, hosts: dict[str, str | None]) -> ShownCell:
        match column.of(record):
            case {"before": before, "after": after}:
                parts = [(part, mark) for part, mark in ((before, "old"), (after, "new")) if part is not None]
            case list() | tuple() as value if value and all(isinstance(part, str) for part in value):
                parts = [(part, "") for part in value]
            case value:
                moment = exact(value) if isinstance(value, datetime) else ""
                line = self._pieces(column, record, linker, hosts)
                return ShownCell(column.name, column.form, [line], moment=moment)
        lines: list[list[ShownPiece]] = []
        for part, mark in parts:
            # A part is shown as the whole value of such a column would be: a URL with its link, a size with its unit.
            alone = replace(column, of=partial(lambda part, _: part, part))
            lines.append([piece._replace(mark=mark) for piece in self._pieces(alone, record, linker, hosts)])
        return ShownCell(column.name, column.form, lines)

    def _pieces(self, column: Column, record: Any, linker: Linker, hosts: dict[str, str | None]) -> list[ShownPiece]:
        href, value = self.hrefs[column.name](record) if column.name in self.hrefs else None, column.of(record)
        if column.form in ("url", "urls") and isinstance(value, str) and value:
            pieces, hosts[column.name] = address_of(value, hosts.get(column.name))
            return [ShownPiece("".join(text for text, _ in pieces), href or linker.page(value), "", value, pieces)]
        hover = age_of(value) if isinstance(value, datetime) else ""
        return [ShownPiece(text, href, "marked" * marked, hover) for text, marked in column.shown(record).pieces]


def facts(values: Mapping[str, Any]) -> Rows:
    """Return *values* by their names as a record; numbers called bytes or size are sizes."""
    columns = [
        column(name, "bytes" if name in ("bytes", "size") else _FORMS.get(type(value), "text"), itemgetter(name))
        for name, value in values.items()
    ]
    return Rows(columns, [values])


_FORMS: Final[dict[type, Form]] = {int: "count", bool: "bool", float: "fraction", datetime: "time"}


def problem_of(exc: Exception) -> str:
    """The message of *exc*; where the store does not answer, also the command that finds out why.

    Raises *exc* where nobody waits for the answer any more.
    """
    if isinstance(exc, CallCancelled):
        raise exc
    more = ". The checks on the page Storage, or webtable doctor, say what is wrong and what helps"
    return f"{exc}{more}" if isinstance(exc, StoreUnavailable) else str(exc)


# --- Requests and pages -----------------------------------------------------------------------------------------------


SITE: Final = ListingOption(
    "site", "Which pages: example.com (with all hosts below it), https://example.com/docs/, or all.", is_needed=True
)
URL: Final = ListingOption("url", "The URL of a page.", is_needed=True)


@dataclass(slots=True)
class PagePart:
    """A part of a page: its *name* in JSON and in links, and what makes its rows when it is their turn.

    *look* is the template that shows them.
    """

    name: str
    make: Callable[[], Rows | None]
    title: str = ""
    about: str = ""
    look: str = "records"
    place: str = ""
    """The column of the page that it stands in, "main" or "side"; else it is as wide as the page."""
    form: Sequence[ListingOption] = ()
    action: str = ""
    """The path that the form asks, if that is not the page's."""
    form_title: str = ""
    """What opens the form, if it is closed at first."""
    facets: Sequence[tuple[str, str, str, bool]] = ()
    """Choices: their names, counts, addresses, and whether they are chosen."""
    is_folded: bool = False
    """Whether it is closed at first."""
    more: tuple[str, str] | None = None
    """The text and the address of a link below it."""
    problem: str = ""
    rows: Rows | None = None

    def made(self) -> PagePart:
        """Make the rows, or the `problem`, and return the part."""
        try:
            self.rows = self.make()
        except (WebTableError, OSError) as exc:
            self.problem = problem_of(exc)
        return self


@dataclass(slots=True)
class View:
    """A page of the explorer: its title, and its parts as they are made of a table; without them a form alone."""

    title: str
    parts: Callable[[WebTable], Iterable[PagePart]] | None
    about: str = ""
    address: str = ""
    """The URL of the page that it is about."""
    links: dict[str, str] = field(default_factory=dict)
    """Its tabs, by their names."""
    tab: str = ""
    """The tab that is open."""
    crumbs: Sequence[tuple[str, str]] = ()
    """The pages above it: their names and addresses."""
    chips: Sequence[tuple[str, str]] = ()
    """What it is, in a few words each, with their classes."""
    next_step: str = ""
    """What to do about its problem."""
    status: int = 200
    problem: str = ""
    button: str = ""
    """The word on the button of its form, if it has one."""
    has_file: bool = True
    """Whether it is offered as a file as well."""
    is_now: bool = True
    """Whether it shows what is stored now, whichever moment was chosen."""


class Explored(NamedTuple):
    """What all requests share: the `table`, which only reads, the threads of responses, and counts made before."""

    table: WebTable
    streaming: Streaming
    counts: RecentCounts


class ViewRequest(Linker):
    """What a request asks: the `options` in its address, in which `ending`, of a `table` that only reads."""

    def __init__(self, explored: Explored, request: Request, name: str, options: Sequence[ListingOption]) -> None:
        super().__init__(request)
        self.table: WebTable = explored.table
        self.streaming: Streaming = explored.streaming
        self.counts: RecentCounts = explored.counts
        if self.as_of:
            parse_time("as_of", self.as_of)  # raises what is wrong with the moment
        self.path_params: Final[Mapping[str, str]] = request.path_params
        self.options: Final = options
        self.name: Final = name.format(**request.path_params)
        self.ending: Final[str] = request.path_params.get("ending", "html")
        if self.ending not in ("html", *MEDIA):
            raise InvalidArgument(f"there is no format {self.ending!r}: one of {', '.join(MEDIA)}")

    @property
    def is_file(self) -> bool:
        """Whether the answer is a file, which has all of it."""
        return self.ending != "html"

    def option(self, name: str, usual: str = "") -> str:
        """Return the value of an option that has one."""
        return next((text.strip() for text in reversed(self.query.get(name, ())) if text.strip()), usual)

    @property
    def place(self) -> str:
        """The site that is named, in the path or in the query."""
        path = self.path_params.get("path", "")
        return f"https://{path}" if path and "://" not in path else path or self.option("site")

    def site(self) -> Site | None:
        """Return the site that is named, if any; raises `InvalidURL` and `InvalidArgument`."""
        if not (text := self.option("site")):
            return None
        site: Site = ALL if text.lower() == ALL.value else text
        self.table.pages(site, limit=0)  # it raises what is wrong with the site, and reads nothing
        return site

    def url(self) -> str:
        """Return the canonical URL of the page that is named; raises `InvalidArgument` and `InvalidURL`."""
        if not (url := self.option("url")):
            raise InvalidArgument("url is needed: the URL of a page; type it into the field at the top")
        return canonical_url(url)

    def file(self, ending: str, part: str = "") -> str:
        """Return the address of this answer as a file, of a *part* of it."""
        query = {**self.query, "part": part} | ({"site": self.place} if "path" in self.path_params else {})
        return self.link(f"/{self.name}.{ending}", **query)

    def now(self) -> str:
        """Return the address of what is stored now."""
        query = {name: texts for name, texts in self.query.items() if name != "as_of"}
        return f"{self.root}{quote(self.path)}?{urlencode(query, doseq=True)}"

    @property
    def first(self) -> int:
        """The number of the first record of a page of an answer."""
        text = self.option("from", "1")
        if not text.isascii() or not text.isdigit() or not 0 < len(text) < 16:
            raise InvalidArgument(f"from={text[:100]!r} must be a number of a result, 1 or more")
        return max(int(text), 1)

    def next(self, rows: Rows) -> str:
        """Return the address at which *rows* go on; it has the tokens of the pages before, as an answer has none."""
        place: dict[str, Any] = {"from": rows.first + rows.count} if rows.first else {}
        if rows.first and rows.goes_on == "after":
            place["back"] = [*self.query.get("back", ()), *self.query.get("after", ())][-MOST_BACK:]
        return self.sorting(**place | {rows.goes_on: rows.next_token})

    def previous(self, rows: Rows) -> str | None:
        """Return the address of the page before, or that of the first page where its token is not known any more."""
        if rows.first <= 1:
            return None
        back, before = self.query.get("back", []), rows.first - rows.size
        if before > 1 and (back or rows.goes_on == "from"):
            return self.sorting(**{"from": before, "after": back[-1:], "back": back[:-1]})
        return self.sorting()

    def sorting(self, **options: object) -> str:
        """Return the address of this page with other *options*, from its first row on unless they say another place."""
        query = {name: texts for name, texts in self.query.items() if name not in _PLACE}
        return self.link(self.path, **query | options)


_PLACE: Final = frozenset({"after", "back", "from"})
# Of how many pages before an address has the tokens: each has some hundred characters.
MOST_BACK: Final = 16


# --- What a page becomes ----------------------------------------------------------------------------------------------


def parts_of(view: View, table: WebTable, name: str = "") -> Iterator[PagePart]:
    """Yield the parts of *view*, or that called *name*, each made; what ends them is the problem of a last one."""
    try:
        for part in view.parts(table) if view.parts else ():
            if name in ("", part.name):
                yield part.made()
    except (WebTableError, OSError) as exc:
        yield PagePart("", lambda: None, problem=problem_of(exc))


def json_pieces(request: ViewRequest, view: View, table: WebTable) -> Generator[bytes | str]:
    """Yield the parts of *view*, or the one that is named, as an object; what follows and the problem end it."""
    # The object is written by hand, as its parts are: a part of a million rows is never held.
    end: dict[str, str | None] = {"problem": view.problem or None}
    between = "{"
    for part in parts_of(view, table, request.option("part")):
        if part.name:
            is_facts = part.look == "facts"
            yield f"{between}{json.dumps(part.name)}: {'' if is_facts else '['}"
            between = ", "
            if part.rows is not None:
                yield from part.rows.elements()
                end.setdefault("next" if part.rows.goes_on == "after" else part.rows.goes_on, part.rows.next_token)
            yield ("null" if part.rows is None else "") if is_facts else "\n]"
        end["problem"] = end["problem"] or part.problem or (part.rows.problem if part.rows else "") or None
    yield between + json.dumps(end)[1:] + "\n"


def file_pieces(request: ViewRequest, view: View, table: WebTable) -> Generator[bytes | str]:
    """Yield the part that is named, or the first one with rows, as a file; raises what goes wrong."""
    name, names = request.option("part"), [""]
    for part in view.parts(table) if view.parts else ():
        names.append(part.name)
        if name in ("", part.name) and (rows := part.make()) is not None:
            yield from rows.pieces(request.ending)
            return
    if name not in names:
        raise InvalidArgument(f"part={name!r}: not a part of this page; these are: {', '.join(filter(None, names))}")
