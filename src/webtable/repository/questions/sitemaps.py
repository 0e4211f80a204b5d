"""The question what sitemaps name and what of it is stored: URLs in one and not crawled, in none, and those at odds.

Sitemaps are found among the captures: those that robots.txt or an index of sitemaps names, those that look like one,
and those that the caller names. What they name is joined with the pages of the site on disk.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from webtable._clock import milliseconds, moment_of
from webtable.display.text import minute_text, plural
from webtable.errors import DamagedRow, FormatError, InvalidArgument, InvalidURL
from webtable.page.body import is_html
from webtable.page.headers import REDIRECTS
from webtable.page.page import charset_of
from webtable.page.robots_txt import MOST_BYTES
from webtable.page.sitemap import period_of, sitemap_entries
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing, ListingOption
from webtable.repository.links.kinds import is_for_crawlers, is_sitemap, may_be_sitemap
from webtable.repository.page_storage.cells import together
from webtable.repository.page_storage.timeline import dates_in
from webtable.repository.questions.findings import BOT, NOT_INDEXABLE, label_of, problem_option, problems_of
from webtable.repository.questions.indexability import StoredRobots
from webtable.repository.questions.page import history_many, target_of
from webtable.repository.questions.pages import SortedQuestion, pieces_of, url_at
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.rowkey.urls import canonical_url, join_url
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webtable.page.page import Page
    from webtable.page.parts import IndexStatus
    from webtable.page.sitemap import SitemapEntry
    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scan import ScanSpec
    from webtable.repository.reading.scope import Scope

FILES_AT_ONCE = 256
"""How many sitemaps, or pages that they name, are looked up by one call."""
MAX_INDEXES = 5
"""How many indexes of sitemaps and redirects may lead to a sitemap; the protocol has one index."""
_ROBOTS_LINE = re.compile(r"^[ \t\ufeff]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
_ROBOTS = re.compile(r"//[^/]*/robots\.txt(?:\?|$)")
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)

SitemapProblem = Literal[
    "missing", "unlisted", "blocked", "noindex", "redirect", "error", "canonicalised", "lastmod", "foreign", "relative",
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
            "Read the capture of this sitemap too (repeatable).",
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
    help="""List the URLs of sitemaps, with their problems, and pages in no sitemap.

    Sitemaps are read from their captures: those that robots.txt or a sitemap index names, and those that look like one.
    docs/sitemaps.md explains the problems.
    """,
    of_command="`webtable crawl --sitemaps` stores sitemaps, and `webtable ingest --types all` those of WARC files.",
)


# Places are those of URLs, dates milliseconds. A file waits until it is read; `rank` 0 is robots.txt, 2 what may be a
# sitemap, by its type alone. `problems` of a page is its index status, empty if it is indexable, and NULL if it is
# neither that nor at odds.
TABLES = (
    "CREATE TABLE files (place BLOB PRIMARY KEY, named_by BLOB, depth INTEGER, rank INTEGER, state TEXT, problem TEXT,"
    " fetched INTEGER) WITHOUT ROWID",
    "CREATE INDEX waiting ON files (state, rank)",
    "CREATE TABLE named (file BLOB, origin TEXT, PRIMARY KEY (file, origin)) WITHOUT ROWID",
    "CREATE TABLE listed (place BLOB, file BLOB, lastmod TEXT, problems TEXT, PRIMARY KEY (place, file)) WITHOUT ROWID",
    "CREATE TABLE pages (place BLOB PRIMARY KEY, status INTEGER, problems TEXT, detail TEXT, changed INTEGER,"
    " fetched INTEGER, before INTEGER, changes INTEGER) WITHOUT ROWID",
)
# A file that was none by its look is read again once it is named.
_ADD = """
    INSERT INTO files VALUES (?, ?, ?, ?, 'waiting', NULL, NULL) ON CONFLICT (place) DO UPDATE SET
    named_by = coalesce(named_by, excluded.named_by), rank = min(rank, excluded.rank),
    depth = CASE WHEN rank > excluded.rank THEN excluded.depth ELSE min(depth, excluded.depth) END,
    state = CASE state WHEN 'none' THEN 'waiting' ELSE state END
"""
_WAITING = f"SELECT place, depth, rank FROM files WHERE state = 'waiting' ORDER BY rank LIMIT {FILES_AT_ONCE}"
_ELSEWHERE = """
    SELECT DISTINCT place FROM listed WHERE NOT EXISTS (SELECT 1 FROM pages WHERE pages.place = listed.place)
