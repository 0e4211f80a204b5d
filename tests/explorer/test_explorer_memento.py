"""Stored versions are mementos (RFC 7089), real clients find them, and nothing that was crawled leaves its body."""

from __future__ import annotations

import http.client
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import quote

import cdx_toolkit
import pytest
from memento_client import MementoClient

from webtable import Page
from webtable.errors import StoreUnavailable
from webtable.rowkey import canonical_url

START = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)
URL = "https://example.com/docs//a%20b?c=%2F&d=1;2"
TIMES = ("20260301102030", "20260302102030", "20260401102030")


def page(url=URL, days=0, **known):
    fetched_at = START + timedelta(days)
    return Page(url=url, fetched_at=fetched_at, **{"body": f"<title>{days}</title>".encode()} | known)


@pytest.fixture
def filled(table):
    for days in (0, 1, 31):
        table.put(page(days=days))
    return table


def raw(client, path, **headers):
    """Return status, headers and body for a path that no client has changed."""
    connection = http.client.HTTPConnection(client.base_url.host, client.base_url.port)
    connection.request("GET", path, headers={"Authorization": client.headers["authorization"], **headers})
    found = connection.getresponse()
    body = found.read()
    connection.close()
    return found.status, found.headers, body


def with_token(client, *parts):
    """Return an address as a program gives it that cannot send the token."""
    return address(client, "-", client.headers["authorization"].removeprefix("Bearer "), *parts)


def address(client, *parts):
    return "/".join((str(client.base_url).rstrip("/"), *parts))


@pytest.mark.parametrize(("days", "found"), [(-1, 0), (0, 0), (0.4, 0), (0.6, 1), (2, 1), (20, 2), (500, 2), (None, 2)])
def test_the_timegate_leads_to_the_nearest_version(filled, client, days, found):
    given = {} if days is None else {"Accept-Datetime": format_datetime(START + timedelta(days), usegmt=True)}

    status, headers, _ = raw(client, f"/timegate/{URL}", **given)

    assert (status, headers["location"]) == (302, address(client, "web", TIMES[found], URL))
    assert headers["vary"] == "accept-datetime"
    assert headers["memento-datetime"] is None
    assert f'<{URL}>; rel="original"' in headers["link"]


def test_the_links_name_the_versions_around_one(filled, client):
    links = MementoClient.parse_link_header

    _, headers, _ = raw(client, f"/web/{TIMES[1]}/{URL}")

    assert headers["memento-datetime"] == "Mon, 02 Mar 2026 10:20:30 GMT"
    first, middle, last = (address(client, "web", one, URL) for one in TIMES)
    assert f'<{first}>; rel="first prev memento"; datetime="Sun, 01 Mar 2026 10:20:30 GMT"' in headers["link"]
    assert f'<{middle}>; rel="memento"; datetime="Mon, 02 Mar 2026 10:20:30 GMT"' in headers["link"]
    assert f'<{last}>; rel="next last memento"; datetime="Wed, 01 Apr 2026 10:20:30 GMT"' in headers["link"]
    assert f'<{address(client, "timegate", URL)}>; rel="timegate"' in headers["link"]
    assert (
        f'<{address(client, "timemap", "link", URL)}>; rel="timemap"; type="application/link-format"' in headers["link"]
    )
    assert links(headers["link"].replace("1;2", "1")).keys() >= {first.replace("1;2", "1")}


def test_the_timemap_lists_all_versions_as_links_and_as_json(filled, client):
    _, headers, body = raw(client, f"/timemap/link/{URL}")
    known = client.get(f"/timemap/json/{URL}").json()

    assert headers["content-type"].startswith("application/link-format")
    lines = body.decode().split(",\n")
    assert lines[0] == f'<{URL}>; rel="original"'
    assert 'rel="self"' in lines[2]
    assert [line.partition(">")[0].removeprefix("<") for line in lines[3:]] == [
        one["uri"] for one in known["mementos"]["list"]
    ]
    assert [one["datetime"] for one in known["mementos"]["list"]] == [
        "2026-03-01T10:20:30Z",
        "2026-03-02T10:20:30Z",
        "2026-04-01T10:20:30Z",
    ]
    assert known["original_uri"] == URL
    assert known["mementos"]["last"]["uri"] == address(client, "web", TIMES[2], URL)


