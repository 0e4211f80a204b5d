"""Lookups in an index: its entries in order, each checked against the page that it names, in batches.

An entry that its page does not confirm is dropped, and counted. If pages are written while a question is answered, a
page may have moved to another place in the answer. If that place is still to come, the page is yielded there. If it was
passed already, the page is yielded at the place of its old entry, unless it was yielded before. It is not known which
pages were yielded before a token, so a page whose place is there now counts as yielded.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from webtable.errors import DamagedRow
from webtable.repository.indexes.index import Index, place_of
from webtable.repository.page_storage.cells import BODY_ROWS
from webtable.repository.reading.scan import ScanSpec, in_key_order, in_storage_order
from webtable.rowkey import KeyRange
from webtable.rowkey.ranges import ALL_KEYS, clipped
from webtable.schema import INDEX_COLUMN
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from webtable.page.page import Page
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.store import Row

# The row of the page is the truth, an entry is a hint: it holds if its page, as it is now, still makes it.
BATCH = 256
"""How many entries are checked at once, at most."""
MOST_REMEMBERED = 200_000
"""How many yielded pages are remembered; a longer answer may yield a page twice if that changes meanwhile."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """The entries of an index that answer a question.

    `places` are disjoint and in order. If all entries are in one shard, that is the hash of `shard_of`. `keep` tests
    by an unsalted row key whether the page is wanted. Of a `part` of the entries the answer has the pages whose first
    entry is in it.
    """

    index: Index
    table: str
    places: Sequence[KeyRange]
    shard_of: bytes | None = None
    reverse: bool = False
    keep: Callable[[bytes], bool] | None = None
    part: KeyRange = ALL_KEYS

    def ranges(self) -> list[KeyRange]:
        """Return the ranges of entry keys."""
        ranges = [keys for places in self.places for keys in self.index.ranges(places, self.shard_of)]
        return clipped(ranges, self.part)

    def place(self, page: Page, key: bytes, *, storage: bool) -> bytes | None:
        """Return the place of *page* in the answer: its first place (in *storage* order its first entry), or None."""
        places = [place for place in self.index.places(self.seen(page), key) if place in self]
        # A page with several entries belongs to the part that has its first one.
        if storage or self.part != ALL_KEYS:
            entries = {self.index.entry(place, key): place for place in places}
            first = (max if self.reverse else min)(entries, default=None)
            if first is None or first not in self.part:
                return None
            return first if storage else entries[first]
        return (max if self.reverse else min)(places, default=None)

    def row_of(self, entry: bytes) -> bytes:
        """Return the unsalted row key of the page that *entry* names."""
        return self.index.row_of(place_of(entry))

    def seen(self, page: Page) -> Page:
        """Return *page* as the index gets it."""
        counts = page.link_counts if "link_counts" in self.index.columns else None
        is_bare = page.body is None and page.outlinks is None and page.link_counts is counts
        return page if is_bare else replace(page, body=None, outlinks=None, link_counts=counts)

    def __contains__(self, place: object) -> bool:
        return any(place in keys for keys in self.places)


class EntryReader:
    """Reads the pages of one web table by its indexes."""

    def __init__(self, context: TableContext) -> None:
        self._context = context

    def entries(self, lookup: Lookup, after: bytes | None, expected: int | None, *, storage: bool) -> Iterator[Row]:
        """Yield the entries, those after the place *after* (after the entry, in *storage* order)."""
        ranges = lookup.ranges()
        # The shards have about as many entries each: few answers need four times the average from one of them.
        each = expected and expected * 4 // max(1, len(ranges)) + 3
        spec = ScanSpec(
            lookup.table, ranges, Wanted([INDEX_COLUMN], keys_only=True), None, lookup.reverse, expected=each
        )
        if storage:
            return in_storage_order(self._context.store, spec, after)
        return in_key_order(self._context.store, spec, place_of, None, after)

    def pages(
        self,
        lookup: Lookup,
        columns: Sequence[str],
        damage: Damage,
        after: bytes | None = None,
        expected: int | None = None,
        *,
        storage: bool = False,
    ) -> Iterator[tuple[bytes, Page]]:
        """Yield the pages that confirm their entries, each with its place (in *storage* order its entry).

        They have the page columns *columns*, and come in the order of the entries, those after *after*. Entries and
        pages that cannot be read are added to *damage*.
        """
        answer = _Answer(lookup, after, storage)
        limit = BODY_ROWS if "body" in columns else BATCH
        size = min(expected or limit, limit)
        wanted = (*columns, *lookup.index.columns)
        rows = self.entries(lookup, after, expected, storage=storage)
        named = damage.sift(self._named(row, lookup, storage=storage) for row in rows)
        kept = (entry for entry in named if lookup.keep is None or lookup.keep(entry.key))
        while batch := list(islice(kept, size)):
            pages = self._context.pages.read_each([entry.row for entry in batch], wanted)
            self._context.counts(f"{lookup.index.name}.read", len(batch))
            for entry, page in zip(batch, pages, strict=True):
                yield from self._moved(answer, entry.place, wanted, damage)
                if isinstance(page, DamagedRow):
                    damage.add(page)
                elif page is not None and answer.takes(page, entry.place, entry.key):
                    yield entry.place, page
                else:
                    self._context.counts(f"{lookup.index.name}.dropped")
            size = limit
        yield from self._moved(answer, None, wanted, damage)

    def _named(self, entry: Row, lookup: Lookup, *, storage: bool) -> _NamedPage | DamagedRow:
        """Return the place of *entry* and the page that it names, or an error if it is not a valid entry."""
        try:
            key = lookup.row_of(entry.key)
            return _NamedPage(entry.key if storage else place_of(entry.key), key, self._context.key.salted(key))
        except ValueError as exc:
            return DamagedRow(entry.key, None, f"{lookup.table}: not a valid entry of the index: {exc}")

    def _moved(
        self, answer: _Answer, here: bytes | None, wanted: Sequence[str], damage: Damage
    ) -> Iterator[tuple[bytes, Page]]:
        """Yield the pages that moved to a place before *here*, and whose entries there were not read."""
        while (moved := answer.next_moved(here)) is not None:
            place, key = moved
            for page in damage.sift(self._context.pages.read_each([self._context.key.salted(key)], wanted)):
                if page is not None and answer.takes(page, place, key):
                    yield place, page


class _NamedPage(NamedTuple):
    """An entry: its place in the answer, and the unsalted and the salted row key of the page that it names."""

    place: bytes
    key: bytes
    row: bytes


class _Answer:
    """The pages of an answer that were yielded, and those that have moved, as far as they are remembered."""

    def __init__(self, lookup: Lookup, after: bytes | None, storage: bool) -> None:
        self._lookup = lookup
        self._after = after
        self._storage = storage
        self._yielded: set[int] = set()
        self._moved: list[tuple[bytes, bytes]] = []

    def takes(self, page: Page, here: bytes, row: bytes) -> bool:
        """Whether *page*, whose entry was read *here*, is to be yielded."""
        now = self._lookup.place(page, row, storage=self._storage)
        # Eight bytes a page; two rows with one hash in 64 bits are not expected in an answer.
        hashed = hash(row)
        if now is None or hashed in self._yielded:
            return False
        if now != here and (now > here) != self._lookup.reverse:
            # Its entry there may still be read; but entries that were read already may not include it.
            insort(self._moved, (now, row))
            return False
        if now != here and not self._was_missed(now):
            return False
        if len(self._yielded) < MOST_REMEMBERED:
            self._yielded.add(hashed)
        return True

    def next_moved(self, here: bytes | None) -> tuple[bytes, bytes] | None:
        """Return the next place before *here* (None: the end) that a page has moved to, and the page's row."""
        moved, reverse = self._moved, self._lookup.reverse
        if not moved:
            return None
        place = moved[-1 if reverse else 0][0]
        if here is not None and (place >= here if not reverse else place <= here):
            return None
        return moved.pop(-1 if reverse else 0)

    def _was_missed(self, now: bytes) -> bool:
        """Whether the page at the place *now*, which was passed, was not yielded there."""
        after = self._after
        is_before_token = after is not None and (now >= after if self._lookup.reverse else now <= after)
        return not is_before_token and len(self._yielded) < MOST_REMEMBERED
