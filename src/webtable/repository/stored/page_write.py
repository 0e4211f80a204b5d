"""A page as it is to be written, with the dates that follow from what it replaces."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from webtable._page.page import Page
from webtable.repository.stored.timestamps import hints_at

if TYPE_CHECKING:
    from datetime import datetime


class PageWrite(NamedTuple):
    """A page as it is to be written: its metadata (but that of a late capture), and its content where that is new."""

    page: Page
    with_content: bool = True
    with_metadata: bool = True
    content_of: Page | None = None
    """The stored page whose body and links are to be written again, where `page` does not bring its own."""
    with_hints: bool = True
    """Whether metadata comes with its entries and inlinks; where these stay as they are it does not."""

    @property
    def changes_hints(self) -> bool:
        """Whether the entries and inlinks of the page may be others when it is written."""
        return self.with_metadata and self.with_hints

    def dated(self, before: Page | None, seen: datetime | None, ttl: int | None) -> PageWrite:
        """Return the write with the dates that follow from the page *before*, which it replaces.

        They are the date of its first capture (*seen*), that under which its links were last written to where they
        lead, and that of its entries and inlinks, which is later than that of those of *before*.
        """
        page = self.page
        dates = (seen, self._inlinks_since(before, ttl), _hints_after(before, page))
        if dates == (page.first_seen, page.inlinks_at, page.hints_at):
            return self
        page = replace(page, first_seen=dates[0], inlinks_at=dates[1], hints_at=dates[2])
        return PageWrite(page, self.with_content, self.with_metadata, self.content_of, self.with_hints)

    def _inlinks_since(self, before: Page | None, ttl: int | None) -> datetime | None:
        since = None if before is None else before.inlinks_at or before.content_at
        if since is not None and self.with_content and is_over_half(since, self.page.fetched_at, ttl):
            return None
        return None if since == self.page.content_at else since


def _hints_after(before: Page | None, page: Page) -> datetime | None:
    if before is None:
        return None
    after = hints_at(before) + timedelta(milliseconds=1)
    return after if after > page.fetched_at else None


def is_over_half(since: datetime, now: datetime, ttl: int | None) -> bool:
    """Whether half of the time to live *ttl* (seconds) that began with *since* is over *now*."""
    return ttl is not None and now - since > timedelta(seconds=ttl / 2)
