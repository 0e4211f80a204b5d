"""The language of a page that does not say it is found in its text."""

from __future__ import annotations

import pytest

from languages import TEXTS
from webtable import Page
from webtable.formats import ReadLimits
from webtable.page import facts
from webtable.page import facts as language
from webtable.page.facts import MOST_TEXT, detected, filled

URL = "https://example.com/a"
AROUND = "<nav><a href=/>Start page</a> <a href=/about>About us</a></nav>"


def page(text: str, attributes: str = "", **fields) -> Page:
    html = f"<html {attributes}><title>A page</title><body>{AROUND}<main><p>{text}</p></main>".encode()
    return Page(**{"url": URL, "body": html, "content_type": "text/html", "charset": "utf-8"} | fields)


def told(given: Page, **options) -> tuple[str | None, bool]:
    found, _ = filled(given, **{"detect_language": True} | options)
    return found.language, found.language_detected


@pytest.mark.parametrize("name", TEXTS)
def test_the_language_of_a_text_is_found(name):
    assert detected(TEXTS[name] * (1 if len(TEXTS[name]) > 100 else 2)) == name


@pytest.mark.parametrize(
    "text",
    [
        *("", "Guten Tag!", "中文", TEXTS["de"][:99], "0123456789 " * 100, "\ufffd\ufffd \ufffd" * 100, "lorem " * 200),
        "def f(self, x): return self.x[x] ** 2 if x else None\n" * 20,
    ],
)
def test_the_language_of_a_text_that_is_short_or_not_clear_is_not_guessed(text):
    assert detected(text) is None


def test_only_the_beginning_of_a_text_is_looked_at(monkeypatch):
    seen = []
    monkeypatch.setattr(language, "detect_fast", lambda text, **_: seen.append(len(text)) or [("de", 1), ("en", 99)])

    detected("a" * 10_000_000)

    assert seen == [MOST_TEXT]


def test_a_page_that_does_not_say_its_language_gets_that_of_its_text_if_that_is_asked_for():
    assert told(page(TEXTS["de"])) == ("de", True)
    assert told(page(TEXTS["de"]), detect_language=False) == (None, False)
    assert told(page(TEXTS["de"], title="Given", outlinks=())) == ("de", True)


@pytest.mark.parametrize(
    "given",
    [
        page(TEXTS["de"], "lang=en"),
        page(TEXTS["de"], headers={"Content-Language": "en"}),
        page(TEXTS["de"], language="en"),
        page(TEXTS["de"], "lang=en", title="Given", outlinks=()),
    ],
    ids=["html", "header", "given", "html of a page with a given title"],
)
def test_a_language_that_is_named_stays(given):
    assert told(given) == ("en", False)


def test_only_html_and_plain_text_have_a_language():
    text = TEXTS["de"].encode()

    assert told(Page(url=URL, body=text, content_type="text/plain")) == ("de", True)
    for media in ("application/json", "text/css", "application/pdf", "image/png"):
        assert told(Page(url=URL, body=text, content_type=media)) == (None, False)
    assert told(Page(url=URL, status=304, same_as=URL)) == (None, False)


def test_a_page_that_could_not_be_parsed_is_not_parsed_again_for_its_language(monkeypatch):
    monkeypatch.setattr(facts, "main_content", lambda *_, **__: pytest.fail("it was parsed again"))

    assert told(page("a" * 1_000), limits=ReadLimits(parsed=100)) == (None, False)
    assert told(page("a" * 1_000, title="Given", outlinks=()), limits=ReadLimits(parsed=100)) == (None, False)
