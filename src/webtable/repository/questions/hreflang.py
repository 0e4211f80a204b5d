"""The question which versions in other languages the pages of a site name, and where that does not agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from webtable.page.language_tags import tag_problem
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing, ListingOption
from webtable.repository.questions.findings import NOT_INDEXABLE, is_content, problem_option
from webtable.repository.questions.pages import url_at
from webtable.repository.questions.relations import relations_of
from webtable.repository.questions.sitemaps import TABLES, OfSitemaps, SitemapReading
from webtable.repository.reading.temporary_tables import TemporaryTables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.page.page import Page
    from webtable.page.sitemap import SitemapEntry
    from webtable.repository.reading.read_ahead import Damage

HreflangProblem = Literal[
    "no-return", "inconsistent", "no-self", "code", "several", "not-canonical", "missing", "redirect", "error",
    "noindex", "canonicalised",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hreflang:
    """A version of the page `url` for a `language`, in lower case, as the page or a sitemap names it: the `target`.

    `sources` say where: `link` (in the head), `header` (Link), `sitemap`. `status` is that of the target, None if it is
    not stored, and `detail` explains the problems. With the problem "no-self" it is what a page with other versions
    does not name: itself, without a language.
    """

    url: str
    language: str | None
    target: str
    problems: tuple[HreflangProblem, ...]
    status: int | None = None
    sources: tuple[str, ...] = ()
    detail: str | None = None


LISTING = Listing(
    "hreflang",
    declared(
        Hreflang,
        "language version",
        column("url", "url"),
        column("language", width=10),
        column("target", "url"),
        column("problems", "urls", lambda version: list(version.problems), share=1),
        column("status", "status"),
        column("sources", "urls", lambda version: list(version.sources), share=1),
        column("detail", share=2),
        listed=("url", "language", "target", "problems", "detail"),
    ),
    orders=("url",),
    options=(
        SITE,
        ListingOption("sitemap", "Read the capture of this sitemap too (repeatable).", metavar="URL", is_many=True),
        problem_option(HreflangProblem),
    ),
    examples=(
        "webtable hreflang example.com --problem no-return --problem code",
        "webtable hreflang example.com --format csv > hreflang.csv",
    ),
    help="""List the versions in other languages that pages name, by hreflang in markup, header or sitemap.

    docs/seo_checks.md explains the problems. Codes are languages of ISO 639-1, with a script of ISO 15924 and a
    region of ISO 3166-1, or x-default.
    """,
)
_BETWEEN: Final = b"\0"
# A version may be named at several places. `judged` are the pages whose markup was read to its end. Of the languages
# for which a target names a page 100 are looked at: a stranger's sitemap may have thousands, and each row asks.
_ALTERNATES = (
    "CREATE TABLE alternates (place BLOB, language TEXT, target BLOB, source TEXT,"
    " PRIMARY KEY (place, language, target, source)) WITHOUT ROWID",
    "CREATE INDEX by_target ON alternates (target, place, language)",
    "CREATE TABLE judged (place BLOB PRIMARY KEY) WITHOUT ROWID",
)
_ELSEWHERE = "SELECT DISTINCT target FROM alternates"
_ROWS = """
    SELECT named.place, named.language, named.target, group_concat(source, ' '), page.problems, target.status,
    target.problems, target.detail,
    EXISTS (SELECT 1 FROM judged WHERE judged.place = named.target)
    OR EXISTS (SELECT 1 FROM alternates AS other WHERE other.place = named.target),
    EXISTS (SELECT 1 FROM alternates AS back WHERE back.target = named.place AND back.place = named.target),
    EXISTS (SELECT 1 FROM alternates AS self WHERE self.target = named.place AND self.place = named.place)
    AND NOT EXISTS (SELECT 1 FROM (SELECT language FROM alternates AS back WHERE back.target = named.place
    AND back.place = named.target LIMIT 100) AS back JOIN alternates AS self
    ON self.place = named.place AND self.language = back.language AND self.target = named.place),
    EXISTS (SELECT 1 FROM alternates AS other WHERE other.place = named.place AND other.language = named.language
    AND other.target <> named.target)
    FROM alternates AS named LEFT JOIN pages AS page ON page.place = named.place
    LEFT JOIN pages AS target ON target.place = named.target
    WHERE (named.place, named.language, named.target) > (?1, ?2, ?3)
    GROUP BY named.place, named.language, named.target
    UNION ALL SELECT place, '', place, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0 FROM
    (SELECT DISTINCT place FROM alternates WHERE (place, '', place) > (?1, ?2, ?3)) AS naming
    WHERE NOT EXISTS (SELECT 1 FROM alternates AS self WHERE self.target = naming.place AND self.place = naming.place)
    ORDER BY 1, 2, 3
