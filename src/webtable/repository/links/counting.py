"""Counting who links to a page: from the keys of its inlinks, in pieces, for the pages that the queue names.

Counts are written as a capture is: the new entry of the link index first, then the count, then the old entry is
removed. So two that count at once do no harm, and a run that is cut short is done again by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from webtable.page import LinkCounts, Page
from webtable.repository.codec import PageCodec, milliseconds
from webtable.repository.indexes.web import HOST, LINK
from webtable.repository.links.inlinks import CURRENT_SOURCES
from webtable.repository.links.queue import RecountQueue
from webtable.repository.questions.pages import HOST_COUNTS, HostCounts
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

    def run(self, on_progress: Progress | None = None, *, also_unfinished: bool = False) -> Recount:
        """Count what waits in the queue, each page once, and return how much it was."""
        began = datetime.now(UTC)
        pages = batches = 0
        hosts: set[str] = set()
        waiting = self.queue.waiting(also_unfinished=also_unfinished)
        for some in _rounds(waiting):
            rows = sorted({row for batch in some for row in batch.rows})
            for at in range(0, len(rows), ROWS_AT_ONCE):
                pages += self._count(rows[at : at + ROWS_AT_ONCE], began)
                if on_progress is not None:
                    on_progress(pages)
            new = {host for batch in some for host in batch.hosts}.difference(hosts)
            self.count_hosts(new)
            hosts |= new
            self.queue.remove(some)
            batches += len(some)
        return Recount(pages, len(hosts), batches)

    def count_hosts(self, hosts: Iterable[str]) -> None:
        """Count the pages of *hosts* and the bytes of their bodies, and write the counts to their entries."""
        puts = []
        for host in sorted(hosts):
            counted_at = datetime.now(UTC)
            pages = size = 0
            for row in self.store.scan(self.table, self.key.host_ranges(host), columns=[self.codec.columns.page]):
                page = self.codec.page(row)
                pages += page is not None
                size += (page and page.size) or 0
            counts = HostCounts(pages, size, counted_at)
            (place,) = HOST.places(Page(url=f"https://{host}/"), b"")
            cell = NewCell(HOST_COUNTS, milliseconds(counted_at), msgspec.json.encode(counts))
            puts.append(Put(HOST.entry(place, b""), [cell]))
        self._write(index_table(self.table, HOST.name).name, puts)

    def _count(self, rows: Sequence[bytes], began: datetime) -> int:
        """Count those of *rows* that this run has not counted yet, and return how many they are."""
        found = self.store.read(self.table, rows, columns=[self.codec.columns.links])
        before = {row: self.codec.counts(stored) if stored else None for row, stored in zip(rows, found, strict=True)}
        due = [row for row, counts in before.items() if not (counts and (counts.counted_at or began) > began)]
        counted_at = _now()
        counts = {
            row: made for row, made in zip(due, self._counts(due, counted_at), strict=True)
            if made.inlinks or made.self_links or before[row]
        }  # fmt: skip
        entries, cells, removals = [], [], []
        timestamp = milliseconds(counted_at)
        for row, made in counts.items():
            unsalted = self.key.unsalted(row)
            new, old = _entries(made, unsalted), _entries(before[row], unsalted)
            entries += [Put(entry, [NewCell(INDEX_COLUMN, timestamp, b"")]) for entry in new]
            cells.append(Put(row, [NewCell(self.codec.columns.links, timestamp, msgspec.json.encode(made))]))
            was = before[row]
            if was and was.counted_at and was.counted_at < counted_at:
                removals += [Delete(entry, milliseconds(was.counted_at)) for entry in old if entry not in new]
        index = index_table(self.table, LINK.name).name
        self._write(index, entries)
        self._write(self.table, cells)
        self._write(index, removals)
        return len(due)

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


def _now() -> datetime:
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)
