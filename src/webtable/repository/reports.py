"""Reports on a site: an audit of what is wrong with its pages, and a comparison of two moments; as data and as HTML.

They are made of the answers of a table, which hands itself in: so this module imports no question but what they return.
"""

from __future__ import annotations

import heapq
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from itertools import groupby, islice
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, get_args

from webtable._clock import clock
from webtable._importable import needed
from webtable._messages import message_of, text_of
from webtable.display import Shown, ShowsItself
from webtable.display.charts import bar, shares
from webtable.display.markup import Markup, document, escaped, shortened, table, tag, terms, web_link
from webtable.display.text import class_bounds, class_name, harmless, plural, size_class, size_text
from webtable.errors import IndexNeeded, InvalidArgument, MissingExtra
from webtable.progress import counting
from webtable.repository.arguments import MOST_FINDINGS, moments
from webtable.repository.indexes.index import SIMILARITY
from webtable.repository.questions.captures import Crawl
from webtable.repository.questions.changes import CHANGE_KINDS
from webtable.repository.questions.findings import BOT, FINDINGS, NOT_INDEXABLE, TESTS, in_another_language
from webtable.repository.questions.redirect_chains import ChainProblem
from webtable.repository.questions.sitemaps import SitemapProblem
from webtable.repository.reading.page_counts import OTHERS, UNKNOWN, PageCounts, grouping
from webtable.repository.reading.scope import Scope, Site, named_site, site_text
from webtable.rowkey.urls import split_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from webtable.page.page import Page
    from webtable.repository.answers.results import Pages, Results
    from webtable.repository.arguments import Grouping, Moment, Progress
    from webtable.repository.duplicates.exact import DuplicateGroup, Sameness
    from webtable.repository.duplicates.near import NearDuplicateGroup
    from webtable.repository.failed_fetches import FailedFetch
    from webtable.repository.links.links import BrokenLink
    from webtable.repository.metrics import Metrics
    from webtable.repository.questions.changes import Change, ChangeKind, IgnoredContent
    from webtable.repository.questions.findings import Finding
    from webtable.repository.questions.redirect_chains import RedirectChain
    from webtable.repository.questions.sitemaps import SitemapURL
    from webtable.repository.questions.titles import TitleProblem


# --- What reports ask: a `WebTable` has it. Its own class would import the module that makes its audit ----------------


class SiteLinks(Protocol):
    """The questions about links that reports ask."""

    def broken(self, site: Site, /) -> Results[BrokenLink]:
        """Return the links that lead to an error page."""

    def orphans(self, site: Site, /) -> Pages:
        """Return the pages that no other page links to."""


class SiteIndexes(Protocol):
    """The questions about indexes that reports ask."""

    def states(self) -> Mapping[str, object]:
        """Return the states of the indexes, by name."""


class SiteTable(Protocol):
    """A table of web pages, as far as reports ask it: a `WebTable`."""

    @property
    def links(self) -> SiteLinks:
        """The links between pages."""

    @property
    def indexes(self) -> SiteIndexes:
        """The indexes."""

    @property
    def metrics(self) -> Metrics:
        """A snapshot of the metrics."""

    def pages(self, site: Site, /) -> Pages:
        """Return the pages of *site*."""

    def errors(self, site: Site, /) -> Pages:
        """Return the error pages of *site*."""

    def failed(self, site: Site, /) -> Results[FailedFetch]:
        """Return the URLs whose last fetch failed."""

    def redirect_chains(self, site: Site, /) -> Results[RedirectChain]:
        """Return the chains of redirects."""

    def duplicate_groups(self, site: Site, /, *, by: Sameness = "content") -> Results[DuplicateGroup]:
        """Return the groups of pages with the same content or title."""

    def near_duplicate_groups(self, site: Site, /) -> Results[NearDuplicateGroup]:
        """Return the groups of pages with nearly the same text."""

    def sitemaps(self, site: Site, /) -> Results[SitemapURL]:
        """Return the URLs of sitemaps, and pages in none."""

    def titles(self, site: Site, /) -> Results[TitleProblem]:
        """Return the problems with titles."""

    def changes(
        self,
        site: Site,
        /,
        *,
        since: datetime,
        until: datetime,
        met_since: datetime,
        kind: Collection[ChangeKind],
        ignore: IgnoredContent | None,
    ) -> Results[Change]:
        """Return the changes of pages between two moments."""

    def crawls(self, site: Site, /, *, limit: int) -> Results[Crawl]:
        """Return the crawls, the newest first."""


# --- Sections: the first findings of a kind, the number of all, and the command that lists them -----------------------


Kind = Literal["url", "urls", "text", "status", "number", "size", "time"]
"""The kinds of values in a column. Each value may also be a `Pair`: before and after."""


Severity = Literal["high", "medium", "low"]
"""How much the findings of a section harm a site."""


class Heading(NamedTuple):
    """A column of a section: its name, and the kind of its values."""

    name: str
    kind: Kind


class Pair(NamedTuple):
    """A value before and after."""

    before: object
    after: object


