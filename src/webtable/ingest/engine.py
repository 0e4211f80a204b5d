"""A run of `ingest` or `import`: what it reads, the results, and why it ended."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from signal import Signals
from typing import TYPE_CHECKING, NamedTuple, cast

from webtable._clock import clock
from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable._page.methods import DEFAULT_METHODS
from webtable._signals import handling_signals
from webtable.cli.exit_codes import SIGNALLED, note
from webtable.cli.session import CommandSession
from webtable.errors import StoreUnavailable, WebTableError
from webtable.formats import Place
from webtable.formats.parts import FilePart, parts_of, whole_parts
from webtable.ingest.journal import IngestJournal
from webtable.ingest.report import LoadCounts
from webtable.ingest.splitting import files_in_parts, pieces_of
from webtable.repository.creation.web import LayoutOptions
from webtable.repository.derived.refresh import Recount
from webtable.store.deadline import Deadline, attempts

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from io import BufferedReader
    from typing import BinaryIO

    from webtable.repository.table.web_table import WebTable

WAIT_SECONDS = 600.0
"""How long a load waits for a store that does not answer: a restart of HBase takes a minute or two."""
_SECONDS_AFTER_SIGNAL = 30.0


@dataclass(frozen=True)
class Job:
    """How files are read and pages are stored; *session* is the store, if the workers store pages themselves."""

    types: Collection[str] | None
    limits: ReadLimits = DEFAULT_LIMITS
    batch: int = 500
    max_body: int | None = None
    wait: float = WAIT_SECONDS
    session: CommandSession | None = None
    options: LayoutOptions | None = None
    detect_language: bool = False
    methods: Collection[str] | None = DEFAULT_METHODS


class Given(NamedTuple):
    """A part of a file to read, from *place* on, after its first *records* records."""

    number: int
    part: FilePart
    place: Place
    records: int

    def __str__(self) -> str:
        return f"after record {self.records:,} of {self.part.name}"


@dataclass(kw_only=True)
class Load(LoadCounts):
    """A run of `ingest`: *files* are read by this many *workers*, if 1 in this process; a dry run stores nothing."""

    files: Sequence[str]
    job: Job
    workers: int = 1
    is_dry_run: bool = False
    journal: IngestJournal | None = None
    """The journal of how far each file is stored, if one is kept."""
    skipped: int = 0
    """How many files were stored by an earlier run."""
    damaged_files: list[str] = field(default_factory=list)
    started: float = field(default_factory=lambda: clock.monotonic())
    signal: Signals | None = None
    """The signal that interrupted it: from Ctrl-C, or from another process."""
    unfinished: list[Given] = field(default_factory=list)
    """The parts that were begun but not finished, each with the place to continue from."""
    deaths: list[str] = field(default_factory=list)
    """How each dead worker died."""
    lost: WebTableError | None = None
    """The error that ended it, if the store is gone."""
    unresolved: int = 0
    """How many revisits of the table wait for their originals at the end, at most `MOST_COUNTED`."""
    recount: Recount | None = None
    """The result of counting links at the end, if that was done."""
    counted: int | None = None
    """How many pages had their links counted so far, None before counting begins."""
    waiting: str | None = None
    """The error for which pages are sent again, while the store does not answer."""
    uncounted: WebTableError | None = None
    """Why the links were not counted."""
    give_up_after: Callable[[float], None] | None = None
    """Limits how long the writer waits for the store from now on, in seconds."""
    ends_by: Deadline | None = None
    """After a signal, when a store that does not answer is given up."""
    is_ending: bool = False
    """Whether nothing more is to be read: it was interrupted, or the store is gone."""
    _waiting: bool = False
    _has_input: bool = False
    """Whether standard input was read."""

    @property
    def where(self) -> str:
        """The places in the files that reading has reached, as text."""
        none = "before the first file" if self.workers == 1 else "between two files"
        return " and ".join(map(str, self.unfinished)) or none

    @property
    def is_overdue(self) -> bool:
        """Whether the store still does not answer so long after a signal that it is given up."""
        return self.waiting is not None and self.ends_by is not None and not self.ends_by.left()

    @property
    def seconds(self) -> float:
        """How many seconds it has run."""
        return max(clock.monotonic() - self.started, 1e-6)

    def parts(self) -> Iterator[Given]:
        """Yield the parts to read; for workers the largest files first, so that the last parts do not take long."""
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
        """How many workers can be busy at most."""
        return min(self.workers, sum(len(pieces_of(self._sizes[file], file in self._large)) for file in self._sizes))

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {file: Path(file).stat().st_size for file in self.files}

    @cached_property
    def _large(self) -> set[str]:
        return set() if self.workers == 1 else files_in_parts(self._sizes, self.workers)

    def _parts_of(self, file: str) -> Iterator[FilePart]:
        """Return the parts of *file*; an earlier run that began it decides how it is split."""
        journal, in_parts = self.journal, file in self._large
        if journal is not None:
            in_parts = not journal.is_known(FilePart(file)) and (in_parts or journal.is_in_parts(file))
        if not in_parts:
            return iter(whole_parts(file))
        return parts_of(file, limits=self.job.limits)

    def opened(self, part: FilePart) -> AbstractContextManager[str | BinaryIO]:
        """Return a context with the source that `read_pages` reads *part* from in this process."""
        return nullcontext(cast("BinaryIO", _StandardInput(self))) if part.file == "-" else part.opened()

    def count_links(self, table: WebTable) -> None:
        """Count the links to the pages that the run linked, unless it was interrupted or failed; Ctrl-C stops this."""
        if self.signal or self.lost or not {"link", "host"} & table.indexes.states().keys():
            return

        def counted(pages: int) -> None:
            self.counted = pages
            if self.signal:
                raise KeyboardInterrupt

        for _ in attempts(Deadline(self.job.wait)):
            self.uncounted = None
            try:
                counted(0)
                self.recount = table.links.refresh(on_progress=counted)
            except StoreUnavailable as exc:
                self.uncounted = exc
                self.wait(str(exc))
            except KeyboardInterrupt:
                return
            except WebTableError as exc:
                self.uncounted = exc
                return
            else:
                self.wait(None)
                return

    def wait(self, error: str | None) -> None:
        """Record that the store does not answer, with this *error*, or that it does again; report it once."""
        if (error is None) != (self.waiting is None) and not sys.stderr.isatty():  # else the progress bar shows it
            note(
                "the store answers again"
                if error is None
                else f"waiting up to {self.job.wait:g} s for the store: {error}"
            )
        self.waiting = error

    def lose(self, error: WebTableError) -> None:
        """Stop reading, since the store is gone: each batch would wait for its deadline."""
        self.lost = self.lost or error
        self.is_ending = True

    def handling_interrupts(self) -> AbstractContextManager[None]:
        """Let Ctrl-C, SIGTERM and SIGHUP stop the reading after the current page; a second one ends the process."""
        return handling_signals(self._interrupt)

    def read_input(self, size: int) -> bytes:
        """Return bytes of standard input, which may block forever; only here Ctrl-C interrupts at once."""
        self._waiting = True
        try:
            if self.is_ending:
                raise KeyboardInterrupt
            data = cast("BufferedReader", sys.stdin.buffer).read1(size)  # what is there, without waiting for more
            if not (data or self._has_input):
                self.damaged_files.append("standard input: it is empty")
            self._has_input = True
            return data
        finally:
            self._waiting = False

    # An exception must not be raised just anywhere: it would leave a put half done, and the HTML parser, written in
    # Rust, would panic.
    def _interrupt(self, number: Signals) -> None:
        if self.signal:
            show_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
            os.write(2, f"{show_cursor}webtable: aborted; what was not stored yet is lost\n".encode())
            os._exit(SIGNALLED + number)
        self.signal, self.is_ending = number, True
        self.ends_by = Deadline(_SECONDS_AFTER_SIGNAL)
        if self.give_up_after is not None:
            self.give_up_after(_SECONDS_AFTER_SIGNAL)
        if self._waiting:
            raise KeyboardInterrupt


class _StandardInput:
    """Standard input, with the methods of a binary file that a reader of pages needs."""

    name = "standard input"

    def __init__(self, load: Load) -> None:
        self.read = load.read_input

    def fileno(self) -> int:
        return sys.stdin.fileno()


def is_empty(file: str) -> bool:
    """Whether *file* has 0 bytes; False for a pipe, where this is unknown."""
    path = Path(file)
    return file != "-" and path.is_file() and path.stat().st_size == 0
