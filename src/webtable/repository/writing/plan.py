"""The plan of a batch: what is written for each page, and which versions are dropped for it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from webtable._clock import clock
from webtable._threads import Threads
from webtable.errors import WebTableError
from webtable.page.body import algorithm_of, digest_like, digest_of
from webtable.page.page import Page, memory_of
from webtable.page.parts import Link
from webtable.repository.full_text.index import TextUpdate
from webtable.repository.page_storage.codec import Packed
from webtable.repository.page_storage.decisions import decide, decide_open
from webtable.repository.page_storage.state import (
    DAMAGED_CAPTURE,
    NEWEST,
    KeyedPage,
    PageWrite,
    Stored,
    Version,
    brought,
    capture_of,
    content_date,
)
from webtable.repository.upkeep.cells import PageChange, is_unsigned, signed, with_signature
from webtable.repository.upkeep.updates import BatchUpdate
from webtable.repository.writing.capture_checks import measured, refusal
from webtable.repository.writing.outcomes import PageOutcome
from webtable.repository.writing.repeats import Sources, repeated_of, restored
from webtable.schema import ALL_VERSIONS
from webtable.store import Put

if TYPE_CHECKING:
    from datetime import datetime

    from webtable.repository.context import TableContext


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
    dropped: Mapping[int, DroppedContents] = field(default_factory=dict)
    """The versions that are dropped for pages, because of the table's limit, by place."""
    unresolved: Mapping[int, Page] = field(default_factory=dict)
    """The captures that repeat content which is not stored, by place."""


# A decision rests on what is stored, or will be by captures before it in the batch; several captures of one page are
# decided one after another and stored together.
class Planner:
    """Makes the plan of one batch, which may hold several captures of a page, in the order of their dates.

    *stored* is the state of the pages as it was read for the batch (`stored_of`). The plan ends before a capture that
    depends on other captures being stored first, and where more than *room* bytes of stored bodies are written again.
    """

    def __init__(
        self,
        context: TableContext,
        batch: Sequence[KeyedPage],
        stored: Mapping[bytes, Stored],
        sources: Sources,
        room: int,
    ) -> None:
        self._context = context
        self._batch = batch
        self._sources = sources
        self._room = room
        self._ttl = context.layout.ttl
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
            whole = refusal(page, stored, self._ttl, self._now) or (
                page if page.same_as is None else repeated_of(count, page, self._sources)
            )
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
        drops = dict(dropped(self._context, self._writes, self._read))
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
        # A 304 after it may have other content now, which is stored elsewhere too.
        if any(_replaces(write, stored) for write in writes if write.page.fetched_at == page.fetched_at):
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


def stored_of(context: TableContext, batch: Sequence[KeyedPage]) -> dict[bytes, Stored]:
    """Return the stored state of the pages of *batch*, by row: their newest versions, and older ones where they matter.

    Reading a thousand versions of a page takes longer than storing one more.
    """
    # The newest eight of all pages are read in one call; more only for a page that needs them.
    versions = context.layout.versions
    pages: dict[bytes, Page] = {}
    for row, page in batch:
        pages.setdefault(row, page)
    states = dict(zip(pages, context.pages.stored(list(pages)), strict=True))
    if versions <= NEWEST:
        return states
    for row, page in pages.items():
        stored = states[row]
        if stored.page is None or len(stored.versions) < NEWEST or not _rests_on_older(page, stored):
            continue
        if page.fetched_at < stored.page.fetched_at:
            states[row] = stored._replace(versions=context.pages.versions_around(row, page.fetched_at, stored.versions))
        else:
            (states[row],) = context.pages.stored([row], versions)
    return states


def _replaces(write: PageWrite, stored: Stored) -> bool:
    """Whether *write* takes the place of other content that is *stored* with the same date."""
    page = write.page
    captures = (version.capture for version in stored.versions if version.at == page.fetched_at)
    before = next(captures, None) if write.with_content else None
    return before is not None and before is not DAMAGED_CAPTURE and brought(before) != brought(page)


