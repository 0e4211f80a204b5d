"""The entries of the host index: which hosts have pages, how many, and which salts the hosts of a domain have."""

from __future__ import annotations

from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable._checksums import UNREADABLE
from webtable.errors import DamagedRow, IndexNeeded
from webtable.repository.indexes.index import HOST, HOST_COUNTS, HOST_VALUES, HostCounts, place_of
from webtable.repository.reading.read_ahead import Damage
from webtable.repository.reading.scan import ScanSpec, in_key_order, in_storage_order
from webtable.repository.reading.scope import PLAIN_KEY, Scope, SiteParts
from webtable.repository.upkeep.queue import RecountQueue
from webtable.rowkey import KeyRange, canonical_host, registered_domain
from webtable.rowkey.fields.domain import host_of, reversed_host
from webtable.rowkey.ranges import clipped
from webtable.rowkey.urls import split_url
from webtable.schema import INDEX_COLUMN, index_table_name
from webtable.store.metrics import Counts
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.context import TableContext
    from webtable.store import Row


MOST_HOSTS = 256
"""The most hosts of a domain whose salts are worth looking up before its pages are read."""
HOSTS_AT_ONCE = 64
"""How many hosts are checked at once, if each is one range."""


class HostTotals(NamedTuple):
    """The totals of a table's hosts at the last refresh of links and hosts, which was at `as_of`."""

    hosts: int
    pages: int
    bytes: int
    as_of: datetime


def known_totals(context: TableContext, limit: int) -> HostTotals | None:
    """Return the totals of the counts of hosts, which are exact except for what waits in the queue.

    None if there is no host index, no host was counted, the counts of one cannot be read, or there are more than
    *limit* hosts. A host without counts waits for them; if nothing waits and it has pages, the totals would lack these,
    so the result is None too.
    """
    try:
        entries = HostEntries(context, None, "").all(limit + 1)
    except IndexNeeded:
        return None
    waits = RecountQueue(context.store, context.table).extent()[0] > 0
    uncounted: list[Row] = []
    count = hosts = pages = size = 0
    newest: datetime | None = None
    # A separate one: to display a table must neither raise nor count damage.
    damage = Damage(Counts(), [])
    for row in entries:
        if (count := count + 1) > limit:
            return None
        counts = _counts(row, damage)
        if counts is None:
            uncounted.append(row)
            continue
        hosts, pages, size = hosts + (counts.pages > 0), pages + counts.pages, size + counts.bytes
        newest = max(newest or counts.counted_at, counts.counted_at)
    if newest is None or damage.count:
        return None
    if not waits and any(has_pages for _, has_pages in _checked(context, iter(uncounted), damage)):
        return None
    # A refresh counts only what has changed, so its own moment is later than that of the counts; without links
    # only the counts show it.
    return HostTotals(hosts, pages, size, max(newest, context.refreshed.until() or newest))


class CountedHost(NamedTuple):
    """A counted host: the key of its entry, its name, its counts, and their timestamp."""

    entry: bytes
    name: str
    counts: HostCounts
    at: int


def counted_hosts(context: TableContext, place: SiteParts | None, damage: Damage) -> Iterator[CountedHost]:
    """Yield the hosts of *place* (None: all) that were counted, in any order; raises `IndexNeeded`."""
    for row in HostEntries(context, place, "verify").all():
        counts = _counts(row, damage)
        if counts is not None and _rows_of(context, row, damage):
            yield CountedHost(row.key, _host_of(row), counts, row.cells[HOST_COUNTS][0].timestamp)


def counted_rows(totals: HostTotals | None) -> list[tuple[str, str]]:
    """Return the rows that show *totals* for a table, or refer to `stats` if they are not known."""
    if totals is None:
        return [("pages", "stats() counts them")]
    hosts, pages, size, as_of = totals
    return [("pages", f"{pages:,} of {hosts:,} hosts, {size:,} bytes, as of {as_of:%Y-%m-%d %H:%M} UTC")]


def narrowed_ranges(context: TableContext, scope: Scope) -> list[KeyRange]:
    """Return the ranges of the rows of *scope*: one for each salt, or for each that a host of the scope has, if known.

    Raises `FullScanNeeded`.
    """
    if scope.place is None or not scope.place.is_subtree or context.layout.salt != "host":
        return scope.ranges(context)
    entries = HostEntries(context, scope.place, "")
    try:
        rows = list(islice(entries.rows(None, MOST_HOSTS + 1, keys_only=True), MOST_HOSTS + 1))
    except IndexNeeded:
        return scope.ranges(context)
    # Their hosts are likely to have all salts.
    if len(rows) > MOST_HOSTS:
        return scope.ranges(context)
    size = context.layout.digits + 1
    salts = {keys.start[:size] for row in rows for keys in _rows_of(context, row)}
    below = scope.unsalted()
    ranges = [KeyRange(salt + below.start, salt + below.stop) for salt in sorted(salts)]
    return clipped(ranges, context.keys_of(context.table))


