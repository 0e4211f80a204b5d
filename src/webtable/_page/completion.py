"""A page completed with all that its headers and its HTML say."""

from __future__ import annotations

import msgspec

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable._page.body import is_html, is_text
from webtable._page.extract import Extract, extract, main_content
from webtable._page.facts import with_facts
from webtable._page.language import detected
from webtable._page.page import Page, with_header_fields
from webtable._page.parts import SHARED, HTMLFacts


def is_html_page(page: Page) -> bool:
    """Whether *page*, as it is stored, is HTML; without a type it is what was read as such."""
    return is_html(page.content_type) or (not page.content_type and page.outlink_count is not None)


def filled(
    page: Page, limits: ReadLimits = DEFAULT_LIMITS, *, detect_language: bool = False
) -> tuple[Page, Extract | None]:
    """Return *page* with the fields filled in that are not given and that its headers and its HTML tell.

    These are the fields of `with_header_fields`, what the page says of itself, the links and the charset. A body
    without a type is HTML unless it is binary, and gets that type. HTML is parsed, unless the page has its links and
    its `html_facts`, as it has when this was done before. With *detect_language* a page that does not say its language
    gets the one of its text, if that is clear. The second value is what was found in the HTML, None if it was not
    parsed.
    """
    page = with_header_fields(page)
    body, html, extracted = page.body, page._html_facts, None
    if body is not None and _may_be_html(body, page.charset, page.content_type):
        if not page.content_type:
            # What is treated as HTML has that type in every answer.
            page = msgspec.structs.replace(page, content_type="text/html")
        if html is None or page.outlinks is None:
            extracted = extract(body, page.url, page.charset, limits)
            page, html = _with_extract(page, extracted), _shared(extracted)
    page = with_facts(page, html or {})
    if detect_language and page.language is None and (extracted is None or extracted.is_parsed):
        page = _in_its_language(page, limits)
    return page, extracted


def _with_extract(page: Page, extracted: Extract) -> Page:
    facts = extracted.facts
    return msgspec.structs.replace(
        page,
        title=facts.title if page.title is None else page.title,
        description=facts.description if page.description is None else page.description,
        h1=facts.h1 if page.h1 is None else page.h1,
        outlinks=extracted.outlinks if page.outlinks is None else page.outlinks,
        charset=page.charset or extracted.charset,
    )


def _shared(extracted: Extract) -> HTMLFacts:
    return {name: value for name in SHARED if (value := getattr(extracted.facts, name))}


def _in_its_language(page: Page, limits: ReadLimits) -> Page:
    """Return HTML or plain text *page* with the language of its text, if it can be told."""
    body, media, charset = page.body, page.content_type, page.charset
    if body is None or not (is_html(media) or media == "text/plain"):
        return page
    content = main_content(body, charset, media, limits)
    language = None if content is None else detected(content.text)
    return page if language is None else msgspec.structs.replace(page, language=language, language_detected=True)


def _may_be_html(body: bytes, charset: str | None, content_type: str | None) -> bool:
    return is_html(content_type) or (content_type is None and is_text(body, charset, None))
