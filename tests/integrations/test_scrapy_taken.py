"""Responses that Scrapy's own middlewares take before a spider gets them are stored, and each of them once."""

from __future__ import annotations

import gzip

import brotli
import pytest
import zstandard
from benchmarks.crawl_site import Answer, served
from test_scrapy_pipeline import HOME, RESPONSES
from test_scrapy_revisits import CONDITIONAL, DUMMY

import webtable

pytestmark = pytest.mark.slow

HTML = {"Content-Type": "text/html; charset=utf-8"}
TARGET = {HOME + "new": Answer(200, HTML, b"<title>New</title>")}
REFRESH = b'<title>Old</title><meta http-equiv="refresh" content="0; url=/new">'
NO_TYPE = b"<!doctype html><html>" + REFRESH


def old(body: bytes = REFRESH, status: int = 200, **headers: str) -> Answer:
    return Answer(status, {**HTML, **{name.replace("_", "-"): value for name, value in headers.items()}}, body)


FOLLOWED = {
    "a meta refresh": old(),
    "one in upper case, later": old(b"<META CONTENT='5;URL=/new' HTTP-EQUIV=REFRESH>"),
    "one in UTF-16": Answer(200, {"Content-Type": "text/html; charset=utf-16"}, REFRESH.decode().encode("utf-16")),
    "one behind much": old(b"<!--" + "€".encode() * 3_900 + b"-->" + REFRESH),
    "one by gzip": old(gzip.compress(REFRESH), Content_Encoding="gzip"),
    "one by Brotli": old(brotli.compress(REFRESH), Content_Encoding="br"),
    "one by zstd": old(zstandard.compress(REFRESH), Content_Encoding="zstd"),
    "one without a type, by gzip": Answer(200, {"Content-Encoding": "gzip"}, gzip.compress(NO_TYPE)),
    "one that was not found": old(status=404),
    "a redirect": old(b"<title>Moved</title>", 302, Location="/new"),
    "a redirect by gzip": old(gzip.compress(b"<title>Moved</title>"), 301, Location="/new", Content_Encoding="gzip"),
    # scrapy/scrapy#78
    "a redirect that names gzip and is none": old(b"<p>Moved", 301, Location="/new", Content_Encoding="gzip"),
}
BODIES = {
    "a redirect by gzip": b"<title>Moved</title>",
    **{f"one by {name}": REFRESH for name in ("gzip", "Brotli", "zstd")},
    "one without a type, by gzip": NO_TYPE,
}


def stored_in(crawls):
    with webtable.open(crawls.url) as table:
        return {page.url: page for page in table.pages("example.com", columns=["body"])}


@pytest.fixture(scope="module")
def followed_site():
    """A host for each answer that is followed."""
    answers = dict(TARGET)
    for number, answer in enumerate(FOLLOWED.values()):
        host = f"http://h{number}.example.com/"
        answers |= {host: answer, f"{host}new": Answer(200, HTML, b"<title>New</title>")}
    with served(answers) as site:
        yield site


@pytest.mark.parametrize("settings", [{}, {"COMPRESSION_ENABLED": False}], ids=["decoded", "not decoded"])
def test_what_is_followed_is_stored_without_its_encoding_and_its_target_too(followed_site, crawls, settings):
    followed_site.asked.clear()
    hosts = {f"http://h{number}.example.com/": name for number, name in enumerate(FOLLOWED)}

    crawl = crawls.run(followed_site, "quiet", [*hosts], RESPONSES | settings)

    stored = stored_in(crawls)
    asked = {asked.url for asked in followed_site.asked}
    assert set(stored) == asked, crawl.log
    assert {hosts[host]: stored[host].status for host in hosts} == {name: one.status for name, one in FOLLOWED.items()}
    assert {hosts[host]: stored[host].body for host in hosts} == {
        name: BODIES.get(name, answer.body) for name, answer in FOLLOWED.items()
    }
    assert crawl.counts("stored", "failed") == [len(followed_site.asked), 0]
    if not settings:
        assert asked == {*hosts, *(f"{host}new" for host in hosts)}
        with webtable.open(crawls.url) as table:
            assert list(table.links.discovered("example.com")) == []


NOT_FOLLOWED = {
    "in a noscript": old(b"<noscript>" + REFRESH + b"</noscript>"),  # scrapy/scrapy#142
    "in much time": old(REFRESH.replace(b"0;", b"200;")),
    "to no page": old(REFRESH.replace(b"/new", b"mailto:a@example.com")),
    "in a text": old(b"<p>refresh"),
    "without a Location": old(b"<p>Moved", 302),
    "to another scheme": old(b"<p>Moved", 302, Location="ftp://example.com/"),
}


@pytest.mark.parametrize("settings", [{}, {"REDIRECT_ENABLED": False, "METAREFRESH_ENABLED": False}])
def test_what_is_not_followed_is_stored_once(crawls, settings):
    answers = {f"{HOME}{number}": answer for number, answer in enumerate(NOT_FOLLOWED.values())}
    with served(answers) as site:
        crawl = crawls.run(site, "quiet", [*answers], RESPONSES | settings)

    assert set(stored_in(crawls)) == set(answers)
    assert crawl.counts("stored", "unchanged") == [len(answers), 0], crawl.log