"""
_SEVERAL_CHANGES = (
    "SELECT place, lastmod, before, changed FROM listed JOIN pages USING (place)"
    " WHERE changes > 1 AND lastmod IS NOT NULL"
)
_CHANGED_AFTER = "UPDATE pages SET before = max(coalesce(before, 0), ?2) WHERE place = ?1"
_NAME = "INSERT OR IGNORE INTO named VALUES (?, ?)"
_IS_NAMED = "SELECT 1 FROM named WHERE file = ? AND origin = ?"
_HAS_SITEMAP = "SELECT 1 FROM files WHERE state = 'read' AND (problem IS NULL OR EXISTS (SELECT 1 FROM listed))"
_OF_PAGE = "pages.status, pages.problems, pages.detail, pages.changed, pages.fetched, pages.before"
_ROWS = f"""
    SELECT listed.place, file, lastmod, listed.problems, files.fetched, NULL, {_OF_PAGE} FROM listed
    JOIN files ON files.place = file LEFT JOIN pages ON pages.place = listed.place WHERE listed.place > ?1
    UNION ALL SELECT place, NULL, NULL, 'unlisted', NULL, NULL, {_OF_PAGE} FROM pages
    WHERE problems = '' AND NOT EXISTS (SELECT 1 FROM listed WHERE listed.place = pages.place)
    AND NOT EXISTS (SELECT 1 FROM files WHERE files.place = pages.place) AND place > ?1 AND EXISTS ({_HAS_SITEMAP})
    UNION ALL SELECT files.place, named_by, NULL, 'unreadable', NULL, files.problem, {_OF_PAGE} FROM files
    LEFT JOIN pages ON pages.place = files.place WHERE files.problem IS NOT NULL AND files.place > ?1
    ORDER BY 1, 2
