"""The stored state of a page (its newest capture, its versions, its last delete), and the writes that change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webtable._clock import milliseconds
from webtable.errors import DamagedRow
from webtable.page.json_lines import ATTRIBUTES
from webtable.page.page import STORED_NAMES, Page
from webtable.page.parts import SAID, HTMLFacts, Size, Status, Time


class Capture(msgspec.Struct, frozen=True, omit_defaults=True, rename=STORED_NAMES):
    """A version without its body, for histories: the value of the capture column."""

    digest: str | None = None
    size: Size | None = None
    title: str | None = None
    status: Status = 200
    content_type: str | None = None
    truncated: bool = False
    headers: Mapping[str, str] = {}
    charset: str | None = None
    etag: str | None = None
    last_modified: Time | None = None
    redirect_to: str | None = None
    canonical: str | None = None
    description: str | None = None
    robots: str | None = None
    h1: str | None = None
    language: str | None = None
    language_detected: bool = False
    other_canonical: str | None = None
    robots_by_bot: str | None = None
    depth: Size | None = None
    priority: float | None = None
    referrer: str | None = None
    duration: Size | None = None
    attempts: Size | None = None
    server_address: str | None = None
    protocol: str | None = None
    _html_facts: HTMLFacts | None = None
    _payload_digest: str | None = None
    body_crc32: str | None = None
    """The CRC-32, in hex, of the body with the same date, if bodies are stored uncompressed."""
    links_crc32: str | None = None
    """The same of the links."""
    has_links: bool = True
    """Whether links stored with its date are its own: another capture of the same millisecond may have left some."""


KeyedPage = tuple[bytes, Page]
"""A page with its row key."""
CAPTURED = tuple(name for name in Capture.__struct_fields__ if name in Page.__struct_fields__)
"""The fields of a page that a capture keeps: its own first ones."""
KEPT = (
    "first_seen",
    "changed_at",
    "change_count",
    "has_body",
    "outlink_count",
    "only_self_links",
    "links_digest",
    "inlinks_at",
    "hints_at",
    "similarity",
    "unchanged",
    "has_late",
    "link_counts",
)
"""The fields that are computed when a page is stored, from the stored state."""
GIVEN = tuple(name for name in ATTRIBUTES if name not in KEPT)
"""The fields that a crawler gives; digest and size are used if the body was truncated or is not given."""
# No server sends this status, so it equals no capture.
DAMAGED_CAPTURE = Capture(status=999)
"""Stands for a version whose capture cannot be read: its content may still be there."""


class Version(NamedTuple):
    """A version of a page's content: its date, and the capture that had it first."""

    at: datetime
    capture: Capture


# HBase hides all cells up to the date of a delete, also those that are put later, until a major compaction; no client
# can see that. So the delete leaves this mark, and a capture that it would hide is refused.
class Deleted(msgspec.Struct, frozen=True, omit_defaults=True):
    """The captures of a page that a delete hides: all up to a moment, and those of some later moments.

    It is the value of the column that marks deletes.
    """

    until: Time
    also: tuple[Time, ...] = ()

    def hides(self, fetched_at: datetime) -> bool:
        """Whether a capture of that date is hidden."""
        return fetched_at <= self.until or fetched_at in self.also


class Unreadable(NamedTuple):
    """A stored page whose newest metadata cannot be read; its date, in epoch milliseconds, is still known."""

    timestamp: int
    error: DamagedRow

    def hides(self, page: Page) -> bool:
        """Whether the capture *page* is older, and so would not replace it."""
        return milliseconds(page.fetched_at) < self.timestamp


class Stored(NamedTuple):
    """The stored state of a page: its newest capture, the versions of its content (newest first), its last delete."""

    page: Page | None = None
    versions: Sequence[Version] = ()
    deleted: Deleted | None = None
    unreadable: Unreadable | None = None
    """Set in place of the page if its newest metadata cannot be read."""


# Reading a thousand versions of a page takes longer than storing one more.
NEWEST = 8
"""How many versions of a page are read at first: enough unless a capture is late or its page is an error."""
NOTHING = Stored()
"""The state of a page that is not stored."""


