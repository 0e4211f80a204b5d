"""A load of files into a table: its journal, what its workers do, and the run that has files read and pages stored."""

from __future__ import annotations

import dataclasses
import signal
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from webtable._clock import clock
from webtable._importable import importing_from_here
from webtable._process_hooks import handling_signals
from webtable._processes import Ended, GivenUp, Tasks, Workers
from webtable.errors import InvalidArgument, InvalidURL, StoreUnavailable, WebTableError
from webtable.formats import Place
from webtable.formats.read import FilePart, parts_of, whole_parts
from webtable.ingest import batches
from webtable.ingest.batches import BatchStorer, IngestOptions, PageBatch, UnreadPart
from webtable.ingest.files import archive_files, check_files, check_workers, is_empty
from webtable.ingest.report import IngestCounts, IngestReport
from webtable.repository.indexes.states import imported
from webtable.repository.journal import Journal
from webtable.repository.partitions.processes import TableAddress
from webtable.repository.reading.scope import ALL, PLAIN_KEY
from webtable.repository.table.opening import open as open_table
from webtable.repository.upkeep.revisits import MOST_COUNTED
from webtable.store.deadline import Deadline, attempts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from io import BufferedReader
    from os import PathLike
    from signal import Signals

    from webtable.page.page import Page
    from webtable.repository.table.web_table import WebTable


# --- The journal ------------------------------------------------------------------------------------------------------
#
# That of `ingest --resume` and `import --resume` is a file beside the store. A part is noted once its pages, and those
# of all batches before it, are stored; so whenever the process is killed, the next one reads a little again, and
# storing a capture again changes nothing.


