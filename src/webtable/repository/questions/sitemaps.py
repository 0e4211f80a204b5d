"""The question what sitemaps name and what of it is stored: URLs in one and not crawled, in none, and those at odds.

Sitemaps are found among the captures: those that robots.txt or an index of sitemaps names, those that look like one,
and those that the caller names. What they name is joined with the pages of the site on disk.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from webtable._clock import clock, milliseconds, moment_of
from webtable.display.text import minute_text, plural
from webtable.errors import DamagedRow, FormatError, InvalidArgument, InvalidURL
from webtable.page.body import is_html
from webtable.page.headers import REDIRECTS
from webtable.page.page import charset_of
from webtable.page.sitemap import period_of, sitemap_entries
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing, ListingOption
from webtable.repository.links.kinds import is_for_crawlers, is_sitemap, may_be_sitemap
from webtable.repository.page_storage.cells import together
from webtable.repository.page_storage.timeline import dates_in
from webtable.repository.questions.findings import TESTS, is_read, label_of, problem_option, problems_of
from webtable.repository.questions.page import history_many, target_of
from webtable.repository.questions.pages import SortedQuestion, pieces_of, url_at
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.rowkey.urls import canonical_url, join_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webtable.page.page import Page
    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Scope

FILES_AT_ONCE = 256
"""How many sitemaps, or pages that they name, are looked up by one call."""
MAX_INDEXES = 5
"""How many indexes of sitemaps and redirects may lead to a sitemap; the protocol has one index."""
MAX_FILES = 50_000
"""How many sitemaps are read, and held in memory by their URLs: as many as an index may name."""
_MAX_ROBOTS = 512_000  # what Google reads of it
_ROBOTS_LINE = re.compile(r"^[ \t\ufeff]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)

SitemapProblem = Literal[
    "missing", "unlisted", "noindex", "redirect", "error", "canonicalised", "lastmod", "foreign", "relative",
    "unreadable",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SitemapURL:
    """A URL that a sitemap names, an indexable page that none names, or a sitemap that cannot be read.

    `sitemap` is the first that names it, with the most problems, `lastmod` what that says (in UTC; None where it is no
    date), `others` how many more name it. `status` is that of the page, None if it is not stored. `detail` says where
    it leads, or what is wrong.
    """

    url: str
    problems: tuple[SitemapProblem, ...]
    status: int | None = None
    lastmod: datetime | None = None
    sitemap: str | None = None
    others: int = 0
    detail: str | None = None


SITEMAP_URLS = declared(
    SitemapURL,
    "URL",
    column("url", "url"),
    column("problems", "urls", lambda entry: list(entry.problems), share=1),
    column("status", "status"),
    column("lastmod", "time"),
    column("sitemap", "url", share=2),
    column("others", "count", width=7),
    column("detail", share=2),
    listed=("url", "problems", "status", "lastmod", "sitemap", "detail"),
)


LISTING = Listing(
    "sitemaps",
    SITEMAP_URLS,
    orders=("url",),
    options=(
        SITE,
        ListingOption(
            "sitemap",
            "Read the capture of this sitemap too; may be given more than once.",
            metavar="URL",
            is_many=True,
            example="https://example.com/sitemap.xml",
        ),
        problem_option(SitemapProblem),
    ),
    examples=(
        "webtable sitemaps example.com",
        "webtable sitemaps example.com --problem missing --columns url,sitemap --format csv > crawl-next.csv",
        "webtable sitemaps example.com --sitemap https://example.com/feed.xml --problem lastmod",
    ),
    help="""List the URLs of sitemaps, with what is at odds with the pages that are stored, and pages in no sitemap.

    Sitemaps are read from their captures: those that robots.txt or an index names, and those that look like one. A URL
    in a sitemap is missing (it is not stored), noindex, a redirect, an error or canonicalised (to another URL), foreign
    (of another host or scheme, whose robots.txt does not name the sitemap) or relative; its lastmod is no date, in the
    future, or at odds with what was captured. An indexable page that none names is unlisted. A sitemap that cannot be
    read to its end is unreadable.
    """,
    of_command="`webtable crawl --sitemaps` stores sitemaps, and `webtable ingest --types all` those of WARC files.",
)


# Places are those of URLs, dates milliseconds. `problems` of a page is empty if it is indexable, NULL if it is neither
# that nor at odds; `look` is what it may be for crawlers. A file that cannot be read is listed like a URL.
_TABLES = (
    "CREATE TABLE listed (place BLOB, file BLOB, lastmod TEXT, problems TEXT, reason TEXT, fetched INTEGER,"
    " PRIMARY KEY (place, file, problems))",
    "CREATE TABLE pages (place BLOB PRIMARY KEY, status INTEGER, problems TEXT, detail TEXT, changed INTEGER,"
    " fetched INTEGER, before INTEGER, changes INTEGER, look INTEGER) WITHOUT ROWID",
)
_LOOKING = "SELECT place FROM pages WHERE look = ?"
_ROBOTS, _BY_NAME, _BY_TYPE = 1, 2, 3
_ELSEWHERE = """
    SELECT DISTINCT place FROM listed WHERE NOT EXISTS (SELECT 1 FROM pages WHERE pages.place = listed.place)
