"""The plan of a batch: what is written for each page, and which versions are dropped for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from webtable._clock import clock
from webtable.errors import WebTableError
from webtable.page.page import Page, memory_of
from webtable.page.parts import Link
from webtable.repository.page_storage.decisions import decide, decide_open
from webtable.repository.page_storage.state import (
    DAMAGED_CAPTURE,
    NEWEST,
    Capture,
    PageWrite,
    Stored,
    Version,
    brought,
    content_date,
)
from webtable.repository.upkeep.cells import PageChange
from webtable.repository.writing.capture_checks import refusal
from webtable.repository.writing.repeats import repeated_of
from webtable.schema import ALL_VERSIONS

if TYPE_CHECKING:
    from datetime import datetime

    from webtable.repository.context import Frame
    from webtable.repository.writing.repeats import Sources


class PlannedWrite(msgspec.Struct, frozen=True):
    """A write for the page at place `index` of a batch; `before` is the page that it replaces."""

    index: int
    row: bytes
    write: PageWrite
    before: Page | None
    former: Sequence[Link] | None = None
    """The links of *before*, if they are in the same batch and not stored yet."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The writes for the first `count` pages of a batch; the others must wait until these are stored.

    `repeated` are pages whose capture is stored already. `refused` has errors by place: of pages that a delete would
    hide, that have expired, or that depend on content that cannot be read.
    """

    count: int
    writes: list[PlannedWrite]
    repeated: list[PageChange]
    refused: dict[int, WebTableError]
    dropped: Mapping[int, Drop] = field(default_factory=dict)
    """The versions that are dropped for pages, because of the table's limit, by place."""
    unresolved: Mapping[int, Page] = field(default_factory=dict)
    """The captures that repeat content which is not stored, by place."""


class Planner:
    """Makes the plan of one batch, which may hold several captures of a page, in the order of their dates.

    *stored* is the state of the pages as it was read for the batch (`stored_of`). The plan ends before a capture that
    depends on other captures being stored first, and where more than *room* bytes of stored bodies are written again.
    """

    def __init__(
        self,
        frame: Frame,
        batch: Sequence[tuple[bytes, Page]],
        stored: Mapping[bytes, Stored],
        sources: Sources,
        room: int,
    ) -> None:
        self._frame = frame
        self._batch = batch
        self._sources = sources
        self._room = room
        self._ttl = frame.layouts.known.ttl
        self._now = clock.now()
        self._read = stored
        self._stored = dict(stored)
        self._has_several = len(stored) < len(batch)
        self._links: dict[tuple[bytes, datetime], Sequence[Link]] = {}
        self._closed: set[bytes] = set()
        self._replacing: set[int] = set()
        self._writes: list[PlannedWrite] = []
        self._repeated: list[PageChange] = []

    def decide(self) -> BatchPlan:
        """Return the plan, up to the first page that cannot be decided yet."""
        count, refused, unresolved = 0, dict[int, WebTableError](), dict[int, Page]()
        for row, page in self._batch:
            if row in self._closed:
                break
            stored = self._stored[row]
            whole = refusal(page, stored, self._ttl, self._now) or repeated_of(count, page, self._sources)
            if isinstance(whole, WebTableError):
                refused[count] = whole
            else:
                writes = decide_open(page, stored) if whole is None else decide(whole, stored, self._ttl)
                if whole is None and writes is not None:
                    unresolved[count] = page
                writes = writes or []
                if not self._fits(count, row, writes):
                    break
                self._take(count, row, page, writes)
            count += 1
        drops = dict(dropped(self._frame, self._writes, self._read))
        for index in self._replacing:
            drops[index] = drops.get(index, NOTHING_DROPPED)._replace(replaced=True)
        return BatchPlan(count, self._writes, self._repeated, refused, drops, unresolved)

    def _fits(self, index: int, row: bytes, writes: Sequence[PageWrite]) -> bool:
        """Take room for the stored bodies that *writes* repeat; return whether there was room, and they are stored."""
        repeats = [source for write in writes if (source := write.content_of)]
        self._room -= sum(memory_of(source) + (source.size or 0) for source in repeats)
        if self._room < 0 and index:
            return False
        return not repeats or self._stored[row] is self._read[row]

    def _take(self, index: int, row: bytes, page: Page, writes: Sequence[PageWrite]) -> None:
        stored = self._stored[row]
        before = stored.page
        former = self._links.get((row, before.stored.content_at)) if before and before.stored.content_at else None
        self._writes += [PlannedWrite(index, row, write, before, former) for write in writes]
        if any(_replaces(write, stored) for write in writes):
            self._replacing.add(index)
        if not writes and before is not None and before.fetched_at == page.fetched_at:
            self._repeated.append(PageChange(index, row, None, before, is_repeated=True))
        if len(writes) != 1 or not writes[0].with_metadata or writes[0].content_of:
            self._closed.add(row)  # later captures depend on state that is only known once this one is stored
        elif self._has_several:
            (write,) = writes
            self._stored[row] = _stored_after(stored, write)
            if write.with_content:
                self._links[row, page.fetched_at] = write.page.outlinks or ()