@dataclass(frozen=True, slots=True)
class Section:
    """The first `rows` of `count` findings of one kind; `command` lists all of them.

    `name` is stable across versions. If the question could not be asked, `left_out` says why, and what would help.
    """

    name: str
    title: str
    about: str
    headings: tuple[Heading, ...]
    command: str
    rows: tuple[tuple[object, ...], ...] = ()
    count: int = 0
    left_out: str = ""

    @property
    def severity(self) -> Severity:
        """How much it harms, for a section of an audit: "high" costs visitors now, "low" is to be known."""
        return _FIXES[self.name][0] if self.name in _FIXES else "medium"

    @property
    def fix(self) -> str:
        """What to do about its findings, for a section of an audit; "" where that depends on them."""
        return _FIXES[self.name][1] if self.name in _FIXES else ""

    def filled(self, first: FirstRows) -> Section:
        """Return the section with these findings."""
        return replace(self, rows=tuple(first.rows), count=first.count)

    def to_dict(self) -> dict[str, Any]:
        """Return the section as JSON values, except for moments."""
        names = [heading.name for heading in self.headings]
        return {
            "name": self.name,
            "title": self.title,
            "count": None if self.left_out else self.count,
            "left_out": self.left_out or None,
            "command": self.command,
            "rows": [dict(zip(names, map(_pair_as_dict, row), strict=True)) for row in self.rows],
        }


def _pair_as_dict(value: object) -> object:
    return value._asdict() if isinstance(value, Pair) else value


@dataclass(slots=True)
class FirstRows:
    """Findings as they are added: the first `limit` as rows, and the number of all."""

    limit: int
    rows: list[tuple[object, ...]] = field(default_factory=list)
    count: int = 0

    def add(self, *row: object) -> None:
        """Add a finding."""
        self.count += 1
        if len(self.rows) < self.limit:
            self.rows.append(row)


def check_most(most: int) -> None:
    """Raise `InvalidArgument` unless *most* is an integer above 0."""
    if type(most) is not int or most < 1:
        raise InvalidArgument(f"most={most!r} must be at least 1")


class Report(ShowsItself):
    """A report on a `site`, with its findings in `sections`."""

    __slots__ = ()

    site: str
    sections: tuple[Section, ...]
    empty_reason: str
    """That there are no pages of the site, and which one was probably meant; "" if there are some."""

    @property
    def subject(self) -> str:
        """The pages of the site in words, with a capital letter."""
        words = str(Scope.of(named_site(self.site)))
        return words[0].upper() + words[1:]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values, except for moments."""
        names = [attribute.name for attribute in fields(self)]  # type: ignore[arg-type]
        return {name: _as_dicts(getattr(self, name)) for name in names if name not in ("listing", "empty_reason")}

    def __repr__(self) -> str:
        counts = self.empty_reason or ", ".join(f"{section.name} {_count(section, '')}" for section in self.sections)
        return f"<{type(self).__name__} of {self.site}: {counts}>"

    def _shown(self) -> Shown:
        """Return the number of findings of each section."""
        if self.empty_reason:
            return Shown("", (), (), self.empty_reason)
        rows = [
            (section.title, None if section.left_out else section.count, section.left_out or section.about)
            for section in self.sections
        ]
        note = ".html() is the page, .excel() a workbook, .to_dict() all that it holds"
        return Shown(f"{type(self).__name__} of {self.site}", ("finding", "found", "what it is"), rows, note)

    def _facts(self) -> list[tuple[str, str]]:
        """Return the facts that stand above the sections: the name and the value of each."""
        raise NotImplementedError

    def excel(self) -> bytes:
        """Return the report as an Excel workbook (.xlsx): its facts and counts, and a sheet for each finding with rows.

        A crawled text is a text there, also where it begins like a formula. Times are UTC. A sheet has at most
        1,048,575 findings, and a cell 32,767 characters, as Excel allows. Raises `MissingExtra` without openpyxl.
        """
        about = [(self.subject, None), *self._facts()]
        rows = [
            (
                section.title,
                None if section.left_out else section.count,
                section.severity if section.fix else "",
                section.left_out or section.about,
                section.fix,
                section.command,
            )
            for section in self.sections
        ]
        if self.empty_reason:
            about.append((self.empty_reason, None))
        headings = [Heading(name, "number" if name == "found" else "text") for name in _OVERVIEW]
        return _workbook(
            [("Overview", headings, rows, about)]
            + [(section.title, section.headings, section.rows, []) for section in self.sections if section.rows]
        )


def nothing_of(table: SiteTable, site: Site) -> str:
    """Return that *table* has no pages of *site*, with the one that was probably meant; "" if it has some."""
    pages = table.pages(site)
    return pages._nothing() if pages.first() is None else ""


def _as_dicts(value: Any) -> object:
    """Return a value of a report with dicts in place of sections and groups."""
    if isinstance(value, tuple):
        return [part.to_dict() if isinstance(part, Section) else part._asdict() for part in value]
    return dict(value) if isinstance(value, dict) else value


# --- A report as one HTML page: facts, links to its sections, and their lists. Crawled text is escaped ----------------


_TEXTS = ("url", "urls", "text")
"""The kinds that stand at the left of their column; numbers stand at its right."""


def report_page(
    title: str, lead: object, facts: Iterable[tuple[str, str]], body: object, sections: Sequence[Section]
) -> str:
    """Return a page with *lead*, *facts*, links to *sections*, *body* and the sections."""
    return document(title, tag("h1", title), lead, terms(facts), _contents(sections), body, map(_section, sections))


def _damage(report: Audit | Comparison) -> list[tuple[str, str]]:
    return [("damaged rows, left out", f"{report.damaged:,}")] if report.damaged else []


def moment_text(moment: datetime) -> str:
    """Return *moment* as reports show it, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def chart(title: str, name: str, counts: Sequence[tuple[str, int, int | None]]) -> Markup:
    """Return *counts* below a *title* as a table with bars: the name of each, its pages, and its bytes if known."""
    total = sum(pages for _, pages, _ in counts) or 1
    heads = [tag("th", name, class_="text"), tag("th", "pages")]
    rows = [
        [tag("td", label, class_="text"), tag("td", f"{pages:,}", bar(pages / total))] for label, pages, _ in counts
    ]
    if any(size is not None for *_, size in counts):
        heads.append(tag("th", "size"))
        rows = [[*cells, tag("td", size_text(size))] for cells, (*_, size) in zip(rows, counts, strict=True)]
    return tag("div", tag("h3", title), table(heads, rows) if rows else tag("p", "None."))


