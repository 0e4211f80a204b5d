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
from scrapy.responsetypes import responsetypes

from webtable import Page, WebTableError
from webtable.integrations.scrapy.crawl_table import CrawlTable, finished
from webtable.page.methods import DEFAULT_METHODS, is_wanted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from concurrent.futures import Future

    from scrapy.crawler import Crawler

FROM_TABLE = "webtable"
"""The flag of a response made from a stored page; it is not stored again."""

_REDIRECTS = {301, 302, 303, 307, 308}
"""The statuses of redirects that Scrapy follows and spiders do not see."""
_CUT = {"dataloss", "download_stopped", "partial"}
"""The flags of a response whose body is incomplete."""

_OF_THE_CONNECTION = {"content-encoding", "content-length", "set-cookie", "transfer-encoding"}
"""Headers that do not describe a stored body, and cookies, which are joined and belong to another session."""

_FIELDS: Final = frozenset(Page.__struct_fields__)
_NEEDED: Final = frozenset({"url", "body"})


def page_of(response: Response, methods: frozenset[str] | None = DEFAULT_METHODS) -> Page:
    """Return *response* as a page fetched now, `truncated` if its body is incomplete.

    Raises `InvalidArgument` for one to another method than *methods*.
    """
    page = Page.from_response(response, fetched_at=datetime.now(UTC), methods=methods)
    return replace(page, truncated=True) if _CUT.intersection(response.flags) else page


def is_to_be_stored(response: Response, table: CrawlTable) -> bool:
    """Whether *response* answers one of the methods in the settings of *table*; if not, it is counted there."""
    method = "GET" if response.request is None else response.request.method.upper()
    is_stored = is_wanted(table.methods, method)
    if not is_stored:
        table.outcomes.left_out(method)
    return is_stored


def redirect_of(response: Response, methods: frozenset[str] | None) -> Page:
    """Return the redirect *response*, as it was downloaded, as a page; without its body if that is encoded."""
    page = page_of(response, methods)
    return replace(page, body=None) if "Content-Encoding" in response.headers else page


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
    """Stores every response, and every redirect that is followed, if `WEBTABLE_STORE_RESPONSES` is set.

    Put it first among the spider middlewares (25), so that it also gets errors (404, 500), which `HttpErrorMiddleware`
    keeps from spiders. The results of a callback are passed on when the response is in the buffer of the writer, so a
    store that is slower than the crawl slows it down. Failures are logged and counted in the statistics.
    """

    def __init__(self, table: CrawlTable) -> None:
        self._table = table
        self._under_way: WeakKeyDictionary[Response, Future[None]] = WeakKeyDictionary()
        """The pending puts of responses that spiders are processing."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of *crawler*; raises the errors of opening its table."""
        if not crawler.settings.getbool("WEBTABLE_STORE_RESPONSES"):
            raise NotConfigured
        made = cls(CrawlTable.of(crawler))
        crawler.signals.connect(made.response_downloaded, signals.response_downloaded)
        return made

    def response_downloaded(self, response: Response) -> None:
        """Put *response* if it is a redirect: those that are followed do not reach a spider."""
        if response.status in _REDIRECTS and is_to_be_stored(response, self._table):
            self._table.put_soon(redirect_of(response, self._table.methods))

    def process_spider_input(self, response: Response, spider: Spider | None = None) -> None:
        """Put *response*, unless it answers a method that is left out, which is counted."""
        is_known = FROM_TABLE in response.flags or response.status in _REDIRECTS
        if is_known or not is_to_be_stored(response, self._table):
            return
        try:
            self._under_way[response] = self._table.put_soon(page_of(response, self._table.methods))
        except WebTableError as exc:
            self._table.outcomes.failed(response.url, exc)

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
