"""What becomes of the pages of a batch, decided one after another, and what the limit of versions drops for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from webtable._clock import clock
from webtable._page.memory import memory_of
from webtable._page.page import Link, Page
from webtable.errors import WebTableError
from webtable.repository.hints.hints import PageChange
from webtable.repository.stored.captures import decide
from webtable.repository.stored.page_state import NEWEST, Capture, PageWrite, Stored, Version, brought, content_date
from webtable.repository.writing.capture_checks import refusal
from webtable.repository.writing.repeats import repeated_of
from webtable.schema import ALL_VERSIONS

if TYPE_CHECKING:
    from datetime import datetime

    from webtable.repository.frame import Frame
    from webtable.repository.writing.repeats import Sources


class PlannedWrite(msgspec.Struct, frozen=True):
    """A write for the page of a batch whose place there is `index`, which takes the place of the page `before`."""

    index: int
    row: bytes
    write: PageWrite
    before: Page | None
    former: Sequence[Link] | None = None
    """The links of *before*, where they are in the same batch and not yet stored."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What becomes of the first `count` pages of a batch; the others must wait until these are stored.

    `repeated` are the pages of which the very same capture is there already. `refused` says, by their places, why pages
    are not to be stored: they would be hidden, have expired, or rest on what cannot be read.
    """

    count: int
    writes: list[PlannedWrite]
    repeated: list[PageChange]
    refused: dict[int, WebTableError]
    dropped: Mapping[int, Drop] = field(default_factory=dict)
    """What the table's limit of versions drops for pages, by their places."""


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
        sources: Sources,
        room: int,
    ) -> None:
        self._frame = frame
        self._batch = batch
        self._sources = sources
        self._room = room
        self._key = frame.key
        self._ttl = frame.layouts.known.ttl
        self._now = clock.now()
        self._read = stored
        self._stored = dict(stored)
        self._has_several = len(stored) < len(batch)
        self._links: dict[tuple[bytes, datetime], Sequence[Link]] = {}
        self._closed: set[bytes] = set()
        self._writes: list[PlannedWrite] = []
        self._repeated: list[PageChange] = []

    def decide(self) -> BatchPlan:
        """Return what becomes of the pages, as far as it can be decided now."""
        count, refused = 0, dict[int, WebTableError]()
        for row, page in self._batch:
            if row in self._closed:
                break
            stored = self._stored[row]
            whole = refusal(page, stored, self._ttl, self._now) or repeated_of(self._key, row, page, self._sources)
            if isinstance(whole, WebTableError):
                refused[count] = whole
            else:
                writes = decide(whole, stored, self._ttl)
                if not self._fits(count, row, writes):
                    break
                self._take(count, row, page, writes)
            count += 1
        drops = dropped(self._frame, self._writes, self._read)
        return BatchPlan(count, self._writes, self._repeated, refused, drops)

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
            self._repeated.append(PageChange(index, row, None, before, is_repeated=True))
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


def _stored_after(stored: Stored, write: PageWrite) -> Stored:
    """Return what is stored of a page when *write* is done, which takes the place of what is *stored* now."""
    page, versions = write.page, stored.versions
    if write.with_content:
        capture = Capture(page.digest, status=page.status, redirect_to=page.redirect_to)
        versions = [Version(page.fetched_at, capture), *versions[: NEWEST - 1]]
    return Stored(replace(page, body=None, outlinks=None), versions, stored.deleted)


def _rests_on_older(page: Page, stored: Stored) -> bool:
    """Whether what becomes of *page* may rest on versions that are older than those in *stored*."""
    before, versions = stored.page, stored.versions
    if before is None or not versions:
        return False
    if page.fetched_at < before.fetched_at:
        return versions[-1].at > page.fetched_at
    if page.status == 304 and before.status >= 400:
        return all(version.capture.status >= 300 for version in versions)
    if page.same_as is not None and content_date(page) is not None:
        return all(version.at != page.content_at for version in versions)
    return before.has_body and all(version.at != before.content_at for version in versions)


class Drop(NamedTuple):
    """What is dropped for one page of a batch: older contents that it pushes out, or its own."""

    pushed_out: int = 0
    is_kept: bool = True


NOTHING_DROPPED = Drop()


def dropped(frame: Frame, writes: Sequence[PlannedWrite], stored: Mapping[bytes, Stored]) -> dict[int, Drop]:
    """Return what *writes* drop, by the places of their pages in the batch, beside what was *stored* of these.

    An older content that is there under a later date as well, where it was renewed, is not dropped.
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
    """Return all versions of the pages that are written, newest first, by their rows."""
    kept = {one.row: list(stored[one.row].versions) for one in writes}
    # Of what was stored the newest are known, or for a late capture the one before it.
    some = [row for row in kept if most > NEWEST and (len(kept[row]) >= NEWEST or _is_late(row, writes, stored))]
    if some:
        kept.update((row, list(one.versions)) for row, one in zip(some, frame.pages.stored(some, most), strict=True))
    return kept


def _is_late(row: bytes, writes: Sequence[PlannedWrite], stored: Mapping[bytes, Stored]) -> bool:
    page = stored[row].page
    return page is not None and any(one.row == row and one.write.page.fetched_at < page.fetched_at for one in writes)
