"""A spider whose frontier is its table: what is known and not fetched yet is there, and not in memory."""

from __future__ import annotations

import logging
import math
import re
from collections import deque
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self
from urllib.parse import urljoin, urlsplit

import scrapy
from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.gz import gunzip
from scrapy.utils.sitemap import Sitemap, sitemap_urls_from_robots

from webtable import URLFilter
from webtable.integrations.scrapy.crawl_table import CrawlTable
from webtable.integrations.scrapy.start import AT_ONCE, WebTableStart

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from webtable import WebTable

MAX_SITEMAP: Final = 50_000_000
"""The most bytes of a sitemap, decompressed, as sitemaps.org has it."""
MAX_SITEMAP_URLS: Final = 50_000
MAX_SITEMAPS: Final = 10_000
"""How many sitemaps of a crawl are read; they are read one by one, each when the URLs of the last are requested."""
_GZIP: Final = b"\x1f\x8b"
# The target of a redirect is linked to by it: once it is stored, no other redirect requests it again, nor a loop.
_NOT_FOLLOWED: Final = {"dont_redirect": True}
_PORT: Final = re.compile(r":\d+$")


class TableSpider(WebTableStart):
    """Crawls the hosts of `start_urls`, and those below them, until no page links to one that is not stored.

    The pages that are linked and not stored yet come out of the table, some hundred at a time, in the order of their
    keys, again and again until a pass stores nothing new. So a crawl that was ended goes on where it was, by the same
    call, and takes no more memory for a million URLs than for a hundred. It obeys robots.txt and asks a host for one
    page at a time, as fast as it answers. Settings say what is wanted besides (`WEBTABLE_URLS`) and who crawls
    (`USER_AGENT`).

    `limit` is the most pages that are requested, None for all, and `depth` the most links that lead to them from
    `start_urls`, or from the URLs of sitemaps. With `sitemaps` those of the sites are read first.
    `outdated_after` is as for `WebTableStart`.
    """

    name = "webtable"
    custom_settings: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # Scrapy has no class variable
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": 1,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "COOKIES_ENABLED": False,  # a session is a trap of its own
        "DOWNLOADER_MIDDLEWARES": {
            "webtable.integrations.scrapy.FailedFetchMiddleware": 45,
            "webtable.integrations.scrapy.URLFilterMiddleware": 50,
            "webtable.integrations.scrapy.RobotsTxtMiddleware": 100,
            "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
            "webtable.integrations.scrapy.ConditionalMiddleware": 610,
        },
        "DOWNLOAD_MAXSIZE": MAX_SITEMAP,
        # All that is requested comes once a pass out of the table; what was seen would have to be held in memory.
        "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
        "ROBOTSTXT_OBEY": True,
        "SPIDER_MIDDLEWARES": {"webtable.integrations.scrapy.WebTableMiddleware": 25},
        "WEBTABLE_CREATE": True,
        "WEBTABLE_STORE_RESPONSES": True,
        # It waits for its pages, and reads on what they link to; a polite crawl has the time for them.
        "WEBTABLE_WRITER_PROCESS": False,
    }

    def __init__(
        self,
        start_urls: Sequence[str],
        *,
        limit: int | None = None,
        depth: int | None = None,
        sitemaps: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.start_urls: list[str] = [*start_urls]
        self._sites = list(dict.fromkeys(_PORT.sub("", urlsplit(url).netloc) for url in self.start_urls))
        self._depth: Final = depth
        # All of a level come before those to which they link, so that the depth of each is the least one.
        self._level = None if depth is None else 0
        """The depth of what the present pass requests, if that is limited."""
        self._left: float = math.inf if limit is None else limit
        self._sitemaps = deque(dict.fromkeys(urljoin(url, "/robots.txt") for url in start_urls if sitemaps))
        self._seen_sitemaps = set(self._sitemaps)
        self._listed: deque[str] = deque()
        """URLs of sitemaps that are not requested yet."""
        self._pass: AsyncIterator[scrapy.Request] | None = None
        """The requests of the present pass that are not scheduled yet."""
        self._urls = URLFilter()
        self._requested = 0
        """How many requests of it are scheduled."""
        self._is_reading = False
        self._new_before = -1

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Return the spider of *crawler*; raises the errors of opening its table."""
        made = super().from_crawler(crawler, *args, **kwargs)
        made._urls = CrawlTable.of(crawler).urls or URLFilter()
        crawler.signals.connect(made.scheduler_empty, signals.scheduler_empty)
        crawler.signals.connect(made.spider_idle, signals.spider_idle)
        return made

    async def start(self) -> AsyncIterator[Any]:
        """Yield the requests of `start_urls`, and of outdated pages."""
        for url in self._taken(self.start_urls):
            yield scrapy.Request(url, errback=self.failed)
        if self.outdated_after is None:
            return
        for site in self._sites:
            async for request in self.outdated_requests(self.outdated_after, site):
                for _ in self._taken({request.url} - {*self.start_urls}):
                    yield request.replace(errback=self.failed, meta=request.meta | _NOT_FOLLOWED)

    def parse(self, response: Response, **kwargs: Any) -> None:
        """Leave the links of *response* to the table: it is stored with them."""

    def failed(self, failure: Failure) -> None:
        """Do nothing about a page that did not come: its middleware has stored that."""

    def scheduler_empty(self) -> None:
        """Go on with the present pass."""
        if self._pass is not None and not self._is_reading:
            self._read_on()

    def spider_idle(self) -> None:
        """Go on, or begin another pass unless the last one stored nothing; raises `DontCloseSpider` then."""
        if self._is_reading:
            raise DontCloseSpider
        is_done = not (self._pass or self._sitemaps or self._listed or self._has_news() or self._rises())
        if self._left <= 0 or is_done:
            return
        self._read_on()
        raise DontCloseSpider

    def _has_news(self) -> bool:
        """Whether anything was stored since the last pass began."""
        table = CrawlTable.of(self.crawler)
        table.publish()
        stored, unchanged = (self.crawler.stats.get_value(f"webtable/{name}", 0) for name in ("stored", "unchanged"))
        before, self._new_before = self._new_before, int(stored) - int(unchanged)
        return self._new_before != before

    def _rises(self) -> bool:
        """Go to the next level; return whether there is one."""
        if self._level is None or self._level == self._depth:
            return False
        self._level += 1
        return True

    def _read_on(self) -> None:
        self._is_reading = True
        deferred_from_coro(self._schedule_more())

    async def _schedule_more(self) -> None:
        """Schedule the next requests: of a sitemap, of the URLs in one, or of what the table has."""
        try:
            if self._pass is None:
                await CrawlTable.of(self.crawler).flush()
                self._pass, self._requested = self._unfetched(), 0
            scheduled = 0
            async for request in self._pass:
                self.crawler.engine.crawl(request)
                self._requested += 1
                scheduled += 1
                if scheduled == AT_ONCE or self._left <= 0:
                    return
            self._pass = None
            if not self._requested:
                await self._close()
        except Exception as exc:  # noqa: BLE001 - nobody waits for this coroutine
            self._left = 0
            CrawlTable.of(self.crawler).outcomes.log(logging.ERROR, "not-read", f"the crawl ends: {exc!r}")
        finally:
            self._is_reading = False

    async def _close(self) -> None:
        """End the crawl; the engine itself would look some seconds later whether there is more to do."""
        engine = self.crawler.engine
        if hasattr(engine, "close_spider_async"):  # Scrapy 2.14
            await engine.close_spider_async(reason="finished")
        else:
            await maybe_deferred_to_future(engine.close_spider(self, "finished"))

    async def _unfetched(self) -> AsyncIterator[scrapy.Request]:
        """Yield the requests of a pass: for URLs of sitemaps, or else a sitemap, or else what the table has."""
        table, count = CrawlTable.of(self.crawler), 0
        while self._listed:
            urls = [self._listed.popleft() for _ in range(min(AT_ONCE, len(self._listed)))]
            for url in self._taken(await table.read(partial(_not_stored, urls))):
                yield scrapy.Request(url, errback=self.failed, meta={**_NOT_FOLLOWED, "depth": 0})
                count += 1
        if count:
            return
        if self._sitemaps:
            meta = {"handle_httpstatus_all": True}  # without a robots.txt there may still be a sitemap
            yield scrapy.Request(self._sitemaps.popleft(), callback=self.parse_sitemap, meta=meta)
            return
        while not count:
            of_level = {} if self._level is None else {"depth": self._level}
            for site in self._sites:
                async for request in self.discovered_requests(site, self._level):
                    for _ in self._taken([request.url]):
                        yield request.replace(errback=self.failed, meta=_NOT_FOLLOWED | of_level)
                        count += 1
            if not count and not self._rises():
                return

    def _taken(self, urls: Iterable[str]) -> Iterable[str]:
        """Yield *urls* as long as the limit is not reached."""
        for url in urls:
            if self._left <= 0:
                return
            self._left -= 1
            yield url

    def parse_sitemap(self, response: Response, **kwargs: Any) -> None:
        """Keep the URLs and the further sitemaps that *response* has: a sitemap, an index of them, or robots.txt."""
        if response.url.endswith("/robots.txt"):
            sitemaps = list(sitemap_urls_from_robots(response.body, base_url=response.url))
            self._add_sitemaps(sitemaps or [response.urljoin("/sitemap.xml")])
            return
        body = response.body
        try:
            sitemap = Sitemap(gunzip(body, max_size=MAX_SITEMAP) if body.startswith(_GZIP) else body)
            urls = list(filter(None, (self._urls.clean(entry["loc"]) for entry in islice(sitemap, MAX_SITEMAP_URLS))))
        except (SyntaxError, StopIteration, ValueError) as exc:
            text = f"{response.url[:200]} is not read as a sitemap: {exc!r}"
            CrawlTable.of(self.crawler).outcomes.log(logging.WARNING, "not-read", text)
            return
        if sitemap.type == "sitemapindex":
            self._add_sitemaps(urls)
        else:
            self._listed.extend(urls)

    def _add_sitemaps(self, urls: Iterable[str]) -> None:
        new = [url for url in dict.fromkeys(urls) if url not in self._seen_sitemaps]
        new = new[: MAX_SITEMAPS - len(self._seen_sitemaps)]
        self._sitemaps.extend(new)
        self._seen_sitemaps.update(new)


def _not_stored(urls: Sequence[str], table: WebTable) -> list[str]:
    return [url for url, page in zip(urls, table.get_many(urls), strict=True) if page is None]
