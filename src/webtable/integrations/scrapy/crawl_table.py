"""The table of a crawler, and its one writer, for all components of that crawler."""

from __future__ import annotations

import logging
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

from scrapy import signals

import webtable
from webtable.errors import WriteFailed
from webtable.integrations.scrapy.outcomes import Outcomes
from webtable.integrations.scrapy.settings import TableSettings
from webtable.integrations.scrapy.waiting import finished

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from webtable import Page, WebTable

T = TypeVar("T")

_log = logging.getLogger(__name__)

_ATTRIBUTE = "_webtable"

MOST_WAITING = 16
"""How many pages wait for their turn before spiders wait for it."""

PUBLISHED_EVERY = 1.0
"""How many seconds the counts in the statistics are behind at most, while pages come."""


class CrawlTable:
    """The table that a crawler's settings name; `CrawlTable.of(crawler)` is the same one for each of its components.

    It is opened as the first component asks for it, before anything is requested, so that a crawl whose table is not
    there does not begin. Behind that nothing blocks the reactor: pages are put in one thread, in their order, and reads
    are made in some others. With the spider the writer is flushed, and all is closed.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = TableSettings.of(crawler.settings)
        self.outcomes = Outcomes()
        self.table: WebTable = webtable.open(settings.url, **settings.opening)
        try:
            self._writer = self.table.writer(**settings.writer)
        except BaseException:
            self.table.close()
            raise
        self._crawler = crawler
        self._published = 0.0
        # A deque, for two threads count by it.
        self._waiting: deque[str] = deque()
        self._putting = ThreadPoolExecutor(1, "webtable-scrapy-put")
        self._reading = ThreadPoolExecutor(settings.threads, "webtable-scrapy-read")
        crawler.signals.connect(self.close, signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """Return the table of *crawler*, opened where it is not yet; raises what `webtable.open` does."""
        made: Self | None = vars(crawler).get(_ATTRIBUTE)
        if made is None:
            made = vars(crawler)[_ATTRIBUTE] = cls(crawler)
        return made

    async def put(self, page: Page) -> None:
        """Have *page* taken to be stored, and return when it is; waits, where the buffer of the writer is full.

        Raises as `webtable.Writer.put` does.
        """
        await self.taken(self.put_soon(page))

    async def taken(self, putting: Future[None]) -> None:
        """Return when a page of `put_soon` was taken; raises what it was not taken for."""
        await finished(putting)

    @property
    def is_behind(self) -> bool:
        """Whether so many pages wait to be taken that whoever puts more should wait as well."""
        return len(self._waiting) > MOST_WAITING

    def put_soon(self, page: Page) -> Future[None]:
        """Have *page* put behind those before it; what keeps it from being stored is counted, and in the future."""
        if time.monotonic() > self._published + PUBLISHED_EVERY:
            self.publish()
        try:
            self._waiting.append(page.url)
            return self._putting.submit(self._put, page)
        except RuntimeError:  # the threads have ended
            self._waiting.pop()
            error = WriteFailed(f"{page.url[:200]} came behind the end of its spider")
            self.outcomes.failed(page.url, error)
            putting: Future[None] = Future()
            putting.set_exception(error)
            return putting

    async def read(self, question: Callable[[WebTable], T]) -> T:
        """Return what *question* says of the table, asked in a thread."""
        return await finished(self._reading.submit(question, self.table))

    def unread(self, url: str, error: Exception) -> None:
        """Count a page that could not be read, which is then fetched as if it were not stored."""
        _log.warning("not read: %s: %s", url[:200], error)
        self._crawler.stats.inc_value("webtable/unread")

    def publish(self) -> None:
        """Write the counts into the crawler's statistics."""
        self._published = time.monotonic()
        self.outcomes.publish(self._crawler.stats)

    async def close(self) -> None:
        """Store what was put, and close the table; what could not be stored is in the log, and counted."""
        try:
            await finished(self._putting.submit(self._close))
        except RuntimeError:
            return  # it is closed: the spider was stopped twice
        self._putting.shutdown(wait=False)
        self._reading.shutdown(wait=False)
        self.publish()

    def _put(self, page: Page) -> None:
        began = time.monotonic()
        self._waiting.popleft()
        try:
            receipt = self._writer.put(page)
        except Exception as exc:
            self.outcomes.failed(page.url, exc)
            raise
        receipt.add_done_callback(partial(self.outcomes.told, began))

    def _close(self) -> None:
        try:
            self.table.close()
        except Exception as exc:  # noqa: BLE001 - the spider is closed all the same, and so are its other components
            _log.error("%s: %s", self.table.name, exc)
