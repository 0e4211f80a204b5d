"""A page by hand or from a client's response: what its headers say is found in them."""

from __future__ import annotations

import asyncio
import io
import ipaddress
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any, ClassVar

import aiohttp
import httpx
import pyarrow as pa
import pytest
import requests
from scrapy.http import HtmlResponse
from scrapy.http import Request as ScrapyRequest
from scrapy.http import Response as ScrapyResponse

import webtable
from webtable import Page
from webtable.errors import InvalidArgument, UnknownColumn
from webtable.formats import write
from webtable.page import Bookkeeping
from webtable.page.json_lines import page_to_json
from webtable.page.page import (
    INHERITED_FROM_BODY,
    INHERITED_FROM_RESPONSE,
    inherited,
    repeated_content,
    with_header_fields,
)
from webtable.page.parts import SHARED

BODY = "<title>Привет</title>".encode("koi8-r")
MODIFIED = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
HEADERS = {
    "Content-Type": "Text/HTML; charset=koi8-r",
    "ETag": '"abc"',
    "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
}


class Answers(BaseHTTPRequestHandler):
    """`/page` is a page, `/moved` leads there, `/same` is not modified."""

    def do_GET(self):
        status = {"/page": 200, "/moved": 302, "/same": 304}[self.path]
        body = BODY if status == 200 else b""
        self.send_response(status)
        for name, value in HEADERS.items() if status != 302 else [("Location", "../page")]:
            self.send_header(name, value)
        self.send_header("Set-Cookie", "a=1")
        self.send_header("Set-Cookie", "b=2")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def do_HEAD(self):
        self.do_GET()

    def do_OPTIONS(self):
        self.do_GET()

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


async def _by_aiohttp(url: str, *, follow: bool) -> Page:
    async with aiohttp.ClientSession() as session, session.get(url, allow_redirects=follow) as response:
        return Page.from_response(response, body=await response.read())


def _by_scrapy(url: str, *, follow: bool) -> Page:
    # What Scrapy's downloader makes of an answer, without its reactor; it follows redirects in a middleware.
    response = requests.get(url, allow_redirects=follow, timeout=10)
    headers = [(name.encode(), value.encode()) for name, value in response.raw.headers.items()]
    grouped: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        grouped.setdefault(name, []).append(value)
    kind = HtmlResponse if response.content else ScrapyResponse
    return Page.from_response(
        kind(url=response.url, status=response.status_code, headers=grouped, body=response.content)
    )


CLIENTS = {
    "httpx": lambda url, *, follow: Page.from_response(httpx.get(url, follow_redirects=follow)),
    "requests": lambda url, *, follow: Page.from_response(requests.get(url, allow_redirects=follow, timeout=10)),
    "aiohttp": lambda url, *, follow: asyncio.run(_by_aiohttp(url, follow=follow)),
    "scrapy": _by_scrapy,
}


@pytest.fixture(params=CLIENTS)
def fetched(request, server):
    return lambda path, follow=True: CLIENTS[request.param](server + path, follow=follow)


def test_a_response_of_any_client_is_a_page(fetched, server):
    page = fetched("/page")

    assert (page.url, page.status, page.body) == (f"{server}/page", 200, BODY)
    assert (page.content_type, page.charset) == ("text/html", "koi8-r")
    assert (page.etag, page.last_modified, page.redirect_to) == ('"abc"', MODIFIED, None)
    assert page.headers["set-cookie"] == "a=1, b=2"
    assert page.html == "<title>Привет</title>"
    assert datetime.now(UTC) - page.fetched_at < timedelta(minutes=1)


def test_a_redirect_that_was_not_followed_says_where_it_leads(fetched, server):
    page = fetched("/moved", follow=False)

    assert (page.url, page.status, page.redirect_to) == (f"{server}/moved", 302, f"{server}/page")


def test_a_redirect_that_was_followed_is_the_page_at_its_end(fetched, server):
    page = fetched("/moved")

    assert (page.url, page.status, page.redirect_to) == (f"{server}/page", 200, None)


def test_a_304_repeats_what_is_stored_of_its_url(fetched, server):
    page = fetched("/same")

    assert (page.status, page.body, page.same_as) == (304, None, f"{server}/same")


def test_the_hops_of_a_response_are_pages_of_their_own(server):
    response = httpx.get(f"{server}/moved", follow_redirects=True)

    pages = [Page.from_response(one) for one in (*response.history, response)]

    assert [(page.url, page.redirect_to) for page in pages] == [
        (f"{server}/moved", f"{server}/page"),
        (f"{server}/page", None),
    ]


