"""A spider that starts from its table: with linked URLs that are not stored yet, and with old pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import scrapy
from scrapy import signals

from webtable import ALL, Page, WebTable
from webtable.integrations.scrapy.crawl_table import CrawlTable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from webtable.answers import Batch, Site

T = TypeVar("T")

AT_ONCE = 500
"""How many URLs are read at once."""
_UNKNOWN: Final = {"is_start_request": False}
"""What a request has whose depth is not known: else Scrapy takes it for a start, from which links are counted."""


class WebTableStart(scrapy.Spider):
    """A spider whose first requests are its start URLs, then the old pages of the table, then URLs not stored yet.

    The latter two are limited to `allowed_domains`, if there are any, and to what `WEBTABLE_URLS` allows. They are read
    in a thread, some hundred at a time, when the crawler has nothing else to do. URLs that were fetched in the
    meantime are left out.
    """

    outdated_after: timedelta | None = None
    """The age from which a page is fetched again; by default no page is."""

    async def start(self) -> AsyncIterator[Any]:
        """Yield the requests of `start_urls`, then those of `outdated_requests` and `discovered_requests`."""
        async for item in super().start():
            yield item
        for domain in getattr(self, "allowed_domains", None) or [ALL]:
            if self.outdated_after is not None:
                async for request in self.outdated_requests(self.outdated_after, domain):
                    yield request
            async for request in self.discovered_requests(domain):
                yield request

    async def outdated_requests(self, age: timedelta, site: Site = ALL) -> AsyncIterator[scrapy.Request]:
        """Yield requests for the pages of *site* whose last capture is at least *age* old.

        Raises as `webtable.WebTable.outdated` does.
        """
        # One time for all batches: a token is valid for the same question only.
        since = datetime.now(UTC) - age
        urls = CrawlTable.of(self.crawler).urls

        def read(after: str | None, table: WebTable) -> Batch[Page]:
            return table.outdated(site, not_fetched_since=since, urls=urls, after=after).page(size=AT_ONCE)

        async for page in self._items_of(read):
            yield scrapy.Request(page.url, meta=_UNKNOWN if page.depth is None else {"depth": page.depth})

    async def discovered_requests(
        self, site: Site = ALL, max_depth: int | None = None
    ) -> AsyncIterator[scrapy.Request]:
        """Yield requests for the URLs of *site* that pages link to and that are not stored yet.

        With *max_depth* only for those to which at most so many links lead from where the crawl began. Raises as
        `webtable.WebTable.links.discovered` does.
        """
        urls = CrawlTable.of(self.crawler).urls

        def read(after: str | None, table: WebTable) -> Batch[str]:
            return table.links.discovered(site, max_depth=max_depth, urls=urls, after=after).page(size=AT_ONCE)

        async for url in self._items_of(read):
            yield scrapy.Request(url, meta=_UNKNOWN)

    async def _items_of(self, read: Callable[[str | None, WebTable], Batch[T]]) -> AsyncIterator[T]:
        """Yield the items of all batches, which *read* returns for each token."""
        table = CrawlTable.of(self.crawler)
        after: str | None = None
        while True:
            batch = await table.read(partial(read, after))
            for item in batch:
                yield item
            if (after := batch.next_token) is None:
                return
            if self.crawler.engine is not None and self.crawler.engine.needs_backout():
                await self.crawler.signals.wait_for(signals.scheduler_empty)
