"""The links of an HTML page: where they lead, and their anchor texts. Pure: no I/O."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from webtable._page import Link
from webtable.errors import InvalidURL
from webtable.rowkey import MAX_WEB_KEY, join_url

if TYPE_CHECKING:
    from resiliparse.parse.html import DocumentNode, ElementNode, HTMLTree

MAX_ANCHOR = 500
"""How many characters of an anchor text are kept."""

_LINKS = "a[href], area[href]"
# A jump inside the page is no link, and it is cheaper to leave it to the selector than to look at it.
_LINKS_BUT_JUMPS = 'a[href]:not([href^="#"]), area[href]'
_STRIPPED = "".join(map(chr, range(0x21)))
_NO_PAGE = re.compile(r"(?:javascript|mailto|data|tel|blob|about):", re.IGNORECASE)
_SHORT = 500
"""Longer URLs are not remembered: there may be many of them."""


class Outlinks:
    """Collects the links of a page in the order of the document, until a limit is reached.

    `base` is what references of the page are relative to.
    """

    def __init__(self, url: str, most: int, most_text: int) -> None:
        self._url = self.base = url
        self._most = most
        self._room = most_text
        self._targets: dict[str, str] = {}
        self.found: dict[str, Link] = {}
        self.over: Literal["links", "link_text"] | None = None

    def add_all(self, tree: HTMLTree) -> None:
        """Add the links of *tree*."""
        document = tree.document
        if document is None:
            return
        base = self.base = _base(document, self._url)
        directory = base.partition("?")[0].rpartition("/")[0] + "/"
        is_own = base in (self._url, resolved(self._url, ""))
        targets, found = self._targets, self.found
        # `values()`, because iterating over the collection looks each element up again from its beginning: a page of
        # 4,000 links took 49 seconds.
        for element in document.query_selector_all(_LINKS_BUT_JUMPS if is_own else _LINKS).values():
            reference, jump, _ = (element.get_attribute("href") or "").partition("#")
            if jump and is_own and not reference.strip(_STRIPPED):
                continue
            target = targets.get(reference)
            if target is None:
                target = targets[reference] = self._led_to(reference, base, directory)
            if not target:
                continue
            link = found.get(target)
            if link is None:
                self._add(element, target)
            elif not link.anchor and (anchor := _anchor(element)):
                found[target] = link._replace(anchor=anchor)
                self._room -= len(anchor)
            if self.over:
                return

    def _led_to(self, reference: str, base: str, directory: str) -> str:
        relative = reference.strip(_STRIPPED)
        if relative and relative[0] != "?":
            # The pages of a directory have most of their links in common.
            is_short = len(relative) < _SHORT and len(directory) < _SHORT
            target = (_cached_target if is_short else resolved)(directory, relative)
        else:
            target = resolved(base, relative)
        self._room -= len(target)
        if self._room < 0:
            self.over = "link_text"
        return target

    def _add(self, element: ElementNode, target: str) -> None:
        if len(self.found) >= self._most:
            self.over = self.over or "links"
            return
        rel = element.get_attribute("rel")
        link = Link(target, _anchor(element), shortened(rel, MAX_ANCHOR).lower() if rel else "")
        self.found[target] = link
        self._room -= len(link.anchor) + len(link.rel)


def _base(document: DocumentNode, url: str) -> str:
    """Return what the references of a page at *url* are relative to."""
    element = document.query_selector("base[href]")
    return (resolved(url, element.get_attribute("href") or "") if element is not None else "") or url


def resolved(base: str, reference: str) -> str:
    """Return the URL that *reference* on a page at *base* leads to, or "" if that cannot be a page."""
    if _NO_PAGE.match(reference):
        return ""
    try:
        target = join_url(base, reference)
    except InvalidURL:
        return ""
    return target if len(target) <= MAX_WEB_KEY else ""


_cached_target = lru_cache(maxsize=1 << 14)(resolved)


def _anchor(element: ElementNode) -> str:
    if element.tag == "area":
        return shortened(element.get_attribute("alt"), MAX_ANCHOR)
    return text_or_image(element, MAX_ANCHOR)


def text_or_image(element: ElementNode, limit: int) -> str:
    """Return the text of *element* or, where it has none, what its first image shows; cut to *limit* characters."""
    if text := shortened(element.text, limit):
        return text
    image = element.query_selector('img[alt]:not([alt=""])')
    return "" if image is None else shortened(image.get_attribute("alt"), limit)


def shortened(text: str | None, limit: int) -> str:
    """Return *text* with its white space collapsed and cut to *limit* characters."""
    # An unclosed <a> holds the rest of its page, of which only the beginning is looked at.
    return " ".join(text.lstrip()[: 8 * limit].split())[:limit].rstrip() if text else ""
