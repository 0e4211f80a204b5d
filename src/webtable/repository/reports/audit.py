"""An audit of a site: how many pages it has and of what kind, and what is wrong with them."""

from __future__ import annotations

import heapq
import re
import shlex
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable._clock import clock
from webtable.display.markup import tag
from webtable.display.text import class_bounds, class_name, size_class, size_text
from webtable.page.facts import is_html_page
from webtable.progress import counting
from webtable.repository.arguments import MOST_FINDINGS
from webtable.repository.indexes.index import LIKENESS
from webtable.repository.reading.page_counts import OTHERS, UNKNOWN, GroupCounts, PageCounts, grouping, language_of
from webtable.repository.reading.site import Site, site_text
from webtable.repository.reports.page import chart, moment_text, report_page
from webtable.repository.reports.section import AskedTable, Found, Heading, Report, Section, check_most, nothing_of
from webtable.rowkey.urls import canonical_or_none, split_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.page.page import Page
    from webtable.repository.arguments import Grouping, Progress


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
        super().__init__({name: grouping(name, most=_MOST_GROUPS) for name in _GROUPINGS})
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
_URL, _TITLE, _STATUS = Heading("url", "url"), Heading("title", "text"), Heading("status", "status")
_PAGES, _SIZE, _URLS = Heading("pages", "number"), Heading("size", "size"), Heading("urls", "urls")


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
            [_STATUS, Heading("target", "url"), Heading("links", "number"), Heading("linked_from", "urls")],
            f"broken-links {self._quoted}",
        ).asked(self._broken, self.most, self.program)
        yield self._section(
            "errors",
            "Pages with an error",
            "Pages of the site whose last capture has a status of 400 or above, whether anybody links there or not.",
            [_STATUS, _URL, Heading("fetched", "time")],
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
            [_URL, _STATUS, _TITLE],
            f"orphans {self._quoted}",
        ).asked(self._orphans, self.most, self.program)
        yield from self._of_the_same()
        yield self._section(
            "titles",
            "Titles",
            "HTML pages without a title, or with one of over 60 characters, which search engines cut.",
            [Heading("problem", "text"), _URL, _TITLE],
            f"titles {self._quoted}",
        ).asked(self._titles, self.most, self.program)
        yield from self._of_the_head(counts)
        yield self._section(
            "largest",
            "Largest pages",
            "Those with the largest bodies, by the bytes that were sent.",
            [_URL, _TITLE, Heading("size", "size")],
            f"largest {self._quoted}",
        ).filled(counts.largest)

    def _of_the_same(self) -> Iterator[Section]:
        yield self._section(
            "same-content",
            "Same content",
            "Groups of pages whose bodies are the same, byte for byte, the group with the most pages first.",
            [_PAGES, _SIZE, _URLS],
            f"duplicate-groups {self._quoted}",
        ).asked(self._same_content, self.most, self.program)
        if LIKENESS.name in self.table.indexes.states():  # who has not added it is not told so in every audit
            yield self._section(
                "near-duplicates",
                "Nearly the same text",
                "Groups of pages that share 80 % of their text or more, the group with the most pages first.",
                [_PAGES, _SIZE, _URLS],
                f"near-duplicate-groups {self._quoted}",
            ).asked(self._near_duplicates, self.most, self.program)
        yield self._section(
            "same-title",
            "Same title",
            "Groups of pages with one title, the group with the most pages first.",
            [_PAGES, _TITLE, _URLS],
            f"duplicate-groups {self._quoted} --by title",
        ).asked(self._same_title, self.most, self.program)

    def _of_the_head(self, counts: SiteCounts) -> Iterator[Section]:
        listing = f"pages {self._quoted} --format csv --columns url,"
        yield self._section(
            "no-description",
            "Without a description",
            "HTML pages without a description in their head.",
            [_URL, _TITLE],
            f"{listing}description",
        ).filled(counts.undescribed)
        yield self._section(
            "no-h1",
            "Without a heading",
            "HTML pages without a heading of the first level (h1).",
            [_URL, _TITLE],
            f"{listing}h1",
        ).filled(counts.without_h1)
        yield self._section(
            "canonical-elsewhere",
            "Canonical elsewhere",
            "Pages that name another URL as the one for their content.",
            [_URL, Heading("canonical", "url")],
            f"{listing}canonical",
        ).filled(counts.elsewhere)
        yield self._section(
            "noindex",
            "Not to be indexed",
            "Pages that tell search engines not to list them (robots: noindex or none).",
            [_URL, Heading("robots", "text")],
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
            [_URL, Heading("language", "text"), Heading("told_by", "text"), _TITLE],
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
    _empty: str = ""

    def html(self) -> str:
        """Return the report as one self-contained HTML page; crawled text is escaped."""
        title, written = f"Audit of {self.site}", moment_text(self.made_at)
        lead = tag("p", f"{self.subject}, on {written}", class_="muted")
        damage = [("damaged rows, left out", f"{self.damaged:,}")] if self.damaged else []
        if not self.pages:
            empty = tag("p", self._empty or f"{self.subject}: none is stored.", class_="lead")
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
        _empty="" if counts.pages else nothing_of(table, site),
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
