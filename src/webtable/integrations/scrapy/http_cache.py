"""A middleware for conditional requests, and a storage for Scrapy's HTTP cache, both from the pages of the table."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from webtable import WebTable, WebTableError
from webtable.integrations.scrapy.captures import FROM_TABLE, page_of, response_of
from webtable.integrations.scrapy.crawl_table import CrawlTable

if TYPE_CHECKING:
    from concurrent.futures import Future

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from scrapy.settings import BaseSettings

MOST_WAITING = 64
"""How many responses may wait for room in the buffer of the writer before the crawl has to wait."""

NOT_MODIFIED = "not modified"
"""The flag of a response for which the server has confirmed that the stored body is current."""

_VALIDATED_URL: Final = "webtable_conditional"
"""The key of `Request.meta` with the URL whose validators were added; False to add none."""

_VALIDATORS = ("If-None-Match", "If-Modified-Since")


class ConditionalMiddleware:
    """Adds the validators of stored pages to requests, and stores a 304 as a capture of the unchanged page.

    The spider gets the stored body as a response with status 200 and the flags `FROM_TABLE` and `NOT_MODIFIED`. Put it
    behind Scrapy's middlewares for redirects (610), which then follow a meta refresh of the stored body. Requests that
    have validators already are left alone, and so are those whose meta has `webtable_conditional` as False.
    """

    def __init__(self, table: CrawlTable, crawler: Crawler) -> None:
        self._table = table
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of *crawler*; raises the errors of opening its table."""
        return cls(CrawlTable.of(crawler), crawler)

    async def process_request(self, request: Request, spider: Spider | None = None) -> None:
        """Add the validators of the stored page to *request*, if there is one with a body."""
        validated_url = request.meta.get(_VALIDATED_URL)
        if validated_url:
            # A retry, or a request for the target of a redirect, which has the headers of the earlier request.
            _without_validators(request)
        if request.method != "GET" or validated_url is False or any(name in request.headers for name in _VALIDATORS):
            return
        try:
            validators = await self._table.read(partial(WebTable.validators, url=request.url))
        except WebTableError as exc:
            self._table.count_unreadable(request.url, exc)
            return
        if validators:
            request.headers.update(validators)
            request.meta[_VALIDATED_URL] = request.url
            self._crawler.stats.inc_value("webtable/conditional")

    async def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the stored page if the server says that it is not modified.

        If its body can no longer be read, the page is requested again without validators.
        """
        if response.status != 304 or request.meta.get(_VALIDATED_URL) != request.url:
            return response
        stored = await self._stored(request)
        if stored is None:
            return _whole(request)
        response.request = response.request or request  # Scrapy sets it later
        try:
            await self._table.put(page_of(response))
        except WebTableError:
            return _whole(request)
        self._crawler.stats.inc_value("webtable/not_modified")
        return stored

    async def _stored(self, request: Request) -> Response | None:
        try:
            page = await self._table.read(partial(WebTable.get, url=request.url, columns=["body"]))
        except WebTableError as exc:
            self._table.count_unreadable(request.url, exc)
            return None
        return None if page is None else response_of(page, request, NOT_MODIFIED)


def _without_validators(request: Request) -> None:
    del request.meta[_VALIDATED_URL]
    for name in _VALIDATORS:
        request.headers.pop(name, None)


def _whole(request: Request) -> Request:
    again = request.copy()
    _without_validators(again)
    return again.replace(dont_filter=True, meta={**again.meta, _VALIDATED_URL: False})


class WebTableCacheStorage:
    """Answers requests from the table (`HTTPCACHE_STORAGE`), and stores what the policy of the cache allows.

    Pages are found by their URL alone: only GET requests are answered, and cookies and the headers in `Vary` make no
    difference. Pages that another spider or program has stored are returned too. Scrapy calls its cache in the thread
    of the reactor, which waits for each read.
    """

    def __init__(self, settings: BaseSettings) -> None:
        self._expiration = settings.getint("HTTPCACHE_EXPIRATION_SECS")
        self._waiting: deque[Future[None]] = deque()

    def open_spider(self, spider: Spider) -> None:
        """Open the table of the crawler of *spider*; raises as `webtable.open` does."""
        self._table = CrawlTable.of(spider.crawler)

    def close_spider(self, spider: Spider) -> None:
        """Do nothing: the table is closed once for all components of the crawler."""

    def retrieve_response(self, spider: Spider, request: Request) -> Response | None:
        """Return the stored page of *request* as a response.

        None if it is not stored, is incomplete, or is older than `HTTPCACHE_EXPIRATION_SECS`.
        """
        if request.method != "GET":
            return None
        try:
            page = self._table.table.get(request.url, columns=["body"])
        except WebTableError as exc:
            self._table.count_unreadable(request.url, exc)
            return None
        if page is None:
            return None
        is_old = datetime.now(UTC) - page.fetched_at > timedelta(seconds=self._expiration)
        return None if self._expiration > 0 and is_old else response_of(page, request)

    def store_response(self, spider: Spider, request: Request, response: Response) -> None:
        """Store *response*; failures are logged and counted in the statistics."""
        if request.method != "GET":
            return
        if request in self._table.early:
            response.flags.append(FROM_TABLE)
            return
        try:
            page = page_of(response.replace(url=request.url))
        except WebTableError as exc:
            self._table.outcomes.failed(request.url, exc)
            return
        self._waiting.append(self._table.put_soon(page))
        response.flags.append(FROM_TABLE)
        if len(self._waiting) > MOST_WAITING:
            self._waiting.popleft().exception()
