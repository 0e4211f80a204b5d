"""The commands that maintain a table: `verify`, `compact`, which frees space, and `links`, which counts links."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from webtable.cli.exit_codes import NOT_DONE, complain, note, report_damage, report_findings
from webtable.cli.messages import why_empty
from webtable.cli.options import CAN_CONTINUE, DryRunOption, ResumeOption, SiteArgument, YesOption, resuming, site_of
from webtable.cli.session import CommandSession, session
from webtable.cli.terminal.interaction import confirm
from webtable.cli.terminal.output import FormatOption, examples, on_terminal, write_lines, write_records
from webtable.cli.terminal.progress import pages_of
from webtable.display.text import plural, size_text
from webtable.errors import LayoutMismatch
from webtable.progress import progress_bar
from webtable.questions import column
from webtable.records import compact as compact_records
from webtable.records import layout_of
from webtable.store import open_store

commands: Final = typer.Typer()
links: Final = typer.Typer(help="Count the links that lead to pages.", no_args_is_help=False)

_FOUND = (
    column("pages", "count"),
    column("bodies", "count"),
    column("bytes", "bytes", heading="size"),
    *(column(name, "count") for name in ("damaged", "lost", "missing", "inconsistent")),
)


@commands.command(epilog=examples("webtable verify example.com", "webtable -s crawl.db verify all --resume"))
def verify(
    ctx: typer.Context,
    site: SiteArgument = None,
    resume: ResumeOption = False,
    format: FormatOption = None,  # noqa: A002
) -> None:
    """Read all pages with their bodies and compare them with their checksums, digests and sizes; nothing is changed.

    It counts damaged rows, pages whose body or links are lost, and missing pages: those that a host has fewer than
    `links refresh` has counted, unless the host has changed since; empty if nothing was counted. The first of each are
    named on standard error, and the exit code is 1. Deleting a page repairs it, and so does storing a newer capture.
    Inconsistent are pages whose newest capture disagrees with their history, since two writers stored captures of them
    at once, and were killed before they noticed; `index repair` repairs them.
    """
    this = session(ctx)
    with (
        this.open() as table,
        resuming(this, "verify", resume=resume) as path,
        progress_bar("verify", "page", pages_of(table, site_of(site))) as counted,
    ):
        try:
            found = table.maintenance.verify(site_of(site), on_progress=counted, resume=path)
        except KeyboardInterrupt as exc:
            rest = "" if resume else f"; {CAN_CONTINUE}"
            exc.add_note(f"at least {plural(counted.so_far, 'page')} compared{rest}")
            raise
        nothing = why_empty(table, site) if found.is_sound and not found.pages else ""
    write_records([found], _FOUND, format)
    report_findings(found)
    if found.inconsistent:
        which = f"{plural(found.inconsistent, 'page')} whose newest capture disagrees with the history"
        note(f"{which}; to repair them: {this.command('index repair --all')}")
    if nothing:
        complain(nothing)
    if nothing or not found.is_sound:
        raise typer.Exit(NOT_DONE)


@commands.command(
    epilog=examples("webtable compact", "webtable -s old.db compact", "webtable compact --forget-deletes")
)
def compact(
    ctx: typer.Context,
    forget: Annotated[
        bool,
        typer.Option(
            "--forget-deletes",
            help="On HBase, after its shell has compacted the tables: accept captures again "
            "that are older than the delete of their page. Nothing else is done.",
        ),
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Free the space of data that was deleted, was replaced or has expired.

    The file is rewritten, which temporarily takes as much space again; writers wait for it. Deletes are forgotten with
    what they have hidden: older captures can be stored again from then on.

    HBase does this by itself, at a time it chooses. Doing it at once takes its shell; the error shows the lines. Before
    HBase has compacted, --forget-deletes would let it hide what is stored from then on: in a terminal it asks first,
    elsewhere it needs --yes.
    """
    this = session(ctx)
    if forget:
        with this.open() as table:
            question = (
                f"Forget the deletes of {table.name}? If the store was not compacted after the last delete, it hides "
                "captures that are stored from now on."
            )
            confirm("forget deletes", question, yes=yes or dry_run)
            forgotten = plural(table.maintenance.forget_deletes(dry_run=dry_run), "page")
        typer.echo(f"the deletes of {forgotten} {'would be forgotten' if dry_run else 'forgotten'}")
        return
    freed = _compacted(this, dry_run=dry_run)
    if dry_run:
        typer.echo(f"{size_text(freed)} are free already, besides what was deleted or has expired")
        return
    typer.echo(f"{size_text(freed)} freed" if freed > 0 else "there was nothing to free")


def _compacted(this: CommandSession, *, dry_run: bool) -> int:
    try:
        with this.open() as table:
            return table.maintenance.compact(dry_run=dry_run)
    except LayoutMismatch:
        store, name = open_store(this.store)
        with store:
            if layout_of(store, name) is None:
                raise
            return compact_records(store, name, dry_run=dry_run)


@links.command(epilog=examples("webtable links refresh", "webtable -s crawl.db links refresh --also-unfinished"))
def refresh(
    ctx: typer.Context,
    also_unfinished: Annotated[
        bool,
        typer.Option("--also-unfinished", help="Do not wait ten minutes for a writer that did not finish."),
    ] = False,
) -> None:
    """Count the links to those pages that were linked or unlinked since the last run, and the pages of their hosts.

    It may run at any time, even while others write, and again after an interruption; `ingest` does it at its end.
    """
    with session(ctx).open() as table, progress_bar("links refresh", "page") as counted:
        done = table.links.refresh(on_progress=counted, also_unfinished=also_unfinished)
    report_damage((), done.damaged)
    if not done.batches:
        typer.echo("nothing to count")
        return
    typer.echo(
        f"{plural(done.pages, 'page')} and {plural(done.hosts, 'host')} counted, for "
        f"{plural(done.batches, 'batch', 'es')} that waited"
    )
    if done.damaged:
        raise typer.Exit(NOT_DONE)


@links.command(epilog=examples("webtable links status", "webtable -s crawl.db links status"))
def status(ctx: typer.Context) -> None:
    """Show how many batches of pages wait to have their links counted, and since when."""
    with session(ctx).open() as table:
        waiting, since = table.links.freshness()
    if not on_terminal():
        write_lines([("waiting", waiting), *([("since", since)] if since else [])])
    elif since:
        typer.echo(f"{plural(waiting, 'batch', 'es')} waiting since {since:%Y-%m-%d %H:%M} UTC")
    else:
        typer.echo("up to date")
