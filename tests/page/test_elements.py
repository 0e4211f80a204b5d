"""Headings, images, structured data and insecure content of a page, as the HTML standard and JSON say they are."""

from __future__ import annotations

import json

import pytest

from webtable import Page
from webtable._limits import ReadLimits
from webtable.page.elements import Elements, elements_of
from webtable.page.parser_process import TooMuch

URL = "https://example.com/shop/"


def elements(html: str, url: str = URL, **fields) -> Elements:
    page = Page(url=url, body=html.encode(), **{"content_type": "text/html", **fields})
    assert page.elements is not None
    return page.elements


def items(html: str) -> list[tuple[str, str | None, str | None]]:
    return [(item.syntax, item.type, item.problem) for item in elements(html).structured_data]


def data(html: str) -> list[object]:
    return [json.loads(item.data) for item in elements(html).structured_data if item.data]


# --- Headings ---------------------------------------------------------------------------------------------------------


def test_headings_of_all_levels_come_in_the_order_of_the_document():
    html = "<h2>First</h2><h1>A <b>b</b>old<br>one</h1><h6> \n </h6><h3><img src=l.png alt=Logo></h3><h7>none</h7>"

    headings = elements(html).headings

    assert [(heading.position, heading.level, heading.text) for heading in headings] == [
        (1, 2, "First"),
        (2, 1, "A bold one"),
        (3, 6, ""),
        (4, 3, "Logo"),
    ]
    assert {heading.url for heading in headings} == {URL}


def test_templates_and_what_is_for_browsers_without_scripts_are_left_out():
    html = "<body><noscript><h1>n</h1><img src=n></noscript><template><h1>t</h1><img src=t></template><h1>Here</h1>"

    assert [heading.text for heading in elements(html).headings] == ["Here"]
    assert elements(html).images == ()


# --- Images -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "alt", "state"),
    [
        ("", None, "missing"),
        ("alt", "", "empty"),
        ('alt=""', "", "empty"),
        ('alt=" "', "", "empty"),
        ('alt=" Two\n words "', "Two words", "text"),
        ("title=Lamp", None, "missing"),
    ],
)
def test_an_alternative_text_is_missing_empty_or_a_text(attributes, alt, state):
    (image,) = elements(f"<img src=a.png {attributes}>").images

    assert (image.alt, image.alt_state) == (alt, state)


@pytest.mark.parametrize(
    ("html", "src"),
    [
        ("<img src=a.png>", f"{URL}a.png"),
        ("<img src=' /a.png#x '>", "https://example.com/a.png"),
        ("<base href=/img/><img src=a.png>", "https://example.com/img/a.png"),
        ("<img src=//cdn.example/a.png>", "https://cdn.example/a.png"),
        ("<img src=blank.gif data-src=lamp.jpg>", f"{URL}lamp.jpg"),
        ("<img src=data:image/gif;base64,R0lGOD data-lazy-src=lamp.jpg>", f"{URL}lamp.jpg"),
        ("<img data-original=lamp.jpg>", f"{URL}lamp.jpg"),
        ("<img src=data:image/gif;base64,R0lGOD>", "data:image/gif"),
        ("<img srcset='small.jpg 1x, large.jpg 2x'>", f"{URL}small.jpg"),
        ("<img src=''>", None),
        ("<img>", None),
    ],
)
def test_the_source_of_an_image_is_what_a_visitor_sees_as_an_absolute_url(html, src):
    assert [image.src for image in elements(html).images] == [src]


@pytest.mark.parametrize(
    ("srcset", "names"),
    [
        ("a.jpg, b.jpg 2x", ["a.jpg", "b.jpg"]),
        ("a.jpg 1x,b.jpg 2x", ["a.jpg", "b.jpg"]),
        ("w_100,h_50/a.jpg 100w, w_200,h_100/a.jpg 200w", ["w_100,h_50/a.jpg", "w_200,h_100/a.jpg"]),
        ("a.jpg,b.jpg", ["a.jpg,b.jpg"]),
        ("a.jpg,, b.jpg", ["a.jpg", "b.jpg"]),
        (" ,a.jpg 100w 50h", ["a.jpg"]),
        ("a.jpg (1, 2) 2x, b.jpg", ["a.jpg", "b.jpg"]),
        ("a.jpg 1x, a.jpg 2x", ["a.jpg"]),
        (" , ", []),
    ],
)
def test_the_candidates_of_srcset_are_parted_as_browsers_do(srcset, names):
    (image,) = elements(f'<img srcset="{srcset}">').images

    assert list(image.sources) == [URL + name for name in names]


