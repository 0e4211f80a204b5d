"""Conversion between responses and pages, and the components that store responses and items."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from msgspec.structs import replace
from scrapy import Spider, signals
from scrapy.exceptions import NotConfigured
from scrapy.http import Headers, Request, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.responsetypes import responsetypes

from webtable import Page, WebTableError
from webtable.formats.http import Decoded, content_decoded
from webtable.formats.read_report import Damaged
from webtable.integrations.scrapy.crawl_table import CrawlTable, EarlyPage, finished
from webtable.page.methods import DEFAULT_METHODS, is_wanted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from concurrent.futures import Future

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

_ATTRIBUTE = "_webtable_middleware"

FROM_TABLE = "webtable"
"""The flag of a response made from a stored page; it is not stored again."""

_REDIRECTS = {301, 302, 303, 307, 308}
"""The statuses of redirects that Scrapy follows and spiders do not see."""
_REFRESH_WITHIN = 1 << 14
"""How much of a body may have the meta refresh that Scrapy follows: 4,096 characters of at most four bytes."""
_CUT = {"dataloss", "download_stopped", "partial"}
"""The flags of a response whose body is incomplete."""

_OF_THE_CONNECTION = {"content-encoding", "content-length", "set-cookie", "transfer-encoding"}
"""Headers that do not describe a stored body, and cookies, which are joined and belong to another session."""

_FIELDS: Final = frozenset(Page.__struct_fields__)
_NEEDED: Final = frozenset({"url", "body"})


def page_of(response: Response, methods: frozenset[str] | None = DEFAULT_METHODS) -> Page:
    """Return *response* as a page fetched now, `truncated` if its body is incomplete.

    A body that Scrapy has not decoded yet is decoded as far as that goes; one that is too large then is left out.
    Raises `InvalidArgument` for one to another method than *methods*.
    """
    page = Page.from_response(response, fetched_at=datetime.now(UTC), methods=methods)
    if response.request is not None:
        page = replace(page, **_fetch_of(response.request))
    if page.body and "Content-Encoding" in response.headers:
        body, problem = decoded(response)
        # A body that no encoding fits is kept as it came.
        page = replace(page, body=body or None, truncated=problem is not None and body != page.body)
    return replace(page, truncated=True) if _CUT.intersection(response.flags) else page


def _fetch_of(request: Request) -> dict[str, Any]:
    """What Scrapy knows of the fetch of *request*, as fields of a page."""
    meta = request.meta
    # Scrapy's own middleware counts from the start requests, whose depth it sets after their responses were stored.
    depth = meta.get("depth", 0 if meta.get("is_start_request") else None)
    retries, latency = meta.get("retry_times", 0), meta.get("download_latency")
    return {
        "depth": depth if type(depth) is int and depth >= 0 else None,
        "priority": request.priority or None,
        "duration": round(1_000 * latency) if isinstance(latency, float) else None,
        "attempts": retries + 1 if type(retries) is int else None,
    }


def decoded(response: Response) -> Decoded:
    """Return the body of *response* without content encodings, and why it is not what these say.

    It is empty if it is too large without them.
    """
    encodings = b",".join(response.headers.getlist("Content-Encoding")).decode("latin-1")
    try:
        return content_decoded(response.body, encodings) if encodings else Decoded(response.body)
    except Damaged as exc:
        return Decoded(b"", str(exc))


def is_to_be_stored(response: Response, table: CrawlTable) -> bool:
    """Whether *response* answers one of the methods in the settings of *table*; if not, it is counted there."""
    method = "GET" if response.request is None else response.request.method.upper()
    is_stored = is_wanted(table.methods, method)
    if not is_stored:
        table.outcomes.left_out(method)
    return is_stored


def may_refresh(body: bytes) -> bool:
    """Whether *body* may have a meta refresh that Scrapy follows, which decides by all rules of HTML."""
    # Without the zeros, UTF-16 reads like ASCII here.
    return b"refresh" in body[:_REFRESH_WITHIN].replace(b"\0", b"").lower()


def response_of(page: Page, request: Request, *flags: str) -> Response | None:
    """Return the stored *page* as the response to *request*, with `FROM_TABLE` and *flags*.

    None if its body is not stored, or is incomplete.
    """
    if page.truncated or (page.body is None and page.size):
        return None
    body = page.body or b""
    headers = Headers({name: value for name, value in page.headers.items() if name.lower() not in _OF_THE_CONNECTION})
    # Policies of the HTTP cache compute the age of a response by it.
    headers.setdefault("Date", format_datetime(page.fetched_at, usegmt=True))
    for name, value in (("Content-Type", page.content_type), ("Location", page.redirect_to)):
        if value is not None:
            headers.setdefault(name, value)
    kind = responsetypes.from_args(headers=headers, url=request.url, body=body)
    return kind(request.url, page.status, headers, body, flags=[FROM_TABLE, *flags], request=request)


class WebTableMiddleware:
    """Stores every response to a spider's requests if `WEBTABLE_STORE_RESPONSES` is set.

    Put it first among the spider middlewares (25), so that it also gets errors (404, 500), which `HttpErrorMiddleware`
    keeps from spiders. What Scrapy takes before a spider middleware (redirects and meta refreshes that are followed,
    errors that are retried) is stored when it was downloaded. To store those too that Scrapy's own HTTP cache answers,
    put it among the downloader middlewares as well (899).

    The results of a callback are passed on when the response is in the buffer of the writer, so a store that is slower
    than the crawl slows it down. Failures are logged and counted in the statistics.
    """

    def __init__(self, table: CrawlTable, settings: BaseSettings) -> None:
        self._table = table
        self._not_for_spiders = _REDIRECTS | set(map(int, settings.getlist("RETRY_HTTP_CODES")))
        """The statuses of responses that may be followed or retried."""
        self._max_size = settings.getint("DOWNLOAD_MAXSIZE")
        self._under_way: WeakKeyDictionary[Response, Future[None]] = WeakKeyDictionary()
        """The pending puts of responses that spiders are processing."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of *crawler*, the same one each time; raises the errors of opening its table."""
        if not crawler.settings.getbool("WEBTABLE_STORE_RESPONSES"):
            raise NotConfigured
        made: Self | None = vars(crawler).get(_ATTRIBUTE)
        if made is None:
            made = vars(crawler)[_ATTRIBUTE] = cls(CrawlTable.of(crawler), crawler.settings)
            crawler.signals.connect(made.response_downloaded, signals.response_downloaded)
        return made

    def response_downloaded(self, response: Response, request: Request) -> None:
        """Put *response* if a spider may not get it: if Scrapy follows it, retries it, or cannot decode it."""
        # What components fetch for themselves, robots.txt and the files of media pipelines, is not the spider's.
        if request.callback is NO_CALLBACK:
            return
        body, problem = decoded(response)
        max_size = request.meta.get("download_maxsize", self._max_size)
        is_dropped = bool(problem) or 0 < max_size < len(body)
        if not (is_dropped or response.status in self._not_for_spiders or may_refresh(body)):
            return
        # Scrapy sets it later, and the method of the request is needed.
        response.request = response.request or request
        putting = None
        if is_to_be_stored(response, self._table):
            try:
                page = page_of(response, self._table.methods)
            except WebTableError as exc:
                self._table.outcomes.failed(response.url, exc)
            else:
                if 0 < max_size < len(body):
                    page = replace(page, body=None, truncated=True)
                putting = self._table.put_soon(page)
        self._table.early[request] = EarlyPage(body, putting)

    def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Response:
        """Return *response*; one of Scrapy's HTTP cache is put as those are that were downloaded."""
        if "cached" in response.flags and FROM_TABLE not in response.flags:
            self.response_downloaded(response, request)
        return response

    def process_spider_input(self, response: Response, spider: Spider | None = None) -> None:
        """Put *response* unless it was put already, or answers a method that is left out, which is counted."""
        if FROM_TABLE in response.flags or self._is_early(response) or not is_to_be_stored(response, self._table):
            return
        try:
            self._under_way[response] = self._table.put_soon(page_of(response, self._table.methods))
        except WebTableError as exc:
            self._table.outcomes.failed(response.url, exc)

    def _is_early(self, response: Response) -> bool:
        """Whether *response* was put, or left out, when it was downloaded; not if a middleware has changed it since."""
        early = None if response.request is None else self._table.early.get(response.request)
        if early is None or early.putting is None:
            return early is not None
        self._under_way[response] = early.putting
        return early.body == decoded(response).body

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Spider | None = None
    ) -> AsyncIterator[Any]:
        """Yield *result* after *response* was accepted by the writer."""
        if self._table.is_full:
            await self._taken(response)
        async for item in result:
            yield item

    def process_spider_exception(
        self, response: Response, exception: Exception, spider: Spider | None = None
    ) -> AsyncIterator[Any] | None:
        """Delay the *exception* of a callback, like results, until *response* was accepted."""
        return self._raised(response, exception) if self._table.is_full else None

    # Scrapy takes an iterator for the result of the exception, and raises what that raises.
    async def _raised(self, response: Response, exception: Exception) -> AsyncIterator[Any]:
        await self._taken(response)
        nothing: tuple[Any, ...] = ()
        for item in nothing:
            yield item
        raise exception

    async def _taken(self, response: Response) -> None:
        putting = self._under_way.pop(response, None)
        if putting is not None:
            # The failure is logged and counted; it is not an error of the spider.
            with suppress(WebTableError):
                await finished(putting)