def _contents(sections: Sequence[Section]) -> Markup:
    links = [tag("li", _content(section)) for section in sections]
    return tag("nav", tag("ul", links), aria_label="Sections") if links else Markup()


def _count(section: Section, thousands: str = ",") -> str:
    return "–" if section.left_out else f"{section.count:{thousands}}"


def _content(section: Section) -> Markup:
    count = tag("strong", _count(section))
    return tag("a", section.title, " ", count, href=f"#{section.name}", class_="" if section.count else "none")


def _section(section: Section) -> Markup:
    count = "" if section.left_out else tag("span", f"{section.count:,}", class_="count")
    about = tag("p", section.about, class_="muted")
    fix = tag("p", section.fix) if section.count and section.fix else ""
    return tag("section", tag("h2", section.title, " ", count), about, fix, _findings(section), id=section.name)


def _findings(section: Section) -> Markup:
    if section.left_out:
        return tag("p", f"Left out: {section.left_out}", class_="left-out")
    if not section.count:
        return tag("p", "None.")
    shown = len(section.rows)
    which = "All of them" if shown == section.count else f"The first {shown:,} of {section.count:,}; all of them"
    heads = [
        tag("th", _words(heading.name), class_="text" if heading.kind in _TEXTS else "") for heading in section.headings
    ]
    rows = (_cells(section.headings, row) for row in section.rows)
    return escaped(
        [table(heads, rows, class_="list"), tag("p", f"{which}: ", tag("code", section.command), class_="muted")]
    )


def _cells(headings: Sequence[Heading], row: Sequence[object]) -> Iterator[Markup]:
    for heading, value in zip(headings, row, strict=True):
        status = value.after if isinstance(value, Pair) else value
        is_bad = heading.kind == "status" and isinstance(status, int) and status >= 400
        classes = f"{heading.kind}{' text' if heading.kind in _TEXTS else ''}{' bad' if is_bad else ''}"
        yield tag("td", _shown(heading.kind, value), class_=classes, data_name=_words(heading.name))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(kind: Kind, value: object) -> object:
    match kind, value:
        case _, None:
            return ""
        case _, Pair():
            return [tag("del", _shown(kind, value.before)), " → ", tag("ins", _shown(kind, value.after))]
        case "url", str():
            return web_link(value)
        case "urls", tuple():
            return map(web_link, value)
        case "size", int():
            return tag("span", size_text(value), title=f"{value:,} bytes")
        case "time", datetime():
            return moment_text(value)
        case "number", int():
            return f"{value:,}"
    # Titles may be written from right to left, which must not affect the text around them.
    return tag("bdi", shortened(str(value)))


# --- A report as an Excel workbook ------------------------------------------------------------------------------------
#
# The limits are Excel's: https://support.microsoft.com/office/1672b34d-7043-467e-8e27-269d656771c3


_OVERVIEW = ("finding", "found", "severity", "what it is", "what to do", "command that lists all")
_WIDTHS: Final[Mapping[Kind, int]] = {"url": 70, "urls": 70, "text": 45, "time": 18}
_MAX_ROWS, _MAX_CELL, _MAX_LINKS, _MAX_LINK = 1_048_575, 32_767, 65_530, 2_079
_EXCEL_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
"""Where Excel would read a character by its code (ECMA-376, part 1, 22.9.2.19, ST_Xstring)."""
_NOT_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
Sheet = tuple[str, Sequence[Heading], Iterable[Sequence[object]], Sequence[tuple[str, str | None]]]
"""A sheet of a workbook: its title, its columns, its rows, and lines of two cells that stand above them."""


def _workbook(sheets: Iterable[Sheet]) -> bytes:
    with needed("openpyxl", "excel"):
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.styles import Alignment, Font
        from openpyxl.utils import get_column_letter
    bold, top = Font(bold=True), Alignment(vertical="top", wrap_text=True)
    book, links = Workbook(write_only=True), 0

    def cell_of(sheet: Any, value: object, *, font: Font | None = None, is_link: bool = False) -> WriteOnlyCell:
        shown = _excel_value(value)
        cell = WriteOnlyCell(sheet, shown)
        if isinstance(shown, str):
            cell.data_type, cell.alignment = "s", top  # a text that begins with "=" would be a formula
            if is_link:
                cell.hyperlink = value  # Excel's escapes are those of cells alone
        if font:
            cell.font = font
        return cell

    for title, headings, rows, above in sheets:
        sheet = book.create_sheet(title)
        for number, heading in enumerate(headings, 1):
            sheet.column_dimensions[get_column_letter(number)].width = _WIDTHS.get(heading.kind, 12)
        sheet.freeze_panes = f"A{len(above) + 2}"
        for line in above:
            sheet.append([cell_of(sheet, value) for value in line])
        sheet.append([cell_of(sheet, _words(heading.name), font=bold) for heading in headings])
        for row in islice(rows, _MAX_ROWS - len(above)):
            cells = []
            for heading, value in zip(headings, row, strict=True):
                is_link = heading.kind == "url" and links < _MAX_LINKS and _is_web_link(value)
                links += is_link
                cells.append(cell_of(sheet, value, is_link=is_link))
            sheet.append(cells)
    file = BytesIO()
    book.save(file)
    return file.getvalue()


