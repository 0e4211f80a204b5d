"""A page completed with all that its headers and its HTML say."""

from __future__ import annotations

import msgspec

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable._page.body import is_html, is_text
from webtable._page.extract import Extract, extract, main_content
from webtable._page.language import detected
from webtable._page.page import Page, with_facts
from webtable._page.parts import SAID, Facts


def is_html_page(page: Page) -> bool:
    """Whether *page*, as it is stored, is HTML; without a type it is what was read as such."""
    return is_html(page.content_type) or (not page.content_type and page.outlink_count is not None)


def filled(
    page: Page, limits: ReadLimits = DEFAULT_LIMITS, *, detect_language: bool = False
) -> tuple[Page, Extract | None]:
    """Return *page* with the fields filled in that are not given and that its headers and its HTML tell.

    These are the fields of `with_facts`, what the page says of itself, the links and the charset. A body without a type
    is HTML unless it is binary, and gets that type. With *detect_language* a page that does not say its language gets
    the one of its text, if that is clear. The second value is what was found in the HTML, None if it was not parsed.
    """
    page, found = _completed(page, limits)
    if detect_language and page.language is None and (found is None or found.is_parsed):
        page = _in_its_language(page, found, limits)
    return page, found


def _in_its_language(page: Page, found: Extract | None, limits: ReadLimits) -> Page:
    """Return HTML or plain text *page* with its language, if it can be told; *found* is what was found in its HTML."""
    body, media, charset = page.body, page.content_type, page.charset
    if body is None or not (is_html(media) or media == "text/plain"):
        return page
    if found is None and is_html(media):
        # Whoever gave its title and links may not have looked for this.
        found = extract(body, page.url, charset, limits)
        if found.facts.language or not found.is_parsed:
            return msgspec.structs.replace(page, language=found.facts.language)
    content = main_content(body, charset, media, limits)
    language = None if content is None else detected(content.text)
    return page if language is None else msgspec.structs.replace(page, language=language, language_detected=True)


def _completed(page: Page, limits: ReadLimits) -> tuple[Page, Extract | None]:
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