class WebTablePipeline:
    """Stores the items that are pages: a `Page`, a response, or an item (a dict, a dataclass …) with `url` and `body`.

    Of an item only the fields that a page has are stored. Items that are not pages are passed on. A page is passed on
    after the writer has accepted it; one that cannot be stored raises, which Scrapy logs.
    """

    def __init__(self, table: CrawlTable) -> None:
        self._table = table

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of *crawler*; raises the errors of opening its table."""
        return cls(CrawlTable.of(crawler))

    async def process_item(self, item: Any, spider: Spider | None = None) -> Any:
        """Return *item*; if it is a page, after the writer has accepted it."""
        page = self._page_in(item)
        if page is not None:
            await self._table.put(page)
        return item

    def _page_in(self, item: Any) -> Page | None:
        if isinstance(item, Page):
            return item
        if isinstance(item, Response):
            is_new = FROM_TABLE not in item.flags and is_to_be_stored(item, self._table)
            return page_of(item, self._table.methods) if is_new else None
        if not ItemAdapter.is_item(item):
            return None
        adapter = ItemAdapter(item)
        if not adapter.keys() >= _NEEDED:
            return None
        fields = {name: adapter[name] for name in _FIELDS & adapter.keys()}
        if isinstance(fields["body"], str):
            fields |= {"body": fields["body"].encode(), "charset": "utf-8"}
        return Page(**fields)
