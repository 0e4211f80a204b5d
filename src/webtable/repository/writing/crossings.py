"""What a batch does about captures of its pages that somebody else has stored while it was on its way.

Two writers that store captures of one page at once decide without knowing of each other. Where a batch is a
transaction (in a file) it is prepared again if anybody else has written to its rows. Elsewhere it reads its rows again
after it has written, and writes what is missing by what is there then. One of the two always notices: each reads after
it has written, so whoever writes last reads what both have left; what it writes then is read again in the same way. A
writer that is killed in between has acknowledged nothing: to put its captures again mends the page, and so does
`index repair`.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from webtable._clock import EPOCH, milliseconds
from webtable._page.page import Page
from webtable.errors import StoreUnavailable
from webtable.repository.hints.hints import PageChange
from webtable.repository.stored.captures import mended
from webtable.repository.stored.page_state import NEWEST
from webtable.repository.writing.plan import BatchPlan, PlannedWrite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable.errors import WebTableError
    from webtable.repository.frame import Frame
    from webtable.repository.stored.page_state import Stored

MOST_TRANSACTIONS = 100
"""How many of its own transactions a writer knows: more than end while a batch of its own is on its way."""


class OwnTransactions:
    """The numbers of the transactions that a writer has begun (see `Store.last_transaction`)."""

    def __init__(self) -> None:
        self._numbers: deque[int] = deque(maxlen=MOST_TRANSACTIONS)

    def others_between(self, since: int | None, number: int | None) -> bool:
        """Note that *number* is one of them, and return whether somebody else's came between *since* and it.

        False where one is None: the batch is no transaction, or was prepared within this one.
        """
        if since is None or number is None:
            return False
        others = any(one not in self._numbers for one in range(since + 1, number))
        self._numbers.append(number)
        return others


class PageGone(StoreUnavailable):
    """The page was deleted while a later capture of it was stored, which the delete does not hide: put it again."""


class Crossing(NamedTuple):
    """A row in which somebody else has stored a capture meanwhile."""

    place: int
    """That of the last capture in the batch that was written there."""
    row: bytes
    since: datetime
    """From when on links of versions may have inlinks that nobody else removes."""
    first: datetime
    """The date of the first capture that was written there."""
    overtaken: Page | None
    """The capture that was written, where there is a later one now."""


def crossings(
    frame: Frame,
    own: Mapping[bytes, Sequence[tuple[int, Page]]],
    stored: Mapping[bytes, Stored],
    *,
    is_again: bool = False,
) -> tuple[list[Crossing], dict[int, WebTableError]]:
    """Return the rows that somebody else has written to since it was read what was *stored*, and which pages are gone.

    A capture that is gone is one without metadata: the newer one that had them was deleted meanwhile.

    *own* are the captures that were written there, in the order of their dates, with their places. Where that
    *is_again* done, nobody knows who has written in between: these are all rows then.
    """
    if not own:
        return [], {}
    found = frame.pages.stored(list(own), frame.versions_at_first)
    both = list(zip(own.items(), found, strict=True))
    compared = [_crossing(row, some, stored[row], now, is_again=is_again) for (row, some), now in both]
    gone: dict[int, WebTableError] = {
        index: PageGone(f"{page.url[:200]}: deleted while a later capture was stored")
        for (_, some), now in both
        for index, page in some
        if now.page is None and now.unreadable is None and not (now.deleted and now.deleted.hides(page.fetched_at))
    }
    return [one for one in compared if one is not None], gone


def _crossing(
    row: bytes, own: Sequence[tuple[int, Page]], stored: Stored, now: Stored, *, is_again: bool
) -> Crossing | None:
    (index, page), before = own[-1], stored.page
    if now.page is None:
        return None
    dates = {one.fetched_at for _, one in own}
    since = EPOCH if before is None else before.content_at or before.fetched_at
    if is_again:
        since = max((one.at for one in now.versions if one.at < min(dates)), default=EPOCH)
    known = dates.union(one.at for one in stored.versions)
    is_overtaken = now.page.fetched_at > max(page.fetched_at, before.fetched_at if before else EPOCH)
    is_between = any(since < one.at < page.fetched_at and one.at not in known for one in now.versions)
    if is_again or is_overtaken or is_between or mended(now, *dates) is not None:
        return Crossing(index, row, since, min(dates), page if now.page.fetched_at > page.fetched_at else None)
    return None


def crossed_earlier(frame: Frame, rows: Sequence[bytes]) -> list[Crossing]:
    """Return *rows* as those that writers have crossed in who did not come to settle it."""
    found = zip(rows, frame.pages.stored(rows, 1), strict=True)
    pages = [(row, now.page) for row, now in found if now.page is not None]
    return [
        Crossing(index, row, page.content_at or EPOCH, page.fetched_at, None) for index, (row, page) in enumerate(pages)
    ]


def settled(frame: Frame, crossed: Sequence[Crossing]) -> tuple[BatchPlan, dict[bytes, Stored]]:
    """Return what is to be written of the rows that were *crossed*, and what is stored of those that are still there.

    The newest capture keeps its place, whosever it is: its inlinks are written again, for the other writer may have
    removed them, and those of the captures beside it are removed.
    """
    found = frame.pages.stored([one.row for one in crossed], frame.versions_at_first)
    there = [(one, now, now.page) for one, now in zip(crossed, found, strict=True) if now.page is not None]
    links = frame.pages.links_of([(one.row, page) for one, _, page in there])
    others = frame.pages.links_since([(one.row, milliseconds(one.since)) for one, _, _ in there], NEWEST)
    plan = BatchPlan(len(there), [], [], {})
    for index, (one, now, page) in enumerate(there):
        mend = mended(now, one.first)
        if mend is not None:
            plan.writes.append(PlannedWrite(index, one.row, mend, page, others[index]))
        if mend is None or not mend.changes_hints:
            newest = replace(page, outlinks=tuple(links[index]), inlinks_at=None)
            plan.repeated.append(PageChange(index, one.row, one.overtaken, newest, others[index], is_crossed=True))
    return plan, {one.row: now for one, now, _ in there}
