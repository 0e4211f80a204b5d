"""The question how the pages of lists follow each other, by `rel=next` and `rel=prev` and by numbers in URLs.

All pages are read into temporary tables: who names whom as next and previous, and which numbers there are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from webtable.page.page import canonicalised_to
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing
from webtable.repository.questions.findings import BOT, is_content, label_of, problem_option, problems_of
from webtable.repository.questions.pages import SortedQuestion, url_at
from webtable.repository.questions.relations import relations_of
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from webtable.page.page import Page
    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scan import ScanSpec
    from webtable.repository.reading.scope import Scope

PaginationProblem = Literal[
    "sequence", "several", "missing", "redirect", "error", "noindex", "canonicalised", "not-linked"
]


@dataclass(frozen=True, slots=True)
class PaginatedPage:
    """The page `url` of a list that several pages have, and what is wrong with its place there.

    `number` is that in its URL, 1 for the URL without one, None if the list has no numbers. `previous` and `next` are
    what it names by `rel`, in markup or in the header Link. `detail` names the URLs or the number that are wrong.
    """

    url: str
    number: int | None
    previous: str | None
    next: str | None
    problems: tuple[PaginationProblem, ...]
    detail: str | None = None


LISTING = Listing(
    "pagination",
    declared(
        PaginatedPage,
        "page of a list",
        column("url", "url"),
        column("number", "count", width=6),
        column("previous", "url", share=2),
        column("next", "url", share=2),
        column("problems", "urls", lambda page: list(page.problems), share=1),
        column("detail", share=2),
        listed=("url", "number", "problems", "detail"),
    ),
    orders=("url",),
    options=(SITE, problem_option(PaginationProblem)),
    examples=(
        "webtable pagination example.com",
        "webtable pagination example.com --problem sequence --problem canonicalised",
        "webtable pagination example.com --format csv > pagination.csv",
    ),
    help="""List the pages of lists that several pages have, by rel=next and rel=prev or by numbers in URLs.

    docs/seo_checks.md explains the problems. Numbers are read after page, paged, pg, seite or pagina.
    """,
)
_NUMBER: Final = re.compile(
    r"(?:(?<=[?&])(?:page|paged|pg|seite|pagina)=(?P<query>\d{1,9})(?:&|$))"
    r"|/(?:page|seite|pagina)[/-]?(?P<path>\d{1,9})/?(?=\?|$)",
    re.IGNORECASE | re.ASCII,
)
# `list` is the URL without the number, and `state` the index status. Steps are what pages name by rel.
_TABLES = (
    "CREATE TABLE pages (place BLOB PRIMARY KEY, list TEXT, number INTEGER, state TEXT, canonical BLOB,"
    " is_judged INTEGER) WITHOUT ROWID",
    "CREATE TABLE steps (place BLOB, rel TEXT, target BLOB, PRIMARY KEY (place, rel, target)) WITHOUT ROWID",
    "CREATE TABLE linked (place BLOB PRIMARY KEY) WITHOUT ROWID",
)
_INDEX = "CREATE INDEX by_list ON pages (list, number)"
_ROWS = """
    SELECT place, list, number, state, canonical, EXISTS (SELECT 1 FROM linked WHERE linked.place = page.place)
    FROM pages AS page WHERE place > ? AND coalesce(state, '') NOT IN ('error', 'redirect') AND (number IS NOT NULL
    OR EXISTS (SELECT 1 FROM steps WHERE steps.place = page.place)
    OR EXISTS (SELECT 1 FROM pages AS other WHERE other.list = page.list AND other.number > 1)) ORDER BY place
"""
_STEPS = """
    SELECT rel, target, state, is_judged, EXISTS (SELECT 1 FROM steps AS back WHERE back.place = steps.target
    AND back.rel <> steps.rel AND back.target = steps.place)
    FROM steps LEFT JOIN pages ON pages.place = target WHERE steps.place = ? ORDER BY rel, target
"""
# A page without a number is the first one.
_HAS_BEFORE = """
    SELECT 1 FROM pages WHERE list = ?1 AND (number = ?2 OR (?2 = 1 AND number IS NULL))
    AND coalesce(state, '') NOT IN ('error', 'redirect')
"""
_IS_FIRST = """
    SELECT 1 FROM pages AS first WHERE place = ?1 AND ((list = ?2 AND coalesce(number, 1) <= 1)
    OR (EXISTS (SELECT 1 FROM steps WHERE steps.place = ?1 AND rel = 'next')
    AND NOT EXISTS (SELECT 1 FROM steps WHERE steps.place = ?1 AND rel = 'prev')))