"""
_SEVERAL_CHANGES = """
    SELECT place, lastmod, before, changed FROM listed JOIN pages USING (place)
    WHERE changes > 1 AND lastmod IS NOT NULL
"""
_CHANGED_AFTER = "UPDATE pages SET before = max(coalesce(before, 0), ?2) WHERE place = ?1"
_NO_PAGE = "UPDATE pages SET problems = nullif(problems, '') WHERE place = ?"
_ROWS = """
    WITH facts AS (SELECT place, status, problems, detail, changed, fetched, before FROM pages)
    SELECT listed.*, facts.* FROM listed LEFT JOIN facts USING (place) WHERE listed.place > ?1
    UNION ALL SELECT place, NULL, NULL, 'unlisted', NULL, NULL, facts.* FROM facts
    WHERE problems = '' AND NOT EXISTS (SELECT 1 FROM listed WHERE listed.place = facts.place) AND place > ?1 AND ?2
    ORDER BY 1, 2
"""


class _Row(NamedTuple):
    """A URL in a file, or in none, and what is stored of it."""

    place: bytes
    file: bytes | None
    lastmod: str | None
    listed_as: str
    reason: str | None
    file_fetched: int | None
    page: bytes | None
    status: int | None
    problems: str | None
    detail: str | None
    changed: int
    fetched: int
    before: int | None

    def url(self) -> SitemapURL:
        """Return it with its problems."""
        of_page = "missing" if self.page is None and self.reason is None else self.problems or ""
        problems, details = [*self.listed_as.split(), *of_page.split()], [self.reason, self.detail]
        period = period_of(self.lastmod) if self.lastmod else None
        if self.lastmod and (wrong := self._wrong_lastmod(self.lastmod)):
            problems.append("lastmod")
            details.insert(0, wrong)
        return SitemapURL(
            url_at(self.place),
            tuple(problems),  # type: ignore[arg-type]  # the names in the tables are of them
            self.status,
            period and period.moment,
            None if self.file is None else url_at(self.file),
            detail="; ".join(filter(None, details)) or None,
        )

    def _wrong_lastmod(self, lastmod: str) -> str | None:
        period = period_of(lastmod)
        if period is None:
            return f"lastmod {lastmod}: no date"
        start, end = milliseconds(period.start), milliseconds(period.end)
        if start > (self.file_fetched or 0):
            return f"lastmod {lastmod}: later than the capture of its sitemap"
        if self.status is None or not 200 <= self.status < 300:
            return None
        if self.changed < start and end <= self.fetched:
            return f"lastmod {lastmod}: unchanged since {minute_text(moment_of(self.changed))}"
        if self.before is not None and end < self.before:
            return f"lastmod {lastmod}: changed after {minute_text(moment_of(self.before))}"
        return None


class SitemapsQuestion(SortedQuestion[SitemapURL]):
    """What the sitemaps of a scope name, and what of it is stored."""

    listing = LISTING
    notes: Sequence[str] = (
        "the bodies of robots.txt, of sitemaps and of other XML are read; those of a directory are of its whole host",
    )

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        sitemap: str | Collection[str] | None,
        problem: SitemapProblem | Collection[SitemapProblem] | None,
    ) -> None:
        place = scope.place
        is_directory = place is not None and place.directory != "/"
        super().__init__(
            context, scope if place is None else scope._replace(place=place._replace(directory="/")), window
        )
        self.is_within: Any = scope.contains() if is_directory else None
        if not isinstance(sitemap, str | Collection | None):
            raise InvalidArgument(f"sitemap={sitemap!r} must be the URL of a sitemap, or several")
        self.sitemaps = tuple(map(canonical_url, [sitemap] if isinstance(sitemap, str) else sitemap or ()))
        self.problems: frozenset[str] | None = problems_of(problem, SitemapProblem)
        named = "".join(f", {url}" for url in self.sitemaps)
        self.title: str = f"URLs of sitemaps and {scope}{named}{label_of(self.problems)}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[SitemapURL]:
        with TemporaryTables(*_TABLES) as scratch:
            has_sitemaps = _Reading(self, scratch, damage).read_all()
            rows = map(_Row._make, scratch.rows(_ROWS, (after or b"", has_sitemaps)))
            for _, of_url in groupby(rows, lambda row: row.place):
                entry = _most_wrong(row.url() for row in of_url)
                if self.problems is None or not self.problems.isdisjoint(entry.problems):
                    yield entry

    def place(self, result: SitemapURL) -> bytes:
        return self.pages.by_url(result.url)


def _most_wrong(entries: Iterator[SitemapURL]) -> SitemapURL:
    """Return the first of *entries*, which are of one URL, with the most problems, and how many others there are."""
    first, others = next(entries), 0
    for others, entry in enumerate(entries, 1):  # noqa: B007 - used after the loop
        first = max(first, entry, key=lambda entry: ("unreadable" in entry.problems, len(entry.problems)))
    return replace(first, others=others)


class _File(NamedTuple):
    """A sitemap, or what may be one: the place of what names it, and how many indexes and redirects lead to it."""

    named_by: bytes | None = None
    depth: int = 0
    is_sure: bool = True
    """Whether it is one whatever it has."""


class _Reading:
    """Reads the pages of a site, and its sitemaps, into temporary tables."""

    def __init__(self, question: SitemapsQuestion, scratch: TemporaryTables, damage: Damage) -> None:
        self._question, self._scratch, self._damage = question, scratch, damage
        self._context: TableContext = question.context
        self._at = clock.now()
        self._files: dict[str, _File] = {}
        self._waiting: deque[str] = deque()
        self._named: set[tuple[str, str]] = set()
        """Sitemaps, each with the origin of a robots.txt that names it."""
        self._has_sitemaps = False

    def read_all(self) -> bool:
        """Read all; return whether there is a sitemap that can be read."""
        question, scratch = self._question, self._scratch
        scratch.fill("pages", map(self._row, question.pages.all(self._damage)), 9)
        # What is named comes first: it is read whatever it looks like.
        for look in (_ROBOTS, _BY_NAME, _BY_TYPE):
            self._read((url_at(place) for (place,) in scratch.rows(_LOOKING, (look,))), is_sure=look != _BY_TYPE)
            if look == _ROBOTS:
                self._read(question.sitemaps)
        self._look_elsewhere()
        self._look_back()
        return self._has_sitemaps

    # --- Pages --------------------------------------------------------------------------------------------------------

    def _row(self, page: Page) -> tuple[object, ...]:
        problems, detail = [], None
        if page.status in REDIRECTS:
            problems, detail = ["redirect"], page.redirect_to
        elif not 200 <= page.status < 400:
            problems = ["error"]
        else:
            if TESTS["noindex"](page, self._at):
                problems.append("noindex")
            # Of two that disagree search engines obey neither.
            if TESTS["canonical-elsewhere"](page, self._at) and page.other_canonical is None:
                problems, detail = [*problems, "canonicalised"], page.canonical
        place, is_within = self._question.pages.by_url(page.url), self._question.is_within
        # What is beside the directory is not asked for, but may be named.
        is_indexable = is_read(page) and (is_within is None or is_within(place))
        names = " ".join(problems) if problems or is_indexable else None
        changed, before, look = page.changed_at or page.fetched_at, None, None
        if page.change_count:
            dates = [moment for moment in (page.first_seen, *dates_in(page.stored.unchanged)) if moment]
            before = max((milliseconds(moment) for moment in dates if moment < changed), default=None)
        if page.status == 200 and page.has_body:
            by_name = _ROBOTS if _is_robots(page.url) else _BY_NAME
            look = by_name if is_for_crawlers(page) else _BY_TYPE if may_be_sitemap(page) else None
        dates_of = milliseconds(changed), milliseconds(page.fetched_at), before, page.change_count
        return place, page.status, names, detail, *dates_of, look

    def _look_elsewhere(self) -> None:
        """Add the pages of other sites that sitemaps name."""
        is_of_site = self._question.scope.contains() or (lambda _: True)
        places = (place for (place,) in self._scratch.rows(_ELSEWHERE) if not is_of_site(place))
        for urls in pieces_of(map(url_at, places), None, FILES_AT_ONCE):
            pages = self._damage.sift(self._context.counted.read_each(self._keys(urls), ()))
            self._scratch.fill("pages", [self._row(page) for page in pages if page is not None], 9)

    def _look_back(self) -> None:
        """Find when pages had other content last, where a lastmod depends on it and their metadata do not say it."""
        doubtful = (
            place
            for place, lastmod, before, changed in self._scratch.rows(_SEVERAL_CHANGES)
            if (period := period_of(lastmod)) and (before or 0) <= milliseconds(period.end) < changed
        )
        for places in pieces_of(doubtful, None, FILES_AT_ONCE):
            for place, versions in zip(places, history_many(self._context, map(url_at, places)), strict=True):
                dates = sorted(milliseconds(version.fetched_at) for version in versions)
                if len(dates) > 1:
                    self._scratch.run(_CHANGED_AFTER, (place, dates[-2]))

    # --- Files --------------------------------------------------------------------------------------------------------

    def _read(self, urls: Iterable[str], *, is_sure: bool = True) -> None:
        """Read the files *urls*, and all to which they lead."""
        for piece in pieces_of(iter(urls), None, FILES_AT_ONCE):
            for url in piece:
                self._add(url, _File(is_sure=is_sure))
            while self._waiting:
                self._read_files([self._waiting.popleft() for _ in range(min(FILES_AT_ONCE, len(self._waiting)))])

    def _add(self, url: str, file: _File) -> None:
        if url in self._files:
            return
        if file.depth > MAX_INDEXES or len(self._files) == MAX_FILES:
            self._fail(
                url, file, f"more than {MAX_INDEXES} indexes and redirects lead to it, or there are {MAX_FILES:,}"
            )
        else:
            self._files[url] = file
            self._waiting.append(url)

    def _fail(self, url: str, file: _File, reason: str) -> None:
        """List the *file* as one that cannot be read."""
        place = self._question.pages.by_url(url)
        row = place, file.named_by, None, "unreadable", reason, None
        self._scratch.run("INSERT OR IGNORE INTO listed VALUES (?, ?, ?, ?, ?, ?)", row)

    def _keys(self, urls: Iterable[str]) -> list[bytes]:
        return list(map(self._context.key.encode, urls))

    def _read_files(self, urls: Sequence[str]) -> None:
        bodies = []
        for url, page in zip(urls, self._context.counted.read_each(self._keys(urls), ()), strict=True):
            file = self._files[url]
            if page is None or isinstance(page, DamagedRow):
                self._fail(url, file, self._why_not(page))
            elif page.status in REDIRECTS and (target := target_of(page)):
                self._add(target, _File(self._question.pages.by_url(url), file.depth + 1))
            elif not 200 <= page.status < 300 or not page.has_body:
                self._fail(url, file, "its body is not stored" if page.status == 200 else f"status {page.status}")
            else:
                bodies.append((url, page.size or 0))
        for piece in together(bodies):
            pages = self._context.counted.read_each(self._keys(piece), ("body",))
            for url, page in zip(piece, pages, strict=True):
                if page is None or isinstance(page, DamagedRow):
                    self._fail(url, self._files[url], self._why_not(page))
                else:
                    self._read_file(page, self._files[url])

    def _why_not(self, page: DamagedRow | None) -> str:
        if page is None:
            return "its capture is not stored"
        self._damage.add(page)
        return "its row is damaged"

    def _read_file(self, page: Page, file: _File) -> None:
        body, url = page.body or b"", page.url
        if _is_robots(url):
            place = self._question.pages.by_url(url)
            for match in _ROBOTS_LINE.finditer(body[:_MAX_ROBOTS].decode("utf-8", "replace")):
                if sitemap := self._joined(url, match[1]):
                    self._add(sitemap, _File(place))
                    self._named.add((sitemap, _origin(url)))
        elif file.is_sure or is_sitemap(body):
            problems: list[str] = []
            self._scratch.fill("listed", self._listed(page, file, problems), 6)
            # One without a type has been stored as HTML, which a sitemap is not.
            self._scratch.run(_NO_PAGE, (self._question.pages.by_url(url),))
            if problems:
                self._fail(url, file, "; ".join(problems))
            self._has_sitemaps |= not problems
        else:
            del self._files[url]  # an index that is read later may name it

    def _joined(self, base: str, reference: str) -> str | None:
        """Return the URL of *reference* at *base*, None if no page can have it."""
        with suppress(InvalidURL):
            url = join_url(base, reference)
            self._question.pages.by_url(url)  # it may be too long
            return url if reference else None
        return None

    def _listed(self, page: Page, file: _File, problems: list[str]) -> Iterator[tuple[object, ...]]:
        """Yield the rows of the URLs in the sitemap *page*; adds why not all can be read to *problems*."""
        place_of, is_within = self._question.pages.by_url, self._question.is_within
        unusable, place, fetched = 0, place_of(page.url), milliseconds(page.fetched_at)
        try:
            for entry in sitemap_entries(page.body or b"", charset_of(page)):
                url = self._joined(page.url, entry.url)
                if url is None:
                    unusable += 1
                elif entry.is_sitemap:
                    self._add(url, _File(place, file.depth + 1))
                elif is_within is None or is_within(place_of(url)):
                    is_own = _origin(url) == _origin(page.url) or (page.url, _origin(url)) in self._named
                    names = ["foreign"] * (not is_own) + ["relative"] * (not _ABSOLUTE.match(entry.url))
                    self._has_sitemaps = True
                    yield place_of(url), place, entry.lastmod, " ".join(names), None, fetched
        except FormatError as exc:
            problems.append(f"an HTML page: {exc}" if is_html(page.content_type) else str(exc))
        if unusable:
            problems.append(plural(unusable, "invalid URL"))


def _is_robots(url: str) -> bool:
    return url.split("/", 3)[3].partition("?")[0] == "robots.txt"


def _origin(url: str) -> str:
    """Return scheme, host and port of the canonical *url*."""
    return "/".join(url.split("/", 3)[:3])
