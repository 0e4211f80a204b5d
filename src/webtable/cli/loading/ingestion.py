"""The command `ingest`, and the files that it reads: named ones, those in directories, those that match patterns."""

from __future__ import annotations

import re
from contextlib import ExitStack, nullcontext
from datetime import timedelta
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

import webtable
from webtable._clock import clock
from webtable._shown.sizes import parse_size
from webtable.cli.messages import options_of
from webtable.cli.options import (
    DigitsOption,
    IndexesOption,
    JournalOption,
    LanguageOption,
    LimitOption,
    NamesOption,
    RefreshOption,
    RegionsOption,
    SaltOption,
    TTLOption,
    WaitOption,
    beside,
    layout_options,
    parse_limits,
    parse_methods,
    parse_types,
    seconds_of,
)
from webtable.cli.session import CommandSession, session
from webtable.cli.terminal.text import examples
from webtable.cli.terminal.waiting import when_there
from webtable.errors import ExpiredCapture, InvalidArgument, TableNotFound
from webtable.store import adapter_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from webtable._page.page import Page
    from webtable.ingest.engine import Load
    from webtable.ingest.journal import IngestJournal
    from webtable.repository.creation.web import LayoutOptions
    from webtable.repository.table.web_table import WebTable

commands: Final = typer.Typer()

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_ARCHIVE = re.compile(r"\.(?:warc|jsonl|ndjson)(?:\.(?:gz|zst|lz4))?$|\.(?:parquet|wacz)$", re.IGNORECASE)
# Common Crawl's names: CC-MAIN-….warc.wat.gz, and .warc.wet.gz.
_DERIVED = re.compile(r"\.(wat|wet)(?:\.(?:gz|zst|lz4))?$", re.IGNORECASE)
_HOLDS = {"wat": "a WAT file, which has the metadata of pages", "wet": "a WET file, which has the text of pages"}
_FETCHED_BY = {"s3": "aws s3 cp {} -", "http": "curl -sL {}", "https": "curl -sL {}"}