def _is_web_link(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_LINK and value.lower().startswith(("http://", "https://"))


def _excel_value(value: object) -> object:
    match value:
        case Pair():
            return " → ".join("" if side is None else str(_excel_value(side)) for side in value)
        case datetime():
            return value.astimezone(UTC).replace(tzinfo=None)  # Excel's times have no zone
        case tuple():
            return "\n".join(str(_excel_value(part)) for part in value)[:_MAX_CELL]
        case str():
            return _EXCEL_ESCAPE.sub("_x005F_", _NOT_IN_XML.sub("\ufffd", harmless(value[:_MAX_CELL])))[:_MAX_CELL]
    return value


# --- A comparison of a site at two moments: which pages are new, gone or changed, with their former values ------------


MOST = 200
"""How many pages of each kind a comparison lists, by default."""
_URL, _TITLE = Heading("url", "url"), Heading("title", "text")
_STATUS, _SIZE = Heading("status", "status"), Heading("size", "size")
Outline = tuple[str, str, tuple[Heading, ...]]
"""What a section is called, what it is about, and its columns."""
_OUTLINES: dict[ChangeKind, Outline] = {
    "new": ("New", "Pages whose first capture came in between.", (_URL, _STATUS, _TITLE, _SIZE)),
    "gone": (
        "Gone",
        "Pages whose status was below 400 before, and is 404 or 410 after.",
        (_URL, _STATUS, _TITLE, Heading("size_before", "size")),
    ),
    "moved": (
        "Moved",
        "Pages that did not redirect before, and do after.",
        (_URL, _STATUS, Heading("leads_to", "url"), _TITLE),
    ),
    "missing": (
        "Missing",
        "Pages that were stored before and were not fetched again, with the date when they were last.",
        (_URL, _STATUS, _TITLE, Heading("last_fetched", "time")),
    ),
    "changed": (
        "Changed",
        "Pages whose content, status, redirect target, or what they say of themselves is not the same as before.",
        (_URL, Heading("what", "text"), _STATUS, _TITLE, _SIZE),
    ),
}


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Report):
    """The changes of a site between two moments; `webtable.reports.compare` makes it.

    `counts` has the numbers of pages by what became of them, `fields` those of the pages that are gone, moved or
    changed, by what differs; `sections` list the first of all but the unchanged ones.
    """

    site: str
    made_at: datetime
    since: datetime
    until: datetime
    counts: dict[str, int]
    fields: dict[str, int]
    damaged: int
    """How many rows were skipped because they cannot be read."""
    listing: str
    """The command that lists the changes."""
    sections: tuple[Section, ...]
    empty_reason: str = ""

    def command(self, kind: ChangeKind) -> str:
        """Return the command that lists the pages of one kind."""
        return f"{self.listing} --kind {kind}"

    def html(self) -> str:
        """Return the report as one self-contained HTML page; crawled text is escaped."""
        title, times = f"Changes of {self.site}", f"{moment_text(self.since)} to {moment_text(self.until)}"
        lead = tag("p", f"{self.subject}, from {times}", class_="muted")
        if not any(self.counts.values()):
            empty = tag("p", self.empty_reason or f"{self.subject}: none was stored then.", class_="lead")
            return report_page(title, [lead, empty], self._facts(), "", ())
        return report_page(title, lead, self._facts(), shares(self.counts), self.sections)

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("from", moment_text(self.since)), ("to", moment_text(self.until))]
        facts += [(kind, f"{count:,}") for kind, count in self.counts.items()]
        facts += [(f"other {name}", f"{count:,}") for name, count in self.fields.items()]
        return facts + _damage(self)


def compare(
    table: SiteTable,
    site: Site,
    *,
    since: Moment | Crawl | None = None,
    until: Moment | Crawl | None = None,
    ignore: IgnoredContent | None = None,
    most: int = MOST,
    program: str = "webtable",
    on_progress: Progress | None = None,
) -> Comparison:
    """Return the changes of the pages of *site*, as in `WebTable.pages`, from *since* to *until*.

    *until* is now by default. A row of `WebTable.crawls` stands for the moment when that crawl ended, and as *until*
    also for when it began: what it did not meet is missing. Without both they are the last two crawls of the site.
    `WebTable.changes` defines new, gone, moved, missing and changed, and *ignore*; the first *most* pages of each are
    listed with their former values. *program* is the name of the command line, for the commands that list the rest.
    *on_progress* is called with the number of pages compared. Raises `InvalidURL`, `InvalidArgument` and `StoreError`;
    `DamagedRow` if the table is strict.
    """
    check_most(most)
    now = clock.now()
    named, damaged, counts = site_text(site), table.metrics.damaged, Counter[str]()
    if since is None and until is None:
        until, since = _last_crawls(table, site)
    met = until.begin if isinstance(until, Crawl) else None
    first, last = moments(since=_end_of(since), until=_end_of(until)).values()
    first_rows, by_field = {kind: FirstRows(most) for kind in _OUTLINES}, Counter[str]()
    period: Any = {"since": first, "until": last, "met_since": met}
    answer = table.changes(site, **period, kind=CHANGE_KINDS, ignore=ignore)
    for change in counting(answer, on_progress):
        counts[change.kind] += 1
        if change.kind != "unchanged":
            first_rows[change.kind].add(*_row(change))
        if change.kind in ("gone", "moved", "changed"):
            by_field.update(change.changed)
    times = _times(since=first or now, until=last, met_since=met)
    command = f"{program} changes {shlex.quote(named)} {times}{f' --ignore {ignore}' if ignore else ''}"
    sections = (
        Section(kind, *_OUTLINES[kind], f"{command} --kind {kind}").filled(rows) for kind, rows in first_rows.items()
    )
    return Comparison(
        site=named,
        made_at=now,
        since=first or now,
        until=last or now,
        counts={kind: counts[kind] for kind in CHANGE_KINDS},
        fields=dict(by_field.most_common()),
        damaged=table.metrics.damaged - damaged,
        listing=command,
        sections=tuple(sections),
        empty_reason="" if counts else nothing_of(table, site),
    )