"""


class PaginationQuestion(SortedQuestion[PaginatedPage]):
    """How the pages of the lists of a scope follow each other."""

    listing = LISTING
    notes: Sequence[str] = ("the bodies and the links of all pages are read",)

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        problem: PaginationProblem | Collection[PaginationProblem] | None,
    ) -> None:
        super().__init__(context, scope, window)
        self.problems: frozenset[str] | None = problems_of(problem, PaginationProblem)
        self.title: str = f"pages of lists{self.pages.label_after('among')}{label_of(self.problems)}"

    def spec(self) -> ScanSpec:
        return self.pages.in_one_range(self.pages.spec(Wanted(self.context.codec.select(("body", "outlinks")))))

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[PaginatedPage]:
        with TemporaryTables(*_TABLES) as scratch:
            pages = self.pages.pages(self.spec(), "storage", None, damage)
            scratch.fill("pages", (self._row(page, scratch) for page in pages), 6)
            scratch.run(_INDEX)
            for row in scratch.rows(_ROWS, (after or b"",)):
                page = _paginated(scratch, *row)
                if self.problems is None or not self.problems.isdisjoint(page.problems):
                    yield page

    def place(self, result: PaginatedPage) -> bytes:
        return self.pages.by_url(result.url)

    def _row(self, page: Page, scratch: TemporaryTables) -> tuple[object, ...]:
        """Return the row of *page*; what it names, and the pages of lists that it links to, are added."""
        place, (name, number), state = self.pages.by_url(page.url), _numbered(page.url), page.index_status_for(BOT)[0]
        if not is_content(page):
            return place, name, number, state, None, 0
        relations, is_whole = relations_of(page)
        steps = {
            (relation.rel, target)
            for relation in relations
            if relation.rel != "alternate" and (target := self.pages.by_any_url(relation.target)) is not None
        }
        named = {target for _, target in steps}
        for link in page.outlinks or ():
            is_numbered = _NUMBER.search(link.url) is not None
            target = self.pages.by_any_url(link.url) if link.kind == "a" and (is_numbered or named) else None
            if target is not None and target != place and (is_numbered or target in named):
                scratch.run("INSERT OR IGNORE INTO linked VALUES (?)", (target,))
        for step in steps:
            scratch.run("INSERT OR IGNORE INTO steps VALUES (?, ?, ?)", (place, *step))
        return place, name, number, state, self.pages.by_any_url(canonicalised_to(page)), is_whole


def _numbered(url: str) -> tuple[str, int | None]:
    """Return *url* without the number of a page and the slash at its end, and that number.

    >>> _numbered("https://example.com/a/?page=2&x=1"), _numbered("https://example.com/a/page/3/")
    (('https://example.com/a?x=1', 2), ('https://example.com/a', 3))
    """
    match = _NUMBER.search(url)
    number = None if match is None else int(match["query"] or match["path"])
    path, _, query = (url if match is None else url[: match.start()] + url[match.end() :]).partition("?")
    query = query.rstrip("&")
    return path.rstrip("/") + (query and f"?{query}"), number


def _paginated(
    scratch: TemporaryTables,
    place: bytes,
    name: str,
    number: int | None,
    state: str | None,
    canonical: bytes | None,
    is_linked: int,
) -> PaginatedPage:
    """Return the page of a list with its problems."""
    steps = list(scratch.rows(_STEPS, (place,)))
    problems: dict[PaginationProblem, list[str]] = {}

    def add(problem: PaginationProblem, detail: str = "") -> None:
        problems.setdefault(problem, []).append(detail)

    for _, target, of_target, is_target_judged, is_returned in steps:
        if is_target_judged is None:
            add("missing", url_at(target))
        elif of_target in ("redirect", "error"):
            add(of_target, url_at(target))
        elif is_target_judged and not is_returned:
            add("sequence", url_at(target))
    if number is not None and number > 1 and scratch.first(_HAS_BEFORE, (name, number - 1)) is None:
        add("sequence", f"number {number - 1} is not stored")
    named = {rel: [url_at(step[1]) for step in steps if step[0] == rel] for rel in ("prev", "next")}
    if max(map(len, named.values())) > 1:
        add("several")
    is_later = bool(named["prev"]) or (number or 0) > 1
    if state == "noindex":
        add("noindex")
    if state == "canonicalised" and is_later and scratch.first(_IS_FIRST, (canonical, name)) is not None:
        add("canonicalised", url_at(canonical or b""))
    if is_later and not is_linked:
        add("not-linked")
    if number is None and scratch.first("SELECT 1 FROM pages WHERE list = ? AND number > 1", (name,)) is not None:
        number = 1
    details = dict.fromkeys(detail for of_problem in problems.values() for detail in of_problem if detail)
    first = {rel: next(iter(urls), None) for rel, urls in named.items()}
    return PaginatedPage(
        url_at(place), number, first["prev"], first["next"], tuple(problems), "; ".join(details) or None
    )