def test_an_image_in_a_picture_has_the_sources_of_that():
    html = (
        "<picture><source srcset='a.avif 1x, b.avif 2x'><source data-srcset=a.webp><img src=a.jpg alt=Lamp></picture>"
    )

    (image,) = elements(html).images

    assert image.src == f"{URL}a.jpg"
    assert image.sources == (f"{URL}a.avif", f"{URL}b.avif", f"{URL}a.webp")


def test_sizes_and_loading_are_as_written():
    images = elements("<img width=100 height='50%' loading=lazy><img>").images

    assert [(image.width, image.height, image.loading) for image in images] == [("100", "50%", "lazy"), (None,) * 3]


@pytest.mark.parametrize(
    ("html", "images"),
    [
        ("<map><area href=/a alt=Left><area href=/b><area></map>", [("area", "Left"), ("area", None)]),
        ("<input type=IMAGE src=b.gif alt=Buy><input type=text role=img>", [("input", "Buy")]),
        ("<svg role=img aria-label=Logo></svg><svg></svg>", [("svg", "Logo")]),
        ("<svg role=img><title>Logo of a lamp</title><path/></svg>", [("svg", "Logo of a lamp")]),
        ("<i id=a>Five</i><i id=b>stars</i><b role=img aria-labelledby='a b x'>*</b>", [("b", "Five stars")]),
        ("<div role='image other'></div><div role=button></div>", [("div", None)]),
        ("<img role=presentation alt=''>", [("img", "")]),
    ],
)
def test_other_elements_that_are_images_have_an_alternative_text_too(html, images):
    assert [(image.element, image.alt) for image in elements(html).images] == images


# --- Structured data --------------------------------------------------------------------------------------------------


def script(text: str, of_type: str = "application/ld+json") -> str:
    return f'<script type="{of_type}">{text}</script>'


THING = '{"@context": "https://schema.org", "@type": "Product", "name": "Lamp"}'


@pytest.mark.parametrize(
    ("text", "types"),
    [
        (THING, ["Product"]),
        (f"[{THING}, {THING}]", ["Product", "Product"]),
        ('{"@context": "https://schema.org", "@graph": [{"@type": "Car"}, {"@type": "Offer"}]}', ["Car", "Offer"]),
        ('{"@type": ["Product", "http://schema.org/Car"]}', ["Product, Car"]),
        ('{"@type": "https://schema.org/Offer"}', ["Offer"]),
        ('{"@type": "https://vocab.example/Lamp"}', ["https://vocab.example/Lamp"]),
        ('{"@type": "Product", "offers": {"@type": "Offer"}}', ["Product"]),
        ('{"name": "Lamp"}', [None]),
        (f"<!-- {THING} -->", ["Product"]),
        (f"//<![CDATA[\n{THING}\n//]]>", ["Product"]),
        (f"/* <![CDATA[ */ {THING} /* ]]> */", ["Product"]),
        (f"<![CDATA[{THING}]]>", ["Product"]),
    ],
)  # fmt: skip
def test_each_object_of_json_ld_is_an_item_with_its_type(text, types):
    assert items(script(text)) == [("json-ld", name, None) for name in types]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("<!-- -->", "empty"),
        ("{}", "empty"),
        ("[]", "empty"),
        ('{"@context": "https://schema.org"}', "empty"),
        ('{"@type": "Product",}', "broken"),
        ('{"@type": "Product"} // a lamp', "broken"),
        ('{"@type": /* a lamp */ "Product"}', "broken"),
        ("{&quot;@type&quot;: &quot;Product&quot;}", "broken"),
        ("{'@type': 'Product'}", "broken"),
        (THING + THING, "broken"),
        ('{"name": "two\nlines"}', "broken"),
        ('{"price": NaN}', "broken"),
        (THING[:-1], "broken"),
        ('"Product"', "broken"),
        ("[" * 5_000 + "]" * 5_000, "broken"),
    ],
)
def test_a_block_that_is_empty_or_no_json_is_named(text, problem):
    (item,) = elements(script(text)).structured_data

    assert (item.syntax, item.type, item.problem, item.data) == ("json-ld", None, problem, None)
    assert item.detail


def test_character_references_in_a_script_are_text_as_in_a_browser():
    assert data(script('{"@type": "A", "name": "Salt &amp; Pepper"}')) == [{"@type": "A", "name": "Salt &amp; Pepper"}]


def test_the_type_of_a_script_is_compared_as_a_media_type():
    html = script(THING, " Application/LD+JSON; charset=utf-8") + script(THING, "application/json") + script(THING, "")

    assert items(html) == [("json-ld", "Product", None)]


def test_a_broken_block_does_not_hide_the_next_one():
    assert items(script("{,}") + script(THING)) == [("json-ld", None, "broken"), ("json-ld", "Product", None)]


