"""The table that the components of a crawler share, without a crawl: what comes too late, or has no address."""

from __future__ import annotations

import asyncio
import ipaddress
import sys
import threading
from types import SimpleNamespace

import pytest
from scrapy.http import Request, Response
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager

import webtable
from webtable import Page
from webtable.errors import InvalidArgument, InvalidURL, WriteFailed
from webtable.integrations.scrapy import WebTableMiddleware, WebTablePipeline
from webtable.integrations.scrapy.crawl_table import CrawlTable
from webtable.integrations.scrapy.writer_process import WriterProcess

PAGE = Page(url="https://example.com/", body=b"<title>A</title>")


class Stats(dict):
    """Statistics, as far as components write them."""

    set_value = dict.__setitem__


@pytest.fixture(params=["here", "apart"])
def crawler(request, tmp_path):
    """A crawler, as far as components see it before it runs."""
    said = {"WEBTABLE_URI": str(tmp_path / "crawl.db"), "WEBTABLE_CREATE": True, "WEBTABLE_STORE_RESPONSES": True}
    said["WEBTABLE_WRITER_PROCESS"] = request.param == "apart"
    made = SimpleNamespace(settings=Settings(said), signals=SignalManager(), stats=Stats())
    yield made
    asyncio.run(CrawlTable.of(made).close())


@pytest.mark.parametrize(
    ("settings", "processors", "is_apart"),
    [
        ({}, 2, True),
        ({}, 1, False),
        ({"WEBTABLE_WRITER_PROCESS": False}, 2, False),
        ({"WEBTABLE_WRITER_PROCESS": True}, 1, True),
        ({"WEBTABLE_URI": "memory:crawl"}, 2, False),
        ({"WEBTABLE_OPEN": {"strict": type("Local", (), {})()}}, 2, False),
    ],
    ids=["default", "one processor", "off", "on", "in memory", "not picklable"],
)
def test_another_process_stores_pages_where_it_can_open_the_table(
    tmp_path, monkeypatch, settings, processors, is_apart
):
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    file = {"WEBTABLE_URI": str(tmp_path / "crawl.db"), "WEBTABLE_CREATE": True}
    crawler = SimpleNamespace(settings=Settings(file | settings), signals=SignalManager(), stats=Stats())
    table = CrawlTable.of(crawler)
    listens = any(thread.name == "webtable-scrapy-stored" for thread in threading.enumerate())
    asyncio.run(table.put(PAGE))
    asyncio.run(table.close())

    assert (listens, crawler.stats["webtable/stored"]) == (is_apart, 1)


def stored(crawler):
    with webtable.open(crawler.settings["WEBTABLE_URI"]) as table:
        return [page.url for page in table.pages(webtable.ALL)]


def test_a_table_that_is_closed_twice_takes_no_page_behind_that_and_counts_it(crawler):
    table = CrawlTable.of(crawler)
    pipeline = WebTablePipeline.from_crawler(crawler)
    asyncio.run(pipeline.process_item(PAGE))
    asyncio.run(table.close())
    asyncio.run(table.close())

    with pytest.raises(WriteFailed, match="after its spider was closed"):
        asyncio.run(pipeline.process_item(PAGE))
    table.publish()

    assert (crawler.stats["webtable/stored"], crawler.stats["webtable/failed/WriteFailed"]) == (1, 1)
    assert stored(crawler) == [PAGE.url]


def test_a_page_is_stored_whose_event_loop_was_closed_while_it_was_put(crawler):
    table = CrawlTable.of(crawler)

    async def leave():
        putting = asyncio.ensure_future(table.put(PAGE))
        await asyncio.sleep(0)
        assert not putting.done()

    asyncio.run(leave())
    asyncio.run(table.close())

    assert stored(crawler) == [PAGE.url]


def test_a_response_without_a_url_is_counted_and_is_no_error_of_the_spider(crawler):
    middleware = WebTableMiddleware.from_crawler(crawler)

    middleware.process_spider_input(Response(""))
    CrawlTable.of(crawler).publish()

    assert crawler.stats["webtable/failed/InvalidArgument"] == 1
    assert stored(crawler) == []


