"""Captures of a crawl: pages of responses and back, and what stores all that reach a spider, and items that are one."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from msgspec.structs import replace
from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from webtable import Page, WebTableError
from webtable.integrations.scrapy.crawl_table import CrawlTable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from concurrent.futures import Future

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Request

FROM_TABLE = "webtable"
"""The flag of a response that was made of a stored page; it is not stored again."""

_REDIRECTS = {301, 302, 303, 307, 308}
_CUT = {"dataloss", "download_stopped", "partial"}
"""The flags of a response whose body is not whole."""

_OF_THE_CONNECTION = {"content-encoding", "content-length", "set-cookie", "transfer-encoding"}
"""Headers that say nothing of a stored body; cookies are joined, and another session's."""

_FIELDS: Final = frozenset(Page.__struct_fields__)
_NEEDED: Final = frozenset({"url", "body"})


def page_of(response: Response) -> Page:
    """Return *response* as a page that was fetched now; it is `truncated` where its body did not come whole."""
    page = Page.from_response(response, fetched_at=datetime.now(UTC))
    return replace(page, truncated=True) if _CUT.intersection(response.flags) else page


def is_redirect(response: Response) -> bool:
    """Whether *response* leads elsewhere; Scrapy follows it, and no spider sees it."""
    return response.status in _REDIRECTS


def redirect_of(response: Response) -> Page:
    """Return the redirect *response*, as it was downloaded, as a page; without its body where that is encoded."""
    page = page_of(response)
    return replace(page, body=None) if "Content-Encoding" in response.headers else page


def response_of(page: Page, request: Request, *flags: str) -> Response | None:
    """Return the stored *page* as the response to *request*, with `FROM_TABLE` and *flags*.

    None where its body is not stored as a whole (any more).
    """
    if page.truncated or (page.body is None and page.size):
        return None
    body = page.body or b""
    headers = Headers({name: value for name, value in page.headers.items() if name.lower() not in _OF_THE_CONNECTION})
    headers.setdefault("Date", format_datetime(page.fetched_at, usegmt=True))
    for name, value in (("Content-Type", page.content_type), ("Location", page.redirect_to)):
        if value is not None:
            headers.setdefault(name, value)
    kind = responsetypes.from_args(headers=headers, url=request.url, body=body)
    return kind(request.url, page.status, headers, body, flags=[FROM_TABLE, *flags], request=request)


class WebTableMiddleware:
    """Stores every response, and every redirect that is followed, where `WEBTABLE_STORE_RESPONSES` is set.

    Put it in front of the others (25), so that it is given the errors (404, 500) as well, which `HttpErrorMiddleware`
    keeps from spiders. Where the store is slower than the web, what a spider makes of a response goes on when that was
    taken to be stored, so the engine is held back. What cannot be stored is in the log and in the statistics.
    """

    def __init__(self, table: CrawlTable) -> None:
        self._table = table
        self._under_way: WeakKeyDictionary[Response, Future[None]] = WeakKeyDictionary()
        """The puts of responses that their spider is at work on."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of *crawler*; raises what keeps its table from being opened."""
        if not crawler.settings.getbool("WEBTABLE_STORE_RESPONSES"):
            raise NotConfigured
        made = cls(CrawlTable.of(crawler))
        crawler.signals.connect(made.response_downloaded, signals.response_downloaded)
        return made

    def response_downloaded(self, response: Response) -> None:
        """Have *response* put where it is a redirect: those that are followed come to no spider."""
        if is_redirect(response):
            self._table.put_soon(redirect_of(response))

    def process_spider_input(self, response: Response, spider: Spider | None = None) -> None:
        """Have *response* put."""
        if FROM_TABLE in response.flags or is_redirect(response):
            return
        try:
            self._under_way[response] = self._table.put_soon(page_of(response))
        except WebTableError as exc:
            self._table.outcomes.failed(response.url, exc)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Spider | None = None
    ) -> AsyncIterator[Any]:
        """Yield *result*, when *response* was taken."""
        if self._table.is_behind:
            await self._taken(response)
        async for one in result:
            yield one

    def process_spider_exception(
        self, response: Response, exception: Exception, spider: Spider | None = None
    ) -> AsyncIterator[Any] | None:
        """Hold back the *exception* of a callback as its results are, where *response* was not taken yet."""
        return self._raised(response, exception) if self._table.is_behind else None

    async def _raised(self, response: Response, exception: Exception) -> AsyncIterator[Any]:
        await self._taken(response)
        nothing: tuple[Any, ...] = ()
        for one in nothing:
            yield one
        raise exception

    async def _taken(self, response: Response) -> None:
        putting = self._under_way.pop(response, None)
        if putting is not None:
            # What went wrong is logged and counted, and no fault of the spider.
            with suppress(WebTableError):
                await self._table.taken(putting)


class WebTablePipeline:
    """Stores the items that are pages: a `Page`, a response, or an item (a dict, a dataclass …) with `url` and `body`.

    Of the latter the fields that pages have are stored. What is no page passes. An item goes on when it was taken to be
    stored; one that cannot be raises, which Scrapy logs.
    """

    def __init__(self, table: CrawlTable) -> None:
        self._table = table

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of *crawler*; raises what keeps its table from being opened."""
        return cls(CrawlTable.of(crawler))

    async def process_item(self, item: Any, spider: Spider | None = None) -> Any:
        """Return *item*, when it was taken to be stored, where it is a page."""
        page = _page_in(item)
        if page is not None:
            await self._table.put(page)
        return item


def _page_in(item: Any) -> Page | None:
    if isinstance(item, Page):
        return item
    if isinstance(item, Response):
        return None if FROM_TABLE in item.flags else page_of(item)
    if not ItemAdapter.is_item(item):
        return None
    given = ItemAdapter(item)
    if not given.keys() >= _NEEDED:
        return None
    fields = {name: given[name] for name in _FIELDS & given.keys()}
    if isinstance(fields["body"], str):
        fields |= {"body": fields["body"].encode(), "charset": "utf-8"}
    return Page(**fields)
