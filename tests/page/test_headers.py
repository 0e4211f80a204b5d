"""Headers: found in any case, kept as they were given, made of whatever clients have."""

from __future__ import annotations

import copy
import io
import json
import pickle
from datetime import UTC, datetime
from email.message import Message
from types import SimpleNamespace
from uuid import uuid4

import httpx
import msgspec
import pytest
import requests
from multidict import CIMultiDict
from scrapy.http import Response as ScrapyResponse

import webtable
from webtable import Page
from webtable.errors import InvalidCapture, StoreError
from webtable.formats import read_pages
from webtable.page.facts import with_facts
from webtable.page.headers import Headers, http_date, redirect_target
from webtable.page.page import with_header_fields


def message() -> Message:
    made = Message()
    made["Content-Type"] = "text/html"
    made["Vary"] = "a"
    made["vary"] = "b"
    return made


@pytest.mark.parametrize(
    "given",
    [
        {"Content-Type": "text/html", "Vary": "a, b"},
        [("Content-Type", "text/html"), ("Vary", "a"), ("vary", "b")],
        ((b"Content-Type", b"text/html"), (b"Vary", b"a"), (b"Vary", b"b")),
        {b"Content-Type": [b"text/html"], b"Vary": [b"a", b"b"]},
        CIMultiDict([("Content-Type", "text/html"), ("Vary", "a"), ("Vary", "b")]),
        message(),
    ],
    ids=["dict", "pairs", "bytes", "lists of bytes", "multidict", "message"],
)
def test_they_are_made_of_whatever_a_client_has(given):
    headers = Headers(given)

    assert list(headers.items()) == [("Content-Type", "text/html"), ("Vary", "a, b")]


BYTES = [
    # As browsers follow them: what is no UTF-8 keeps its bytes (WHATWG URL, percent-encoding of the path).
    ("/josé".encode(), "http://e.example/jos%C3%A9"),
    ("/josé".encode("latin-1"), "http://e.example/jos%E9"),
    ("/?q=é".encode("latin-1"), "http://e.example/?q=%E9"),
    (b"/plain", "http://e.example/plain"),
]


def by_httpx(pairs):
    return httpx.Response(302, headers=pairs, content=b"", request=httpx.Request("GET", "http://e.example/"))


def by_requests(pairs):
    response = requests.Response()  # its headers are those of http.client, which reads them as Latin-1
    response.status_code, response.url, response._content = 302, "http://e.example/", b""
    response.headers.update({name.decode(): value.decode("latin-1") for name, value in pairs})
    return response


def by_aiohttp(pairs):
    text = CIMultiDict((name.decode(), value.decode("utf-8", "surrogateescape")) for name, value in pairs)
    return SimpleNamespace(url="http://e.example/", status=302, headers=text, raw_headers=tuple(pairs), body=b"")


def by_scrapy(pairs):
    return ScrapyResponse("http://e.example/", status=302, headers={name: [value] for name, value in pairs}, body=b"")


def by_warc(pairs):
    head = b"".join(name + b": " + value + b"\r\n" for name, value in pairs)
    block = b"HTTP/1.1 302 Found\r\n" + head + b"\r\n"
    fields = b"WARC-Type: response\r\nWARC-Target-URI: http://e.example/\r\nWARC-Date: 2026-11-01T00:00:00Z\r\n"
    record = b"WARC/1.1\r\n" + fields + b"Content-Length: %d\r\n\r\n" % len(block) + block + b"\r\n\r\n"
    return next(read_pages(io.BytesIO(record), types=None))


def by_hand(pairs):
    return Page(url="http://e.example/", status=302, headers=pairs)


def page_by(way, pairs):
    made = way(pairs)
    return with_header_fields(made if isinstance(made, Page) else Page.from_response(made))


WAYS = [by_httpx, by_requests, by_aiohttp, by_scrapy, by_warc, by_hand]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("location", "target"), BYTES)
@pytest.mark.parametrize("further", [[], [(b"X-City", "Malmö".encode("latin-1"))], [(b"X-City", "Malmö".encode())]])
def test_a_redirect_leads_where_its_bytes_say_whatever_the_other_headers_are(way, location, target, further):
    page = page_by(way, [*further, (b"Location", location)])

    assert page.redirect_to == target


@pytest.mark.parametrize("way", WAYS)
def test_a_header_in_latin_1_garbles_no_other_one(way):
    pairs = [(b"X-City", "Malmö".encode("latin-1")), (b"X-Name", "José ☕".encode())]

    page = page_by(way, pairs)

    assert (page.headers["X-City"], page.headers["X-Name"]) == ("Malmö", "José ☕")


@pytest.mark.parametrize("way", WAYS)
def test_a_canonical_url_in_latin_1_keeps_its_bytes(way):
    page = page_by(way, [(b"Link", '</josé>; rel=canonical; title="é"'.encode("latin-1"))])

    assert with_facts(page, {}).canonical == "http://e.example/jos%E9"
    assert page.headers["link"] == '</jos%E9>; rel=canonical; title="é"'


@pytest.mark.parametrize(
    "value",
    [
        "Mon, 01 Jan 0001 00:00:00 GMT",  # DateTime.MinValue of .NET
        "Monday, 01-Jan-0001 00:00:00 GMT",
        "Mon Jan  1 00:00:00 0001",
        "Sat, 01 Jan 0000 00:00:00 GMT",
        "Mon, 01 Jan 1601 00:00:00 GMT",  # 0 as FILETIME of Windows
        "Sat, 30 Dec 1899 00:00:00 GMT",
        "Thu, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
    ],
)
def test_what_servers_send_in_place_of_a_date_is_no_date(value):
    assert http_date(value) is None


