"""The pages about one stored page: as it is and as it was, the differences of its versions, and its stored body."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from exploring import explored
from selectolax.lexbor import LexborHTMLParser

from webtable import Page, WebTable
from webtable.store import NewCell, Put, WrappedStore

TABS = ("history", "links-in", "links-out", "text", "rendered", "headers", "key", "storage")
NOW = datetime.now(UTC).replace(microsecond=0)
URL = "https://example.com/docs/a?b=c"
HOME = "https://example.com/"
GONE = "https://example.com/docs/gone"
OLD = b"<title>Teas</title><h1>Teas</h1><main><p>Green tea costs 2.50<p>Black tea costs 3.00</main>"
NEW = OLD.replace(b"2.50", b"2.80") + b"<a href=/docs/gone rel=nofollow>Gone</a>"


@pytest.fixture
def crawl(table: WebTable) -> WebTable:
    """Two versions of a page, a redirect to it, and a link to a page that is not stored."""
    headers = {"Content-Type": "text/html", "X-Kind": "tea"}
    with table.writer() as writer:
        writer.put(Page(url=URL, body=OLD, headers=headers, fetched_at=NOW - timedelta(days=2)))
        writer.put(Page(url=URL, body=NEW, headers=headers | {"X-Kind": "teas"}, fetched_at=NOW))
        writer.put(Page(url=HOME, status=301, redirect_to=URL, body=b"", fetched_at=NOW))
        writer.put(Page(url="https://example.com/x.png", body=b"\x89PNG\r\n\0\xff", content_type="image/png"))
    return table


def tree_of(response):
    return LexborHTMLParser(response.text)


def texts(response, selector):
    return [node.text().strip() for node in tree_of(response).css(selector)]


def hrefs(response, selector="a"):
    return {node.attributes["href"] for node in tree_of(response).css(selector)}


def test_a_page_shows_its_capture_headers_text_and_links(crawl, client):
    tabs = {tab: client.get("/page", params={"url": "HTTPS://Example.com/docs/a?b=c#d", "tab": tab}) for tab in TABS}

    for shown in tabs.values():
        assert shown.status_code == 200
        assert texts(shown, "h1") == ["Teas"]
        assert {"200", "text/html", "indexable", f"last seen {NOW:%Y-%m-%d %H:%M} UTC"} <= {*texts(shown, ".chip")}
        assert len(texts(shown, ".tabs [aria-current]")) == 1
    facts = dict(zip(texts(tabs["storage"], ".facts th"), texts(tabs["storage"], ".facts td"), strict=True))
    assert (facts["status"], facts["change count"]) == ("200", "1")
    assert texts(tabs["headers"], ".facts td")[-1] == "teas"
    assert "2.80" in texts(tabs["text"], "pre.text")[0]
    assert "/page?url=https%3A%2F%2Fexample.com%2Fdocs%2Fgone" in hrefs(tabs["links-out"])
    assert "/q/duplicates?url=https%3A%2F%2Fexample.com%2Fdocs%2Fa%3Fb%3Dc" in hrefs(tabs["storage"])


def test_a_page_shows_its_row_key_in_pieces_that_have_names_and_its_region(crawl, client):
    found = client.get("/page", params={"url": "http://example.com:8080/docs/", "tab": "key"})
    stored_at = client.get("/page", params={"url": "http://example.com:8080/docs/", "tab": "storage"})

    assert list(zip(texts(found, ".key dt"), texts(found, ".key dd"), strict=True)) == [
        ("salt", "5a:"),
        ("host, reversed", "com.example"),
        ("terminator", "/"),
        ("path and query", "docs/"),
        ("scheme and port", "#http:8080"),
    ]
    assert "1 of 1" in stored_at.text


def test_a_page_links_to_each_version_and_shows_the_difference_of_the_two_that_are_chosen(crawl, client):
    found = client.get("/page", params={"url": URL})

    (older, newer) = sorted(href for href in hrefs(found, "svg a") if "as_of=" in href)
    assert texts(client.get(f"{older}&tab=text"), "pre.text") != texts(client.get(f"{newer}&tab=text"), "pre.text")
    assert "Green tea costs 2.50" in texts(found, "td.old")


def test_a_page_is_shown_as_it_was(crawl, client):
    found = client.get("/page", params={"url": URL, "as_of": "1d", "tab": "text"})

    assert "2.50" in texts(found, "pre.text")[0]
    assert "tea" in texts(client.get("/page", params={"url": URL, "as_of": "1d", "tab": "headers"}), ".facts td")
    assert all("as_of=1d" in href for href in hrefs(found, ".tabs a"))


def test_a_redirect_shows_where_it_leads(crawl, client):
    assert texts(client.get("/page", params={"url": HOME, "tab": "links-out"}), "#redirects a")[:2] == [HOME, URL]


def test_a_page_that_is_not_stored_offers_its_directory_its_host_and_what_links_to_it(crawl, client):
    found = client.get("/page", params={"url": GONE})

    assert found.status_code == 200
    assert {"/site/example.com/", "/site/example.com/docs/"} <= hrefs(found, ".crumbs a")
    assert texts(client.get("/page", params={"url": GONE, "tab": "links-in"}), "#inlinks td.url a") == [URL]
    assert client.get("/page", params={"url": URL, "as_of": "9d"}).status_code == 200


@pytest.mark.parametrize("path", ["/page", "/page.json", "/page/source", "/page/diff", "/page/rendered"])
def test_a_request_that_names_no_page_says_so(client, path):
    assert client.get(path).status_code == 400
    assert client.get(path, params={"url": "javascript:alert(1)"}).status_code == 400
    assert client.get(path, params={"url": URL, "as_of": "someday", "old": "someday"}).status_code == 400
    assert client.get(path, params={"url": URL}).status_code == (200 if path == "/page" else 404)


def test_the_source_has_numbered_lines_that_have_addresses(crawl, client):
    body = b"<title>Lines</title>\n<p>one\r\n<p>two"
    with crawl.writer() as writer:
        writer.put(Page(url=HOME, body=body, fetched_at=NOW + timedelta(seconds=1)))

    found = client.get("/page/source", params={"url": HOME})

    assert texts(found, "#L2 code") == ["<p>one"]
    assert hrefs(found, "ol.source a") == {"#L1", "#L2", "#L3"}
    assert texts(client.get("/page/text", params={"url": HOME}), "ol.source code") == ["one", "two"]


def test_the_source_of_a_binary_body_is_offered_as_a_file_with_a_fixed_name(crawl, client):
    url = {"url": "https://example.com/x.png"}

    assert "cannot be shown as text" in client.get("/page/source", params=url).text
    saved = client.get("/page/raw", params=url)
    assert saved.content == b"\x89PNG\r\n\0\xff"
    assert saved.headers["content-type"] == "application/octet-stream"
    assert saved.headers["content-disposition"] == 'attachment; filename="page.bin"'


@pytest.mark.slow
def test_a_long_source_ends_where_the_page_says_so(table, client):
    with table.writer() as writer:
        writer.put(Page(url=HOME, body=b"<p>" + b"x" * 5_000_000))
        writer.put(Page(url=URL, body=b"<p>" + b"\n" * 100_000))

    for url in (HOME, URL):
        found = client.get("/page/source", params={"url": url})
        assert "Only the beginning is shown" in found.text
        assert len(found.content) < 8_000_000


def test_any_two_versions_are_compared_side_by_side(crawl, client):
    found = client.get("/page/diff", params={"url": URL})

    chosen = [node.attributes["value"] for node in tree_of(found).css("input[type=radio][checked]")]
    assert chosen == [f"{NOW:%Y-%m-%dT%H:%M:%SZ}", f"{NOW - timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}"]
    assert (texts(found, "td.old del")[-1], texts(found, "td.new ins")[-1]) == ("50", "80")
    rows = [[cell.text() for cell in row.css("td")] for row in tree_of(found).css("tr:has(td.old)")]
    assert ["header", "x-kind", "tea", "teas"] in rows
    assert ["link", GONE, "", "Gone"] in rows
    assert ["capture", "size"] in [row[:2] for row in rows]


def test_versions_say_which_facts_changed_in_them(crawl, client):
    url = "https://example.com/facts"
    with crawl.writer() as writer:
        for days, headers in ((9, {}), (2, {"X-Robots-Tag": "noindex"})):
            page = Page(url=url, body=b"<title>Tea</title>", headers=headers, fetched_at=NOW - timedelta(days=days))
            writer.put(page)

    versions = client.get("/page/history.json", params={"url": url}).json()["versions"]
    found = client.get("/page/diff", params={"url": url})

    assert [version["changed"] for version in versions] == ["robots", None]
    rows = [[cell.text() for cell in row.css("td")] for row in tree_of(found).css("tr:has(td.old)")]
    assert rows[0] == ["fact", "robots", "", "noindex"]


def test_the_files_have_what_the_methods_return(crawl, client):
    page = client.get("/page.json", params={"url": URL}).json()
    versions = client.get("/page/history.json", params={"url": URL}).json()["versions"]
    changes = client.get("/page/diff.json", params={"url": URL, "old": "1d"}).json()["differences"]

    assert (page["capture"]["title"], page["links"][0]["url"]) == ("Teas", GONE)
    assert [one["digest"] for one in versions] == [one.digest for one in crawl.history(URL)]
    assert [one["part"] for one in changes] == [row.part for row in crawl.diff(URL, "1d")]


def test_stored_markup_is_rendered_in_a_sandbox_that_loads_nothing(crawl, client):
    found = client.get("/page/rendered", params={"url": URL})
    shown = client.get("/page", params={"url": URL, "tab": "rendered"})
    frame = tree_of(shown).css_first("iframe")

    assert found.content == NEW
    policy = found.headers["content-security-policy"].split("; ")
    assert {
        "sandbox",
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "frame-ancestors 'self'",
    } <= {*policy}
    assert found.headers["x-content-type-options"] == "nosniff"
    assert frame.attributes == {"sandbox": None, "name": "rendered", "title": "The stored HTML"}
    assert hrefs(shown, "a[target=rendered]") == {"/page/rendered?url=https%3A%2F%2Fexample.com%2Fdocs%2Fa%3Fb%3Dc"}
    assert client.get("/page/rendered", params={"url": "https://example.com/x.png"}).status_code == 404


@pytest.mark.parametrize("strict", [False, True])
def test_a_damaged_row_is_said_in_the_page(crawl, strict):
    metadata = NewCell(b"metadata:page", int(NOW.timestamp() * 1000) + 1, b'{"url": 1}')
    crawl.store.write(crawl.table, [Put(crawl.key.encode(URL), [metadata])])
    crawl.strict = strict

    with explored(crawl) as client:
        found = client.get("/page", params={"url": URL})
        stored_at = client.get("/page", params={"url": URL, "tab": "storage"})
        others = [client.get(path, params={"url": URL}) for path in ("/page.json", "/page/source", "/page/diff")]

    assert found.status_code == 200
    assert "damaged" in " ".join(texts(found, ".problem"))
    assert texts(stored_at, "#region td")
    assert all(other.status_code < 500 for other in others)


class Waiting(WrappedStore):
    """A store that says where its regions are once *asked* is set."""

    def __init__(self, store, asked):
        super().__init__(store)
        self.asked = asked

    def around(self, call, do):
        if call.name == "regions":
            assert self.asked.wait(30)
        return do()


def test_a_page_begins_before_its_slow_parts_are_known(crawl):
    begun = threading.Event()
    slow = WebTable(Waiting(crawl.store, begun), crawl.table, crawl.layout)

    with explored(slow) as client, client.stream("GET", "/page", params={"url": URL, "tab": "storage"}) as response:
        pieces = response.iter_text()
        first = ""
        while "<h1>Teas</h1>" not in first:  # a busy machine sends the head of the page alone
            first += next(pieces)
        begun.set()
        rest = "".join(pieces)

    assert "1 of 1" in rest
