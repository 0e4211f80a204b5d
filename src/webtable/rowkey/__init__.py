"""Row keys: URLs to bytes and back, salts, key ranges and split points. Pure: no I/O."""

from webtable.rowkey.ranges import KeyRange, merged, prefix_range, prefix_stop
from webtable.rowkey.salt import Salt, registered_domain, suffix_list_version
from webtable.rowkey.splits import split_points
from webtable.rowkey.urls import canonical_host, canonical_url, join_url
from webtable.rowkey.web import MAX_WEB_KEY, WebKey

__all__ = [
    "MAX_WEB_KEY",
    "KeyRange",
    "Salt",
    "WebKey",
    "canonical_host",
    "canonical_url",
    "join_url",
    "merged",
    "prefix_range",
    "prefix_stop",
    "registered_domain",
    "split_points",
    "suffix_list_version",
]