def test_microdata_is_what_the_html_standard_makes_of_it():
    html = """
        <div itemscope itemtype="https://schema.org/Product" itemid="/lamps/1" itemref="more missing">
          <h2 itemprop="name">A
             lamp</h2><p>none</p>
          <img itemprop="image photo" src="lamp.jpg"><a itemprop=url href="/lamp">lamp</a>
          <div itemprop=offers itemscope itemtype="https://schema.org/Offer">
            <meta itemprop=price content="12.50"><data itemprop=sku value=7>seven</data><meter itemprop=stock value=3>
          </meter></div>
          <time itemprop=since datetime="2026-01-02">in January</time><time itemprop=until>soon</time>
        </div>
        <p id=more><span itemprop=name>Second name</span></p>
    """

    assert items(html) == [("microdata", "Product", None)]
    assert data(html) == [
        {
            "type": ["https://schema.org/Product"],
            "id": "https://example.com/lamps/1",
            "properties": {
                "name": ["A lamp", "Second name"],
                "image": ["https://example.com/shop/lamp.jpg"],
                "photo": ["https://example.com/shop/lamp.jpg"],
                "url": ["https://example.com/lamp"],
                "offers": [
                    {
                        "type": ["https://schema.org/Offer"],
                        "properties": {"price": ["12.50"], "sku": ["7"], "stock": ["3"]},
                    }
                ],
                "since": ["2026-01-02"],
                "until": ["soon"],
            },
        }
    ]


def test_an_item_that_refers_to_itself_has_the_error_of_the_standard():
    html = """<div itemscope itemref=b></div><div itemscope itemprop=b id=b itemref=c></div>
        <i itemprop=c itemscope id=c itemref=b></i>"""

    assert data(html) == [{"properties": {"b": [{"properties": {"c": [{"properties": {"b": ["ERROR"]}}]}}]}}]


def test_an_item_without_properties_is_empty():
    assert items("<div itemscope itemtype=https://schema.org/Thing>x</div><i itemprop=name>of nothing</i>") == [
        ("microdata", "Thing", "empty")
    ]


def test_open_graph_and_twitter_are_one_item_each_by_property_or_by_name():
    html = """
        <meta property="og:type" content="article"><meta name="og:title" content=" A title ">
        <meta property="og:image" content="1.jpg"><meta property="og:image" content="2.jpg">
        <meta property="article:author" content="Ann"><meta name="description" content="none">
        <meta name="twitter:card" content="summary"><meta property="Twitter:Site" content="@shop">
    """

    assert items(html) == [("open graph", "article", None), ("twitter", "summary", None)]
    assert data(html) == [
        {"og:type": "article", "og:title": "A title", "og:image": ["1.jpg", "2.jpg"], "article:author": "Ann"},
        {"twitter:card": "summary", "twitter:site": "@shop"},
    ]


def test_properties_without_content_are_named():
    (item,) = elements(
        '<meta property="og:title" content=""><meta property="og:image"><meta name=og:url content=x>'
    ).structured_data

    assert (item.problem, item.detail, item.type) == ("empty", "no content in og:title, og:image", None)


# --- Insecure content -------------------------------------------------------------------------------------------------


def insecure(html: str, url: str = URL) -> list[tuple[str, str, str]]:
    return [(part.problem, part.element, part.target) for part in elements(html, url).insecure_content]


@pytest.mark.parametrize(
    ("html", "element"),
    [
        ("<img src=http://a.example/x>", "img"),
        ("<img srcset='https://b.example/y 1x, http://a.example/x 2x' src=y>", "img"),
        ("<picture><source srcset=http://a.example/x></picture>", "source"),
        ("<script src=http://a.example/x></script>", "script"),
        ("<link rel='Alternate Stylesheet' href=http://a.example/x>", "link"),
        ("<link rel=preload href=http://a.example/x>", "link"),
        ("<iframe src=http://a.example/x></iframe>", "iframe"),
        ("<video poster=http://a.example/x></video>", "video"),
        ("<object data=http://a.example/x></object>", "object"),
        ("<input type=image src=http://a.example/x>", "input"),
        ("<base href=http://a.example/><img src=x>", "img"),
    ],
)
def test_what_an_https_page_loads_by_http_is_mixed_content(html, element):
    assert insecure(html) == [("mixed content", element, "http://a.example/x")]
    assert insecure(html, "http://example.com/shop/") == []


@pytest.mark.parametrize(
    "html",
    [
        "<a href=http://a.example/>a</a>",
        "<link rel=canonical href=http://a.example/>",
        "<img src=//a.example/x data-src=y>",
        "<img src=data:image/gif;base64,R0lGOD>",
        "<div data=http://a.example/ src=http://a.example/></div>",
        "<form></form><form action=/f></form><form action=mailto:a@a.example></form>",
    ],
)
def test_what_is_not_loaded_or_is_encrypted_is_no_finding(html):
    assert insecure(html) == []


