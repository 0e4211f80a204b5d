"""Files of crawled pages: WARC in, JSON Lines in and out."""

from webtable.formats.base import DEFAULT_TYPES, DamagedRecord, ReadReport
from webtable.formats.jsonl import page_to_json, write_pages
from webtable.formats.read import read_pages
from webtable.limits import ReadLimits

__all__ = [
    "DEFAULT_TYPES",
    "DamagedRecord",
    "ReadLimits",
    "ReadReport",
    "page_to_json",
    "read_pages",
    "write_pages",
]
