"""A run of `ingest` or `import`: what is to be read, what became of it, and why it ended."""

from __future__ import annotations

import heapq
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from signal import Signals
from typing import TYPE_CHECKING, NamedTuple, cast

from webtable._clock import clock
from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.cli.exit_codes import SIGNALLED
from webtable.cli.loading.journal import IngestJournal
from webtable.cli.session import CommandSession
from webtable.cli.terminal.interaction import handling_interrupts
from webtable.errors import WebTableError
from webtable.formats import Place, ReadReport
from webtable.formats.read import PART_BYTES, FilePart, parts_of
from webtable.formats.read_report import MAX_DAMAGED
from webtable.repository.creation.web import LayoutOptions
from webtable.repository.derived.refresh import Recount
from webtable.repository.writing.outcomes import Dropped

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from io import BufferedReader
    from typing import BinaryIO

    from webtable.repository.table.web_table import WebTable

SHOWN_ERRORS = 10
"""How many errors of one kind are shown."""
NUMBERS = ("records", "pages", "bytes_read", "bytes_skipped", "damaged_count")
COUNTERS = ("left_out", "unknown_fields", "skipped", "unparsed", "shortened")
_NOTHING_READ = ReadReport()
_TOLERANCE = 1.1
"""So many times as long as it could the reading may take at most, before another file is read in parts."""


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
class LoadCounts:
    """What became of some records."""

    report: ReadReport = field(default_factory=ReadReport)
    stored: int = 0
    unchanged: int = 0
    """How many of those that are stored brought no new content."""
    dropped: Dropped = field(default_factory=Dropped)
    """What the limits of the table have dropped."""
    refused: Failures = field(default_factory=Failures)
    failed: Failures = field(default_factory=Failures)

    def add(self, counts: LoadCounts) -> None:
        """Count the records of *counts* as well."""
        if counts.report != _NOTHING_READ:  # or two threads would write to the report of a load that reads itself
            add_report(self.report, counts.report)
        self.stored += counts.stored
        self.unchanged += counts.unchanged
        self.dropped.add(counts.dropped)
        self.refused.add_all(counts.refused)
        self.failed.add_all(counts.failed)


def add_report(report: ReadReport, other: ReadReport) -> None:
    """Add to *report* what *other* has counted and listed."""
    for name in NUMBERS:
        setattr(report, name, getattr(report, name) + getattr(other, name))
    for name in COUNTERS:
        counter: Counter[str] = getattr(report, name)
        counter.update(getattr(other, name))
    report.damaged += other.damaged[: MAX_DAMAGED - len(report.damaged)]


@dataclass(frozen=True)
class Job:
    """How files are read and pages stored; by workers in the store *session*, where these store them themselves."""

    types: Collection[str] | None
    limits: ReadLimits = DEFAULT_LIMITS
    batch: int = 500
    max_body: int | None = None
    session: CommandSession | None = None
    options: LayoutOptions | None = None


class Given(NamedTuple):
    """A part of a file to be read, after *records* records of it, which end at *place*."""

    number: int
    part: FilePart
    place: Place
    records: int

    def __str__(self) -> str:
        return f"after record {self.records:,} of {self.part.name}"


