"""Reading an index: its entries in order, each checked against the page that it names, in batches.

An entry that its page does not confirm is dropped, and counted. Where pages are written while a question is answered, a
page may have moved to another place of the answer, which has been passed or comes later; it is given out once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable.repository.indexes.index import Index, place_of
from webtable.repository.reader import PageReader
from webtable.repository.scan import BODY_ROWS, ScanSpec, in_key_order, in_storage_order
from webtable.rowkey import KeyRange, WebKey
from webtable.schema import INDEX_COLUMN
from webtable.store import Store

if TYPE_CHECKING:
    from webtable.page import Page
    from webtable.store import Row

BATCH = 256
"""How many entries are checked at once, at most."""
CLOCKS_DIFFER = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Lookup:
    """Which entries of an index answer a question.

    `places` are disjoint and in order; `shard_of` is what the only shard is hashed from, where it is only one. `keep`
    tells by a row key without its salt whether the page is wanted at all.
    """

    index: Index
    table: str
    places: Sequence[KeyRange]
    shard_of: bytes | None = None
    reverse: bool = False
    keep: Callable[[bytes], bool] | None = None

    def ranges(self) -> list[KeyRange]:
        """Return the ranges of entry keys."""
        return [keys for places in self.places for keys in self.index.ranges(places, self.shard_of)]

    def place(self, page: Page, key: bytes) -> bytes | None:
        """Return the place of *page* among those that are asked for, None where it has none."""
        return next((place for place in self.index.places(self.seen(page), key) if place in self), None)

    def seen(self, page: Page) -> Page:
        """Return *page* as the index gets to see it."""
        counts = page.link_counts if "link_counts" in self.index.columns else None
        is_bare = page.html is None and page.outlinks is None and page.link_counts is counts
        return page if is_bare else replace(page, html=None, outlinks=None, link_counts=counts)

    def __contains__(self, place: object) -> bool:
        return any(place in keys for keys in self.places)


@dataclass(slots=True)
class EntryReader:
    """Reads the pages of one web table by its indexes."""

    store: Store
    table: str
    key: WebKey
    reader: PageReader
    metrics: Counter[str] = field(default_factory=Counter)

    def entries(self, lookup: Lookup, after: bytes | None, expected: int | None, *, storage: bool) -> Iterator[Row]:
        """Yield the entries, those behind the place *after* (behind the entry, in *storage* order)."""
        spec = ScanSpec(lookup.table, lookup.ranges(), [INDEX_COLUMN], None, lookup.reverse,
                        keys_only=True, expected=expected)  # fmt: skip
        if storage:
            return in_storage_order(self.store, spec, after)
        return in_key_order(self.store, spec, place_of, None, after)

    def pages(
        self,
        lookup: Lookup,
        columns: Sequence[str],
        after: bytes | None = None,
        expected: int | None = None,
        *,
        storage: bool = False,
    ) -> Iterator[Page]:
        """Yield the pages that confirm their entries, with the page columns *columns*, in the order of the entries."""
        recently = datetime.now(UTC) - CLOCKS_DIFFER
        given: set[bytes] = set()
        most = BODY_ROWS if "html" in columns else BATCH
        size = min(expected or most, most)
        wanted = (*columns, *lookup.index.columns)
        rows = self.entries(lookup, after, expected, storage=storage)
        places = (place_of(row.key) for row in rows)
        named = ((place, lookup.index.row_of(place)) for place in places)
        kept = ((place, row) for place, row in named if lookup.keep is None or lookup.keep(row))
        while batch := list(islice(kept, size)):
            found = self.reader.read([self.key.salted(row) for _, row in batch], wanted)
            self.metrics[f"{lookup.index.name}.read"] += len(batch)
            for (place, row), page in zip(batch, found, strict=True):
                if page is None or not _confirms(page, lookup, place, row, recently):
                    self.metrics[f"{lookup.index.name}.dropped"] += 1
                elif _changed_at(page) < recently:
                    yield page
                elif row not in given:
                    given.add(row)
                    yield page
            size = most


def _confirms(page: Page, lookup: Lookup, place: bytes, row: bytes, recently: datetime) -> bool:
    places = lookup.index.places(lookup.seen(page), row)
    # A page that changed since the question was asked stands elsewhere in the answer now. Whether that place was
    # passed before it came there, nobody knows; here it is, so here it is given.
    return place in places or (_changed_at(page) >= recently and any(one in lookup for one in places))


def _changed_at(page: Page) -> datetime:
    counted = page.link_counts and page.link_counts.counted_at
    return max(page.fetched_at, counted) if counted else page.fetched_at