def stored_of(frame: Frame, batch: Sequence[tuple[bytes, Page]]) -> dict[bytes, Stored]:
    """Return the stored state of the pages of *batch*, by row: their newest versions, and older ones where they matter.

    Reading a thousand versions of a page takes longer than storing one more.
    """
    versions = frame.layouts.known.versions
    pages: dict[bytes, Page] = {}
    for row, page in batch:
        pages.setdefault(row, page)
    found = dict(zip(pages, frame.pages.stored(list(pages), frame.versions_at_first), strict=True))
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


def _replaces(write: PageWrite, stored: Stored) -> bool:
    """Whether *write* takes the place of other content that is *stored* with the same date."""
    page = write.page
    known = (version.capture for version in stored.versions if version.at == page.fetched_at)
    before = next(known, None) if write.with_content else None
    return before is not None and before is not DAMAGED_CAPTURE and brought(before) != brought(page)


def _stored_after(stored: Stored, write: PageWrite) -> Stored:
    """Return the state of a page after *write*, given the *stored* state before it."""
    page, versions = write.page, stored.versions
    if write.with_content:
        capture = Capture(page.digest, status=page.status, redirect_to=page.redirect_to)
        versions = [Version(page.fetched_at, capture), *versions[: NEWEST - 1]]
    return Stored(replace(page, body=None, outlinks=None), versions, stored.deleted)


def _rests_on_older(page: Page, stored: Stored) -> bool:
    """Whether the decision about *page* may depend on versions that are older than those in *stored*."""
    before, versions = stored.page, stored.versions
    if before is None or not versions:
        return False
    if page.fetched_at < before.fetched_at:
        return versions[-1].at > page.fetched_at
    if page.status == 304 and before.status >= 400:
        return all(version.capture.status >= 300 for version in versions)
    if page.same_as is not None and content_date(page) is not None:
        return all(version.at != page.stored.content_at for version in versions)
    return before.has_body and all(version.at != before.stored.content_at for version in versions)


class Drop(NamedTuple):
    """The contents that are dropped for one page of a batch: older ones, its own, or another one of its date."""

    pushed_out: int = 0
    is_kept: bool = True
    replaced: bool = False


NOTHING_DROPPED = Drop()


def dropped(frame: Frame, writes: Sequence[PlannedWrite], stored: Mapping[bytes, Stored]) -> dict[int, Drop]:
    """Return what *writes* drop, by the places of their pages in the batch, given the *stored* state before them.

    An older content that is also stored under a later date, because it was renewed, does not count as dropped.
    """
    most = frame.layouts.known.versions
    if most == ALL_VERSIONS:
        return {}
    contents = [one for one in writes if one.write.with_content]
    kept = _kept(frame, contents, stored, most)
    found: dict[int, Drop] = {}
    for one in contents:
        versions, page = kept[one.row], one.write.page
        place = next((at for at, version in enumerate(versions) if version.at <= page.fetched_at), len(versions))
        if place < len(versions) and versions[place].at == page.fetched_at:
            continue
        capture = Capture(page.digest, status=page.status, redirect_to=page.redirect_to)
        versions.insert(place, Version(page.fetched_at, capture))
        if len(versions) <= most:
            continue
        last, before = versions.pop(), found.get(one.index, NOTHING_DROPPED)
        if last.at == page.fetched_at:
            found[one.index] = before._replace(is_kept=False)
        elif not versions or brought(last.capture) != brought(versions[-1].capture):
            found[one.index] = before._replace(pushed_out=before.pushed_out + 1)
    return found


def _kept(
    frame: Frame, writes: Sequence[PlannedWrite], stored: Mapping[bytes, Stored], most: int
) -> dict[bytes, list[Version]]:
    """Return all versions of the pages that are written, newest first, by row."""
    kept = {one.row: list(stored[one.row].versions) for one in writes}
    # Only the newest stored versions were read, or for a late capture those up to its date.
    some = [row for row in kept if most > NEWEST and (len(kept[row]) >= NEWEST or _is_late(row, writes, stored))]
    if some:
        kept.update((row, list(one.versions)) for row, one in zip(some, frame.pages.stored(some, most), strict=True))
    return kept


def _is_late(row: bytes, writes: Sequence[PlannedWrite], stored: Mapping[bytes, Stored]) -> bool:
    page = stored[row].page
    return page is not None and any(one.row == row and one.write.page.fetched_at < page.fetched_at for one in writes)