def _end_of(moment: Moment | Crawl | None) -> Moment | None:
    return moment.end if isinstance(moment, Crawl) else moment


def _last_crawls(table: SiteTable, site: Site) -> tuple[Crawl, Crawl]:
    """Return the last crawl of *site* and the one before it; raises `InvalidArgument` if there are no two."""
    crawls = list(table.crawls(site, limit=2))
    if len(crawls) < 2:
        raise InvalidArgument(
            f"since= must be given: {site_text(site)} has {plural(len(crawls), 'crawl')}; without it the last two are "
            "compared"
        )
    return crawls[0], crawls[1]


def _times(**options: datetime | None) -> str:
    return " ".join(
        f"--{name.replace('_', '-')} {time.astimezone(UTC).isoformat()}"
        for name, time in options.items()
        if time is not None
    )


def _row(change: Change) -> tuple[object, ...]:
    before, after = change.before, change.after
    match change.kind:
        case "new":
            return change.url, after and after.status, after and after.title, after and after.size
        case "gone":
            return change.url, _pair("status", before, after), before and before.title, before and before.size
        case "moved":
            return change.url, _pair("status", before, after), after and after.redirect_to, before and before.title
        case "missing":
            return change.url, after and after.status, after and after.title, after and after.fetched_at
    pairs = [_pair(name, before, after) for name in ("status", "title", "size")]
    what = "the former version is no longer kept" if before is None or after is None else ", ".join(change.changed)
    return change.url, what, *pairs


def _pair(name: str, before: Page | None, after: Page | None) -> object:
    """Return the values of both pages, or one value if they are equal; None for a page that is not kept."""
    old, new = getattr(before, name, None), getattr(after, name, None)
    return new if before is None or old == new else Pair(old, new)


# --- An audit: counts, the largest pages and findings about heads, of one pass over the metadata of a site ------------


_GROUPINGS: Final[tuple[Grouping, ...]] = ("status", "type", "language", "size", "index_status")
_MOST_GROUPS: Final = 1_000
_MOST_OF_THEM: Final = 0.8


class NamedGroup(NamedTuple):
    """The pages of one status or type: their number and their bytes."""

    name: str
    pages: int
    bytes: int


class SizeCount(NamedTuple):
    """How many pages have a body from `low` to below `high` bytes."""

    low: int
    high: int
    pages: int

    @property
    def name(self) -> str:
        """The name of the class."""
        return class_name(size_class(self.low))


class SiteCounts(PageCounts):
    """Counts of the pages of a site, and the first *most* of each finding. Pages come in the order of URLs."""

    def __init__(self, most: int) -> None:
        super().__init__({name: grouping(name, limit=_MOST_GROUPS) for name in _GROUPINGS})
        self.made_at: Final = clock.now()
        self.hosts: int = 0
        self.findings: Final = {name: FirstRows(most) for name in FINDINGS}
        self._largest: list[tuple[int, str, str]] = []
        self._with_body = 0
        self._limit = most
        self._host = ""

    def take(self, page: Page) -> None:
        """Count *page*, and add its findings."""
        self.add_dated(b"", page)
        host = split_url(page.url).host
        self.hosts, self._host = self.hosts + (host != self._host), host
        if page.size:
            self._with_body += 1
            entry = (page.size, page.url, page.title or "")
            if len(self._largest) < self._limit:
                heapq.heappush(self._largest, entry)
            else:
                heapq.heappushpop(self._largest, entry)
        for name, holds in TESTS.items():
            if holds(page, self.made_at):
                self.findings[name].add(*(_VALUES[column.name](page) for column in _AUDIT_OUTLINES[name][2]))

    def by_pages(self, by: Grouping) -> tuple[NamedGroup, ...]:
        """Return the groups of the grouping *by*, the one with the most pages first."""
        groups = sorted((-pages, str(group), size) for group, pages, size in self.groups[by].counted())
        return tuple(NamedGroup(name, -pages, size) for pages, name, size in groups)

    @property
    def main_language(self) -> str | None:
        """The language of the site: that of four fifths of its pages that have one; None where none is."""
        named = [group for group in self.by_pages("language") if group.name not in (UNKNOWN, OTHERS)]
        total = sum(group.pages for group in named)
        return named[0].name if named and named[0].pages >= _MOST_OF_THEM * total else None

    @property
    def sizes(self) -> tuple[SizeCount, ...]:
        """The size classes, from the first with pages to the last."""
        pages = {number: pages for number, pages, _ in self.groups["size"].counted() if number}
        numbers = range(min(pages), max(pages) + 1) if pages else ()
        return tuple(SizeCount(*class_bounds(number), pages.get(number, 0)) for number in numbers)

    @property
    def largest(self) -> FirstRows:
        """The largest pages that have a body."""
        rows = sorted(self._largest, key=lambda entry: (-entry[0], entry[1]))
        return FirstRows(self._limit, [(url, title, size) for size, url, title in rows], self._with_body)


# --- The sections of an audit: answers of the table, and findings of the pass over all pages --------------------------


