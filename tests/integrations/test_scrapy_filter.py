"""A crawl that is kept to a filter of URLs: whatever leads to an address, and what is requested in its place."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from benchmarks.crawl_site import Answer, served
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Request
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager

import webtable
from webtable import Link, Page, URLFilter
from webtable.errors import InvalidArgument
from webtable.integrations.scrapy import URLFilterMiddleware
from webtable.integrations.scrapy.crawl_table import CrawlTable, TableSettings

HOST = "http://example.com"
ARGUMENTS = {"exclude": ["/calendar/**"], "drop_params": ["utm_*"], "max_repeats": 2}


class Stats(dict):
    """Statistics, as far as components write them."""

    set_value = dict.__setitem__

    def inc_value(self, name):
        self[name] = self.get(name, 0) + 1


@pytest.fixture
def crawler(tmp_path):
    settings = Settings(
        {"WEBTABLE_URI": str(tmp_path / "crawl.db"), "WEBTABLE_CREATE": True, "WEBTABLE_URLS": ARGUMENTS}
    )
    made = SimpleNamespace(settings=settings, signals=SignalManager(), stats=Stats())
    yield made
    asyncio.run(CrawlTable.of(made).close())


def page(body: str) -> Answer:
    return Answer(headers={"Content-Type": "text/html"}, body=body.encode())


def test_a_trap_is_not_followed_by_links_redirects_or_from_the_table(crawls):
    with webtable.open(crawls.url, create=True) as table:
        known = (Link(f"{HOST}/calendar/9"), Link(f"{HOST}/known?utm_source=x"))
        table.put(Page(url=f"{HOST}/old", body=b"x", outlinks=known))
    answers = {
        f"{HOST}/": page(
            "<a href=/calendar/1>c</a> <a href='/a?utm_source=x'>a</a> <a href='/a?utm_source=y'>a</a> <a href=/r>r</a>"
        ),
        f"{HOST}/a": page("A"),
        f"{HOST}/known": page("K"),
        f"{HOST}/r": Answer(302, {"Location": "/r/r"}),
        f"{HOST}/r/r": Answer(302, {"Location": "/r/r/r"}),
    }
    settings = {
        "WEBTABLE_STORE_RESPONSES": True,
        "WEBTABLE_URLS": ARGUMENTS,
        "ROBOTSTXT_OBEY": True,
        "DOWNLOADER_MIDDLEWARES": {"webtable.integrations.scrapy.URLFilterMiddleware": 50},
        "SPIDER_MIDDLEWARES": {"webtable.integrations.scrapy.WebTableMiddleware": 25},
    }

    with served(answers) as site:
        crawl = crawls.run(site, "start", [f"{HOST}/"], settings, hosts=["example.com"])
        asked = sorted(request.url for request in site.asked)

    assert crawl.code == 0, crawl.log
    assert asked == sorted(f"{HOST}{path}" for path in ("/", "/a", "/known", "/r", "/r/r", "/robots.txt"))
    assert crawl.counts("filtered", "filtered/exclude", "filtered/max_repeats") == [2, 1, 1]


def test_a_request_is_refused_before_it_is_queued_and_counted_by_its_rule(crawler):
    middleware = URLFilterMiddleware.from_crawler(crawler)

    with pytest.raises(IgnoreRequest, match="exclude='/calendar/"):
        middleware.request_scheduled(Request(f"{HOST}/calendar/1", dont_filter=True))

    assert crawler.stats == {"webtable/filtered": 1, "webtable/filtered/exclude": 1}


@pytest.mark.parametrize("path", ["/a?utm_source=x&b={}|", "/a?b=1&utm_id", "/ä?utm_id='\""])
def test_a_request_gets_the_url_without_what_is_dropped_once(crawler, path):
    middleware = URLFilterMiddleware.from_crawler(crawler)

    request = middleware.process_request(Request(f"{HOST}{path}", meta={"depth": 3}, priority=5))

    assert "utm" not in request.url
    assert (request.meta["depth"], request.priority) == (3, 5)
    assert middleware.process_request(request) is None
    assert middleware.process_request(Request(f"{HOST}/b|c")) is None
    assert middleware.process_request(Request(f"{HOST}/robots.txt")) is None


def test_the_setting_is_a_filter_or_its_arguments_also_in_json():
    def urls(value):
        return TableSettings.of(Settings({"WEBTABLE_URI": "x.db", "WEBTABLE_URLS": value})).urls

    made = URLFilter(exclude=["/a"], max_depth=3)
    assert (
        urls(made) == urls({"exclude": ["/a"], "max_depth": 3}) == urls('{"exclude": ["/a"], "max_depth": 3}') == made
    )
    for value, message in (
        ({"deny": ["/a"]}, "'deny' is not an argument"),
        ("[", "in JSON"),
        ({"exclude": ["a"]}, "begins with /"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            urls(value)


def test_without_the_setting_there_is_no_middleware(crawler):
    crawler.settings.delete("WEBTABLE_URLS")

    with pytest.raises(NotConfigured):
        URLFilterMiddleware.from_crawler(crawler)
