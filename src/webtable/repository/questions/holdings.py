"""How much a table holds: estimated in a moment, or counted, by reading all of it."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from webtable.errors import DamagedRow, IndexNeeded, KeyFormatError
from webtable.repository.frame import Frame
from webtable.repository.moments import milliseconds, moment_of
from webtable.repository.questions.hosts import known_totals
from webtable.repository.questions.stats import PROGRESS_PAGES
from webtable.repository.samples import sample_urls
from webtable.rowkey import KeyRange, prefix_stop
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webtable.repository.arguments import Progress
    from webtable.repository.table import WebTable
    from webtable.store import Row

SAMPLE: Final = 400
"""Of so many pages sizes and versions are looked at."""
_SECONDS: Final = 2.0
"""How long pages are counted for an estimate."""
_LEAST_PAGES: Final = 2_000
_LEAST_SALTS: Final = 4
"""So many pages and salts are counted at least: that is off by some percent where salts are of URLs."""
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a table holds: its pages, their captures that are kept, and the bytes of the bodies of these.

    `stored` are those bytes as they are stored, `unpacked` as they were crawled. `oldest` and `newest` are the dates of
    the newest captures of pages. `basis` tells what an estimate goes by; it is empty where all of it was counted.
    """

    pages: int
    captures: int
    stored: int
    unpacked: int
    hosts: int
    oldest: datetime | None
    newest: datetime | None
    basis: str = ""

    @property
    def is_estimate(self) -> bool:
        """Whether it was not counted."""
        return bool(self.basis)


def counted(table: WebTable, on_progress: Progress | None = None) -> Holdings:
    """Return what *table* holds, for which all of it is read; *on_progress* is told how many pages were."""
    frame = _frame(table)
    return _sums(frame, frame.store.scan(frame.table, [KeyRange()], _wanted(frame)), on_progress)


def estimated(table: WebTable) -> Holdings:
    """Return about how much *table* holds, in some seconds however large it is.

    Pages and hosts are those that the hosts were counted with (`WebTable.refresh_links`) where they were; else pages
    are counted of some salts, and without salts for two seconds: then there are at least so many. All else is what a
    sample of the pages has, for as many.
    """
    frame = _frame(table)
    found = _sums(frame, _sampled(table, frame))
    if found.pages < SAMPLE // 2:  # then it is all of the pages
        exact = _sums(frame, frame.store.scan(frame.table, [KeyRange()], _wanted(frame), limit=SAMPLE + 1))
        if exact.pages <= SAMPLE:
            return exact
    pages, hosts, basis = _pages(frame)
    factor = pages / (found.pages or 1)
    oldest, newest = _dates(table, found)
    others = "sizes and captures" if hosts else "sizes, captures and hosts, of which there may be more,"
    return replace(
        found,
        pages=pages,
        captures=round(found.captures * factor),
        stored=round(found.stored * factor),
        unpacked=round(found.unpacked * factor),
        hosts=hosts or found.hosts,
        oldest=oldest,
        newest=newest,
        basis=f"{basis}; {others} by a sample of {found.pages:,} pages",
    )


def _frame(table: WebTable) -> Frame:
    return Frame.of(table.store, table.table, table.layout)


def _wanted(frame: Frame) -> Wanted:
    names = frame.codec.columns
    return Wanted([names.page, names.capture, names.html], versions=frame.layouts.recent().versions)


def _sampled(table: WebTable, frame: Frame) -> Iterator[Row]:
    keys = iter([frame.key.encode(url) for url in sample_urls(table, most=SAMPLE)])
    while some := list(islice(keys, _AT_ONCE)):
        yield from (row for row in frame.store.read(frame.table, some, _wanted(frame)) if row is not None)


def _sums(frame: Frame, rows: Iterable[Row], on_progress: Progress | None = None) -> Holdings:
    names = frame.codec.columns
    pages = captures = stored = unpacked = 0
    hosts: set[str | None] = set()
    dates: list[int] = []
    for row in rows:
        if names.page not in row.cells:
            continue
        at = row.cells[names.page][0].timestamp
        versions = row.cells.get(names.capture, ())
        pages += 1
        captures += len(versions) + (at not in {cell.timestamp for cell in versions})
        stored += sum(len(cell.value) for cell in row.cells.get(names.html, ()))
        unpacked += _unpacked(frame, row)
        hosts.add(_host(frame, row))
        dates = [min([*dates, at]), max([*dates, at])]
        if on_progress is not None and pages % PROGRESS_PAGES == 0:
            on_progress(pages)
    oldest, newest = (moment_of(dates[0]), moment_of(dates[1])) if dates else (None, None)
    return Holdings(pages, captures, stored, unpacked, len(hosts - {None}), oldest, newest)


def _unpacked(frame: Frame, row: Row) -> int:
    bodies = {cell.timestamp for cell in row.cells.get(frame.codec.columns.html, ())}
    try:
        versions = frame.codec.versions(row)
    except DamagedRow:
        return 0
    return sum(one.capture.size or 0 for one in versions if milliseconds(one.at) in bodies)


def _host(frame: Frame, row: Row) -> str | None:
    try:
        return urlsplit(frame.key.url_of(row.key)).hostname
    except KeyFormatError:
        return None


def _pages(frame: Frame) -> tuple[int, int | None, str]:
    """Return how many pages there are about, and hosts if that is known, and what that goes by."""
    totals = known_totals(frame)
    if totals is not None:
        return totals.pages, totals.hosts, f"pages and hosts as counted {totals.as_of:%Y-%m-%d %H:%M} UTC"
    digits = frame.layout.digits
    if not digits:
        pages, is_whole = _counted(frame, KeyRange(), time.monotonic() + _SECONDS)
        return pages, None, "pages counted" if is_whole else f"at least so many pages, counted for {_SECONDS:g} s"
    return _by_salts(frame, digits)


def _by_salts(frame: Frame, digits: int) -> tuple[int, None, str]:
    """Return the pages of some salts, for as many as there are: salts are hashes, so they have about equally many."""
    salts = [b"%0*x" % (digits, number) for number in range(16**digits)]
    random.shuffle(salts)
    last, pages, looked_at = time.monotonic() + _SECONDS, 0, 0
    for salt in salts:
        found, is_whole = _counted(frame, KeyRange(salt, prefix_stop(salt)), last)
        if not is_whole and looked_at:
            break
        pages, looked_at = pages + found, looked_at + 1
        if not is_whole:
            return pages, None, "at least so many pages: those of a part of a salt"
        if looked_at >= _LEAST_SALTS and pages >= _LEAST_PAGES:
            break
    what = "all" if looked_at == len(salts) else f"{looked_at} of {len(salts)}"
    return pages * len(salts) // looked_at, None, f"pages by those of {what} salts"


def _counted(frame: Frame, keys: KeyRange, last: float) -> tuple[int, bool]:
    """Return how many pages are in *keys*, and whether all of them were counted before the moment *last*."""
    pages = 0
    for _ in frame.store.scan(frame.table, [keys], Wanted([frame.codec.columns.page], keys_only=True)):
        pages += 1
        if not pages % _AT_ONCE and time.monotonic() > last:
            return pages, False
    return pages, True


def _dates(table: WebTable, found: Holdings) -> tuple[datetime | None, datetime | None]:
    """Return when the oldest and the newest page were fetched, by the index of times; by the sample without it."""
    try:
        ends = [list(table.fetched(order=order, limit=1)) for order in ("oldest", "newest")]
    except IndexNeeded:
        return found.oldest, found.newest
    oldest, newest = (pages[0].fetched_at if pages else None for pages in ends)
    return oldest or found.oldest, newest or found.newest
