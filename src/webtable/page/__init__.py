"""Pages, their links, headers and elements."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.page.elements import (
        AltState,
        DataProblem,
        Elements,
        Heading,
        Image,
        InsecureContent,
        InsecureProblem,
        Relation,
        StructuredData,
    )
    from webtable.page.headers import Headers
    from webtable.page.page import Page
    from webtable.page.parts import Bookkeeping, IndexStatus, Link, LinkCounts, LinkKind

__all__ = [
    "AltState",
    "Bookkeeping",
    "DataProblem",
    "Elements",
    "Headers",
    "Heading",
    "Image",
    "IndexStatus",
    "InsecureContent",
    "InsecureProblem",
    "Link",
    "LinkCounts",
    "LinkKind",
    "Page",
    "Relation",
    "StructuredData",
]

_HOMES = {
    "webtable.page.elements": (
        "AltState",
        "DataProblem",
        "Elements",
        "Heading",
        "Image",
        "InsecureContent",
        "InsecureProblem",
        "Relation",
        "StructuredData",
    ),
    "webtable.page.headers": ("Headers",),
    "webtable.page.page": ("Page",),
    "webtable.page.parts": ("Bookkeeping", "IndexStatus", "Link", "LinkCounts", "LinkKind"),
}

if not TYPE_CHECKING:  # a type checker would assume that every name exists
    __getattr__, __dir__ = late(__name__, _HOMES)
