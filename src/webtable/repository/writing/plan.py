"""What becomes of the pages of a batch, decided one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from webtable._clock import clock
from webtable._page.page import Link, Page, memory_of
from webtable.errors import WebTableError
from webtable.repository.hints.hints import Change
from webtable.repository.stored.captures import NEWEST, content_date, decide
from webtable.repository.stored.page_state import Capture, Stored, Version
from webtable.repository.stored.page_write import PageWrite
from webtable.repository.writing.capture_checks import refusal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from webtable.repository.frame import Frame
    from webtable.repository.writing.repeats import Repeats, Sources


class PlannedWrite(msgspec.Struct, frozen=True):
    """A write for the page of a batch whose place there is `index`, which takes the place of the page `before`."""

    index: int
    row: bytes
    write: PageWrite
    before: Page | None
    former: Sequence[Link] | None = None
    """The links of *before*, where they are in the same batch and not yet stored."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of the first `count` pages of a batch; the others must wait until these are stored.

    `repeated` are the pages of which the very same capture is there already. `refused` says, by their places, why pages
    are not to be stored: they would be hidden, have expired, or rest on what cannot be read.
    """

    count: int
    writes: list[PlannedWrite]
    repeated: list[Change]
    refused: dict[int, WebTableError]


class Planner:
    """Makes the plan of one batch; of a page several captures may be in it, each later than the one before it.

    What is *stored* of the pages was read when the batch was taken up (`stored_of`). The plan ends in front of a
    capture that rests on what is not known before others are stored, and where more than *room* bytes of stored bodies
    are to be written again.
    """

    def __init__(
        self,
        frame: Frame,
        batch: Sequence[tuple[bytes, Page]],
        stored: Mapping[bytes, Stored],
        repeats: Repeats,
        sources: Sources,
        room: int,
    ) -> None:
        self._batch = batch
        self._repeats = repeats
        self._sources = sources
        self._room = room
        self._ttl = frame.layouts.known.ttl
        self._now = clock.now()
        self._read = stored
        self._stored = dict(stored)
        self._has_several = len(stored) < len(batch)
        self._links: dict[tuple[bytes, datetime], Sequence[Link]] = {}
        self._closed: set[bytes] = set()
        self._writes: list[PlannedWrite] = []
        self._repeated: list[Change] = []

    def plan(self) -> Plan:
        """Return what becomes of the pages, as far as it can be decided now."""
        refused: dict[int, WebTableError] = {}
        for index, (row, page) in enumerate(self._batch):
            if row in self._closed:
                return Plan(index, self._writes, self._repeated, refused)
            stored = self._stored[row]
            whole = refusal(page, stored, self._ttl, self._now) or self._repeats.whole(row, page, self._sources)
            if isinstance(whole, WebTableError):
                refused[index] = whole
                continue
            writes = decide(whole, stored, self._ttl)
            if not self._fits(index, row, writes):
                return Plan(index, self._writes, self._repeated, refused)
            self._take(index, row, page, writes)
        return Plan(len(self._batch), self._writes, self._repeated, refused)

    def _fits(self, index: int, row: bytes, writes: Sequence[PageWrite]) -> bool:
        """Take room for the stored bodies that *writes* repeat; return whether there was any, and they are stored."""
        repeats = [source for write in writes if (source := write.content_of)]
        self._room -= sum(memory_of(source) + (source.size or 0) for source in repeats)
        if self._room < 0 and index:
            return False
        return not repeats or self._stored[row] is self._read[row]

    def _take(self, index: int, row: bytes, page: Page, writes: Sequence[PageWrite]) -> None:
        stored = self._stored[row]
        before = stored.page
        former = self._links.get((row, before.content_at)) if before and before.content_at else None
        self._writes += [PlannedWrite(index, row, write, before, former) for write in writes]
        if not writes and before is not None and before.fetched_at == page.fetched_at:
            self._repeated.append(Change(index, row, None, before, is_repeated=True))
        if len(writes) != 1 or not writes[0].with_metadata or writes[0].content_of:
            self._closed.add(row)  # what follows rests on what is not at hand before this is stored
        elif self._has_several:
            (write,) = writes
            self._stored[row] = _stored_after(stored, write)
            if write.with_content:
                self._links[row, page.fetched_at] = write.page.outlinks or ()


def stored_of(frame: Frame, batch: Sequence[tuple[bytes, Page]]) -> dict[bytes, Stored]:
    """Return, by their rows, what is stored of pages: their newest versions, and older ones where these matter.

    To read a thousand versions of a page takes longer than to store one more.
    """
    versions = frame.layouts.known.versions
    pages: dict[bytes, Page] = {}
    for row, page in batch:
        pages.setdefault(row, page)
    found = dict(zip(pages, frame.pages.stored(list(pages), min(versions, NEWEST)), strict=True))
    if versions <= NEWEST:
        return found
    for row, page in pages.items():
        stored = found[row]
        if stored.page is None or len(stored.versions) < NEWEST or not _rests_on_older(page, stored):
            continue
        if page.fetched_at < stored.page.fetched_at:
            found[row] = stored._replace(versions=frame.pages.versions_up_to(row, page.fetched_at))
        else:
            (found[row],) = frame.pages.stored([row], versions)
    return found


def _stored_after(stored: Stored, write: PageWrite) -> Stored:
    """Return what is stored of a page when *write* is done, which takes the place of what is *stored* now."""
    page, versions = write.page, stored.versions
    if write.with_content:
        capture = Capture(page.digest, status_code=page.status_code, redirect_to=page.redirect_to)
        versions = [Version(page.fetched_at, capture), *versions[: NEWEST - 1]]
    return Stored(replace(page, html=None, outlinks=None), versions, stored.deleted)


def _rests_on_older(page: Page, stored: Stored) -> bool:
    """Whether what becomes of *page* may rest on versions that are older than those in *stored*."""
    before, versions = stored.page, stored.versions
    if before is None or not versions:
        return False
    if page.fetched_at < before.fetched_at:
        return versions[-1].at > page.fetched_at
    if page.status_code == 304 and before.status_code >= 400:
        return all(version.capture.status_code >= 300 for version in versions)
    if page.same_as is not None and content_date(page) is not None:
        return all(version.at != page.content_at for version in versions)
    return before.has_body and all(version.at != before.content_at for version in versions)
