"""What is stored of a page: its newest capture, the versions of its content, and its last delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from webtable._page.page import Page, Size, Status
from webtable.errors import DamagedRow
from webtable.repository.stored.timestamps import milliseconds


class Capture(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a history needs to know of a version without its body: the value of the capture column."""

    digest: str | None = None
    size: Size | None = None
    title: str | None = None
    status_code: Status = 200
    content_type: str | None = None
    truncated: bool = False
    headers: Mapping[str, str] = {}
    charset: str | None = None
    etag: str | None = None
    last_modified: datetime | None = None
    redirect_to: str | None = None
    canonical: str | None = None
    description: str | None = None
    robots: str | None = None
    h1: str | None = None
    language: str | None = None
    body_crc32: str | None = None
    """The CRC-32, in hex, of the body under the same date, where bodies are stored as they are."""
    links_crc32: str | None = None
    """The same of the links."""
    has_links: bool = True
    """Whether links stored under its date are its own: a capture of the same millisecond may have left some."""


CAPTURED = tuple(name for name in Capture.__struct_fields__ if name in Page.__struct_fields__)
"""The fields of a page that a capture keeps: its own first ones."""
DAMAGED_CAPTURE = Capture(status_code=999)
"""Stands for a version whose capture cannot be read: its content may still be there."""


class Version(NamedTuple):
    """A version of a page's content: the capture that brought it, and when."""

    at: datetime
    capture: Capture


class Deleted(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a delete has hidden of a page: all captures up to a moment, and those of some later moments.

    It is the value of the column that a delete leaves behind.
    """

    until: datetime
    also: tuple[datetime, ...] = ()

    def hides(self, fetched_at: datetime) -> bool:
        """Whether a capture of that date is hidden."""
        return fetched_at <= self.until or fetched_at in self.also


class Unreadable(NamedTuple):
    """A stored page whose newest metadata cannot be read; its date, in epoch milliseconds, is still known."""

    timestamp: int
    error: DamagedRow

    def hides(self, page: Page) -> bool:
        """Whether the capture *page* would not take its place."""
        return milliseconds(page.fetched_at) < self.timestamp


class Stored(NamedTuple):
    """What is stored of a page: its newest capture, the versions of its content, newest first, and its last delete."""

    page: Page | None = None
    versions: Sequence[Version] = ()
    deleted: Deleted | None = None
    unreadable: Unreadable | None = None
    """In place of the page, where its newest metadata cannot be read."""


NOTHING = Stored()
"""What is stored of a page that is not there."""