class _StoredPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file, or a part of one from `begin` to `stop`, whose first `records`, up to `place`, are stored.

    `made_with` names the options that decide what of a file is stored.
    """

    file: str
    size: int
    mtime: int
    made_with: str
    place: Place = Place()
    records: int = 0
    is_done: bool = False
    begin: int = 0
    stop: int | None = None


class _Ingested(msgspec.Struct):
    parts: list[_StoredPart] = []


class IngestJournal(Journal[_Ingested]):
    """The journal at *path* for a run that stores with the options *made_with*.

    Raises `InvalidArgument` if another run uses it, `OSError` if it cannot be written.
    """

    def __init__(self, path: Path, made_with: str) -> None:
        super().__init__(path, "ingest", _Ingested, seconds=0)
        self._made_with = made_with
        self._is_kept = True
        self._is_open = False
        self.alone("ingest")
        try:
            ingested = self.begun() or _Ingested()
        except BaseException:
            self.close()
            raise
        self._before = {(part.file, part.begin): part for part in ingested.parts}
        self._now = self._before.copy()
        self._begun: dict[FilePart, _StoredPart] = {}
        self._is_open = True
        self._in_parts = {part.file for part in ingested.parts if part.begin or part.stop is not None}

    def forget(self) -> None:
        """Forget what earlier runs have stored."""
        self._before, self._now, self._is_kept = {}, {}, False

    @property
    def is_new(self) -> bool:
        """Whether no earlier run has stored anything."""
        return not self._before

    def begin(self, part: FilePart) -> tuple[Place, int] | None:
        """Return where to start reading *part*, and how many records are before that; None if all of it is stored.

        A file that has changed since, or was stored with other options, is read as a whole.
        """
        begun = self._begun[part] = self._stored(part)
        return None if begun.is_done else (begun.place, begun.records)

    def has_begun(self, part: FilePart) -> bool:
        """Whether an earlier run has stored some of *part*."""
        stored = self._stored(part)
        return stored.place != Place(part.begin) or stored.is_done

    def is_in_parts(self, file: str) -> bool:
        """Whether an earlier run has read *file* in parts."""
        return str(Path(file).resolve()) in self._in_parts

    def note(self, part: FilePart, place: Place, records: int, *, is_done: bool) -> None:
        """Record that the begun *part* is stored up to *place*: one thread at a time."""
        stored = replace(self._begun[part], place=place, records=records, is_done=is_done)
        self._now[stored.file, stored.begin] = stored
        self._is_kept = False
        if self.is_due():
            self._keep()

    def close(self) -> None:
        """Write what is not yet written, and let others use the journal; one of nothing is removed."""
        if self._is_open and not self._now:
            self.end()
        elif not self._is_kept:
            self._keep()
        super().close()

    def _keep(self) -> None:
        self.keep(_Ingested(list(self._now.values())))
        self._is_kept = True

    def _stored(self, part: FilePart) -> _StoredPart:
        """The state of *part* after earlier runs: nothing of it is stored, if they do not know it."""
        path = Path(part.file).resolve()
        status = path.stat()
        new = _StoredPart(
            str(path),
            status.st_size,
            status.st_mtime_ns,
            self._made_with,
            Place(part.begin),
            begin=part.begin,
            stop=part.stop,
        )
        earlier = self._before.get((new.file, new.begin), new)
        # A file that was written to since, or other options, make another part of it.
        is_same = replace(earlier, place=new.place, records=0, is_done=False) == new
        return earlier if is_same else new


# --- Workers: each reads parts of files, and stores their pages or sends them back ------------------------------------


class Waiting(NamedTuple):
    """The message of a worker whose store does not answer, with the `error`; None when it does again."""

    error: str | None


def read_parts(options: IngestOptions, tasks: Tasks[UnreadPart]) -> None:
    """Read the parts that come as *tasks*, and report their batches, stored if *options* say how to open the table.

    At the end the counts of pages are reported that are in no batch. Raises the error for which the store is gone.
    """

    def report(batch: PageBatch) -> None:
        tasks.report(batch.number, batch, batch.remaining)

    def is_ending() -> bool:
        return tasks.are_ending or (storer is not None and storer.lost is not None)

    with nullcontext() if options.open_table is None else options.open_table() as table:
        storer = table and BatchStorer(table, options, report, lambda error: tasks.report(None, Waiting(error)))
        for number, unread in tasks:
            for batch in batches.batches_of(number, unread, options, is_ending=is_ending):
                (report if storer is None else storer.put)(batch)
            if storer is not None and storer.lost is not None:
                break
        if storer is not None:
            tasks.report(None, storer.close())
            if storer.lost is not None:
                raise storer.lost


# --- The load ---------------------------------------------------------------------------------------------------------


_SECONDS_AFTER_SIGNAL = 30.0


class IngestInterrupted(KeyboardInterrupt):
    """Ctrl-C has interrupted a load; what was read is stored, and `report` says how far that is."""

    def __init__(self, report: IngestReport) -> None:
        super().__init__(report.text())
        self.report = report


def ingest(
    table: WebTable,
    files: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    workers: int,
    resume: str | PathLike[str] | None,
    refresh: bool,
    dry_run: bool,
    on_progress: Callable[[int], object] | None,
    **options: Any,
) -> IngestReport:
    """The report of `WebTable.ingest`, whose arguments and errors these are."""
    run = Ingest(
        archive_files(files),
        IngestOptions(**options),
        lambda _: table,
        workers=workers,
        is_dry_run=dry_run,
        refresh=refresh,
        on_progress=on_progress,
    )
    if workers > 1 and not dry_run and table.store.capabilities.processes_write_concurrently:
        place = TableAddress.of(table._context, with_indexes=True)
        run.options = dataclasses.replace(run.options, open_table=partial(_opened, place))
        run.with_main = any(name.startswith("__main__:") for name in place.indexes)
    if resume is not None:
        run.keep_journal(resume, lambda: table.pages(limit=1, order="storage").first() is not None)

    def stop(number: Signals) -> None:
        if run.report.interrupted_by:
            run.give_up_after(1.0)
            raise KeyboardInterrupt
        run.interrupt(number)

    # Whoever has a handler of their own for Ctrl-C, as asyncio does, decides what it does; SIGTERM is the program's.
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        with run.journal or nullcontext(), handling_signals(stop, (signal.SIGINT,) if is_ours else ()):
            run.run()
    except KeyboardInterrupt as exc:
        raise IngestInterrupted(run.report) from exc
    if run.report.interrupted_by:
        raise IngestInterrupted(run.report)
    if error := run.report.lost or run.report.uncounted:
        vars(error)["report"] = run.report
        raise error
    return run.report


def _opened(place: TableAddress) -> WebTable:
    with importing_from_here():
        for name in place.indexes:
            imported(name)
    return open_table(place.store)


class Ingest:
    """A run that reads *files*, by this many *workers* or, if 1, in this process, and stores their pages.

    *opened* returns the table, for the first page that is stored, or for None where the workers store pages; it is not
    called in a dry run. At the end the links are counted, if *refresh*. *on_progress* is called with the number of
    pages stored so far, *on_wait* with the error while the store does not answer, and with None when it does again.
    Raises `InvalidArgument`.
    """

    def __init__(
        self,
        files: Sequence[str],
        options: IngestOptions,
        opened: Callable[[Page | None], WebTable],
        *,
        workers: int = 1,
        is_dry_run: bool = False,
        refresh: bool = True,
        on_progress: Callable[[int], object] | None = None,
        on_wait: Callable[[str | None], object] | None = None,
    ) -> None:
        check_files(files)
        check_workers(workers, files)
        self.files = files
        self.options = options
        self.workers = workers
        self.report: IngestReport = IngestReport(files=len(files), is_dry_run=is_dry_run)
        self.journal: IngestJournal | None = None
        """The journal of how far each file is stored, if one is kept."""
        self.with_main = False
        """Whether workers import the script of this process, in which an index is declared."""
        self.table: WebTable | None = None
        self.is_ending: bool = False
        """Whether nothing more is to be read: it was interrupted, or the store is gone."""
        self.waiting: str | None = None
        """The error for which pages are sent again, while the store does not answer."""
        self.counted: int | None = None
        """How many pages had their links counted so far, None before counting begins."""
        self._opened = opened
        self._refresh = refresh
        self._on_progress = on_progress
        self._on_wait = on_wait
        self._started = clock.monotonic()
        self._ends_by: Deadline | None = None
        """After a signal, when a store that does not answer is given up."""
        self._storer: BatchStorer | None = None
        self._awaits_input = False
        self._has_input = False

    @property
    def seconds(self) -> float:
        """How many seconds it has run."""
        return max(clock.monotonic() - self._started, 1e-6)

    def keep_journal(self, path: str | PathLike[str], has_pages: Callable[[], bool]) -> None:
        """Keep the journal in the file *path*, emptied if the table, as *has_pages* says, has none (any more).

        Raises what `IngestJournal` does, and `InvalidArgument` for a run that can keep none.
        """
        if "-" in self.files:
            raise InvalidArgument("resume= needs files: standard input cannot be read from anywhere but its beginning")
        if self.report.is_dry_run:
            raise InvalidArgument("resume= and dry_run=True exclude each other: a dry run reads all files")
        self.journal = IngestJournal(Path(path), self.options.made_with)
        if not self.journal.is_new and not has_pages():
            self.journal.forget()

    def run(self) -> IngestReport:
        """Store all pages, until the files or the store end or a signal comes, and return the report."""
        try:
            try:
                self._read()
            finally:
                if self._storer is not None:
                    self.report.add(self._storer.close())
                    self._look_for_loss()
            if self.table is not None and not (self.report.lost or self.report.is_dry_run):
                self.report.unresolved = sum(1 for _ in self.table.unresolved(ALL, limit=MOST_COUNTED))
            if self._refresh and self.table is not None:
                self._count_links(self.table)
            if not self.is_ending:
                self.report.unfinished = []
            self._show_progress()
        finally:
            self.report.seconds = self.seconds
        return self.report

    def interrupt(self, number: Signals) -> None:
        """Stop after the current page, and give up a store that does not answer soon; a signal handler may call it."""
        # An exception must not be raised just anywhere: it would leave a put half done, and the HTML parser, written in
        # Rust, would panic. So `KeyboardInterrupt` is raised only while standard input is waited for.
        self.report.interrupted_by, self.is_ending = number, True
        self._ends_by = Deadline(_SECONDS_AFTER_SIGNAL)
        self.give_up_after(_SECONDS_AFTER_SIGNAL)
        if self._awaits_input:
            raise KeyboardInterrupt

    def give_up_after(self, seconds: float) -> None:
        """Wait at most so many *seconds* for the store from now on."""
        if self._storer is not None:
            self._storer.give_up_after(seconds)

    def _read(self) -> None:
        if self.workers > 1:
            self._have_read()
            return
        for number, unread in enumerate(self._parts()):
            self.report.unfinished = [str(unread)]
            for batch in batches.batches_of(
                number,
                unread,
                self.options,
                is_ending=lambda: self.is_ending,
                report=self.report.read,
                opened=self._source,
            ):
                self._take(batch)
                self.report.unfinished = [str(batch.rest)]
            if self.is_ending:
                return

    def _have_read(self) -> None:
        parts = sum(len(batches.pieces_of(self._sizes[file], file in self._large)) for file in self._sizes)
        with Workers(partial(read_parts, self.options), min(self.workers, parts), with_main=self.with_main) as workers:
            workers.start()
            if self.options.open_table is not None:
                self.table = self._opened(None)  # otherwise each worker would report that it does not exist
            for _, message in workers.run(
                enumerate(self._parts()), is_ending=lambda: self.is_ending, is_overdue=self._is_overdue
            ):
                match message:
                    case PageBatch():
                        self._take(message)
                    case GivenUp(UnreadPart() as unread, why):
                        self.report.damaged_files.append(
                            f"{unread.part.name}: not read after record {unread.records:,}: {why}"
                        )
                    case Waiting(error):
                        self._wait(error)
                    case IngestCounts():
                        self.report.add(message)
                    case Ended(error) if isinstance(error, WebTableError):
                        self._lose(error)
            self.report.worker_deaths = workers.deaths
            self.report.unfinished = list(map(str, workers.unfinished))

    def _parts(self) -> Iterator[UnreadPart]:
        """Yield the parts to read."""
        # For workers the largest files first, so that the last parts do not take long.
        in_order = self.files if self.workers == 1 else sorted(self._sizes, key=lambda file: -self._sizes[file])
        for file in in_order:
            if is_empty(file):
                self.report.damaged_files.append(f"{file}: it is empty")
                continue
            is_stored = True
            for part in self._parts_of(file):
                begun = (Place(part.begin), 0) if self.journal is None else self.journal.begin(part)
                if begun is not None:
                    is_stored = False
                    yield UnreadPart(part, *begun)
            self.report.files_stored_before += is_stored

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {file: Path(file).stat().st_size for file in self.files}

    @cached_property
    def _large(self) -> set[str]:
        return set() if self.workers == 1 else batches.files_in_parts(self._sizes, self.workers)

    def _parts_of(self, file: str) -> Iterator[FilePart]:
        """Return the parts of *file*; an earlier run that began it decides how it is split."""
        journal, in_parts = self.journal, file in self._large
        if journal is not None:
            in_parts = not journal.has_begun(FilePart(file)) and (in_parts or journal.is_in_parts(file))
        return parts_of(file, limits=self.options.limits) if in_parts else iter(whole_parts(file))

    def _source(self, part: FilePart) -> AbstractContextManager[str | BinaryIO]:
        """Return a context with the source that `read_pages` reads *part* from in this process."""
        return nullcontext(cast("BinaryIO", _StandardInput(self._read_input))) if part.file == "-" else part.opened()

    def _read_input(self, size: int) -> bytes:
        """At most *size* bytes of standard input."""
        # This may block forever, so a signal interrupts it at once, and nothing else of the run.
        self._awaits_input = True
        try:
            if self.is_ending:
                raise KeyboardInterrupt
            data = cast("BufferedReader", sys.stdin.buffer).read1(size)  # what is there, without waiting for more
            if not (data or self._has_input):
                self.report.damaged_files.append("standard input: it is empty")
            self._has_input = True
            return data
        finally:
            self._awaits_input = False

    def _take(self, batch: PageBatch) -> None:
        """Accept a batch, and store it unless a worker has."""
        if batch.damage is not None:
            files = self.report.files_over_limits if batch.is_over_limit else self.report.damaged_files
            files.append(batch.damage)
        if batch.is_stored or not (batch.pages or batch.failed or self._storer):
            self._count(batch)
        else:
            self._put(batch)
        self._show_progress()

    def _put(self, batch: PageBatch) -> None:
        if self.report.is_dry_run:
            _count_only(batch)
            self._count(batch)
            return
        if self._storer is None:
            self.table = self.table or self._opened(batch.pages[0] if batch.pages else None)
            self._storer = BatchStorer(self.table, self.options, self._count, self._wait)
        self._storer.put(batch)
        self._look_for_loss()

    def _count(self, batch: PageBatch) -> None:
        """Count a batch that is stored."""
        self.report.add(batch.counts)
        if self.journal is not None:
            self.journal.note(*batch.rest, is_done=batch.is_last)

    def _wait(self, error: str | None) -> None:
        """Record that the store does not answer, with this *error*, or that it does again."""
        if (error is None) != (self.waiting is None) and self._on_wait is not None:
            self._on_wait(error)
        self.waiting = error

    def _is_overdue(self) -> bool:
        """Whether the store still does not answer so long after a signal that it is given up."""
        return self.waiting is not None and self._ends_by is not None and not self._ends_by.left()

    def _look_for_loss(self) -> None:
        if self._storer is not None and self._storer.lost is not None:
            self._lose(self._storer.lost)

    def _lose(self, error: WebTableError) -> None:
        self.report.lost = self.report.lost or error
        self.is_ending = True  # nothing more is read: each batch would wait for its deadline

    def _show_progress(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.report.stored)

    def _count_links(self, table: WebTable) -> None:
        """Count the links to the pages that the run linked, unless it was interrupted or failed; a signal ends it."""
        report = self.report
        if report.interrupted_by or report.lost or not {"link", "host"} & table.indexes.states().keys():
            return

        def counted(pages: int) -> None:
            self.counted = pages
            if report.interrupted_by:
                raise KeyboardInterrupt

        for _ in attempts(Deadline(self.options.wait)):
            report.uncounted = None
            try:
                counted(0)
                report.recount = table.links.refresh(on_progress=counted)
            except StoreUnavailable as exc:
                report.uncounted = exc
                self._wait(str(exc))
            except KeyboardInterrupt:
                if not report.interrupted_by:
                    raise
                return
            except WebTableError as exc:
                report.uncounted = exc
                return
            else:
                self._wait(None)
                return


class _StandardInput:
    """Standard input, with the methods of a binary file that a reader of pages needs."""

    name = "standard input"

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.read = read

    def fileno(self) -> int:
        return sys.stdin.fileno()


def _count_only(batch: PageBatch) -> None:
    """Count the pages of *batch* that would be stored; a table may already have some of them, or refuse them."""
    for page in batch.pages:
        try:
            PLAIN_KEY.encode(page.url)
        except InvalidURL as exc:
            batch.counts.refused.add(exc)
        else:
            batch.counts.stored += 1
