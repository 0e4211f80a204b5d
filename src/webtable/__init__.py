"""Crawled web pages in HBase, or in one SQLite file, under row keys that are right."""

from webtable.errors import InvalidURL, WebTableError, WriteFailed
from webtable.page import Link, Page, PageOutcome
from webtable.repository import (
    Batch,
    Pages,
    WebTable,
    Writer,
    create,
    open,
)
from webtable.rowkey import KeyRange, Salt, WebKey, canonical_url, split_points

__all__ = [
    "Batch",
    "InvalidURL",
    "KeyRange",
    "Link",
    "Page",
    "PageOutcome",
    "Pages",
    "Salt",
    "WebKey",
    "WebTable",
    "WebTableError",
    "WriteFailed",
    "Writer",
    "canonical_url",
    "create",
    "open",
    "split_points",
]
