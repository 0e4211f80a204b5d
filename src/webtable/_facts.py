"""What an HTML page says of itself: its title, description, language and first heading, and what it tells crawlers.

Pure: no I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webtable._outlinks import resolved, shortened, text_or_image

if TYPE_CHECKING:
    from resiliparse.parse.html import ElementNode, HTMLTree

MAX_FACT = 1_000
"""Characters of each of them that are kept."""

_SAID_IN_HEAD = "link[rel][href], meta[name][content]"


class Facts(NamedTuple):
    """What a page says of itself, each None where it does not; the fields of `Page` tell more of each."""

    title: str | None = None
    canonical: str | None = None
    description: str | None = None
    robots: str | None = None
    h1: str | None = None
    language: str | None = None


def facts_of(tree: HTMLTree, base: str) -> Facts:
    """Return what the page *tree* says of itself; *base* is the URL that its relative ones are resolved against.

    The first of several counts, but of `robots` all do, as for crawlers. Only the head is asked, as crawlers do: what
    stands in the body may be what somebody else has written into the page.
    """
    canonical = description = None
    robots: list[str] = []
    head = tree.head
    for element in () if head is None else head.query_selector_all(_SAID_IN_HEAD).values():
        if element.tag == "link":
            if not canonical and "canonical" in (element.get_attribute("rel") or "").lower().split():
                canonical = resolved(base, element.get_attribute("href") or "")
            continue
        name = (element.get_attribute("name") or "").strip().lower()
        if name == "description" and description is None:
            description = _text(element.get_attribute("content"))
        elif name == "robots" and (said := _text(element.get_attribute("content"))):
            robots.append(said.lower())
    html = None if tree.document is None else tree.document.query_selector("html[lang]")
    return Facts(
        title=_text(tree.title),
        canonical=canonical or None,
        description=description,
        robots=_text(", ".join(robots)),
        h1=_heading(tree),
        language=None if html is None else _text((html.get_attribute("lang") or "").lower()),
    )


def _heading(tree: HTMLTree) -> str | None:
    element: ElementNode | None = None if tree.document is None else tree.document.query_selector("h1")
    if element is None:
        return None
    return text_or_image(element, MAX_FACT) or None


def _text(text: str | None) -> str | None:
    return shortened(text, MAX_FACT) or None
