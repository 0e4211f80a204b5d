"""Counting who links to a page: from the keys of its inlinks, in pieces, for the pages that the queue names.

Counts are written as a capture is: the new entry of the link index first, then the count, then the old entry is
removed. So two that count at once do no harm, and a run that is cut short is done again by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from webtable.page import LinkCounts, Page
from webtable.repository.codec import PageCodec, milliseconds, moment_of
from webtable.repository.indexes.web import HOST, HOST_COUNTS, LINK, HostCounts
from webtable.repository.links.inlinks import CURRENT_SOURCES
from webtable.repository.links.queue import RecountQueue
from webtable.rowkey import WebKey, registered_domain
from webtable.schema import INDEX_COLUMN, index_table
from webtable.store import Delete, NewCell, Put, Store

if TYPE_CHECKING:
    from webtable.repository.links.queue import Waiting

ROWS_AT_ONCE = 500
NARROW = 100
"""How many inlinks of a row are read together with those of others; the rest is read by itself."""
PIECE = 10_000
"""How many inlinks of one row are in memory at once."""
ROWS_A_ROUND = 200_000
"""How many rows of the queue are in memory at once."""
MOST_REMEMBERED = 1_000_000
"""Of how many rows a run knows that it has counted them; beyond these a row may be counted once more."""

Progress = Callable[[int], None]
"""Is told how many pages were counted so far."""


@dataclass(frozen=True, slots=True)
class Recount:
    """What a run has counted: pages (and URLs that are none yet), hosts, and the batches that asked for it."""

    pages: int
    hosts: int
    batches: int


@dataclass(slots=True)
class LinkCounter:
    """Counts the inlinks of the pages of one web table, and the pages of its hosts."""

    store: Store
    table: str
    key: WebKey
    codec: PageCodec
    queue: RecountQueue
    indexes: Collection[str]
    """The names of the indexes that the table has."""

    def run(self, on_progress: Progress | None = None, *, also_unfinished: bool = False) -> Recount:
        """Count what waits in the queue, each page once, and return how much it was."""
        pages = batches = 0
        counted: set[int] = set()
        hosts: set[str] = set()
        waiting = self.queue.waiting(also_unfinished=also_unfinished)
        for some in _rounds(waiting):
            asked = {row for batch in some for row in batch.rows} if LINK.name in self.indexes else set()
            rows = sorted(row for row in asked if hash(row) not in counted)
            counted.update(map(hash, rows[: MOST_REMEMBERED - len(counted)]))
            for at in range(0, len(rows), ROWS_AT_ONCE):
                self._count(rows[at : at + ROWS_AT_ONCE])
                pages += len(rows[at : at + ROWS_AT_ONCE])
                if on_progress is not None:
                    on_progress(pages)
            new = {host for batch in some for host in batch.hosts}.difference(hosts)
            if HOST.name in self.indexes:
                self.count_hosts(new)
            hosts |= new
            self.queue.remove(some)
            batches += len(some)
        return Recount(pages, len(hosts), batches)

    def count_hosts(self, hosts: Iterable[str]) -> None:
        """Count the pages of *hosts* and the bytes of their bodies, and write the counts to their entries."""
        table = index_table(self.table, HOST.name).name
        puts = []
        for host in sorted(hosts):
            pages = size = 0
            for row in self.store.scan(self.table, self.key.host_ranges(host), columns=[self.codec.columns.page]):
                page = self.codec.page(row)
                pages += page is not None
                size += (page and page.size) or 0
            (entry,) = HOST.entries(Page(url=f"https://{host}/"), b"")
            (stored,) = self.store.read(table, [entry], columns=[HOST_COUNTS])
            before = [moment_of(stored.cells[HOST_COUNTS][0].timestamp)] if stored else []
            counted_at = _later(_now(), before)
            counts = msgspec.json.encode(HostCounts(pages, size, counted_at))
            puts.append(Put(entry, [NewCell(HOST_COUNTS, milliseconds(counted_at), counts)]))
        self._write(table, puts)

    def _count(self, rows: Sequence[bytes]) -> None:
        found = self.store.read(self.table, rows, columns=[self.codec.columns.links])
        before = [self.codec.counts(stored) if stored else None for stored in found]
        # Above the last count also where the clock of the machine that made it is ahead of this one's.
        counted_at = _later(_now(), [was.counted_at for was in before if was and was.counted_at])
        made = zip(rows, before, self._counts(rows, counted_at), strict=True)
        counts = [(row, was, now) for row, was, now in made if now.inlinks or now.self_links or was]
        entries, cells, removals = [], [], []
        timestamp = milliseconds(counted_at)
        for row, was, now in counts:
            unsalted = self.key.unsalted(row)
            new, old = _entries(now, unsalted), _entries(was, unsalted)
            entries += [Put(entry, [NewCell(INDEX_COLUMN, timestamp, b"")]) for entry in new]
            cells.append(Put(row, [NewCell(self.codec.columns.links, timestamp, msgspec.json.encode(now))]))
            removals += [Delete(entry, timestamp - 1) for entry in old if entry not in new]
        index = index_table(self.table, LINK.name).name
        self._write(index, entries)
        self._write(self.table, cells)
        self._write(index, removals)

    def _counts(self, rows: Sequence[bytes], counted_at: datetime) -> Iterator[LinkCounts]:
        family = self.codec.columns.inlinks.encode()
        start = len(family) + 1
        found = self.store.read_cells(self.table, rows, family, CURRENT_SOURCES, limit=NARROW, keys_only=True)
        for row, cells in zip(rows, found, strict=True):
            tally = _Tally(self.key.url_of(row))
            limit = NARROW
            while True:
                sources = [column[start:] for column, _ in cells]
                tally.add(sources)
                if len(sources) < limit:
                    break
                limit, rest = PIECE, CURRENT_SOURCES.after(sources[-1])
                (cells,) = self.store.read_cells(self.table, [row], family, rest, limit=limit, keys_only=True)
            yield tally.counts(counted_at)

    def _write(self, table: str, mutations: Sequence[Put | Delete]) -> None:
        for error in self.store.write(table, mutations) if mutations else ():
            if error is not None:
                raise error


class _Tally:
    """The sources that link to one page, as they come."""

    def __init__(self, url: str) -> None:
        self._url = url.encode()
        self._domain = _domain(self._url)
        self._internal = self._external = self._self = 0

    def add(self, sources: Iterable[bytes]) -> None:
        for source in sources:
            if source == self._url:
                self._self = 1
            elif _domain(source) == self._domain:
                self._internal += 1
            else:
                self._external += 1

    def counts(self, counted_at: datetime) -> LinkCounts:
        return LinkCounts(self._internal + self._external, self._internal, self._external, self._self, counted_at)


def _entries(counts: LinkCounts | None, key: bytes) -> list[bytes]:
    return [] if counts is None else LINK.entries(Page(url="", link_counts=counts), key)


def _domain(url: bytes) -> str:
    return _domain_of(url.split(b"/", 3)[2])


@lru_cache(maxsize=65_536)
def _domain_of(authority: bytes) -> str:
    host, _, port = authority.decode().rpartition(":")
    return registered_domain(host if host and port.isdigit() else authority.decode())


def _rounds(waiting: Iterator[Waiting]) -> Iterator[list[Waiting]]:
    """Yield the batches of the queue, several at once, as long as they do not have too many rows."""
    some: list[Waiting] = []
    size = 0
    for batch in waiting:
        some.append(batch)
        size += len(batch.rows)
        if size >= ROWS_A_ROUND:
            yield some
            some, size = [], 0
    if some:
        yield some


def _later(now: datetime, others: Iterable[datetime]) -> datetime:
    return max([now, *(other + timedelta(milliseconds=1) for other in others)])


def _now() -> datetime:
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)
