"""Titles, links and charsets of HTML, good and bad."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightly import some
from webtable.errors import InvalidArgument
from webtable.formats import ReadLimits
from webtable.page.body import is_html, looks_like_html
from webtable.page.extract import MAX_ANCHOR, MAX_FACT, Extract, Facts, MainContent, extract, main_content, plain_text
from webtable.page.page import Page
from webtable.page.parts import SAID, Link

URL = "https://example.com/docs/intro?page=1"


def links(html: str, url: str = URL) -> list[Link]:
    return list(extract(html.encode(), url).outlinks)


def urls(html: str, url: str = URL) -> list[str]:
    return [link.url for link in links(html, url)]


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title> A\n  long \t title </title>", "A long title"),
        ("<title>&lt;Tom &amp; Jerry&gt;</title>", "<Tom & Jerry>"),
        ("<title>  </title><p>text", None),
        ("<p>no title", None),
        ("", None),
        (f"<title>{'x' * 5_000}</title>", "x" * MAX_FACT),
        ("<svg><title>a picture</title></svg><p>x<title>late</title>", "late"),
        ("<svg><title>a picture</title></svg>", None),
        ("<svg><foreignObject><title>in a picture</title></foreignObject></svg>", "in a picture"),
    ],
)
def test_a_title_has_its_white_space_collapsed_and_is_none_where_there_is_none(html, title):
    assert extract(html.encode(), URL).title == title


@pytest.mark.parametrize(
    ("html", "fact", "value"),
    [
        ('<link rel="alternate CANONICAL" href="../a">', "canonical", "https://example.com/a"),
        ('<base href="/en/"><link rel=canonical href=b>', "canonical", "https://example.com/en/b"),
        ("<link rel=canonical href='mailto:x'><link rel=canonical href=/b>", "canonical", "https://example.com/b"),
        ("<body><p>x</p><link rel=canonical href=/evil>", "canonical", None),
        ('<meta name="Description" content=" A  page\n ">', "description", "A page"),
        ("<meta name=description content=''><meta name=description content=b>", "description", "b"),
        (f"<meta name=description content={'x' * 5_000}>", "description", "x" * MAX_FACT),
        ("<meta name=ROBOTS content='NoIndex'><meta name=robots content=nofollow>", "robots", "noindex, nofollow"),
        ("<meta name=googlebot content=noindex>", "robots", None),
        ("<h2>no</h2><div><h1> The <b>first</b>\n one</h1><h1>second</h1>", "h1", "The first one"),
        ("<h1><img src=x alt='A logo'></h1>", "h1", "A logo"),
        ("<h1> </h1><p>text", "h1", None),
        # A theme has an empty one for its menu (Quarto does).
        ("<h1 class=menu></h1><h2>no</h2><h1>Managing anxiety</h1>", "h1", "Managing anxiety"),
        ("<h1></h1>" * 15 + "<h1>After fifteen</h1>", "h1", "After fifteen"),
        ("<h1></h1>" * 16 + "<h1>After too many</h1>", "h1", None),
        ("<!doctype html><html lang=' pt-BR '><p>x", "language", "pt-br"),
        ("<p lang=de>x", "language", None),
        ("<svg><html lang=de>x", "language", None),
        ("<meta name=description content><link rel=canonical name=description href=/a>", "description", None),
    ],
)
def test_what_a_page_says_of_itself_is_found_in_its_head_and_its_first_heading(html, fact, value):
    assert getattr(extract(html.encode(), URL).facts, fact) == value


def test_the_facts_of_a_page_are_fields_of_a_page():
    assert Facts._fields == SAID


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("other", "https://example.com/docs/other"),
        ("../up/./x", "https://example.com/up/x"),
        ("/root#part", "https://example.com/root"),
        ("?page=2", "https://example.com/docs/intro?page=2"),
        (" \n?page=2 ", "https://example.com/docs/intro?page=2"),
        ("//Other.Example:443/a", "https://other.example/a"),
        ("HTTP://Bücher.example:80", "http://xn--bcher-kva.example/"),
        ("https://user:secret@example.org/x", "https://example.org/x"),
        ("a b&amp;c", "https://example.com/docs/a%20b&c"),
        ("", URL),
    ],
)
def test_a_link_is_absolute_and_canonical(href, target):
    assert urls(f'<a href="{href}">x</a>') == [target]


@pytest.mark.parametrize(
    "href",
    [
        *(
            "#top",
            " #top",
            "mailto:a@example.com",
            "JavaScript:void(0)",
            "data:text/html,x",
            "tel:1",
            "ftp://example.com/",
        ),
        *("http://[", "https://exa mple.com/", "https://example.com:99999/", "x" * 20_000),
    ],
)
def test_what_leads_to_no_page_is_left_out(href):
    assert links(f'<a href="{href}">x</a>') == []


def test_links_are_in_document_order_each_with_its_anchor_and_equal_ones_are_counted():
    html = """<a href=b rel="NoFollow  ugc"><img src=i></a> <a href=a>  to\n <b>A</b> </a> <a href=b#x>to B</a>
              <map><area href=c alt="to C"></map> <a href=a>to A</a> <a name=x>no link</a>"""

    found = links(html)

    assert found == [
        Link("https://example.com/docs/b", "", "nofollow ugc"),
        Link("https://example.com/docs/a", "to A", times=2),
        Link("https://example.com/docs/b", "to B"),
        Link("https://example.com/docs/c", "to C"),
    ]


# The positions are what HTML-AAM 1.0 maps to the landmarks of ARIA, and explicit roles.
@pytest.mark.parametrize(
    ("html", "positions"),
    [
        ("<a href=a></a><nav><ul><li><a href=b></a></ul></nav><a href=c></a>", ["", "nav", ""]),
        ("<header><a href=a></a><nav><a href=b></a></nav><a href=c></a></header>", ["header", "nav", "header"]),
        (
            "<main><article><header><a href=a></a></header><footer><a href=b></a></footer></article></main>",
            ["main"] * 2,
        ),
        ("<section><footer><a href=a></a></footer></section><footer><a href=b></a></footer>", ["", "footer"]),
        (
            "<section><header><a href=a></a></header><footer><a href=b></a></footer></section><header><a href=c></a>",
            ["", "", "header"],
        ),
        ("<div role=region><p><header><a href=a></a></header></div><header><a href=b></a>", ["", "header"]),
        ("<section><header role=banner><a href=a></a></header></section>", ["header"]),
        ("<aside><section><header><a href=a></a></header></section></aside><aside><a href=b></a>", ["aside"] * 2),
        ("<div role=Navigation><a href=a></a></div><div role=banner><a href=b></a></div>", ["nav", "header"]),
        (
            "<div role='x contentinfo'><a href=a></a></div><div role=complementary><a href=b></a></div>",
            ["footer", "aside"],
        ),
        ("<div role=main><header><a href=a></a></header><p role=note><a href=b></a></div>", ["main", "main"]),
        ("<nav role=tablist><a href=a></a></nav><nav><a role=button href=b></a></nav>", ["", "nav"]),
        ("<main><nav><a href=a></a></nav><p><a href=b></a><iframe src=c></iframe></main>", ["nav", "main", "main"]),
    ],
)
def test_a_link_is_in_the_innermost_landmark_around_it(html, positions):
    assert [link.position for link in links(html)] == positions


def test_positions_of_many_links_are_those_of_the_elements_around_each():
    rng = random.Random(54)
    html, expected, open_names = [], [], []
    for number in range(2_000):
        if rng.random() < 0.1 and len(open_names) < 8:
            open_names.append(rng.choice(["nav", "main", "aside", "div", "div"]))
            html.append(f"<{open_names[-1]}>")
        elif rng.random() < 0.1 and open_names:
            html.append(f"</{open_names.pop()}>")
        html.append(f"<a href={number}>x</a>")
        expected.append(next((name for name in reversed(open_names) if name != "div"), ""))

    assert [link.position for link in links("".join(html))] == expected


def test_of_ten_thousand_links_to_one_page_the_first_different_ones_are_kept_and_all_counted():
    found = links("".join(f"<a href=/a>link {number}</a>" for number in range(10_000)))

    assert [link.anchor for link in found] == [f"link {number}" for number in range(16)]
    assert [link.times for link in found] == [1] * 15 + [10_000 - 15]


@pytest.mark.parametrize(
    ("attributes", "target"),
    [("xlink:href=/old", "/old"), ("href=/new xlink:href=/old", "/new"), ("xlink:href=/old href", "/page")],
)
def test_a_link_of_a_picture_may_have_the_older_name(attributes, target):
    assert urls(f"<svg><a {attributes}>x</a></svg>", "https://example.com/page") == [f"https://example.com{target}"]


def test_an_image_speaks_for_a_link_without_text():
    [link] = links('<a href=a> <img alt=""><img src=i alt=" Our\n logo "></a>')

    assert link.anchor == "Our logo"


def test_the_anchor_of_an_unclosed_link_is_bounded():
    [link] = links("<a href=a>" + "word " * 100_000)

    assert len(link.anchor) <= MAX_ANCHOR
    assert link.anchor.startswith("word word")


@pytest.mark.parametrize(
    ("base", "target"),
    [
        ("https://other.example/dir/", "https://other.example/dir/x"),
        ("/dir/page", "https://example.com/dir/x"),
        ("javascript:1", "https://example.com/docs/x"),
        ("http://[", "https://example.com/docs/x"),
    ],
)
def test_base_href_is_respected_where_it_is_a_page(base, target):
    assert urls(f"<base target=_top><base href='{base}'><base href=/ignored/><a href=x>x</a>") == [target]


@pytest.mark.parametrize("jump", ["<a href='#top'>x</a>", "<a href=' #top'>x</a>", "<map><area href='#top'></map>"])
def test_a_jump_leads_to_the_base_where_that_is_another_page(jump):
    assert urls(f"<base href='/other/'>{jump}") == ["https://example.com/other/"]
    assert urls(f"<base href='?page=2#x'>{jump}") == ["https://example.com/docs/intro?page=2"]
    for base in (URL, "", "?page=1", "intro?page=1#x", "https://EXAMPLE.com:443/docs/../docs/intro?page=1"):
        assert urls(f"<base href='{base}'>{jump}") == [], base


def test_a_jump_into_another_query_of_the_page_is_a_link():
    html = '<area href="#a"><a href="">self</a><a href="?page=2#a">2</a><a href="?page=2">2</a>'

    assert urls(html) == [URL, "https://example.com/docs/intro?page=2"]


def test_pages_of_one_directory_keep_their_own_queries():
    html = '<a href="?n=1">1</a><a href="x">x</a>'

    assert urls(html, "https://example.com/d/a") == ["https://example.com/d/a?n=1", "https://example.com/d/x"]
    assert urls(html, "https://example.com/d/b?q=/e/") == ["https://example.com/d/b?n=1", "https://example.com/d/x"]


def test_comments_in_front_of_no_html_are_looked_at_once():
    start = time.process_time()

    assert not looks_like_html(b"<?xml ?>" + b"<!---->" * 28 + b"<x>")

    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("body", "announced", "charset"),
    [
        ("<title>né</title>".encode(), None, "utf-8"),
        ("<title>né</title>".encode("latin-1"), "ISO-8859-1", "windows-1252"),
        ("<meta charset=windows-1251><title>мир</title>".encode("windows-1251"), None, "windows-1251"),
        ("<title>мир</title><meta charset=koi8-r>".encode(), "utf-8", "utf-8"),
        (
            "<meta http-equiv=content-type content='text/html; charset=Shift_JIS'>日本".encode("shift_jis"),
            "bogus",
            "shift_jis",
        ),
        ("<!-- <meta charset=koi8-r> --><title>né</title>".encode(), None, "utf-8"),
        (b"<meta charset=utf-16><title>x</title>", None, "utf-8"),
        ("<title>é</title>".encode(), "\ud800", "utf-8"),
        ("\ufeff<title>né</title>".encode("utf-16le"), "utf-8", "utf-16le"),
        ("\ufeff<title>né</title>".encode(), "latin-1", "utf-8"),
        ("<title>Сегодня хорошая погода в Москве</title>".encode("windows-1251"), None, "windows-1251"),
        (b'<?xml version="1.0" encoding="iso-8859-2"?><html/>', None, "iso-8859-2"),
    ],
)
def test_the_charset_is_found_as_a_browser_finds_it(body, announced, charset):
    found = extract(body, URL, announced)

    assert found.charset == charset
    assert found.title is None or found.title in body.decode(charset)


@given(
    st.binary() | st.text(alphabet="<a href=/'\">! -&#;x\0\n\ud83dé").map(lambda text: text.encode("utf-8", "ignore"))
)
def test_no_bytes_are_bad_enough_for_an_error(body):
    found = extract(body + b"<a href=/end>end</a>" + body, URL)

    assert all(link.url.startswith(("http://", "https://")) for link in found.outlinks)


@pytest.mark.parametrize("url", ["", "no url", "http://["])
def test_a_page_without_a_good_url_still_gives_its_absolute_links(url):
    assert urls("<a href=https://example.org/>x</a><a href=y>y</a>", url) == ["https://example.org/"]


@pytest.mark.slow
def test_ten_thousand_links_take_no_more_than_their_share_of_time():
    html = "".join(f"<p><a href=/{n}>{n}</a>" for n in range(10_000))

    started = time.process_time()
    found = links(html)

    assert len(found) == 10_000
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("media", "answer"),
    [
        ("text/html", True),
        ("Application/XHTML+xml; charset=x", True),
        ("text/plain", False),
        ("", False),
        (None, False),
    ],
)
def test_html_and_xhtml_are_html(media, answer):
    assert is_html(media) is answer


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (b"\xef\xbb\xbf \n<!DOCTYPE HTML>", True),
        (b"<html>", True),
        (b"<!-- x -->", True),
        (b"<?xml version='1.0'?>\n<!DOCTYPE html>", True),
        (b"<?xml version='1.0'?><rss>", False),
        (b"<article>", False),
        (b"\x1f\x8b", False),
        (b"", False),
    ],
)
def test_html_is_known_by_how_it_begins(body, answer):
    assert looks_like_html(body) is answer


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>A  <b>bo</b>ld\n word</h1><p>one<p>two<br>three", "A bold word\none\ntwo\nthree"),
        ("<nav><a href=/x>Menu</a></nav><main>Body</main><footer>Foot</footer>", "Menu\nBody\nFoot"),
        ("<ul><li>a<li>b</ul><ol><li>c</ol>", "a\nb\nc"),
        ("<table><tr><td>1<td>2<tr><td>3<td>4</table>", "1 2\n3 4"),
        ("<pre>\n  a\n\n    b </pre>", "a\nb"),
        ("a&nbsp;&lt;b&gt; &amp;&#x63;", "a <b> &c"),
        ("hy&shy;phen zero&#8203;width", "hyphen zerowidth"),
        ("<img alt='a logo'><p>x", "a logo\nx"),
        ("<title>t</title><script>s()</script><style>p{}</style><!-- c --><template>t</template>x", "x"),
        ("<title>only</title>", ""),
        ("", ""),
    ],
)
def test_the_text_of_html_is_what_can_be_read_one_line_a_block(html, text):
    assert plain_text(html.encode(), "utf-8", "text/html") == text


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("<meta charset=windows-1251><p>мир".encode("windows-1251"), None),
        ("<p>мир".encode("koi8-r"), "KOI8-R"),
        ("\ufeff<p>мир".encode("utf-16le"), "utf-8"),
        ("\ufeff<p>мир".encode(), None),
    ],
)
def test_text_is_read_in_the_charset_that_a_browser_finds(body, charset):
    assert plain_text(body, charset, "text/html") == "мир"


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "Text/CSV; header=present", "application/json", "application/ld+json", "application/atom+xml"],
)
def test_text_of_another_type_comes_as_it_is(content_type):
    assert plain_text("<a>\r\n  é ".encode(), None, content_type) == "<a>\r\n  é "


@pytest.mark.parametrize(
    ("body", "charset", "content_type"),
    [
        (b"%PDF-1.7", None, "application/pdf"),
        (b"GIF89a", None, "image/gif"),
        (b"<p>x", None, "application/octet-stream"),
        (b"\x89PNG\r\n\x1a\n\0\0", None, None),
        (b"\x7fELF\x02\x01\x01\0", "utf-8", "text/plain"),
    ],
)
def test_what_is_no_text_has_none(body, charset, content_type):
    assert plain_text(body, charset, content_type) is None


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        (b"<article>a  b</article>", None, "a b"),
        (b"<html>\0<p>a\x01b", None, "a\x01b"),
        (b"plain", None, "plain"),
        ("\ufeff<p>né".encode("utf-16-be"), None, "né"),
        ("<p>né".encode("utf-16le"), "utf-16", "né"),
        (b"", None, ""),
    ],
)
def test_a_body_without_a_type_is_html_unless_it_is_binary(body, charset, text):
    assert plain_text(body, charset) == text
    assert plain_text(body, charset, "") == text


@given(
    st.binary()
    | st.text(alphabet="<pre li=/'\">! -&#;x\0\n\u2028\xa0\xadé").map(lambda text: text.encode("utf-8", "ignore")),
    st.sampled_from([None, "utf-8", "shift_jis", "utf-16le", "iso-2022-jp", "bogus"]),
)
def test_every_line_of_the_text_of_html_has_words_parted_by_single_spaces(body, charset):
    text = plain_text(body, charset, "text/html")

    assert text is not None
    assert all(line and line == " ".join(line.split()) for line in text.split("\n") if text)


# Each of them took from seven seconds up to minutes, or from 700 MB up to gigabytes.
HARD_TO_PARSE = {
    "elements in elements": b"<div>" * 60_000,
    "a description in a description": b"<dl><dd>" * 40_000,
    "attributes of one element": b"<p " + b" ".join(b"a%d" % number for number in range(100_000)),
    "formatting that is ended crosswise": b"".join(b"<b a=%d>" % number for number in range(15_000))
    + b"<div>" * 100
    + b"</b>" * 15_000,
    "formatting that every paragraph repeats": b"<p>"
    + b"".join(b"<font a=%d>" % number for number in range(1_500))
    + b"<p>x" * 3_000,
    "an address that every paragraph repeats": b"<p><a href=" + b"x" * 100_000 + b">" + b"<p>x" * 5_000,
    "a small page of attributes that every paragraph repeats": b"<p><a href=x "
    + b" ".join(b"a%d" % number for number in range(3_000))
    + b">"
    + b"<p>x" * 4_000,
    "the same behind a quoted angle bracket": b"<p><a href='>' "
    + b" ".join(b"a%d" % number for number in range(3_000))
    + b">"
    + b"<p>x" * 4_000,
    "many small elements": b"<p>" * 3_000_000,
}


def test_the_main_text_lacks_what_surrounds_it_on_each_page():
    around = "<nav><ul><li><a href=/>Home<li><a href=/shop>Shop</ul></nav>", "<footer>All rights reserved</footer>"
    text = "Salted keys spread the pages of a crawl over all regions of a table. " * 5
    html = f"<body>{around[0]}<main><h1>Salted keys</h1><p>{text}</main>{around[1]}"

    page = Page(url=URL, body=html.encode(), content_type="text/html")

    assert page.main_text == f"Salted keys\n{text.strip()}"
    assert "Home" in page.text
    assert "rights reserved" in page.text


def test_the_headings_of_main_content_are_those_in_it_without_their_permalinks():
    text = "<p>Salted keys spread the pages of a crawl over all regions of a table, and that is what they are for."
    html = (
        f"<body><nav><h2>Navigation</h2><a href=/>Home</a></nav><main><h1>Salted\n keys</h1>{text}"
        f"<h2>How <i>many</i><a href='#how'>¶</a></h2>{text}<h2>How many</h2>{text}</main><footer><h4>Imprint</h4>"
    )

    for size in (0, 100_000):  # the larger one in another process
        content = main_content((html + " " * size).encode(), "utf-8", "text/html")

        assert content.headings == ("Salted keys", "How many")


@pytest.mark.slow
def test_the_main_text_of_nested_elements_takes_bounded_time_and_is_all_text_then():
    nested = b"<div>" * 9_800 + b"salt"
    limits = ReadLimits(seconds=1)

    began = time.process_time()
    assert main_content(nested, "utf-8", "text/html", limits) in (MainContent("salt"), None)

    assert time.process_time() - began < 2  # the time of the second process is not counted


def test_the_main_text_of_a_page_without_main_content_is_all_of_it():
    html = b"<body><nav><a href=/>Home</a></nav>"

    assert main_content(html, "utf-8", "text/html") == MainContent("Home")
    assert Page(url=URL, body=b"%PDF-1.7", content_type="application/pdf").main_text is None


@pytest.mark.slow
@pytest.mark.parametrize("name", some(list(HARD_TO_PARSE), 3))
def test_a_page_that_is_hard_to_parse_is_given_up(name):
    limits = ReadLimits(seconds=0.2, memory=128 << 20)

    found = extract(HARD_TO_PARSE[name], URL, None, limits)

    assert found == Extract(Facts(), (), "utf-8", found.over)
    assert found.over in {"seconds", "memory"}
    assert not found.is_parsed
    assert plain_text(HARD_TO_PARSE[name], None, "text/html", limits) is None


def test_a_page_behind_one_that_was_given_up_is_parsed():
    extract(HARD_TO_PARSE["many small elements"], URL, None, ReadLimits(memory=64 << 20))

    found = extract(b"<title>T</title><a href=x>x</a>" + b"<p>text" * 50_000, URL)

    assert (found.title, len(found.outlinks), found.over, found.is_parsed) == ("T", 1, None, True)


def test_a_small_page_and_a_large_one_say_the_same():
    head = "<title>Größe</title><a href=/é rel=NoFollow>é</a><a href=/é>again</a>"

    small, large = (extract((head + "<p>ü" * count).encode("latin-1"), URL, "iso-8859-1") for count in (1, 50_000))

    assert small == large
    assert plain_text((head + "<p>ü" * 50_000).encode(), None, "text/html") == "éagain" + "\nü" * 50_000


def test_a_body_over_the_limit_is_not_parsed():
    body = b"<title>T</title>" + b"x" * 1_000

    assert extract(body, URL, "iso-8859-1", ReadLimits(parsed=1_000)) == Extract(Facts(), (), "windows-1252", "parsed")
    assert plain_text(body, None, "text/html", ReadLimits(parsed=1_000)) is None
    assert extract(body, URL, None, ReadLimits(parsed=len(body))).title == "T"


def test_of_more_links_than_the_limit_the_first_are_kept():
    html = "".join(f"<a href=/{number}>x</a>" for number in range(10)) + "<a href=/0>x</a>"

    found = extract(html.encode(), URL, None, ReadLimits(links=4))

    assert [link.url[-1] for link in found.outlinks] == ["0", "1", "2", "3"]
    assert (found.over, found.is_parsed) == ("links", True)
    assert extract(html.encode(), URL, None, ReadLimits(links=10)).over is None


def test_the_links_of_a_small_page_with_a_long_base_are_bounded():
    html = f"<base href='https://example.com/{'x' * 16_000}/'>" + "".join(f"<a href={n}>x</a>" for n in range(2_000))

    found = extract(html.encode(), URL)

    assert found.over == "link_text"
    assert 1 <= len(found.outlinks) < 100


def test_many_names_of_one_link_are_bounded_too():
    # Each name of it leads to a URL of 16 KB, which is remembered.
    names = "".join(f"<a href={'./' * number}x>x</a>" for number in range(1, 150))
    html = f"<base href='https://example.com/{'x' * 16_000}/'>" + names

    found = extract(html.encode(), URL)

    assert (len(found.outlinks), found.over) == (1, "link_text")


@pytest.mark.parametrize(("name", "value"), [("parsed", 0), ("seconds", -1), ("links", True), ("memory", "1 GB")])
def test_a_limit_that_is_no_number_above_0_is_refused(name, value):
    with pytest.raises(InvalidArgument, match=name):
        ReadLimits(**{name: value})