def test_errors_that_are_retried_are_stored_and_so_is_what_comes_then(crawls):
    again = {
        f"{HOME}{status}": Answer(200, HTML, b"<title>OK</title>", busy=1, busy_status=status) for status in (429, 500)
    }
    with served({**again, f"{HOME}down": Answer(503, HTML, b"<title>Down</title>")}) as site:
        crawl = crawls.run(site, "quiet", [*site.answers], RESPONSES)

    with webtable.open(crawls.url) as table:
        histories = {url: [page.status for page in table.history(url)] for url in site.answers}
    assert histories == {f"{HOME}429": [200, 429], f"{HOME}500": [200, 500], f"{HOME}down": [503]}
    assert crawl.counts("stored") == [len(site.asked)] == [7], crawl.log


def test_a_redirect_for_ever_is_stored(crawls):
    with served({HOME: old(REFRESH.replace(b"/new", b"/")), f"{HOME}a": old(b"", 301, Location="/a")}) as site:
        crawl = crawls.run(site, "quiet", [*site.answers], RESPONSES | {"REDIRECT_MAX_TIMES": 3})

    assert {url: page.status for url, page in stored_in(crawls).items()} == {HOME: 200, f"{HOME}a": 301}
    assert crawl.counts("stored") == [len(site.asked)] == [8], crawl.log


def test_what_scrapy_cannot_decode_is_stored_as_far_as_it_goes(crawls):
    bomb = gzip.compress(b"<title>Large</title>" + bytes(5_000_000))
    with served({HOME: old(bomb, Content_Encoding="gzip")}) as site:
        site.add(f"{HOME}cut", old(gzip.compress(bytes(range(256)), 0)[:-100], Content_Encoding="gzip"))
        site.add(f"{HOME}false", old(b"\x1f\x8bno gzip", Content_Encoding="gzip"))

        crawl = crawls.run(site, "quiet", [*site.answers], RESPONSES | {"DOWNLOAD_MAXSIZE": 1_000_000})

    stored = stored_in(crawls)
    assert {url: (page.body, page.truncated) for url, page in stored.items()} == {
        HOME: (None, True),
        f"{HOME}cut": (bytes(range(164)), True),
        f"{HOME}false": (b"\x1f\x8bno gzip", False),
    }, crawl.log


def test_robots_txt_is_no_response_to_the_spider(crawls):
    with served(
        {HOME: old(b"<a href=/private/1>x</a>"), f"{HOME}robots.txt": old(b"", 301, Location="/rules")}
    ) as site:
        site.add(f"{HOME}rules", Answer(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /private/"))

        crawl = crawls.run(site, "site", [HOME], RESPONSES | {"ROBOTSTXT_OBEY": True}, hosts=["example.com"])

    assert set(stored_in(crawls)) == {HOME}, crawl.log
    assert [asked.url for asked in site.asked if "private" in asked.url] == []


EACH = {
    HOME: old(b"<title>Home</title>"),
    f"{HOME}old": old(),
    f"{HOME}moved": old(b"", 301, Location="/new"),
    f"{HOME}down": Answer(500, HTML, b"<title>Down</title>"),
    f"{HOME}gzip": old(gzip.compress(b"<title>Gzip</title>"), Content_Encoding="gzip"),
    **TARGET,
}


def test_a_cache_in_the_table_and_the_middleware_store_a_response_once_and_replay_it(crawls):
    settings = RESPONSES | DUMMY | {"RETRY_ENABLED": True, "HTTPCACHE_IGNORE_HTTP_CODES": [500]}
    with served(EACH) as site:
        crawl = crawls.run(site, "quiet", [*EACH], settings)
        asked = len(site.asked)
        again = crawls.run(site, "quiet", [*EACH], DUMMY)

    assert crawl.counts("stored") == [asked], crawl.log
    assert stored_in(crawls)[f"{HOME}gzip"].body == b"<title>Gzip</title>"
    assert len(site.asked) == asked
    assert again.counts("stored", "failed") == [0, 0], again.log


def test_a_crawl_that_scrapys_cache_has_is_stored_by_a_replay(crawls):
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(crawls.folder / "cache")}
    both = RESPONSES | {"DOWNLOADER_MIDDLEWARES": {"webtable.integrations.scrapy.WebTableMiddleware": 899}}
    with served(EACH) as site:
        crawls.run(site, "quiet", [*EACH], cached)
        asked = len(site.asked)

        replayed = crawls.run(site, "quiet", [*EACH], cached | both | {"HTTPCACHE_IGNORE_MISSING": True})

    stored = stored_in(crawls)
    assert len(site.asked) == asked
    assert {url: page.status for url, page in stored.items()} == {url: answer.status for url, answer in EACH.items()}
    assert stored[f"{HOME}gzip"].body == b"<title>Gzip</title>"
    assert replayed.counts("failed") == [0], replayed.log


def test_the_middleware_in_two_places_stores_each_response_once(crawls):
    both = RESPONSES | {"DOWNLOADER_MIDDLEWARES": {"webtable.integrations.scrapy.WebTableMiddleware": 899}}
    with served(EACH) as site:
        crawl = crawls.run(site, "quiet", [*EACH], both)

    assert crawl.counts("stored") == [len(site.asked)], crawl.log


def test_a_meta_refresh_that_is_not_modified_is_followed_again(crawls):
    with served({HOME: old(ETag='"1"'), **TARGET}) as site:
        crawls.run(site, "quiet", [HOME], CONDITIONAL)
        site.asked.clear()

        crawl = crawls.run(site, "quiet", [HOME], CONDITIONAL)

    assert [(asked.url, asked.status) for asked in site.asked] == [(HOME, 304), (f"{HOME}new", 200)], crawl.log
    assert crawl.counts("not_modified", "stored") == [1, 2]