def test_a_response_is_dated_when_the_caller_says(server):
    response = requests.get(f"{server}/page", timeout=10)

    assert Page.from_response(response, fetched_at=MODIFIED).fetched_at == MODIFIED


def test_a_body_that_was_not_read_is_asked_for(server):
    with httpx.stream("GET", f"{server}/page") as response, pytest.raises(InvalidArgument, match="body="):
        Page.from_response(response)


@pytest.mark.parametrize("response", [None, object(), "https://example.com/", 200])
def test_what_is_no_response_is_refused(response):
    with pytest.raises(InvalidArgument, match="give a response of httpx, requests, aiohttp or Scrapy"):
        Page.from_response(response)


def test_a_body_that_is_no_bytes_is_refused(server):
    response = requests.get(f"{server}/page", timeout=10)

    with pytest.raises(InvalidArgument, match="bytes"):
        Page.from_response(response, body="text")


def test_what_is_given_is_not_replaced_by_what_the_headers_say():
    given = {"content_type": "text/plain", "charset": "utf-8", "etag": "mine", "last_modified": datetime.now(UTC)}

    page = with_header_fields(Page(url="https://example.com/", headers=HEADERS, **given))

    assert {name: getattr(page, name) for name in given} == given


def test_a_content_type_that_is_given_as_in_a_header_is_taken_apart():
    page = with_header_fields(Page(url="https://example.com/", content_type="Text/HTML; charset=koi8-r"))

    assert (page.content_type, page.charset) == ("text/html", "koi8-r")


def test_a_location_leads_nowhere_unless_the_status_is_a_redirect():
    page = with_header_fields(Page(url="https://example.com/", status=201, headers={"Location": "/new"}))

    assert page.redirect_to is None


def test_a_redirect_to_that_is_no_url_stays_as_it_was_given():
    page = with_header_fields(Page(url="https://example.com/", status=301, redirect_to="mailto:a@example.com"))

    assert page.redirect_to == "mailto:a@example.com"


@pytest.mark.parametrize(
    ("body", "charset", "headers", "html"),
    [
        (None, None, {}, None),
        (b"", None, {}, ""),
        ("né".encode("latin-1"), None, {"Content-Type": "text/html; charset=latin-1"}, "né"),
        ("né".encode("cp1252"), "iso-8859-1", {}, "né"),
        ("\ufeffné".encode("utf-16-le"), None, {}, "né"),
        (b'<meta charset="koi8-r">\xf0', None, {}, '<meta charset="koi8-r">П'),
        (b"a\xffb", "utf-8", {}, "a\ufffdb"),
    ],
)
def test_the_html_of_a_page_is_its_body_as_a_browser_would_read_it(body, charset, headers, html):
    page = Page(url="https://example.com/", body=body, charset=charset, headers=headers)

    assert page.html == html


@pytest.mark.parametrize(
    ("body", "media", "html", "text"),
    [
        (b"<title>T</title><script>x</script><p>One<p>two", "text/html", True, "One\ntwo"),
        (b"<p>One", "application/xhtml+xml; charset=utf-8", True, "One"),
        (b"<p>One", None, True, "One"),
        (b"<p>One", "text/plain", False, "<p>One"),
        (b'{"a": 1}', "application/json", False, '{"a": 1}'),
        (b"%PDF-1.7 <p>One", "application/pdf", False, None),
        (b"GIF89a\0", None, False, None),
        (None, "text/html", False, None),
    ],
)
def test_html_is_markup_and_text_is_what_people_read(body, media, html, text):
    given = Page(url="https://example.com/", body=body, content_type=media)
    by_header = Page(url="https://example.com/", body=body, headers={"Content-Type": media} if media else {})

    for page in (given, by_header):
        assert page.html == (body.decode() if html else None)
        assert page.text == text


def test_html_and_text_are_read_only():
    page = Page(url="https://example.com/", body=b"<p>One")

    for name in ("html", "text"):
        with pytest.raises(AttributeError):
            setattr(page, name, "x")


def test_what_the_store_notes_is_one_value(tmp_path):
    fetched_at = datetime(2026, 3, 1, tzinfo=UTC)
    given = Page(url="https://example.com/", body=b"<a href='/'>Home</a>", fetched_at=fetched_at)
    with webtable.open(tmp_path / "pages.db", create=True) as table:
        table.put(given)
        found = table.get(given.url)

    assert given.stored == Bookkeeping()
    assert found.stored == Bookkeeping(content_at=fetched_at, only_self_links=True)
    assert given.with_stored(found.stored).stored == found.stored
    assert not hasattr(found, "content_at")


