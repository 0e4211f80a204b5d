"""The loader: has files read, in this process or by workers, stores and counts their pages, and keeps the journal."""

from __future__ import annotations

import pickle
import tempfile
from contextlib import suppress
from itertools import islice
from typing import IO, TYPE_CHECKING

from webtable.errors import InvalidURL
from webtable.formats import Place
from webtable.ingest.batches import CHUNK_PAGES, Chunk, ChunkWriter, chunks_of
from webtable.ingest.report import LoadCounts
from webtable.ingest.workers import Crew
from webtable.repository.derived.revisits import MOST_COUNTED
from webtable.repository.scanning.scope import PLAIN_KEY
from webtable.repository.scanning.site import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable._page.page import Page
    from webtable.formats.parts import FilePart
    from webtable.ingest.engine import Given, Load
    from webtable.ingest.workers import Ended
    from webtable.repository.table.web_table import WebTable

_HELD_BYTES = 1 << 22
"""Pages to be stored last are held in memory up to this size, then in a file."""


class Loader:
    """Has the files of *load* read, in this process or by workers.

    Unless the workers store them, pages are stored here, in the table that *opened* returns for the first one. Pages
    that repeat what is stored are stored last, whichever worker read them.
    """

    def __init__(self, load: Load, opened: Callable[[Page | None], WebTable]) -> None:
        self.table: WebTable | None = None
        self._load = load
        self._opened = opened
        self._writer: ChunkWriter | None = None
        self._parts: dict[int, FilePart] = {}
        self._repeats: IO[bytes]
        self._waiting: dict[int, Chunk | None] = {}
        """The last stored chunk of each part that has pages to be stored last; the journal notes it in the end."""

    def run(self) -> WebTable | None:
        """Store all pages, until the files or the store end or a signal comes; return the table, if it was opened."""
        with tempfile.SpooledTemporaryFile(_HELD_BYTES) as self._repeats:
            self._read()
            if not self._load.lost:
                self._store_repeats()
        if self._writer is not None:
            self._load.add(self._writer.close())
            self._look_for_loss()
        if not self._load.lost:
            if self.table is not None and not self._load.is_dry_run:
                self._load.unresolved = sum(1 for _ in self.table.unresolved(ALL, limit=MOST_COUNTED))
            for chunk in filter(None, self._waiting.values()):
                self._note(chunk)
        return self.table

    def _read(self) -> None:
        if self._load.workers == 1:
            for given in self._load.parts():
                self._read_here(given)
                if self.is_ending:
                    return
            return
        with Crew(self._load.job, self._load.most_workers, self) as crew:
            crew.start()
            if self._load.job.session is not None:
                self.table = self._opened(None)  # otherwise each worker would report that it does not exist
            crew.run(self._load.parts())
            self._load.deaths = crew.deaths
            self._load.unfinished = crew.unfinished

    def _read_here(self, given: Given) -> None:
        self._load.unfinished = [given]
        for chunk in chunks_of(given, self._load.job, self._load):
            self.take(chunk, given)
            self._load.unfinished = [given._replace(records=chunk.records)]

    @property
    def is_ending(self) -> bool:
        """Whether the workers are to stop."""
        return self._load.is_ending

    @property
    def is_overdue(self) -> bool:
        """Whether workers that wait for the store after a signal are to be killed."""
        return self._load.is_overdue

    def take(self, chunk: Chunk, given: Given) -> None:
        """Accept a chunk, and store it unless a worker has."""
        self._parts[given.number] = given.part
        if chunk.damage is not None:
            self._load.damaged_files.append(chunk.damage)
        self._keep(chunk)
        if chunk.is_stored:
            self._count(chunk)
        elif chunk.pages or self._writer is not None:
            self._put(chunk)
        else:
            self._count(chunk)

    def give_up(self, given: Given, why: str) -> None:
        """Record that the part is not read further."""
        self._load.damaged_files.append(f"{given.part.name}: not read after record {given.records:,}: {why}")

    def wait(self, error: str | None) -> None:
        """Record that the store does not answer, with this *error*, or that it does again."""
        self._load.wait(error)

    def end(self, ended: Ended) -> None:
        """Accept the final report of a worker."""
        self._load.add(ended.counts)
        if ended.lost is not None:
            self._load.lose(ended.lost)

    def _keep(self, chunk: Chunk) -> None:
        """Set aside the pages to be stored last."""
        if not chunk.repeats:
            return
        self._waiting.setdefault(chunk.number)
        for page in chunk.repeats:
            pickle.dump(page, self._repeats)
        chunk.repeats = []

    def _put(self, chunk: Chunk) -> None:
        if self._load.is_dry_run:
            _count_only(chunk)
            self._count(chunk)
            return
        if self._writer is None:
            job = self._load.job
            self.table = self.table or self._opened(chunk.pages[0])
            self._writer = ChunkWriter(self.table, job, self._count, self.wait)
            self._load.give_up_after = self._writer.give_up_after
        self._writer.put(chunk)
        self._look_for_loss()

    def _look_for_loss(self) -> None:
        if self._writer is not None and self._writer.lost is not None:
            self._load.lose(self._writer.lost)

    def _count(self, chunk: Chunk) -> None:
        """Count a chunk that is stored."""
        self._load.add(chunk.counts)
        if chunk.number in self._waiting:
            self._waiting[chunk.number] = chunk
        else:
            self._note(chunk)

    def _note(self, chunk: Chunk) -> None:
        part = self._parts.get(chunk.number)
        if self._load.journal is not None and part is not None:
            self._load.journal.note(part, chunk.place, chunk.records, is_done=chunk.is_last)

    def _store_repeats(self) -> None:
        pages = _pickled(self._repeats)
        while not self._load.lost and (some := list(islice(pages, CHUNK_PAGES))):
            self._put(Chunk(-1, Place(), 0, some, [], LoadCounts()))


def _count_only(chunk: Chunk) -> None:
    """Count the pages of *chunk* that would be stored; a table may already have some of them, or refuse them."""
    for page in chunk.pages:
        try:
            PLAIN_KEY.encode(page.url)
        except InvalidURL as exc:
            chunk.counts.refused.add(exc)
        else:
            chunk.counts.stored += 1


def _pickled(file: IO[bytes]) -> Iterator[Page]:
    """Yield the pages in *file*, from its beginning."""
    file.seek(0)
    with suppress(EOFError):
        while True:
            yield pickle.load(file)  # noqa: S301 - it was written here, and nobody else can open it
