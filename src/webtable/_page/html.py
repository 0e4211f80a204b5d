"""An HTML page as it is parsed: what it says of itself and what it tells crawlers, where it leads, and anchor texts.

Pure: no I/O.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from selectolax.lexbor import LexborHTMLParser

from webtable._page.parts import Facts, Link
from webtable.errors import InvalidURL
from webtable.rowkey import MAX_WEB_KEY, join_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborNode

MAX_FACT = 1_000
"""Characters of each of them that are kept."""

_SAID_IN_HEAD = "link[rel][href], meta[name][content]"
# A picture within the page and its parts have titles of their own.
_TITLE_IN_BODY = "title:not(svg title, math title), :is(foreignObject, desc, title, annotation-xml) title"

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


def facts_of(tree: LexborHTMLParser, base: str) -> Facts:
    """Return what the page *tree* says of itself; *base* is the URL that its relative ones are resolved against.

    The first of several counts, but of `robots` all do, as for crawlers. Only the head is asked, as crawlers do: what
    stands in the body may be what somebody else has written into the page.
    """
    canonical = description = None
    robots: list[str] = []
    head, root = tree.head, tree.root
    for node in () if head is None else head.css(_SAID_IN_HEAD):
        attributes = node.attributes
        if node.tag == "link":
            if not canonical and "canonical" in (attributes["rel"] or "").lower().split():
                canonical = resolved(base, attributes["href"] or "")
            continue
        name = (attributes["name"] or "").strip().lower()
        if name == "description" and description is None:
            description = _text(attributes["content"])
        elif name == "robots" and (said := _text(attributes["content"])):
            robots.append(said.lower())
    return Facts(
        title=_title(tree),
        canonical=canonical or None,
        description=description,
        robots=_text(", ".join(robots)),
        h1=_heading(tree),
        language=None if root is None else _text((root.attributes.get("lang") or "").lower()),
    )


def _title(tree: LexborHTMLParser) -> str | None:
    node = (tree.head and tree.head.css_first("title")) or tree.css_first(_TITLE_IN_BODY)
    return None if node is None else _text(node.text())


def _heading(tree: LexborHTMLParser) -> str | None:
    node = tree.css_first("h1")
    return None if node is None else text_or_image(node, MAX_FACT) or None


def _text(text: str | None) -> str | None:
    return shortened(text, MAX_FACT) or None