@pytest.mark.parametrize(
    "value",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 09:49:37 +0100",
        "Sun, 06 Nov 1994 03:49:37 -0500",
    ],
)
def test_dates_are_read_in_each_form(value):
    assert http_date(value) == datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)


def test_a_name_is_found_in_any_case_and_shown_as_it_was_given():
    headers = Headers({"ETag": '"1"'})

    assert headers["etag"] == headers["ETAG"] == headers.get("eTag") == '"1"'
    assert "etag" in headers
    assert "vary" not in headers
    assert headers.get("vary", "none") == "none"
    assert list(headers) == ["ETag"]
    with pytest.raises(KeyError):
        headers["vary"]


def test_headers_are_equal_whatever_the_case_of_their_names():
    assert Headers({"ETag": "1", "Vary": "a"}) == Headers({"vary": "a", "etag": "1"}) == {"ETAG": "1", "vary": "a"}
    assert Headers({"ETag": "1"}) != Headers({"ETag": "2"})
    assert Headers({"ETag": "1"}) != {"etag": "1", "vary": "a"}


def test_newer_headers_take_the_place_of_older_ones_of_the_same_name():
    assert dict(Headers({"ETag": "1", "Vary": "a"}) | {"etag": "2"}) == {"Vary": "a", "etag": "2"}


@pytest.mark.parametrize(
    "change",
    [
        lambda headers: headers.update(a="b"),
        lambda headers: headers.__setitem__("a", "b"),
        lambda headers: headers.pop("ETag"),
        lambda headers: headers.clear(),
        lambda headers: headers.setdefault("a", "b"),
        lambda headers: headers.__delitem__("ETag"),
    ],
)
def test_headers_do_not_change(change):
    headers = Headers({"ETag": "1"})

    with pytest.raises(TypeError, match="do not change"):
        change(headers)

    assert dict(headers) == {"ETag": "1"}


def test_headers_can_be_copied_pickled_and_written_as_json():
    headers = Headers({"ETag": "1"})

    assert pickle.loads(pickle.dumps(headers)) == copy.deepcopy(headers) == copy.copy(headers) == headers
    assert type(pickle.loads(pickle.dumps(headers))) is Headers
    assert json.dumps(headers) == '{"ETag": "1"}'


@pytest.mark.parametrize("given", [["ab"], [b"ab"], [("a",)], {"a": 5}, 7, [("a", "b", "c")]])
def test_what_is_no_headers_is_refused(given):
    with pytest.raises((TypeError, ValueError)):
        Headers(given)


def test_many_repeated_headers_are_joined_in_linear_time():
    assert len(Headers([("a", "b")] * 200_000)["A"]) == 3 * 200_000 - 2


@pytest.mark.parametrize("location", [None, "", "mailto:a@example.com", "javascript:alert(1)", "http://"])
def test_a_location_that_is_no_page_leads_nowhere(location):
    assert redirect_target("https://example.com/", location) is None


@pytest.mark.parametrize("headers", [["bad"], "bad", [("name",)]])
def test_headers_that_are_none_are_refused_with_what_they_may_be(headers):
    page = webtable.Page(url="https://example.com/", headers=headers)

    with (
        webtable.open(f"memory:{uuid4().hex}", create=True) as table,
        pytest.raises(InvalidCapture, match=r"it must be a dict of names and values, or a list of such pairs"),
    ):
        table.put(page)


FETCHED = datetime(2026, 11, 1, tzinfo=UTC)


def read_back(path, headers):
    with webtable.open(path, create=True) as table:
        with table.writer() as writer:
            writer.put(Page(url="https://example.com/", body=b"", headers=headers, fetched_at=FETCHED))
        (page,) = table.pages(webtable.ALL)
    return page


def test_a_stored_page_equals_one_that_was_made_whether_its_headers_were_asked_for_or_not(tmp_path):
    first, second = (read_back(tmp_path / name, {"Vary": "a"}) for name in ("one.db", "two.db"))
    made = msgspec.structs.replace(first, headers={"vary": "a"})

    assert made == second
    assert second == made
    assert second != msgspec.structs.replace(made, headers={"Vary": "b"})
    assert type(second.headers) is Headers


@pytest.mark.parametrize("asked", [True, False], ids=["asked for", "not asked for"])
def test_a_stored_page_is_copied_and_pickled_with_its_headers(tmp_path, asked):
    page = read_back(tmp_path / "crawl.db", {"Vary": "a"})
    if asked:
        assert page.headers["vary"] == "a"

    for same in (copy.copy(page), copy.deepcopy(page), pickle.loads(pickle.dumps(page))):
        assert same == page
        assert same.headers["VARY"] == "a"


def test_a_page_keeps_its_headers_when_the_dict_that_it_was_given_changes():
    given = {"Vary": "a"}
    page = Page(url="https://example.com/", headers=given)
    other = msgspec.structs.replace(page, headers=given)

    given["Vary"] = "b"

    assert page.headers == other.headers == {"Vary": "a"}


@pytest.mark.parametrize("stored", [b'{"Vary":1}', b'{"Vary":"\xff"}', b"3"])
def test_stored_headers_that_are_none_are_an_error_where_they_are_asked_for(stored):
    page = msgspec.json.decode(b'{"url":"https://example.com/","headers":%s}' % stored, type=Page)

    with pytest.raises(StoreError, match=r"https://example\.com/: .* store a newer capture"):
        page.headers  # noqa: B018
