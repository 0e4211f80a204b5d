"""The commands `links refresh` and `links status`: the counts of the links that lead to pages."""

from __future__ import annotations

from typing import Annotated

import typer

from webtable._progress import progress_bar
from webtable._shown.text import plural
from webtable.cli.exit_codes import NOT_DONE, tell_damage
from webtable.cli.session import session
from webtable.cli.terminal.output import on_terminal, write_lines
from webtable.cli.terminal.text import examples

group = typer.Typer(help="Count the links that lead to pages.", no_args_is_help=False)


@group.command(epilog=examples("webtable links refresh", "webtable -s crawl.db links refresh --also-unfinished"))
def refresh(
    ctx: typer.Context,
    also_unfinished: Annotated[
        bool,
        typer.Option("--also-unfinished", help="Do not wait ten minutes for a writer that did not come to its end."),
    ] = False,
) -> None:
    """Count the links to those pages that were linked or unlinked since the last run, and the pages of their hosts.

    It may run at any time, also beside writers, and again where it was interrupted; `ingest` does it at its end.
    """
    with session(ctx).open() as table, progress_bar("links refresh", "page") as counted:
        done = table.refresh_links(on_progress=counted, also_unfinished=also_unfinished)
    tell_damage((), done.damaged)
    if not done.batches:
        typer.echo("nothing waits to be counted")
        return
    typer.echo(
        f"{plural(done.pages, 'page')} and {plural(done.hosts, 'host')} counted, for "
        f"{plural(done.batches, 'batch', 'es')} that waited"
    )
    if done.damaged:
        raise typer.Exit(NOT_DONE)


@group.command(epilog=examples("webtable links status", "webtable -s crawl.db links status"))
def status(ctx: typer.Context) -> None:
    """Show how many batches of pages wait to have their links counted, and since when."""
    with session(ctx).open() as table:
        waiting, since = table.links_freshness()
    if not on_terminal():
        write_lines([("waiting", waiting), *([("since", since)] if since else [])])
    elif since:
        typer.echo(f"{plural(waiting, 'batch', 'es')} waiting since {since:%Y-%m-%d %H:%M} UTC")
    else:
        typer.echo("up to date")
