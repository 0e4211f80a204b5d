"""What headers and HTML both may say of a page, and how that is combined; the language of a text; the page completed.

These are the `SHARED` facts. A page keeps apart what its HTML says of them (`html_facts`), because a 304 replaces
headers, and a revisit repeats the HTML under other headers.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import msgspec
from msgspec.structs import replace
from resiliparse.parse.lang import detect_fast

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.page.body import is_html, is_text
from webtable.page.extract import MAX_FACT, Extract, extract, main_content, refresh_reference, resolved
from webtable.page.headers import (
    ROBOTS,
    Headers,
    canonical_links,
    main_and_other,
    redirect_target,
    single_value,
)
from webtable.page.page import Page, with_header_fields
from webtable.page.parts import SAID, SHARED, HTMLFacts, Link, SharedFact, different_links
from webtable.page.robots import rules_by_bot, text_by_bot, text_for_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webtable.repository.page_storage.state import Capture


def with_facts(page: Page, html: HTMLFacts) -> Page:
    """Return *page* with the facts of its headers and of its HTML, which says *html*; those that it has stay.

    The HTML comes before the headers, and crawlers do what both tell them.
    """
    facts = _combined(html, page.url, page.headers)
    values = {name: getattr(page, name) or facts[name] for name in SHARED}
    values["canonical"] = redirect_target(page.url, page.canonical) or values["canonical"]
    if page.canonical and not page.other_canonical and values["canonical"] != facts["canonical"]:
        values["other_canonical"] = None  # a caller decided which one it is
    return replace(page, **values, _html_facts=html)


def compacted(page: Page) -> Page:
    """Return *page* in its stored form: without `html_facts` where the fields themselves are what the HTML says."""
    return (
        page if page._html_facts is None or page._html_facts != _shared_facts(page) else replace(page, _html_facts=None)
    )


def html_facts(page: Page | Capture) -> HTMLFacts:
    """The facts of the HTML of the stored *page*."""
    return _shared_facts(page) if page._html_facts is None else page._html_facts


def repeated_facts(page: Page, source: Page | Capture, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of *page*, which repeats the content of *source*, that come of its HTML and of *headers*.

    These are the `SHARED` facts and the language of the text. Facts that a caller gave stay, those given with *page*
    before those given with *source*.
    """
    caller = _callers_facts(source, getattr(source, "url", page.url)) | _callers_facts(page, page.url)
    bare = replace(page, headers=headers, **{name: caller.get(name) for name in SHARED})
    whole = with_facts(bare, html_facts(source))
    detected = next((capture.language for capture in (page, source) if capture.language_detected), None)
    is_detected = whole.language is None and detected is not None
    whole = compacted(replace(whole, language=whole.language or detected, language_detected=is_detected))
    return {name: getattr(whole, name) for name in (*SHARED, "language_detected", "_html_facts")}


def _combined(html: HTMLFacts, url: str, headers: Mapping[str, str]) -> dict[str, str | None]:
    named = (headers if isinstance(headers, Headers) else Headers(headers)).folded()
    in_html, in_headers = (html.get("canonical"), html.get("other_canonical")), named.get("link")
    canonical, other = main_and_other(chain(in_html, canonical_links(url, in_headers)))
    robots, by_bot = html.get("robots"), html.get("robots_by_bot")
    if header := named.get(ROBOTS):
        rules = rules_by_bot(filter(None, (robots, by_bot, header)))
        robots, by_bot = text_for_all(rules, MAX_FACT), text_by_bot(rules, MAX_FACT)
    return {
        "canonical": canonical,
        "robots": robots,
        "language": html.get("language") or single_value(named.get("content-language")),
        "other_canonical": other,
        "robots_by_bot": by_bot,
    }


def _shared_facts(page: Page | Capture) -> dict[SharedFact, str]:
    return {name: value for name in SHARED if (value := getattr(page, name))}


def _callers_facts(page: Page | Capture, url: str) -> dict[SharedFact, str]:
    """Return the facts of *page* that neither its HTML nor its headers say, nor its text: a caller gave them."""
    facts = _combined(html_facts(page), url, page.headers)
    return {
        name: value
        for name, value in _shared_facts(page).items()
        if value != facts[name] and not (name == "language" and page.language_detected)
    }


