"""A crawl in a process of its own, as `python crawl.py TOLD`: a reactor cannot be started twice in one.

*TOLD* is a JSON file with the name of a spider, its arguments and the settings; the statistics are written beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import timedelta
from pathlib import Path

import scrapy
from itemadapter import ItemAdapter
from scrapy import crawler as crawling
from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

from webtable import Page
from webtable.integrations.scrapy import WebTableStart
from webtable.integrations.scrapy.crawl_table import CrawlCounts


class SiteSpider(scrapy.Spider):
    """Follows all links on the hosts that it was given, by http, and keeps what it has seen in a file."""

    name = "site"
    follows = True
    sleep = 0.0

    def __init__(self, urls, hosts=(), seen=None, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = urls
        self._hosts = set(hosts)
        self._links = LinkExtractor(tags=("a",), deny_extensions=[])
        self._seen = Path(seen).open("a", buffering=1) if seen else None  # noqa: SIM115 - until the end of the process

    def parse(self, response):
        if self._seen:
            self._seen.write(json.dumps([response.url, response.status, len(response.body), response.flags]) + "\n")
        if not self.follows or not isinstance(response, scrapy.http.HtmlResponse):
            return
        for link in self._links.extract_links(response):
            url = link.url.replace("https://", "http://")
            if url.split("/")[2] in self._hosts:
                yield scrapy.Request(url)


class QuietSpider(SiteSpider):
    """Follows nothing."""

    name = "quiet"
    follows = False


class ItemSpider(SiteSpider):
    """Makes items of all kinds of each response."""

    name = "items"

    def parse(self, response):
        yield {"title": response.css("title::text").get(), "url": response.url}
        yield response
        yield Page(url=f"{response.url}page", body=response.body)
        yield {"url": f"{response.url}dict", "body": response.text, "status": 203, "price": 3}


class FailingSpider(SiteSpider):
    """Fails in each of its callbacks, once at once and once behind its first result."""

    name = "failing"

    def parse(self, response):
        if response.url.endswith("/"):
            return self.later(response)
        raise RuntimeError("at once")

    def later(self, response):
        yield {"title": "an item"}
        raise RuntimeError("later")


class StartSpider(WebTableStart, SiteSpider):
    """Begins with what the table knows."""

    name = "start"
    allowed_domains = ["example.com"]

    def __init__(self, days=None, **kwargs):
        super().__init__(**kwargs)
        self.outdated_after = None if days is None else timedelta(days=days)


SPIDERS = {spider.name: spider for spider in (StartSpider, SiteSpider, QuietSpider, ItemSpider, FailingSpider)}


def main(told: Path) -> None:
    said = json.loads(told.read_text())
    with_reactor = said["settings"].get("TWISTED_REACTOR_ENABLED", True)
    # Scrapy 2.13 has the first alone.
    kind = CrawlerProcess if with_reactor else getattr(crawling, "AsyncCrawlerProcess", CrawlerProcess)
    process = kind({"LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False, **said["settings"]})
    crawler = process.create_crawler(SPIDERS[said["spider"]])
    items = []

    def scraped(item):
        if not isinstance(item, Page | scrapy.http.Response):
            items.append(dict(ItemAdapter(item)))

    crawler.signals.connect(scraped, signals.item_scraped)
    acknowledged = told.with_suffix(".acknowledged").open("w", buffering=1)
    count = CrawlCounts.count
    stopping = set()

    def and_note(outcomes, began, receipt):
        count(outcomes, began, receipt)
        if receipt.exception() is None:
            acknowledged.write(f"{receipt.url}\n")

    CrawlCounts.count = and_note

    def received():
        if said["stops"] and crawler.stats.get_value("response_received_count", 0) >= said["stops"]:
            for stopped in (process.stop(), process.stop()):
                if asyncio.iscoroutine(stopped):
                    stopping.add(asyncio.ensure_future(stopped))

    crawler.signals.connect(received, signals.response_received)
    process.crawl(crawler, **said["arguments"])
    process.start()
    found = {name: value for name, value in crawler.stats.get_stats().items() if isinstance(value, int | float | str)}
    told.with_suffix(".done").write_text(json.dumps({"stats": found, "items": items}))


if __name__ == "__main__":
    os.environ.setdefault("no_proxy", "")
    main(Path(sys.argv[1]))
