"""Up to when all links were counted: a page of before then that has no count was linked to by nobody.

    {name}_meta   row links, column layout:counted   {"until": …}

A count is written only where there is one, or was; so a table of pages that nobody links to costs a run nothing. Counts
are made of URLs, whether they are pages yet or not. So what the mark says of a URL without a count holds also where its
page was stored later than its date: as of the mark nobody linked to it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from webtable._checksums import UNREADABLE
from webtable._clock import Fresh, moment_of
from webtable._page.page import LinkCounts, Page
from webtable.repository.stored.layouts import FRESH_SECONDS
from webtable.repository.stored.values import JSONValue, checked_json
from webtable.schema import meta_table
from webtable.store import NewCell, Put, Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store import Row, Store

_ROW = b"links"
_COLUMN = b"layout:counted"


class _Mark(msgspec.Struct, frozen=True):
    until: datetime


_MARKS = JSONValue(_Mark)


class Refreshed:
    """The mark of one web table. May be used by many threads."""

    def __init__(self, store: Store, table: str) -> None:
        self._store = store
        self._meta = meta_table(table).name
        self._known: Fresh[datetime | None] = Fresh(FRESH_SECONDS)

    def until(self) -> datetime | None:
        """Return up to when all links were counted, as of a moment ago; None where they never were."""
        return self._known.recent(self._read)

    def _read(self) -> datetime | None:
        (row,) = self._store.read(self._meta, [_ROW], Wanted([_COLUMN]))
        return None if row is None else _mark(row)

    def advance(self, until: int) -> None:
        """Store that all links were counted up to *until*, in epoch milliseconds; a later mark that is there stays."""
        value = checked_json(_Mark(moment_of(until)), _ROW, until)
        (error,) = self._store.write(self._meta, [Put(_ROW, [NewCell(_COLUMN, until, value)])])
        self._known.forget()
        if error is not None:
            raise error

    def counted(self, page: Page, columns: Sequence[str]) -> Page:
        """Return *page*; where *columns* name its counts, it has none and it is of before the mark, with one of 0."""
        if "link_counts" not in columns or page.link_counts is not None:
            return page
        if (until := self.until()) is None or page.fetched_at >= until:
            return page
        return replace(page, link_counts=LinkCounts(counted_at=until))


def _mark(row: Row) -> datetime | None:
    cell = row.cells[_COLUMN][0]
    try:
        return _MARKS.read(cell.value, _ROW, cell.timestamp).until
    except UNREADABLE:
        return None  # then nobody has counted, as far as anyone can tell, and the next run makes it again
