"""The loop of `ingest`: pages from files into a writer, with a count of everything that did not get there."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from signal import Signals
from typing import TYPE_CHECKING, cast

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.cli.exit_codes import SIGNALLED
from webtable.cli.journal import Journal
from webtable.cli.loading.archive_files import is_empty
from webtable.cli.terminal.interrupts import handling_interrupts
from webtable.errors import (
    FormatError,
    InvalidCapture,
    InvalidURL,
    SchemaError,
    StoreUnavailable,
    WebTableError,
)
from webtable.formats import Place, ReadReport, read_pages
from webtable.repository import Writer
from webtable.repository.hints.refresh import Recount
from webtable.repository.writing.outcomes import Dropped
from webtable.rowkey.urls import canonical_or_none

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from io import BufferedReader
    from typing import BinaryIO

    from webtable._page.page import Page, PageOutcome
    from webtable.repository import WebTable


SHOWN_ERRORS = 10
"""How many errors of one kind are told."""


@dataclass
class Failures:
    """Pages that were not stored: how many for each kind of error, and the first errors of each kind."""

    counts: Counter[str] = field(default_factory=Counter)
    first: defaultdict[str, list[WebTableError]] = field(default_factory=lambda: defaultdict(list))

    def add(self, error: WebTableError) -> None:
        """Count one page."""
        kind = type(error).__name__
        self.counts[kind] += 1
        if len(self.first[kind]) < SHOWN_ERRORS:
            self.first[kind].append(error)

    def add_all(self, others: Failures) -> None:
        """Count the pages of *others* as well."""
        self.counts.update(others.counts)
        for kind, errors in others.first.items():
            self.first[kind] = [*self.first[kind], *errors][:SHOWN_ERRORS]


@dataclass
class Load:
    """A run of `ingest`: what was read, what was stored and why it ended."""

    files: Sequence[str]
    types: Collection[str] | None
    limits: ReadLimits = DEFAULT_LIMITS
    report: ReadReport = field(default_factory=ReadReport)
    writer: Writer | None = None
    journal: Journal | None = None
    """What is stored of which file, where that is kept."""
    skipped: int = 0
    """How many files were stored by an earlier run."""
    # Two of them, since the writer tells of failures in a thread of its own.
    refused: Failures = field(default_factory=Failures)
    failed: Failures = field(default_factory=Failures)
    dropped: Dropped = field(default_factory=Dropped)
    """What the limits of the table have dropped."""
    damaged_files: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    signal: Signals | None = None
    """What has interrupted it: Ctrl-C, or somebody who ends processes."""
    place: str | None = None
    """The file that is being read; behind which record of it, `where` says."""
    lost: WebTableError | None = None
    """The error that ended it, where the store is gone."""
    recount: Recount | None = None
    """What was counted in the end, if anything was."""
    counted: int | None = None
    """How many pages are counted so far, None before that begins."""
    uncounted: WebTableError | None = None
    """Why the links were not counted."""
    _records_before: int = 0
    _ending: bool = False
    _waiting: bool = False

    @property
    def stored(self) -> int:
        """How many pages are stored."""
        return self.writer.stored if self.writer else 0

    @property
    def unchanged(self) -> int:
        """How many of them brought no new content."""
        return self.writer.unchanged if self.writer else 0

    @property
    def is_ending(self) -> bool:
        """Whether nothing more is to be read: it was interrupted, or the store is gone."""
        return self._ending

    @property
    def remarks(self) -> list[str]:
        """What else is to be told of the run."""
        return []

    @property
    def where(self) -> str:
        """The place in the files that the reading has come to."""
        if self.place is None:
            return "before the first file"
        return f"behind record {self.report.records - self._records_before:,} of {self.place}"

    @property
    def seconds(self) -> float:
        """How long it runs already."""
        return max(time.monotonic() - self.started, 1e-6)

    def run(self, opened: Callable[[Page], WebTable], *, batch: int, max_body: int | None) -> WebTable | None:
        """Store all pages, and return the table, which is opened for the first of them."""
        pages = self.pages()
        # The store is opened, and may be made, only when there is something to put into it.
        first = next(pages, None)
        if first is None:
            return None
        table = opened(first)
        writer = table.writer(buffer_pages=batch, max_body=max_body, on_outcome=self.note_outcome)
        self.store(chain([first], pages), writer)
        return table

    def pages(self) -> Iterator[Page]:
        """Yield the pages of all files; a file that is damaged or cannot be read ends early and is noted."""
        for file in self.files:
            if is_empty(file):
                self.damaged_files.append(f"{file}: it is empty")
                continue
            begun = (Place(), 0) if self.journal is None else self.journal.begin(file)
            if begun is None:
                self.skipped += 1
                continue
            start, before = begun
            self.place, self._records_before = "standard input" if file == "-" else file, self.report.records - before
            source = cast("BinaryIO", _StandardInput(self)) if file == "-" else file
            try:
                yield from read_pages(source, types=self.types, report=self.report, limits=self.limits, start=start)
            except (FormatError, OSError) as exc:
                self.damaged_files.append(str(exc))
            except KeyboardInterrupt:
                return
            else:
                if self.journal is not None:
                    self.journal.end()

    def store(self, pages: Iterable[Page], writer: Writer) -> None:
        """Put *pages*, until they or the store end or a signal comes, and flush what was put."""
        self.writer, self.dropped = writer, writer.dropped
        put = writer.put
        for page in pages:
            url = self._taken(page)
            try:
                put(page)
            except (InvalidURL, InvalidCapture) as exc:
                self.refused.add(exc)
                self._settled(url)
            if self._ending:
                break
        writer.close()

    def _taken(self, page: Page) -> str:
        """Return the URL under which the outcome of *page* comes, which the journal is told."""
        if self.journal is None:
            return page.url
        url = canonical_or_none(page.url) or page.url
        self.journal.take(url, self.report.place, self.report.records - self._records_before)
        return url

    def _settled(self, url: str) -> None:
        if self.journal is not None:
            self.journal.settle(url)

    def count_links(self, table: WebTable) -> None:
        """Count the links to the pages that the run has linked, unless it came to no good end or Ctrl-C is pressed."""
        if self.signal or self.lost or not {"link", "host"} & table.index_states().keys():
            return

        def counted(pages: int) -> None:
            self.counted = pages
            if self.signal:
                raise KeyboardInterrupt

        try:
            counted(0)
            self.recount = table.refresh_links(on_progress=counted)
        except KeyboardInterrupt:
            return
        except WebTableError as exc:
            self.uncounted = exc

    def note_outcome(self, outcome: PageOutcome) -> None:
        """Take from the writer what became of a page."""
        error = outcome.error
        if error is not None:
            self.failed.add(error)
            # A store that is gone is gone for the next thousand batches too, and each would wait for its deadline.
            if isinstance(error, StoreUnavailable | SchemaError):
                self.lose(error)
                return
        self._settled(outcome.url)

    def lose(self, error: WebTableError) -> None:
        """End the reading, since the store is gone."""
        self.lost = self.lost or error
        self._ending = True

    def handling_interrupts(self) -> AbstractContextManager[None]:
        """Let Ctrl-C, SIGTERM and SIGHUP end the reading behind the page at hand; the second one ends the process."""
        return handling_interrupts(self._interrupt)

    def read_input(self, size: int) -> bytes:
        """Read standard input, which may take for ever: here alone Ctrl-C ends it at once."""
        self._waiting = True
        try:
            if self._ending:
                raise KeyboardInterrupt
            return cast("BufferedReader", sys.stdin.buffer).read1(size)  # what is there, without waiting for more
        finally:
            self._waiting = False

    # An exception must not be raised anywhere: it would leave a put half done, and the HTML parser, which is Rust,
    # panics of it.
    def _interrupt(self, number: Signals) -> None:
        if self.signal:
            show_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
            os.write(2, f"{show_cursor}webtable: given up; what was not stored yet is lost\n".encode())
            os._exit(SIGNALLED + number)
        self.signal, self._ending = number, True
        if self._waiting:
            raise KeyboardInterrupt


class _StandardInput:
    """As much of a binary file as a reader of pages needs."""

    name = "standard input"

    def __init__(self, load: Load) -> None:
        self.read = load.read_input

    def fileno(self) -> int:
        return sys.stdin.fileno()
