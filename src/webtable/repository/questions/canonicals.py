"""The question where the canonical URLs lead that pages name: to which page in the end, and what is wrong there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from webtable.page.page import canonicalised_to
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import BY_URL, SITE, Listing
from webtable.repository.questions.findings import is_content, label_of, problem_option, problems_of
from webtable.repository.questions.page import MAX_HOPS, target_of
from webtable.repository.questions.pages import ScopeQuestion, pieces_of
from webtable.repository.questions.redirect_chains import CHAINS_AT_ONCE, Walk, follow
from webtable.rowkey.urls import split_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from webtable.page.page import Page
    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Scope

CanonicalProblem = Literal[
    "chain", "loop", "redirect", "error", "noindex", "missing", "not-html", "other-host", "conflict"
]


@dataclass(frozen=True, slots=True)
class Canonical:
    """The page `url`, which names another URL, the `target`, as the one for its content; and what is wrong with that.

    `status` is that of the target, None if it is not stored. `urls` are the page, the target, and where that leads by
    redirects and by canonical URLs of its own; in a loop the last one also occurs earlier. Of a `conflict` they are the
    page and the two URLs that it names, neither of which is followed.
    """

    url: str
    problems: tuple[CanonicalProblem, ...]
    target: str
    status: int | None
    urls: tuple[str, ...]


LISTING = Listing(
    "canonicals",
    declared(
        Canonical,
        "canonical",
        column("url", "url"),
        column("problems", "urls", lambda canonical: list(canonical.problems), share=1),
        column("target", "url"),
        column("status", "status"),
        column("urls", "urls", lambda canonical: list(canonical.urls)),
        listed=("url", "problems", "target", "status"),
    ),
    orders=BY_URL,
    options=(SITE, problem_option(CanonicalProblem)),
    examples=(
        "webtable canonicals example.com",
        "webtable canonicals example.com --problem chain --problem loop --columns problems,urls",
        "webtable canonicals example.com --problem error --problem redirect --format csv > canonicals.csv",
    ),
    help=f"""List the pages that name another URL as the one for their content, where that leads, and what is wrong.

    docs/seo_checks.md explains the problems. A canonical URL is followed for {MAX_HOPS} steps.
    """,
)


class CanonicalsQuestion(ScopeQuestion[Canonical]):
    """Where the canonical URLs of the pages of a scope lead."""

    listing = LISTING
    notes: Sequence[str] = (f"the next pages of {CHAINS_AT_ONCE} canonical URLs are read by one call",)

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        problem: CanonicalProblem | Collection[CanonicalProblem] | None,
    ) -> None:
        super().__init__(context, scope, window)
        self.problems: frozenset[str] | None = problems_of(problem, CanonicalProblem)
        self.title: str = f"canonical URLs{self.pages.label_after('of')}{label_of(self.problems)}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Canonical]:
        pages = self.pages.pages(self.spec(), self.window.order, after, damage)
        # The first page was read already.
        named = (Walk([page.url, target], [page]) for page in pages if (target := _target(page)) is not None)
        for walks in pieces_of(named, expected, CHAINS_AT_ONCE):
            follow(self.context, walks, _next, damage)
            for canonical in map(_canonical, walks):
                if self.problems is None or not self.problems.isdisjoint(canonical.problems):
                    yield canonical


def _target(page: Page) -> str | None:
    """Return the other URL that *page* names for its content; the first of two that disagree."""
    if not is_content(page):
        return None
    return canonicalised_to(page) if page.other_canonical is None else page.canonical


def _next(page: Page) -> str | None:
    return target_of(page) or (canonicalised_to(page) if is_content(page) else None)


def _canonical(walk: Walk) -> Canonical:
    (page, target, *others), urls = walk.pages, walk.urls
    status = None if target is None else target.status
    if page is not None and page.other_canonical is not None:
        return Canonical(page.url, ("conflict",), urls[1], status, (page.url, urls[1], page.other_canonical))
    passed, end = ([target, *others][:-1], walk.pages[-1])
    holds: dict[CanonicalProblem, bool] = {
        "chain": any(step is not None and target_of(step) is None for step in passed),
        "loop": walk.is_loop,
        "redirect": any(step is not None and target_of(step) is not None for step in passed),
        "missing": end is None,
        "other-host": split_url(urls[1]).host != split_url(urls[0]).host,
    }
    problems = [name for name, is_so in holds.items() if is_so]
    index_status = None if end is None or walk.is_loop else end.index_status
    if index_status == "not html":
        problems.append("not-html")
    elif index_status in get_args(CanonicalProblem) and index_status not in problems:
        problems.append(index_status)  # type: ignore[arg-type]  # mypy does not know get_args
    return Canonical(urls[0], tuple(problems), urls[1], status, tuple(urls))
