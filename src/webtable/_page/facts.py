"""What an HTML page says of itself: its title, description, language and first heading, and what it tells crawlers.

Pure: no I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webtable._page.outlinks import resolved, shortened, text_or_image

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

MAX_FACT = 1_000
"""Characters of each of them that are kept."""

_SAID_IN_HEAD = "link[rel][href], meta[name][content]"
# A picture within the page and its parts have titles of their own.
_TITLE_IN_BODY = "title:not(svg title, math title), :is(foreignObject, desc, title, annotation-xml) title"


class Facts(NamedTuple):
    """What a page says of itself, each None where it does not; the fields of `Page` tell more of each."""

    title: str | None = None
    canonical: str | None = None
    description: str | None = None
    robots: str | None = None
    h1: str | None = None
    language: str | None = None


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