class PageWrite(NamedTuple):
    """A page to be written: its metadata (except for a late capture), and its content if that is new."""

    page: Page
    with_content: bool = True
    with_metadata: bool = True
    content_of: Page | None = None
    """The stored page whose body and links are written again, if `page` does not have its own."""
    with_derived: bool = True
    """Whether entries and inlinks are written with the metadata; not if they do not change."""
    with_links: bool = True
    """Whether the links may have changed; `page` has none, and its inlinks stay, if only its history has."""

    @property
    def changes_derived(self) -> bool:
        """Whether the entries and inlinks of the page may change."""
        return self.with_metadata and self.with_derived

    def dated(self, before: Page | None, seen: datetime | None, ttl: int | None, unchanged: str | None) -> PageWrite:
        """Return the write with the dates that depend on the page *before*, which it replaces.

        These are the date of its first capture (*seen*), the date when its inlinks were last written, the date of its
        entries and inlinks, which must be later than the one of *before*, and those of captures that found its content
        *unchanged*.
        """
        page = self.page
        has_late = page._has_late or (before is not None and before._has_late)
        dates = (seen, self._inlinks_since(before, ttl), _hints_after(before, page), unchanged, has_late)
        if dates == (page.first_seen, page._inlinks_at, page._hints_at, page._unchanged, page._has_late):
            return self
        page = replace(
            page,
            first_seen=seen,
            _inlinks_at=dates[1],
            _hints_at=dates[2],
            _unchanged=unchanged,
            _has_late=has_late,
        )
        return self._replace(page=page)

    def _inlinks_since(self, before: Page | None, ttl: int | None) -> datetime | None:
        since = None if before is None else before.stored.inlinks_at or before.stored.content_at
        if since is not None and self.with_content and is_over_half(since, self.page.fetched_at, ttl):
            return None
        return None if since == self.page.stored.content_at else since


# Of two captures of a URL in one millisecond the later put wins: WARC dates are often whole seconds, and a redirect to
# the same URL has the date of the page that follows.
def hints_at(page: Page) -> datetime:
    """Return the date with which the entries and inlinks of *page* are written.

    It is that of the capture. If another capture was stored with that date before, it is a millisecond later than the
    date of the entries and inlinks of that capture, so that these can be removed by a delete that does not hide the new
    ones.
    """
    return page.stored.hints_at or page.fetched_at


def _hints_after(before: Page | None, page: Page) -> datetime | None:
    if before is None:
        return None
    after = hints_at(before) + timedelta(milliseconds=1)
    return after if after > page.fetched_at else None


def is_over_half(since: datetime, now: datetime, ttl: int | None) -> bool:
    """Whether half of the time to live *ttl* (seconds), beginning at *since*, is over *now*."""
    return ttl is not None and now - since > timedelta(seconds=ttl / 2)


SaidFacts = tuple[str | None, ...]
"""What a page says of itself: the values of the fields `SAID`, None for a language that was found in its text."""
Content = tuple[str | None, int, str | None, SaidFacts]
"""What the contents of two captures are compared by: digest, status, redirect and what they say of themselves."""
_said = attrgetter(*SAID)
_LANGUAGE = SAID.index("language")


def brought(capture: Page | Capture) -> Content:
    """Return the values by which the contents of two captures are compared."""
    facts: SaidFacts = _said(capture)
    if capture.language_detected:
        # Whether it is looked for is an option of a writer, and no change of the page.
        facts = (*facts[:_LANGUAGE], None, *facts[_LANGUAGE + 1 :])
    return capture.digest, capture.status, capture.redirect_to, facts


def saying(page: Page, facts: SaidFacts) -> Page:
    """Return *page* with these *facts* instead of its own."""
    own = brought(page)[3]
    changed = {name: new for name, old, new in zip(SAID, own, facts, strict=True) if old != new}
    return replace(page, **changed, language_detected=page.language_detected and "language" not in changed)


def capture_of(page: Page) -> Capture:
    """Return the capture of *page*, as it is kept with its content."""
    return Capture(**{name: getattr(page, name) for name in CAPTURED})


def is_repeat(newer: Page | Capture, older: Page | Capture) -> bool:
    """Whether two versions that follow each other have one content, and the *newer* one is not the first with it.

    It was written again for its time to live, or put before the *older* one. Without a body their links may differ.
    """
    return brought(newer) == brought(older) and (newer.digest is not None or newer.status >= 300)


def content_date(page: Page) -> datetime | None:
    """Return the date of the content that *page* repeats, or None if it does not name one."""
    at = page.stored.content_at
    return at if at is not None and at < page.fetched_at else None
