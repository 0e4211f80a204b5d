"""The storage of Scrapy's HTTP cache, by which a crawl is replayed from its table."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from webtable import WebTableError
from webtable.integrations.scrapy.crawl_table import CrawlTable
from webtable.integrations.scrapy.responses import FROM_TABLE, page_of, response_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from scrapy import Spider
    from scrapy.http import Request, Response
    from scrapy.settings import BaseSettings

MOST_WAITING = 64
"""How many responses wait for a place in the buffer of the writer before the crawl waits for it."""


class WebTableCacheStorage:
    """Answers requests from the table (`HTTPCACHE_STORAGE`), and stores what the policy of the cache lets it store.

    Pages are found by their URL alone: only GET requests are answered. Cookies, and what `Vary` names, are not told
    apart; what was fetched with another spider or without Scrapy is answered too. Scrapy asks its cache in the thread
    of the reactor, which waits as long as a read takes.
    """

    def __init__(self, settings: BaseSettings) -> None:
        self._expiration = settings.getint("HTTPCACHE_EXPIRATION_SECS")
        self._waiting: deque[Future[None]] = deque()

    def open_spider(self, spider: Spider) -> None:
        """Open the table of the crawler of *spider*; raises as `webtable.open` does."""
        self._table = CrawlTable.of(spider.crawler)

    def close_spider(self, spider: Spider) -> None:
        """Do nothing: the table is closed for all components of the crawler at once."""

    def retrieve_response(self, spider: Spider, request: Request) -> Response | None:
        """Return the stored page of *request* as a response.

        None where it is not stored, as a whole, or not since `HTTPCACHE_EXPIRATION_SECS`.
        """
        if request.method != "GET":
            return None
        try:
            page = self._table.table.get(request.url, columns=["html"])
        except WebTableError as exc:
            self._table.unread(request.url, exc)
            return None
        if page is None or (self._expiration > 0 and _age(page.fetched_at) > timedelta(seconds=self._expiration)):
            return None
        return response_of(page, request)

    def store_response(self, spider: Spider, request: Request, response: Response) -> None:
        """Have *response* stored; what cannot be is in the log and in the statistics."""
        if request.method != "GET":
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


def _age(moment: datetime) -> timedelta:
    return datetime.now(UTC) - moment
