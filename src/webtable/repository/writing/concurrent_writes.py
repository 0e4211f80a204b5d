"""Concurrent writes: captures of the pages of a batch that other writers store while the batch is being stored.

Two writers that store captures of one page at once decide without knowing of each other. In a file, where a batch is a
transaction, the batch is prepared again if another writer has changed its rows. In other stores a batch reads its rows
again after it has written them, and writes what is missing then. One of the two writers always notices: both read
after they have written, so the last one to write reads the result of both, and what it then writes is read again in the
same way. A writer that is killed in between has acknowledged nothing: putting its captures again mends the page, and so
does `index repair`.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from webtable._clock import EPOCH, milliseconds
from webtable.errors import StoreUnavailable
from webtable.page.page import Page
from webtable.repository.page_storage.decisions import mended
from webtable.repository.page_storage.state import NEWEST
from webtable.repository.upkeep.cells import PageChange
from webtable.repository.writing.plan import BatchPlan, PlannedWrite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable.errors import WebTableError
    from webtable.repository.context import Frame
    from webtable.repository.page_storage.state import Stored

MOST_TRANSACTIONS = 100
"""How many of its own transactions a writer remembers: more than can end while one of its batches is being stored."""


class OwnTransactions:
    """The numbers of a writer's last transactions (see `Store.last_transaction`)."""

    def __init__(self) -> None:
        self._numbers: deque[int] = deque(maxlen=MOST_TRANSACTIONS)

    def others_between(self, since: int | None, number: int | None) -> bool:
        """Add *number*, and return whether another writer's transaction came between *since* and *number*.

        False if one of them is None: the batch is not a transaction, or was prepared within this one.
        """
        if since is None or number is None:
            return False
        others = any(one not in self._numbers for one in range(since + 1, number))
        self._numbers.append(number)
        return others


class PageGone(StoreUnavailable):
    """The page was deleted while a later capture of it was stored, which the delete does not hide: put it again."""


class ConcurrentWrite(NamedTuple):
    """A row in which another writer has stored a capture meanwhile."""

    place: int
    """The place in the batch of the last capture that was written there."""
    row: bytes
    since: datetime
    """Versions from this date on may have inlinks that no other writer removes."""
    first: datetime
    """The date of the first capture that was written there."""
    overtaken: Page | None
    """The capture that was written, if the row has a later one now."""


def concurrent_writes(
    frame: Frame,
    own: Mapping[bytes, Sequence[tuple[int, Page]]],
    stored: Mapping[bytes, Stored],
    *,
    is_retry: bool = False,
) -> tuple[list[ConcurrentWrite], dict[int, WebTableError]]:
    """Return the rows that other writers have changed since *stored* was read, and errors for pages that are gone.

    A capture is gone if its row has no metadata now: the newer capture that had them was deleted meanwhile.

    *own* has the captures that were written to each row, with their places, in the order of their dates. With
    *is_retry* it is not known who has written since the first attempt, so all rows are returned.
    """
    if not own:
        return [], {}
    found = frame.pages.stored(list(own), frame.versions_at_first)
    both = list(zip(own.items(), found, strict=True))
    compared = [_concurrent_write(row, some, stored[row], now, is_retry=is_retry) for (row, some), now in both]
    gone: dict[int, WebTableError] = {
        index: PageGone(f"{page.url[:200]}: deleted while a later capture was stored")
        for (_, some), now in both
        for index, page in some
        if now.page is None and now.unreadable is None and not (now.deleted and now.deleted.hides(page.fetched_at))
    }
    return [one for one in compared if one is not None], gone


def _concurrent_write(
    row: bytes, own: Sequence[tuple[int, Page]], stored: Stored, now: Stored, *, is_retry: bool
) -> ConcurrentWrite | None:
    (index, page), before = own[-1], stored.page
    if now.page is None:
        return None
    dates = {one.fetched_at for _, one in own}
    since = EPOCH if before is None else before.stored.content_at or before.fetched_at
    if is_retry:
        since = max((one.at for one in now.versions if one.at < min(dates)), default=EPOCH)
    known = dates.union(one.at for one in stored.versions)
    is_overtaken = now.page.fetched_at > max(page.fetched_at, before.fetched_at if before else EPOCH)
    is_between = any(since < one.at < page.fetched_at and one.at not in known for one in now.versions)
    if is_retry or is_overtaken or is_between or mended(now, *dates) is not None:
        return ConcurrentWrite(index, row, since, min(dates), page if now.page.fetched_at > page.fetched_at else None)
    return None


def unsettled_writes(frame: Frame, rows: Sequence[bytes]) -> list[ConcurrentWrite]:
    """Return *rows* as concurrent writes that were never settled, because a writer was killed."""
    found = zip(rows, frame.pages.stored(rows, 1), strict=True)
    pages = [(row, now.page) for row, now in found if now.page is not None]
    return [
        ConcurrentWrite(index, row, page.stored.content_at or EPOCH, page.fetched_at, None)
        for index, (row, page) in enumerate(pages)
    ]


def settled(frame: Frame, writes: Sequence[ConcurrentWrite]) -> tuple[BatchPlan, dict[bytes, Stored]]:
    """Return the plan that mends the rows of *writes*, and the stored state of those that still exist.

    The newest capture stays the newest, whichever writer stored it. Its inlinks are written again, because the other
    writer may have removed them, and the inlinks of the captures from the same time are removed.
    """
    found = frame.pages.stored([one.row for one in writes], frame.versions_at_first)
    there = [(one, now, now.page) for one, now in zip(writes, found, strict=True) if now.page is not None]
    links = frame.pages.links_of([(one.row, page) for one, _, page in there])
    others = frame.pages.links_since([(one.row, milliseconds(one.since)) for one, _, _ in there], NEWEST)
    plan = BatchPlan(len(there), [], [], {})
    for index, (one, now, page) in enumerate(there):
        mend = mended(now, one.first)
        if mend is not None:
            plan.writes.append(PlannedWrite(index, one.row, mend, page, others[index]))
        if mend is None or not mend.changes_derived:
            newest = replace(page, outlinks=tuple(links[index]), _inlinks_at=None)
            plan.repeated.append(PageChange(index, one.row, one.overtaken, newest, others[index], is_concurrent=True))
    return plan, {one.row: now for one, now, _ in there}