class HostEntries:
    """The entries of the host index for the hosts of a *place*, or for all."""

    def __init__(self, context: TableContext, place: SiteParts | None, question: str) -> None:
        self._context = context
        self._place = place
        self._question = question

    def table(self) -> str:
        """Return the table of the index; raises `IndexNeeded`."""
        return self._context.indexes.ready(HOST.name, self._question).table

    def ranges(self) -> list[KeyRange]:
        """Return the ranges of the entries."""
        part = self._context.keys_of(index_table_name(self._context.table, HOST.name))
        if self._place is None:
            return clipped(HOST.ranges(KeyRange()), part)
        host = self._place.host
        places = (PLAIN_KEY.subtree_ranges if self._place.is_subtree else PLAIN_KEY.host_ranges)(host)[0]
        # An IP address is not a domain, and hosts below a single label are in all shards.
        is_one = host.count(".") > 0
        return clipped(HOST.ranges(places, HOST.sharding(places.start[:-1] + b"/", b"") if is_one else None), part)

    def all(self, limit: int | None = None) -> Iterator[Row]:
        """Return at most *limit* entries with their counts, in any order."""
        spec = ScanSpec(self.table(), self.ranges(), Wanted([INDEX_COLUMN, HOST_COUNTS]), limit=limit)
        return in_storage_order(self._context.store, spec, None)

    def rows(self, after: bytes | None, expected: int | None, *, keys_only: bool = False) -> Iterator[Row]:
        """Yield the entries after a place, in the order of the hosts; *expected* is how many will be read, if known."""
        wanted = Wanted([INDEX_COLUMN, HOST_COUNTS], keys_only=keys_only)
        spec = ScanSpec(self.table(), self.ranges(), wanted, expected=expected)
        return in_key_order(self._context.store, spec, place_of, None if keys_only else wanted.columns, after)


def entries_without_pages(context: TableContext, domain: str) -> Iterator[Row]:
    """Yield the entries of the hosts of *domain* and below that have no page; none without a host index."""
    try:
        entries = HostEntries(context, SiteParts(canonical_host(domain), is_subtree=True), "").rows(None, None)
    except IndexNeeded:
        return
    yield from (row for row, has_pages in _checked(context, entries, context.damage()) if not has_pages)


def with_pages(
    context: TableContext, entries: Iterator[Row], damage: Damage
) -> Iterator[tuple[str, HostCounts | None]]:
    """Yield the hosts of *entries* that still have a page, with their counts, None before they are counted."""
    for row, has_pages in _checked(context, entries, damage):
        context.counts("host.read")
        if not has_pages:
            context.counts("host.dropped")
            continue
        yield _host_of(row), _counts(row, damage)


def _checked(context: TableContext, entries: Iterator[Row], damage: Damage) -> Iterator[tuple[Row, bool]]:
    """Yield those of *entries* that name a host, each with whether that host has a page."""
    # With a salt of the URL a host has a range for each salt, which are a call's worth by themselves.
    size = HOSTS_AT_ONCE if context.layout.salt != "url" else 1
    is_page = Wanted([context.codec.columns.page], keys_only=True)
    while batch := list(islice(entries, size)):
        named = [(row, ranges) for row in batch if (ranges := _rows_of(context, row, damage))]
        all_ranges = list(chain.from_iterable(ranges for _, ranges in named))
        first = iter(context.store.first_rows(context.table, all_ranges, 1, is_page))
        for row, ranges in named:
            yield row, any(list(islice(first, len(ranges))))


def _rows_of(context: TableContext, entry: Row, damage: Damage | None = None) -> list[KeyRange]:
    """Return the ranges of the pages of the host that *entry* names; none if it names none."""
    try:
        return context.key.host_ranges(_host_of(entry))
    except ValueError as exc:
        if damage is not None:
            damage.add(DamagedRow(entry.key, None, f"the host index: it names no host: {exc}"))
        return []


def _counts(entry: Row, damage: Damage) -> HostCounts | None:
    cells = entry.cells.get(HOST_COUNTS)
    try:
        return HOST_VALUES.read(cells[0].value, entry.key, cells[0].timestamp) if cells else None
    except UNREADABLE as exc:
        damage.add(DamagedRow(entry.key, None, f"the host index: the counts cannot be read: {exc}"))
        return None


def _host_of(entry: Row) -> str:
    """Return the host that *entry* names; raises `ValueError`."""
    host = host_of(place_of(entry.key)[:-1].decode())
    if reversed_host(host).encode() + b"/" != place_of(entry.key):
        raise ValueError(f"{host[:200]!r} stands there")
    return host


# --- The host that was probably meant ---------------------------------------------------------------------------------
#
# For an answer without results: the stored host whose name is most like that of the question.


_MOST_COMPARED: Final = 10_000
"""At most this many hosts are compared, which takes a second."""
_ALIKE: Final = 0.75


def site_meant(context: TableContext, scope: Scope) -> str:
    """Return "; did you mean …?" with the stored host, or its registered domain, that is most like that of *scope*.

    It is empty if that host, or a host of that domain, has pages, if no host is alike, and without the host index.
    """
    if scope.place is None:
        return ""
    host = scope.place.host
    try:
        if _stored(context, SiteParts(host, scope.place.is_subtree), 1):
            return ""
        hosts = _stored(context, None, _MOST_COMPARED)
    except IndexNeeded:
        return ""
    if scope.place.is_subtree:  # a domain may have pages only below it
        hosts = list(dict.fromkeys([*hosts, *map(registered_domain, hosts)]))
    from difflib import get_close_matches  # only where something is wrong

    alike = get_close_matches(host, hosts, 1, _ALIKE)
    return f"; did you mean {alike[0]}?" if alike else ""


def nothing_of(context: TableContext, scope: Scope) -> str:
    """A sentence that there are no pages of *scope*, with what `site_meant` suggests."""
    return f"no {str(scope).removeprefix('all ')}{site_meant(context, scope)}"


def host_meant(context: TableContext, url: str) -> str:
    """Suggest a host as `site_meant` does, for the host of *url* and the hosts below it."""
    return site_meant(context, Scope(SiteParts(split_url(url).host, is_subtree=True)))


def _stored(context: TableContext, place: SiteParts | None, limit: int) -> list[str]:
    """Return the first hosts of *place* that have pages, as many as are compared; raises `IndexNeeded`."""
    entries = HostEntries(context, place, "hosts").rows(None, limit)
    return [name for name, _ in islice(with_pages(context, entries, context.damage()), limit)]
