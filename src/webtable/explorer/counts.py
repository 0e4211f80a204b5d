"""Counts of pages by one pass over them: of a table by its hosts, of a site by the directories right below it."""

from __future__ import annotations

import re
import threading
from collections import Counter, OrderedDict
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from webtable import ALL, Page, WebTable
from webtable._clock import clock
from webtable.errors import IndexNeeded, InvalidArgument, WebTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from webtable.answers import Site

# How many pages are counted without being asked for, and for how long: of a file that takes a fraction of a second. Of
# more a sample is taken, of so many pages from so many places.
MOST_COUNTED: Final = 20_000
MOST_SECONDS: Final = 2.0
SAMPLE: Final = 2_000
PARTS: Final = 20
# Of how many hosts the counts are read to sort them.
MOST_HOSTS: Final = 5_000
# How many groups, and how many types, are counted apart; the pages of further groups are those of one.
MOST_GROUPS: Final = 5_000
OTHERS: Final = "…"
# For how many seconds counts are kept, and of how many questions; a write into a file ends them at once.
SECONDS: Final = 60
MOST_KEPT: Final = 64
_PORT: Final = re.compile(r":\d*$")
T = TypeVar("T")


@dataclass(slots=True)
class GroupCounts:
    """The counts of a host, or of a directory: pages, bytes, classes of statuses, and the newest capture."""

    name: str
    pages: int = 0
    bytes: int = 0
    classes: Counter[int] = field(default_factory=Counter)
    newest: datetime | None = None

    def add(self, page: Page) -> None:
        """Count *page*."""
        self.pages += 1
        self.bytes += page.size or 0
        self.classes[page.status // 100] += 1
        if self.newest is None or page.fetched_at > self.newest:
            self.newest = page.fetched_at


@dataclass(slots=True)
class SiteCounts:
    """The counts of a site: in all, by status, type and day of the last capture, and of each group.

    Unless they are `is_whole`, they are those of a sample.
    """

    is_whole: bool = True
    all: GroupCounts = field(default_factory=lambda: GroupCounts("all"))
    statuses: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    days: Counter[str] = field(default_factory=Counter)
    groups: dict[str, GroupCounts] = field(default_factory=dict)
    keys: Counter[str] = field(default_factory=Counter)
    """Pages by the salt of their keys."""

    @property
    def sample_text(self) -> str:
        """What a heading says of them if they are those of a sample."""
        return "" if self.is_whole else f", of a sample of {self.all.pages:,} pages"

    @classmethod
    def of(cls, table: WebTable, site: Site, *, limit: int | None = MOST_COUNTED, sample: int = SAMPLE) -> SiteCounts:
        """Count the pages of *site*, or a *sample* of them if they are more than *limit*."""
        directory = urlsplit(site).path if isinstance(site, str) and "://" in site else ""

        def group(page: Page) -> str:
            parts = urlsplit(page.url)
            if not directory:
                return _PORT.sub("", parts.netloc)
            name, slash, _ = parts.path.removeprefix(directory).partition("/")
            return name + slash if slash else ""

        counts = cls._counted(table, table.pages(site, order="storage"), group, limit)
        if not counts.is_whole:
            counts = cls._counted(table, sampled(table, site, sample), group, None)
            counts.is_whole = False
        return counts

    @classmethod
    def _counted(
        cls, table: WebTable, pages: Iterable[Page], group: Callable[[Page], str], limit: int | None
    ) -> SiteCounts:
        counts, digits, end = cls(), table.layout.digits, clock.monotonic() + MOST_SECONDS
        for number, page in enumerate(pages, 1):
            if limit is not None and (number > limit or clock.monotonic() > end):
                counts.is_whole = False
                break
            name = group(page)
            if name not in counts.groups:
                name = name if len(counts.groups) < MOST_GROUPS else OTHERS
                counts.groups.setdefault(name, GroupCounts(name))
            counts.groups[name].add(page)
            counts.all.add(page)
            counts.statuses[str(page.status)] += 1
            if page.content_type and (page.content_type in counts.types or len(counts.types) < MOST_GROUPS):
                counts.types[page.content_type] += 1
            counts.days[f"{page.fetched_at:%Y-%m-%d}"] += 1
            if digits:
                counts.keys[table.key.encode(page.url)[:digits].decode()] += 1
        return counts


def sampled(table: WebTable, site: Site = ALL, limit: int = SAMPLE) -> Iterator[Page]:
    """Yield some pages of *site* from many places in it."""
    answer = table.pages(site, order="storage")
    starts: list[str | None] = [None]
    with suppress(InvalidArgument):  # a table in memory is not divided
        for part in table.pages(site).partitions(PARTS):
            with suppress(WebTableError):
                starts.append(answer.token_after(Page(url=table.key.decode(part.keys.start))))
    for after in starts:
        yield from table.pages(site, order="storage", after=after, limit=limit // len(starts))


class RecentCounts:
    """Counts that were made for the last requests, so that the next page does not make them again."""

    def __init__(self, table: WebTable) -> None:
        self._table = table
        self._kept: OrderedDict[Hashable, tuple[float, int, Future[Any]]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, site: Site, *, is_all: bool = False, most: int | None = None) -> SiteCounts:
        """Return the counts of *site*, of all of its pages, however many there are, if *is_all*.

        With *most* up to so many are counted, and of more a sample of as many.
        """
        limit = None if is_all else most or MOST_COUNTED
        if site == ALL and limit and sum(host.pages for host in self.hosts() or ()) > limit:
            limit = 0  # they are too many, as is known without reading them
        return self.kept(
            (site, is_all, most), lambda: SiteCounts.of(self._table, site, limit=limit, sample=most or SAMPLE)
        )

    def hosts(self) -> list[GroupCounts] | None:
        """Return the hosts with the counts of the last refresh of links; None if they are too many to be sorted."""

        def read() -> list[GroupCounts] | None:
            try:
                hosts = list(self._table.hosts(limit=MOST_HOSTS + 1))
            except IndexNeeded:
                return []
            if len(hosts) > MOST_HOSTS:
                return None
            return [GroupCounts(host.name, host.pages or 0, host.bytes or 0) for host in hosts]

        return self.kept("hosts", read)

    def of_first(self, site: Site, limit: int) -> GroupCounts:
        """Return the counts of the first *limit* pages of a host or a directory."""

        def read() -> GroupCounts:
            counts = GroupCounts(str(site))
            for page in self._table.pages(site, limit=limit):
                counts.add(page)
            return counts

        return self.kept((site, limit), read)

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what *make* returned for *key* within the last minute, unless the file was written to since then.

        Requests that come while it is made wait for it; if that fails, or is stopped with its request, one of them
        makes it.
        """
        while True:
            now, transaction = clock.monotonic(), self._table.store.last_transaction()
            with self._lock:
                made_at, made_of, making = self._kept.get(key, (0.0, -1, None))
                is_first = making is None or made_of != transaction or now - made_at >= SECONDS
                if making is None or is_first:
                    making = Future()
                    self._kept[key] = now, transaction, making
                    while len(self._kept) > MOST_KEPT:
                        self._kept.popitem(last=False)
                self._kept.move_to_end(key)
            if is_first:
                return self._made(key, making, make)
            with suppress(Exception):
                value: T = making.result()
                return value

    def _made(self, key: Hashable, making: Future[Any], make: Callable[[], T]) -> T:
        try:
            value = make()
        except BaseException as exc:
            with self._lock:
                if key in self._kept and self._kept[key][2] is making:
                    del self._kept[key]
            making.set_exception(exc if isinstance(exc, Exception) else CancelledError())
            raise
        making.set_result(value)
        return value
