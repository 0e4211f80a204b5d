"""The links of an HTML page: where they lead, and their anchor texts. Pure: no I/O."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from selectolax.lexbor import LexborHTMLParser

from webtable._page.page import Link
from webtable.errors import InvalidURL
from webtable.rowkey import MAX_WEB_KEY, join_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborNode

MAX_ANCHOR = 500
"""How many characters of an anchor text are kept."""

_LINKS = "a[href], area[href]"
# A jump inside the page is no link, and it is cheaper to leave it to the selector than to look at it. The base comes
# along, because a search of its own costs as much as that of the links.
_LINKS_BUT_JUMPS = 'a[href]:not([href^="#"]), area[href], base[href]'
_STRIPPED = "".join(map(chr, range(0x21)))
_NO_PAGE = re.compile(r"(?:javascript|mailto|data|tel|blob|about):", re.IGNORECASE)
_SHORT = 500
"""Longer URLs are not remembered: there may be many of them."""


def _number_of(tag: str) -> int:
    # To compare the numbers of tags is cheaper than to make their names; each version of the parser has its own.
    return LexborHTMLParser(f"<{tag}>").css(tag)[0].tag_id


_BASE, _AREA = _number_of("base"), _number_of("area")


class Outlinks:
    """Collects the links of a page in the order of the document, until a limit is reached.

    `base` is what references of the page are relative to.
    """

    def __init__(self, url: str, most: int, most_text: int) -> None:
        self._url = self.base = url
        self._most = most
        self._room = most_text
        self._is_own = True
        self._directory = ""
        self._led_to: Callable[[str, str], str] = resolved
        self.found: dict[str, Link] = {}
        self.over: Literal["links", "link_text"] | None = None

    def add_all(self, tree: LexborHTMLParser) -> None:
        """Add the links of *tree*."""
        found = self.found
        # A name of a link and what it leads to; most pages link to most others several times.
        targets: dict[str, str] = {}
        for node in self._nodes(tree):
            attributes = node.attributes
            # The links of a picture within the page may have the older name, and are found by both.
            reference = attributes.get("href" if "href" in attributes else "xlink:href") or ""
            target = targets.get(reference)
            if target is None:
                target = targets[reference] = self._target(reference, targets)
            if not target:
                continue
            link = found.get(target)
            if link is None:
                self._add(node, target, attributes.get("rel"))
            elif not link.anchor and (anchor := _anchor(node)):
                found[target] = link._replace(anchor=anchor)
                self._room -= len(anchor)
            if self.over:
                return

    def _nodes(self, tree: LexborHTMLParser) -> list[LexborNode]:
        """Return the links of *tree*, its base being known then; jumps inside the page are left out."""
        nodes = tree.css(_LINKS_BUT_JUMPS)
        if bases := [node for node in nodes if node.tag_id == _BASE]:
            self.base = resolved(self._url, bases[0].attributes.get("href") or "") or self._url
            self._is_own = self.base in (self._url, resolved(self._url, ""))
            nodes = [node for node in nodes if node.tag_id != _BASE] if self._is_own else tree.css(_LINKS)
        self._directory = self.base.partition("?")[0].rpartition("/")[0] + "/"
        # The pages of a directory have most of their links in common.
        self._led_to = _cached_target if len(self._directory) < _SHORT else resolved
        return nodes

    def _target(self, reference: str, targets: dict[str, str]) -> str:
        """Return the URL that *reference* leads to, or "" for a jump inside the page and for what cannot be a page."""
        relative, jump, _ = reference.partition("#")
        relative = relative.strip(_STRIPPED)
        if jump:
            if self._is_own and not relative:
                return ""
            if (known := targets.get(relative)) is not None:
                return known
        if not relative or relative[0] == "?":
            target = resolved(self.base, relative)
        else:
            target = (self._led_to if len(relative) < _SHORT else resolved)(self._directory, relative)
        targets[relative] = target
        self._room -= len(target)
        if self._room < 0:
            self.over = "link_text"
        return target

    def _add(self, node: LexborNode, target: str, rel: str | None) -> None:
        if len(self.found) >= self._most:
            self.over = self.over or "links"
            return
        anchor = _anchor(node)
        rel = shortened(rel, MAX_ANCHOR).lower() if rel else ""
        self.found[target] = Link(target, anchor, rel)
        self._room -= len(anchor) + len(rel)


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


def _anchor(node: LexborNode) -> str:
    if node.tag_id == _AREA:
        return shortened(node.attributes.get("alt"), MAX_ANCHOR)
    return text_or_image(node, MAX_ANCHOR)


def text_or_image(node: LexborNode, limit: int) -> str:
    """Return the text of *node* or, where it has none, what its first image shows; cut to *limit* characters."""
    if text := shortened(node.text(), limit):
        return text
    image = node.css_first('img[alt]:not([alt=""])')
    return "" if image is None else shortened(image.attributes["alt"], limit)


def shortened(text: str | None, limit: int) -> str:
    """Return *text* with its white space collapsed and cut to *limit* characters."""
    if not text:
        return ""
    if len(text) <= limit:
        return " ".join(text.split())
    # An unclosed <a> holds the rest of its page, of which only the beginning is looked at.
    return " ".join(text.lstrip()[: 8 * limit].split())[:limit].rstrip()
