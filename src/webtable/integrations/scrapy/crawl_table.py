"""The table and the writer that all components of a crawler share, and the counts of what was put."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from pickle import PickleError
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar
from weakref import WeakKeyDictionary

from scrapy import signals
from twisted.internet.defer import Deferred

import webtable
from webtable import URLFilter
from webtable.errors import InvalidArgument, WebTableError, WriteFailed
from webtable.integrations.scrapy.writer_process import WriterProcess
from webtable.page.methods import DEFAULT_METHODS, wanted_methods

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Request
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from webtable import Page, WebTable
    from webtable.writing import PageOutcome


# --- Settings ---------------------------------------------------------------------------------------------------------


THREADS = 8

_WRITER = {
    "WEBTABLE_BUFFER_BYTES": int,
    "WEBTABLE_BUFFER_PAGES": int,
    "WEBTABLE_MAX_AGE": float,
    "WEBTABLE_MAX_BODY": int,
    "WEBTABLE_DETECT_LANGUAGE": bool,
    "WEBTABLE_IN_FLIGHT": int,
    "WEBTABLE_DEADLINE": float,
    "WEBTABLE_SPOOL": str,
}
"""The options of `WebTable.writer`, by the names of the settings."""

_KNOWN = {
    *_WRITER,
    "WEBTABLE_URI",
    "WEBTABLE_CREATE",
    "WEBTABLE_OPEN",
    "WEBTABLE_STORE_RESPONSES",
    "WEBTABLE_METHODS",
    "WEBTABLE_THREADS",
    "WEBTABLE_URLS",
    "WEBTABLE_WRITER_PROCESS",
}


@dataclass(frozen=True, slots=True)
class TableSettings:
    """The settings of a crawler: its table, the options to open it and to make its writer, and the concurrent reads.

    *apart* says whether pages are completed and stored in another process (None: where that is possible and of use),
    *methods* which requests are answered by pages, None for all, and *urls* which addresses are wanted.
    """

    url: str = field(repr=False)
    opening: dict[str, Any] = field(default_factory=dict)
    writer: dict[str, Any] = field(default_factory=dict)
    threads: int = THREADS
    apart: bool | None = None
    methods: frozenset[str] | None = DEFAULT_METHODS
    urls: URLFilter | None = None

    @classmethod
    def of(cls, settings: BaseSettings) -> Self:
        """The settings of webtable in *settings*; raises `InvalidArgument` for a missing, unknown or wrong one."""
        if unknown := sorted(name for name in settings if name.startswith("WEBTABLE_") and name not in _KNOWN):
            raise InvalidArgument(f"{unknown[0]} is not a setting of webtable; there are {', '.join(sorted(_KNOWN))}")
        if not settings.get("WEBTABLE_URI"):
            raise InvalidArgument(
                "the setting WEBTABLE_URI is missing: a file, as in 'crawl.db', or 'hbase://host:9090/table'"
            )
        options = {name: settings.get(name) for name in _WRITER if settings.get(name) is not None}
        options |= {name: settings.getbool(name) for name in options if _WRITER[name] is bool}
        writer = {
            name.removeprefix("WEBTABLE_").lower(): _as(_WRITER[name], name, value) for name, value in options.items()
        }
        return cls(
            str(settings["WEBTABLE_URI"]),
            {"create": settings.getbool("WEBTABLE_CREATE"), **_dictionary(settings, "WEBTABLE_OPEN")},
            writer,
            _as(int, "WEBTABLE_THREADS", settings.get("WEBTABLE_THREADS", THREADS)),
            None if settings.get("WEBTABLE_WRITER_PROCESS") is None else settings.getbool("WEBTABLE_WRITER_PROCESS"),
            _methods(settings),
            _filter(settings),
        )


def _methods(settings: BaseSettings) -> frozenset[str] | None:
    names = settings.getlist("WEBTABLE_METHODS", [*DEFAULT_METHODS])
    return wanted_methods(["*" if name.strip().lower() == "all" else name.strip() for name in names])


def _filter(settings: BaseSettings) -> URLFilter | None:
    """Return the filter of addresses, which may be given by its arguments, also in JSON."""
    setting = settings.get("WEBTABLE_URLS")
    if setting is None or isinstance(setting, URLFilter):
        return setting
    arguments = _dictionary(settings, "WEBTABLE_URLS")
    if unknown := sorted(arguments.keys() - {field.name for field in fields(URLFilter)}):
        raise InvalidArgument(f"WEBTABLE_URLS: {unknown[0]!r} is not an argument of webtable.URLFilter")
    return URLFilter(**arguments)


def _as(kind: type[Any], name: str, value: object) -> Any:
    """Return *value*, which is text if it comes from the command line, converted to *kind*."""
    try:
        return kind(value)
    except (TypeError, ValueError) as exc:
        raise InvalidArgument(f"{name}={value!r} must be of type {kind.__name__}") from exc


def _dictionary(settings: BaseSettings, name: str) -> dict[str, Any]:
    try:
        return settings.getdict(name)
    except ValueError as exc:
        raise InvalidArgument(f"{name}={settings.get(name)!r} must be a dictionary, or one in JSON") from exc


# --- Table and writer -------------------------------------------------------------------------------------------------


T = TypeVar("T")

_logger = logging.getLogger(__name__)

_ATTRIBUTE = "_webtable"

MOST_WAITING = 16
"""How many pages may wait to be put before spiders have to wait."""

PUBLISHED_EVERY = 1.0
"""The longest delay, in seconds, of the counts in the statistics."""

MOST_LOGGED = 100
"""How many failed pages are named in the log; all are counted."""


class CrawlCounts:
    """Counts of pages that were put to *table*, and of the time until they were stored. Thread-safe."""

    def __init__(self, table: WebTable) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._stored = 0
        self._unchanged = 0
        self._dropped = 0
        self._other_methods: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._seconds = 0.0
        self._longest = 0.0

    def count(self, began: float, receipt: Future[PageOutcome]) -> None:
        """Count the page of *receipt*, which was put at *began* (`time.monotonic`)."""
        error = receipt.exception()
        if error is not None:
            self.failed(getattr(receipt, "url", ""), error)
            return
        seconds, outcome = time.monotonic() - began, receipt.result()
        with self._lock:
            self._stored += 1
            self._unchanged += not outcome.is_new
            self._dropped += outcome.pushed_out + (not outcome.is_kept) + outcome.replaced
            self._seconds += seconds
            self._longest = max(self._longest, seconds)

    def left_out(self, method: str) -> None:
        """Count a response that is not stored since it answers *method*."""
        with self._lock:
            self._other_methods[method] += 1

    def failed(self, url: str, error: BaseException) -> None:
        """Count the page *url*, which was not stored because of *error*."""
        with self._lock:
            self._failed[type(error).__name__] += 1
            number = self._failed.total()
        if number <= MOST_LOGGED:
            self.log(logging.ERROR, "not-stored", f"{url[:200]}: {error}")

    def log(self, level: int, event: str, text: str) -> None:
        """Log *event* of the table, with the fields that all records have."""
        store = self._table.store
        fields = {"store": store.name, "table": self._table.table, "seconds": 0.0, "server": store.server}
        _logger.log(level, "%s: %s", event.replace("-", " "), text, extra={"event": event, **fields})

    def publish(self, stats: StatsCollector) -> None:
        """Write the counts into *stats*; to be called in the thread to which they belong."""
        with self._lock:
            values: dict[str, float] = {
                "webtable/stored": self._stored,
                "webtable/unchanged": self._unchanged,
                "webtable/dropped": self._dropped,
                "webtable/failed": self._failed.total(),
                "webtable/latency_mean": round(self._seconds / max(1, self._stored), 3),
                "webtable/latency_max": round(self._longest, 3),
                **{f"webtable/other_methods/{method}": count for method, count in self._other_methods.items()},
                **{f"webtable/failed/{reason}": count for reason, count in self._failed.items()},
            }
        for name, value in values.items():
            stats.set_value(name, value)


async def finished(future: Future[T]) -> T:
    """Wait for *future* without blocking the loop of asyncio, or the reactor of Twisted without one; return its result.

    Scrapy runs coroutines as tasks if there is such a loop, else as Deferreds; neither can await the objects of the
    other.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return await _fired(future)
    return await asyncio.wrap_future(future)


