"""The question where the redirects of a site lead: all chains, with their lengths and ends, and the loops.

A redirect leads to one URL, so a chain is identified by the URL where it begins: a redirect to which no other redirect
of the scope leads. Redirects that no such chain reaches form loops without an entry; each begins at its first URL.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from webtable.errors import InvalidURL
from webtable.page.page import Page
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing
from webtable.repository.questions.findings import label_of, problem_option, problems_of
from webtable.repository.questions.page import MAX_HOPS, target_of
from webtable.repository.questions.pages import SortedQuestion, pieces_of, url_at
from webtable.repository.reading.temporary_tables import TemporaryTables

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Scope

CHAINS_AT_ONCE = 256
"""For how many chains one call reads the next pages."""

# The redirects of the site as pairs of places in the order of URLs. A target may be on another site: it has no hop
# then.
_TABLES = (
    "CREATE TABLE hops (place BLOB, target BLOB)",
    "CREATE TABLE begins (place BLOB PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE reached (place BLOB PRIMARY KEY) WITHOUT ROWID",
)
_INDEXES = ("CREATE INDEX by_place ON hops (place, target)", "CREATE INDEX by_target ON hops (target, place)")
_WITH_ENTRY = """
    INSERT INTO begins SELECT place FROM hops
    WHERE NOT EXISTS (SELECT 1 FROM hops AS other WHERE other.target = hops.place) ORDER BY place
"""
# UNION, not UNION ALL: each place is followed once, so that the walk ends in a loop and the time grows with the hops.
_REACH = """
    INSERT OR IGNORE INTO reached WITH RECURSIVE led (place) AS (
        {begins} UNION SELECT hops.target FROM led JOIN hops ON hops.place = led.place WHERE hops.target IS NOT NULL
    ) SELECT place FROM led
"""
_NOT_REACHED = """
    SELECT place FROM hops WHERE place > ? AND NOT EXISTS (SELECT 1 FROM reached WHERE reached.place = hops.place)
    ORDER BY place LIMIT 1