@dataclass(kw_only=True)
class Load(LoadCounts):
    """A run of `ingest`: its *files* are read by so many *workers*, by one in this process; only read in a dry run."""

    files: Sequence[str]
    job: Job
    workers: int = 1
    is_dry_run: bool = False
    journal: IngestJournal | None = None
    """What of which file is stored, if a journal keeps that."""
    skipped: int = 0
    """How many files were stored by an earlier run."""
    damaged_files: list[str] = field(default_factory=list)
    started: float = field(default_factory=lambda: clock.monotonic())
    signal: Signals | None = None
    """What has interrupted it: Ctrl-C, or somebody who ends processes."""
    unfinished: list[Given] = field(default_factory=list)
    """The parts that were begun and not read to their end, from where that goes on."""
    deaths: list[str] = field(default_factory=list)
    """How workers have died."""
    lost: WebTableError | None = None
    """The error that ended it, where the store is gone."""
    recount: Recount | None = None
    """What was counted in the end, if anything was."""
    counted: int | None = None
    """How many pages are counted so far, None before that begins."""
    uncounted: WebTableError | None = None
    """Why the links were not counted."""
    is_ending: bool = False
    """Whether nothing more is to be read: it was interrupted, or the store is gone."""
    _waiting: bool = False

    @property
    def where(self) -> str:
        """The places in the files that the reading has come to."""
        none = "before the first file" if self.workers == 1 else "between two files"
        return " and ".join(map(str, self.unfinished)) or none

    @property
    def seconds(self) -> float:
        """How long it runs already."""
        return max(clock.monotonic() - self.started, 1e-6)

    def parts(self) -> Iterator[Given]:
        """Yield what is to be read; for workers the largest files first: what is read last should not take long."""
        numbers = count()
        for file in self.files if self.workers == 1 else sorted(self._sizes, key=lambda file: -self._sizes[file]):
            if is_empty(file):
                self.damaged_files.append(f"{file}: it is empty")
                continue
            is_stored = True
            for part in self._parts_of(file):
                begun = (Place(part.begin), 0) if self.journal is None else self.journal.begin(part)
                if begun is not None:
                    is_stored = False
                    yield Given(next(numbers), part, *begun)
            self.skipped += is_stored

    @property
    def most_workers(self) -> int:
        """How many workers may have something to read."""
        return min(self.workers, sum(len(_pieces(self._sizes[file], file in self._large)) for file in self._sizes))

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {file: Path(file).stat().st_size for file in self.files}

    @cached_property
    def _large(self) -> set[str]:
        return set() if self.workers == 1 else files_in_parts(self._sizes, self.workers)

    def _parts_of(self, file: str) -> Iterator[FilePart]:
        """Yield the parts of *file*; what an earlier run has begun goes on as it was begun."""
        journal, in_parts = self.journal, file in self._large
        if journal is not None:
            in_parts = not journal.is_known(FilePart(file)) and (in_parts or journal.is_in_parts(file))
        if not in_parts:
            return iter([FilePart(file)])
        return parts_of(file, limits=self.job.limits)

    def opened(self, part: FilePart) -> AbstractContextManager[str | BinaryIO]:
        """Lend what `read_pages` reads *part* from in this process."""
        return nullcontext(cast("BinaryIO", _StandardInput(self))) if part.file == "-" else part.opened()

    def count_links(self, table: WebTable) -> None:
        """Count the links to the pages that the run has linked, unless it came to no good end or Ctrl-C is pressed."""
        if self.signal or self.lost or not {"link", "host"} & table.indexes.states().keys():
            return

        def counted(pages: int) -> None:
            self.counted = pages
            if self.signal:
                raise KeyboardInterrupt

        try:
            counted(0)
            self.recount = table.links.refresh(on_progress=counted)
        except KeyboardInterrupt:
            return
        except WebTableError as exc:
            self.uncounted = exc

    def lose(self, error: WebTableError) -> None:
        """End the reading, since the store is gone: each batch would wait for its deadline."""
        self.lost = self.lost or error
        self.is_ending = True

    def handling_interrupts(self) -> AbstractContextManager[None]:
        """Let Ctrl-C, SIGTERM and SIGHUP end the reading after the current page; the second one ends the process."""
        return handling_interrupts(self._interrupt)

    def read_input(self, size: int) -> bytes:
        """Read standard input, which may take for ever: here alone Ctrl-C ends it at once."""
        self._waiting = True
        try:
            if self.is_ending:
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
        self.signal, self.is_ending = number, True
        if self._waiting:
            raise KeyboardInterrupt


class _StandardInput:
    """As much of a binary file as a reader of pages needs."""

    name = "standard input"

    def __init__(self, load: Load) -> None:
        self.read = load.read_input

    def fileno(self) -> int:
        return sys.stdin.fileno()


def is_empty(file: str) -> bool:
    """Whether *file* is a file without a byte in it; of a pipe that is not known."""
    path = Path(file)
    return file != "-" and path.is_file() and path.stat().st_size == 0


def files_in_parts(sizes: Mapping[str, int], workers: int) -> set[str]:
    """Return which files are to be read in parts: as few as keep all *workers* busy, since finding parts takes time."""
    large: set[str] = set()
    ideal = sum(sizes.values()) / workers
    for file in sorted(sizes, key=lambda file: -sizes[file]):
        pieces = [piece for one, size in sizes.items() for piece in _pieces(size, one in large)]
        if sizes[file] <= PART_BYTES or _longest(pieces, workers) <= _TOLERANCE * ideal:
            break
        large.add(file)
    return large


def _pieces(size: int, in_parts: bool) -> list[int]:
    whole, rest = divmod(size, PART_BYTES) if in_parts else (0, size)
    return [PART_BYTES] * whole + [rest]


def _longest(pieces: list[int], workers: int) -> int:
    """Return how much the worker has read that ends last, where each takes the largest piece that is left."""
    read = [0] * workers
    for piece in sorted(pieces, reverse=True):
        heapq.heapreplace(read, read[0] + piece)
    return max(read)
