"""All pages of the explorer, by their names, which are those of their files: `/stats`, `/stats.csv`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from webtable.explorer.page_model import SITE, URL, View, ViewRequest
from webtable.explorer.views import archives, pages, questions, sites, start_page, statistics
from webtable.questions import ListingOption


class ViewRoute(NamedTuple):
    """A page: what makes it, the options it takes, and its path if that is not its name."""

    make: Callable[[ViewRequest], View]
    options: tuple[ListingOption, ...] = ()
    path: str = ""


ROUTES: Final = {
    "table": ViewRoute(start_page.view, start_page.OPTIONS, "/"),
    "storage": ViewRoute(start_page.storage),
    "questions": ViewRoute(questions.questions_view),
    "archives": ViewRoute(archives.view),
    "site": ViewRoute(sites.view, sites.OPTIONS, "/site/{path:path}"),
    "q/{name}": ViewRoute(questions.view),
    "stats": ViewRoute(statistics.view, statistics.OPTIONS),
    "audit": ViewRoute(statistics.audit, (SITE,)),
    "compare": ViewRoute(statistics.comparison, (SITE, statistics.SINCE, statistics.UNTIL, statistics.IGNORE)),
    "page": ViewRoute(pages.view, (*pages.OPTIONS, pages.TAB)),
    "page/history": ViewRoute(pages.history, (URL,)),
    "page/diff": ViewRoute(pages.difference, (URL, pages.OLD, pages.NEW)),
    "page/text": ViewRoute(pages.readable, pages.OPTIONS),
    "page/source": ViewRoute(pages.source, pages.OPTIONS),
}
# What is no page, and has no files: where a text leads, a stored body, stored markup in its sandbox.
RAW_ROUTES: Final = {"/go": start_page.go, "/page/raw": pages.body, "/page/rendered": pages.rendered}
