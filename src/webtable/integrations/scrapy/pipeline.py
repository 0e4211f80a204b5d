"""The item pipeline: items that are pages are stored, others pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from itemadapter import ItemAdapter
from scrapy.http import Response

from webtable import Page
from webtable.integrations.scrapy.crawl_table import CrawlTable
from webtable.integrations.scrapy.responses import FROM_TABLE, page_of

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

_FIELDS: Final = frozenset(Page.__struct_fields__)
_NEEDED: Final = frozenset({"url", "html"})


class WebTablePipeline:
    """Stores the items that are pages: a `Page`, a response, or an item (a dict, a dataclass …) with `url` and `html`.

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
    if isinstance(fields["html"], str):
        fields |= {"html": fields["html"].encode(), "charset": "utf-8"}
    return Page(**fields)