def test_a_version_is_found_by_any_part_of_its_time(filled, client):
    for given, found in (("2026", 2), ("202602", 0), ("20260302", 1), ("202604", 2), ("20260399", 2), ("2", 2)):
        status, headers, _ = raw(client, f"/web/{given}id_/{URL}")

        assert (status, headers["location"]) == (302, address(client, "web", f"{TIMES[found]}id_", URL))


def test_a_url_may_be_quoted_lack_a_slash_or_its_scheme(filled, client):
    quoted = "https%3A//example.com/docs//a%2520b%3Fc%3D%252F%26d%3D1%3B2"
    for given in (quoted, URL.replace("//", "/", 1), URL.removeprefix("https://"), URL.replace("https", "http")):
        assert raw(client, f"/web/{TIMES[1]}id_/{given}")[2] == b"<title>1</title>"


def test_versions_of_one_second_are_the_last_of_them(table, client):
    for millisecond in (0, 400, 900):
        moment = START + timedelta(milliseconds=millisecond)
        table.put(Page(url=URL, body=f"<title>{millisecond}</title>".encode(), fetched_at=moment))

    assert len(client.get(f"/timemap/json/{URL}").json()["mementos"]["list"]) == 1
    assert raw(client, f"/web/{TIMES[0]}id_/{URL}")[2] == b"<title>900</title>"


def test_a_version_of_this_second_is_served(table, client):
    now = datetime.now(UTC)
    table.put(Page(url=URL, body=b"<title>now</title>", fetched_at=now))

    assert raw(client, f"/web/{now:%Y%m%d%H%M%S}id_/{URL}")[2] == b"<title>now</title>"


def test_a_stored_body_comes_as_it_is_and_alone(table, client):
    body = b"\x00<script>alert(1)</script>\r\n\r\n"
    table.put(page(body=body, content_type="image/svg+xml", charset="utf-8", headers={"ETag": '"1"', "Refresh": "0"}))

    status, headers, found = raw(client, f"/web/{TIMES[0]}id_/{URL}")

    assert (status, found) == (200, body)
    assert headers["content-type"] == "image/svg+xml; charset=utf-8"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-disposition"] == "attachment"
    assert (headers["x-archive-orig-etag"], headers["x-archive-orig-refresh"]) == ('"1"', "0")
    assert headers["refresh"] is None
    assert headers["etag"] != '"1"'


def test_a_rendered_version_is_in_the_sandbox(filled, client):
    _, headers, found = raw(client, f"/web/{TIMES[0]}/{URL}")

    assert found == b"<title>0</title>"
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["content-security-policy"].startswith(
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    )
    assert not [name for name in headers if name.startswith("x-archive-orig")]


def test_what_is_no_html_is_shown_only_if_it_has_no_markup(table, client):
    for number, media in enumerate(("image/png", "image/svg+xml", "application/xml", "text/plain")):
        table.put(page(f"https://example.com/{number}", content_type=media, body=b"<a/>"))

    found = [raw(client, f"/web/{TIMES[0]}/https://example.com/{number}")[1] for number in range(4)]

    assert [one["content-disposition"] for one in found] == [None, "attachment", "attachment", None]
    assert {one["content-security-policy"] for one in found} == {"sandbox; default-src 'none'"}


def test_rendered_markup_connects_to_no_other_host(table, client):
    table.put(page(body=b"<link rel=preconnect href=//a.example><iframe src=//b.example></iframe>"))

    assert b"<link" not in (found := raw(client, f"/web/{TIMES[0]}/{URL}")[2])
    assert b"<iframe" not in found


@pytest.mark.parametrize(
    "content_type",
    ["text/html\r\nSet-Cookie: a=1", "text/html, text/plain", "text", "é/é", "text/html;x=y", "a/" + "b" * 200],
)
def test_a_media_type_that_is_none_is_not_sent(table, client, content_type):
    table.put(page(content_type=content_type, charset="utf-8\r\nX: y"))

    _, headers, _ = raw(client, f"/web/{TIMES[0]}id_/{URL}")

    assert headers["content-type"] in {"application/octet-stream", "text/html"}
    assert headers["set-cookie"] is headers["x"] is None