"""


class _Row(NamedTuple):
    """A URL in a file, or in none, and what is stored of it."""

    place: bytes
    file: bytes | None
    lastmod: str | None
    listed_as: str
    file_fetched: int | None
    unreadable: str | None
    status: int | None
    problems: str | None
    detail: str | None
    changed: int
    fetched: int
    before: int | None

    def url(self) -> SitemapURL:
        """Return it with its problems."""
        of_page = ["missing"] if self.status is None and self.unreadable is None else (self.problems or "").split()
        problems, details = [*self.listed_as.split(), *of_page], [self.unreadable, self.detail]
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


T = TypeVar("T")


class OfSitemaps(SortedQuestion[T]):
    """A question for which the sitemaps of a scope are read; `kinds` are the problems that it lists."""

    kinds: object
    what: str
    fields: Sequence[str] = ()
    """What is read of pages besides their metadata."""
    notes: Sequence[str] = (
        "the bodies of robots.txt, of sitemaps and of other XML are read; those of a directory are of its whole host",
    )

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        sitemap: str | Collection[str] | None,
        problem: str | Collection[str] | None,
    ) -> None:
        place = scope.place
        is_directory = place is not None and place.directory != "/"
        super().__init__(context, scope.of_host(), window)
        self.is_within: Any = scope.contains() if is_directory else None
        if not isinstance(sitemap, str | Collection | None):
            raise InvalidArgument(f"sitemap={sitemap!r} must be the URL of a sitemap, or several")
        self.sitemaps: tuple[str, ...] = tuple(
            map(canonical_url, [sitemap] if isinstance(sitemap, str) else sitemap or ())
        )
        self.problems: frozenset[str] | None = problems_of(problem, self.kinds)
        named = "".join(f", {url}" for url in self.sitemaps)
        self.title: str = f"{self.what} {scope}{named}{label_of(self.problems)}"

    def spec(self) -> ScanSpec:
        return self.pages.in_one_range(self.pages.spec(Wanted(self.context.codec.select(self.fields))))


class SitemapsQuestion(OfSitemaps[SitemapURL]):
    """What the sitemaps of a scope name, and what of it is stored."""

    listing = LISTING
    kinds: object = SitemapProblem
    what: str = "URLs of sitemaps and"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[SitemapURL]:
        with TemporaryTables(*TABLES) as scratch:
            reading = _Reading(self, scratch, damage)
            reading.read_all()
            reading.look_back()
            rows = map(_Row._make, scratch.rows(_ROWS, (after or b"",)))
            for _, of_url in groupby(rows, lambda row: row.place):
                entry = reading.with_rule(_most_wrong(row.url() for row in of_url))
                if self.problems is None or not self.problems.isdisjoint(entry.problems):
                    yield entry

    def place(self, result: SitemapURL) -> bytes:
        return self.pages.by_url(result.url)

    def suggestion(self) -> str:
        return super().suggestion() or ("" if self.problems else "; crawl --sitemaps stores the sitemaps of a site")


def _most_wrong(entries: Iterator[SitemapURL]) -> SitemapURL:
    """Return the first of *entries*, which are of one URL, with the most problems, and how many others there are."""
    first, others = next(entries), 0
    for others, entry in enumerate(entries, 1):  # noqa: B007 - used after the loop
        first = max(first, entry, key=lambda entry: ("unreadable" in entry.problems, len(entry.problems)))
    return replace(first, others=others)


class SitemapReading:
    """Reads the pages of a site, its sitemaps, and pages elsewhere that these name, into temporary tables.

    The pages are read with the `fields` of the question.
    """

    elsewhere: str = _ELSEWHERE
    """The statement that selects the places of pages elsewhere."""

    def __init__(self, question: OfSitemaps[Any], scratch: TemporaryTables, damage: Damage) -> None:
        self._question, self._scratch, self._damage = question, scratch, damage
        self._context: TableContext = question.context

    def read_all(self) -> None:
        question, scratch = self._question, self._scratch
        pages = question.pages.pages(question.spec(), "storage", None, self._damage)
        scratch.fill("pages", map(self._with_file, pages), 8)
        for url in question.sitemaps:
            self._add(url, None, 0, rank=1)
        while files := list(scratch.rows(_WAITING)):
            self._read_files(files)
        self._look_elsewhere()

    # --- Pages --------------------------------------------------------------------------------------------------------

    def _with_file(self, page: Page) -> tuple[object, ...]:
        """Return the row of *page*; what may be robots.txt or a sitemap is added to the files."""
        if page.status == 200 and page.has_body:
            if is_for_crawlers(page):
                self._add(page.url, None, 0, rank=0 if _ROBOTS.search(page.url) else 1)
            elif may_be_sitemap(page):
                self._add(page.url, None, 0, rank=2)
        return self.row(page)

    def entry(self, entry: SitemapEntry, place: bytes) -> None:
        """Take what is needed of an *entry* of a sitemap, whose URL is at *place*."""

    def index_status(self, page: Page) -> tuple[IndexStatus | None, str | None]:
        """Return the index status of *page*, and its reason."""
        return page.index_status_for(BOT)

    def row(self, page: Page) -> tuple[object, ...]:
        status, detail = self.index_status(page)
        place, is_within = self._question.pages.by_url(page.url), self._question.is_within
        # What is beside the directory is not asked for, but may be named.
        is_indexable = status == "indexable" and (is_within is None or is_within(place))
        names = status if status in (*NOT_INDEXABLE, "blocked") else "" if is_indexable else None
        changed, before = page.changed_at or page.fetched_at, None
        if page.change_count:
            dates = [moment for moment in (page.first_seen, *dates_in(page.stored.unchanged)) if moment]
            before = max((milliseconds(moment) for moment in dates if moment < changed), default=None)
        # It may have half of a surrogate pair, which SQLite does not take.
        leads = detail if detail and status in ("redirect", "canonicalised", "blocked") else None
        detail = leads and leads.encode("utf-8", "replace").decode()
        dates_of = milliseconds(changed), milliseconds(page.fetched_at), before, page.change_count
        return place, page.status, names, detail, *dates_of

    def _look_elsewhere(self) -> None:
        """Add the pages of other sites that sitemaps name."""
        question, scratch = self._question, self._scratch
        if (is_of_site := question.scope.contains()) is None:
            return
        places = (place for (place,) in scratch.rows(self.elsewhere) if not is_of_site(place))
        for piece in pieces_of(places, None, FILES_AT_ONCE):
            pages = self._damage.sift(self._context.counted.read_each(self._keys(piece), question.fields))
            scratch.fill("pages", (self.row(page) for page in pages if page is not None), 8)

    # --- Files --------------------------------------------------------------------------------------------------------

    def _add(self, url: str | None, named_by: bytes | None, depth: int, *, rank: int) -> None:
        if (place := self._question.pages.by_any_url(url)) is not None:
            self._scratch.run(_ADD, (place, named_by, depth, rank))

    def _keys(self, places: Iterable[bytes]) -> list[bytes]:
        return [self._context.key.encode(url_at(place)) for place in places]

    def _settle(self, place: bytes, state: str, problem: str | None = None, fetched: datetime | None = None) -> None:
        values = state, problem, fetched and milliseconds(fetched), place
        self._scratch.run("UPDATE files SET state = ?, problem = ?, fetched = ? WHERE place = ?", values)

    def _read_files(self, files: Sequence[tuple[bytes, int, int]]) -> None:
        keys, bodies = self._keys(place for place, _, _ in files), []
        for file, key, page in zip(files, keys, self._context.counted.read_each(keys, ()), strict=True):
            place, depth, _ = file
            if isinstance(page, DamagedRow):
                self._damage.add(page)
                self._settle(place, "read", "its row is damaged")
            elif page is not None and page.status in REDIRECTS and page.redirect_to:
                self._add(target_of(page), place, depth + 1, rank=1)
                self._settle(place, "passed")
            elif problem := _why_not_read(page, depth):
                self._settle(place, "read", problem)
            elif page is not None:
                bodies.append(((file, key), page.size or 0))
        for piece in together(bodies):
            pages = self._context.counted.read_each([key for _, key in piece], ("body",))
            for (file, _), page in zip(piece, pages, strict=True):
                if isinstance(page, DamagedRow):
                    self._damage.add(page)
                if isinstance(page, DamagedRow) or page is None:  # it was deleted meanwhile
                    self._settle(file[0], "read", "its body cannot be read")
                else:
                    self._read_file(page, *file)

    def _read_file(self, page: Page, place: bytes, depth: int, rank: int) -> None:
        body = page.body or b""
        if rank == 0:
            for match in _ROBOTS_LINE.finditer(body[:MOST_BYTES].decode("utf-8", "replace")):
                with suppress(InvalidURL):
                    url = join_url(page.url, match[1])
                    self._add(url, place, 0, rank=1)
                    self._scratch.run(_NAME, (self._question.pages.by_any_url(url), _origin(page.url)))
            self._settle(place, "passed")
        elif rank == 2 and not is_sitemap(body):
            self._settle(place, "none")
        else:
            problems: list[str] = []
            self._scratch.fill("listed", self._listed(page, place, depth, problems), 4)
            self._settle(place, "read", "; ".join(problems) or None, page.fetched_at)

    def _listed(self, page: Page, place: bytes, depth: int, problems: list[str]) -> Iterator[tuple[object, ...]]:
        """Yield the rows of the URLs in the sitemap *page*; adds why not all can be read to *problems*."""
        unusable, origin, is_within = 0, _origin(page.url), self._question.is_within
        try:
            for entry in sitemap_entries(page.body or b"", charset_of(page)):
                url = None
                with suppress(InvalidURL):
                    url = join_url(page.url, entry.url) if entry.url else None
                if url is None or (at := self._question.pages.by_any_url(url)) is None:
                    unusable += 1
                elif entry.is_sitemap:
                    self._add(url, place, depth + 1, rank=1)
                elif is_within is None or is_within(at):
                    self.entry(entry, at)
                    names = [] if _ABSOLUTE.match(entry.url) else ["relative"]
                    if _origin(url) != origin and not self._scratch.first(_IS_NAMED, (place, _origin(url))):
                        names.append("foreign")
                    yield at, place, entry.lastmod, " ".join(names)
        except FormatError as exc:
            problems.append(f"an HTML page: {exc}" if is_html(page.content_type) else str(exc))
        if unusable:
            problems.append(plural(unusable, "invalid URL"))


class _Reading(SitemapReading):
    """Reads also what robots.txt forbids, and the dates that a lastmod is compared with."""

    def __init__(self, question: OfSitemaps[Any], scratch: TemporaryTables, damage: Damage) -> None:
        super().__init__(question, scratch, damage)
        self._robots = StoredRobots(question.context, BOT)

    def index_status(self, page: Page) -> tuple[IndexStatus | None, str | None]:
        return self._robots.index_status(page)[:2]

    def with_rule(self, entry: SitemapURL) -> SitemapURL:
        """Return *entry* with the rule of robots.txt that keeps it from being fetched, if it is not stored."""
        if "missing" not in entry.problems:
            return entry
        try:
            file = self._robots.of(entry.url, None)
        except DamagedRow as exc:
            self._damage.add(exc)
            return entry
        if file is None or file.allows(entry.url):
            return entry
        details = filter(None, (entry.detail, file.rule(entry.url)))
        return replace(entry, problems=(*entry.problems, "blocked"), detail="; ".join(details) or None)

    def look_back(self) -> None:
        """Find when pages had other content last, where a lastmod depends on it and their metadata do not say it."""
        rows = self._scratch.rows(_SEVERAL_CHANGES)
        doubtful = (
            place
            for place, lastmod, before, changed in rows
            if (period := period_of(lastmod)) and (before or 0) <= milliseconds(period.end) < changed
        )
        for places in pieces_of(doubtful, None, FILES_AT_ONCE):
            for place, versions in zip(places, history_many(self._context, map(url_at, places)), strict=True):
                dates = [milliseconds(version.fetched_at) for version in versions]
                self._scratch.run(
                    _CHANGED_AFTER, (place, max((date for date in dates if date < max(dates)), default=0))
                )


def _why_not_read(page: Page | None, depth: int) -> str | None:
    """Return why the body of *page*, which should be a sitemap, is not read; None if it is."""
    if page is None:
        return "its capture is not stored"
    if not 200 <= page.status < 300:
        return f"status {page.status}"
    if not page.has_body:
        return "its body is not stored"
    return f"below more than {MAX_INDEXES} indexes and redirects" if depth > MAX_INDEXES else None


def _origin(url: str) -> str:
    """Return scheme, host and port of the canonical *url*."""
    return "/".join(url.split("/", 3)[:3])
