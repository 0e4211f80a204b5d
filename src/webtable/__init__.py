"""Crawled web pages in HBase, or in one SQLite file, under row keys that are right."""

from webtable.errors import InvalidURL, WebTableError, WriteFailed
from webtable.page import Link, Page, PageOutcome
from webtable.repository import (
    Batch,
    Pages,
    Record,
    RegionComparison,
    Table,
    WebTable,
    Writer,
    create,
    open,
    regions_of,
)
from webtable.rowkey import CompositeKey, KeyRange, Salt, WebKey, between, canonical_url, split_points

__all__ = [
    "Batch",
    "CompositeKey",
    "InvalidURL",
    "KeyRange",
    "Link",
    "Page",
    "PageOutcome",
    "Pages",
    "Record",
    "RegionComparison",
    "Salt",
    "Table",
    "WebKey",
    "WebTable",
    "WebTableError",
    "WriteFailed",
    "Writer",
    "between",
    "canonical_url",
    "create",
    "open",
    "regions_of",
    "split_points",
]