def _stored_after(stored: Stored, write: PageWrite) -> Stored:
    """Return the state of a page after *write*, given the *stored* state before it."""
    page, versions = write.page, stored.versions
    if write.with_content:
        versions = [Version(page.fetched_at, capture_of(page)), *versions[: NEWEST - 1]]
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


class DroppedContents(NamedTuple):
    """The contents that are dropped for one page of a batch: older ones, its own, or another one of its date."""

    pushed_out: int = 0
    is_kept: bool = True
    replaced: bool = False


NOTHING_DROPPED = DroppedContents()


def dropped(
    context: TableContext, writes: Sequence[PlannedWrite], stored: Mapping[bytes, Stored]
) -> dict[int, DroppedContents]:
    """The contents that *writes* drop, by the places of their pages in the batch, given the *stored* state before them.

    An older content that is also stored under a later date, because it was renewed, does not count as dropped.
    """
    limit = context.layout.versions
    if limit == ALL_VERSIONS:
        return {}
    contents = [planned for planned in writes if planned.write.with_content]
    kept = _kept(context, contents, stored, limit)
    drops: dict[int, DroppedContents] = {}
    for planned in contents:
        versions, page = kept[planned.row], planned.write.page
        place = next((at for at, version in enumerate(versions) if version.at <= page.fetched_at), len(versions))
        if place < len(versions) and versions[place].at == page.fetched_at:
            continue
        versions.insert(place, Version(page.fetched_at, capture_of(page)))
        if len(versions) <= limit:
            continue
        last, before = versions.pop(), drops.get(planned.index, NOTHING_DROPPED)
        if last.at == page.fetched_at:
            drops[planned.index] = before._replace(is_kept=False)
        elif not versions or brought(last.capture) != brought(versions[-1].capture):
            drops[planned.index] = before._replace(pushed_out=before.pushed_out + 1)
    return drops


def _kept(
    context: TableContext, writes: Sequence[PlannedWrite], stored: Mapping[bytes, Stored], limit: int
) -> dict[bytes, list[Version]]:
    """Return all versions of the pages that are written, newest first, by row."""
    kept = {planned.row: list(stored[planned.row].versions) for planned in writes}
    # Only the newest stored versions were read, or for a late capture those up to its date.
    incomplete = [row for row in kept if limit > NEWEST and (len(kept[row]) >= NEWEST or _is_late(row, writes, stored))]
    if incomplete:
        kept.update(
            (row, list(planned.versions))
            for row, planned in zip(incomplete, context.pages.stored(incomplete, limit), strict=True)
        )
    return kept


def _is_late(row: bytes, writes: Sequence[PlannedWrite], stored: Mapping[bytes, Stored]) -> bool:
    page = stored[row].page
    return page is not None and any(
        planned.row == row and planned.write.page.fetched_at < page.fetched_at for planned in writes
    )


# --- Cells ------------------------------------------------------------------------------------------------------------
#
# The pages of a batch, ready to be sent: bodies digested, links counted, both compressed.


SLICE_PAGES = 64
SLICE_BYTES = 2**20
"""The most that a thread packs at once.

A thread waits for the GIL twice for each slice, so slices are not too small; they are small enough for every processor
to get some, and because the bodies that are compressed in one call share one piece of memory at first.
"""


class PackedPage(NamedTuple):
    """A measured page, with its body and links as they are stored.

    `packed` is None if the same content seems to be stored already, or if the page may have to wait for another.
    """

    page: Page
    packed: Packed | None

    def packed_as(self, page: Page) -> Packed | None:
        """Return `packed` if that is the content of *page*, which is to be written; else None."""
        is_own = page.body is self.page.body and page.outlinks is self.page.outlinks
        return self.packed if is_own else None