def _fired(future: Future[T]) -> Deferred[T]:
    # Imported here because the import installs the default reactor if there is none yet.
    from twisted.internet import reactor

    deferred: Deferred[T] = Deferred()

    def fire() -> None:
        error = future.exception()
        if error is None:
            deferred.callback(future.result())
        else:
            deferred.errback(error)

    future.add_done_callback(lambda _: reactor.callFromThread(fire))
    return deferred


class EarlyPage(NamedTuple):
    """The body of a response that was put when it was downloaded, and its pending put; None if it was left out."""

    body: bytes
    putting: Future[None] | None


class CrawlTable:
    """The table in the settings of a crawler; `CrawlTable.of(crawler)` is the same object for all of its components.

    The first component opens it before any request, so that a crawl whose table is missing does not begin. After that
    nothing blocks the reactor: pages are put in one thread, in order, and reads use a few other threads. When the
    spider is closed, the writer is flushed and everything is closed.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = TableSettings.of(crawler.settings)
        self.methods: Final = settings.methods
        self.urls: Final = settings.urls
        self.early: Final[WeakKeyDictionary[Request, EarlyPage]] = WeakKeyDictionary()
        """What was put before the other components got its response, by its request."""
        self.table: WebTable = webtable.open(settings.url, **settings.opening)
        self.outcomes: Final = CrawlCounts(self.table)
        try:
            self._apart = self._writer_process(settings)
            if self._apart is None:
                self._writer = self.table.writer(**settings.writer)
        except BaseException:
            self.table.close()
            raise
        self._crawler = crawler
        self._published = 0.0
        # A deque, because two threads use it.
        self._waiting: deque[str] = deque()
        self._putting = ThreadPoolExecutor(1, "webtable-scrapy-put")
        self._reading = ThreadPoolExecutor(settings.threads, "webtable-scrapy-read")
        crawler.signals.connect(self.close, signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """Return the table of *crawler*, opened if it is not yet; raises as `webtable.open` does."""
        made: Self | None = vars(crawler).get(_ATTRIBUTE)
        if made is None:
            made = vars(crawler)[_ATTRIBUTE] = cls(crawler)
        return made

    def _writer_process(self, settings: TableSettings) -> WriterProcess | None:
        """Return the process that stores pages; None if this one does.

        Without a setting this one does on a single processor, for a store in memory, and where another process cannot
        open the table: its arguments cannot be sent there, or name what only this program has.
        """
        is_asked_for = bool(settings.apart)
        if not is_asked_for:
            is_of_use = settings.apart is None and os.name == "posix" and (os.cpu_count() or 1) > 1
            if not is_of_use or not self.table.store.capabilities.is_of_processes:
                return None
        try:
            return WriterProcess(settings.url, settings.opening, settings.writer)
        except (WebTableError, OSError, PickleError, TypeError, AttributeError) as exc:
            if is_asked_for:
                raise
            self.outcomes.log(logging.INFO, "stored-here", f"the spider's process stores pages: {exc}")
            return None

    async def put(self, page: Page) -> None:
        """Put *page* into the writer; waits while its buffer is full.

        Raises as `webtable.Writer.put` does.
        """
        await finished(self.put_soon(page))

    @property
    def is_full(self) -> bool:
        """Whether so many pages are waiting that whoever puts more should wait."""
        return len(self._waiting) > MOST_WAITING

    def put_soon(self, page: Page) -> Future[None]:
        """Queue *page* to be put; an error is counted, and raised by the future."""
        if time.monotonic() > self._published + PUBLISHED_EVERY:
            self.publish()
        taken: Future[None] = Future()
        taken.set_running_or_notify_cancel()  # who waits for it no longer has the page stored all the same
        try:
            self._waiting.append(page.url)
            self._putting.submit(self._put, page, taken)
        except RuntimeError:  # the threads have been ended
            self._waiting.pop()
            error = WriteFailed(f"{page.url[:200]} arrived after its spider was closed")
            self.outcomes.failed(page.url, error)
            taken.set_exception(error)
        return taken

    def put_failed_soon(self, url: str, reason: str, detail: str) -> None:
        """Queue to be stored that *url* failed now; an error is counted."""
        with suppress(RuntimeError):  # the threads have been ended: the URL is as it was
            self._putting.submit(self._put_failed, url, reason, detail, datetime.now(UTC))

    async def read(self, question: Callable[[WebTable], T]) -> T:
        """Return *question* of the table, called in a thread."""
        return await finished(self._reading.submit(question, self.table))

    async def flush(self) -> None:
        """Have all pages stored that were put; failures are logged and counted.

        If another process stores them it does nothing: that is within `WEBTABLE_MAX_AGE`.
        """
        if self._apart is None:
            with suppress(WebTableError):
                await finished(self._putting.submit(self._writer.flush))

    def count_unreadable(self, url: str, error: Exception) -> None:
        """Count a page that could not be read and is therefore fetched."""
        self.outcomes.log(logging.WARNING, "not-read", f"{url[:200]}: {error}")
        self._crawler.stats.inc_value("webtable/unread")

    def publish(self) -> None:
        """Write the counts into the crawler's statistics."""
        self._published = time.monotonic()
        self.outcomes.publish(self._crawler.stats)

    async def close(self) -> None:
        """Flush the writer and close the table; failures are logged and counted."""
        try:
            await finished(self._putting.submit(self._close))
        except RuntimeError:
            return  # closed already: the spider was stopped twice
        self._putting.shutdown(wait=False)
        self._reading.shutdown(wait=False)
        self.publish()

    def _put(self, page: Page, taken: Future[None]) -> None:
        began = time.monotonic()
        try:
            receipt: Future[PageOutcome]
            if self._apart is None:
                receipt = self._writer.put(page)
                taken.set_result(None)
            else:
                receipt = self._apart.put(page, taken)
        except Exception as exc:  # noqa: BLE001 - whoever waits for the page gets it
            self.outcomes.failed(page.url, exc)
            taken.set_exception(exc)
        else:
            receipt.add_done_callback(partial(self.outcomes.count, began))
        finally:
            # Last: while the pipe is full, the page that waits for room in it counts.
            self._waiting.popleft()

    def _put_failed(self, url: str, reason: str, detail: str, at: datetime) -> None:
        try:
            self.table.put_failed(url, reason, at=at, detail=detail)
        except Exception as exc:  # noqa: BLE001 - nobody waits for it
            self.outcomes.failed(url, exc)

    def _close(self) -> None:
        try:
            with self.table:
                if self._apart is not None:
                    self._apart.close()
        except Exception as exc:  # noqa: BLE001 - the spider and its other components are closed in any case
            self.outcomes.log(logging.ERROR, "not-closed", f"{self.table.name}: {exc}")