_EXAMPLES = 3
"""How many of the pages that link to an error page, or that are the same, are named."""
_PAGES, _URLS = Heading("pages", "number"), Heading("urls", "urls")
_OF_COPIES = (_PAGES, _SIZE, _URLS)
_OF_HEADS = (_URL, _TITLE)
_CANONICAL = Heading("canonical", "url")
_AUDIT_OUTLINES: Final[Mapping[str, Outline]] = {
    "broken-links": (
        "Broken links",
        "Error pages to which links, frames and redirects of the site lead, there or elsewhere, as far as stored.",
        (_STATUS, Heading("target", "url"), Heading("links", "number"), Heading("linked_from", "urls")),
    ),
    "errors": (
        "Pages with an error",
        "Pages of the site whose last capture has a status of 400 or above, whether anybody links there or not.",
        (_STATUS, _URL, Heading("fetched", "time")),
    ),
    "failed": (
        "Failed fetches",
        "URLs, stored or not, whose last fetch got no answer{}.",
        (Heading("reason", "text"), _URL, Heading("attempts", "number"), Heading("since", "time")),
    ),
    "redirect-chains": (
        "Redirects that lead astray",
        "Chains of two redirects or more, loops, and redirects whose end is an error or is not stored.",
        (Heading("redirects", "number"), Heading("end", "text"), _URLS),
    ),
    "no-location": (
        "Redirects without a target",
        "Pages with the status of a redirect, without a Location that leads anywhere.",
        (_STATUS, _URL),
    ),
    "sitemaps": (
        "Sitemaps",
        "URLs of sitemaps that are not stored, redirect, are an error, canonicalised, not to be indexed, of another "
        "host, or wrongly dated, indexable pages in no sitemap, and sitemaps that cannot be read{}.",
        (_URL, Heading("problems", "text"), _STATUS, Heading("sitemap", "url"), Heading("detail", "text")),
    ),
    "orphans": (
        "Orphans",
        "Pages to which no link, frame or redirect of another stored page leads.",
        (_URL, _STATUS, _TITLE),
    ),
    "same-content": (
        "Same content",
        "Groups of pages whose bodies are the same, byte for byte, without errors and redirects, the largest first.",
        _OF_COPIES,
    ),
    "near-duplicates": (
        "Nearly the same text",
        "Groups of pages that share 80 % of their text or more, without errors and redirects, the largest first.",
        _OF_COPIES,
    ),
    "same-title": (
        "Same title",
        "Groups of pages with one title, without errors and redirects, the largest first.",
        (_PAGES, _TITLE, _URLS),
    ),
    "titles": (
        "Titles",
        "HTML pages with status 200 without a title, or with one of over 60 characters, which search engines cut.",
        (Heading("problem", "text"), _URL, _TITLE),
    ),
    "no-description": (
        "Without a description",
        "HTML pages with status 200 without a description in their head.",
        _OF_HEADS,
    ),
    "no-h1": ("Without a heading", "HTML pages with status 200 without a heading of the first level (h1).", _OF_HEADS),
    "not-judged": (
        "Not judged",
        "HTML pages with status 200 whose body is not stored: whether they lack a title, a description or a heading is "
        "not known.",
        _OF_HEADS,
    ),
    "canonical-elsewhere": (
        "Canonical elsewhere",
        "Pages that name another URL as the one for their content.",
        (_URL, _CANONICAL),
    ),
    "canonical-conflict": (
        "Canonicals that disagree",
        "Pages that name two URLs as the one for their content, in their head or the header Link: neither is obeyed.",
        (_URL, _CANONICAL, Heading("other_canonical", "url")),
    ),
    "noindex": (
        "Not to be indexed",
        "Pages that tell search engines, or Google's alone, not to list them (noindex, none, or unavailable_after a "
        "moment that is over).",
        (_URL, Heading("robots", "text"), Heading(BOT, "text")),
    ),
    "not-indexable": (
        "Not indexable",
        "Pages that search engines leave out by their status or by what they say of themselves{}. Those that "
        "robots.txt blocks are listed by: {}",
        (_URL, Heading("index_status", "text"), Heading("index_reason", "text")),
    ),
    "other-language": (
        "Another language",
        "Pages with status 200 in another language than the site{}: it is in that of four fifths of its pages "
        "that have one.",
        (_URL, Heading("language", "text"), Heading("told_by", "text"), _TITLE),
    ),
    "largest": (
        "Largest pages",
        "Those with the largest bodies, by the bytes that were sent.",
        (_URL, _TITLE, _SIZE),
    ),
}
_FIXES: Final[Mapping[str, tuple[Severity, str]]] = {
    "broken-links": ("high", "Correct the links, or redirect their targets."),
    "errors": ("high", "Repair the pages, or redirect them to what replaces them."),
    "failed": ("high", "See whether the server answers them; fetch them again."),
    "redirect-chains": ("high", "Link and redirect to the last URL at once."),
    "no-location": ("high", "Send a Location, or another status."),
    "canonical-conflict": ("high", "Name one canonical URL in the head and in the header."),
    "sitemaps": ("medium", "Keep indexable pages with status 200 in sitemaps, and no others."),
    "orphans": ("medium", "Link to them from a page that is found, or remove them."),
    "same-content": ("medium", "Keep one of each group, and redirect the others or name it as canonical."),
    "near-duplicates": ("medium", "Join their texts, or name one of each group as canonical."),
    "same-title": ("medium", "Put into each title what only that page has."),
    "titles": ("medium", "Write a title of up to 60 characters."),
    "no-description": ("low", "Describe the page in a sentence or two, for the lines below a search result."),
    "no-h1": ("low", "Give the page a heading of the first level."),
    "not-judged": ("low", "Fetch them again with their bodies."),
    "canonical-elsewhere": ("low", "See whether each names the page that you mean."),
    "noindex": ("low", "See whether each is meant to be left out."),
    "not-indexable": ("low", "See whether each is meant to be left out."),
    "other-language": ("low", "See whether the language of each is declared."),
    "largest": ("low", "See whether these have to be so large."),
}
"""How much the findings of each section harm, and what to do about them."""
_NO_SITEMAP = "; no sitemap of the site is stored, as crawl --sitemaps stores it"
_COLUMNS: Final = {BOT: "robots_by_bot"}
"""The columns of pages that are called otherwise in a section."""
_VALUES: Final[Mapping[str, Callable[[Page], object]]] = {
    BOT: methodcaller("robots_for", BOT),
    **{
        name: attrgetter(name)
        for name in ("url", "title", "status", "canonical", "other_canonical", "robots", "index_status", "index_reason")
    },
}
Findings = FirstRows | Callable[[], Iterable[tuple[object, ...]]]
"""The findings of a section, or a function that asks the table for them."""


