"""The one visit that each page of a batch gets: its body is digested, its links are counted, and both are packed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from webtable._page.digests import algorithm_of, digest_like, digest_of
from webtable._page.page import Page
from webtable._threads import Threads
from webtable.repository.stored.content import Packed
from webtable.repository.writing.capture_checks import measured
from webtable.repository.writing.plan import stored_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.repository.frame import Frame
    from webtable.repository.stored.page_state import Stored

SLICE_PAGES = 64
SLICE_BYTES = 2**20
"""How much a thread takes at once: it waits for the GIL twice a slice, and all processors are to have some of a batch.

Bodies that are compressed in one call are also in one piece of memory until they are cut apart.
"""


class Visited(NamedTuple):
    """A page as it is decided upon, measured, with its body and links as they are stored.

    `packed` is None where the very content seems to be stored already, or it may not yet be its turn.
    """

    page: Page
    packed: Packed | None

    def packed_as(self, page: Page) -> Packed | None:
        """Return what is `packed` where that is the content of *page*, as it is to be written; else None."""
        is_own = page.html is self.page.html and page.outlinks is self.page.outlinks
        return self.packed if is_own else None


class Visits:
    """Visits the pages of batches, in as many threads as there are processors; may be used by many threads at once."""

    def __init__(self, frame: Frame, max_body: int | None) -> None:
        self._frame = frame
        self._max_body = max_body
        # Digests and zstd work outside the GIL.
        self._threads = Threads(os.cpu_count() or 1, "webtable-visit")

    def close(self) -> None:
        """Stop the threads."""
        self._threads.close()

    def visited(self, batch: Sequence[tuple[bytes, Page]]) -> tuple[list[Visited], dict[bytes, Stored]]:
        """Return the pages of *batch*, visited, and what is stored of them, which is read meanwhile."""
        slices = list(_slices(batch))
        # Behind a second capture of a page the plan may end, and what follows is visited again: nothing of it is packed
        # before that is known.
        packs = len({row for row, _ in batch}) == len(batch)
        if len(slices) < 2:
            known = stored_of(self._frame, batch)
            return self._visit(batch, lambda: known, packs=packs), known
        # First, for each visit waits for it: where a thread has one, this has been begun.
        reading = self._threads.submit(lambda: stored_of(self._frame, batch))
        parts = self._threads.map(lambda part: self._visit(part, reading.result, packs=packs), slices)
        return [one for part in parts for one in part], reading.result()

    def _visit(
        self, part: Sequence[tuple[bytes, Page]], read: Callable[[], dict[bytes, Stored]], *, packs: bool
    ) -> list[Visited]:
        algorithm, codec = self._frame.layout.digest, self._frame.codec
        digests = [None if page.html is None else digest_of(page.html, algorithm) for _, page in part]
        known = read()
        states = [known[row] for row, _ in part]
        pages = [
            measured(page, self._max_body, _known_as(digest, page, state))
            for (_, page), digest, state in zip(part, digests, states, strict=True)
        ]
        new = [at for at, page in enumerate(pages) if packs and not _is_stored(page, states[at])]
        packed = dict(zip(new, codec.packed([pages[at] for at in new], threads=1), strict=True))
        return [Visited(page, packed.get(at)) for at, page in enumerate(pages)]


def _slices(batch: Sequence[tuple[bytes, Page]]) -> Iterator[Sequence[tuple[bytes, Page]]]:
    start = size = 0
    for at, (_, page) in enumerate(batch):
        if at > start and (at - start == SLICE_PAGES or size >= SLICE_BYTES):
            yield batch[start:at]
            start, size = at, 0
        size += len(page.html or b"")
    yield batch[start:]


def _known_as(digest: str | None, page: Page, stored: Stored) -> str | None:
    """Return the *digest* of the body of *page*, by another algorithm where the very body is *stored* under that one.

    So content that comes again is the same for everybody who compares digests.
    """
    if digest is None or page.html is None or not (stored.page or stored.versions):
        return digest
    there = [version.capture.digest for version in stored.versions]
    if stored.page is not None:
        there.append(stored.page.digest)
    if digest in there:
        return digest
    others = {other for other in there if other is not None and algorithm_of(other) != algorithm_of(digest)}
    return next((other for other in others if digest_like(other, page.html) == other), digest)


def _is_stored(page: Page, stored: Stored) -> bool:
    before = stored.page
    if before is not None and (before.digest, before.links_digest) == (page.digest, page.links_digest):
        return True
    return page.digest is not None and any(page.digest == version.capture.digest for version in stored.versions)
