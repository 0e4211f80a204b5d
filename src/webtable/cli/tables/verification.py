"""The command `verify`."""

from __future__ import annotations

import typer

from webtable._progress import progress_bar
from webtable.cli.exit_codes import NOT_DONE, note
from webtable.cli.options.questions import DomainArgument, FullScanOption, check_scan
from webtable.cli.options.resuming import ResumeOption, resuming
from webtable.cli.session import session
from webtable.cli.terminal.damage import tell_findings
from webtable.cli.terminal.output import FormatOption, write_records
from webtable.cli.terminal.text import examples, plural
from webtable.repository.answers.columns import column

commands = typer.Typer()

_FOUND = (
    column("pages", "count"),
    column("bodies", "count"),
    column("bytes", "bytes", heading="size"),
    *(column(name, "count") for name in ("damaged", "lost", "missing", "crossed")),
)


@commands.command(epilog=examples("webtable verify example.com", "webtable -s crawl.db verify --full-scan --resume"))
def verify(
    ctx: typer.Context,
    domain: DomainArgument = None,
    full_scan: FullScanOption = False,
    resume: ResumeOption = False,
    format: FormatOption = None,  # noqa: A002
) -> None:
    """Read all pages with their bodies and compare them with their checksums, digests and sizes; nothing is changed.

    Counted are rows that are damaged, pages whose body or links are lost, and pages that are missing: those that a host
    has less than `links refresh` has counted, unless something of it has changed since. That is empty where nothing was
    counted. The first of all are named on standard error, and the exit code is 1. To delete a page mends it, and so
    does storing a newer capture. Crossed are pages whose newest capture disagrees with their history, since two writers
    stored captures of them at once, and were killed before they noticed; `index repair` mends them.
    """
    check_scan(domain, full_scan)
    this = session(ctx)
    with (
        this.open() as table,
        resuming(this, "verify", resume=resume) as path,
        progress_bar("verify", "page") as counted,
    ):
        found = table.verify(domain, full_scan=full_scan, on_progress=counted, resume=path)
    write_records([found], _FOUND, format)
    tell_findings(found)
    if found.crossed:
        told = f"{plural(found.crossed, 'page')} whose newest capture disagrees with the history"
        note(f"{told}; to mend them: {this.command('index repair --all --apply')}")
    if not found.is_sound:
        raise typer.Exit(NOT_DONE)