"""


class _Row(NamedTuple):
    """A version as it is named, and what is stored of both pages."""

    place: bytes
    language: str
    target: bytes
    sources: str | None
    own_status: str | None
    status: int | None
    target_status: str | None
    leads_to: str | None
    is_judged: int
    is_returned: int
    is_inconsistent: int
    has_others: int

    def version(self) -> Hreflang:
        """Return it with its problems."""
        url, target = url_at(self.place), url_at(self.target)
        if self.sources is None:
            return Hreflang(url, None, target, ("no-self",))
        code, is_stored = tag_problem(self.language), self.status is not None
        at_odds = self.target_status if self.target_status in NOT_INDEXABLE else None
        is_page = is_stored and at_odds not in ("error", "redirect")
        holds: dict[HreflangProblem, object] = {
            "no-return": is_page and self.is_judged and not self.is_returned,
            "inconsistent": self.is_returned and self.is_inconsistent,
            "code": code,
            "several": self.has_others,
            "not-canonical": self.own_status == "canonicalised",
            "missing": not is_stored,
        }
        problems = [name for name, is_so in holds.items() if is_so]
        # A page that is not canonical itself says so once, of itself.
        if at_odds and not (self.place == self.target and at_odds == "canonicalised"):
            problems.append(at_odds)  # type: ignore[arg-type]  # the names of the index status
        detail = "; ".join(filter(None, (code, self.leads_to))) or None
        sources = tuple(dict.fromkeys(self.sources.split()))
        return Hreflang(url, self.language, target, tuple(problems), self.status, sources, detail)


class HreflangQuestion(OfSitemaps[Hreflang]):
    """Which versions in other languages the pages of a scope name."""

    listing = LISTING
    kinds: object = HreflangProblem
    what: str = "versions in other languages of"
    fields: Sequence[str] = ("body",)
    notes: Sequence[str] = (
        "the bodies of all pages, of robots.txt and of sitemaps are read, and those of pages elsewhere that are named;"
        " those of a directory are of its whole host",
    )

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Hreflang]:
        place, _, rest = (after or b"").partition(_BETWEEN)
        language, _, target = rest.partition(_BETWEEN)
        contains = self.is_within or self.scope.contains()
        with TemporaryTables(*TABLES, *_ALTERNATES) as scratch:
            _Reading(self, scratch, damage).read_all()
            for row in map(_Row._make, scratch.rows(_ROWS, (place, language.decode("utf-8", "replace"), target))):
                if contains is None or contains(row.place):
                    version = row.version()
                    if self.problems is None or not self.problems.isdisjoint(version.problems):
                        yield version

    def place(self, result: Hreflang) -> bytes:
        language = (result.language or "").encode()
        return _BETWEEN.join((self.pages.by_url(result.url), language, self.pages.by_url(result.target)))


class _Reading(SitemapReading):
    """Reads what pages and sitemaps name as versions in other languages as well."""

    elsewhere: str = _ELSEWHERE

    def row(self, page: Page) -> tuple[object, ...]:
        row = super().row(page)
        if is_content(page):
            relations, is_whole = relations_of(page)
            for relation in relations:
                if relation.hreflang is not None and relation.rel == "alternate":
                    self._name(row[0], relation.hreflang, relation.target, relation.element)
            if is_whole:
                self._scratch.run("INSERT OR IGNORE INTO judged VALUES (?)", (row[0],))
        return row

    def entry(self, entry: SitemapEntry, place: bytes) -> None:
        for language, reference in entry.alternates:
            self._name(place, language, reference, "sitemap")

    def _name(self, place: object, language: str, url: str, source: str) -> None:
        # A zero separates the parts of a place, and SQLite takes no half of a surrogate pair.
        code = language.strip().lower()[:100].replace("\0", "").encode("utf-8", "replace").decode()
        if (target := self._question.pages.by_any_url(url)) is not None:
            self._scratch.run("INSERT OR IGNORE INTO alternates VALUES (?, ?, ?, ?)", (place, code, target, source))
