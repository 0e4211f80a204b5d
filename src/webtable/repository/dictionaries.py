"""The dictionaries of a web table: bytes that the pages of a site share, which the frames of their bodies leave out.

    {name}_meta   row dictionary:{number}, columns layout:dictionary, layout:of, layout:retired
                  row site:{site}, a column layout:{number} without a value for each dictionary that writers may use

The number stands in each frame, so a reader asks for it and needs to know nothing else. It is made from the digest of
the dictionary; what is there under a number is never another one.

A dictionary is taken away only when its site is erased: it is retired first, then the frames that name it are packed
anew, and it is removed last. A writer stores its pages and then looks whether a dictionary that they name is retired
or gone; if so it packs them anew itself. So of a writer and an erasure that cross, one at least sees the other.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

from webtable._checksums import UNREADABLE
from webtable._forks import renew_after_fork
from webtable.errors import StoreRefused
from webtable.repository.bodies import pack, unpack
from webtable.repository.dictionary import Dictionary
from webtable.repository.removals import written
from webtable.repository.sites import Sites, sites_of
from webtable.repository.values import JSONValue, checked_json
from webtable.rowkey.ranges import prefix_range
from webtable.schema import meta_table
from webtable.store import Delete, NewCell, Put, Store
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import zstandard

    from webtable.store import Row

CACHE_BYTES = 64 * 2**20
"""How much memory the dictionaries that were used last may take."""
FRESH_SECONDS = 10.0
"""How long a site without a dictionary is taken to have none, and one that cannot be read to be damaged."""
_MADE_READY = 7
"""How many times its bytes a dictionary takes when it is ready to pack and to unpack: measured, rounded up."""
_MOST_BYTES = 2**20
"""Of a dictionary that is read; those that are made have a sixteenth of it."""
_MOST_SITES = 50_000
_TRIES = 8
_LAST_TIMESTAMP = 2**62
_ROW, _SITE_ROW = b"dictionary:", b"site:"
_FAMILY = b"layout:"
_BYTES, _OF, _RETIRED = b"layout:dictionary", b"layout:of", b"layout:retired"


class _Of(msgspec.Struct, frozen=True):
    site: str


_OFS = JSONValue(_Of)


class Dictionaries:
    """The dictionaries of one web table, read as they are needed. May be used by many threads."""

    def __init__(self, store: Store, table: str) -> None:
        self._store = store
        self._meta = meta_table(table).name
        self._lock = threading.Lock()
        self._cache: OrderedDict[int, Dictionary] = OrderedDict()
        self._cached = 0
        self._unreadable: dict[int, tuple[float, str]] = {}
        self._sites: dict[str, tuple[float, Sequence[int]]] = {}
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Make the lock anew."""
        self._lock = threading.Lock()

    def ready(self, number: int) -> zstandard.ZstdCompressionDict:
        """Return the dictionary *number* as zstd takes it; raises `ValueError` where it is lost or damaged."""
        return self.of(number).ready

    def of(self, number: int) -> Dictionary:
        """Return the dictionary *number*; raises `ValueError` where it is lost or damaged."""
        with self._lock:
            if (known := self._cache.get(number)) is not None:
                self._cache.move_to_end(number)
                return known
            at, why = self._unreadable.get(number, (0.0, ""))
        if why and time.monotonic() - at < FRESH_SECONDS:
            raise ValueError(why)
        try:
            found = self.stored(number)
            if found is None:
                raise ValueError(f"the dictionary {number:08x} is lost")
        except ValueError as exc:
            with self._lock:
                if len(self._unreadable) >= _MOST_SITES:
                    self._unreadable.clear()
                self._unreadable[number] = time.monotonic(), str(exc)
            raise
        self._hold(found)
        return found

    def stored(self, number: int) -> Dictionary | None:
        """Return the dictionary *number* as it is stored now, None where it is not; raises `ValueError` for damage."""
        (row,) = self._store.read(self._meta, [_row(number)], Wanted([_BYTES, _OF]))
        if row is None:
            return None
        try:
            data, site = row.value(_BYTES), _site_of(row)
            if data is None:
                raise ValueError("its bytes are gone")
            # Any number of bytes fits into a frame of a stranger, and it takes them several times.
            found = Dictionary.of(site, unpack(data, most=_MOST_BYTES))
            if found.number != number:
                raise ValueError(f"it is the one with the number {found.number:08x}")
        except UNREADABLE as exc:
            raise ValueError(f"the dictionary {number:08x} is damaged: {exc}") from exc
        return found

    def chosen(self, urls: Sequence[str]) -> list[Dictionary | None]:
        """Return the dictionary for the page of each of *urls*, that of its host or its registered domain, or None."""
        sites = [sites_of(url) for url in urls]
        self._learn({site for both in sites for site in both if site is not None})
        return [self._first(both) for both in sites]

    def _first(self, sites: Sites) -> Dictionary | None:
        for site in sites:
            _, numbers = self._sites.get(site or "", (0.0, ()))
            for number in numbers:
                try:
                    return self.of(number)
                except ValueError:
                    continue  # what it has packed cannot be read, and no more is to be packed with it
        return None

    def _learn(self, sites: Collection[str]) -> None:
        """Read which dictionary writers use for those of *sites* of which that is not known."""
        now = time.monotonic()
        with self._lock:
            if len(self._sites) > _MOST_SITES:
                self._sites.clear()
            unknown = [site for site in sites if not self._is_known(site, now)]
        if not unknown:
            return
        rows = self._store.read(self._meta, [_site_row(site) for site in unknown], Wanted([_FAMILY]))
        with self._lock:
            for site, row in zip(unknown, rows, strict=True):
                self._sites[site] = now, [] if row is None else [number for _, number in _numbers(row)]

    def _is_known(self, site: str, now: float) -> bool:
        read_at, numbers = self._sites.get(site, (0.0, ()))
        return bool(numbers) or (read_at > 0 and now - read_at < FRESH_SECONDS)

    def keep(self, site: str, data: bytes) -> Dictionary:
        """Store a new dictionary of *site*, which writers do not use before it is announced, and return it."""
        for attempt in range(_TRIES):
            one = Dictionary.numbered(site, data, attempt)
            if self.adopt(one):
                return one
        raise StoreRefused(f"{self._store.name}: there is no number left for a dictionary of {site}")

    def adopt(self, one: Dictionary) -> bool:
        """Store *one* under its number, and return whether it is there: the number may be that of another one."""
        try:
            there = self.stored(one.number)
            if there is None:
                self._put(one)
                # Of two that take a number at once the earlier one stays, because it has the higher timestamp.
                there = self.stored(one.number)
        except ValueError:
            return False
        is_there = there is not None and (there.site, there.data) == (one.site, one.data)
        if is_there:
            self._hold(one)
        return is_there

    def _put(self, one: Dictionary) -> None:
        row, timestamp = _row(one.number), _LAST_TIMESTAMP - time.time_ns() // 1_000_000
        of = checked_json(_Of(one.site), row, timestamp)
        (data,) = pack([one.data])
        written(self._store, self._meta, [Put(row, [NewCell(_BYTES, timestamp, data), NewCell(_OF, timestamp, of)])])

    def announce(self, one: Dictionary) -> None:
        """Let writers use a dictionary that is stored."""
        cell = NewCell(_FAMILY + b"%08x" % one.number, time.time_ns() // 1_000_000, b"")
        written(self._store, self._meta, [Put(_site_row(one.site), [cell])])
        with self._lock:
            _, before = self._sites.get(one.site, (0.0, ()))
            self._sites[one.site] = time.monotonic(), [*before, one.number]

    def gone(self, numbers: Collection[int]) -> set[int]:
        """Return those of *numbers* whose dictionaries are retired or not there, as it is now."""
        wanted = sorted(numbers)
        rows = self._store.read(self._meta, [_row(one) for one in wanted], Wanted([_OF, _RETIRED]))
        found = {
            number
            for number, row in zip(wanted, rows, strict=True)
            if row is None or _OF not in row.cells or _RETIRED in row.cells
        }
        if found:
            with self._lock:
                self._sites = {site: known for site, known in self._sites.items() if found.isdisjoint(known[1])}
        return found

    def all(self) -> Iterator[tuple[int, str | None]]:
        """Yield the number and the site of each that is stored; None for a site that cannot be read."""
        for row in self._store.scan(self._meta, [prefix_range(_ROW)], Wanted([_OF, _RETIRED])):
            try:
                number = int(row.key[len(_ROW) :], 16)
            except ValueError:
                continue  # no row of ours
            try:
                yield number, _site_of(row)
            except UNREADABLE:
                yield number, None

    def announced(self) -> Iterator[int]:
        """Yield the number of each that writers may use."""
        for row in self._store.scan(self._meta, [prefix_range(_SITE_ROW)], Wanted([_FAMILY])):
            yield from (number for _, number in _numbers(row))

    def retire(self, numbers: Iterable[tuple[int, str | None]]) -> None:
        """Have writers use these dictionaries, each with its site, no more."""
        now = time.time_ns() // 1_000_000
        for number, site in numbers:
            written(self._store, self._meta, [Put(_row(number), [NewCell(_RETIRED, now, b"")])])
            if site is not None:
                # Up to the last timestamp: a trainer may announce it behind this.
                gone = Delete(_site_row(site), _LAST_TIMESTAMP, [_FAMILY + b"%08x" % number])
                written(self._store, self._meta, [gone])
            with self._lock:
                self._sites.pop(site or "", None)

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove dictionaries that nothing names any more."""
        for number in numbers:
            written(self._store, self._meta, [Delete(_row(number), _LAST_TIMESTAMP)])
            with self._lock:
                if (one := self._cache.pop(number, None)) is not None:
                    self._cached -= _weight(one)

    def _hold(self, one: Dictionary) -> None:
        with self._lock:
            self._unreadable.pop(one.number, None)
            if one.number not in self._cache:
                self._cache[one.number] = one
                self._cached += _weight(one)
            while self._cached > CACHE_BYTES and len(self._cache) > 1:
                _, oldest = self._cache.popitem(last=False)
                self._cached -= _weight(oldest)


def _row(number: int) -> bytes:
    return _ROW + b"%08x" % number


def _site_row(site: str) -> bytes:
    return _SITE_ROW + site.encode()


def _site_of(row: Row) -> str:
    cell = row.cells[_OF][0] if _OF in row.cells else None
    if cell is None:
        raise ValueError("its site is gone")
    return _OFS.read(cell.value, row.key, cell.timestamp).site


def _numbers(row: Row) -> list[tuple[int, int]]:
    """Return the numbers that the row of a site has, each behind the moment since which it does, earliest first."""
    found: list[tuple[int, int]] = []
    for column, cells in row.cells.items():
        try:
            found.append((cells[0].timestamp, int(column[len(_FAMILY) :], 16)))
        except ValueError:
            continue  # a damaged name: that dictionary is used no more, and can still be read
    return sorted(found)


def _weight(one: Dictionary) -> int:
    return len(one.data) * _MADE_READY
