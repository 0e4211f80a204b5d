"""Batches of pages: the division of files among workers, the pages of a part in batches, and how these are stored."""

from __future__ import annotations

import heapq
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from webtable import errors
from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.errors import FormatError, InvalidArgument, StoreRefused, StoreUnavailable, WebTableError
from webtable.formats import Place, ReadReport
from webtable.formats.read import PART_BYTES, FilePart, captures_of
from webtable.ingest.report import IngestCounts, ReportPieces
from webtable.page.headers import DEFAULT_TYPES
from webtable.page.methods import DEFAULT_METHODS, wanted_methods
from webtable.page.page import Page, memory_of
from webtable.repository.arguments import check_positive, given_moment
from webtable.repository.failed_fetches import FailedFetch, FailedFetches
from webtable.rowkey.urls import canonical_or_none

if TYPE_CHECKING:
    from webtable.repository.table.web_table import WebTable
    from webtable.repository.writing.outcomes import PageOutcome, Retry
    from webtable.url_filter import URLFilter  # noqa: TC004 - it imports RE2, which takes a moment


# --- Division of files among workers ----------------------------------------------------------------------------------
#
# To find the parts of a file it has to be decompressed once more, so a file is read in parts only where the workers
# would otherwise wait for the last of them.


_TOLERANCE = 1.1
"""Reading may take at most this many times as long as the ideal, before another file is read in parts."""


class UnreadPart(NamedTuple):
    """A part of a file that is to be read from *place* on, after its first *records* records."""

    part: FilePart
    place: Place
    records: int

    def __str__(self) -> str:
        return f"after record {self.records:,} of {self.part.name}"


def files_in_parts(sizes: Mapping[str, int], workers: int) -> set[str]:
    """Return the files to read in parts: as few as keep all *workers* busy, since finding parts takes time."""
    large: set[str] = set()
    ideal = sum(sizes.values()) / workers
    for file in sorted(sizes, key=lambda file: -sizes[file]):
        pieces = [piece for other, size in sizes.items() for piece in pieces_of(size, other in large)]
        if sizes[file] <= PART_BYTES or _longest(pieces, workers) <= _TOLERANCE * ideal:
            break
        large.add(file)
    return large


def pieces_of(size: int, in_parts: bool) -> list[int]:
    """Return how many bytes the parts have of a file of *size* bytes that is read *in_parts*, or as a whole."""
    whole, rest = divmod(size, PART_BYTES) if in_parts else (0, size)
    return [PART_BYTES] * whole + [rest]


def _longest(pieces: list[int], workers: int) -> int:
    """Return how much the last worker to finish reads, if each takes the largest remaining piece."""
    read = [0] * workers
    for piece in sorted(pieces, reverse=True):
        heapq.heapreplace(read, read[0] + piece)
    return max(read)


# --- Batches as they are read -----------------------------------------------------------------------------------------


BATCH_PAGES = 100
BATCH_BYTES = 1 << 20
"""A batch has at most BATCH_PAGES pages; the page that reaches BATCH_BYTES of memory is its last one."""
WAIT_SECONDS = 600.0
"""How long to wait for a store that does not answer: a restart of HBase takes a minute or two."""


@dataclass(frozen=True, kw_only=True)
class IngestOptions:
    """How files are read and pages are stored; *open_table* opens the table in workers, if these store pages."""

    types: Collection[str] | None = DEFAULT_TYPES
    methods: Collection[str] | None = DEFAULT_METHODS
    urls: URLFilter | None = None
    limits: ReadLimits = DEFAULT_LIMITS
    batch: int = 500
    max_body: int | None = None
    wait: float = WAIT_SECONDS
    detect_language: bool = False
    verify_digests: bool = False
    date_fallback: datetime | None = None
    open_table: Callable[[], AbstractContextManager[Any]] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.types, str):
            raise InvalidArgument(f"types={self.types!r} is one string; give a collection, as in {{{self.types!r}}}")
        wanted_methods(self.methods)
        if self.batch < 1:
            raise InvalidArgument(f"batch={self.batch} must be at least 1 page")
        check_positive(max_body=self.max_body, wait=self.wait)
        given_moment("date_fallback", self.date_fallback)

    @property
    def made_with(self) -> str:
        """The options that decide what of a file is stored, as text."""
        names = [None if names is None else sorted(names) for names in (self.types, self.methods)]
        others: list[object] = [self.detect_language, self.verify_digests, self.date_fallback]
        if self.urls is not None:  # a journal of before there was such a filter goes on
            others.append(self.urls)
        return repr((*names, self.limits, self.max_body, *others))


@dataclass
class PageBatch:
    """Some pages of the part with this *number*, of which *rest* is left to read after them."""

    number: int
    rest: UnreadPart
    pages: list[Page]
    counts: IngestCounts
    is_last: bool = False
    damage: str | None = None
    """Why the part cannot be read further."""
    is_over_limit: bool = False
    """Whether that is a limit, and no damage."""
    is_stored: bool = False
    failed: Sequence[FailedFetch] = ()
    """Fetches that failed, which the file has among the pages."""

    @property
    def remaining(self) -> UnreadPart | None:
        """What is left to read; None after the last batch of the part."""
        return None if self.is_last or self.damage is not None else self.rest


