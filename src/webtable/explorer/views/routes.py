"""All pages of the explorer, by their names, which are those of their files: `/stats`, `/stats.csv`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.explorer.page_model import SITE, URL, AskedPage, Sheet
from webtable.explorer.views import home, keys, pages, questions, sites, statistics
from webtable.questions import ListingOption

if TYPE_CHECKING:
    from starlette.responses import Response


Raw = Callable[["AskedPage"], "Response"]


class View(NamedTuple):
    """A page: what makes it, what is said about it, the options it takes, and its path if that is not its name."""

    make: Callable[[AskedPage], Sheet]
    about: str
    options: tuple[ListingOption, ...] = ()
    path: str = ""


VIEWS: Final = {
    "table": View(home.sheet, "The table: hosts, indexes, counts, regions, crawls, checks.", home.OPTIONS, "/"),
    "questions": View(home.questions_sheet, "All questions."),
    "keys": View(keys.sheet, "Row keys of URLs, split points, and what the advisor says.", keys.OPTIONS),
    "site": View(sites.sheet, "A directory of a host, or all hosts.", sites.OPTIONS, "/site/{path:path}"),
    "q/{name}": View(questions.sheet, "The answer to a question."),
    "stats": View(
        statistics.sheet,
        "Counts of pages and of the bytes of their bodies, by groups. The metadata of every page is read.",
        statistics.OPTIONS,
    ),
    "audit": View(
        statistics.audit,
        "What is wrong with the pages of a site: broken links, errors, redirects, titles. It reads all its pages.",
        (SITE,),
    ),
    "compare": View(
        statistics.comparison,
        "Which pages of a site are new, gone or changed between two moments. It reads all its pages.",
        (SITE, statistics.SINCE, statistics.UNTIL),
    ),
    "page": View(pages.sheet, "A page: its capture, versions, text, links, row key.", pages.OPTIONS),
    "page/history": View(pages.history, "All versions of a page.", (URL,)),
    "page/diff": View(pages.difference, "The differences of two versions.", (URL, pages.OLD, pages.NEW)),
    "page/text": View(pages.text, "The readable text of a page, by lines.", pages.OPTIONS),
    "page/source": View(pages.source, "The markup of a page, or other text, by lines.", pages.OPTIONS),
}
RAW: Final[dict[str, Raw]] = {"/go": home.go, "/page/raw": pages.raw, "/page/rendered": pages.rendered}
"""What is no page, and has no files: where a text leads, a stored body, stored markup in its sandbox."""
