"""Chunks of pages from a part of a file, with the counts of its records, as they are read and stored."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webtable._page.memory import memory_of
from webtable._page.page import Page
from webtable.errors import (
    FormatError,
    InvalidCapture,
    InvalidURL,
    SchemaError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
)
from webtable.formats import Place, ReadReport, read_pages
from webtable.ingest.report import COUNTERS, NUMBERS, LoadCounts
from webtable.rowkey.urls import canonical_or_none

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable.errors import WebTableError
    from webtable.ingest.engine import Given, Job, Load
    from webtable.repository.table.web_table import WebTable
    from webtable.repository.writing.outcomes import PageOutcome, Retry

CHUNK_PAGES = 100
CHUNK_BYTES = 1 << 20
"""A chunk has at most CHUNK_PAGES pages; the page that reaches CHUNK_BYTES of memory is its last one."""


@dataclass
class Chunk:
    """Some pages of the part with this *number*, which is read up to *place* after them."""

    number: int
    place: Place
    records: int
    pages: list[Page]
    repeats: list[Page]
    """Pages to be stored last: a revisit may be read before the page that it repeats."""
    counts: LoadCounts
    is_last: bool = False
    damage: str | None = None
    """Why the part cannot be read further."""
    is_stored: bool = False

    @property
    def ends_part(self) -> bool:
        """Whether this is the last chunk of the part."""
        return self.is_last or self.damage is not None


class Reading:
    """The report of a part that is being read, for taking what is new in it; the report of a *load* yields nothing."""

    def __init__(self, load: Load | None = None) -> None:
        self.report: Final = ReadReport() if load is None else load.report
        self._before = self.report.records
        self._is_taken = load is None
        self._taken = ReadReport()

    @property
    def records(self) -> int:
        """How many records of the part were read."""
        return self.report.records - self._before

    def taken(self) -> ReadReport:
        """Return what was reported since the last call."""
        report, before, new = self.report, self._taken, ReadReport()
        if not self._is_taken:
            return new
        for name in NUMBERS:
            setattr(new, name, getattr(report, name) - getattr(before, name))
            setattr(before, name, getattr(report, name))
        for name in COUNTERS:
            setattr(new, name, getattr(report, name) - getattr(before, name))
            setattr(before, name, copy(getattr(report, name)))
        new.damaged = report.damaged[len(before.damaged) :]
        before.damaged = list(report.damaged)
        return new


def chunks_of(given: Given, job: Job, load: Load | None = None) -> Iterator[Chunk]:
    """Yield the chunks of a part, up to its end or to where it is damaged.

    With *load*, in its process, pages are read in order and reported to it at once, and it may stop after any page.
    """
    reading = Reading(load)
    pages: list[Page] = []
    repeats: list[Page] = []
    size = 0
    # Pages from a pipe are passed on at once, as the next may come much later.
    most = CHUNK_PAGES if Path(given.part.file).is_file() else 1

    def chunk(*, is_last: bool = False, damage: str | None = None) -> Chunk:
        records = given.records + reading.records
        counts = LoadCounts(reading.taken())
        return Chunk(given.number, reading.report.place, records, pages, repeats, counts, is_last, damage)

    try:
        with given.part.opened() if load is None else load.opened(given.part) as source:
            for page in read_pages(
                source,
                types=job.types,
                report=reading.report,
                detect_language=job.detect_language,
                methods=job.methods,
                limits=job.limits,
                start=given.place,
            ):
                comes_last = load is None and page.same_as is not None and page.body is None
                (repeats if comes_last else pages).append(page)
                size += memory_of(page)
                is_ending = load is not None and load.is_ending
                if is_ending or size >= CHUNK_BYTES or len(pages) + len(repeats) >= most:
                    yield chunk()
                    if is_ending:
                        return
                    pages, repeats, size = [], [], 0
    except (FormatError, OSError) as exc:
        yield chunk(damage=str(exc))
    except KeyboardInterrupt:  # while waiting for standard input
        yield chunk()
    else:
        yield chunk(is_last=True)


@dataclass
class _Unsettled:
    """A chunk and the number of its pages that are not settled yet, plus 1 until all are put."""

    chunk: Chunk
    left: int


class ChunkWriter:
    """Puts chunks into a writer of *table*; *on_stored* is called with each once it and all before it are stored.

    It is called in the order of the chunks, from any thread, but by one at a time. Pages that the table refuses for
    their content count as settled; those that fail because the store is gone, or full, do not, and `lost` says why.
    *on_wait* is called with the error while the store does not answer, and with None when it does again.
    """

    def __init__(
        self, table: WebTable, job: Job, on_stored: Callable[[Chunk], None], on_wait: Callable[[str | None], None]
    ) -> None:
        self.lost: WebTableError | None = None
        self._refused: str | None = ""
        """The refusal of the last page, for as long as no page was stored; None from then on."""
        self._on_wait = on_wait
        self._is_waiting = False
        self._on_stored = on_stored
        self._lock = threading.RLock()
        self._chunks: deque[_Unsettled] = deque()
        self._of_url: defaultdict[str, deque[_Unsettled]] = defaultdict(deque)
        self._writer = table.writer(
            buffer_pages=job.batch, max_body=job.max_body, deadline=job.wait, on_outcome=self._note, on_retry=self._wait
        )

    def put(self, chunk: Chunk) -> None:
        """Put the pages of *chunk*, which are removed from it, until the store is gone."""
        pages, chunk.pages = chunk.pages, []
        entry = _Unsettled(chunk, len(pages) + 1)
        with self._lock:
            self._chunks.append(entry)
        for page in pages:
            if self.lost:
                return
            url = canonical_or_none(page.url) or page.url
            with self._lock:
                self._of_url[url].append(entry)
            try:
                self._writer.put(page)
            except (InvalidURL, InvalidCapture) as exc:
                chunk.counts.refused.add(exc)
                chunk.counts.dropped.note_error(exc)
                self._settle(self._taken(url, last=True))
            except StoreUnavailable as exc:
                self.lost = self.lost or exc
                return
        self._settle(entry)

    def close(self) -> LoadCounts:
        """Store what was put, and return the counts of the chunks that *on_stored* was not called with."""
        if self.lost:
            self.give_up_after(1.0)
        self._writer.close()
        rest = LoadCounts()
        for entry in self._chunks:
            rest.add(entry.chunk.counts)
        return rest

    def give_up_after(self, seconds: float) -> None:
        """Wait at most *seconds* more for the store."""
        self._writer.give_up_after(seconds)

    def _wait(self, retry: Retry) -> None:
        self._is_waiting = True
        self._on_wait(str(retry.error))

    def _note(self, outcome: PageOutcome) -> None:
        error = outcome.error
        if self._is_waiting and error is None:
            self._is_waiting = False
            self._on_wait(None)
        with self._lock:
            entry = self._taken(outcome.url)
            counts = entry.chunk.counts
            counts.dropped.note(outcome)
            if error is None:
                counts.stored += 1
                counts.unchanged += not outcome.is_new
            else:
                counts.failed.add(error)
            if isinstance(error, StoreUnavailable | StoreFull | SchemaError) or self._is_refused_as_before(error):
                self.lost = self.lost or error
            else:
                self._settle(entry)

    def _is_refused_as_before(self, error: WebTableError | None) -> bool:
        """Whether nothing was stored yet, and two pages are refused in the same words: they are of the store."""
        if error is None:
            self._refused = None
        if self._refused is None or type(error) is not StoreRefused:
            return False
        before, self._refused = self._refused, str(error)
        return before == self._refused

    def _taken(self, url: str, *, last: bool = False) -> _Unsettled:
        """Return the chunk of the page *url*: the outcomes for one URL come in the order of its pages."""
        with self._lock:
            entries = self._of_url[url]
            entry = entries.pop() if last else entries.popleft()
            if not entries:
                del self._of_url[url]
            return entry

    def _settle(self, entry: _Unsettled) -> None:
        with self._lock:
            entry.left -= 1
            while self._chunks and not self._chunks[0].left:
                chunk = self._chunks.popleft().chunk
                chunk.is_stored = True
                self._on_stored(chunk)
