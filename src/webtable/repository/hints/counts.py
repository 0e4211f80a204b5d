"""Counting who links to a page: from the keys of its inlinks, in pieces, for the pages that the queue names.

The pages of hosts are counted with them: see `webtable.repository.hints.host_counts`.

Counts are written as a capture is: the new entry of the link index first, then the count, then the old entry is
removed. So two that count at once do no harm, and a run that is cut short is done again by the next one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from webtable._page import LinkCounts, Page
from webtable.errors import DamagedRow, KeyFormatError
from webtable.repository.damage import Damage
from webtable.repository.frame import Frame
from webtable.repository.hints.host_counts import Changes, HostCounter
from webtable.repository.hints.queue import RecountQueue
from webtable.repository.hints.sources import ROWS_AT_ONCE, inlinks_of
from webtable.repository.indexes.states import Maintained
from webtable.repository.indexes.web import LINK
from webtable.repository.moments import milliseconds, possible_moment
from webtable.repository.values import checked_json
from webtable.rowkey import canonical_host, registered_domain
from webtable.rowkey.urls import MAX_HOST, without_port
from webtable.schema import INDEX_COLUMN, index_table
from webtable.store import Delete, NewCell, Put
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from webtable.repository.arguments import Progress
    from webtable.repository.hints.queue import Waiting
    from webtable.store import Row

ROWS_A_ROUND = 200_000
"""How many rows of the queue are in memory at once; some 64 pages near each are read anew in each such round."""
MOST_REMEMBERED = 1_000_000
"""Of how many rows a run knows that it has counted them; beyond these a row may be counted once more."""


@dataclass(frozen=True, slots=True)
class Recount:
    """What a run has counted: pages (and URLs that are none yet), hosts, and the batches that asked for it.

    `damaged` is how many rows and batches were left out because they cannot be read: `repair_index("link")` has the
    pages counted whose links it mends.
    """

    pages: int
    hosts: int
    batches: int
    damaged: int = 0


@dataclass(slots=True)
class LinkCounter:
    """Counts the inlinks of the pages of one web table, and the pages of its hosts."""

    frame: Frame
    queue: RecountQueue
    indexes: Collection[Maintained]
    """The indexes that the table has."""
    damage: Damage

    def run(self, on_progress: Progress | None = None, *, also_unfinished: bool = False) -> Recount:
        """Count what waits in the queue, each page once, and return how much it was."""
        pages = batches = unreadable = 0
        counted = _Counted()
        hosts, whole = set[str](), set[str]()
        waiting = self.queue.waiting(also_unfinished=also_unfinished)
        counts_links = any(one.keeps_inlinks for one in self.indexes)
        counts_pages = any(one.counts_pages for one in self.indexes)
        for some in _rounds(waiting):
            asked = {row for batch in some for row in batch.rows} if counts_links else set()
            rows = sorted(row for row in asked if row not in counted)
            counted.add(rows)
            for at in range(0, len(rows), ROWS_AT_ONCE):
                self._count(rows[at : at + ROWS_AT_ONCE])
                pages += len(rows[at : at + ROWS_AT_ONCE])
                if on_progress is not None:
                    on_progress(pages)
            if counts_pages:
                hosts |= self._count_hosts(some, whole)
            self.queue.remove(some)
            batches += len(some)
            unreadable += sum(batch.is_damaged for batch in some)
        return Recount(pages, len(hosts), batches, unreadable + self.damage.count)

    def _count_hosts(self, batches: Sequence[Waiting], whole: set[str]) -> set[str]:
        """Count what *batches* say of hosts, and return the hosts; those in *whole* need not be counted again."""
        changes = Changes(whole={host for batch in batches for host in batch.hosts}.difference(whole))
        whole |= changes.whole
        for batch in batches:
            changes.add(self.frame.key, batch.pages, self.damage)
        HostCounter(self.frame, self.damage).count(changes)
        return set(changes.hosts)

    def _count(self, rows: Sequence[bytes]) -> None:
        column = self.frame.codec.columns.links
        urls = dict(self.damage.sift(map(self._named, rows)))
        rows = list(urls)
        found = self.frame.store.read(self.frame.table, rows, Wanted([column]))
        before = [self._before(stored) if stored else None for stored in found]
        # Above the last count also where the clock of the machine that made it is ahead of this one's.
        last = [possible_moment(stored.cells[column][0].timestamp) for stored in found if stored]
        counted_at = _later(_now(), last)
        made = zip(rows, before, self._counts(urls, counted_at), strict=True)
        counts = [(row, was, now) for row, was, now in made if now.inlinks or now.self_links or was]
        entries, cells, removals = [], [], []
        timestamp = milliseconds(counted_at)
        for row, was, now in counts:
            unsalted = self.frame.key.unsalted(row)
            new, old = entries_of(now, unsalted), entries_of(was, unsalted)
            entries += [Put(entry, [NewCell(INDEX_COLUMN, timestamp, b"")]) for entry in new]
            cells.append(Put(row, [NewCell(column, timestamp, checked_json(now, row, timestamp))]))
            removals += [Delete(entry, timestamp - 1) for entry in old if entry not in new]
        index = index_table(self.frame.table, LINK.name).name
        self._write(index, entries)
        self._write(self.frame.table, cells)
        self._write(index, removals)

    def _named(self, row: bytes) -> tuple[bytes, str] | DamagedRow:
        """Return *row* with its URL, or the error where it is no row key."""
        try:
            return row, self.frame.key.url_of(row)
        except KeyFormatError as exc:
            return DamagedRow(row, None, f"the queue: {exc}")

    def _before(self, stored: Row) -> LinkCounts | None:
        """Return the last counts of a row: none but their date is known of those that cannot be read."""
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
            tally = _Tally(urls[row])
            for _, cells in some:
                tally.add(column[start:] for column, _ in cells)
            yield tally.counts(counted_at)

    def _write(self, table: str, mutations: Sequence[Put | Delete]) -> None:
        for error in self.frame.store.write(table, mutations) if mutations else ():
            if error is not None:
                raise error


def entries_of(counts: LinkCounts | None, key: bytes) -> list[bytes]:
    """Return the entries of the link index that *counts* of the row *key*, which is without its salt, make."""
    return [] if counts is None else LINK.entries(Page(url="", link_counts=counts), key)


class _Counted:
    """The rows that a run has counted, `MOST_REMEMBERED` at most, by their hashes: 8 bytes a row."""

    def __init__(self) -> None:
        self._rounds: list[array[int]] = []

    def add(self, rows: Sequence[bytes]) -> None:
        new = sorted(map(hash, rows[: MOST_REMEMBERED - sum(map(len, self._rounds))]))
        if not new:
            return
        # Small ones are put together, so that there are few to look into.
        while self._rounds and len(self._rounds[-1]) <= len(new):
            new = sorted([*self._rounds.pop(), *new])
        self._rounds.append(array("q", new))

    def __contains__(self, row: bytes) -> bool:
        one = hash(row)
        places = ((some, bisect_left(some, one)) for some in self._rounds)
        return any(at < len(some) and some[at] == one for some, at in places)


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
            elif (domain := _domain(source)) == self._domain:
                self._internal += 1
            elif domain is not None:
                self._external += 1

    def counts(self, counted_at: datetime) -> LinkCounts:
        return LinkCounts(self._internal + self._external, self._internal, self._external, self._self, counted_at)


def _domain(url: bytes) -> str | None:
    """Return the registered domain of *url*, None where it is no URL: readers leave such an inlink out."""
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


def _rounds(waiting: Iterator[Waiting]) -> Iterator[list[Waiting]]:
    """Yield the batches of the queue, several at once, as long as they do not have too many rows."""
    some: list[Waiting] = []
    size = 0
    for batch in waiting:
        some.append(batch)
        size += len(batch.rows) + len(batch.pages)
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
