"""An audit of a site: how many pages it has and of what kind, and what is wrong with them."""

from __future__ import annotations

import heapq
import re
import shlex
from collections import Counter
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from webtable._clock import clock
from webtable._messages import message_of, text_of
from webtable.display import Shown, ShowsItself
from webtable.display.markup import Markup, bar, document, escaped, shares, shortened, table, tag, terms, web_link
from webtable.display.text import class_bounds, class_name, size_class, size_text
from webtable.errors import IndexNeeded, InvalidArgument, MissingExtra
from webtable.page.facts import is_html_page
from webtable.progress import counting
from webtable.repository.arguments import MOST_FINDINGS, moments
from webtable.repository.indexes.index import SIMILARITY
from webtable.repository.questions.captures import Crawl
from webtable.repository.questions.changes import CHANGE_KINDS, CHANGED
from webtable.repository.reading.page_counts import OTHERS, UNKNOWN, GroupCounts, PageCounts, grouping, language_of
from webtable.repository.reading.scope import Scope, Site, named_site, site_text
from webtable.rowkey.urls import canonical_or_none, split_url

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from webtable.page.page import Page
    from webtable.repository.answers.results import Pages, Results
    from webtable.repository.arguments import Grouping, Moment, Progress
    from webtable.repository.duplicates.exact import DuplicateGroup, Sameness
    from webtable.repository.duplicates.near import NearDuplicateGroup
    from webtable.repository.links.links import BrokenLink
    from webtable.repository.metrics import Metrics
    from webtable.repository.questions.changes import Change, ChangeKind
    from webtable.repository.questions.redirect_chains import RedirectChain
    from webtable.repository.questions.titles import TitleProblem


# --- The sections of reports, each with its first findings, the number of all, and the command that lists them --------


# --- The questions of a table that reports ask: a `WebTable` has them -------------------------------------------------


class AskedLinks(Protocol):
    """The questions about links that reports ask."""

    def broken(self, site: Site, /) -> Results[BrokenLink]:
        """Return the links that lead to an error page."""

    def orphans(self, site: Site, /) -> Pages:
        """Return the pages that no other page links to."""


class AskedIndexes(Protocol):
    """The questions about indexes that reports ask."""

    def states(self) -> Mapping[str, object]:
        """Return the states of the indexes, by name."""


class AskedTable(Protocol):
    """A table of web pages, as far as reports ask it: a `WebTable`."""

    @property
    def links(self) -> AskedLinks:
        """The links between pages."""

    @property
    def indexes(self) -> AskedIndexes:
        """The indexes."""

    @property
    def metrics(self) -> Metrics:
        """A snapshot of the metrics."""

    def pages(self, site: Site, /) -> Pages:
        """Return the pages of *site*."""

    def errors(self, site: Site, /) -> Pages:
        """Return the error pages of *site*."""

    def redirect_chains(self, site: Site, /) -> Results[RedirectChain]:
        """Return the chains of redirects."""

    def duplicate_groups(self, site: Site, /, *, by: Sameness = "content") -> Results[DuplicateGroup]:
        """Return the groups of pages with the same content or title."""

    def near_duplicate_groups(self, site: Site, /) -> Results[NearDuplicateGroup]:
        """Return the groups of pages with nearly the same text."""

    def titles(self, site: Site, /) -> Results[TitleProblem]:
        """Return what is wrong with titles."""

    def changes(
        self, site: Site, /, *, since: datetime, until: datetime, kind: Collection[ChangeKind]
    ) -> Results[Change]:
        """Return what became of the pages between two moments."""


# ----------------------------------------------------------------------------------------------------------------------


