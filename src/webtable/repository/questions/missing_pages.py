"""Whether all pages are there that the hosts of a table were counted with: a damaged file may have lost rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

from webtable.errors import DamagedRow, IndexNeeded, InvalidURL, KeyFormatError
from webtable.repository.hints.queue import RecountQueue
from webtable.repository.indexes.web import HOST, HOST_COUNTS
from webtable.repository.questions.hosts import CountedHost, counted_hosts
from webtable.rowkey.web import host_and_rest
from webtable.schema import index_table
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from webtable.repository.frame import Frame
    from webtable.repository.scanning.scope import Scope
    from webtable.repository.stored.damaged_rows import Damage
    from webtable.rowkey import KeyRange

HOSTS_AT_ONCE: Final = 100_000
"""Of how many hosts pages are counted at once, for each of which the keys of all rows are read."""


@dataclass(frozen=True, slots=True)
class MissingPages:
    """A host that has fewer pages than it should: so many were counted at `counted_at`, and so many are there now."""

    host: str
    expected: int
    found: int
    counted_at: datetime

    @property
    def pages(self) -> int:
        """How many pages are missing."""
        return self.expected - self.found


def missing_pages(
    frame: Frame, scope: Scope, ranges: Sequence[KeyRange], damage: Damage
) -> Iterator[MissingPages] | None:
    """Yield the hosts of *scope*, whose rows are *ranges*, that have fewer pages than were counted.

    None where no host was counted (`WebTable.refresh_links`), or there is no index of hosts. Of hosts of which pages
    have changed since nothing is known.
    """
    hosts = counted_hosts(frame, scope.domain, damage)
    try:
        some = list(islice(hosts, HOSTS_AT_ONCE))
    except IndexNeeded:
        return None
    return _missing(frame, some, hosts, ranges, damage) if some else None


def _missing(
    frame: Frame, some: list[CountedHost], rest: Iterator[CountedHost], ranges: Sequence[KeyRange], damage: Damage
) -> Iterator[MissingPages]:
    while some:
        found = _pages_of(frame, {one.name for one in some}, ranges)
        short = [one for one in some if found[one.name] < one.counts.pages]
        for one in _settled(frame, short, damage) if short else ():
            yield MissingPages(one.name, one.counts.pages, found[one.name], one.counts.counted_at)
        some = list(islice(rest, HOSTS_AT_ONCE))


def _pages_of(frame: Frame, hosts: Collection[str], ranges: Sequence[KeyRange]) -> Counter[str]:
    """Return how many pages each of *hosts* has, those that cannot be read too."""
    found, host, span = Counter[str](), "", None
    is_page = Wanted([frame.codec.columns.page], keys_only=True)
    for row in frame.store.scan(frame.table, ranges, is_page):
        if span is None or row.key not in span:
            try:
                host = host_and_rest(frame.key.url_of(row.key))[0]
            except (KeyFormatError, InvalidURL):
                continue  # it is damaged, and the page that it was is missing
            if frame.layout.salt != "url":  # then the rows of a host stand beside each other
                span = next((keys for keys in frame.key.host_ranges(host) if row.key in keys), None)
        if host in hosts:
            found[host] += 1
    return found


def _settled(frame: Frame, hosts: Sequence[CountedHost], damage: Damage) -> list[CountedHost]:
    """Return those of *hosts* of which nothing has changed since they were counted.

    What changes a count is entered into the queue before it is done, and removed from it when the new count is stored:
    the queue is read first.
    """
    waiting = _waiting(frame, {host.name for host in hosts}, damage)
    if waiting is None:
        return []
    table, left = index_table(frame.table, HOST.name).name, [host for host in hosts if host.name not in waiting]
    now = frame.store.read(table, [host.entry for host in left], Wanted([HOST_COUNTS])) if left else []
    return [host for host, row in zip(left, now, strict=True) if row and row.cells[HOST_COUNTS][0].timestamp == host.at]


def _waiting(frame: Frame, hosts: Collection[str], damage: Damage) -> set[str] | None:
    """Return those of *hosts* of which something waits to be counted; None where some of the queue cannot be read."""
    queue, waiting = RecountQueue(frame.store, frame.table), set[str]()
    for batch in queue.waiting(also_unfinished=True):
        if batch.is_damaged:
            damage.add(DamagedRow(batch.key, None, f"{queue.table}: nobody knows of which hosts pages wait"))
            return None
        waiting.update(batch.hosts)
        for row in batch.pages:
            try:
                waiting.add(host_and_rest(frame.key.url_of(row))[0])
            except (KeyFormatError, InvalidURL):
                continue  # no page has that key
    return waiting.intersection(hosts)