def test_forms_that_are_sent_by_http_and_forms_on_http_pages_are_named():
    html = "<form action=http://a.example/f><button formaction=http://b.example/>x</button></form>"
    plain = "http://example.com/"

    assert insecure(html) == [
        ("form to http", "form", "http://a.example/f"),
        ("form to http", "button", "http://b.example/"),
    ]
    assert insecure("<form></form><form action=/f></form>", plain) == [
        ("form on http", "form", plain),
        ("form to http", "form", "http://example.com/f"),
    ]
    assert insecure("<form action=https://a.example/></form>", plain) == [
        ("form on http", "form", "https://a.example/")
    ]


# --- Limits -----------------------------------------------------------------------------------------------------------


def test_only_html_has_elements():
    assert Page(url=URL, body=b"<h1>x</h1>", content_type="text/plain").elements is None
    assert Page(url=URL, content_type="text/html").elements is None
    assert Page(url=URL, body=b"%PDF-1.7\x00").elements is None


def test_a_large_page_is_read_in_another_process_with_the_same_answer():
    html = "<h1>One</h1><img src=a.png srcset='b.png 2x'>" + script(THING) + "<form action=http://a.example/></form>"
    small = elements(html)

    large = elements(html + "<p>" + "word " * 20_000)

    assert large == small
    assert large.headings[0].url == URL


@pytest.mark.parametrize(
    ("limits", "over", "counts"),
    [
        (ReadLimits(parsed=10), "parsed", (0, 0)),
        (ReadLimits(links=2), "links", (2, 2)),
        (ReadLimits(link_text=120), "link_text", (3, 1)),
        (ReadLimits(), None, (3, 3)),
    ],
)
def test_a_page_over_a_limit_has_its_first_elements_and_says_which_limit(limits, over, counts):
    html = "<h1>One</h1><h2>Two</h2><h3>Three</h3>" + "<img src=a-name-of-some-forty-characters-in-all.jpg>" * 3

    read = elements_of(html.encode(), URL, limits=limits)

    assert (read.over, (len(read.headings), len(read.images))) == (over, counts)


def test_a_page_that_takes_too_much_is_tried_once(monkeypatch):
    calls = []
    body = b"<p>" + b"<b title=another>" * 5_000

    def too_much(*arguments):
        calls.append(arguments)
        raise TooMuch("seconds")

    monkeypatch.setattr("webtable.page.elements.apart", too_much)

    assert [elements_of(body, url) for url in (URL, f"{URL}copy")] == [Elements(over="seconds")] * 2
    assert len(calls) == 1
    assert elements_of(body + b"x", URL).over == "seconds"
    assert len(calls) == 2


def test_items_that_double_each_other_end_at_a_limit():
    halves = "".join(
        f"<b id={name}{n} itemprop=p itemscope itemref='a{n + 1} b{n + 1}'></b>" for n in range(60) for name in "ab"
    )

    read = elements(f"<h1>One</h1><div itemscope itemref='a0 b0'></div>{halves}")

    assert (read.over, read.structured_data, len(read.headings)) == ("link_text", (), 1)


def test_xhtml_is_read_as_xml():
    html = '<html xmlns="http://www.w3.org/1999/xhtml"><body><script src="a.js"/><h1>A</h1></body></html>'

    assert [heading.text for heading in elements(html, content_type="application/xhtml+xml").headings] == ["A"]


def test_queries_of_images_are_in_the_encoding_of_the_page():
    page = Page(url=URL, body="<img src='a?q=ü'>".encode("latin-1"), content_type="text/html", charset="iso-8859-1")

    assert page.elements is not None
    assert [image.src for image in page.elements.images] == [f"{URL}a?q=%FC"]


# --- Relations --------------------------------------------------------------------------------------------------------


def test_relations_are_those_of_the_head_and_next_and_prev_of_links():
    html = """<head><base href=/b/><link rel=alternate hreflang=de-AT href=de><link rel=ALTERNATE hreflang href=x>
    <link rel=alternate type=application/rss+xml href=feed><link rel="next nofollow" href=?page=2>
    <noscript><link rel=prev href=/no></noscript></head><body><link rel=alternate hreflang=fr href=/in-body>
    <a rel="previous" href="/p1#x">back</a><a rel=next href="mailto:x">no</a>
    <a rel=alternate hreflang=it href=/it>it</a>"""

    relations = elements(html).relations

    assert [tuple(relation[2:]) for relation in relations] == [
        ("alternate", "link", "de-AT", "https://example.com/b/de"),
        ("alternate", "link", "", "https://example.com/b/x"),
        ("next", "link", None, "https://example.com/b/?page=2"),
        ("prev", "a", None, "https://example.com/p1"),
    ]
    assert [relation.position for relation in relations] == [1, 2, 3, 4]
