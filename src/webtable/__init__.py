"""Store crawled web pages in HBase or in one SQLite file, and ask questions about the crawl.

`open` returns a `WebTable`, which stores `Page` values and answers questions. The other public names are in modules:

    webtable.page         pages, links and headers
    webtable.answers      what questions return
    webtable.writing      what becomes of written pages
    webtable.indexes      indexes of your own
    webtable.maintenance  options and reports of operating a table
    webtable.metrics      snapshots of the metrics
    webtable.records      tables of records under a row key of your own
    webtable.url_filter   which URLs are wanted
    webtable.rowkey       row keys
    webtable.schema       layouts, tables and column families
    webtable.store        the port to stores
    webtable.formats      files of pages: WARC, WACZ, ARC, HAR, Parquet, JSON Lines
    webtable.parallel     answers read by several processes
    webtable.reports      audits and comparisons of sites
    webtable.progress     progress bars
    webtable.aio          the same for asyncio
    webtable.testing      fixtures for your tests
    webtable.integrations Scrapy, Spark, Dask, Ray, Prometheus, OpenTelemetry
    webtable.errors       everything that can go wrong
"""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.errors import WebTableError, WriteFailed
    from webtable.page.page import Page
    from webtable.page.parts import Link
    from webtable.repository.keyed_table.table import KeyedTable
    from webtable.repository.maintenance.doctor import doctor
    from webtable.repository.reading.scope import ALL, HostOnly
    from webtable.repository.table.opening import create, open
    from webtable.repository.table.web_table import WebTable
    from webtable.repository.writing.writer import Writer
    from webtable.url_filter import URLFilter

__all__ = [
    "ALL",
    "HostOnly",
    "KeyedTable",
    "Link",
    "Page",
    "URLFilter",
    "WebTable",
    "WebTableError",
    "WriteFailed",
    "Writer",
    "create",
    "doctor",
    "open",
]

_HOMES: dict[str, tuple[str, ...]] = {
    "webtable.page.page": ("Page",),
    "webtable.page.parts": ("Link",),
    "webtable.errors": ("WebTableError", "WriteFailed"),
    "webtable.repository.maintenance.doctor": ("doctor",),
    "webtable.repository.table.opening": ("create", "open"),
    "webtable.repository.keyed_table.table": ("KeyedTable",),
    "webtable.repository.reading.scope": ("ALL", "HostOnly"),
    "webtable.repository.table.web_table": ("WebTable",),
    "webtable.repository.writing.writer": ("Writer",),
    "webtable.url_filter": ("URLFilter",),
}
_MODULES = (
    "aio",
    "answers",
    "errors",
    "formats",
    "indexes",
    "ingest",
    "integrations",
    "maintenance",
    "metrics",
    "page",
    "parallel",
    "progress",
    "records",
    "reports",
    "rowkey",
    "schema",
    "store",
    "testing",
    "url_filter",
    "writing",
)

if not TYPE_CHECKING:  # a checker would take every name for one that is there
    __getattr__, __dir__ = late(__name__, _HOMES, _MODULES)
