"""How much a table holds: what is known of it without reading it, or counted in full."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from webtable.errors import DamagedRow, IndexNeeded
from webtable.page.page import Page
from webtable.repository.context import Frame
from webtable.repository.hosts.entries import known_totals
from webtable.repository.indexes.index import HOST
from webtable.repository.questions.stats import PROGRESS_PAGES
from webtable.repository.reading.page_counts import PageCounts, grouping
from webtable.repository.upkeep.queue import Pending, RecountQueue
from webtable.rowkey import KeyRange
from webtable.store import Row
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from webtable.repository.arguments import Progress
    from webtable.repository.table.web_table import WebTable

FEW: Final = 400
"""A table of at most so many pages is counted at once."""
_MOST_HOSTS: Final = 200_000
"""The most hosts whose counts are added up."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """The contents of a table: its pages, their stored captures, and the bytes of bodies; None for what is unknown.

    `unpacked` are the bytes of the newest body of each page as it was crawled, as `stats` and `hosts` count them;
    `stored` those of the bodies of all captures as they are stored. `oldest` and `newest` are the dates of the newest
    captures of pages.
    """

    pages: int | None
    captures: int | None
    stored: int | None
    unpacked: int | None
    hosts: int | None
    oldest: datetime | None
    newest: datetime | None
    as_of: datetime | None = None
    """When pages, hosts and `unpacked` were counted last; None if they are current or unknown."""
    pending: Pending | None = None
    """The changes since then that wait to be counted; None if `as_of` is."""
    damaged: int = 0
    """How many rows were skipped because they cannot be read."""

    @property
    def waiting(self) -> int | None:
        """How many rows wait at least for the next refresh; None if nothing was counted before."""
        return None if self.pending is None else self.pending.rows


def holdings(table: WebTable, *, count: bool = False, on_progress: Progress | None = None) -> Holdings:
    """Return what *table* holds, as far as it is known; with *count* all of it is read and counted.

    Pages, hosts and `unpacked` are the counts of the hosts, exact as of the last `TableLinks.refresh`; `oldest` and
    `newest` come from the index of times. Captures and `stored` are unknown, and without these indexes so is the rest;
    a table of at most 400 pages is counted. *on_progress* is called with the number of pages read.
    """
    frame = Frame.of(table.store, table.table, table.layout)
    pages = Wanted([frame.codec.columns.page], keys_only=True)
    if count or sum(1 for _ in frame.store.scan(frame.table, [KeyRange()], pages, limit=FEW + 1)) <= FEW:
        return _counted(frame, on_progress)
    oldest, newest = _dates(table)
    unknown = Holdings(None, None, None, None, None, oldest, newest)
    # The queue first: what is counted in between is then reported as waiting, not missed.
    pending = RecountQueue(frame.store, frame.table).pending() if HOST.name in frame.indexes.read() else None
    totals = known_totals(frame, _MOST_HOSTS)
    if totals is None:
        return unknown
    return replace(
        unknown, pages=totals.pages, hosts=totals.hosts, unpacked=totals.bytes, as_of=totals.as_of, pending=pending
    )


def _counted(frame: Frame, on_progress: Progress | None) -> Holdings:
    names = frame.codec.columns
    wanted = Wanted([names.page, names.capture, names.body], versions=frame.layouts.recent().versions)
    hosts = grouping("host", key=frame.key)
    counts = PageCounts({"host": hosts})
    captures = stored = damaged = 0
    for row in frame.store.scan(frame.table, [KeyRange()], wanted):
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


def _dates(table: WebTable) -> tuple[datetime | None, datetime | None]:
    """Return when the oldest and the newest page were fetched, by the index of times; None without it."""
    try:
        ends = [list(table.fetched(order=order, limit=1)) for order in ("oldest", "newest")]
    except IndexNeeded:
        return None, None
    oldest, newest = (pages[0].fetched_at if pages else None for pages in ends)
    return oldest, newest