def test_hostile_headers_are_left_out(table, client):
    hostile = {
        "Set-Cookie\r\nX-Injected": "1",
        "X-Injected: 2\r\nName": "1",
        "Location": "https://example.org/\r\nX-Injected: 3",
        "X-Late": "4\nX-Injected: 5",
        "X-Unicode": "ü\u202e",
        "X-Null": "a\x00b",
        "": "nameless",
        "X-Long": "x" * 5_000,
        "Content-Encoding": "gzip",
        "Content-Length": "1",
        "Set-Cookie": "session=1",
        **{f"X-Many-{number}": "y" * 100 for number in range(200)},
    }
    table.put(page(headers=hostile))

    status, headers, body = raw(client, f"/web/{TIMES[0]}id_/{URL}")

    assert (status, body) == (200, b"<title>0</title>")
    known = {name.lower() for name in headers}
    assert not known & {"x-injected", "set-cookie", "location", "content-encoding", "x-archive-orig-x-long"}
    assert not known & {"x-archive-orig-location", "x-archive-orig-x-null", "x-archive-orig-content-encoding"}
    assert len(str(headers)) < 8_000


def test_a_redirect_leads_to_the_version_of_its_target(table, client):
    table.put(page(status=301, body=b"", redirect_to="https://example.org/x?<y>"))
    table.put(page("https://example.com/junk", status=302, redirect_to="javascript:alert(1)\r\nX: y"))

    status, headers, _ = raw(client, f"/web/{TIMES[0]}id_/{URL}")

    assert (status, headers["location"]) == (
        301,
        address(client, "web", f"{TIMES[0]}id_", "https://example.org/x?%3Cy%3E"),
    )
    status, headers, _ = raw(client, f"/web/{TIMES[0]}id_/https://example.com/junk")
    assert (status, headers["location"], headers["x"]) == (200, None, None)


def test_a_redirect_that_would_lead_back_without_end_is_shown(table, client):
    table.put(page("http://example.com/", status=301, body=b"<title>Moved</title>", redirect_to="https://example.com/"))

    shown = raw(client, f"/web/{TIMES[0]}/http://example.com/")
    stored = raw(client, f"/web/{TIMES[0]}id_/http://example.com/")
    table.put(page("https://example.com/"))

    assert (shown[0], shown[2], stored[0]) == (200, b"<title>Moved</title>", 301)
    assert raw(client, f"/web/{TIMES[0]}/http://example.com/")[0] == 301


@pytest.mark.parametrize(("stored", "sent"), [(200, 200), (404, 404), (410, 410), (429, 200), (503, 200), (999, 200)])
def test_a_refusal_has_its_status_and_no_other_page(table, client, stored, sent):
    table.put(page(status=stored))

    status, headers, _ = raw(client, f"/web/{TIMES[0]}/{URL}")

    assert (status, headers["memento-datetime"]) == (sent, "Sun, 01 Mar 2026 10:20:30 GMT")


def test_what_is_not_stored_is_not_found(filled, client):
    filled.put(page("https://example.com/empty", body=None, headers={"Server": "s"}))
    for path in ("timegate/", "timemap/link/", "timemap/json/", "web/2026/", "web/2026id_/"):
        status, headers, body = raw(client, f"/{path}https://example.com/nothing%0d%0aX:y")

        assert (status, headers["content-type"], b"No version is stored" in body) == (404, "application/json", True)
        assert headers["x"] is headers["memento-datetime"] is None
    assert raw(client, f"/web/{TIMES[0]}id_/https://example.com/empty")[0] == 404


@pytest.mark.parametrize(
    ("path", "headers", "said"),
    [
        (f"/timegate/{URL}", {"Accept-Datetime": "yesterday"}, "Accept-Datetime: 'yesterday' must be a date"),
        (f"/timegate/{URL}", {"Accept-Datetime": "Fri, 99 Nov 2026 99:30:00 GMT"}, "must be a date"),
        (f"/timemap/csv/{URL}", {}, "neither /timemap/link/ nor /timemap/json/"),
        (f"/web/2026x/{URL}", {}, "must have up to 14 digits"),
        ("/web/2026/ftp://example.com/", {}, "ftp://example.com/"),
        ("/web/2026/https://exa<mple.com/", {}, "exa<mple.com"),
        ("/web/2026/", {}, "https://"),
        (f"/timegate/{URL}", {"Host": '127.0.0.1:1"><x'}, "Host"),
    ],
)
def test_wrong_requests_are_refused_with_a_sentence(filled, client, path, headers, said):
    status, found, body = raw(client, path, **headers)

    assert status == 400
    assert said in body.decode()
    assert found["content-type"].startswith("text/plain")


