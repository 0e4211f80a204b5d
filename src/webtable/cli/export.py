"""The command `export`: captures out of a table, as files with a manifest, or as an archive with an index."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from webtable._files import is_full
from webtable.cli import completion
from webtable.cli.exit_codes import NOT_DONE, SIGNALLED, complain, ended_by, not_done, note, report_damage
from webtable.cli.messages import why_empty
from webtable.cli.options import SiteArgument, WorkersOption, YesOption, site_of
from webtable.cli.output import documented, parse_names
from webtable.cli.progress import confirm_replacing, interruptible, pages_of
from webtable.cli.session import session
from webtable.display import harmless
from webtable.display.text import parse_size, plural, size_text
from webtable.errors import DamagedRow, InvalidArgument, InvalidURL
from webtable.progress import ProgressBar, progress_bar
from webtable.questions import PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from webtable import WebTable
    from webtable.answers import Site


# --- Names: the kind of a file, a directory, or by mistake a site -----------------------------------------------------


class ArchiveFormat(StrEnum):
    """The formats that captures are written in."""

    warc = "warc"
    parquet = "parquet"
    jsonl = "jsonl"
    wacz = "wacz"


class DatasetFolder(StrEnum):
    """What the folders of a Parquet dataset are named after."""

    host = "host"
    month = "month"


_LISTS: Final = (".csv", ".tsv")
# Endings of files that are not written here: a directory of such a name would be taken for one.
_OTHER_FILES: Final = (
    *(".7z", ".bz2", ".gz", ".lz4", ".rar", ".tar", ".tgz", ".xz", ".zip", ".zst"),
    *(".cdx", ".cdxj", ".db", ".htm", ".html", ".json", ".ndjson", ".sqlite", ".txt", ".xml"),
)
_URL = re.compile(r"https?:/", re.IGNORECASE)
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)+")


def chosen_format(out: Path, requested: ArchiveFormat | None) -> tuple[ArchiveFormat, bool]:
    """Return the format of *out*, and whether it is one file; raises `InvalidArgument` if its name says another one."""
    from webtable.formats import CAPTURE_ENDINGS, capture_format

    ending = out.suffix.lower()
    named = None if out.is_dir() else capture_format(out) or ("wacz" if ending == ".wacz" else None)
    if named is not None:
        if requested not in (None, named):
            raise InvalidArgument(f"format={requested} does not agree with the name of {out}, which says {named}")
        return ArchiveFormat(named), True
    files = f"captures are written as {', '.join(CAPTURE_ENDINGS)} and .wacz"
    if str(out) == "-":
        pages = "webtable pages --format jsonl --body"
        raise InvalidArgument(f"-: {files}, or into a directory, not to standard output, as {pages} writes pages")
    if ending in _LISTS:
        raise InvalidArgument(f"{out}: {files}; webtable pages --out {out} lists pages")
    if ending in _OTHER_FILES and requested is not ArchiveFormat.wacz and not out.is_dir():
        raise InvalidArgument(f"{out}: {files}, or into a directory, whose name has no ending of a file")
    return requested or ArchiveFormat.warc, requested is ArchiveFormat.wacz


def check_is_no_site(table: WebTable, out: str, site: str | None) -> None:
    """Raise `InvalidArgument` if *out* is a site of the *table*, because no file was named or *site* is the file."""
    is_url = _URL.match(out) is not None
    if not is_url and (Path(out).exists() or not _HOST.fullmatch(out) or why_empty(table, out)):
        return
    file = "FILE"
    if site is not None:
        with suppress(InvalidURL, InvalidArgument):
            if not is_url and not why_empty(table, site):
                return  # into a directory that is named like a host
        file = site
    raise InvalidArgument(f"{out} is a site, not a file to write; did you mean: export {file} {out}?")


# --- The command ------------------------------------------------------------------------------------------------------


commands: Final = typer.Typer()


@documented(commands)
def export(
    ctx: typer.Context,
    target: Annotated[
        str, typer.Argument(metavar="DIR|FILE", help="A new or empty directory, or a file whose name says its format.")
    ],
    site: SiteArgument = None,
    format: Annotated[ArchiveFormat | None, typer.Option(help="Of the files in a directory. Default: warc.")] = None,
    max_file: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Begin a new file after this many bytes. Default: 1GB, of a dataset 128MB."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue after the last complete file of an interrupted run.")
    ] = False,
    workers: WorkersOption = 1,
    partition_by: Annotated[
        DatasetFolder | None,
        typer.Option(help="Make a Parquet dataset of the newest captures, with a folder for each host or month."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="last", help="Add to the dataset what came since its last export.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="The columns of the dataset, as in url,title,body. Default: those of a listing.",
            autocompletion=completion.columns(PAGES.names),
        ),
    ] = None,
    yes: YesOption = False,
) -> None:
    """Write all captures that are kept of the pages of a site into files.

    A name with the ending .warc.gz, .warc, .jsonl, .jsonl.gz, .jsonl.zst, .parquet or .wacz is one file of that
    format. It appears when it is complete, and replaces an existing file after a question in a terminal, or with
    --yes.

    Any other name is a directory. With jsonl, parquet and warc it has a manifest, --resume continues an interrupted
    run, and `import` restores the pages; warc also has index.cdxj, for replay by pywb. wacz is one file for replay.
    docs/backup.md says what each format keeps.

    With --partition-by it is a Parquet dataset, which DuckDB, Spark and Athena read as one table, with a row for each
    page: docs/dataset.md. To write listings for other programs, see `pages --format`.

    Examples:
        webtable export exported all --format jsonl
        webtable export exported all --format jsonl --resume
        webtable export exported all --format jsonl --workers 4
        webtable export archive example.com --max-file 500MB
        webtable export docs.wacz https://docs.example.com/guide/
        webtable export example.warc.gz example.com
        webtable export dataset all --format parquet --partition-by host --since last
    """
    out = Path(target)
    if partition_by is not None:
        if format not in (None, ArchiveFormat.parquet) or resume or workers != 1:
            raise InvalidArgument(
                "--partition-by makes a Parquet dataset: it is of format parquet, one process writes it, and an "
                "interrupted one begins anew"
            )
        wanted = {"since": since, "columns": None if columns is None else parse_names(columns)}
        size = {} if max_file is None else {"file_bytes": parse_size("max-file", max_file)}
        opened = _opened(ctx, target, site, yes=yes, may_be_empty=since is not None)
        _dataset(opened, out, site=site_of(site), partition_by=partition_by.value, **wanted, **size)
        return
    if since is not None or columns is not None:
        raise InvalidArgument(
            "--since and --columns are for a Parquet dataset: give --partition-by host or month as well"
        )
    max_file = max_file or "1GB"
    chosen, is_file = chosen_format(out, format)
    if resume and is_file:
        raise InvalidArgument(
            f"--resume works with directories of warc, parquet and jsonl files only; {out} appears when it is complete"
        )
    if workers > 1 and is_file:
        raise InvalidArgument("--workers writes directories of warc, parquet and jsonl files only")
    arguments: dict[str, Any] = {"site": site_of(site)}
    opened = _opened(ctx, target, site, yes=yes)
    if chosen is ArchiveFormat.wacz:
        _write_file(opened, out, is_wacz=True, file_bytes=parse_size("max-file", max_file), **arguments)
    elif is_file:
        _write_file(opened, out, is_wacz=False, **arguments)
    else:
        arguments |= {"format": chosen.value, "resume": resume, "workers": workers}
        _export(opened, out, file_bytes=parse_size("max-file", max_file), **arguments)


@contextmanager
def _opened(
    ctx: typer.Context, target: str, site: str | None, *, yes: bool, may_be_empty: bool = False
) -> Iterator[WebTable]:
    """Give the table; if it has no pages of *site*, end the command, for an empty archive would replace a good one.

    A dataset *may_be_empty*: all of its pages may have been deleted since.
    """
    with session(ctx).open() as table:
        # `export example.com` reads like a site; the first argument is a file, as of `cp` the last one is.
        check_is_no_site(table, target, site)
        if not may_be_empty and (nothing := why_empty(table, site)):
            raise not_done(nothing)
        confirm_replacing(Path(target), yes=yes)
        yield table


def _write_file(opened: AbstractContextManager[WebTable], out: Path, *, is_wacz: bool, **arguments: Any) -> None:
    """Write one file of captures, or a WACZ file."""
    from webtable.formats import write_captures, write_wacz

    with interruptible(), opened as table, _progress(table, **arguments) as counted:
        write = write_wacz if is_wacz else write_captures
        done = write(table, out, on_progress=counted, **arguments)
    _report_written(done.pages, done.records, len(done.files), done.bytes, out)
    _conclude(done.examples, done.damaged, done.incomplete)


def _export(opened: AbstractContextManager[WebTable], out: Path, **arguments: Any) -> None:
    """Write files with a manifest."""
    from webtable.formats import write_export

    try:
        with interruptible(), opened as table, _progress(table, **arguments) as counted:
            done = write_export(table, out, on_progress=counted, **arguments)
    except KeyboardInterrupt as exc:
        complain(f"interrupted: the complete files stay in {out}, and the same command with --resume goes on")
        raise typer.Exit(SIGNALLED + ended_by(exc)) from None
    except OSError as exc:
        if not is_full(exc):
            raise
        rest = f"the complete files stay in {out}, and the same command with --resume goes on"
        raise not_done(f"{exc.filename or out}: the disk is full; make space: {rest}") from exc
    manifest = done.manifest
    _report_written(manifest.pages, manifest.captures, len(manifest.files), manifest.bytes, out)
    if done.refetched or done.added:
        note(
            "the table has changed since the export began, and the files of the earlier run do not have the changes: "
            f"{plural(done.refetched or 0, 'page')} fetched again, {done.added or 0:+,} pages"
        )
    _conclude(done.examples, manifest.damaged, manifest.incomplete)


def _dataset(opened: AbstractContextManager[WebTable], out: Path, **arguments: Any) -> None:
    """Write a Parquet dataset, or add to one."""
    from webtable.formats import write_dataset

    with interruptible(), opened as table, _progress(table, **arguments) as counted:
        done = write_dataset(table, out, on_progress=counted, **arguments)
    dataset, last = done.manifest, done.manifest.exports[-1]
    files = f"{plural(last.files, 'file')} of {size_text(last.bytes)}"
    typer.echo(harmless(f"{plural(last.rows, 'row')} in {files}, for {plural(dataset.pages, 'page')}: {out}"))
    _conclude(done.examples, last.damaged, 0)


def _progress(table: WebTable, site: Site | None, **_: Any) -> ProgressBar:
    return progress_bar("export", "page", pages_of(table, site))


def _report_written(pages: int, captures: int, files: int, size: int, out: Path) -> None:
    what = f"{plural(pages, 'page')}, {plural(captures, 'capture')} in {plural(files, 'file')} of {size_text(size)}"
    typer.echo(harmless(f"{what}: {out}"))


def _conclude(examples: Sequence[DamagedRow], damaged: int, incomplete: int) -> None:
    if incomplete:
        what = f"{plural(incomplete, 'capture')} without all of its links or texts"
        complain(f"{what}: these are too long for WARC; take --format jsonl or parquet")
    if damaged:
        report_damage(examples, damaged)
    if damaged or incomplete:
        raise typer.Exit(NOT_DONE)
