"""The pages of a batch as cells, ready to be sent: bodies digested, links counted, both compressed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from webtable._threads import Threads
from webtable.errors import WebTableError
from webtable.page.body import algorithm_of, digest_like, digest_of
from webtable.page.page import Page
from webtable.repository.duplicates.signatures import is_unsigned, signed, with_signature
from webtable.repository.full_text.index import TextUpdate
from webtable.repository.page_storage.codec import Packed
from webtable.repository.page_storage.state import Stored
from webtable.repository.upkeep.cells import PageChange
from webtable.repository.upkeep.updates import BatchUpdate
from webtable.repository.writing.capture_checks import measured
from webtable.repository.writing.outcomes import PageOutcome
from webtable.repository.writing.plan import BatchPlan, PlannedWrite
from webtable.repository.writing.repeats import restored
from webtable.store import Put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable.repository.context import Frame

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

    def __init__(self, frame: Frame, max_body: int | None) -> None:
        self._frame = frame
        self._max_body = max_body
        # Digests and zstd work outside the GIL.
        self._threads = Threads(os.cpu_count() or 1, "webtable-pack")

    def close(self) -> None:
        """Stop the threads."""
        self._threads.close()

    def packed(
        self, batch: Sequence[tuple[bytes, Page]], read: Callable[[], dict[bytes, Stored]], *, signs: bool
    ) -> tuple[list[PackedPage], dict[bytes, Stored]]:
        """Return the pages of *batch*, measured and packed, and their stored state, which *read* returns meanwhile.

        With *signs* they get signatures, unless these are stored.
        """
        slices = list(_slices(batch))
        # The plan may end after a second capture of a page, and the pages after it are then measured again: none is
        # packed before that is known.
        packs = len({row for row, _ in batch}) == len(batch)
        if len(slices) < 2:
            known = read()
            return self._packed(batch, lambda: known, packs=packs, signs=signs), known
        # First, because each slice waits for it: when a thread has a slice, another has begun to read.
        reading = self._threads.submit(read)
        parts = self._threads.map(lambda part: self._packed(part, reading.result, packs=packs, signs=signs), slices)
        return [one for part in parts for one in part], reading.result()

    def _packed(
        self, part: Sequence[tuple[bytes, Page]], read: Callable[[], dict[bytes, Stored]], *, packs: bool, signs: bool
    ) -> list[PackedPage]:
        codec = self._frame.codec
        digests = [None if page.body is None else digest_of(page.body) for _, page in part]
        known = read()
        states = [known[row] for row, _ in part]
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


def _slices(batch: Sequence[tuple[bytes, Page]]) -> Iterator[Sequence[tuple[bytes, Page]]]:
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

    batch: Sequence[tuple[bytes, Page]]
    plan: BatchPlan
    puts: list[PagePut]
    unwritable: Mapping[int, WebTableError]
    update: BatchUpdate
    stored: Mapping[bytes, Stored]
    """The stored state of the pages on which the plan rests, by row."""
    texts: TextUpdate | None = None
    """The update of the full text, if the table has any."""
    rest: Sequence[tuple[bytes, Page]] = ()
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
        others = {one.index: rows[one.row] for one in self.plan.writes if one.row in rows}
        return {**others, **failed, **self.plan.refused}

    def outcomes(self, errors: Mapping[int, WebTableError]) -> list[PageOutcome]:
        """Return the outcome of each page, in their order; *errors* are by place."""
        batch = self.batch
        writes = self.plan.writes
        new = {one.index for one in writes if one.write.page.changed_at == batch[one.index][1].fetched_at}
        new |= {one.index for one in writes if one.index in self.plan.unresolved}
        outcomes = [
            PageOutcome(page.url, page.fetched_at, errors.get(index), is_new=index in new)
            for index, (_, page) in enumerate(batch)
        ]
        for index, drop in self.plan.dropped.items():
            outcomes[index] = replace(outcomes[index], **drop._asdict())
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
        return PageChange(planned.index, planned.row, planned.before, self.page, planned.former)


def page_puts(
    frame: Frame, planned: Sequence[PlannedWrite], packed: Sequence[PackedPage], *, signs: bool
) -> tuple[list[PagePut], dict[int, WebTableError]]:
    """Return the puts of *planned* writes, and, by place, the errors of pages that are too large or lost content.

    With *signs* pages whose content was stored without a signature get one.
    """
    pages = restored(frame, [(one.row, one.write) for one in planned])
    if signs:
        pages = _signed(frame, planned, pages)
    both = list(zip(planned, pages, strict=True))
    contents = _contents(frame, [(one.index, page) for one, page in both if one.write.with_content], packed)
    puts: list[PagePut] = []
    unwritable: dict[int, WebTableError] = {}
    for one, page in both:
        if isinstance(page, WebTableError):
            unwritable.setdefault(one.index, page)
            continue
        content = next(contents) if one.write.with_content else None
        try:
            cells = frame.codec.cells(one.row, page, one.before, content, with_metadata=one.write.with_metadata)
            puts.append(PagePut(one, page, Put(one.row, cells)))
        except WebTableError as exc:
            unwritable.setdefault(one.index, exc)
    return puts, unwritable


def _signed(
    frame: Frame, planned: Sequence[PlannedWrite], pages: Sequence[Page | WebTableError]
) -> list[Page | WebTableError]:
    found = list(pages)
    some = [
        (at, planned[at].row, page)
        for at, page in enumerate(pages)
        if isinstance(page, Page) and planned[at].write.with_metadata and is_unsigned(page)
    ]
    for (at, _, _), page in zip(some, signed(frame, [(row, page) for _, row, page in some]), strict=True):
        found[at] = page
    return found


def _contents(
    frame: Frame, pages: Sequence[tuple[int, Page | WebTableError]], packed: Sequence[PackedPage]
) -> Iterator[Packed]:
    """Return the packed content of *pages*, given with their places: packed when they were measured, or now."""
    found = [(page, packed[index].packed_as(page)) for index, page in pages if isinstance(page, Page)]
    late = iter(frame.codec.packed([page for page, content in found if content is None]))
    return (next(late) if content is None else content for _, content in found)
