"""What the headers of a page say is stored with it, however the page came."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from languages import TEXTS
from webtable import Link, Page
from webtable.page.facts import filled

MODIFIED = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)


@pytest.mark.parametrize(
    "headers",
    [
        {"CONTENT-TYPE": "Text/HTML; charset=koi8-r", "etag": '"1"', "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"},
        [
            ("Content-Type", "text/html;charset=koi8-r"),
            ("ETag", '"1"'),
            ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ],
        {
            b"Content-Type": [b"text/html; charset=KOI8-R"],
            b"ETag": [b'"1"'],
            b"Last-Modified": [b"Sun, 06 Nov 1994 08:49:37 GMT"],
        },
    ],
    ids=["a mapping", "pairs", "lists of bytes"],
)
def test_what_the_headers_say_is_stored_with_the_page(site, headers):
    html = '<title>Привет</title><a href="/b">б</a>'.encode("koi8-r")
    site.table.put(Page(url=site.url("/a"), body=html, headers=headers, fetched_at=site.now))

    page = site.table.get(site.url("/a"))

    assert (page.content_type, page.charset, page.title) == ("text/html", "koi8-r", "Привет")
    assert (page.etag, page.last_modified) == ('"1"', MODIFIED)
    assert page.outlinks[0][:2] == (site.url("/b"), "б")
    assert page.html == html.decode("koi8-r")
    assert page.text == "б"
    assert list(page.headers) == list(filled(page)[0].headers)
    assert page.headers["etag"] == page.headers["ETAG"] == '"1"'
    assert site.table.validators(page.url) == {
        "If-None-Match": '"1"',
        "If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT",
    }


SAYING = (
    b"<html lang=de><link rel=canonical href=/a><meta name=description content='A page'>"
    b"<meta name=robots content=NoArchive><title>A</title><h1>The A</h1>"
)


def said(page):
    return page.title, page.canonical, page.description, page.robots, page.h1, page.language


def test_what_a_page_says_of_itself_is_stored_with_it_and_with_its_versions(site):
    url = site.url("/a")
    facts = ("A", url, "A page", "noarchive", "The A", "de")
    site.table.put(site.page("/a", title=None, outlinks=None, content_type="text/html", body=SAYING, age=60))
    site.table.put(site.page("/a", title="B", content_type="text/html", body=b"<p>", language="fr", age=30))

    assert said(site.table.get(url, columns=[])) == ("B", None, None, None, None, "fr")
    assert said(site.table.history(url)[1]) == facts
    assert said(site.table.get(url, as_of=site.now - timedelta(seconds=50))) == facts


def test_what_a_page_says_of_itself_stays_when_the_page_was_not_modified_or_was_an_error_meanwhile(site):
    url = site.url("/a")
    facts = ("A", url, "A page", "noarchive", "The A", "de")
    site.table.put(site.page("/a", title=None, outlinks=None, content_type="text/html", body=SAYING, age=60))

    site.table.put_not_modified(url, site.now - timedelta(seconds=50))

    assert said(site.table.get(url)) == facts

    site.table.put(site.page("/a", status=503, age=40, title=None))
    site.table.put_not_modified(url, site.now - timedelta(seconds=30))

    assert said(site.table.get(url)) == facts


def test_headers_say_what_the_html_does_not_and_robots_are_told_by_both(site):
    headers = {
        "Link": f'</x>; rel=preload, <{site.url("/b")}>; rel="canonical"',
        "X-Robots-Tag": "NoIndex",
        "Content-Language": "de-DE",
    }
    site.table.put(site.page("/a.pdf", body=b"%PDF", content_type="application/pdf", headers=headers))
    site.table.put(site.page("/a", outlinks=None, title=None, content_type="text/html", body=SAYING, headers=headers))

    pdf, page = site.table.get(site.url("/a.pdf")), site.table.get(site.url("/a"))

    assert (pdf.canonical, pdf.robots, pdf.language) == (site.url("/b"), "noindex", "de-de")
    assert (page.canonical, page.robots, page.language) == (site.url("/a"), "noarchive, noindex", "de")


def test_a_304_replaces_what_its_headers_say_and_leaves_what_the_html_says(site):
    url = site.url("/a")
    headers = {"X-Robots-Tag": "nosnippet", "Content-Language": "en", "Link": "</b>; rel=canonical"}
    site.store(
        site.page("/a", outlinks=None, title=None, content_type="text/html", body=SAYING, age=60, headers=headers),
        site.page("/b", outlinks=None, title=None, content_type="text/html", body=b"<p>b", age=60, headers=headers),
    )

    for path in ("/a", "/b"):
        newer = {"X-Robots-Tag": "none", "Content-Language": "fr", "Content-Length": "0"}
        site.table.put_not_modified(site.url(path), site.now - timedelta(seconds=50), newer)

    first, second = site.table.get(url), site.table.get(site.url("/b"))
    assert said(first) == ("A", url, "A page", "noarchive, none", "The A", "de")
    assert (second.canonical, second.robots, second.language) == (site.url("/b"), "none", "fr")
    assert "content-length" not in second.headers
    assert [version.robots for version in site.table.history(url)] == ["noarchive, none", "noarchive, nosnippet"]


def languages(page):
    return page.language, page.language_detected


def test_a_writer_that_does_not_parse_stores_the_facts_that_a_page_was_given(site):
    body = b"<title>Of HTML</title><meta name=robots content=noindex><h1>One</h1><a href=/b>B</a>"
    fields = {"body": body, "content_type": "text/html", "charset": None, "title": None, "outlinks": None}
    with site.table.writer(parse=False) as writer:
        writer.put(site.page("/bare", **fields))
        writer.put(site.page("/", **fields | {"title": "Given", "outlinks": (Link(site.url("/c")),)}))
    site.table.put(site.page("/parsed", **fields))

    columns = ["title", "robots", "h1", "outlinks", "body"]
    pages = {page.url: page for page in site.table.pages(site.domain, columns=columns)}
    bare, given, parsed = (pages[site.url(path)] for path in ("/bare", "/", "/parsed"))
    assert (bare.title, bare.robots, bare.h1, bare.outlinks, bare.body) == (None, None, None, None, body)
    assert (given.title, given.robots, given.h1) == ("Given", None, None)
    assert [link.url for link in given.outlinks] == [site.url("/c")]
    assert (parsed.title, parsed.robots, parsed.h1) == ("Of HTML", "noindex", "One")


def test_a_writer_finds_the_language_of_pages_that_do_not_say_it_and_marks_it(site):
    url, fields = site.url("/a"), {"title": None, "outlinks": None, "content_type": "text/html", "charset": "utf-8"}
    with site.table.writer(detect_language=True) as writer:
        writer.put(site.page("/a", body=f"<p>{TEXTS['de']}".encode(), age=60, **fields))
        writer.put(site.page("/b", body=f"<html lang=en><p>{TEXTS['de']}".encode(), **fields))
    site.table.put(site.page("/c", body=f"<p>{TEXTS['de']}".encode(), **fields))

    assert {page.url: languages(page) for page in site.table.pages(site.domain)} == {
        url: ("de", True),
        site.url("/b"): ("en", False),
        site.url("/c"): (None, False),
    }
    assert languages(site.table.history(url)[0]) == ("de", True)

    site.table.put_not_modified(url, site.now - timedelta(seconds=50))
    site.table.put(site.page("/d", body=None, same_as=url, age=40, **fields))

    assert languages(site.table.get(url)) == languages(site.table.get(site.url("/d"))) == ("de", True)

    site.table.put_not_modified(url, site.now - timedelta(seconds=30), {"Content-Language": "lb"})

    assert languages(site.table.get(url)) == ("lb", False)


def test_headers_come_back_as_they_were_given(site):
    given = {"X-Served-By": "a", "content-TYPE": "text/plain"}
    site.table.put(Page(url=site.url("/a"), body=b"x", headers=given, fetched_at=site.now))

    assert dict(site.table.get(site.url("/a")).headers) == given
    assert dict(site.table.history(site.url("/a"))[0].headers) == given


def test_one_header_given_in_two_ways_is_one(site):
    given = {"Vary": "a", "vary": "b"}
    site.table.put(Page(url=site.url("/a"), body=b"x", headers=given, fetched_at=site.now))

    assert dict(site.table.get(site.url("/a")).headers) == {"Vary": "a, b"}


@pytest.mark.parametrize("given", [{"headers": {"location": "../b"}}, {"redirect_to": "../b"}])
def test_a_relative_redirect_leads_to_its_page(site, given):
    site.store(
        Page(url=site.url("/x/a"), status=301, fetched_at=site.now, **given),
        Page(url=site.url("/b"), body=b"<p>there", fetched_at=site.now),
    )

    resolved = site.table.resolve(site.url("/x/a"))

    assert site.table.get(site.url("/x/a")).redirect_to == site.url("/b")
    assert (resolved.url, resolved.page.url) == (site.url("/b"), site.url("/b"))
    assert [page.url for page in site.table.redirects(to=site.url("/b"))] == [site.url("/x/a")]


def test_a_304_put_by_hand_keeps_what_is_stored(site):
    site.table.put(site.page("/a", body=b"<p>a", headers={"ETag": '"1"', "Server": "s"}))
    site.table.put(Page(url=site.url("/a"), status=304, headers={"etag": '"2"'}, fetched_at=site.now))

    page = site.table.get(site.url("/a"))

    assert (page.status, page.body, page.etag, page.fetched_at) == (200, b"<p>a", '"2"', site.now)
    assert dict(page.headers) == {"Server": "s", "etag": '"2"'}


def test_pages_in_the_same_html_are_read_alike_from_files_and_by_hand(site):
    without_type = site.page("/a", body=b"\x89PNG\x00<a href=/b>", title=None, outlinks=None)
    site.table.put(without_type)

    page = site.table.get(site.url("/a"))

    assert (page.title, page.outlinks, filled(without_type)[1]) == (None, None, None)


def test_a_body_that_is_treated_as_html_has_that_type_in_every_answer(site):
    site.table.put(Page(url=site.url("/untyped"), body=b"<title>a</title><p>x", fetched_at=site.now))
    site.table.put(Page(url=site.url("/parsed"), body=b"x", title="t", outlinks=(), fetched_at=site.now))
    site.table.put(Page(url=site.url("/binary"), body=b"\x89PNG\r\n\x1a\n\x00", fetched_at=site.now))

    typed = [page.url for page in site.table.pages(site.domain, content_type="text/html")]

    assert typed == [site.url("/parsed"), site.url("/untyped")]
    assert site.table.get(site.url("/untyped")).content_type == "text/html"
    assert site.table.history(site.url("/untyped"))[0].content_type == "text/html"
    found = site.table.stats(site.domain, by="type").by["type"]
    assert {kind: group.pages for kind, group in found.items()} == {"text/html": 2, "unknown": 1}