def test_a_page_of_300_versions_has_300_mementos(client_of_many):
    listed = client_of_many.get("/timemap/json/https://example.com/docs/a").json()["mementos"]["list"]
    middle = client_of_many.get(listed[150]["uri"].replace("/web/20260307060000/", "/web/20260307060000id_/"))

    assert len(listed) == 300
    assert middle.text == "<title>150</title>"
    assert len(middle.headers["link"]) < 2_000


def test_a_long_url_is_answered_as_well(table, client):
    url = "https://example.com/" + "a" * 9_000
    table.put(page(url))

    assert raw(client, f"/web/{TIMES[0]}id_/{url}")[2] == b"<title>0</title>"
    assert raw(client, f"/timegate/{url}")[1]["location"] == address(client, "web", TIMES[0], url)


def test_a_store_that_is_not_reached_is_said(filled, client, monkeypatch):
    def fail(*_, **__):
        raise StoreUnavailable("memory: not reached in 5 s")

    monkeypatch.setattr(type(filled), "history", fail)

    for path in (f"timegate/{URL}", f"web/2026/{URL}", f"timemap/link/{URL}", "cdx?url=example.com"):
        status, _, body = raw(client, f"/{path}")
        assert (status, body) == (503, b"memory: not reached in 5 s\n")


def test_memento_client_finds_versions_by_time(table, client):
    # The client asks the original server as well: here it is the explorer itself.
    base = with_token(client)
    url = address(client, "docs//a?b=c%2Fd")
    for days in (0, 1, 31):
        table.put(page(url, days=days))

    with MementoClient(timegate_uri=f"{base}/timegate/", check_native_timegate=False) as memento:
        found = memento.get_memento_info(url, datetime(2026, 3, 2, 12))["mementos"]

    assert found["closest"] == {
        "datetime": datetime(2026, 3, 2, 10, 20, 30),
        "uri": [f"{base}/web/{TIMES[1]}/{url}"],
        "http_status_code": 200,
    }
    assert (found["first"]["uri"], found["prev"]["uri"]) == ([f"{base}/web/{TIMES[0]}/{url}"],) * 2
    assert (found["last"]["datetime"], found["next"]["datetime"]) == (datetime(2026, 4, 1, 10, 20, 30),) * 2


# The client leaves the temporary files of its records open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_cdx_toolkit_fetches_bodies_with_their_status_and_headers(filled, client, monkeypatch):
    for setting in cdx_toolkit.myrequests.retry_info.values():
        monkeypatch.setitem(setting, "minimum_interval", 0)
    filled.put(page(days=40, status=404, headers={"Server": "s"}))
    filled.put(page(days=41, status=301, body=b"", redirect_to="https://example.org/"))
    base = with_token(client)

    fetcher = cdx_toolkit.CDXFetcher(source=f"{base}/cdx", wb=f"{base}/web")
    records = [(one, one.fetch_warc_record()) for one in fetcher.get(URL)]

    assert [record.http_headers.get_statuscode() for _, record in records] == ["200", "200", "200", "404", "301"]
    assert [one.content for one, _ in records[:3]] == [b"<title>0</title>", b"<title>1</title>", b"<title>31</title>"]
    assert records[3][1].http_headers.get_header("Server") == "s"
    assert records[4][1].http_headers.get_header("Location") == "https://example.org/"


