"""Whatever a crawled page has in it, the explorer shows it as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from exploring import explored
from selectolax.lexbor import LexborHTMLParser

import webtable
from nightly import some
from webtable import Link, Page
from webtable.explorer.views.routes import RAW_ROUTES, ROUTES
from webtable.questions import LISTINGS

MARKUP = (
    "hostile\"'><script data-hostile>alert(1)</script><img data-hostile src=x onerror=alert(1)>"
    "</title></textarea></pre><svg data-hostile onload=alert(1)>&lt;b&gt;{{ 7 * 7 }}"
)
CONTROLS = "a\r\nSet-Cookie: hostile=1\r\n\r\n<b data-hostile>\x00\x1b[2J\u202egnp.exe\u2066\u200f\u061c\u2028\x85"
SITE = "hostile.example"
URLS = (
    f"https://{SITE}/a'()*,;=+$!@`{{}}|\"<script data-hostile>?b='\"><img data-hostile src=x>&as_of=x&amp;",
    f"https://{SITE}/javascript:alert(1)/%0d%0aSet-Cookie:%20hostile=1/%00/%ff/%E2%80%AE",
    f"https://{SITE}/{{{{7*7}}}}{{%25endblock%25}}",
)
BODIES = (
    f"<title>{MARKUP}</title><h1>{MARKUP}</h1><p>{CONTROLS}<a href='javascript:alert(1)'>x</a>".encode(),
    b"<title>hostile \xff\xfe\x00 \xed\xa0\x80</title><p>" + b"\x00\xff<b data-hostile>" * 1000,
    b"<p>" + b"<b data-hostile>'\"&" * 250_000,
)
SAID = {
    "title": MARKUP,
    "etag": CONTROLS,
    "description": MARKUP,
    "robots": MARKUP,
    "h1": CONTROLS,
    "language": MARKUP,
    "canonical": "javascript:alert(1)",
    "outlinks": (Link("javascript:alert(1)", MARKUP, MARKUP), Link(URLS[1], CONTROLS, CONTROLS), Link(URLS[0], MARKUP)),
    "headers": {"X-Markup": MARKUP, MARKUP: "1", "X-Controls": CONTROLS, "Set-Cookie": "hostile=1", "Location": "//x"},
}
MOVED, LOST = f"https://{SITE}/moved", f"https://{SITE}/lost"
ASKED = (*URLS, MOVED, LOST, f"https://{SITE}/<b data-hostile>", "javascript:alert('\"><b>')")

OWN = re.compile(r"#|/(?![/\\])")
OF_BIDI = re.compile("[\x00-\x08\x0b-\x1f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
TAGS = """a b body br button caption circle code datalist dd
    del details div dl dt em fieldset figcaption figure form g h1 h2 h3
    head header html iframe img input ins label legend li line link main mark meta nav ol option p path polygon polyline
    pre rect
    script section select small span strong summary svg table tbody td text textarea tfoot th thead time title tr ul"""
LEADING = ("href", "src", "action", "formaction", "poster", "data", "srcset", "xlink:href", "ping")
PATHS = [
    *(path for name, route in ROUTES.items() for path in (route.path or f"/{name}", f"/{name}.json", f"/{name}.csv")),
    *RAW_ROUTES,
    *("/cdx", "/cdx/search/cdx", "/timegate/{url}", "/timemap/link/{url}", "/web/2026/{url}", "/web/2026id_/{url}"),
]
# What any page takes; each of the questions refuses what it does not.
QUERY = {
    "site": SITE,
    "old": "2h",
    "new": "1s",
    "since": "3h",
    "go": SITE,
    "host": SITE,
    "text": "hostile",
}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """The explorer of a table whose pages all have in them what might run, or end what it stands in."""
    with webtable.open("memory:hostile", create=True) as table:
        with table.writer() as writer:
            for number, url in enumerate(URLS):
                for body in BODIES[number:]:
                    writer.put(Page(url=url, body=body, content_type="text/html", **SAID))
                    writer.flush()
            writer.put(Page(url=MOVED, status=302, redirect_to=URLS[0], charset=MARKUP, body=b"", title=CONTROLS))
            writer.put(Page(url=LOST, status=404, body=BODIES[0], content_type=MARKUP, **SAID))
        table.links.refresh(also_unfinished=True)
        with explored(table) as client:
            yield client


def answered(client, path, query):
    """Return the response, which is no error of the server and has nothing of a page in its headers."""
    response = client.get(path, params=query)
    assert response.status_code < 500
    assert not re.search(r"[<>\r\n]", "".join(response.headers.values()))
    assert not re.search(r"Set-Cookie|hostile-|alert", str({**response.headers, "location": ""}))
    assert response.headers["x-content-type-options"] == "nosniff"
    return response


def is_page(response):
    """Whether a response is a page of the explorer, and not what is stored."""
    return "script-src 'self'" in response.headers["content-security-policy"] and "<!doctype html>" in response.text


def assert_is_of_templates(response):
    """Assert that a page has the elements and attributes of the templates alone, and leads nowhere by itself."""
    assert OF_BIDI.search(response.text) is None
    scripts = []
    for node in LexborHTMLParser(response.text).root.traverse():
        given = node.attributes
        assert node.tag in TAGS.split(), node.html[:200]
        assert not [name for name in given if name.startswith("on") or name in ("style", "data-hostile", "srcdoc")]
        for name in LEADING & given.keys():
            if node.tag == "img":  # a drawing: as an image, SVG neither runs scripts nor loads anything
                assert (name, given[name].partition(",")[0]) == ("src", "data:image/svg+xml;base64")
                continue
            is_outside = given[name].startswith(("http://", "https://"))
            assert OWN.match(given[name]) or (is_outside and node.tag == "a"), given[name]
            assert not is_outside or given["rel"] == "noopener noreferrer nofollow"
        if node.tag == "script":
            scripts.append((given.get("src"), node.text()))
        if node.tag == "meta":
            assert given.keys() <= {"charset", "name", "content"}
        if node.tag == "iframe":
            assert given.keys() == {"sandbox", "name", "title"}
            assert given["sandbox"] is None
    ((source, text),) = scripts
    assert (source.partition("?")[0], text) == ("/static/explorer.js", "")


def pages():
    """Yield the path and the options of each page, with each of the URLs where it is about one."""
    for name, listing in LISTINGS.items():
        takes = {option.name for option in listing.options}
        for url in ASKED if "url" in takes else URLS[:1]:
            query = listing.example | QUERY | {"url": url}
            yield f"/q/{name.replace('_', '-')}", {name: value for name, value in query.items() if name in takes}
    for path in PATHS:
        for url in ASKED if path.startswith("/page") or "url" in path else URLS[:1]:
            if not path.startswith("/q/"):
                yield re.sub(r"\{[^}]*\}", quote(url if "url" in path else SITE), path), QUERY | {"url": url}


@pytest.mark.parametrize(("path", "query"), some([*pages()], 3))
def test_a_page_has_nothing_in_it_but_what_its_template_makes(client, path, query):
    response = answered(client, path, query)

    if is_page(response):
        assert_is_of_templates(response)


@pytest.mark.parametrize("said", [MARKUP, CONTROLS, "javascript:alert(1)"])
@pytest.mark.parametrize("path", ["/page", "/page/diff", "/q/pages", "/q/links-of", "/go", "/stats", "/none"])
def test_what_an_address_says_is_shown_as_text_too(client, path, said):
    response = answered(client, path, {"url": URLS[0], **dict.fromkeys(("as_of", "site", "go", "old"), said)})

    if is_page(response):
        assert_is_of_templates(response)


@pytest.mark.slow
def test_the_differences_of_hostile_versions_are_text(client):
    response = answered(client, "/page/diff", {"url": URLS[0]})

    assert "<del>" in response.text
    assert_is_of_templates(response)


def test_stored_markup_is_a_response_that_runs_and_loads_nothing(client):
    for url in URLS:
        response = answered(client, "/page/rendered", {"url": url})
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert response.headers["content-security-policy"].startswith("sandbox; default-src 'none'; ")


def test_stored_markup_has_no_element_for_which_a_browser_connects_ahead(table):
    frames = '<iframe srcdoc="&lt;link rel=preconnect href=//h&gt;"></iframe><frameset><frame src=//h></frameset>'
    body = f"<LINK/rel=preconnect href=//h><noscript><link\nrel=dns-prefetch href=//h></noscript><p>Text {frames}</p>"
    with table.writer() as writer:
        writer.put(Page(url=URLS[0], body=body.encode(), content_type="text/html"))

    with explored(table) as client:
        response = client.get("/page/rendered", params={"url": URLS[0]})

    assert response.headers["x-dns-prefetch-control"] == "off"
    assert LexborHTMLParser(response.text).css("link, iframe, frame") == []
    assert "Text" in response.text


def test_a_stored_body_is_saved_under_a_name_of_ours(client):
    response = answered(client, "/page/raw", {"url": URLS[0]})

    assert response.content == BODIES[2]
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-disposition"] == 'attachment; filename="page.bin"'