class Packer:
    """Measures and packs the pages of batches, in as many threads as there are processors. Thread-safe."""

    def __init__(self, context: TableContext, max_body: int | None) -> None:
        self._context = context
        self._max_body = max_body
        # Digests and zstd work outside the GIL.
        self._threads = Threads(os.cpu_count() or 1, "webtable-pack")

    def close(self) -> None:
        """Stop the threads."""
        self._threads.close()

    def packed(
        self, batch: Sequence[KeyedPage], read: Callable[[], dict[bytes, Stored]], *, signs: bool
    ) -> tuple[list[PackedPage], dict[bytes, Stored]]:
        """Return the pages of *batch*, measured and packed, and their stored state, which *read* returns meanwhile.

        With *signs* they get signatures, unless these are stored.
        """
        slices = list(_slices(batch))
        # The plan may end after a second capture of a page, and the pages after it are then measured again: none is
        # packed before that is known.
        packs = len({row for row, _ in batch}) == len(batch)
        if len(slices) < 2:
            states = read()
            return self._packed(batch, lambda: states, packs=packs, signs=signs), states
        # First, because each slice waits for it: when a thread has a slice, another has begun to read.
        reading = self._threads.submit(read)
        parts = self._threads.map(lambda part: self._packed(part, reading.result, packs=packs, signs=signs), slices)
        return [page for part in parts for page in part], reading.result()

    def _packed(
        self, part: Sequence[KeyedPage], read: Callable[[], dict[bytes, Stored]], *, packs: bool, signs: bool
    ) -> list[PackedPage]:
        codec = self._context.codec
        # Before the stored state is waited for, which is read meanwhile.
        digests = [None if page.body is None else digest_of(page.body) for _, page in part]
        stored = read()
        states = [stored[row] for row, _ in part]
        pages = [
            measured(page, self._max_body, _known_as(digest, page, state))
            for (_, page), digest, state in zip(part, digests, states, strict=True)
        ]
        if signs:
            # Of several captures of a page a later one may repeat the content of an earlier one, not stored yet.
            pages = [
                page if packs and _is_signed(page, state) else with_signature(page, page.body)
                for page, state in zip(pages, states, strict=True)
            ]
        new = [at for at, page in enumerate(pages) if packs and not _is_stored(page, states[at])]
        packed = dict(zip(new, codec.packed([pages[at] for at in new], threads=1), strict=True))
        return [PackedPage(page, packed.get(at)) for at, page in enumerate(pages)]


def _slices(batch: Sequence[KeyedPage]) -> Iterator[Sequence[KeyedPage]]:
    start = size = 0
    for at, (_, page) in enumerate(batch):
        if at > start and (at - start == SLICE_PAGES or size >= SLICE_BYTES):
            yield batch[start:at]
            start, size = at, 0
        size += len(page.body or b"")
    yield batch[start:]


def _known_as(digest: str | None, page: Page, stored: Stored) -> str | None:
    """Return the *digest* of the body of *page*; if the same body is stored with another algorithm, by that one.

    So the same content has the same digest whenever digests are compared.
    """
    if digest is None or page.body is None or not (stored.page or stored.versions):
        return digest
    there = [version.capture.digest for version in stored.versions]
    if stored.page is not None:
        there.append(stored.page.digest)
    if digest in there:
        return digest
    # A digest names its algorithm. Writers make BLAKE3; a page that was copied, or stored without a body, may have
    # another.
    others = {other for other in there if other is not None and algorithm_of(other) != algorithm_of(digest)}
    return next((other for other in others if digest_like(other, page.body) == other), digest)


def _is_stored(page: Page, stored: Stored) -> bool:
    before = stored.page
    if before is not None and (before.digest, before.stored.links_digest) == (page.digest, page.stored.links_digest):
        return True
    return page.digest is not None and any(page.digest == version.capture.digest for version in stored.versions)


