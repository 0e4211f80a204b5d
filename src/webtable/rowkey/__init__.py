"""Row keys: declaration, encoding, decoding, scan ranges and advice. Pure: no I/O."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.rowkey.composite import CompositeKey
    from webtable.rowkey.fields.dates import Date, DateTime, ReverseTimestamp, Time, Timestamp
    from webtable.rowkey.fields.domain import ReversedDomain
    from webtable.rowkey.fields.field import Condition, Constant, Field, Part, below, between, starting_with
    from webtable.rowkey.fields.hashes import Hash, HashSalt, RandomSalt, RoundRobinSalt
    from webtable.rowkey.fields.modifiers import Descending, Reversed
    from webtable.rowkey.fields.numbers import Digits, Hex, Int, UInt
    from webtable.rowkey.fields.text import Bytes, FixedText, Text
    from webtable.rowkey.key import MAX_KEY, HashedKey, Latest, RowKey
    from webtable.rowkey.ranges import (
        KeyRange,
        hex_split_points,
        key_text,
        merged,
        merged_split_points,
        parse_key,
        prefix_range,
        prefix_stop,
        sample_split_points,
        split_points,
        uniform_split_points,
    )
    from webtable.rowkey.urls import canonical_host, canonical_url, join_url
    from webtable.rowkey.web import MAX_WEB_KEY, Salt, WebKey, registered_domain, suffix_list_version

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

# A command that makes one row key should not load fields of ten kinds: each name is imported when it is first used.
_HOMES = {
    "webtable.rowkey.composite": ("CompositeKey",),
    "webtable.rowkey.fields.dates": ("Date", "DateTime", "ReverseTimestamp", "Time", "Timestamp"),
    "webtable.rowkey.fields.domain": ("ReversedDomain",),
    "webtable.rowkey.fields.field": ("Condition", "Constant", "Field", "Part", "below", "between", "starting_with"),
    "webtable.rowkey.fields.hashes": ("Hash", "HashSalt", "RandomSalt", "RoundRobinSalt"),
    "webtable.rowkey.fields.modifiers": ("Descending", "Reversed"),
    "webtable.rowkey.fields.numbers": ("Digits", "Hex", "Int", "UInt"),
    "webtable.rowkey.fields.text": ("Bytes", "FixedText", "Text"),
    "webtable.rowkey.key": ("HashedKey", "Latest", "MAX_KEY", "RowKey"),
    "webtable.rowkey.ranges": (
        "KeyRange",
        "hex_split_points",
        "key_text",
        "merged",
        "merged_split_points",
        "parse_key",
        "prefix_range",
        "prefix_stop",
        "sample_split_points",
        "split_points",
        "uniform_split_points",
    ),
    "webtable.rowkey.urls": ("canonical_host", "canonical_url", "join_url"),
    "webtable.rowkey.web": ("MAX_WEB_KEY", "Salt", "WebKey", "registered_domain", "suffix_list_version"),
}

if not TYPE_CHECKING:  # otherwise type checkers would accept any name
    __getattr__, __dir__ = late(__name__, _HOMES)
