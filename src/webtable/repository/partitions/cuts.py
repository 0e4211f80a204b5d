"""Where an answer is cut into parts of about the same number of rows.

A short answer is cut by the keys of its rows. Of a long one a uniform sample is taken: the entries of the index of
URLs are in the order of hashes, so the first of them are one, of whichever pages, and the share of all hashes that
they cover says how many there are. The sampled pages are cut by their row keys, or by their entries in the index that
the answer is read from. Without that index, keys are looked up at evenly spaced places of the key ranges.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Self

import msgspec

from webtable.errors import IndexNeeded
from webtable.page.page import Page
from webtable.repository.indexes.index import SHARDS, URL, Index, handle_of, place_of
from webtable.repository.reading.samples import (
    KEYS_A_PART,
    MOST_KEYS,
    CutPart,
    KeySample,
    all_keys,
    cut_at,
    mean_bytes,
    spaced,
)
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.repository.reading.scope import PLAIN_KEY
from webtable.rowkey import KeyRange, merged
from webtable.rowkey.ranges import ALL_KEYS
from webtable.schema import INDEX_COLUMN, index_table_name
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from webtable.repository.answers.results import Explanation
    from webtable.repository.context import Frame

SAMPLED_AT_ONCE = 1_000
"""How many entries of the index of URLs are read at once."""
_HANDLES = 16**16


class Whole(msgspec.Struct, frozen=True):
    """What an answer reads: ranges of a `table`, which has entries of an `index`, or pages if that is None."""

    table: str
    ranges: Sequence[KeyRange]
    index: Index | None
    column: bytes
    columns: Sequence[bytes]
    """The columns of the pages that it reads."""

    @classmethod
    def of(cls, frame: Frame, plan: Explanation, *, by_source: bool) -> Self:
        """Return what the answer with this *plan* reads."""
        columns = [column.encode() for column in plan.columns]
        page = frame.codec.columns.page
        if by_source:
            return cls(frame.table, [ALL_KEYS], None, page, columns)
        if plan.index is None:
            return cls(frame.table, merged(plan.ranges), None, page, columns)
        index = frame.indexes.named(plan.index).index
        return cls(index_table_name(frame.table, plan.index), merged(plan.ranges), index, INDEX_COLUMN, columns)

    @classmethod
    def of_rows(cls, frame: Frame, ranges: Sequence[KeyRange]) -> Self:
        """Return the rows of pages in these *ranges*."""
        page = frame.codec.columns.page
        return cls(frame.table, merged(ranges), None, page, [page])

    def __contains__(self, key: bytes) -> bool:
        at = bisect_right(self.ranges, key, key=attrgetter("start"))
        return at > 0 and key in self.ranges[at - 1]


def cut(frame: Frame, whole: Whole, n: int) -> list[CutPart]:
    """Return *n* ranges that together are all keys, with about the same number of rows of *whole* each."""
    sample = _sample(frame, whole, n)
    return cut_at(sample, n, _mean_bytes(frame, whole, sample.spread()) if sample.rows else 0)


def unsalted_parts(frame: Frame, ranges: Sequence[KeyRange], after: str | None, n: int) -> list[KeyRange]:
    """Return *n* ranges of unsalted keys with about as many of the pages in *ranges* each, in the order of URLs.

    They are cut by the pages after the URL *after*.
    """
    found = map(frame.key.unsalted, _sample(frame, Whole.of_rows(frame, ranges), n).keys)
    last = b"" if after is None else frame.key.unsalted(frame.key.encode(after))
    keys = sorted(key for key in found if key > last)
    return [part.keys for part in cut_at(KeySample(keys, None), n, 0) if not part.keys.is_empty()]


def _sample(frame: Frame, whole: Whole, n: int) -> KeySample:
    keys = ScanSpec(whole.table, whole.ranges, Wanted([whole.column], keys_only=True))
    return all_keys(frame.store, keys) or _by_hash(frame, whole, n) or spaced(frame.store, keys, n)


def _by_hash(frame: Frame, whole: Whole, n: int) -> KeySample | None:
    """Return a sample by the index of URLs; None if the table has no such index, or it has too few of these rows."""
    try:
        table = frame.indexes.ready(URL.name, "a sample").table
    except IndexNeeded:
        return None
    enough = min(n * KEYS_A_PART, MOST_KEYS)
    ranges = [KeyRange(shard, shard[:-1] + b";") for shard in SHARDS]
    spec = ScanSpec(table, ranges, Wanted([INDEX_COLUMN], keys_only=True), limit=MOST_KEYS)
    entries = (row.key for row in in_storage_order(frame.store, spec, None))
    found: list[bytes] = []
    last = b""
    while len(found) < enough and (some := list(islice(entries, SAMPLED_AT_ONCE))):
        pages = [key for entry in some if (key := _page_of(entry)) is not None]
        found += _keys_in(frame, whole, pages)
        last = some[-1]
    if len(found) < min(n, enough):
        return None
    return KeySample(sorted(found), round(len(found) / _share(last)))


def _page_of(entry: bytes) -> bytes | None:
    """Return the unsalted key of the page whose URL has the handle of *entry*; None if it is that of its redirect."""
    key = URL.row_of(place_of(entry))
    try:
        return key if place_of(entry).startswith(handle_of(PLAIN_KEY.url_of(key)).encode()) else None
    except ValueError:
        return None


def _share(entry: bytes) -> float:
    """Return the share of all hashes that come up to *entry* of the index of URLs."""
    shard, handle = SHARDS.index(entry[:2]), int(place_of(entry)[:16], 16)
    return (shard + (handle + 1) / _HANDLES) / len(SHARDS)


def _keys_in(frame: Frame, whole: Whole, pages: Sequence[bytes]) -> list[bytes]:
    """Return the keys that the *pages*, which are named by unsalted keys, have in *whole*."""
    salted = [frame.key.salted(key) for key in pages]
    if whole.index is None:
        return [key for key in salted if key in whole]
    read = frame.pages.read_each(salted, whole.index.columns)
    found = ((key, page) for key, page in zip(pages, read, strict=True) if isinstance(page, Page))
    entries = ((whole.index, page, key) for key, page in found)
    return [entry for index, page, key in entries for entry in index.entries(page, key) if entry in whole]


def _mean_bytes(frame: Frame, whole: Whole, keys: Sequence[bytes]) -> int:
    """Return how many bytes of values a row of *keys* has on average."""
    if whole.index is not None:
        named = [whole.index.row_of(place_of(key)) for key in keys if whole.index.names_pages]
        keys = [frame.key.salted(key) for key in named]
    return mean_bytes(frame.store.read(frame.table, keys, Wanted(whole.columns)))