Kind = Literal["url", "urls", "text", "status", "number", "size", "time"]
"""The kinds of values in a column. Each value may also be a `Pair`: before and after."""


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

    def filled(self, found: Found) -> Section:
        """Return the section with what was *found*."""
        return replace(self, rows=tuple(found.rows), count=found.count)

    def asked(self, ask: Callable[[], Iterable[tuple[object, ...]]], most: int, program: str) -> Section:
        """Return the section with the first *most* rows of *ask*, or left out if an index or a package is missing.

        *program* is the name of the command line.
        """
        found = Found(most)
        try:
            for row in ask():
                found.add(*row)
        except (IndexNeeded, MissingExtra) as exc:
            return replace(self, left_out=text_of(message_of(exc), lambda words: f"{program} {words}"))
        return self.filled(found)

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
class Found:
    """Findings as they are added: the first `most` as rows, and the number of all."""

    most: int
    rows: list[tuple[object, ...]] = field(default_factory=list)
    count: int = 0

    def add(self, *row: object) -> None:
        """Add a finding."""
        self.count += 1
        if len(self.rows) < self.most:
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
        names = (one.name for one in fields(self) if one.name not in ("listing", "empty_reason"))  # type: ignore[arg-type]
        return {name: _as_dicts(getattr(self, name)) for name in names}

    def __repr__(self) -> str:
        counts = self.empty_reason or ", ".join(
            f"{one.name} {'–' if one.left_out else one.count}" for one in self.sections
        )
        return f"<{type(self).__name__} of {self.site}: {counts}>"

    def _shown(self) -> Shown:
        """Return the number of findings of each section."""
        if self.empty_reason:
            return Shown("", (), (), self.empty_reason)
        rows = [(one.title, None if one.left_out else one.count, one.left_out or one.about) for one in self.sections]
        note = ".html() is the page, .to_dict() all that it holds"
        return Shown(f"{type(self).__name__} of {self.site}", ("finding", "found", "what it is"), rows, note)


def nothing_of(table: AskedTable, site: Site) -> str:
    """Return that *table* has no pages of *site*, with the one that was probably meant; "" if it has some."""
    pages = table.pages(site)
    return pages._nothing() if pages.first() is None else ""


def _as_dicts(value: Any) -> object:
    """Return a value of a report with dicts in place of sections and groups."""
    if isinstance(value, tuple):
        return [one.to_dict() if isinstance(one, Section) else one._asdict() for one in value]
    return dict(value) if isinstance(value, dict) else value


# --- A report as one HTML page: facts, links to its sections, and their lists. Crawled text is escaped ----------------


_LEFT = ("url", "urls", "text")


def report_page(
    title: str, lead: object, facts: Iterable[tuple[str, str]], body: object, sections: Sequence[Section]
) -> str:
    """Return a page with *lead*, *facts*, links to *sections*, *body* and the sections."""
    return document(title, tag("h1", title), lead, terms(facts), _contents(sections), body, map(_section, sections))