def test_a_repeat_inherits_what_it_does_not_have_itself():
    original = Page(url="https://a.example/", title="Old", h1="First", content_type="text/html", etag='"1"')
    repeat = Page(url="https://a.example/", title="New", status=304)
    elsewhere = Page(url="https://b.example/", status=200)

    assert inherited(repeat, original) == {
        "title": "New",
        "description": None,
        "h1": "First",
        "content_type": "text/html",
        "charset": None,
        "etag": '"1"',
        "last_modified": None,
        "redirect_to": None,
    }
    assert "etag" not in inherited(elsewhere, original, INHERITED_FROM_BODY)


def test_a_304_has_the_status_of_what_it_repeats_and_another_repeat_its_own():
    original = Page(url="https://a.example/", status=404, digest="blake3:0", size=3)

    assert repeated_content(Page(url="https://a.example/", status=304), original) == {
        "digest": "blake3:0",
        "size": 3,
        "status": 404,
    }
    assert repeated_content(Page(url="https://a.example/", status=200), original)["status"] == 200


def test_of_each_field_it_is_known_whether_a_repeat_inherits_it():
    repeated = {*INHERITED_FROM_RESPONSE, "digest", "size", "status", "truncated", "body", "outlinks"}
    shared = {*SHARED, "language_detected", "headers"}  # webtable.page.facts and the headers of a 304
    of_the_fetch = {"depth", "priority", "referrer", "duration", "attempts", "server_address", "protocol"}
    own = {"url", "fetched_at", "same_as", *of_the_fetch}
    when_stored = {"first_seen", "changed_at", "change_count", "has_body", "outlink_count", "link_counts"}
    bookkeeping = {name for name in Page.__struct_fields__ if name.startswith("_")}

    assert repeated | shared | own | when_stored | bookkeeping == set(Page.__struct_fields__)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("status_code", "status"), ("content_at", "stored.content_at"), ("hints_at", "stored.hints_at")],
)
def test_an_attribute_by_its_former_name_is_answered_with_the_right_one(wrong, right):
    page = Page(url="https://example.com/")

    with pytest.raises(AttributeError, match=f"{wrong}.*did you mean '{right}'"):
        getattr(page, wrong)
    assert wrong not in dir(page)


@pytest.mark.parametrize(
    ("wrong", "right"), [("html", "body"), ("status_code", "status"), ("tilte", "title"), ("fetched", "fetched_at")]
)
def test_an_unknown_column_is_answered_with_the_right_one(wrong, right):
    page = Page(url="https://example.com/", body=b"x")
    columns = ["url", wrong]
    with webtable.open("memory:names", create=True) as table, table.writer() as writer:
        for ask in (
            lambda: table.get(page.url, columns=columns),
            lambda: write([page], io.BytesIO(), format="csv", columns=columns),
            lambda: page_to_json(page, columns),
            lambda: writer.put_many(pa.table({"url": ["https://example.com/"], wrong: ["x"]})),
        ):
            with pytest.raises(
                UnknownColumn, match=f"columns='{wrong}'.*; did you mean '{right}'\\? (It has|There are)"
            ):
                ask()


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        ("html", "; did you mean 'body'?"),
        ("status_code", "; did you mean 'status'?"),
        ("tilte", "; did you mean 'title'?"),
        ("content_at", "; give it by with_stored(Bookkeeping(content_at=…))"),
        ("price", ""),
    ],
)
def test_a_page_by_a_wrong_name_of_a_field_is_answered_with_the_right_one(wrong, fix):
    with pytest.raises(TypeError) as caught:
        Page(**{"url": "https://example.com/", wrong: 1})

    assert str(caught.value) == f"a Page has no {wrong!r}{fix}"


def test_other_errors_of_a_page_are_as_they_were():
    with pytest.raises(TypeError, match="'url'"):
        Page(body=b"x")
    with pytest.raises(TypeError, match="positional"):
        Page("https://example.com/")


POSTED = b"name=J"
SENT = {"content-type": "application/x-www-form-urlencoded"}


async def _asked_by_aiohttp(method: str, url: str, content: bytes | None, options: dict[str, Any]) -> Page:
    async with aiohttp.ClientSession() as session, session.request(method, url, data=content, headers=SENT) as response:
        return Page.from_response(response, body=await response.read(), request_body=content, **options)


def _asked_by_scrapy(method: str, url: str, content: bytes | None, options: dict[str, Any]) -> Page:
    asked = ScrapyRequest(url, method=method, body=content, headers=SENT)
    return Page.from_response(HtmlResponse(url, body=b"", request=asked), **options)


