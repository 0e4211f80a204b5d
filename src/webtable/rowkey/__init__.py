"""Row keys: declared, encoded, decoded, scanned and judged. Pure: no I/O."""

from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.conditions import Condition, below, between, starting_with
from webtable.rowkey.dates import Date, DateTime, Time
from webtable.rowkey.domain import ReversedDomain
from webtable.rowkey.field import Field, Part
from webtable.rowkey.hashes import Hash
from webtable.rowkey.key import MAX_KEY, HashedKey, Latest, RowKey
from webtable.rowkey.key_text import key_text, parse_key
from webtable.rowkey.modifiers import Descending, Reversed
from webtable.rowkey.numbers import Digits, Hex, Int, UInt
from webtable.rowkey.ranges import KeyRange, merged, prefix_range, prefix_stop
from webtable.rowkey.salts import HashSalt, RandomSalt, RoundRobinSalt
from webtable.rowkey.splits import (
    hex_split_points,
    merged_split_points,
    sample_split_points,
    split_points,
    uniform_split_points,
)
from webtable.rowkey.text import Bytes, Constant, FixedText, Text
from webtable.rowkey.times import ReverseTimestamp, Timestamp
from webtable.rowkey.urls import canonical_host, canonical_url, join_url
from webtable.rowkey.web import MAX_WEB_KEY, WebKey
from webtable.rowkey.web_salt import Salt, registered_domain, suffix_list_version

__all__ = [
    "MAX_KEY",
    "MAX_WEB_KEY",
    "Bytes",
    "CompositeKey",
    "Condition",
    "Constant",
    "Date",
    "DateTime",
    "Descending",
    "Digits",
    "Field",
    "FixedText",
    "Hash",
    "HashSalt",
    "HashedKey",
    "Hex",
    "Int",
    "KeyRange",
    "Latest",
    "Part",
    "RandomSalt",
    "ReverseTimestamp",
    "Reversed",
    "ReversedDomain",
    "RoundRobinSalt",
    "RowKey",
    "Salt",
    "Text",
    "Time",
    "Timestamp",
    "UInt",
    "WebKey",
    "below",
    "between",
    "canonical_host",
    "canonical_url",
    "hex_split_points",
    "join_url",
    "key_text",
    "merged",
    "merged_split_points",
    "parse_key",
    "prefix_range",
    "prefix_stop",
    "registered_domain",
    "sample_split_points",
    "split_points",
    "starting_with",
    "suffix_list_version",
    "uniform_split_points",
]
