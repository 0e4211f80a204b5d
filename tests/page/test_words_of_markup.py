"""Anchors, headings and texts have a space where an element ends that a browser shows apart."""

from __future__ import annotations

import pytest

from webtable.page.extract import extract, plain_text

URL = "https://example.com/"

# What a browser shows of each, with white space collapsed (`innerText` of Chromium).
SHOWN = {
    "one<br>two": "one two",
    "one<p>two</p>three": "one two three",
    "<div>one</div><div>two</div>": "one two",
    "<table><tr><td>one<td>two</table>": "one two",
    "one<dl><dt>two<dd>three</dl>": "one two three",
    "<section>one</section>two": "one two",
    "one<hr>two": "one two",
    "one<button>two</button>three": "one two three",
    "one<dialog open>two</dialog>three": "one two three",
    "one<summary>two</summary>three": "one two three",
    "<legend>one</legend>two": "one two",
    "<menu><li>one<li>two</menu>": "one two",
    "<search>one</search>two": "one two",
    "o<b>n</b>e": "one",
    "<span>o</span><span>ne</span>": "one",
    "o<wbr>ne": "one",
    "o<my-part>ne</my-part>": "one",
    "o<label>ne</label>": "one",
    "o<!-- no -->ne": "one",
    "one<style>p { color: red }</style>": "one",
    "one<script>var two = {}</script>": "one",
    "<svg><style>.a{}</style><text>one</text></svg>": "one",
    "one<template>two</template>": "one",
}


@pytest.mark.parametrize(("markup", "words"), SHOWN.items(), ids=SHOWN)
def test_an_anchor_and_a_heading_have_the_words_that_a_browser_shows(markup, words):
    page = extract(f"<a href=/x>{markup}</a><h1>{markup}</h1>".encode(), URL)

    assert [link.anchor for link in page.outlinks] == [words]
    assert page.facts.h1 == words


@pytest.mark.parametrize(("markup", "words"), SHOWN.items(), ids=SHOWN)
def test_a_text_has_the_words_that_a_browser_shows(markup, words):
    text = plain_text(f"<body><p>begin<p><div>{markup}</div><p>end".encode(), None, "text/html")

    assert text.split() == ["begin", *words.split(), "end"]


def test_an_anchor_that_is_never_closed_takes_linear_time():
    page = extract(b"<a href=/x>" + b"<div>{a" * 6_000, URL)

    assert len(page.outlinks[0].anchor) == 500


# --- XHTML ------------------------------------------------------------------------------------------------------------

XHTML = "application/xhtml+xml"
PAGE = """<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml" lang="en" xml:lang="de"><head>{head}</head>
<body><h1>Heading</h1><div/><a/><p class="a>b"/><a href="/next">next</a><p>words{more}</p></body></html>"""


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ('<title>T</title><script src="a.js"/>', "T"),
        ("<title>T</title><style/>", "T"),
        ("<title/>", None),
        ("<title>T</title><meta name='a' content='b'/>", "T"),
        ("<!-- <title/> --><title>T</title>", "T"),
        ("<title>T &nbsp; U</title>", "T U"),
        ("<title><![CDATA[1 < 2 & 3]]></title>", "1 < 2 & 3"),
    ],
)
def test_an_element_that_closes_itself_is_closed_in_xhtml(head, title):
    body = PAGE.format(head=head, more="").encode()
    page = extract(body, URL, content_type=XHTML)

    assert (page.title, page.facts.h1, page.facts.language) == (title, "Heading", "de")
    assert [(link.url, link.anchor) for link in page.outlinks] == [(f"{URL}next", "next")]
    assert plain_text(body, None, XHTML) == "Heading\nnext\nwords"


@pytest.mark.parametrize("more", ["<br>", "<p>open", "a & b", "<b><i></b></i>"])
def test_xhtml_that_is_not_well_formed_is_read_as_html(more):
    page = extract(PAGE.format(head="<title>T</title>", more=more).encode(), URL, content_type=XHTML)

    assert (page.title, page.facts.h1, page.facts.language) == ("T", "Heading", "en")


def test_entities_that_a_document_declares_are_not_expanded():
    laughs = "".join(f'<!ENTITY a{n + 1} "&a{n};&a{n};&a{n};&a{n};">' for n in range(40))
    body = f'<!DOCTYPE html [<!ENTITY a0 "ha">{laughs}]><html><head><title>T</title></head><body>&a40;</body></html>'

    page = extract(body.encode(), URL, content_type=XHTML)

    assert page.is_parsed


def test_the_same_markup_is_html_where_its_type_says_so():
    page = extract(PAGE.format(head="<title>T</title>", more="").encode(), URL, content_type="text/html")

    assert page.facts.language == "en"
