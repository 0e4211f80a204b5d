"""The commands about full text: `search-index create`, `refresh`, `state`, `drop`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from webtable._clock import clock
from webtable.cli.exit_codes import NOT_DONE, note
from webtable.cli.options import YesOption
from webtable.cli.session import session
from webtable.cli.terminal.interaction import confirm
from webtable.cli.terminal.text import examples
from webtable.display.text import plural, size_text
from webtable.progress import progress_bar

if TYPE_CHECKING:
    from webtable.maintenance import TextRefresh

group: Final = typer.Typer(help="Create, refresh and drop full text, by which search ranks.", no_args_is_help=False)


@group.command(
    epilog=examples("webtable search-index create", "webtable -s crawl.db search-index create --stemming english")
)
def create(
    ctx: typer.Context,
    every: Annotated[
        bool, typer.Option("--all-text", help="Index all text of a page, not its main text alone.")
    ] = False,
    stemming: Annotated[
        str | None,
        typer.Option(metavar="LANGUAGE", help="Find words by their stems in this language, as in english, german."),
    ] = None,
    max_text: Annotated[
        int, typer.Option(metavar="N", help="How many characters of the text of a page are indexed.", min=1)
    ] = 65_536,
) -> None:
    """Create full text from all pages, in place of what there is; the table may be in use.

    If it is interrupted, `search-index refresh` goes on.
    """
    this = session(ctx)
    with this.open() as table:
        try:
            with progress_bar("search-index create", "page") as counted:
                done = table.search_index.create(
                    text="all" if every else "main", stemming=stemming, max_text=max_text, on_progress=counted
                )
        except KeyboardInterrupt:
            note(f"to go on: {this.command('search-index refresh')}")
            raise
    typer.echo(f"full text created, with {plural(done.written, 'page')}")


@group.command(
    epilog=examples(
        "webtable search-index refresh",
        "webtable -s hbase://localhost:9090/crawl search-index refresh --follow",
        "webtable search-index refresh --every-page",
    )
)
def refresh(
    ctx: typer.Context,
    every: Annotated[
        bool, typer.Option("--every-page", help="Compare all pages, not only those that were fetched since.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Go on, until it is interrupted.")] = False,
    pause: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to wait between two refreshes.", min=0)
    ] = 10.0,
) -> None:
    """Bring full text to the state of the pages, or go on with a create that was interrupted.

    In a file whoever writes or deletes pages keeps it so; expired pages go here. In a directory, as of a table of
    HBase, the pages that were fetched since the last refresh are added; --every-page finds deleted ones, and those that
    were stored an hour after they were fetched or later.
    """
    with session(ctx).open() as table:
        while True:
            with progress_bar("search-index refresh", "page") as counted:
                done = table.search_index.refresh(every=every, on_progress=counted)
            if done.written or done.removed or not follow:
                typer.echo(_said(done))
            if not follow:
                return
            clock.sleep(pause)


def _said(done: TextRefresh) -> str:
    return f"{plural(done.pages, 'page')} compared: {done.written:,} written, {done.removed:,} removed"


@group.command(epilog=examples("webtable search-index state", "webtable -s crawl.db search-index state"))
def state(ctx: typer.Context) -> None:
    """Show what is indexed, how much space that takes, and whether it is complete."""
    this = session(ctx)
    with this.open() as table:
        found = table.search_index.state()
    if found is None:
        note(f"the table has no full text: {this.command('search-index create')}")
        raise typer.Exit(NOT_DONE)
    settings = found.settings
    stems = f", stems of {settings.stemming}" if settings.stemming else ""
    typer.echo(
        f"{settings.text} text, up to {settings.max_text:,} characters of a page{stems}: {size_text(found.bytes)}"
    )
    if not found.is_complete:
        note(f"it is not complete; to go on: {this.command('search-index refresh')}")
        raise typer.Exit(NOT_DONE)


@group.command(epilog=examples("webtable search-index drop", "webtable -s crawl.db search-index drop --yes"))
def drop(ctx: typer.Context, yes: YesOption = False) -> None:
    """Drop full text; `search-index create` makes it again, from all pages.

    In a terminal it asks first; elsewhere it needs --yes.
    """
    with session(ctx).open() as table:
        confirm("drop full text", f"Drop the full text of {table.name}?", yes=yes)
        is_dropped = table.search_index.drop()
    typer.echo("full text dropped" if is_dropped else "the table has no full text")
