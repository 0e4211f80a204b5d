"""The command `ingest`, a form on top of `webtable.ingest`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

import webtable
from webtable._clock import clock
from webtable._messages import message_of, text_of
from webtable._process_hooks import handling_signals
from webtable.cli import options
from webtable.cli.exit_codes import NOT_DONE, SIGNALLED, complain, exit_code, note
from webtable.cli.output import TIME, documented, parse_times
from webtable.cli.progress import ingest_progress, when_there
from webtable.cli.session import CommandSession, session
from webtable.display import harmless
from webtable.display.text import parse_size, plural
from webtable.errors import ExpiredCapture, StoreFull, StoreRefused, TableNotFound, WebTableError
from webtable.formats import ReadReport, lines_of, read_pages
from webtable.ingest.files import holds_pages
from webtable.ingest.report import Failures, IngestReport, ignored_fields, names_text
from webtable.questions import with_filter
from webtable.store import adapter_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from signal import Signals

    from webtable import Page, WebTable
    from webtable.ingest.engine import Ingest
    from webtable.maintenance import LayoutOptions
    from webtable.writing import Dropped


# --- URLs in files ----------------------------------------------------------------------------------------------------


@dataclass
class UrlFiles:
    """The URLs in files, in their order, and the progress of reading them.

    A file is a list with one URL per line (blank lines and those that begin with # are skipped), or it holds pages:
    WARC, WACZ, ARC, HAR or JSON Lines. Any of them may be compressed with gzip, zstd or LZ4. `-` is standard input, a
    list.
    """

    files: Sequence[str]
    report: ReadReport = field(default_factory=ReadReport)
    count: int = 0
    is_read: bool = False
    _started: float = field(default_factory=lambda: clock.monotonic())

    def __iter__(self) -> Iterator[str]:
        """Yield the URLs as they are written, including invalid ones; raises `FormatError` for a damaged file."""
        for file in self.files:
            for url in self._urls(file):
                self.count += 1
                yield url
        self.is_read = True

    def progress(self) -> tuple[int, str]:
        """Return the number of bytes read, and a text for the progress bar."""
        rate = self.count / max(clock.monotonic() - self._started, 1e-6)
        now = "measuring" if self.is_read else f"{rate:,.0f} keys/s"
        return self.report.bytes_read, f"{plural(self.count, 'key')}  {now}"

    def _urls(self, file: str) -> Iterator[str]:
        # A pipe can be read only once, so its beginning is not checked.
        if file != "-" and Path(file).is_file() and holds_pages(file):
            # Titles and links are of no use here, and take most of the time.
            yield from (page.url for page in read_pages(file, report=self.report, extract=False))
        else:
            yield from self._listed(file)

    def _listed(self, file: str) -> Iterator[str]:
        before = self.report.bytes_read

        def read(size: int) -> None:
            self.report.bytes_read = before + size

        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as opened:
            for line in lines_of(opened, file, on_read=read):
                # A byte that is not UTF-8 becomes a lone surrogate, which no URL may contain.
                text = line.decode("utf-8", "surrogateescape").strip()
                if text and not text.startswith("#"):
                    yield text


# --- The summary at the end, also that of `import` --------------------------------------------------------------------


_SHOWN_DAMAGES = 10


def conclude(
    report: IngestReport,
    this: CommandSession,
    table: WebTable | None,
    *,
    following: str = "",
) -> int:
    """Report the result and return the exit code; *table* is None if there was no reason to open it.

    *following* says how to go on after a run that ended early.
    """
    read, command = report.read, this.command("")
    for message in _unread(read):
        note(message)
    # Refused pages are those that would be refused again; failed ones may be stored by the same command later.
    for failures in (report.refused, report.failed):
        for message in _not_stored(failures, this.command):
            note(f"not stored: {message}")
    for message in (*_over_limits(read), *dropped(report.dropped, table, command)):
        note(message)
    for death in report.worker_deaths:
        note(f"a worker died ({death}): what it had not stored was read again")
    for message in report.damaged_files:
        complain(message)
    for message in report.files_over_limits:
        complain(f"over a limit: {message}")
    if read.unknown_fields:
        note(f"ignored fields: {', '.join(ignored_fields(read.unknown_fields))}")
    typer.echo(harmless(report.text(this.name if table is None else table.name)))
    if number := report.interrupted_by:
        by = "" if number == signal.SIGINT else f" by {number.name}"
        rest = "nothing was stored" if report.is_dry_run else f"what was read is stored; {following}"
        none = "between two files" if read.records else "before the first file"
        complain(f"interrupted{by} {' and '.join(report.unfinished) or none}: {rest}")
        return SIGNALLED + number
    if report.lost:
        complain(f"ended early, since the store {_why_lost(report.lost)}: {report.lost}; {following}")
        return exit_code(report.lost)
    if report.uncounted:
        complain(f"the links were not counted: {report.uncounted}")
        return exit_code(report.uncounted)
    return 0 if report.is_sound else NOT_DONE


def _unread(report: ReadReport) -> Iterator[str]:
    """Yield messages on the first records that were not read, and on files whose records are not closed."""
    for what, records, count in (
        ("damaged", report.damaged, report.damaged_count),
        ("over a limit", report.over_limits, report.skipped.total()),
    ):
        yield from (f"{what}: {record}" for record in records[:_SHOWN_DAMAGES])
        if count > _SHOWN_DAMAGES:
            yield f"{what}: … and {count - _SHOWN_DAMAGES:,} more records"
    for file, count in report.unclosed.most_common(_SHOWN_DAMAGES):
        records_text = plural(count, "record")
        yield f"{file}: {records_text} not closed by CRLFCRLF where the length says; the bodies are without it"


def _why_lost(error: WebTableError) -> str:
    match error:
        case StoreFull():
            return "is full: make space"
        case StoreRefused():
            return "refuses every page"
    return "is gone"


def _not_stored(failures: Failures, command: Callable[[str], str]) -> Iterator[str]:
    """Yield messages on pages that were not stored: the number for each kind of error, and the first errors."""
    for kind, count in failures.counts.most_common():
        first, *others = dict.fromkeys(text_of(message_of(error), command) for error in failures.first[kind])
        yield f"{plural(count, 'page')} ({kind}), the first: {first}"
        yield from others
        if (more := count - 1 - len(others)) > 0:
            yield f"… and {plural(more, 'more page')} ({kind})"


def dropped(counts: Dropped, table: WebTable | None, command: str) -> Iterator[str]:
    """Yield messages on what was dropped by the limit of versions, or for another capture of the same date.

    Captures that are too old count as not stored.
    """
    what = [
        f"{plural(counts.older, 'older content')} of pages" if counts.older else "",
        f"{plural(counts.late, 'capture')} older than all that are kept" if counts.late else "",
    ]
    if table is not None and any(what):
        yield (
            f"dropped: {' and '.join(filter(None, what))}, as the table keeps the newest "
            f"{plural(table.layout.versions, 'content')} of a page; {command}alter --versions all keeps all from now on"
        )
    if counts.replaced:
        yield (
            f"dropped: {plural(counts.replaced, 'content')} with the URL and the date of another one that was stored "
            "later, to the millisecond: a page has one content at a time"
        )


def _over_limits(report: ReadReport) -> Iterator[str]:
    """Yield messages on records and pages that were over a limit, or are not wholly what was in the file."""
    if report.replaced:
        yield f"{plural(report.replaced, 'line')} with half of a character (a lone surrogate): U+FFFD is in its place"
    for counts, noun, what in (
        (report.skipped, "record", "skipped"),
        (report.unparsed, "page", "stored without title and links"),
        (report.shortened, "page", "stored with the first links only"),
    ):
        if counts:
            first = counts.most_common(1)[0][0]
            yield (
                f"over a limit: {plural(counts.total(), noun)} {what} ({names_text(counts)}); "
                f"--limit {first}=… sets another one"
            )


# --- The command ------------------------------------------------------------------------------------------------------


commands: Final = typer.Typer()


@documented(commands)
def ingest(
    ctx: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="WARC, WACZ, ARC, HAR, JSON Lines or Parquet, directories of them, patterns in quotes; CSV, TSV or "
            "Excel of a crawler; - reads standard input.",
        ),
    ],
    types: Annotated[
        str | None,
        typer.Option(metavar="A,B|all", help="The media types to store. Default: HTML, XHTML and plain text."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(metavar="A,B|all", help="The methods whose answers to store, as in GET,POST. Default: GET."),
    ] = None,
    include: options.IncludeOption = None,
    exclude: options.ExcludeOption = None,
    max_body: Annotated[str | None, typer.Option(metavar="SIZE", help="Cut bodies over this size, as in 5MB.")] = None,
    limit: options.LimitOption = None,
    detect_language: options.LanguageOption = False,
    verify_digests: Annotated[
        bool,
        typer.Option(
            "--verify-digests", help="Verify the digests of WARC records, of block and payload; some 0.5 ms a page."
        ),
    ] = False,
    date_fallback: Annotated[
        str | None,
        typer.Option(
            metavar=TIME, help="The date of WARC and ARC records, and of rows, with none or an impossible one."
        ),
    ] = None,
    resume: options.JournalOption = False,
    wait: options.WaitOption = None,
    workers: Annotated[
        int, typer.Option(metavar="N", help="How many processes read files; on HBase each of them stores, too.")
    ] = 1,
    batch: Annotated[int, typer.Option(metavar="PAGES", help="The most pages to store at once.")] = 500,
    refresh: options.RefreshOption = True,
    dry_run: options.DryRunOption = False,
    salt: options.SaltOption = None,
    digits: options.DigitsOption = None,
    ttl: options.TTLOption = None,
    names: options.NamesOption = None,
    indexes: options.IndexesOption = None,
    regions: options.RegionsOption = 1,
) -> None:
    """Store the pages of WARC, WACZ, ARC, HAR, JSON Lines, Parquet, CSV and Excel files.

    Directories are not searched recursively; quote a `**` pattern for that ('crawls/**/*.warc.gz'). CSV, TSV, Excel
    and .jl files are exports of Screaming Frog, Sitebulb, advertools or webtable: a page a row, without bodies.

    A missing file store is created, with the options from --salt on; for HBase see create. At the end links are
    counted, as by `links refresh`, unless the run was interrupted.

    You may interrupt a run and repeat it: storing a capture again changes nothing. With --resume a journal
    (STORE.ingest; for HBase in the current directory) skips the records that are stored already.

    With --workers several processes read the files, in any order; if a worker dies, another one reads what it had not
    stored. With --dry-run nothing is stored, and the report lacks only what the table alone knows.

    Responses to POST, HEAD and other methods than GET are skipped and counted. With --methods they are stored under a
    URL with the method and the request body in its query (__wb_method=POST&name=value). A response without a request
    in the file counts as one to GET.

    Damaged records, and records over a limit, are skipped and named, and the exit code is 1. --limit changes a limit;
    docs/limits.md explains them. Sizes may end with kB, MB or GB.

    Examples:
        webtable ingest crawl.warc.gz more/*.warc.gz
        webtable ingest archive 'crawls/*/CC-MAIN-*.warc.gz'
        webtable ingest --workers 4 crawls/*.warc.gz
        webtable ingest pages.jsonl --types all
        webtable ingest internal_all.csv --date-fallback 2026-11-01
        webtable ingest --methods GET,POST crawl.warc.gz
        webtable ingest crawl.warc.gz --include //example.com --exclude '/calendar/**'
        webtable ingest books.warc.gz --limit parsed=64MB --limit seconds=20
        webtable ingest clueweb.warc.gz --verify-digests --date-fallback 2009-03-06
        curl -s https://example.com/crawl.warc.gz | webtable ingest -
        webtable -s old.db ingest --ttl none crawl-2019.warc.gz
    """
    from webtable.ingest.batches import IngestOptions
    from webtable.ingest.engine import Ingest
    from webtable.ingest.files import archive_files

    layout = options.layout_options(salt=salt, digits=digits, ttl=ttl, names=names, indexes=indexes)
    this = session(ctx)
    patience = options.seconds_of(wait, 0)  # a store that has never answered may be a wrong name
    # SQLite has one writer at a time: there the workers read, and this process stores what they have read.
    stores = workers > 1 and not dry_run and adapter_of(this.store).capabilities.processes_write_concurrently
    ingest_options = IngestOptions(
        types=options.parse_types(types),
        methods=options.parse_methods(methods),
        urls=with_filter({"include": include, "exclude": exclude}).get("urls"),
        limits=options.parse_limits(limit or ()),
        batch=batch,
        max_body=parse_size("max-body", max_body) if max_body else None,
        wait=options.seconds_of(wait),
        detect_language=detect_language,
        verify_digests=verify_digests,
        date_fallback=parse_times(date_fallback=date_fallback)["date_fallback"],
        open_table=partial(this.open, **layout) if stores else None,
    )
    with ExitStack() as stack:

        def opened(first: Page | None) -> WebTable:
            return stack.enter_context(when_there(lambda: _open(this, first, regions, layout), patience))

        run = Ingest(
            archive_files(files),
            ingest_options,
            opened,
            workers=workers,
            is_dry_run=dry_run,
            refresh=refresh,
            on_wait=waiting_notes(wait),
        )
        if resume:
            run.keep_journal(
                options.beside(this.store, "ingest"), lambda: when_there(lambda: has_pages(this), patience)
            )
        raise typer.Exit(carry_out(run, this))


def carry_out(run: Ingest, this: CommandSession) -> int:
    """Do *run*, with a progress bar, report the result and return the exit code.

    Ctrl-C, SIGTERM and SIGHUP end the run, and a second one the process.
    """

    def interrupted(number: Signals) -> None:
        if run.report.interrupted_by:
            # Nothing may be locked or flushed in the handler of a second signal: the first may have come in the middle
            # of a write, or of a bar.
            show_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
            os.write(2, f"{show_cursor}webtable: aborted; what was not stored yet is lost\n".encode())
            os._exit(SIGNALLED + number)
        run.interrupt(number)

    with handling_signals(interrupted), ingest_progress(run), run.journal or nullcontext():
        run.run()
    if run.journal is not None:
        following = "the same command continues from there"
    else:
        following = "the same command reads everything again and stores the rest"
        # Standard input has no place to continue from.
        following += "" if "-" in run.files else f"; {options.CAN_CONTINUE}"
    return conclude(run.report, this, run.table, following=following)


def waiting_notes(wait: str | None) -> Callable[[str | None], None]:
    """Return a function that reports that the store is waited for, and that it answers again."""

    def told(error: str | None) -> None:
        if not sys.stderr.isatty():  # else the progress bar shows it
            note(
                "the store answers again"
                if error is None
                else f"waiting up to {options.seconds_of(wait):g} s for the store: {error}"
            )

    return told


def has_pages(this: CommandSession) -> bool:
    """Whether the table of the session is there and has a page."""
    try:
        with this.open() as table:
            return next(iter(table.pages(limit=1, order="storage")), None) is not None
    except TableNotFound:
        return False


def _open(this: CommandSession, first: Page | None, regions: int, layout: LayoutOptions) -> WebTable:
    try:
        return this.open(**layout)
    except TableNotFound:
        if not adapter_of(this.store).capabilities.is_created_on_ingest:
            raise
    # Otherwise the table would exist, empty and with the wrong time to live, when the user tries again with a better
    # one.
    ttl = layout.get("ttl", adapter_of(this.store).capabilities.default_ttl)
    if first is not None and ttl is not None and first.fetched_at <= clock.now() - timedelta(seconds=ttl):
        raise ExpiredCapture(
            f"{first.url[:200]}: fetched on {first.fetched_at:%Y-%m-%d}, past the {ttl / 86_400:g} days for which the "
            "new table would keep content: give --ttl none to store old captures. Nothing was written"
        )
    return webtable.open(this.store, create=True, regions=regions, **layout)