@pytest.mark.parametrize("query", ["__wb_method=POST&name=J%20D", "__wb_method=HEAD"])
def test_an_answer_to_another_method_is_found_by_its_key(table, client, query):
    stored = f"https://example.com/form?{query}"
    table.put(page("https://example.com/form", days=1))
    table.put(page(stored))

    cdx = client.get("/cdx", params={"url": stored, "output": "json"}).json()
    status, headers, _ = raw(client, f"/timegate/{stored}")
    _, _, body = raw(client, f"/web/{TIMES[0]}id_/{stored}")

    assert (cdx["url"], cdx["urlkey"]) == (stored, f"com,example)/form?{query.lower()}")
    assert (status, headers["location"]) == (302, address(client, "web", TIMES[0], stored))
    assert body == b"<title>0</title>"


@pytest.mark.parametrize(
    "spelling", ["/a[1]|b?t[]={x}^`", "/a%5B1%5D%7Cb?t%5B%5D=%7Bx%7D%5E%60", "/a%5b1]%7cb?t[]={x}%5e%60"]
)
def test_an_address_is_found_raw_and_escaped(table, client, spelling):
    stored = "https://example.com/a%5B1%5D%7Cb?t%5B%5D=%7Bx%7D%5E%60"
    table.put(page(stored))
    asked = f"https://example.com{spelling}"

    cdx = client.get("/cdx", params={"url": asked, "output": "json"}).json()
    below = client.get("/cdx", params={"url": asked[:23], "matchType": "prefix", "output": "json"}).json()
    status, headers, _ = raw(client, f"/timegate/{asked}")
    _, _, body = raw(client, f"/web/{TIMES[0]}id_/{asked}")

    assert cdx == below
    assert (cdx["url"], cdx["urlkey"]) == (stored, "com,example)/a[1]|b?t[]={x}^`")
    assert (status, headers["location"]) == (302, address(client, "web", TIMES[0], stored))
    assert f'<{stored}>; rel="original"' in headers["link"]
    assert body == b"<title>0</title>"


@pytest.mark.parametrize(
    "path",
    ["a|b", "css?family=Open+Sans|Roboto", "q?{a}", "q?a^b", "q?a`b", "q?a\\b", "p?", "q?f[]=1", "%E6"],
)
def test_an_address_that_the_server_names_leads_to_the_version(table, client, path):
    url = canonical_url(f"https://e.com/{path}")
    table.put(page("https://e.com/p"))
    table.put(page(url, body=b"the right one", content_type="text/plain"))

    _, headers, _ = raw(client, f"/timegate/{quote(url, safe='')}")
    listed = client.get(f"/timemap/json/{quote(url, safe='')}").json()

    assert f'<{url}>; rel="original"' in headers["link"]
    assert headers["location"] == listed["mementos"]["last"]["uri"]
    assert listed["original_uri"] == url
    assert raw(client, headers["location"].removeprefix(str(client.base_url).rstrip("/")))[2] == b"the right one"


def test_the_timegate_and_the_timemap_know_the_forms_that_cdx_knows(table, client):
    for days, url in enumerate(("http://e.com/p", "https://e.com/p", "https://www.e.com/p", "http://www.e.com/p")):
        table.put(page(url, days))

    assert len(client.get("/timemap/json/e.com/p").json()["mementos"]["list"]) == 4
    assert client.get("/timegate/https://e.com/p").headers["location"].endswith("/http://www.e.com/p")


def test_a_redirect_has_its_body_and_its_own_headers_under_another_name(table, client):
    table.put(
        page(URL, status=301, body=b"moved", headers={"Location": "/n", "X-A": "b"}, redirect_to="https://e.com/n")
    )

    status, headers, body = raw(client, f"/web/{TIMES[0]}id_/{URL}")

    assert (status, body, headers["x-archive-orig-x-a"]) == (301, b"moved", "b")
    assert headers["location"].endswith(f"/web/{TIMES[0]}id_/https://e.com/n")


@pytest.mark.parametrize(
    ("form", "to"), [("mp_", ""), ("if_", ""), ("im_", "id_"), ("js_", "id_"), ("cs_", "id_"), ("oe_", "id_")]
)
def test_the_flags_of_pywb_lead_to_the_page_or_to_the_stored_body(filled, client, form, to):
    for time in (TIMES[2], "2026", ""):
        status, headers, _ = raw(client, f"/web/{time}{form}/{URL}")

        assert (status, headers["location"]) == (302, address(client, "web", f"{TIMES[2]}{to}", URL))