ASKING = {
    "httpx": lambda method, url, content, options: Page.from_response(
        httpx.request(method, url, content=content, headers=SENT), **options
    ),
    "requests": lambda method, url, content, options: Page.from_response(
        requests.request(method, url, data=content, headers=SENT, timeout=10), **options
    ),
    "aiohttp": lambda *asked: asyncio.run(_asked_by_aiohttp(*asked)),
    "scrapy": _asked_by_scrapy,
}


@pytest.mark.parametrize("client", ASKING)
@pytest.mark.parametrize("method", ["POST", "HEAD", "OPTIONS"])
def test_a_response_to_another_method_is_refused_and_the_option_named(client, method, server):
    content = POSTED if method == "POST" else None

    with pytest.raises(InvalidArgument, match=rf"answers {method}.*methods=\['GET', '{method}'\]"):
        ASKING[client](method, f"{server}/page", content, {})


@pytest.mark.parametrize("client", ASKING)
@pytest.mark.parametrize("methods", [None, ["GET", "POST", "HEAD"]])
def test_a_response_to_another_method_has_a_url_of_its_own_where_that_is_asked_for(client, methods, server):
    posted = ASKING[client]("POST", f"{server}/page", POSTED, {"methods": methods})
    asked = ASKING[client]("HEAD", f"{server}/page", None, {"methods": methods})

    assert posted.url == f"{server}/page?__wb_method=POST&name=J"
    assert asked.url == f"{server}/page?__wb_method=HEAD"


def test_what_was_sent_is_asked_for_where_the_client_does_not_keep_it(server):
    async def post() -> Page:
        async with aiohttp.ClientSession() as session, session.post(f"{server}/page", data=POSTED) as response:
            return Page.from_response(response, body=await response.read(), methods=None)

    with pytest.raises(InvalidArgument, match="request_body"):
        asyncio.run(post())


def test_a_post_that_sent_nothing_has_a_url_too(server):
    page = Page.from_response(requests.post(f"{server}/page", timeout=10), methods=None)

    assert page.url == f"{server}/page?__wb_method=POST&__wb_post_data="


class Answer:
    """A response with the attributes of one client."""

    status_code, url, content = 200, "https://example.com/", b"x"
    headers: ClassVar[dict[str, str]] = {}

    def __init__(self, **attributes):
        vars(self).update(attributes)


MENU = "https://example.com/menu"
FROM_MENU = SimpleNamespace(headers={"referer": MENU})


@pytest.mark.parametrize(
    ("response", "fetch"),
    [
        (
            httpx.Response(
                200,
                request=httpx.Request("GET", "https://example.com/", headers={"Referer": MENU}),
                extensions={"http_version": b"HTTP/2"},
                content=b"x",
            ),
            (MENU, None, None, "h2"),
        ),
        (
            HtmlResponse(
                "https://example.com/",
                body=b"x",
                protocol="HTTP/1.1",
                ip_address=ipaddress.ip_address("2001:db8::1"),
                request=ScrapyRequest("https://example.com/", headers={"Referer": MENU}),
            ),
            (MENU, None, "2001:db8::1", "http/1.1"),
        ),
        (  # requests
            Answer(elapsed=timedelta(seconds=1.5), raw=SimpleNamespace(version=11), request=FROM_MENU),
            (MENU, 1500, None, "http/1.1"),
        ),
        (
            Answer(version=aiohttp.HttpVersion11, request_info=FROM_MENU),
            (MENU, None, None, "http/1.1"),
        ),
        (Answer(), (None, None, None, None)),
        (Answer(elapsed="soon", version="?", protocol=7, request=object()), (None, None, None, None)),
    ],
    ids=["httpx", "scrapy", "requests", "aiohttp", "nothing", "others"],
)
def test_a_response_says_of_its_fetch_what_its_client_knows(response, fetch):
    page = Page.from_response(response)

    assert (page.referrer, page.duration, page.server_address, page.protocol) == fetch


@pytest.mark.parametrize(
    ("body", "length", "ratio"),
    [(b"<title>t</title><p>Salt</p>", 4, 4 / 27), ("<p>Grüße</p>".encode(), 5, 5 / 12), (None, None, None)],
)
def test_the_text_of_a_page_has_a_length_and_a_share_of_its_markup(body, length, ratio):
    page = Page(url="https://example.com/", body=body, charset="utf-8", content_type="text/html")

    assert (page.text_length, page.text_ratio) == (length, ratio)


def test_text_that_is_no_html_has_a_length_alone():
    page = Page(url="https://example.com/a.txt", body=b"Salt", content_type="text/plain")

    assert (page.text_length, page.text_ratio) == (4, None)