# --- Language of a text -----------------------------------------------------------------------------------------------


MOST_TEXT = 65_536
"""Characters of a text that are looked at."""
_LEAST_TEXT = 100
# The rank of a language is its distance from the text, its lead that of the next one from it. Of 1,094 pages of
# documentation in alphabets this finds the language of 990, never wrongly; from their first 500 characters that of 684
# of 1,027, and 2 wrongly. From 3,000 characters of the messages of programs in 47 languages it finds 492 of 516, never
# wrongly. By the rank alone, up to 500, it would be wrong for 11, 48 and 5 of them: Danish comes as Norwegian.
_ANY = 1 << 30
_CLEAR = ((350, 10), (500, 25))
"""The highest rank, and the least lead that goes with it."""
# resiliparse does not know Chinese and Korean among the names of programs and commands.
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile("[\u3041-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_EAST_ASIAN = 1 / 5
"""The share of a text from which on its language is one of these: a sign is a syllable or a word."""


def detected(text: str) -> str | None:
    """Return the language of *text* as in `de` (ISO 639-1); None where it is under 100 characters, or not clear.

    >>> detected("保存的网页以后还必须能找到。" * 9), detected("Guten Tag")
    ('zh', None)
    """
    text = normalize("NFC", text[:MOST_TEXT])
    if len(text) < _LEAST_TEXT:
        return None
    han, kana, hangul = (len(script.findall(text)) for script in (_HAN, _KANA, _HANGUL))
    if han + kana + hangul >= _EAST_ASIAN * len(text):
        # Japanese has two to five kana for each Han character, and Chinese none.
        return "ko" if hangul > han + kana else "ja" if kana > han / 5 else "zh"
    ranked: Any = detect_fast(text, cutoff=_ANY, n_results=2)
    (language, rank), (_, next_rank) = ranked
    is_clear = any(rank <= highest and next_rank - rank >= lead for highest, lead in _CLEAR)
    return str(language) if is_clear else None


# --- A page completed with what its headers and its HTML say ----------------------------------------------------------


def filled(
    page: Page, limits: ReadLimits = DEFAULT_LIMITS, *, parse: bool = True, detect_language: bool = False
) -> tuple[Page, Extract | None]:
    """Return *page* with the fields filled in that are not given and that its headers and its HTML tell.

    These are the fields of `with_header_fields`, what the page says of itself, the links and the charset. A body
    without a type is HTML unless it is binary, and gets that type. HTML is parsed, unless the page has its links and
    its `html_facts`, as it has when this was done before, and not without *parse*. With *detect_language* a page that
    does not say its language gets the one of its text, if that is clear. The second value is what was found in the
    HTML, None if it was not parsed.
    """
    page = with_header_fields(page)
    body, html, extracted = page.body, page._html_facts, None
    if body is not None and _may_be_html(body, page.charset, page.content_type):
        if not page.content_type:
            # What is treated as HTML has that type in every answer.
            page = msgspec.structs.replace(page, content_type="text/html")
        if parse and (html is None or page.outlinks is None):
            extracted = extract(body, page.url, page.charset, limits, content_type=page.content_type)
            page, html = _with_extract(page, extracted), _shared(extracted)
    page = with_facts(page, html or {})
    if detect_language and page.language is None and (extracted is None or extracted.is_parsed):
        page = _in_its_language(page, limits)
    return page, extracted


def _with_extract(page: Page, extracted: Extract) -> Page:
    outlinks = page.outlinks
    if outlinks is None:
        outlinks = extracted.outlinks
        reference = refresh_reference(page.headers["refresh"]) if "refresh" in page.headers else ""
        if reference and (target := resolved(page.url, reference)):
            outlinks = different_links((*outlinks, Link(target, kind="refresh")))
    only_html = [name for name in SAID if name not in SHARED and getattr(page, name) is None]
    return msgspec.structs.replace(
        page,
        **{name: getattr(extracted.facts, name) for name in only_html},
        outlinks=outlinks,
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
