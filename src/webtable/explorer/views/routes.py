"""All pages of the explorer, by their names, which are those of their files: `/stats`, `/stats.csv`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.explorer.page_model import SITE, URL, View, ViewRequest
from webtable.explorer.views import archives, pages, questions, raw, sites, start_page, statistics
from webtable.questions import ListingOption

if TYPE_CHECKING:
    from starlette.responses import Response


RawRoute = Callable[[ViewRequest], "Response"]


class ViewRoute(NamedTuple):
    """A page: what makes it, what is said about it, the options it takes, and its path if that is not its name."""

    make: Callable[[ViewRequest], View]
    about: str
    options: tuple[ListingOption, ...] = ()
    path: str = ""


ROUTES: Final = {
    "table": ViewRoute(
        start_page.view, "The table: its figures, hosts, statuses and types, salts.", start_page.OPTIONS, "/"
    ),
    "storage": ViewRoute(start_page.storage, "How it is stored: indexes, regions, crawls, checks."),
    "questions": ViewRoute(questions.questions_view, "All questions."),
    "archives": ViewRoute(archives.view, "CDX and Memento: how to reach them, and examples."),
    "site": ViewRoute(sites.view, "A directory of a host, or all hosts.", sites.OPTIONS, "/site/{path:path}"),
    "q/{name}": ViewRoute(questions.view, "The answer to a question."),
    "stats": ViewRoute(
        statistics.view,
        "Counts of pages and of the bytes of their bodies, by groups. The metadata of every page is read.",
        statistics.OPTIONS,
    ),
    "audit": ViewRoute(
        statistics.audit,
        "What is wrong with the pages of a site: broken links, errors, redirects, titles. It reads all its pages.",
        (SITE,),
    ),
    "compare": ViewRoute(
        statistics.comparison,
        "Which pages of a site are new, gone or changed between two moments. It reads all its pages.",
        (SITE, statistics.SINCE, statistics.UNTIL),
    ),
    "page": ViewRoute(pages.view, "A page: its capture, versions, text, links, row key.", (*pages.OPTIONS, pages.TAB)),
    "page/history": ViewRoute(pages.history, "All versions of a page.", (URL,)),
    "page/diff": ViewRoute(pages.difference, "The differences of two versions.", (URL, pages.OLD, pages.NEW)),
    "page/text": ViewRoute(raw.text, "The readable text of a page, by lines.", pages.OPTIONS),
    "page/source": ViewRoute(raw.source, "The markup of a page, or other text, by lines.", pages.OPTIONS),
}
# What is no page, and has no files: where a text leads, a stored body, stored markup in its sandbox.
RAW_ROUTES: Final[dict[str, RawRoute]] = {"/go": start_page.go, "/page/raw": raw.body, "/page/rendered": raw.rendered}
