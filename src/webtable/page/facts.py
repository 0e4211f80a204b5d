"""What the headers and the HTML of a page both may say of it, and how that is combined: once, for every way in.

These are the `SHARED` facts. A page keeps apart what its HTML says of them (`html_facts`), because a 304 replaces
headers, and a revisit repeats the HTML under other headers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from webtable.page.headers import Headers, canonical_link, redirect_target, said_once
from webtable.page.parts import SHARED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webtable.page.page import Page
    from webtable.page.parts import HTMLFacts, SharedFact
    from webtable.repository.page_storage.state import Capture


def with_facts(page: Page, html: HTMLFacts) -> Page:
    """Return *page* with the facts of its headers and of its HTML, which says *html*; those that it has stay.

    The HTML comes before the headers, and crawlers do what both tell them.
    """
    facts = _combined(html, page.url, page.headers)
    return replace(
        page,
        canonical=redirect_target(page.url, page.canonical) or page.canonical or facts["canonical"],
        robots=page.robots or facts["robots"],
        language=page.language or facts["language"],
        _html_facts=html,
    )


def compacted(page: Page) -> Page:
    """Return *page* in its stored form: without `html_facts` where the fields themselves are what the HTML says."""
    return page if page._html_facts is None or page._html_facts != _own(page) else replace(page, _html_facts=None)


def html_facts(page: Page | Capture) -> HTMLFacts:
    """Return what the HTML of the stored *page* says."""
    return _own(page) if page._html_facts is None else page._html_facts


def repeated_facts(page: Page, source: Page | Capture, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of *page*, which repeats the content of *source*, that come of its HTML and of *headers*.

    These are the `SHARED` facts and the language of the text. Facts that a caller gave stay, those given with *page*
    before those given with *source*.
    """
    caller = _given(source, getattr(source, "url", page.url)) | _given(page, page.url)
    bare = replace(page, headers=headers, **{name: caller.get(name) for name in SHARED})
    whole = with_facts(bare, html_facts(source))
    detected = next((capture.language for capture in (page, source) if capture.language_detected), None)
    is_detected = whole.language is None and detected is not None
    whole = compacted(replace(whole, language=whole.language or detected, language_detected=is_detected))
    return {name: getattr(whole, name) for name in (*SHARED, "language_detected", "_html_facts")}


def _combined(html: HTMLFacts, url: str, headers: Mapping[str, str]) -> dict[str, str | None]:
    named = (headers if isinstance(headers, Headers) else Headers(headers)).folded()
    return {
        "canonical": html.get("canonical") or canonical_link(url, named.get("link")),
        "robots": _both(html.get("robots"), named.get("x-robots-tag", "").lower()),
        "language": html.get("language") or said_once(named.get("content-language")),
    }


def _both(html: str | None, header: str) -> str | None:
    """Return the rules of both for crawlers; what both say is there once."""
    if not (html and header):
        return html or header or None
    already = {rule.strip() for rule in html.split(",")}
    further = [rule for rule in map(str.strip, header.split(",")) if rule not in already]
    return ", ".join([html, *further])


def _own(page: Page | Capture) -> dict[SharedFact, str]:
    return {name: value for name in SHARED if (value := getattr(page, name))}


def _given(page: Page | Capture, url: str) -> dict[SharedFact, str]:
    """Return the facts of *page* that neither its HTML nor its headers say, nor its text: a caller gave them."""
    facts = _combined(html_facts(page), url, page.headers)
    return {
        name: value
        for name, value in _own(page).items()
        if value != facts[name] and not (name == "language" and page.language_detected)
    }