def test_a_page_that_the_writer_refuses_raises_for_its_item_and_is_counted_once(crawler):
    pipeline = WebTablePipeline.from_crawler(crawler)

    with pytest.raises(InvalidURL, match="ftp://"):
        asyncio.run(pipeline.process_item(Page(url="ftp://example.com/", body=b"x")))
    asyncio.run(pipeline.process_item(PAGE))
    asyncio.run(CrawlTable.of(crawler).close())

    assert (crawler.stats["webtable/stored"], crawler.stats["webtable/failed/InvalidURL"]) == (1, 1)
    assert crawler.stats["webtable/failed"] == 1


@pytest.mark.slow
def test_a_writer_process_whose_writer_cannot_be_made_does_not_begin(tmp_path):
    with pytest.raises(InvalidArgument, match="buffer_pages=0 must be above 0"):
        WriterProcess(str(tmp_path / "crawl.db"), {"create": True}, {"buffer_pages": 0})


def test_a_writer_process_that_is_no_python_does_not_begin(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/true")

    with pytest.raises(WriteFailed, match="did not begin"):
        WriterProcess(str(tmp_path / "crawl.db"), {"create": True}, {})


def answer(method, path="", status=200):
    asked = Request(f"https://example.com/{path}", method=method, body=b"a=1")
    return Response(asked.url, status, body=b"<title>A</title>", request=asked)


def test_answers_to_other_methods_are_left_out_and_counted(crawler):
    middleware = WebTableMiddleware.from_crawler(crawler)
    pipeline = WebTablePipeline.from_crawler(crawler)

    for response in (answer("GET"), answer("POST"), answer("HEAD")):
        middleware.process_spider_input(response)
    redirect = answer("POST", status=303)
    middleware.response_downloaded(redirect, redirect.request)
    kept = asyncio.run(pipeline.process_item(answer("POST")))
    asyncio.run(CrawlTable.of(crawler).close())

    assert kept.request.method == "POST"
    assert stored(crawler) == ["https://example.com/"]
    assert crawler.stats["webtable/stored"] == 1
    assert crawler.stats["webtable/other_methods/POST"] == 3
    assert crawler.stats["webtable/other_methods/HEAD"] == 1
    assert crawler.stats["webtable/failed"] == 0


@pytest.mark.parametrize("methods", ["all", "GET,POST", ["get", "post"]])
def test_answers_to_methods_of_the_settings_are_stored_under_their_keys(crawler, methods):
    crawler.settings.set("WEBTABLE_METHODS", methods)
    middleware = WebTableMiddleware.from_crawler(crawler)

    for response in (answer("GET"), answer("POST")):
        middleware.process_spider_input(response)
    asyncio.run(CrawlTable.of(crawler).close())

    assert stored(crawler) == ["https://example.com/", "https://example.com/?__wb_method=POST&__wb_post_data=YT0x"]


def test_methods_that_are_none_are_an_error_of_the_settings(tmp_path):
    settings = Settings({"WEBTABLE_URI": str(tmp_path / "crawl.db"), "WEBTABLE_METHODS": "GET POST"})

    with pytest.raises(InvalidArgument, match="methods"):
        CrawlTable(SimpleNamespace(settings=settings))


def test_what_scrapy_knows_of_a_fetch_is_stored_with_the_page(crawler):
    middleware = WebTableMiddleware.from_crawler(crawler)
    meta = {"depth": 2, "download_latency": 0.4321, "retry_times": 1}
    fetches = {
        "all": Request("https://example.com/all", priority=-5, headers={"Referer": "https://example.com/"}, meta=meta),
        "start": Request("https://example.com/start", meta={"is_start_request": True}),
        "unknown": Request("https://example.com/unknown", meta={"is_start_request": False}),
        "strange": Request("https://example.com/strange", meta={"depth": "deep", "retry_times": None}),
    }
    address = ipaddress.ip_address("192.0.2.1")

    for request in fetches.values():
        response = Response(request.url, body=b"x", request=request, ip_address=address, protocol="HTTP/1.1")
        middleware.process_spider_input(response)
    asyncio.run(CrawlTable.of(crawler).close())

    with webtable.open(crawler.settings["WEBTABLE_URI"]) as table:
        pages = {page.url.rpartition("/")[2]: page for page in table.pages(webtable.ALL)}
    assert {name: (page.depth, page.attempts) for name, page in pages.items()} == {
        "all": (2, 2),
        "start": (0, 1),
        "unknown": (None, 1),
        "strange": (None, None),
    }
    page = pages["all"]
    assert (page.priority, page.referrer, page.duration) == (-5, "https://example.com/", 432)
    assert {(page.server_address, page.protocol) for page in pages.values()} == {("192.0.2.1", "http/1.1")}
