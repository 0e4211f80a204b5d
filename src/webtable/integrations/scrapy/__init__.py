"""Components for Scrapy 2.13 and later that store responses and items as they arrive.

All components of a crawler share one table and one writer, which the settings `WEBTABLE_…` describe.
"""

from webtable._importable import needed

with needed("Scrapy", "scrapy"):
    import scrapy as _scrapy  # noqa: F401 - all modules here need it

from webtable.integrations.scrapy.captures import FROM_TABLE, WebTableMiddleware, WebTablePipeline
from webtable.integrations.scrapy.failed_fetch import FailedFetchMiddleware
from webtable.integrations.scrapy.http_cache import NOT_MODIFIED, ConditionalMiddleware, WebTableCacheStorage
from webtable.integrations.scrapy.robots import RobotsTxtMiddleware
from webtable.integrations.scrapy.start import WebTableStart
from webtable.integrations.scrapy.table_spider import TableSpider
from webtable.integrations.scrapy.url_filter import URLFilterMiddleware

__all__ = [
    "FROM_TABLE",
    "NOT_MODIFIED",
    "ConditionalMiddleware",
    "FailedFetchMiddleware",
    "RobotsTxtMiddleware",
    "TableSpider",
    "URLFilterMiddleware",
    "WebTableCacheStorage",
    "WebTableMiddleware",
    "WebTablePipeline",
    "WebTableStart",
]