@commands.command(
    epilog=examples(
        "webtable ingest crawl.warc.gz more/*.warc.gz",
        "webtable ingest archive 'crawls/*/CC-MAIN-*.warc.gz'",
        "webtable ingest --workers 4 crawls/*.warc.gz",
        "webtable ingest pages.jsonl --types all",
        "webtable ingest --methods GET,POST crawl.warc.gz",
        "webtable ingest books.warc.gz --limit parsed=64MB --limit seconds=20",
        "curl -s https://example.com/crawl.warc.gz | webtable ingest -",
        "webtable -s old.db ingest --ttl none crawl-2019.warc.gz",
    )
)
def ingest(
    ctx: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="WARC, WACZ, JSON Lines or Parquet, directories of them, patterns in quotes; - reads standard input.",
            show_default=False,
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
    max_body: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Cut bodies over this size, as in 5MB.", show_default=False)
    ] = None,
    limit: LimitOption = None,
    detect_language: LanguageOption = False,
    resume: JournalOption = False,
    wait: WaitOption = None,
    workers: Annotated[
        int, typer.Option(metavar="N", help="How many processes read files; on HBase each of them stores, too.")
    ] = 1,
    batch: Annotated[int, typer.Option(metavar="PAGES", help="The most pages to store at once.")] = 500,
    refresh: RefreshOption = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read the files and report what would be stored; store nothing.")
    ] = False,
    salt: SaltOption = None,
    digits: DigitsOption = None,
    ttl: TTLOption = None,
    names: NamesOption = None,
    indexes: IndexesOption = None,
    regions: RegionsOption = 1,
) -> None:
    """Store the pages of WARC, WACZ, JSON Lines and Parquet files.

    From a directory it takes the files with such names, in the order of their names, but not those in subdirectories; a
    pattern in quotes ('crawls/**/*.warc.gz') finds these.

    A store that is a file is created if it does not exist, with the options from --salt on; for HBase see create.

    At the end the links to the pages are counted, as by `links refresh`, unless the run was interrupted.

    Storing a capture again changes nothing, so a run may be interrupted and repeated: Ctrl-C and SIGTERM store what was
    read. With --resume it is not read again either: a journal (STORE.ingest; for HBase it is in the current directory)
    says up to which record each file is stored, however the run ended.

    With --workers files, and parts of large .warc.gz and .warc.zst files, are read in parallel, in any order. A worker
    that dies loses nothing: another one reads what it had not stored; if two die at the same place, the file is named.

    With --dry-run the files are read with the same limits, and the report is that of a real run, except for what only
    the table knows: which captures it already has, and which it would refuse.

    The answer to a POST, a HEAD or another method than GET is no page: those in WARC files are left out and counted by
    method. With --methods they are stored under a URL of their own, which has the method and what was sent in its query
    (__wb_method=POST&name=value), as tools that replay archives look for them. A response without a request in the file
    counts as one to GET.

    A damaged record is named and skipped, a damaged file ends at its last good record; the exit code is then 1.

    Limits keep memory and time bounded whatever the files hold. Records over record, head, fields or members are
    skipped as damaged, pages over parsed, memory or seconds are stored without title and links, and pages over links or
    link_text with the first links only; each is counted by name. A file is read until it inflates to more than
    inflation times its size. Sizes may end with kB, MB or GB.
    """
    from webtable.cli.loading.summary import conclude
    from webtable.ingest.engine import Job, Load

    options = layout_options(salt=salt, digits=digits, ttl=ttl, names=names, indexes=indexes)
    cut = parse_size("max-body", max_body) if max_body else None
    if batch < 1:
        raise InvalidArgument(f"batch={batch} must be at least 1 page")
    files = archive_files(files)
    check_files(files)
    this = session(ctx)
    _check_workers(workers, files)
    kinds, limits = parse_types(types), parse_limits(limit or ())
    if dry_run and resume:
        raise InvalidArgument("resume=True and dry_run=True exclude each other: a dry run reads all files")
    stores = workers > 1 and not dry_run and adapter_of(this.store).capabilities.processes_write_concurrently
    asked = parse_methods(methods)
    job = Job(kinds, limits, batch, cut, seconds_of(wait), this if stores else None, options, detect_language, asked)
    load = Load(files=files, job=job, workers=workers, is_dry_run=dry_run)
    patience = seconds_of(wait, 0)  # a store that has never answered may be a wrong name
    made_with = repr((types, max_body, limit, methods, *(["detect_language"] if detect_language else [])))
    journal = journal_of(this, files, made_with, patience) if resume else None

    def opened(first: Page | None) -> WebTable:
        return when_there(lambda: _open(this, first, regions, options), patience)

    table = _run(load, journal, opened, refresh=refresh)
    raise typer.Exit(conclude(load, this, table, options=options_of(ctx.command, None)))


def _run(
    load: Load, journal: IngestJournal | None, opened: Callable[[Page | None], WebTable], *, refresh: bool
) -> WebTable | None:
    """Run *load*, count the links if *refresh*, and return the table, which is closed again; None without pages.

    *opened* opens the table when the first page comes, which it is given.
    """
    from webtable.cli.terminal.progress import load_progress
    from webtable.ingest.loader import Loader

    with load.handling_interrupts(), load_progress(load), journal or nullcontext(), ExitStack() as stack:
        load.journal = journal
        table = Loader(load, lambda first: stack.enter_context(opened(first))).run()
        if refresh and table is not None:
            load.count_links(table)
    return table


def archive_files(given: Iterable[str]) -> list[str]:
    """Return the files that *given* names: all archives in a directory, or all matches of a pattern, sorted by name.

    Raises `InvalidArgument` for what is not a file here, or has no pages.
    """
    return [file for one in given for file in _files_of(one)]


def _files_of(one: str) -> Iterator[str]:
    path = Path(one)
    if one != "-" and path.is_dir():
        yield from _files_in(path)
    elif one == "-" or path.exists():
        yield _with_pages(one)
    elif found := _ADDRESS.match(one):
        raise InvalidArgument(f"{one}: {_fetch_first(one, found[1].lower())}")
    elif has_magic(one):
        yield from _matched(one)
    else:
        raise InvalidArgument(f"{one}: no such file")


