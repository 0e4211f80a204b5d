"""The question whether a bot may index the pages of a site, by what they say and by robots.txt as it was then."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, get_args

from webtable.errors import DamagedRow
from webtable.page.page import Page
from webtable.page.parts import IndexStatus
from webtable.page.robots import GOOGLEBOT
from webtable.page.robots_txt import RobotsRules, bot_name
from webtable.repository.answers.columns import column, column_names, declared, page_in, records_with
from webtable.repository.answers.listing import BY_URL, SITE, Listing, ListingOption
from webtable.repository.arguments import given_moment
from webtable.repository.questions.findings import label_of, problems_of
from webtable.repository.questions.page import get, history, target_of
from webtable.repository.questions.pages import ScopeQuestion
from webtable.rowkey import canonical_url
from webtable.rowkey.urls import split_url
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Window
    from webtable.repository.arguments import Moment
    from webtable.repository.context import TableContext
    from webtable.repository.questions.page import History
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scan import ScanSpec
    from webtable.repository.reading.scope import Scope


# --- robots.txt as it was at a moment ---------------------------------------------------------------------------------


MAX_HOPS = 5
"""How many redirects of a robots.txt are followed (RFC 9309, section 2.3.1.2)."""
_ORIGINS_REMEMBERED = 64
_FILES_REMEMBERED = 16


@dataclass(frozen=True, slots=True)
class RobotsTxt:
    """The robots.txt of an origin as it is stored of a moment, for a `bot`.

    `url` is where it was found, after redirects, `status` what its server answered, and `fetched_at` when that came
    first. As RFC 9309 says, everything is allowed with a status of 400 to 499, and nothing with one of 500 or above.
    """

    url: str
    bot: str
    status: int
    fetched_at: datetime
    _rules: RobotsRules | None = field(repr=False, compare=False)

    def allows(self, url: str) -> bool:
        """Whether the bot may fetch *url*, which is of the same origin; raises `InvalidURL`."""
        return self._decision(url)[0]

    def rule(self, url: str) -> str | None:
        """Return what decides on *url*, as in "Disallow: /private" or "status 503"; None if nothing does.

        Raises `InvalidURL`.
        """
        return self._decision(url)[1]

    def _decision(self, url: str) -> tuple[bool, str | None]:
        place = canonical_url(url)
        if self._rules is None and split_url(place).path != "/robots.txt":
            return False, f"status {self.status}"
        rule = None if self._rules is None else self._rules.rule(place)
        return (True, None) if rule is None else (rule.is_allowed, rule.line)


class StoredRobots:
    """The robots.txt of origins, as far as a table has them, for a *bot*; those that were asked for last are kept."""

    def __init__(self, context: TableContext, bot: str) -> None:
        self.bot: str = bot_name(bot)
        self._context = context
        # Answers come host by host. What is kept is bounded, however many hosts there are.
        self._versions = lru_cache(_ORIGINS_REMEMBERED)(self._stored_versions)
        self._rules = lru_cache(_FILES_REMEMBERED)(self._stored_rules)

    def of(self, url: str, at: datetime | None) -> RobotsTxt | None:
        """Return the robots.txt of the origin of *url*, a canonical URL, *at* a moment; None if none is stored.

        Raises `DamagedRow`.
        """
        place = str(split_url(url)._replace(path="/robots.txt", query=""))
        for hops in range(MAX_HOPS + 1):
            version = next((page for page in self._versions(place) if at is None or page.fetched_at <= at), None)
            if version is None or version.status == 304:
                return None
            target = target_of(version) if 300 <= version.status < 400 else None
            if target is None or hops == MAX_HOPS:
                rules = self._rules(place, version.status, version.fetched_at)
                return RobotsTxt(place, self.bot, version.status, version.fetched_at, rules)
            place = target
        return None

    def index_status(self, page: Page) -> tuple[IndexStatus | None, str | None, RobotsTxt | None]:
        """Return the index status of *page* for the bot and its reason, and the robots.txt that was asked for first.

        Raises `DamagedRow`.
        """
        file = self.of(page.url, page.fetched_at)
        if file is not None and not file.allows(page.url):
            return "blocked", file.rule(page.url), file
        return *page.index_status_for(self.bot), file

    def _stored_versions(self, url: str) -> History:
        return history(self._context, url, ())

    def _stored_rules(self, url: str, status: int, at: datetime) -> RobotsRules | None:
        if status < 200 or status >= 500:
            return None
        page = get(self._context, url, at, ("body",), verify=False) if status < 300 else None
        return RobotsRules.of((page and page.body) or b"", self.bot)


def robots_txt(context: TableContext, url: str, bot: str, as_of: Moment | None) -> RobotsTxt | None:
    """Return the robots.txt for *url* and *bot* now, or *as_of* a moment; None if none is stored."""
    return StoredRobots(context, bot).of(canonical_url(url), given_moment("as_of", as_of))


# --- The question -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Indexability:
    """Whether a bot may index a `page`: its `verdict`, and the `reason`.

    The verdict is "blocked" if robots.txt, as it was when the page was fetched, forbids the bot to fetch it; else it is
    the `index_status` of the page by its rules for that bot. `robots_at` is the date of that robots.txt; None if none
    is stored, so that nothing is blocked.
    """

    page: Page
    verdict: IndexStatus | None
    reason: str | None
    robots_at: datetime | None

    @property
    def url(self) -> str:
        """The URL of the page."""
        return self.page.url


_OWN = (
    column("url", "url"),
    column("verdict"),
    column("reason", share=2),
    column("robots_at", "time", heading="robots.txt of"),
    column("status", "status", "page.status", heading="status"),
    column("title", "title", "page.title"),
)
LISTING = Listing(
    "indexability",
    declared(
        Indexability,
        "indexability",
        *_OWN,
        *page_in(attrgetter("page"), [own.name for own in _OWN]),
        listed=("url", "verdict", "reason", "status", "title"),
    ),
    orders=BY_URL,
    options=(
        SITE,
        ListingOption("bot", "The name of a bot, for its rules in robots.txt and in pages.", default=GOOGLEBOT),
        ListingOption("verdict", "Only these (repeatable).", choices=get_args(IndexStatus), is_many=True),
    ),
    examples=(
        "webtable indexability example.com",
        "webtable indexability example.com --verdict blocked --columns url,reason,robots_at",
        "webtable indexability https://example.com/ --bot bingbot --format csv > bingbot.csv",
    ),
    is_of_pages=True,
    help="""List for each page whether a bot may index it, with the reason: by robots.txt, and by what the page says.

    robots.txt is the stored one that held when the page was fetched; where none is stored, nothing is blocked.
    """,
)


class IndexabilityQuestion(ScopeQuestion[Indexability]):
    """Whether a bot may index the pages of a scope."""

    listing = LISTING
    notes: Sequence[str] = (
        "for each origin the versions of its robots.txt are read, and the bodies of those that held",
    )

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        bot: str,
        verdict: IndexStatus | Collection[IndexStatus] | None,
        columns: Sequence[str] | None,
    ) -> None:
        super().__init__(context, scope, window)
        self.bot: str = bot_name(bot)
        self.verdicts: frozenset[str] | None = problems_of(verdict, IndexStatus, "verdict")
        self.title: str = f"{self.pages.label}, and whether {self.bot} may index them{label_of(self.verdicts)}"
        self.selected: Sequence[bytes] = context.codec.select(columns)
        self.columns: Columns = records_with(column_names(columns), LISTING.columns)

    def spec(self, expected: int | None = None) -> ScanSpec:
        return self.pages.spec(Wanted(self.selected), expected=expected)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Indexability]:
        robots = StoredRobots(self.context, self.bot)
        for page in self.pages.pages(self.spec(expected), self.window.order, after, damage):
            try:
                verdict, reason, file = robots.index_status(page)
            except DamagedRow as exc:  # the robots.txt
                damage.add(exc)
                continue
            result = Indexability(page, verdict, reason, None if file is None else file.fetched_at)
            if self.verdicts is None or result.verdict in self.verdicts:
                yield result
