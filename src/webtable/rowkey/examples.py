"""Proven row keys, as declarations to start from.

Each is a value to import, with its advantages and costs. The guide in docs/rowkeys.md has a picture of each.
"""

from __future__ import annotations

from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.fields.dates import Date, ReverseTimestamp, Time, Timestamp
from webtable.rowkey.fields.hashes import Hash, HashSalt, RandomSalt
from webtable.rowkey.fields.modifiers import Reversed
from webtable.rowkey.fields.numbers import Digits, UInt
from webtable.rowkey.fields.text import Bytes, Text
from webtable.rowkey.key import HashedKey, RowKey
from webtable.rowkey.web import WebKey

WEB_KEY = WebKey().parts
"""The web key, of `host` and `rest`: `5a:com.example/products`. `WebKey` makes it from URLs.

Advantages: a host is one range, its subtree one for each salt, hosts are distributed. Costs: one large host is one hot
region. Source: Chang et al., Bigtable (OSDI 2006), section 2, for the reversed host.
"""

MESSAGE_KEY = CompositeKey(
    Hash(of="message_id", algorithm="md5", form="hex", case="upper"),
    Date("sent", "%y%m%d"),
    Time("sent", "%H%M%S"),
    Text("message_id"),
    separator=":",
)
"""Salt, date, time and id of a message: `8D4646EB2D7067126EB08ADB0672F7BB:230611:063031:1231231`.

The salt is the whole MD5 of the id. Advantages: messages are evenly distributed in any order of arrival, and keys stay
readable. Costs: 33 bytes per cell, and no ranges of time: messages are found by id, never by time alone.
"""

METRIC_KEY = CompositeKey(UInt("metric", 3), Timestamp("hour", "s", 4, step=3600), Bytes("tags"))
"""OpenTSDB's: a metric's number, the hour, and pairs of tag name and tag value of 3 bytes each.

Advantages: a metric over a time is one range, in 7 bytes; the points of an hour are columns of one row. Costs: a metric
that many write is a hot region. Source: OpenTSDB user guide, "HBase schema", whose example key is
`00000150E22700000001000001`.
"""

USER_APP_KEY = CompositeKey(UInt("user_id"), UInt("app_id", 4))
"""User and application, 12 bytes.

Advantages: a user's applications are one range, and so are those with ids between two. Costs: users with sequential
numbers are written sequentially; and nothing is found by application alone.
"""

SALTED_TIME_KEY = CompositeKey(HashSalt(of="time", buckets=16, algorithm="crc32"), Timestamp("time"), Text("id"))
"""A time and an id below one of 16 salts, taken from the time.

Advantages: current events are written to 16 places instead of one. Costs: a range of times is 16 merged ranges.
"""

SPREAD_LOG_KEY = CompositeKey(RandomSalt(buckets=("a-", "b-", "c-", "d-")), Timestamp("time"), Text("id"))
"""A time and an id below one of the salts `a-` to `d-`, drawn at random.

Advantages: writes of any kind are perfectly distributed. Costs: a get reads four places, and a range is four ranges; a
row that is put twice may be stored twice. For events, which are written once.
"""

LATEST_KEY = CompositeKey(Text("key", terminator=b"\x00"), ReverseTimestamp("time"))
"""A key and a time that counts down from `Long.MAX_VALUE`: the newest row of a key is its first.

Advantages: "the latest of X" is a scan of one row. Costs: one row for each time. Source: HBase reference guide,
"Schema design: Reverse timestamps".
"""

LONG_KEY = CompositeKey(UInt("id"))
"""A long, packed into 8 bytes instead of its 20 digits; for ids that are random already.

Advantages: a short key, and ranges of ids. Costs: sequential ids make one region hot at any time. Source:
HBase reference guide, "Schema design: Byte patterns".
"""

TAIL_SALTED_KEY = CompositeKey(Hash(of="id", algorithm="md5", last=4), Text("id"))
"""An id after the last four hex digits of its MD5: `ffe5` and `1364248490`.

Advantages: sequential ids are distributed over 65,536 salts, and each is still found by one get. Costs: a range of ids
is one range for each salt.
"""

REVERSED_KEY = CompositeKey(Reversed(Digits("id", 10)))
"""A number with its ten digits reversed: 1364248490 is `0948424631`.

Advantages: sequential ids are distributed by their last digits, without another byte. Costs: no ranges of ids. Source:
HBase reference guide, "Schema design: Reversing the key".
"""

HASHED_KEY = HashedKey(CompositeKey(Text("url")), algorithm="sha256", form="bytes")
"""The SHA-256 of a URL, 32 bytes, for point access only.

Advantages: perfect distribution, one length. Costs: no ranges, and the URL cannot be decoded from the key.
"""

# By name for tests and pictures: each is encoded, decoded, scanned and drawn.
EXAMPLES: dict[str, RowKey] = {
    "web key": WEB_KEY,
    "message": MESSAGE_KEY,
    "metric and hour": METRIC_KEY,
    "user and application": USER_APP_KEY,
    "salted time": SALTED_TIME_KEY,
    "random salt": SPREAD_LOG_KEY,
    "latest first": LATEST_KEY,
    "packed long": LONG_KEY,
    "salt from the end": TAIL_SALTED_KEY,
    "reversed digits": REVERSED_KEY,
    "whole-key hash": HASHED_KEY,
}
"""The examples by name."""
