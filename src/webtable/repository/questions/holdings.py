"""How much a table holds: estimated in seconds from the counts of its hosts and a sample, or counted in full."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from math import inf, sqrt
from statistics import mean, stdev
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable._page.page import Page
from webtable.errors import DamagedRow, IndexNeeded
from webtable.repository.derived.queue import Pending, RecountQueue
from webtable.repository.frame import Frame
from webtable.repository.indexes.index import HOST
from webtable.repository.page_counts import PageCounts, grouping
from webtable.repository.questions.host_entries import known_totals
from webtable.repository.questions.stats import PROGRESS_PAGES
from webtable.repository.regions import sample_urls
from webtable.rowkey import KeyRange, prefix_stop
from webtable.store import Row
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.arguments import Progress
    from webtable.repository.questions.host_entries import HostTotals
    from webtable.repository.table.web_table import WebTable

SAMPLE: Final = 400
"""The number of pages in the sample for sizes and versions."""
_SECONDS: Final = 2.0
"""How many seconds pages are counted for an estimate."""
_LEAST_PAGES: Final = 2_000
_LEAST_SALTS: Final = 4
"""The fewest pages and salts counted: an estimate is then off by some percent if salts are made from URLs."""
_MOST_OFF: Final = 0.25
"""The largest standard error of the pages of a salt, in proportion to them, with which all salts are extrapolated."""
_AT_ONCE: Final = 16
_MOST_HOSTS: Final = 200_000
"""The most hosts whose counts are added up; if there are more, pages are estimated."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """The contents of a table: its pages, their stored captures, and the bytes of bodies.

    `unpacked` are the bytes of the newest body of each page as it was crawled, as `stats` and `hosts` count them;
    `stored` those of the bodies of all captures as they are stored. `oldest` and `newest` are the dates of the newest
    captures of pages. `basis` says what is exact as of which moment, and what an estimate is based on; it is empty
    if everything was counted.
    """

    pages: int
    captures: int
    stored: int
    unpacked: int
    hosts: int
    oldest: datetime | None
    newest: datetime | None
    basis: str = ""
    as_of: datetime | None = None
    """When pages, hosts and `unpacked` were counted last; None if they are current or estimated."""
    pending: Pending | None = None
    """The changes since then that wait to be counted; None if `as_of` is."""
    damaged: int = 0
    """How many rows were skipped because they cannot be read."""

    @property
    def waiting(self) -> int | None:
        """How many rows wait at least for the next refresh; None if nothing was counted before."""
        return None if self.pending is None else self.pending.rows

    @property
    def is_estimate(self) -> bool:
        """Whether some of the numbers were not counted."""
        return bool(self.basis)


def counted(table: WebTable, on_progress: Progress | None = None) -> Holdings:
    """Return what *table* holds, by reading all of it; *on_progress* is called with the number of pages read."""
    frame = _frame(table)
    return _sums(frame, frame.store.scan(frame.table, [KeyRange()], _wanted(frame)), on_progress)


def estimated(table: WebTable) -> Holdings:
    """Return an estimate of what *table* holds, within seconds however large it is.

    Pages, hosts and `unpacked` are the exact counts of the hosts if these were counted (`TableLinks.refresh`).
    Otherwise the pages of some salts are counted, or those that can be in two seconds: a lower bound without salts, and
    where salts differ much, as those of few hosts do. Everything else is extrapolated from a sample of the pages.
    """
    frame = _frame(table)
    found = _sums(frame, _sampled(table, frame))
    if found.pages < SAMPLE // 2:  # then it is all of the pages
        rows = frame.store.scan(frame.table, [KeyRange()], _wanted(frame), limit=SAMPLE + 1)
        exact = _sums(frame, islice(rows, SAMPLE))
        if next(rows, None) is None:
            return exact
    oldest, newest = _dates(table, found)
    found = replace(found, oldest=oldest, newest=newest)
    # The queue first: what is counted in between is then reported as waiting, not missed.
    pending = RecountQueue(frame.store, frame.table).pending() if HOST.name in frame.indexes.read() else None
    totals = known_totals(frame, _MOST_HOSTS)
    return _by_sample(frame, found) if totals is None else _by_hosts(found, totals, pending)


def _by_hosts(found: Holdings, totals: HostTotals, pending: Pending | None) -> Holdings:
    """Return the counts of the hosts, and the rest extrapolated from the sample *found* to as many pages and bytes."""
    factor = totals.pages / (found.pages or 1)
    # By bytes: the sizes of pages differ much from host to host, and how well they are packed does not.
    stored = found.stored * totals.bytes / found.unpacked if found.unpacked else found.stored * factor
    exact = f"pages, hosts and unpacked are as of {totals.as_of:%Y-%m-%d %H:%M:%S} UTC, the last refresh of links"
    return replace(
        found,
        pages=totals.pages,
        captures=round(found.captures * factor),
        stored=round(stored),
        unpacked=totals.bytes,
        hosts=totals.hosts,
        basis=f"{exact}; captures and stored are estimated by a sample of {found.pages:,} pages",
        as_of=totals.as_of,
        pending=pending,
    )


def _by_sample(frame: Frame, found: Holdings) -> Holdings:
    pages, basis = _pages(frame)
    pages = max(pages, found.pages)  # a count without time may have found fewer than the sample
    factor = pages / (found.pages or 1)
    return replace(
        found,
        pages=pages,
        captures=round(found.captures * factor),
        stored=round(found.stored * factor),
        unpacked=round(found.unpacked * factor),
        basis=f"estimated: {basis}; sizes, captures and hosts, of which there may be more, by a sample of "
        f"{found.pages:,} pages",
    )


def _frame(table: WebTable) -> Frame:
    return Frame.of(table.store, table.table, table.layout)


def _wanted(frame: Frame) -> Wanted:
    names = frame.codec.columns
    return Wanted([names.page, names.capture, names.body], versions=frame.layouts.recent().versions)


def _sampled(table: WebTable, frame: Frame) -> Iterator[Row]:
    keys = iter([frame.key.encode(url) for url in sample_urls(table, most=SAMPLE)])
    while some := list(islice(keys, _AT_ONCE)):
        yield from (row for row in frame.store.read(frame.table, some, _wanted(frame)) if row is not None)


def _sums(frame: Frame, rows: Iterable[Row], on_progress: Progress | None = None) -> Holdings:
    names = frame.codec.columns
    hosts = grouping("host", key=frame.key)
    counts = PageCounts({"host": hosts})
    captures = stored = damaged = 0
    for row in rows:
        if names.page not in row.cells:
            continue
        page = frame.pages.each(Row(row.key, {names.page: row.cells[names.page]}))
        if not isinstance(page, Page):
            damaged += isinstance(page, DamagedRow)
            continue
        counts.add_dated(row.key, page)
        at = row.cells[names.page][0].timestamp
        versions = row.cells.get(names.capture, ())
        captures += len(versions) + (at not in {cell.timestamp for cell in versions})
        stored += sum(len(cell.value) for cell in row.cells.get(names.body, ()))
        if on_progress is not None and counts.pages % PROGRESS_PAGES == 0:
            on_progress(counts.pages)
    return Holdings(
        pages=counts.pages,
        captures=captures,
        stored=stored,
        unpacked=counts.bytes,
        hosts=len(hosts),
        oldest=counts.oldest,
        newest=counts.newest,
        damaged=damaged,
    )


def _pages(frame: Frame) -> tuple[int, str]:
    """Return about how many pages there are, and the basis of that number in words."""
    digits = frame.layout.digits
    if not digits:
        pages, is_whole = _counted(frame, KeyRange(), clock.monotonic() + _SECONDS)
        return pages, "pages counted" if is_whole else f"at least as many pages as were counted in {_SECONDS:g} s"
    return _by_salts(frame, digits)


def _by_salts(frame: Frame, digits: int) -> tuple[int, str]:
    """Return the pages of all salts, extrapolated from some if these have about equally many.

    Those of hosts do not where a few hosts have most pages: then it is at least what was counted.
    """
    salts = [b"%0*x" % (digits, number) for number in range(16**digits)]
    random.shuffle(salts)
    last, pages, part = clock.monotonic() + _SECONDS, list[int](), 0
    for salt in salts:
        found, is_whole = _counted(frame, KeyRange(salt, prefix_stop(salt)), last)
        if not is_whole:
            part = found
            break
        pages.append(found)
        is_even = frame.layout.salt == "url" and len(pages) >= _LEAST_SALTS
        if (is_even and sum(pages) >= _LEAST_PAGES) or clock.monotonic() > last:
            break
    if len(pages) == len(salts):
        return sum(pages), "pages counted"
    if _error(pages) > _MOST_OFF:
        return sum(pages) + part, f"at least as many pages as were counted in {_SECONDS:g} s"
    return sum(pages) * len(salts) // len(pages), f"pages by a count of {len(pages)} of {len(salts)} salts"


def _error(pages: Sequence[int]) -> float:
    """Return the standard error of the mean of *pages*, in proportion to it."""
    if len(pages) < _LEAST_SALTS or not any(pages):
        return inf
    return stdev(pages) / mean(pages) / sqrt(len(pages))


def _counted(frame: Frame, keys: KeyRange, last: float) -> tuple[int, bool]:
    """Return how many pages are in *keys*, and whether all of them were counted before the moment *last*."""
    pages = 0
    for _ in frame.store.scan(frame.table, [keys], Wanted([frame.codec.columns.page], keys_only=True)):
        pages += 1
        if not pages % _AT_ONCE and clock.monotonic() > last:
            return pages, False
    return pages, True


def _dates(table: WebTable, found: Holdings) -> tuple[datetime | None, datetime | None]:
    """Return when the oldest and the newest page were fetched, by the index of times, or without it by the sample."""
    try:
        ends = [list(table.fetched(order=order, limit=1)) for order in ("oldest", "newest")]
    except IndexNeeded:
        return found.oldest, found.newest
    oldest, newest = (pages[0].fetched_at if pages else None for pages in ends)
    return oldest or found.oldest, newest or found.newest