def moment_text(moment: datetime) -> str:
    """Return *moment* as reports show it, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def chart(title: str, name: str, counts: Sequence[tuple[str, int, int | None]]) -> Markup:
    """Return *counts* below a *title* as a table with bars: the name of each, its pages, and its bytes if known."""
    total = sum(pages for _, pages, _ in counts) or 1
    heads = [tag("th", name, class_="text"), tag("th", "pages")]
    rows = [[tag("td", one, class_="text"), tag("td", f"{pages:,}", bar(pages / total))] for one, pages, _ in counts]
    if any(size is not None for *_, size in counts):
        heads.append(tag("th", "size"))
        rows = [[*cells, tag("td", size_text(size))] for cells, (*_, size) in zip(rows, counts, strict=True)]
    return tag("div", tag("h3", title), table(heads, rows) if rows else tag("p", "None."))


def _contents(sections: Sequence[Section]) -> Markup:
    links = [tag("li", _content(section)) for section in sections]
    return tag("nav", tag("ul", links), aria_label="Sections") if links else Markup()


def _content(section: Section) -> Markup:
    count = tag("strong", "–" if section.left_out else f"{section.count:,}")
    return tag("a", section.title, " ", count, href=f"#{section.name}", class_="" if section.count else "none")


def _section(section: Section) -> Markup:
    count = "" if section.left_out else tag("span", f"{section.count:,}", class_="count")
    about = tag("p", section.about, class_="muted")
    return tag("section", tag("h2", section.title, " ", count), about, _found(section), id=section.name)


def _found(section: Section) -> Markup:
    if section.left_out:
        return tag("p", f"Left out: {section.left_out}", class_="left-out")
    if not section.count:
        return tag("p", "None.")
    shown = len(section.rows)
    said = "All of them" if shown == section.count else f"The first {shown:,} of {section.count:,}; all of them"
    heads = (tag("th", _words(one.name), class_="text" if one.kind in _LEFT else "") for one in section.headings)
    rows = (_cells(section.headings, row) for row in section.rows)
    return escaped(
        [table(heads, rows, class_="list"), tag("p", f"{said}: ", tag("code", section.command), class_="muted")]
    )


def _cells(headings: Sequence[Heading], row: Sequence[object]) -> Iterator[Markup]:
    for heading, value in zip(headings, row, strict=True):
        is_left, is_bad = heading.kind in _LEFT, _is_bad(heading, value)
        classes = f"{heading.kind}{' text' if is_left else ''}{' bad' if is_bad else ''}"
        yield tag("td", _shown(heading.kind, value), class_=classes, data_name=_words(heading.name))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _is_bad(heading: Heading, value: object) -> bool:
    status = value.after if isinstance(value, Pair) else value
    return heading.kind == "status" and isinstance(status, int) and status >= 400


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


# --- A comparison of a site at two moments: which pages are new, gone or changed, with their former values ------------


MOST = 200
"""How many pages of each kind a comparison lists, by default."""
_URL, _TITLE = Heading("url", "url"), Heading("title", "text")
_STATUS, _SIZE = Heading("status", "status"), Heading("size", "size")
_OUTLINES: dict[ChangeKind, tuple[str, str, tuple[Heading, ...]]] = {
    "new": ("New", "Pages whose first capture came in between.", (_URL, _STATUS, _TITLE, _SIZE)),
    "gone": (
        "Gone",
        "Pages whose status was below 400 before, and is 400 or above after.",
        (_URL, _STATUS, _TITLE, Heading("size_before", "size")),
    ),
    "changed": (
        "Changed",
        "Pages whose content, status or redirect target is not the same as before.",
        (_URL, Heading("what", "text"), _STATUS, _TITLE, _SIZE),
    ),
}


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Report):
    """The changes of a site between two moments; `webtable.reports.compare` makes it.

    `counts` has the numbers of new, gone, changed and unchanged pages; `sections` list the first of all but the
    unchanged ones.
    """

    site: str
    made_at: datetime
    since: datetime
    until: datetime
    counts: dict[str, int]
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
        facts = [(kind, f"{count:,}") for kind, count in self.counts.items()]
        if self.damaged:
            facts.append(("damaged rows, left out", f"{self.damaged:,}"))
        if not any(self.counts.values()):
            empty = tag("p", self.empty_reason or f"{self.subject}: none was stored then.", class_="lead")
            return report_page(title, [lead, empty], facts, "", ())
        return report_page(title, lead, facts, shares(self.counts), self.sections)


def compare(
    table: AskedTable,
    site: Site,
    *,
    since: Moment | Crawl,
    until: Moment | Crawl | None = None,
    most: int = MOST,
    program: str = "webtable",
    on_progress: Progress | None = None,
) -> Comparison:
    """Return the changes of the pages of *site*, as in `WebTable.pages`, from *since* to *until*.

    *until* is now by default. A row of `WebTable.crawls` stands for the moment when that crawl ended.
    `WebTable.changes` defines new, gone and changed; the first *most* pages of each are listed with their former
    values. *program* is the name of the command line, for the commands that list the rest. *on_progress* is called with
    the number of pages compared. Raises `InvalidURL`, `InvalidArgument` and `StoreError`; `DamagedRow` if the table is
    strict.
    """
    check_most(most)
    now = clock.now()
    named, damaged, counts = site_text(site), table.metrics.damaged, Counter[str]()
    first, last = moments(since=_end_of(since), until=_end_of(until)).values()
    found = {kind: Found(most) for kind in CHANGED}
    answer = table.changes(site, since=first, until=last, kind=CHANGE_KINDS)  # type: ignore[arg-type]
    for change in counting(answer, on_progress):
        counts[change.kind] += 1
        if change.kind != "unchanged":
            found[change.kind].add(*_row(change))
    times = _times(first or now, last)
    command = f"{program} changes {shlex.quote(named)} {times}"
    sections = tuple(_section_comparison(kind, some, f"{command} --kind {kind}") for kind, some in found.items())
    return Comparison(
        site=named,
        made_at=now,
        since=first or now,
        until=last or now,
        counts={kind: counts[kind] for kind in CHANGE_KINDS},
        damaged=table.metrics.damaged - damaged,
        listing=command,
        sections=sections,
        empty_reason="" if counts else nothing_of(table, site),
    )


def _end_of(given: Moment | Crawl | None) -> Moment | None:
    return given.end if isinstance(given, Crawl) else given


def _section_comparison(kind: ChangeKind, found: Found, command: str) -> Section:
    title, about, headings = _OUTLINES[kind]
    return Section(kind, title, about, headings, command).filled(found)


def _times(since: datetime, until: datetime | None) -> str:
    given = {"since": since, "until": until}
    return " ".join(f"--{name} {time.astimezone(UTC).isoformat()}" for name, time in given.items() if time is not None)


def _row(change: Change) -> tuple[object, ...]:
    before, after = change.before, change.after
    match change.kind:
        case "new":
            return change.url, after and after.status, after and after.title, after and after.size
        case "gone":
            return change.url, _pair("status", before, after), before and before.title, before and before.size
    pairs = [_pair(name, before, after) for name in ("status", "title", "size")]
    return change.url, _what(before, after), *pairs


def _pair(name: str, before: Page | None, after: Page | None) -> object:
    """Return the values of both pages, or one value if they are equal; None for a page that is not kept."""
    one, other = getattr(before, name, None), getattr(after, name, None)
    return other if before is None or one == other else Pair(one, other)


def _what(before: Page | None, after: Page | None) -> str:
    if before is None or after is None:
        return "the former version is no longer kept"
    names = {"digest": "content", "status": "status", "redirect_to": "redirect"}
    return ", ".join(said for name, said in names.items() if getattr(before, name) != getattr(after, name))


# ----------------------------------------------------------------------------------------------------------------------


# --- The results of one pass over the metadata of a site: counts, the largest pages, and findings about heads ---------


_NOT_INDEXED = re.compile(r"\b(noindex|none)\b")
_GROUPINGS: Final[tuple[Grouping, ...]] = ("status", "type", "language", "size")
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
        self.hosts: int = 0
        self.undescribed: Final = Found(most)
        self.without_h1: Final = Found(most)
        self.elsewhere: Final = Found(most)
        self.not_indexed: Final = Found(most)
        self._largest: list[tuple[int, str, str]] = []
        self._with_body = 0
        self._most = most
        self._host = ""

    def take(self, page: Page) -> None:
        """Count *page*, and add its findings."""
        self.add_dated(b"", page)
        host = split_url(page.url).host
        self.hosts, self._host = self.hosts + (host != self._host), host
        if page.size:
            self._with_body += 1
            one = (page.size, page.url, page.title or "")
            if len(self._largest) < self._most:
                heapq.heappush(self._largest, one)
            else:
                heapq.heappushpop(self._largest, one)
        if 200 <= page.status < 300:
            self._look_at(page)

    @property
    def statuses(self) -> tuple[NamedGroup, ...]:
        """The statuses, the one with the most pages first."""
        return _by_pages(self.groups["status"])

    @property
    def types(self) -> tuple[NamedGroup, ...]:
        """The media types, the one with the most pages first."""
        return _by_pages(self.groups["type"])

    @property
    def languages(self) -> tuple[NamedGroup, ...]:
        """The languages, the one with the most pages first."""
        return _by_pages(self.groups["language"])

    @property
    def main_language(self) -> str | None:
        """The language of the site: that of four fifths of its pages that have one; None where none is."""
        named = [one for one in self.languages if one.name not in (UNKNOWN, OTHERS)]
        total = sum(one.pages for one in named)
        return named[0].name if named and named[0].pages >= _MOST_OF_THEM * total else None

    @property
    def sizes(self) -> tuple[SizeCount, ...]:
        """The size classes, from the first with pages to the last."""
        pages = {number: pages for number, pages, _ in self.groups["size"].counted() if number}
        numbers = range(min(pages), max(pages) + 1) if pages else ()
        return tuple(SizeCount(*class_bounds(number), pages.get(number, 0)) for number in numbers)

    @property
    def largest(self) -> Found:
        """The largest pages that have a body."""
        found = Found(self._most)
        for size, url, title in sorted(self._largest, key=lambda one: (-one[0], one[1])):
            found.add(url, title, size)
        found.count = self._with_body
        return found

    def _look_at(self, page: Page) -> None:
        """Add the findings about the head of *page*, which is neither an error nor a redirect."""
        if page.has_body and is_html_page(page):
            if not page.description:
                self.undescribed.add(page.url, page.title)
            if not page.h1:
                self.without_h1.add(page.url, page.title)
        if page.canonical and canonical_or_none(page.canonical) != page.url:
            self.elsewhere.add(page.url, page.canonical)
        if page.robots and _NOT_INDEXED.search(page.robots):
            self.not_indexed.add(page.url, page.robots)


def _by_pages(counts: GroupCounts) -> tuple[NamedGroup, ...]:
    groups = sorted((-pages, str(group), size) for group, pages, size in counts.counted())
    return tuple(NamedGroup(name, -pages, size) for pages, name, size in groups)


# --- The sections of an audit: answers of the table to questions, and findings of the pass over all pages -------------


_EXAMPLES = 3
"""How many of the pages that link to an error page, or that are the same, are named."""
_URL_AUDIT, _TITLE_AUDIT, _STATUS_AUDIT = Heading("url", "url"), Heading("title", "text"), Heading("status", "status")
_PAGES, _SIZE_AUDIT, _URLS = Heading("pages", "number"), Heading("size", "size"), Heading("urls", "urls")


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of an audit, the first `most` of each kind; `program` is the name of the command line."""

    table: AskedTable
    site: Site
    named: str
    most: int
    program: str

    def sections(self, counts: SiteCounts) -> Iterator[Section]:
        """Yield the sections: the answers to questions, then the findings of the pass over all pages."""
        yield self._section(
            "broken-links",
            "Broken links",
            "Error pages that pages of the site link to, on the site or elsewhere, as far as they are stored.",
            [_STATUS_AUDIT, Heading("target", "url"), Heading("links", "number"), Heading("linked_from", "urls")],
            f"broken-links {self._quoted}",
        ).asked(self._broken, self.most, self.program)
        yield self._section(
            "errors",
            "Pages with an error",
            "Pages of the site whose last capture has a status of 400 or above, whether anybody links there or not.",
            [_STATUS_AUDIT, _URL_AUDIT, Heading("fetched", "time")],
            f"errors {self._quoted}",
        ).asked(self._errors, self.most, self.program)
        yield self._section(
            "redirect-chains",
            "Redirects that lead astray",
            "Chains of two redirects or more, loops, and redirects whose end is an error or is not stored.",
            [Heading("redirects", "number"), Heading("end", "text"), _URLS],
            f"redirect-chains {self._quoted}",
        ).asked(self._chains, self.most, self.program)
        yield self._section(
            "orphans",
            "Orphans",
            "Pages that no other stored page links to.",
            [_URL_AUDIT, _STATUS_AUDIT, _TITLE_AUDIT],
            f"orphans {self._quoted}",
        ).asked(self._orphans, self.most, self.program)
        yield from self._of_the_same()
        yield self._section(
            "titles",
            "Titles",
            "HTML pages without a title, or with one of over 60 characters, which search engines cut.",
            [Heading("problem", "text"), _URL_AUDIT, _TITLE_AUDIT],
            f"titles {self._quoted}",
        ).asked(self._titles, self.most, self.program)
        yield from self._of_the_head(counts)
        yield self._section(
            "largest",
            "Largest pages",
            "Those with the largest bodies, by the bytes that were sent.",
            [_URL_AUDIT, _TITLE_AUDIT, Heading("size", "size")],
            f"largest {self._quoted}",
        ).filled(counts.largest)

    def _of_the_same(self) -> Iterator[Section]:
        yield self._section(
            "same-content",
            "Same content",
            "Groups of pages whose bodies are the same, byte for byte, the group with the most pages first.",
            [_PAGES, _SIZE_AUDIT, _URLS],
            f"duplicate-groups {self._quoted}",
        ).asked(self._same_content, self.most, self.program)
        if SIMILARITY.name in self.table.indexes.states():  # who has not added it is not told so in every audit
            yield self._section(
                "near-duplicates",
                "Nearly the same text",
                "Groups of pages that share 80 % of their text or more, the group with the most pages first.",
                [_PAGES, _SIZE_AUDIT, _URLS],
                f"near-duplicate-groups {self._quoted}",
            ).asked(self._near_duplicates, self.most, self.program)
        yield self._section(
            "same-title",
            "Same title",
            "Groups of pages with one title, the group with the most pages first.",
            [_PAGES, _TITLE_AUDIT, _URLS],
            f"duplicate-groups {self._quoted} --by title",
        ).asked(self._same_title, self.most, self.program)

    def _of_the_head(self, counts: SiteCounts) -> Iterator[Section]:
        listing = f"pages {self._quoted} --format csv --columns url,"
        yield self._section(
            "no-description",
            "Without a description",
            "HTML pages without a description in their head.",
            [_URL_AUDIT, _TITLE_AUDIT],
            f"{listing}description",
        ).filled(counts.undescribed)
        yield self._section(
            "no-h1",
            "Without a heading",
            "HTML pages without a heading of the first level (h1).",
            [_URL_AUDIT, _TITLE_AUDIT],
            f"{listing}h1",
        ).filled(counts.without_h1)
        yield self._section(
            "canonical-elsewhere",
            "Canonical elsewhere",
            "Pages that name another URL as the one for their content.",
            [_URL_AUDIT, Heading("canonical", "url")],
            f"{listing}canonical",
        ).filled(counts.elsewhere)
        yield self._section(
            "noindex",
            "Not to be indexed",
            "Pages that tell search engines not to list them (robots: noindex or none).",
            [_URL_AUDIT, Heading("robots", "text")],
            f"{listing}robots",
        ).filled(counts.not_indexed)
        yield self._language(counts)

    def _language(self, counts: SiteCounts) -> Section:
        main = counts.main_language
        which = f" ({main})" if main else ", which has none"
        section = self._section(
            "other-language",
            "Another language",
            f"Pages in another language than the site{which}: it is in that of four fifths of its pages that have one.",
            [_URL_AUDIT, Heading("language", "text"), Heading("told_by", "text"), _TITLE_AUDIT],
            f"pages {self._quoted} --format csv --columns url,language,language_detected",
        )
        if main is None or all(one.name in (main, UNKNOWN) for one in counts.languages):
            return section
        return section.asked(lambda: self._in_others(main), self.most, self.program)

    def _in_others(self, main: str) -> Iterator[tuple[object, ...]]:
        for page in self.table.pages(self.site):
            if 200 <= page.status < 300 and language_of(page) not in (main, None):
                yield page.url, page.language, "the text" if page.language_detected else "the page", page.title

    def _section(self, name: str, title: str, about: str, headings: list[Heading], command: str) -> Section:
        return Section(name, title, about, tuple(headings), f"{self.program} {command}")

    @property
    def _quoted(self) -> str:
        return shlex.quote(self.named)

    def _broken(self) -> Iterator[tuple[object, ...]]:
        links = self.table.links.broken(self.site)
        for (status, target), some in groupby(links, attrgetter("status", "target")):
            sources = Found(_EXAMPLES)
            for link in some:
                sources.add(link.source)
            yield status, target, sources.count, tuple(source for (source,) in sources.rows)

    def _errors(self) -> Iterator[tuple[object, ...]]:
        return ((one.status, one.url, one.fetched_at) for one in self.table.errors(self.site))

    def _orphans(self) -> Iterator[tuple[object, ...]]:
        return ((one.url, one.status, one.title) for one in self.table.links.orphans(self.site))

    def _chains(self) -> Iterator[tuple[object, ...]]:
        for chain in self.table.redirect_chains(self.site):
            is_wrong = chain.is_loop or chain.length > 1 or chain.end is None or chain.end >= 400
            if is_wrong:
                end = "a loop" if chain.is_loop else "not stored" if chain.end is None else str(chain.end)
                yield chain.length, end, chain.urls

    def _same_content(self) -> Iterator[tuple[object, ...]]:
        for group in self.table.duplicate_groups(self.site):
            yield group.pages, group.bytes, group.urls[:_EXAMPLES]

    def _near_duplicates(self) -> Iterator[tuple[object, ...]]:
        for group in self.table.near_duplicate_groups(self.site):
            yield group.pages, group.bytes, group.urls[:_EXAMPLES]

    def _same_title(self) -> Iterator[tuple[object, ...]]:
        for group in self.table.duplicate_groups(self.site, by="title"):
            yield group.pages, group.value, group.urls[:_EXAMPLES]

    def _titles(self) -> Iterator[tuple[object, ...]]:
        found = self.table.titles(self.site)
        return ((one.problem, one.url, one.title) for one in found if one.problem != "duplicate")


