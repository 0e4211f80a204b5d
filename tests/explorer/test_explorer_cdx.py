"""The CDX server answers each parameter as pywb and the Wayback Machine document it, and real clients read it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import cdx_toolkit
import httpx
import pytest

import webtable
from webtable import Page
from webtable.errors import StoreUnavailable
from webtable.explorer.archive_api import server

START = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)
URL = "https://example.com/docs/a"


def page(url=URL, days=0, body=None, **known):
    known.setdefault("content_type", "text/html")
    return Page(url=url, body=body or f"<title>{days}</title>".encode(), fetched_at=START + timedelta(days), **known)


@pytest.fixture
def filled(table):
    """Four URLs on two hosts, one of them with three versions."""
    pages = [page(), page(days=1), page(days=31, status=404), page("http://example.com/docs/b.php")]
    pages += [page("https://www.example.com/", content_type="text/plain"), page("https://sub.example.com/x")]
    with table.writer() as writer:
        writer.put_many(pages)
    return table


def lines(client, path="/cdx", **asked):
    found = client.get(path, params={"url": "example.com", "matchType": "domain", "output": "json"} | asked)
    assert found.status_code == 200, found.text
    return [json.loads(line) for line in found.text.splitlines()]


def urls(client, **asked):
    return [line["url"] for line in lines(client, **asked)]


def times(client, **asked):
    return [line["timestamp"] for line in lines(client, url=URL, matchType="exact", **asked)]


def test_a_line_has_the_fields_of_a_version(filled, client):
    line, *others = lines(client, url=URL, matchType="exact")

    assert line == {
        "urlkey": "com,example)/docs/a",
        "timestamp": "20260301102030",
        "url": URL,
        "mime": "text/html",
        "status": "200",
        "digest": filled.history(URL)[-1].digest,
        "length": "16",
    }
    assert [(one["timestamp"], one["status"]) for one in others] == [
        ("20260302102030", "200"),
        ("20260401102030", "404"),
    ]


def test_the_match_types_choose_the_pages(filled, client):
    docs = [URL] * 3 + ["http://example.com/docs/b.php"]

    assert urls(client, url="example.com/docs/b.php", matchType="exact") == docs[-1:]
    assert urls(client, url="example.com/docs/", matchType="prefix") == docs
    assert urls(client, url="http://www.example.com/docs/b", matchType="prefix") == docs[-1:]
    assert urls(client, url="https://example.com/docs/a", matchType="host") == [*docs, "https://www.example.com/"]
    assert sorted(urls(client)) == sorted([*docs, "https://www.example.com/", "https://sub.example.com/x"])


def test_wildcards_are_match_types(filled, client):
    def found(url):
        return [json.loads(one) for one in client.get("/cdx", params={"url": url, "output": "json"}).text.splitlines()]

    assert found("example.com/docs/*") == lines(client, url="example.com/docs/", matchType="prefix")
    assert found("*.example.com") == found("*.example.com/*") == lines(client)


def test_an_exact_url_is_found_by_the_other_scheme_and_with_www(filled, client):
    assert urls(client, url="http://example.com", matchType="exact") == ["https://www.example.com/"]


def test_from_and_to_include_all_that_their_digits_begin(filled, client):
    assert times(client, **{"from": "2026", "to": "2026"}) == ["20260301102030", "20260302102030", "20260401102030"]
    assert times(client, **{"from": "20260302"}) == ["20260302102030", "20260401102030"]
    assert times(client, to="202603") == ["20260301102030", "20260302102030"]
    assert times(client, to="20260301102030") == ["20260301102030"]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["status:40"], 1),
        (["=status:40"], 0),
        (["=status:404"], 1),
        (["!=status:404"], 5),
        (["!status:40"], 5),
        (["~status:[23]"], 5),
        (["!~mime:text/h"], 1),
        (["~url:.*\\.php$"], 1),
        (["=mime:text/html", "!=status:200"], 1),
        (["=statuscode:404"], 1),
    ],
)
def test_filters_are_those_of_pywb(filled, client, filters, found):
    asked = {"url": "*.example.com", "filter": filters, "output": "json"}

    assert len(client.get("/cdx", params=asked).text.splitlines()) == found or found == 0


def test_filters_of_the_wayback_machine_match_all_of_a_field(filled, client):
    def found(*filters):
        asked = {"url": "*.example.com", "filter": filters}
        return len(client.get("/cdx/search/cdx", params=asked).text.splitlines())

    assert (found("statuscode:200"), found("statuscode:20"), found("!statuscode:200"), found("original:.*php")) == (
        5,
        0,
        1,
        1,
    )


def test_the_outputs_are_lines_of_json_of_cdxj_and_of_text(filled, client):
    asked = {"url": URL, "fl": "urlkey,timestamp,status", "limit": "1"}

    def text(**more):
        return client.get("/cdx", params=asked | more).text

    assert text(output="json") == '{"urlkey": "com,example)/docs/a", "timestamp": "20260301102030", "status": "200"}\n'
    assert text() == text(output="cdxj") == 'com,example)/docs/a 20260301102030 {"status": "200"}\n'
    assert text(output="text") == "com,example)/docs/a 20260301102030 200\n"


def test_the_wayback_machine_has_an_array_of_arrays_with_their_names(filled, client):
    found = client.get("/cdx/search/cdx", params={"url": URL, "output": "json", "limit": "1"})

    assert found.headers["content-type"] == "application/json"
    names, values = found.json()
    assert names == ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
    assert values[:5] == ["com,example)/docs/a", "20260301102030", URL, "text/html", "200"]
    assert client.get("/cdx/search/cdx", params={"url": "example.org", "output": "json"}).json() == []
    assert client.get("/cdx/search/cdx", params={"url": "example.org"}).text == ""


def test_a_limit_is_of_the_first_or_the_last_lines(filled, client):
    assert times(client, limit="2") == ["20260301102030", "20260302102030"]
    assert times(client, limit="-1") == ["20260401102030"]


def test_lines_can_be_sorted_in_reverse_or_by_the_nearest(filled, client):
    assert times(client, sort="reverse") == ["20260401102030", "20260302102030", "20260301102030"]
    assert times(client, sort="closest", closest="20260303", limit="1") == ["20260302102030"]
    assert times(client, closest="2026033")[0] == "20260401102030"


def test_lines_that_follow_each_other_collapse(filled, client):
    assert times(client, collapse="timestamp:6") == ["20260301102030", "20260401102030"]
    assert times(client, collapse=["status", "timestamp:4"]) == ["20260301102030"]
    assert len(urls(client, collapse="urlkey")) == 4


def test_pages_of_blocks_have_the_whole_answer_once(filled, client, monkeypatch):
    monkeypatch.setattr(server, "BLOCK", 2)
    whole = lines(client)
    asked = {"url": "example.com", "matchType": "domain"}

    counts = client.get("/cdx", params=asked | {"showNumPages": "true"}).json()
    pages = [lines(client, page=str(number)) for number in range(counts["pages"])]

    assert counts == {"blocks": 2, "pages": 2, "pageSize": 1}
    assert pages[0] + pages[1] == whole
    assert lines(client, page="0", pageSize="2") == whole
    assert client.get("/cdx", params=asked | {"page": "2"}).status_code == 400
    assert client.get("/cdx/search/cdx", params=asked | {"page": "2"}).text == ""
    assert client.get("/cdx/search/cdx", params=asked | {"showNumPages": "true"}).text == "2\n"
    assert client.get("/cdx", params={"url": URL, "page": "1"}).status_code == 400


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"url": ""}, "url is needed"),
        ({"url": "ftp://example.com/"}, "ftp://example.com/"),
        ({"resumeKey": "x"}, "resumeKey='x' is not a key of showResumeKey=true"),
        ({"matchType": "range"}, "matchType='range' must be one of exact, prefix"),
        ({"output": "link"}, "output='link' must be one of json"),
        ({"from": "yesterday"}, "from='yesterday' must be a time in up to 14 digits"),
        ({"to": "202603011020300"}, "up to 14 digits"),
        ({"sort": "closest"}, "sort=closest needs closest="),
        ({"sort": "reverse", "matchType": "host"}, "needs matchType=exact"),
        ({"limit": "many"}, "limit='many' must be a whole number"),
        ({"limit": "-20000"}, "-10000 or more"),
        ({"page": "-1"}, "page='-1' must be"),
        ({"pageSize": "0"}, "pageSize='0' must be"),
        ({"fl": "url,offset"}, "there is no field 'offset'"),
        ({"filter": "status"}, "must be [!][=|~]field:text"),
        ({"filter": "~url:("}, "is not an expression of RE2"),
        ({"filter": "~url:" + "a" * 301}, "at most 300 characters"),
        ({"collapse": "url:x"}, "collapse='url:x' must be a field"),
        ({"url": [URL, URL]}, "url was given 2 times"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_sentence(filled, client, asked, said):
    found = client.get("/cdx", params={"url": URL} | asked)

    assert found.status_code == 400
    assert said in found.text
    assert found.headers["content-type"].startswith("text/plain")


def test_no_line_at_all_is_not_found_as_pywb_says_it(filled, client):
    found = client.get("/cdx", params={"url": "example.org/\n*"})

    assert found.status_code == 404
    assert found.json() == {"message": "No Captures found for: example.org/\n"}


@pytest.mark.parametrize(
    "expression",
    ["(?:(?:(?:(?:a{99}){99}){99}){99})", "((((a{30}){30}){30}){30}){30}", "(?=a)", r"(a)\1", "["],
)
def test_an_expression_that_takes_too_much_or_is_none_is_refused(table, client, expression):
    answer = client.get("/cdx", params={"url": "example.com/*", "filter": f"~url:{expression}"})

    assert answer.status_code == 400
    assert answer.text.startswith(f"filter: {expression!r} is not an expression of RE2: ")


@pytest.mark.parametrize("expression", ["https://example.com/(a|aa)+$", "(.*)*b", "(?:a?){99}(?:a{99})$"])
def test_an_expression_takes_time_linear_in_an_address(table, client, expression):
    table.put(page("https://example.com/" + "a" * 2000 + "!"))

    answer = client.get("/cdx", params={"url": "example.com/*", "filter": f"~url:{expression}"})

    assert answer.status_code == 404  # no capture has such an address: Python's own engine would look for years


def test_an_answer_that_fails_half_way_is_not_taken_for_all_of_it(table, client, monkeypatch):
    table.put(page("https://example.com/"))
    read = type(table).history_many

    def failing(self, urls):
        yield from read(self, urls)
        raise StoreUnavailable("the store is down")

    monkeypatch.setattr(type(table), "history_many", failing)

    with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
        client.get("/cdx", params={"url": "example.com/*"})


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{}, {"filter": "=status:500"}])
def test_a_client_that_goes_away_ends_the_reading(table, client, monkeypatch, asked):
    with table.writer() as writer:
        writer.put_many(page(f"https://example.com/{number}") for number in range(400))
    read, history = [], type(table).history

    def slow(self, url, **known):
        read.append(url)
        time.sleep(0.02)
        return history(self, url, **known)

    monkeypatch.setattr(type(table), "history", slow)

    with pytest.raises(httpx.ReadTimeout):
        client.get("/cdx", params={"url": "example.com/*"} | asked, timeout=httpx.Timeout(5, read=0.01))
    time.sleep(1)
    count = len(read)
    time.sleep(0.3)

    assert len(read) == count < 100


def test_what_was_crawled_cannot_make_a_line_of_its_own(table, client):
    url = "https://example.com/a%20b?c=%0Ad e\"'<>"
    table.put(page(url, content_type="text/x y\norg,victim)/ 2026", digest=None))
    asked = {"url": "example.com/*"}

    answers = [client.get("/cdx", params=asked | {"output": output}).text for output in ("json", "cdxj", "text")]

    assert [len(text.splitlines()) for text in answers] == [1, 1, 1]
    assert len(answers[2].split(" ")) == 7
    assert json.loads(answers[0])["url"] == webtable.rowkey.canonical_url(url)


def test_a_page_of_300_versions_has_300_lines(client_of_many):
    found = lines(client_of_many, url=URL, matchType="exact")

    assert len(found) == 300
    assert found == sorted(found, key=lambda line: line["timestamp"])
    assert len(lines(client_of_many, url="example.com/docs/*", matchType="prefix", collapse="timestamp:4")) == 1


@pytest.mark.slow
def test_cdx_toolkit_reads_all_of_a_site_page_by_page(sample, sample_client, monkeypatch):
    monkeypatch.setattr(server, "BLOCK", 50)
    for setting in cdx_toolkit.myrequests.retry_info.values():
        monkeypatch.setitem(setting, "minimum_interval", 0)
    versions = [
        (one.url, str(one.status)) for page in sample.pages("example.com") for one in reversed(sample.history(page.url))
    ]

    count = len(sample.history("https://example.com/")) + len(sample.history("http://example.com/"))

    token = sample_client.headers["authorization"].removeprefix("Bearer ")
    address = f"{str(sample_client.base_url).rstrip('/')}/-/{token}"
    for path in ("/cdx", "/cdx/search/cdx"):
        fetcher = cdx_toolkit.CDXFetcher(source=f"{address}{path}")
        found = [(one["url"], one["status"]) for one in fetcher.iter("*.example.com")]

        assert found == versions
        assert fetcher.get_size_estimate("*.example.com", as_pages=True) == -(
            -len(list(sample.pages("example.com"))) // 50
        )
        assert [one["urlkey"] for one in fetcher.get("https://example.com/")] == ["com,example)/"] * count
        assert fetcher.get("https://example.com/nothing") == []
        assert list(fetcher.iter("nothing.example/*")) == []
        assert len(list(fetcher.iter("*.example.com", limit=120))) == 120


@pytest.fixture
def of_pywb(table):
    """The captures that pywb 2.10 was asked about, from a WARC file with the same ones."""
    urls = ("https://e.com/", "https://e.com/a", "https://e.com/a*", "http://e.com:8080/", "http://e.com:9090/")
    for url in (*urls, "https://sub.e.com/x", "http://sub.e.com:8080/x"):
        table.put(Page(url=url, body=url.encode(), fetched_at=datetime(2023, 3, 1, 12, tzinfo=UTC)))
    for year, month, day in ((2023, 3, 1), (2023, 3, 14), (2023, 3, 28), (2024, 2, 15)):
        moment = datetime(year, month, day, 12, tzinfo=UTC)
        table.put(Page(url="https://d.com/", body=str(moment).encode(), fetched_at=moment))
    return table


@pytest.mark.parametrize(
    ("closest", "nearest"),
    [
        ("2", "20240215"), ("2023", "20240215"), ("20230", "20230301"), ("202303", "20230328"), ("2023031", "20230328"),
        ("20230315", "20230314"), ("202399", "20240215"), ("202302", "20230301"), ("20230230", "20230301"),
        ("20240299999999", "20240215"),
    ],
)  # fmt: skip
def test_a_part_of_a_time_is_completed_as_pywb_completes_it(of_pywb, client, closest, nearest):
    (line,) = lines(client, url="https://d.com/", matchType="exact", closest=closest, limit=1)

    assert line["timestamp"][:8] == nearest


@pytest.mark.parametrize(
    ("asked", "urls"),
    [
        ({"url": "https://e.com/a*", "matchType": "exact"}, ["https://e.com/a*"]),
        ({"url": "http://e.com:8080/", "matchType": "host"}, ["http://e.com:8080/"]),
        ({"url": "e.com", "matchType": "host"}, ["https://e.com/", "https://e.com/a", "https://e.com/a*"]),
        ({"url": "https://e.com:443/", "matchType": "host"}, ["https://e.com/", "https://e.com/a", "https://e.com/a*"]),
        ({"url": "*.e.com:8080"}, ["http://e.com:8080/", "http://sub.e.com:8080/x"]),
    ],
)
def test_a_star_and_a_port_mean_what_they_mean_to_pywb(of_pywb, client, asked, urls):
    assert sorted(line["url"] for line in lines(client, **asked)) == sorted(urls)


def test_a_limit_of_0_is_none_and_fields_are_also_called_fields(of_pywb, client):
    found = lines(client, url="https://d.com/", limit=0, fields="timestamp")

    assert [list(line) for line in found] == [["timestamp"]] * 4


def test_a_page_after_the_last_one_is_an_empty_array_of_json(of_pywb, client):
    params = {"url": "https://d.com/", "page": 5, "output": "json"}

    assert client.get("/cdx/search/cdx", params=params).text == "[]\n"


@pytest.mark.parametrize("asked", [{"url": "*.e.com"}, {"url": "https://d.com/"}, {"url": "d.com/*", "sort": ""}])
@pytest.mark.parametrize("output", ["text", "json"])
def test_an_answer_goes_on_after_its_resume_key(of_pywb, client, asked, output):
    def rows(**more):
        answer = client.get("/cdx/search/cdx", params={**asked, **more, "output": output})
        if output == "json":
            (_, *found), key = answer.json(), None
            if [] in found:
                found, key = found[: found.index([])], found[-1][0]
            return [found, key]
        found, _, key = answer.text.partition("\n\n")
        return [found.splitlines(), key.strip() or None]

    whole, key = rows()
    pieces, key = rows(limit=2, showResumeKey="true")
    while key is not None:
        more, key = rows(limit=2, showResumeKey="true", resumeKey=key)
        pieces += more

    assert pieces == whole
