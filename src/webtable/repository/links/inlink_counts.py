"""Counts of the inlinks of a page, made from the keys of its inlinks, a piece at a time.

Counts are written like captures: the new entry of the link index first, then the count, then the old entry is removed.
So concurrent counts do no harm, and an interrupted run is repeated by the next one. Where the three writes are not one
transaction, the counts whose entries will change are in the queue first, so that the next run can remove these entries.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable._clock import clock, milliseconds, possible_moment
from webtable.errors import DamagedRow, KeyFormatError
from webtable.page.page import BLANK
from webtable.page.parts import LinkCounts
from webtable.repository.context import Frame
from webtable.repository.indexes.index import LINK
from webtable.repository.links.inlink_cells import inlinks_of
from webtable.repository.page_storage.cells import checked_json, written
from webtable.repository.reading.damage import Damage
from webtable.repository.upkeep.queue import CountedBatch, RecountQueue
from webtable.rowkey import canonical_host, registered_domain
from webtable.rowkey.urls import MAX_HOST, without_port
from webtable.schema import INDEX_COLUMN, index_table_name
from webtable.store import Delete, NewCell, Put
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from webtable.store import Row


@dataclass(slots=True)
class LinkCounter:
    """Counts the inlinks of pages of one web table; unreadable rows are added to *damage*."""

    frame: Frame
    damage: Damage

    def count(self, rows: Sequence[bytes], tried: Mapping[bytes, Collection[int]]) -> None:
        """Count the links to *rows*, and write the counts.

        *tried* has earlier counts of rows, whose entries an interrupted run may have left.
        """
        column = self.frame.codec.columns.links
        urls = dict(self.damage.sift(map(self._named, rows)))
        rows = list(urls)
        found = self.frame.store.read(self.frame.table, rows, Wanted([column]))
        before = [self._before(stored) if stored else None for stored in found]
        # Later than the last count, even if the clock of the machine that made it is ahead of this one's.
        last = [possible_moment(stored.cells[column][0].timestamp) for stored in found if stored]
        counted_at = _later(_now(), last)
        made = zip(rows, before, self._counts(urls, counted_at), strict=True)
        counts = [(row, was, now) for row, was, now in made if now.inlinks or now.self_links or was]
        entries, cells, removals = [], [], []
        changed: list[tuple[bytes, int]] = []
        timestamp = milliseconds(counted_at)
        for row, was, now in counts:
            unsalted = self.frame.key.unsalted(row)
            new, old = entries_of(now, unsalted), entries_of(was, unsalted)
            if new != old:
                changed += [(row, one.inlinks) for one in (was, now) if one is not None]
            for inlinks in tried.get(row, ()):
                old += entries_of(LinkCounts(inlinks), unsalted)
            entries += [Put(entry, [NewCell(INDEX_COLUMN, timestamp, b"")]) for entry in new]
            cells.append(Put(row, [NewCell(column, timestamp, checked_json(now, row, timestamp))]))
            removals += [Delete(entry, timestamp - 1) for entry in old if entry not in new]
        index = index_table_name(self.frame.table, LINK.name)
        with self.frame.store.transaction() as transaction, self._announced(changed if transaction is None else []):
            written(self.frame.store, index, entries)
            written(self.frame.store, self.frame.table, cells)
            written(self.frame.store, index, removals)

    @contextmanager
    def _announced(self, counts: Sequence[tuple[bytes, int]]) -> Iterator[None]:
        """Keep *counts* in the queue during the block; if it is interrupted, the next run removes their entries."""
        queue = RecountQueue(self.frame.store, self.frame.table)
        entered = [queue.counting(counts)] if counts else []
        queue.write(entered)
        yield
        queue.remove([CountedBatch(one.row, one.cells[0].timestamp) for one in entered])

    def _named(self, row: bytes) -> tuple[bytes, str] | DamagedRow:
        """Return *row* with its URL, or an error if it is not a valid row key."""
        try:
            return row, self.frame.key.url_of(row)
        except KeyFormatError as exc:
            return DamagedRow(row, None, f"the queue: {exc}")

    def _before(self, stored: Row) -> LinkCounts | None:
        """Return the last counts of a row; empty ones if they cannot be read."""
        try:
            return self.frame.codec.counts(stored)
        except DamagedRow as exc:
            self.damage.add(exc)
            return LinkCounts()

    def _counts(self, urls: Mapping[bytes, str], counted_at: datetime) -> Iterator[LinkCounts]:
        family = self.frame.codec.columns.inlinks.encode()
        start = len(family) + 1
        pieces = inlinks_of(self.frame.store, self.frame.table, family, list(urls))
        for row, some in groupby(pieces, key=itemgetter(0)):
            tally = _SourceTally(urls[row])
            for _, cells in some:
                tally.add(column[start:] for column, _ in cells)
            yield tally.counts(counted_at)


def entries_of(counts: LinkCounts | None, key: bytes) -> list[bytes]:
    """Return the entries of the link index for *counts* of the row with the unsalted *key*."""
    return [] if counts is None else LINK.entries(replace(BLANK, link_counts=counts), key)


class _SourceTally:
    """The number of sources that link to one page, by kind."""

    def __init__(self, url: str) -> None:
        self._url = url.encode()
        self._domain = _domain(self._url)
        self._internal = self._external = self._self = 0

    def add(self, sources: Iterable[bytes]) -> None:
        for source in sources:
            if source == self._url:
                self._self = 1
            elif (domain := _domain(source)) == self._domain:
                self._internal += 1
            elif domain is not None:
                self._external += 1

    def counts(self, counted_at: datetime) -> LinkCounts:
        return LinkCounts(self._internal + self._external, self._internal, self._external, self._self, counted_at)


def _domain(url: bytes) -> str | None:
    """Return the registered domain of *url*, or None if it is not a URL: readers ignore such an inlink."""
    parts = url.split(b"/", 3)
    if len(parts) != 4 or parts[0] not in (b"https:", b"http:"):
        return None
    return (_known_domain if len(parts[2]) <= MAX_HOST else _domain_of)(parts[2])


def _domain_of(authority: bytes) -> str | None:
    try:
        return registered_domain(canonical_host(without_port(authority).decode("ascii")))
    except ValueError:
        return None


_known_domain = lru_cache(maxsize=65_536)(_domain_of)


def _later(now: datetime, others: Iterable[datetime]) -> datetime:
    return max([now, *(other + timedelta(milliseconds=1) for other in others)])


def _now() -> datetime:
    now = clock.now()
    return now.replace(microsecond=now.microsecond // 1000 * 1000)
