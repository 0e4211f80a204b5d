"""The pages of a batch as cells: bodies are digested, links are counted, and both are packed; then it can be sent."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from webtable._page.body import algorithm_of, digest_like, digest_of
from webtable._page.page import Page
from webtable._threads import Threads
from webtable.errors import WebTableError
from webtable.repository.hints.hints import PageChange
from webtable.repository.hints.upkeep import Upkeep
from webtable.repository.stored.content import Packed
from webtable.repository.stored.page_state import Stored
from webtable.repository.writing.capture_checks import measured
from webtable.repository.writing.outcomes import PageOutcome
from webtable.repository.writing.plan import BatchPlan, PlannedWrite
from webtable.repository.writing.repeats import restored
from webtable.store import Put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable.repository.frame import Frame

SLICE_PAGES = 64
SLICE_BYTES = 2**20
"""How much a thread takes at once: it waits for the GIL twice a slice, and all processors are to have some of a batch.

Bodies that are compressed in one call are also in one piece of memory until they are cut apart.
"""


class PackedPage(NamedTuple):
    """A page as it is decided upon, measured, with its body and links as they are stored.

    `packed` is None where the very content seems to be stored already, or it may not yet be its turn.
    """

    page: Page
    packed: Packed | None

    def packed_as(self, page: Page) -> Packed | None:
        """Return what is `packed` where that is the content of *page*, as it is to be written; else None."""
        is_own = page.body is self.page.body and page.outlinks is self.page.outlinks
        return self.packed if is_own else None


class Packer:
    """Measures and packs the pages of batches, in as many threads as there are processors.

    May be used by many threads at once.
    """

    def __init__(self, frame: Frame, max_body: int | None) -> None:
        self._frame = frame
        self._max_body = max_body
        # Digests and zstd work outside the GIL.
        self._threads = Threads(os.cpu_count() or 1, "webtable-pack")

    def close(self) -> None:
        """Stop the threads."""
        self._threads.close()

    def packed(
        self, batch: Sequence[tuple[bytes, Page]], read: Callable[[], dict[bytes, Stored]]
    ) -> tuple[list[PackedPage], dict[bytes, Stored]]:
        """Return the pages of *batch*, measured and packed, and what *read* returns, which is called meanwhile.

        That is what is stored of them.
        """
        slices = list(_slices(batch))
        # After a second capture of a page the plan may end, and what follows is measured again: nothing of it is packed
        # before that is known.
        packs = len({row for row, _ in batch}) == len(batch)
        if len(slices) < 2:
            known = read()
            return self._packed(batch, lambda: known, packs=packs), known
        # First, for each slice waits for it: where a thread has one, this has been begun.
        reading = self._threads.submit(read)
        parts = self._threads.map(lambda part: self._packed(part, reading.result, packs=packs), slices)
        return [one for part in parts for one in part], reading.result()

    def _packed(
        self, part: Sequence[tuple[bytes, Page]], read: Callable[[], dict[bytes, Stored]], *, packs: bool
    ) -> list[PackedPage]:
        codec = self._frame.codec
        digests = [None if page.body is None else digest_of(page.body) for _, page in part]
        known = read()
        states = [known[row] for row, _ in part]
        pages = [
            measured(page, self._max_body, _known_as(digest, page, state))
            for (_, page), digest, state in zip(part, digests, states, strict=True)
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
    """Return the *digest* of the body of *page*, by another algorithm where the very body is *stored* under that one.

    So content that comes again is the same for everybody who compares digests.
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
    if before is not None and (before.digest, before.links_digest) == (page.digest, page.links_digest):
        return True
    return page.digest is not None and any(page.digest == version.capture.digest for version in stored.versions)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch that only has to be sent: its pages with their rows, the plan of it, its cells, and the upkeep.

    `unwritable` says, by their places, which pages have no cells, and why.
    """

    batch: Sequence[tuple[bytes, Page]]
    plan: BatchPlan
    puts: list[PagePut]
    unwritable: Mapping[int, WebTableError]
    upkeep: Upkeep
    stored: Mapping[bytes, Stored]
    """What was stored of the pages when it was decided what becomes of them, by their rows."""
    rest: Sequence[tuple[bytes, Page]] = ()
    """What of the batch is yet to be prepared."""
    since: int | None = None
    """The last transaction that had ended when the rows were read, where it may be prepared again."""
    is_again: bool = False
    """Whether some of it may be written already, and not read after that."""

    def errors(self, before_pages: Mapping[int, WebTableError]) -> dict[int, WebTableError]:
        """Return, by their places, why pages are not to be put, with those that have failed *before_pages*.

        A capture rests on those of its page before it in the batch: all of them are stored, or none here.
        """
        failed = {**self.unwritable, **before_pages}
        rows = {self.batch[index][0]: error for index, error in failed.items()}
        others = {one.index: rows[one.row] for one in self.plan.writes if one.row in rows}
        return {**others, **failed, **self.plan.refused}

    def outcomes(self, errors: Mapping[int, WebTableError]) -> list[PageOutcome]:
        """Return what became of each page, in their order; *errors* are by their places."""
        batch = self.batch
        new = {one.index for one in self.plan.writes if one.write.page.changed_at == batch[one.index][1].fetched_at}
        outcomes = [
            PageOutcome(page.url, page.fetched_at, errors.get(index), is_new=index in new)
            for index, (_, page) in enumerate(batch)
        ]
        for index, drop in self.plan.dropped.items():
            outcomes[index] = replace(outcomes[index], **drop._asdict())
        return outcomes


class PagePut(NamedTuple):
    """A planned write that only has to be sent: the page as it is written, and its cells."""

    planned: PlannedWrite
    page: Page
    put: Put

    @property
    def change(self) -> PageChange:
        """What indexes and inlinks need to know of it."""
        planned = self.planned
        return PageChange(planned.index, planned.row, planned.before, self.page, planned.former)


def page_puts(
    frame: Frame, planned: Sequence[PlannedWrite], packed: Sequence[PackedPage]
) -> tuple[list[PagePut], dict[int, WebTableError]]:
    """Return what is to be put, and, by their places, why pages cannot be: too large, or their content is lost."""
    pages = restored(frame, [(one.row, one.write) for one in planned])
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


def _contents(
    frame: Frame, pages: Sequence[tuple[int, Page | WebTableError]], packed: Sequence[PackedPage]
) -> Iterator[Packed]:
    """Return the content of *pages*, each with its place: as it was packed when they were measured, or now."""
    found = [(page, packed[index].packed_as(page)) for index, page in pages if isinstance(page, Page)]
    late = iter(frame.codec.packed([page for page, content in found if content is None]))
    return (next(late) if content is None else content for _, content in found)