def batches_of(
    number: int,
    unread: UnreadPart,
    options: IngestOptions,
    *,
    is_ending: Callable[[], bool],
    report: ReadReport | None = None,
    opened: Callable[[FilePart], AbstractContextManager[str | BinaryIO]] = FilePart.opened,
) -> Iterator[PageBatch]:
    """Yield the batches of a part, up to its end, to where it is damaged, or to the page after which it *is_ending*.

    With *report*, that of the run in its process, pages come in order and are reported to it at once.
    """
    total = ReadReport() if report is None else report
    pieces = ReportPieces(total) if report is None else None
    before = total.records
    pages: list[Page] = []
    failed: list[FailedFetch] = []
    size = 0
    # Pages from a pipe are passed on at once, as the next may come much later.
    most_pages = BATCH_PAGES if Path(unread.part.file).is_file() else 1

    def batch(*, is_last: bool = False, damage: str | None = None, is_over_limit: bool = False) -> PageBatch:
        rest = unread._replace(place=total.place, records=unread.records + total.records - before)
        counts = IngestCounts(ReadReport() if pieces is None else pieces.taken())
        return PageBatch(number, rest, pages, counts, is_last, damage, is_over_limit, failed=failed)

    try:
        with opened(unread.part) as source:
            for page in captures_of(
                source,
                types=options.types,
                report=total,
                detect_language=options.detect_language,
                verify_digests=options.verify_digests,
                date_fallback=options.date_fallback,
                methods=options.methods,
                urls=options.urls,
                limits=options.limits,
                start=unread.place,
                with_failed=True,
            ):
                if isinstance(page, Page):
                    pages.append(page)
                    size += memory_of(page)
                else:
                    failed.append(page)
                if is_ending() or size >= BATCH_BYTES or len(pages) + len(failed) >= most_pages:
                    yield batch()
                    if is_ending():
                        return
                    pages, failed, size = [], [], 0
    except (FormatError, OSError) as exc:
        yield batch(damage=str(exc), is_over_limit=isinstance(exc, FormatError) and exc.limit is not None)
    except KeyboardInterrupt:  # while waiting for standard input
        yield batch()
    else:
        yield batch(is_last=True)


# --- Batches as they are stored ---------------------------------------------------------------------------------------


@dataclass
class _Unsettled:
    """A batch and the number of its pages that are not settled yet, plus 1 until all are put."""

    batch: PageBatch
    pending: int


class BatchStorer:
    """Puts batches into a writer of *table*; *on_stored* is called with each once it and all before it are stored.

    It is called in the order of the batches, from any thread, but by one at a time. Pages that the table refuses for
    their content count as settled; those that fail because the store is gone, or full, do not, and `lost` says why.
    *on_wait* is called with the error while the store does not answer, and with None when it does again.
    """

    def __init__(
        self,
        table: WebTable,
        options: IngestOptions,
        on_stored: Callable[[PageBatch], None],
        on_wait: Callable[[str | None], None],
    ) -> None:
        self.lost: WebTableError | None = None
        self._refused: str | None = ""
        """The refusal of the last page, for as long as no page was stored; None from then on."""
        self._failures = FailedFetches(table._context)
        self._on_wait = on_wait
        self._is_waiting = False
        self._on_stored = on_stored
        self._lock = threading.RLock()
        self._batches: deque[_Unsettled] = deque()
        self._of_url: defaultdict[str, deque[_Unsettled]] = defaultdict(deque)
        self._writer = table.writer(
            buffer_pages=options.batch,
            max_body=options.max_body,
            deadline=options.wait,
            on_outcome=self._note,
            on_retry=self._wait,
        )

    def put(self, batch: PageBatch) -> None:
        """Put the pages of *batch*, which are removed from it, until the store is gone."""
        pages, batch.pages = batch.pages, []
        failed, batch.failed = batch.failed, ()
        entry = _Unsettled(batch, len(pages) + 1)
        with self._lock:
            self._batches.append(entry)
        for page in pages:
            if self.lost:
                return
            url = canonical_or_none(page.url) or page.url
            with self._lock:
                self._of_url[url].append(entry)
            try:
                self._writer.put(page)
            except (errors.InvalidURL, errors.InvalidCapture) as exc:
                batch.counts.refused.add(exc)
                batch.counts.dropped.note_error(exc)
                self._settle(self._taken(url, last=True))
            except StoreUnavailable as exc:
                self.lost = self.lost or exc
                return
        try:
            self._failures.enter(failed)
        except WebTableError as exc:  # they were checked as they were read, so it is the store's
            self.lost = self.lost or exc
            return
        self._settle(entry)

    def close(self) -> IngestCounts:
        """Store what was put, and return the counts of the batches that *on_stored* was not called with."""
        if self.lost:
            self.give_up_after(1.0)
        self._writer.close()
        rest = IngestCounts()
        for entry in self._batches:
            rest.add(entry.batch.counts)
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
        with self._lock:  # outcomes come from the threads of the writer
            entry = self._taken(outcome.url)
            counts = entry.batch.counts
            counts.dropped.note(outcome)
            if error is None:
                counts.stored += 1
                counts.unchanged += not outcome.is_new
            else:
                counts.failed.add(error)
            if isinstance(
                error, StoreUnavailable | errors.StoreFull | errors.SchemaError
            ) or self._is_refused_as_before(error):
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
        """Return the batch of the page *url*: the outcomes for one URL come in the order of its pages."""
        with self._lock:
            entries = self._of_url[url]
            entry = entries.pop() if last else entries.popleft()
            if not entries:
                del self._of_url[url]
            return entry

    def _settle(self, entry: _Unsettled) -> None:
        with self._lock:
            entry.pending -= 1
            while self._batches and not self._batches[0].pending:
                batch = self._batches.popleft().batch
                batch.is_stored = True
                self._on_stored(batch)
