"""What an audit finds on single pages, each by the name of its section; and how questions list problems of a kind."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, Literal, get_args

from webtable.errors import InvalidArgument
from webtable.page.body import is_html
from webtable.page.headers import REDIRECTS
from webtable.page.robots import GOOGLEBOT, is_noindex, rules_for
from webtable.repository.answers.listing import ListingOption
from webtable.repository.reading.page_counts import language_of
from webtable.rowkey.urls import canonical_or_none

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from webtable.page.page import Page
    from webtable.page.parts import IndexStatus

Finding = Literal[
    "no-description",
    "no-h1",
    "not-judged",
    "canonical-elsewhere",
    "canonical-conflict",
    "noindex",
    "no-location",
    "not-indexable",
]
"""What `pages(finding=…)` takes."""
FINDINGS: Final[tuple[Finding, ...]] = get_args(Finding)
BOT: Final = GOOGLEBOT
"""The bot whose rules count beside those for all."""
_LEADING: Final = REDIRECTS - {300}
"""The redirects that need a Location: 300 may let the reader choose (RFC 9110, section 15.4.1)."""


def is_content(page: Page) -> bool:
    """Whether *page* is neither an error nor a redirect: those have no content of their own."""
    return 200 <= page.status < 300


def is_read(page: Page) -> bool:
    """Whether *page* is HTML that people read, and so has a title, a heading and a description, or lacks them."""
    # Not a 204, which has no content.
    # Without a type it is what was read as such. (`page.facts` would import parsers, which a listing does without.)
    return page.status == 200 and (
        is_html(page.content_type) or (not page.content_type and page.outlink_count is not None)
    )


def is_judged(page: Page) -> bool:
    """Whether the HTML of *page* is stored, so that what it does not say is known to be missing."""
    return page.has_body


def _lacks_description(page: Page, at: datetime) -> bool:  # noqa: ARG001 - they have one signature
    return is_read(page) and is_judged(page) and not page.description


def _lacks_h1(page: Page, at: datetime) -> bool:  # noqa: ARG001
    return is_read(page) and is_judged(page) and not page.h1


def _is_not_judged(page: Page, at: datetime) -> bool:  # noqa: ARG001
    return is_read(page) and not is_judged(page)


def _is_canonical_elsewhere(page: Page, at: datetime) -> bool:  # noqa: ARG001
    canonical = page.canonical
    return is_content(page) and bool(canonical) and canonical_or_none(canonical or "") != page.url


def _has_two_canonicals(page: Page, at: datetime) -> bool:  # noqa: ARG001
    return is_content(page) and page.other_canonical is not None


def _is_noindex(page: Page, at: datetime) -> bool:
    if not (page.robots or page.robots_by_bot):
        return False
    return is_content(page) and is_noindex(rules_for(page.robots, page.robots_by_bot, BOT), at)


def _leads_nowhere(page: Page, at: datetime) -> bool:  # noqa: ARG001
    return page.status in _LEADING and not page.redirect_to


NOT_INDEXABLE: Final[Collection[IndexStatus]] = ("error", "redirect", "noindex", "canonicalised")
"""The statuses of pages that search engines leave out; files that are no HTML are no problem of their own."""


def _is_not_indexable(page: Page, at: datetime) -> bool:  # noqa: ARG001
    return page.index_status in NOT_INDEXABLE


TESTS: Final[Mapping[Finding, Callable[[Page, datetime], bool]]] = {
    "no-description": _lacks_description,
    "no-h1": _lacks_h1,
    "not-judged": _is_not_judged,
    "canonical-elsewhere": _is_canonical_elsewhere,
    "canonical-conflict": _has_two_canonicals,
    "noindex": _is_noindex,
    "no-location": _leads_nowhere,
    "not-indexable": _is_not_indexable,
}
"""Whether each of them holds of a page at a moment."""


def in_another_language(page: Page, language: str) -> bool:
    """Whether *page* is in another language than *language*, without its region; not where its own is unknown."""
    return language_of(page) not in (language, None)


# --- Questions that list problems -------------------------------------------------------------------------------------


def problem_option(kinds: object, name: str = "problem") -> ListingOption:
    """Return the option *name* that chooses among the *kinds* of problems, a `Literal`."""
    help = f"Only with this {name} (repeatable)."
    return ListingOption(name, help, is_many=True, choices=get_args(kinds))


def problems_of(
    problem: str | Collection[str] | None, kinds: object, argument: str = "problem"
) -> frozenset[str] | None:
    """Return the problems that are asked for, None for all; raises `InvalidArgument` for one not among the *kinds*.

    *argument* is the name that the method has for them.
    """
    if problem is None:
        return None
    names = [problem] if isinstance(problem, str) or not isinstance(problem, Collection) else list(problem)
    for name in names:
        if name not in get_args(kinds):
            raise InvalidArgument(f"{argument}={name!r} must be one of {', '.join(get_args(kinds))}")
    return frozenset(names)


def label_of(problems: frozenset[str] | None) -> str:
    """Return which *problems* are asked for, as the end of the words of a question."""
    return "" if problems is None else f", only {' or '.join(sorted(problems)) or 'none'}"
