"""The commands `import`, which stores an export, and `demo`, which makes a small web to try everything on."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

import webtable
from webtable._clock import clock
from webtable._limits import EXPORT_LIMITS, ReadLimits
from webtable.cli import options
from webtable.cli.exit_codes import complain, not_done, note
from webtable.cli.ingest import carry_out, conclude, has_pages, waiting_notes
from webtable.cli.output import TIME, documented, parse_times
from webtable.cli.progress import interruptible, shown_bytes, when_there
from webtable.cli.session import CommandSession, import_indexes, session
from webtable.display.text import plural, size_text
from webtable.errors import InvalidArgument, TableNotFound
from webtable.formats import CheckedExport, Manifest, read_manifest, verify_export
from webtable.ingest.batches import IngestOptions
from webtable.ingest.engine import Ingest
from webtable.ingest.report import IngestReport

if TYPE_CHECKING:
    from datetime import datetime

    from webtable import WebTable
    from webtable.demo import Sample

commands: Final = typer.Typer()
_SHOWN_PROBLEMS = 10
_QUESTIONS = (
    ("Which pages does a host have, and the hosts below it?", "pages example.com --limit 5"),
    ("What became of a page over time?", "history https://example.com/"),
    ("Which links lead to pages that are errors, and where are they?", "broken-links --limit 5"),
    ("Which pages do others link to most?", "most-linked --limit 5"),
    ("Which pages have some words in their text?", "search mountain docs.example.com --limit 3"),
)


@documented(commands, "import")
def import_(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `export` has written, with its manifest.")],
    limit: options.LimitOption = None,
    resume: options.JournalOption = False,
    wait: options.WaitOption = None,
    refresh: options.RefreshOption = True,
    dry_run: options.DryRunOption = False,
) -> None:
    """Store the captures of an export, after comparing its files with the digests in its manifest.

    A new table gets the layout and the indexes of the exported one; a custom index only if --index names it. An
    existing table keeps its layout, and the captures are added. You may interrupt a run and repeat it.

    Nothing is stored if a file of the export is missing, truncated or changed; the exit code is then 1, as it is if a
    capture was not stored. --dry-run also counts the captures. Pages of any size are read: for a stranger's export
    bound the memory with --limit record=24MB.

    Examples:
        webtable -s again.db import exported --dry-run
        webtable -s again.db import exported
        webtable -s again.db import exported --resume
    """
    limits = options.parse_limits(limit or (), EXPORT_LIMITS)
    if dry_run:
        if resume:
            raise InvalidArgument("--resume and --dry-run exclude each other: a dry run compares all files")
        with interruptible():
            raise typer.Exit(_preview(session(ctx), folder, limits))
    # First, since half of a truncated export would look like all of it once it is stored.
    with interruptible():
        checked = _checked(folder)
    files = [str(folder / name) for name in checked.manifest.read_names]
    this = session(ctx)
    patience = options.seconds_of(wait, 0)  # a store that has never answered may be a wrong name
    with ExitStack() as stack:
        table = stack.enter_context(when_there(lambda: _opened(this, checked.manifest), patience))
        ingest_options = IngestOptions(types=None, limits=limits, wait=options.seconds_of(wait))
        run = Ingest(files, ingest_options, lambda _: table, refresh=refresh, on_wait=waiting_notes(wait))
        run.table = table
        if resume:
            run.keep_journal(
                options.beside(this.store, "ingest"), lambda: when_there(lambda: has_pages(this), patience)
            )
        code = carry_out(run, this)
    if run.report.read.skipped["record"]:
        _say_which_limit(checked.manifest)
    raise typer.Exit(code)


def _say_which_limit(manifest: Manifest) -> None:
    size = f"{manifest.needed_record // 1_000_000 + 1}MB"
    note(f"by its manifest, the export is read without a limit, or with --limit record={size}")


def _checked(folder: Path) -> CheckedExport:
    """Return the export in *folder*; exits if it is not as it was written."""
    checked = verify_export(folder, counts=False)
    _report_problems(checked)
    if not checked.is_sound:
        raise not_done("nothing was stored")
    return checked


def _preview(this: CommandSession, folder: Path, limits: ReadLimits) -> int:
    """Compare the export in *folder* with its manifest, counts included, and report as if its captures were stored."""
    manifest = read_manifest(folder)
    report, started = IngestReport(files=len(manifest.files), is_dry_run=True), clock.monotonic()
    with shown_bytes("verify", manifest.bytes) as counted:
        checked = verify_export(folder, limits=limits, on_progress=counted)
    _report_problems(checked)
    if limits.record < manifest.needed_record:
        _say_which_limit(manifest)
    of = f"{checked.files:,} of {plural(len(manifest.files), 'file')}"
    counts = f"{plural(checked.pages, 'page')}, {plural(checked.captures, 'capture')} in {size_text(checked.bytes)}"
    typer.echo(f"{of} as they were written: {counts}")
    if manifest.failed is not None:
        note(f"{plural(manifest.failed.failures, 'failed fetch', 'es')}")
    if manifest.damaged:
        note(f"{plural(manifest.damaged, 'row')} could not be read, or only in part, when it was exported")
    if not checked.is_sound:
        raise not_done("nothing would be stored")
    report.stored, report.read.bytes_read = checked.captures, checked.bytes
    report.seconds = clock.monotonic() - started
    try:
        with this.open() as table:
            _report_differences(table, manifest)
            return conclude(report, this, table)
    except TableNotFound:
        note(f"{this.name} would be created, with the indexes {', '.join(manifest.indexes) or 'none'}")
        return conclude(report, this, None)


def _report_problems(checked: CheckedExport) -> None:
    """Name what is wrong with an export, and the files that do not belong to it."""
    for problem in checked.problems[:_SHOWN_PROBLEMS]:
        complain(problem)
    if len(checked.problems) > _SHOWN_PROBLEMS:
        complain(f"and {len(checked.problems) - _SHOWN_PROBLEMS:,} more")
    if checked.unlisted:
        note(f"not in the manifest, and not read: {', '.join(checked.unlisted[:_SHOWN_PROBLEMS])}")


def _opened(this: CommandSession, manifest: Manifest) -> WebTable:
    """Return the table of the session, created as *manifest* says if it does not exist."""
    try:
        table = this.open()
    except TableNotFound:
        pass
    else:
        _report_differences(table, manifest)
        return table
    import_indexes(this.indexes)
    # Only the user names modules: those in a manifest may be a stranger's, and importing them runs them.
    own = [name for name in manifest.indexes if ":" in name and name not in this.indexes]
    if own:
        note(f"created without the indexes {', '.join(own)}: to have them, name them with webtable --index")
    indexes = [name for name in manifest.indexes if name not in own]
    return webtable.open(this.store, create=True, indexes=indexes, **manifest.layout_options())


def _report_differences(table: WebTable, manifest: Manifest) -> None:
    fields = [name for name in manifest.layout.__struct_fields__ if name != "family_options"]
    others = [
        f"{name} {getattr(table.layout, name)!r} (exported: {getattr(manifest.layout, name)!r})"
        for name in fields
        if getattr(table.layout, name) != getattr(manifest.layout, name)
    ]
    if others:
        note(f"{table.name} keeps its own layout: {', '.join(others)}")


@documented(commands)
def demo(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to make it; an existing one answers again.")
    ] = Path("webtable-demo"),
    until: Annotated[str | None, typer.Option(metavar=TIME, help="The date of the newest crawl. Default: now.")] = None,
    ask: Annotated[bool, typer.Option("--ask/--no-ask", help="Ask five questions, or just make it.")] = True,
) -> None:
    """Make a small web that does not exist, crawled three times, store it in one file and ask it five questions.

    Afterwards FOLDER has the crawls as WARC files, and the store, webtable.db. Nothing else is needed or changed.

    Examples:
        webtable demo
        webtable demo tried --until 2026-03-01
    """
    sample = _made(folder, parse_times(until=until)["until"])
    typer.echo(f"Three crawls of some 500 pages, as WARC files and in the store {sample.store}.")
    asking = CommandSession(str(sample.store))
    for number, (question, words) in enumerate(_QUESTIONS if ask else (), start=1):
        typer.echo(f"\n{number}. {question}\n\n$ {asking.command(words)}")
        # In this process, as a user would type it: five interpreters would take seconds to start.
        ctx.find_root().command.main(["-s", str(sample.store), *shlex.split(words)], "webtable", standalone_mode=False)
    typer.echo(
        "\nNext steps:\n"
        f"  export WEBTABLE_STORE={shlex.quote(str(sample.store))}   # so that the commands ask this store\n"
        "  webtable --help                  # what else can be asked; `webtable COMMAND --help` has examples\n"
        "  webtable ingest FILE…            # a crawl of your own, in the table that -s names\n"
        f"  {asking.command('serve --open')}   # all of it in the browser"
    )


def _made(folder: Path, until: datetime | None) -> Sample:
    from webtable.demo import make_sample

    try:
        return make_sample(folder, until=until)
    except OSError as exc:
        raise InvalidArgument(f"{folder}: {exc.strerror or exc}: give another folder: webtable demo FOLDER") from exc
