"""The middleware that keeps a crawler to the addresses of the setting `WEBTABLE_URLS`, whatever leads to others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from scrapy import Request, Spider, signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.utils.httpobj import urlparse_cached

from webtable.integrations.scrapy.crawl_table import CrawlTable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from webtable import URLFilter

_CLEANED: Final = "webtable_cleaned"
"""The key of `Request.meta` for the URL that a request got, which Scrapy may spell in another way."""


class URLFilterMiddleware:
    """Refuses requests that `WEBTABLE_URLS` does not allow, and takes off their URLs what it drops.

    As a downloader middleware (50) it sees start requests, followed links, redirects and what spiders make, also with
    `dont_filter`; robots.txt alone is never refused. What is refused is counted as `webtable/filtered`, in all and by
    the name of the rule, and logged with the rule (DEBUG).
    """

    def __init__(self, urls: URLFilter, crawler: Crawler) -> None:
        self._urls = urls
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of *crawler*; raises the errors of opening its table."""
        urls = CrawlTable.of(crawler).urls
        if urls is None:
            raise NotConfigured
        made = cls(urls, crawler)
        # Before it is in the queue, which a trap would fill.
        crawler.signals.connect(made.request_scheduled, signals.request_scheduled)
        return made

    def request_scheduled(self, request: Request, spider: Spider | None = None) -> None:
        """Raise `IgnoreRequest` for a *request* that is not wanted."""
        self._checked(request)

    def process_request(self, request: Request, spider: Spider | None = None) -> Request | None:
        """Return None for a wanted *request*, or the one in its place; raises `IgnoreRequest` for another one."""
        url = self._checked(request)
        if url is None or not self._urls.drops or url in (request.url, request.meta.get(_CLEANED)):
            return None
        return request.replace(url=url, meta={**request.meta, _CLEANED: url})

    def _checked(self, request: Request) -> str | None:
        """Return the URL to fetch for *request*, None for its own; raises `IgnoreRequest`."""
        if urlparse_cached(request).path == "/robots.txt":
            return None
        url = self._urls.clean(request.url)
        if url is None:
            rule = self._urls.explain(request.url).rule
            self._crawler.stats.inc_value("webtable/filtered")
            self._crawler.stats.inc_value(f"webtable/filtered/{rule.partition('=')[0].partition(':')[0]}")
            raise IgnoreRequest(rule)
        return url
