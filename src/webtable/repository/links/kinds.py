"""The kinds of links that a question counts; and what is stored beside pages: files for crawlers, parts of pages."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from webtable.errors import InvalidArgument
from webtable.page.parts import LINK_KINDS, PAGE_KINDS, LinkKind
from webtable.repository.answers.listing import ListingOption

if TYPE_CHECKING:
    from webtable.page.page import Page


LinkKinds = LinkKind | Collection[LinkKind] | None
"""One kind of links or several; None stands for those that lead to pages."""
KINDS = ListingOption(
    "kinds",
    f"Count links of these kinds (repeatable). Default: {', '.join(PAGE_KINDS)}.",
    choices=LINK_KINDS,
    is_many=True,
)


def checked_kinds(kinds: LinkKinds) -> tuple[LinkKind, ...]:
    """Return *kinds* in a fixed order; raises `InvalidArgument` for one that there is not, and for none."""
    wanted = PAGE_KINDS if kinds is None else (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if not wanted or not set(wanted) <= set(LINK_KINDS):
        raise InvalidArgument(f"kinds={kinds!r} must be one of {', '.join(LINK_KINDS)}, or several")
    return tuple(kind for kind in LINK_KINDS if kind in wanted)


def by_kinds(kinds: tuple[LinkKind, ...]) -> str:
    """Return *kinds* as the title of a question names them; nothing for the usual ones."""
    return "" if kinds == PAGE_KINDS else f", by links of the kinds {', '.join(kinds)}"


_SCRIPT = re.compile(r"(?:text|application)/(?:x-)?(?:java|ecma|live|j)script[0-9.]*")
_FONT = re.compile(r"font/.*|application/(?:x-)?(?:font-.*|vnd\.ms-fontobject|vnd\.ms-opentype)")
_MAJOR: dict[str, LinkKind] = {"image": "image", "audio": "media", "video": "media"}


def part_kind(page: Page) -> LinkKind | None:
    """Return the kind of links by which other pages show or run *page*, None if it is a page of its own."""
    media = page.content_type or ""
    if media == "text/css":
        return "style"
    if _SCRIPT.fullmatch(media):
        return "script"
    return "font" if _FONT.fullmatch(media) else _MAJOR.get(media.partition("/")[0])


_SITEMAP_NAME = re.compile(r"(?=.*sitemap).*\.(?:xml|txt)(?:\.gz)?", re.IGNORECASE)
_SITEMAP_ROOT = re.compile(rb"<(?:[\w.-]{1,50}:)?(?:urlset|sitemapindex)[\s>]")
_XML = re.compile(r"(?:text|application)/xml")


def is_for_crawlers(page: Page) -> bool:
    """Whether *page* is robots.txt, or a sitemap by its name."""
    path = page.url.split("/", 3)[3].partition("?")[0]
    return path == "robots.txt" or _SITEMAP_NAME.fullmatch(path.rpartition("/")[2]) is not None


def may_be_sitemap(page: Page) -> bool:
    """Whether *page* is XML, so that its body tells whether it is a sitemap."""
    return page.has_body and _XML.fullmatch(page.content_type or "") is not None


def is_sitemap(body: bytes | None) -> bool:
    """Whether the XML *body* is a sitemap or an index of sitemaps, as https://www.sitemaps.org/protocol.html has them.

    >>> is_sitemap(b"<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>")
    True
    """
    return body is not None and _SITEMAP_ROOT.search(body[:4096]) is not None
