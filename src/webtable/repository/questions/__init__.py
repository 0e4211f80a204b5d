"""The questions about a site and about single pages, which the rows of the table answer."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.questions import (
        canonicals,
        captures,
        changes,
        elements,
        hreflang,
        indexability,
        page,
        pages,
        pagination,
        redirect_chains,
        sitemaps,
        soft_404s,
        stats,
        titles,
    )

__all__ = [
    "canonicals",
    "captures",
    "changes",
    "elements",
    "hreflang",
    "indexability",
    "page",
    "pages",
    "pagination",
    "redirect_chains",
    "sitemaps",
    "soft_404s",
    "stats",
    "titles",
]

if not TYPE_CHECKING:  # a question is loaded when it is asked, so that the others cost nothing at the start
    __getattr__, __dir__ = late(__name__, {}, __all__)
