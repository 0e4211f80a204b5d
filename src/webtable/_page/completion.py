"""A page completed with all that its headers and its HTML say."""

from __future__ import annotations

import msgspec

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable._page.body import is_html, is_text
from webtable._page.extract import Extract, extract
from webtable._page.page import Page, with_facts
from webtable._page.parts import SAID, Facts


def is_html_page(page: Page) -> bool:
    """Whether *page*, as it is stored, is HTML; without a type it is what was read as such."""
    return is_html(page.content_type) or (not page.content_type and page.outlink_count is not None)


def filled(page: Page, limits: ReadLimits = DEFAULT_LIMITS) -> tuple[Page, Extract | None]:
    """Return *page* with the fields filled in that are not given and that its headers and its HTML tell.

    These are the fields of `with_facts`, what the page says of itself, the links and the charset. A body without a type
    is HTML unless it is binary, and gets that type. The second value is what was found in the HTML, None if it was not
    parsed.
    """
    given = page
    page = with_facts(page)
    # Whoever has parsed a page knows its links and its charset, also where it has no title.
    known = page.outlinks is not None and (page.title is not None or page.charset is not None)
    body = page.body
    if body is None or (known and page.content_type) or not _may_be_html(body, page.charset, page.content_type):
        return page, None
    if not page.content_type:
        # What is treated as HTML has that type in every answer.
        page = msgspec.structs.replace(page, content_type="text/html")
    if known:
        return page, None
    found = extract(body, page.url, page.charset, limits)
    page = msgspec.structs.replace(
        page,
        **_said(given, found.facts, page),
        outlinks=found.outlinks if page.outlinks is None else page.outlinks,
        charset=page.charset or found.charset,
    )
    return page, found


def _said(given: Page, facts: Facts, page: Page) -> dict[str, str | None]:
    """Return what a page says of itself: what was *given*, or the *facts* of its HTML, or what *page* has of headers.

    Crawlers do what both say.
    """
    merged = facts._replace(robots=", ".join(one for one in (facts.robots, page.robots) if one) or None)
    order = ((getattr(one, name) for one in (given, merged, page)) for name in SAID)
    said = (next((value for value in values if value is not None), None) for values in order)
    return dict(zip(SAID, said, strict=True))


def _may_be_html(body: bytes, charset: str | None, content_type: str | None) -> bool:
    return is_html(content_type) or (content_type is None and is_text(body, charset, None))