def _is_signed(page: Page, stored: Stored) -> bool:
    before = stored.page
    return before is not None and before.digest == page.digest and not is_unsigned(before)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch that is ready to be sent: its pages with their rows, its plan, its cells, and its update.

    `unwritable` has the errors of pages without cells, by their places.
    """

    batch: Sequence[KeyedPage]
    plan: BatchPlan
    puts: list[PagePut]
    unwritable: Mapping[int, WebTableError]
    update: BatchUpdate
    stored: Mapping[bytes, Stored]
    """The stored state of the pages on which the plan rests, by row."""
    texts: TextUpdate | None = None
    """The update of the full text, if the table has any."""
    rest: Sequence[KeyedPage] = ()
    """The pages of the batch that are not prepared yet."""
    since: int | None = None
    """The last transaction that had ended when the rows were read; None if the batch is not prepared again."""
    is_retry: bool = False
    """Whether some of it may be written already, by an attempt that failed."""

    def errors(self, before_pages: Mapping[int, WebTableError]) -> dict[int, WebTableError]:
        """Return the errors of pages that must not be put, by place, those that failed *before_pages* included.

        A capture depends on earlier captures of its page in the batch: all of them are put, or none.
        """
        failed = {**self.unwritable, **before_pages}
        rows = {self.batch[index][0]: error for index, error in failed.items()}
        others = {planned.index: rows[planned.row] for planned in self.plan.writes if planned.row in rows}
        return {**others, **failed, **self.plan.refused}

    def outcomes(self, errors: Mapping[int, WebTableError]) -> list[PageOutcome]:
        """Return the outcome of each page, in their order; *errors* are by place."""
        batch = self.batch
        writes = self.plan.writes
        new = {
            planned.index for planned in writes if planned.write.page.changed_at == batch[planned.index][1].fetched_at
        }
        new |= {planned.index for planned in writes if planned.index in self.plan.unresolved}
        outcomes = [
            PageOutcome(page.url, page.fetched_at, errors.get(index), is_new=index in new)
            for index, (_, page) in enumerate(batch)
        ]
        for index, drop in self.plan.dropped.items():
            outcomes[index] = dataclasses.replace(outcomes[index], **drop._asdict())
        return outcomes


class PagePut(NamedTuple):
    """A planned write that is ready to be sent: the page as it is written, and its cells."""

    planned: PlannedWrite
    page: Page
    put: Put

    @property
    def change(self) -> PageChange:
        """The change, for indexes and inlinks."""
        planned = self.planned
        keeps_links = not planned.write.with_links
        return PageChange(
            planned.index, planned.row, planned.before, self.page, planned.former, keeps_links=keeps_links
        )


def page_puts(
    context: TableContext, planned: Sequence[PlannedWrite], packed: Sequence[PackedPage], *, signs: bool
) -> tuple[list[PagePut], dict[int, WebTableError]]:
    """Return the puts of *planned* writes, and, by place, the errors of pages that are too large or lost content.

    With *signs* pages whose content was stored without a signature get one.
    """
    pages: list[Page | WebTableError] = [write.write.page for write in planned]
    if any(write.write.content_of is not None for write in planned):
        pages = restored(context, [(write.row, write.write) for write in planned])
    if signs:
        pages = _signed(context, planned, pages)
    written = list(zip(planned, pages, strict=True))
    contents = _contents(context, [(write.index, page) for write, page in written if write.write.with_content], packed)
    puts: list[PagePut] = []
    unwritable: dict[int, WebTableError] = {}
    for write, page in written:
        if isinstance(page, WebTableError):
            unwritable.setdefault(write.index, page)
            continue
        content = next(contents) if write.write.with_content else None
        try:
            cells = context.codec.cells(write.row, page, write.before, content, with_metadata=write.write.with_metadata)
            puts.append(PagePut(write, page, Put(write.row, cells)))
        except WebTableError as exc:
            unwritable.setdefault(write.index, exc)
    return puts, unwritable


def _signed(
    context: TableContext, planned: Sequence[PlannedWrite], pages: Sequence[Page | WebTableError]
) -> list[Page | WebTableError]:
    results = list(pages)
    unsigned = [
        (at, planned[at].row, page)
        for at, page in enumerate(pages)
        if isinstance(page, Page) and planned[at].write.with_metadata and is_unsigned(page)
    ]
    for (at, _, _), page in zip(unsigned, signed(context, [(row, page) for _, row, page in unsigned]), strict=True):
        results[at] = page
    return results


def _contents(
    context: TableContext, pages: Sequence[tuple[int, Page | WebTableError]], packed: Sequence[PackedPage]
) -> Iterator[Packed]:
    """Return the packed content of *pages*, given with their places: packed when they were measured, or now."""
    contents = [(page, packed[index].packed_as(page)) for index, page in pages if isinstance(page, Page)]
    late = iter(context.codec.packed([page for page, content in contents if content is None]))
    return (next(late) if content is None else content for _, content in contents)