@dataclass(frozen=True, slots=True)
class AuditSections:
    """Makes the sections of an audit, with the first `limit` findings; `program` is the name of the command line."""

    table: SiteTable
    site: Site
    named: str
    limit: int
    program: str

    def of(self, counts: SiteCounts) -> Iterator[Section]:
        """Yield the sections: the answers to questions, and the findings of the pass over all pages."""
        table, site = self.table, self.site
        named = shlex.quote(self.named)
        yield self._section("broken-links", self._broken)
        yield self._section("errors", lambda: ((page.status, page.url, page.fetched_at) for page in table.errors(site)))
        yield self._of_failures()
        problems = " ".join(f"--problem {problem}" for problem in get_args(ChainProblem))
        yield self._section("redirect-chains", self._chains, f"redirect-chains {named} {problems}")
        yield self._of_pages("no-location", counts)
        yield self._of_sitemaps()
        yield self._section(
            "orphans", lambda: ((page.url, page.status, page.title) for page in table.links.orphans(site))
        )
        yield self._section("same-content", lambda: _copies(table.duplicate_groups(site)), f"duplicate-groups {named}")
        if SIMILARITY.name in table.indexes.states():  # who has not added it is not told so in every audit
            groups = f"near-duplicate-groups {named}"
            yield self._section("near-duplicates", lambda: _copies(table.near_duplicate_groups(site)), groups)
        yield self._section("same-title", self._same_title, f"duplicate-groups {named} --by title")
        yield self._section("titles", self._titles, f"titles {named} --problem missing --problem 'too long'")
        yield self._of_pages("no-description", counts)
        yield self._of_pages("no-h1", counts)
        yield self._of_pages("not-judged", counts)
        yield self._of_pages("canonical-elsewhere", counts)
        yield self._of_pages("canonical-conflict", counts)
        yield self._of_pages("noindex", counts)
        yield self._of_index_statuses(counts)
        yield self._of_languages(counts)
        yield self._section("largest", counts.largest, f"largest {named} --min-size 1")

    def _of_pages(self, name: Finding, counts: SiteCounts) -> Section:
        """Return the section of what was found on single pages, whose command shows the same columns."""
        columns = ",".join(_COLUMNS.get(column.name, column.name) for column in _AUDIT_OUTLINES[name][2])
        command = f"pages {shlex.quote(self.named)} --finding {name} --columns {columns}"
        return self._section(name, counts.findings[name], command)

    def _section(self, name: str, findings: Findings, command: str = "") -> Section:
        """Return a section, left out if an index or a package is missing; its *command* is by default of its name."""
        command = f"{self.program} {command or f'{name} {shlex.quote(self.named)}'}"
        section = Section(name, *_AUDIT_OUTLINES[name], command)
        if isinstance(findings, FirstRows):
            return section.filled(findings)
        first = FirstRows(self.limit)
        try:
            for row in findings():
                first.add(*row)
        except (IndexNeeded, MissingExtra) as exc:
            return replace(section, left_out=text_of(message_of(exc), lambda words: f"{self.program} {words}"))
        return section.filled(first)

    def _of_failures(self) -> Section:
        """Return the section of failed fetches, whose text has their number by reason."""
        reasons = Counter[str]()

        def findings() -> Iterator[tuple[object, ...]]:
            for failure in self.table.failed(self.site):
                reasons[failure.reason] += 1
                yield failure.reason, failure.url, failure.attempts, failure.failing_since

        section = self._section("failed", findings)
        by_reason = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common(_SHOWN_GROUPS))
        return replace(section, about=section.about.format(by_reason and f": {by_reason}"))

    def _of_index_statuses(self, counts: SiteCounts) -> Section:
        """Return the section of pages that are not indexable, whose text has their number by reason."""
        groups = [group for group in counts.by_pages("index_status") if group.name in NOT_INDEXABLE]
        by_reason = ", ".join(f"{group.pages:,} {group.name}" for group in groups)
        section = self._of_pages("not-indexable", counts)
        blocked = f"{self.program} indexability {shlex.quote(self.named)} --verdict blocked"
        return replace(section, about=section.about.format(by_reason and f": {by_reason}", blocked))

    def _of_sitemaps(self) -> Section:
        """Return the section of sitemaps, whose text has the number of URLs by problem."""
        problems = Counter[str]()

        def findings() -> Iterator[tuple[object, ...]]:
            for entry in self.table.sitemaps(self.site):
                problems.update(entry.problems or ["fine"])
                if entry.problems:
                    yield entry.url, ", ".join(entry.problems), entry.status, entry.sitemap, entry.detail

        options = " ".join(f"--problem {problem}" for problem in get_args(SitemapProblem))
        section = self._section("sitemaps", findings, f"sitemaps {shlex.quote(self.named)} {options}")
        by_problem = ", ".join(f"{count:,} {problem}" for problem, count in problems.most_common())
        return replace(section, about=section.about.format(f": {by_problem}" if problems else _NO_SITEMAP))

    def _of_languages(self, counts: SiteCounts) -> Section:
        main = counts.main_language
        findings: Findings = FirstRows(self.limit)
        named = shlex.quote(self.named)
        command = f"stats {named} --by language"
        if main:
            columns = "url,language,language_detected,title"
            command = f"pages {named} --status 200 --not-language {main} --columns {columns}"
        # All pages are read once more, but only where the counts say that some will be listed.
        if main and any(group.name not in (main, UNKNOWN) for group in counts.by_pages("language")):
            findings = partial(self._in_others, main)
        section = self._section("other-language", findings, command)
        return replace(section, about=section.about.format(f" ({main})" if main else ", which has none"))

    def _in_others(self, main: str) -> Iterator[tuple[object, ...]]:
        for page in self.table.pages(self.site):
            if page.status == 200 and in_another_language(page, main):
                yield page.url, page.language, "the text" if page.language_detected else "the page", page.title

    def _broken(self) -> Iterator[tuple[object, ...]]:
        links = self.table.links.broken(self.site)
        for (status, target), to_target in groupby(links, attrgetter("status", "target")):
            sources = FirstRows(_EXAMPLES)
            for link in to_target:
                sources.add(link.source)
            yield status, target, sources.count, tuple(source for (source,) in sources.rows)

    def _chains(self) -> Iterator[tuple[object, ...]]:
        for chain in self.table.redirect_chains(self.site):
            if chain.problems:
                end = "a loop" if chain.is_loop else "not stored" if chain.end is None else str(chain.end)
                yield chain.length, end, chain.urls

    def _same_title(self) -> Iterator[tuple[object, ...]]:
        for group in self.table.duplicate_groups(self.site, by="title"):
            yield group.pages, group.value, group.urls[:_EXAMPLES]

    def _titles(self) -> Iterator[tuple[object, ...]]:
        for title in self.table.titles(self.site):
            if title.problem != "duplicate":  # they have a section of their own
                yield title.problem, title.url, title.title