"""


ChainProblem = Literal["long", "loop", "error", "missing"]


@dataclass(frozen=True, slots=True)
class RedirectChain:
    """The `urls` of a chain of redirects, from the first to the last; `length` is the number of redirects.

    In a loop the last URL also occurs earlier. `end` is the status code of the last page, None if that is not stored;
    it is that of a redirect, without a loop, if the chain is longer than 20 redirects and was not followed further.
    """

    urls: tuple[str, ...]
    length: int
    is_loop: bool
    end: int | None

    @property
    def problems(self) -> frozenset[ChainProblem]:
        """What is wrong with it: it is `long`, a `loop`, its end is an `error` or `missing`."""
        is_of: dict[ChainProblem, bool] = {
            "long": self.length > 1,
            "loop": self.is_loop,
            "error": self.end is not None and self.end >= 400,
            "missing": self.end is None,
        }
        return frozenset(name for name, holds in is_of.items() if holds)


REDIRECT_CHAINS = declared(
    RedirectChain,
    "chain",
    column("urls", "urls", lambda chain: list(chain.urls)),
    column("length", "count", width=6),
    column("is_loop", "bool", heading="loop", width=5),
    column("end", "status", width=16),
)


LISTING = Listing(
    "redirect_chains",
    REDIRECT_CHAINS,
    orders=("url",),
    options=(SITE, problem_option(ChainProblem)),
    examples=(
        "webtable redirect-chains example.com",
        "webtable redirect-chains example.com --problem loop --problem missing",
        "webtable redirect-chains example.com --columns length,is_loop,end,urls --format csv > chains.csv",
    ),
    help="""List the chains of redirects: all URLs of each, how many redirects, whether it is a loop, the last page's
    status.

    A chain begins where no other redirect of the site leads, may leave the site, and is followed for 20 redirects.
    Its problem is long (two redirects or more), loop, error, or missing (the end is not stored).
    """,
)


class RedirectChainsQuestion(SortedQuestion[RedirectChain]):
    """Where the redirects of a scope lead."""

    listing = LISTING
    notes: Sequence[str] = (f"the next pages of {CHAINS_AT_ONCE} chains are read by one call",)

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        problem: ChainProblem | Collection[ChainProblem] | None,
    ) -> None:
        super().__init__(context, scope, window)
        self.problems: frozenset[str] | None = problems_of(problem, ChainProblem)
        self.title: str = f"chains of redirects{self.pages.label_after('from')}{label_of(self.problems)}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[RedirectChain]:
        pages = self.pages
        with TemporaryTables(*_TABLES) as scratch:
            led = ((page.url, target) for page in pages.all(damage) if (target := target_of(page)) is not None)
            scratch.fill("hops", ((pages.by_url(url), pages.by_any_url(target)) for url, target in led), 2)
            _find_begins(scratch)
            begins = scratch.rows("SELECT place FROM begins WHERE place > ? ORDER BY place", (after or b"",))
            for chain in _chains(self.context, (url_at(place) for (place,) in begins), expected, damage):
                if self.problems is None or not self.problems.isdisjoint(chain.problems):
                    yield chain

    def place(self, result: RedirectChain) -> bytes:
        return self.pages.by_url(result.urls[0])


def _find_begins(scratch: TemporaryTables) -> None:
    """Find where chains begin, among the hops that were found, visiting each hop once."""
    for statement in (*_INDEXES, _WITH_ENTRY, _REACH.format(begins="SELECT place FROM begins")):
        scratch.run(statement)
    # What is left leads in circles. The first place of each stands for its loop, and all that it leads to is reached
    # then.
    place = b""
    while loop := scratch.first(_NOT_REACHED, (place,)):
        (place,) = loop
        scratch.run("INSERT INTO begins VALUES (?)", loop)
        scratch.run(_REACH.format(begins="SELECT ?"), loop)


def _chains(
    context: TableContext, begins: Iterator[str], expected: int | None, damage: Damage
) -> Iterator[RedirectChain]:
    """Yield the chains that begin at the URLs *begins*, following several at once."""
    for urls in pieces_of(begins, expected, CHAINS_AT_ONCE):
        walks = [Walk([url]) for url in urls]
        follow(context, walks, target_of, damage)
        for walk in walks:
            # A redirect that was replaced by a page meanwhile does not count.
            if len(walk.urls) > 1:
                end = walk.pages[-1]
                yield RedirectChain(
                    tuple(walk.urls), len(walk.urls) - 1, walk.is_loop, None if end is None else end.status
                )


@dataclass(slots=True)
class Walk:
    """A chain that is being followed: the URLs up to where it is, and their pages, None for one that is not stored."""

    urls: list[str]
    pages: list[Page | None] = field(default_factory=list)
    is_loop: bool = False

    def goes_on(self, pages: Mapping[str, Page], next_of: Callable[[Page], str | None]) -> bool:
        """Follow the page of the last URL, which is among *pages* if it is stored; return whether the chain goes on."""
        page = pages.get(self.urls[-1])
        self.pages.append(page)
        target = None if page is None or len(self.urls) > MAX_HOPS else next_of(page)
        if target is None:
            return False
        if target in self.urls:
            self.is_loop = True
            self.pages.append(self.pages[self.urls.index(target)])
        self.urls.append(target)
        return not self.is_loop


def follow(context: TableContext, walks: Sequence[Walk], next_of: Callable[[Page], str | None], damage: Damage) -> None:
    """Follow *walks* to their ends, all together, from each page to the URL that *next_of* returns for it."""
    going = walks
    while going:
        pages = _pages(context, {walk.urls[-1] for walk in going}, damage)
        going = [walk for walk in going if walk.goes_on(pages, next_of)]


def _pages(context: TableContext, urls: set[str], damage: Damage) -> dict[str, Page]:
    """Read the pages *urls* in one call; those that are not stored or cannot be read are left out."""
    rows = {}
    for url in urls:
        with suppress(InvalidURL):
            rows[context.key.encode(url)] = url
    pages = damage.sift(context.counted.read_each(list(rows), ()))
    return {page.url: page for page in pages if page is not None}