def _files_in(folder: Path) -> Iterator[str]:
    files = [str(file) for file in sorted(folder.iterdir()) if file.is_file()]
    archives = [file for file in files if _ARCHIVE.search(file)]
    if not archives:
        for file in files:
            _with_pages(file)
        raise InvalidArgument(f"{folder}: a directory without a WARC, WACZ, JSON Lines or Parquet file in it")
    yield from archives


def _matched(pattern: str) -> Iterator[str]:
    # Path.glob takes no pattern that begins at the root.
    files = sorted(file for file in glob(pattern, recursive=True) if Path(file).is_file())  # noqa: PTH207
    if not files:
        raise InvalidArgument(f"{pattern}: no file matches it")
    yield from map(_with_pages, files)


def _with_pages(file: str) -> str:
    """Return *file*; raises `InvalidArgument` if its name says that it has no pages."""
    if derived := _DERIVED.search(file):
        raise InvalidArgument(
            f"{file}: {_HOLDS[derived[1].lower()]} and none of their HTML; take the WARC file that it was made from"
        )
    return file


def _fetch_first(address: str, scheme: str) -> str:
    command = _FETCHED_BY.get(scheme)
    how = f"as in: {command.format(address)} | webtable ingest -" if command else "and name the file"
    return f"ingest reads files and fetches nothing; fetch it first, {how}"


def check_files(files: Sequence[str]) -> None:
    """Raise `InvalidArgument` for a path that does not exist or is not a file."""
    for file in files:
        if file != "-" and not Path(file).exists():
            raise InvalidArgument(f"{file}: no such file")
        if Path(file).is_dir():
            raise InvalidArgument(f"{file}: a directory; name the files in it")
    if files.count("-") > 1:
        raise InvalidArgument("standard input (-) can be read only once")


def _check_workers(workers: int, files: Sequence[str]) -> None:
    if workers < 1:
        raise InvalidArgument(f"workers={workers} must be at least 1")
    # A pipe or a terminal belongs to this process, and only one can read it.
    streams = [file for file in files if file == "-" or not Path(file).is_file()]
    if workers > 1 and streams:
        raise InvalidArgument(f"workers={workers} needs files: {streams[0]} can be read by one process only")


def journal_of(this: CommandSession, files: Sequence[str], made_with: str, wait: float) -> IngestJournal:
    """Return the journal of the store, emptied if the store has no pages (any more); it may take *wait* seconds."""
    from webtable.ingest.journal import IngestJournal

    if "-" in files:
        raise InvalidArgument("resume=True needs files: standard input cannot be read from anywhere but its beginning")
    journal = IngestJournal(beside(this.store, "ingest"), made_with)
    if not journal.is_new and not when_there(lambda: _has_pages(this), wait):
        journal.forget()
    return journal


def _has_pages(this: CommandSession) -> bool:
    try:
        with this.open() as table:
            return next(iter(table.pages(limit=1, order="storage")), None) is not None
    except TableNotFound:
        return False


def _open(this: CommandSession, first: Page | None, regions: int, options: LayoutOptions) -> WebTable:
    try:
        return this.open(**options)
    except TableNotFound:
        if not adapter_of(this.store).capabilities.is_created_on_ingest:
            raise
    # Otherwise the table would exist, empty and with the wrong time to live, when the user tries again with a better
    # one.
    ttl = options.get("ttl", adapter_of(this.store).capabilities.default_ttl)
    if first is not None and ttl is not None and first.fetched_at <= clock.now() - timedelta(seconds=ttl):
        raise ExpiredCapture(
            f"{first.url[:200]}: fetched on {first.fetched_at:%Y-%m-%d}, past the {ttl / 86_400:g} days for which the "
            "new table would keep content: give --ttl none to store old captures. Nothing was written"
        )
    return webtable.open(this.store, create=True, regions=regions, **options)