def _copies(groups: Iterable[DuplicateGroup | NearDuplicateGroup]) -> Iterator[tuple[object, ...]]:
    return ((group.pages, group.bytes, group.urls[:_EXAMPLES]) for group in groups)


# --- The audit as a value ---------------------------------------------------------------------------------------------


_SHOWN_GROUPS = 8


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Report):
    """The findings of an audit; `WebTable.audit` makes it.

    `sections` has a list for each kind of problem, with the first findings and their number.
    """

    site: str
    made_at: datetime
    pages: int
    bytes: int
    hosts: int
    oldest: datetime | None
    newest: datetime | None
    """The dates of the oldest and the newest capture."""
    damaged: int
    """How many rows were skipped because they cannot be read."""
    statuses: tuple[NamedGroup, ...]
    types: tuple[NamedGroup, ...]
    languages: tuple[NamedGroup, ...]
    sizes: tuple[SizeCount, ...]
    sections: tuple[Section, ...]
    empty_reason: str = ""

    def html(self) -> str:
        """Return the report as one self-contained HTML page; crawled text is escaped."""
        title, written = f"Audit of {self.site}", moment_text(self.made_at)
        lead = tag("p", f"{self.subject}, on {written}", class_="muted")
        if not self.pages:
            empty = tag("p", self.empty_reason or f"{self.subject}: none is stored.", class_="lead")
            return report_page(title, [lead, empty], _damage(self), "", ())
        charts = (
            chart("Status", "status", _largest(self.statuses)),
            chart("Types", "type", _largest(self.types)),
            chart("Languages", "language", _largest(self.languages)),
            chart("Sizes of bodies", "size", [(size.name, size.pages, None) for size in self.sizes]),
        )
        return report_page(title, lead, self._facts(), tag("div", charts, class_="charts"), self.sections)

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("pages", f"{self.pages:,}"), ("hosts", f"{self.hosts:,}"), ("bodies", size_text(self.bytes))]
        if self.oldest is not None and self.newest is not None:
            facts += [("fetched first", moment_text(self.oldest)), ("fetched last", moment_text(self.newest))]
        return facts + _damage(self)


def audit(
    table: SiteTable,
    site: Site,
    *,
    most: int = MOST_FINDINGS,
    program: str = "webtable",
    on_progress: Progress | None = None,
) -> Audit:
    """Return an audit of the pages of *site*, as in `WebTable.pages`.

    It has the first *most* findings of each kind. A section whose index the table lacks is left out and says so.
    *program* is the name of the command line, for the commands that list the rest. *on_progress* is called with the
    number of pages counted. Raises `InvalidURL`, `InvalidArgument` and `StoreError`; `DamagedRow` if the table is
    strict.
    """
    check_most(most)
    named = site_text(site)
    counts, damaged = SiteCounts(most), table.metrics.damaged
    for page in counting(table.pages(site), on_progress):
        counts.take(page)
    return Audit(
        site=named,
        made_at=clock.now(),
        pages=counts.pages,
        bytes=counts.bytes,
        hosts=counts.hosts,
        oldest=counts.oldest,
        newest=counts.newest,
        damaged=table.metrics.damaged - damaged,
        statuses=counts.by_pages("status"),
        types=counts.by_pages("type"),
        languages=counts.by_pages("language"),
        sizes=counts.sizes,
        sections=tuple(AuditSections(table, site, named, most, program).of(counts)),
        empty_reason="" if counts.pages else nothing_of(table, site),
    )


def _largest(groups: Sequence[NamedGroup]) -> Sequence[NamedGroup]:
    """Return the first of *groups*, those with the most pages, and the others as one."""
    rest = groups[_SHOWN_GROUPS:]
    if not rest:
        return groups
    pages, size = sum(group.pages for group in rest), sum(group.bytes for group in rest)
    others = NamedGroup(f"{len(rest):,} more", pages, size)
    return [*groups[:_SHOWN_GROUPS], others]