# ----------------------------------------------------------------------------------------------------------------------


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
        damage = [("damaged rows, left out", f"{self.damaged:,}")] if self.damaged else []
        if not self.pages:
            empty = tag("p", self.empty_reason or f"{self.subject}: none is stored.", class_="lead")
            return report_page(title, [lead, empty], damage, "", ())
        charts = (
            chart("Status", "status", _largest(self.statuses)),
            chart("Types", "type", _largest(self.types)),
            chart("Languages", "language", _largest(self.languages)),
            chart("Sizes of bodies", "size", [(one.name, one.pages, None) for one in self.sizes]),
        )
        return report_page(title, lead, [*_facts(self), *damage], tag("div", charts, class_="charts"), self.sections)


def audit(
    table: AskedTable,
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
        statuses=counts.statuses,
        types=counts.types,
        languages=counts.languages,
        sizes=counts.sizes,
        sections=tuple(Findings(table, site, named, most, program).sections(counts)),
        empty_reason="" if counts.pages else nothing_of(table, site),
    )


def _facts(audit: Audit) -> list[tuple[str, str]]:
    facts = [("pages", f"{audit.pages:,}"), ("hosts", f"{audit.hosts:,}"), ("bodies", size_text(audit.bytes))]
    if audit.oldest is not None and audit.newest is not None:
        facts += [("fetched first", moment_text(audit.oldest)), ("fetched last", moment_text(audit.newest))]
    return facts


def _largest(groups: Sequence[NamedGroup]) -> Sequence[NamedGroup]:
    """Return the first of *groups*, those with the most pages, and the others as one."""
    rest = groups[_SHOWN_GROUPS:]
    if not rest:
        return groups
    others = NamedGroup(f"{len(rest):,} more", sum(one.pages for one in rest), sum(one.bytes for one in rest))
    return [*groups[:_SHOWN_GROUPS], others]
