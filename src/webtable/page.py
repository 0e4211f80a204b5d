"""Pages, their links and their headers."""

from webtable._page.headers import Headers
from webtable._page.page import Page
from webtable._page.parts import Bookkeeping, Link, LinkCounts

__all__ = [
    "Bookkeeping",
    "Headers",
    "Link",
    "LinkCounts",
    "Page",
]
