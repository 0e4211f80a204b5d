"""The command `adopt`."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final
from uuid import uuid4

import typer

import webtable
from webtable.cli import options
from webtable.cli.copy import CopyRun, conclude
from webtable.cli.exit_codes import note
from webtable.cli.output import documented, parse_names
from webtable.cli.progress import when_there
from webtable.cli.session import CommandSession, naming, session
from webtable.display.text import plural
from webtable.errors import InvalidArgument, TableNotFound
from webtable.maintenance import Adopted
from webtable.maintenance import adopt as adopt_table
from webtable.progress import ProgressBar
from webtable.store import StoreURL, open_store

if TYPE_CHECKING:
    from webtable import WebTable


commands: Final = typer.Typer()


@documented(commands)
def adopt(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SRC", help="The table of another program: a URL or a profile.")],
    target: Annotated[str, typer.Argument(metavar="DST", help="The store to fill; created if it does not exist.")],
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD=COLUMN,…",
            help="The column of each field, as in url=metadata:url,body=content:html; outlinks=ol: is a whole family.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            help="How keys have URLs, as in '{salt}:{reversed_host}{path}'; also {host}, {scheme}, {:port}, {url}.",
        ),
    ] = None,
    scheme: Annotated[str, typer.Option(help="Of URLs whose keys have none: https or http.")] = "https",
    preset: Annotated[str | None, typer.Option(help="A program whose columns and keys are known: nutch2.")] = None,
    limit: options.LimitOption = None,
    resume: options.JournalOption = False,
    rate: Annotated[float | None, typer.Option(metavar="ROWS", help="Read at most this many rows a second.")] = None,
    refresh: options.RefreshOption = True,
    wait: options.WaitOption = None,
    dry_run: options.DryRunOption = False,
) -> None:
    """Bring in a table of HBase that another program made, as pages with all their versions.

    Each version of the body becomes a capture under its own date, with the values that the columns of --columns had
    then. docs/moving.md lists what the columns may hold. What has no column is extracted from the body and the
    headers.

    A missing DST is created with the usual layout and no time to live. SRC is only read, and may be in use. You may
    interrupt it and run it again. --dry-run reads all rows and reports what would be stored.

    What cannot be read is skipped, counted and named; the exit code is then 1.

    Examples:
        webtable adopt hbase://localhost/old crawl.db --columns url=metadata:url,body=content:html,status=metadata:code
        webtable adopt hbase://localhost/domains crawl.db --key '{salt}:{reversed_host}{path}' --columns body=cf:html
        webtable adopt hbase://localhost/webpage hbase://localhost/crawl --preset nutch2 --resume
    """
    own = session(ctx).indexes
    there, here = CommandSession.named(source), CommandSession.named(target, own)
    if StoreURL.parse(there.store).place == StoreURL.parse(here.store).place:
        raise InvalidArgument(f"DST is SRC itself, {there.name}: name another table")
    fields, limits = _columns(columns), options.parse_limits(limit or [])
    read_table = partial(adopt_table, there.store, columns=fields, key=key, scheme=scheme, preset=preset, limits=limits)
    patience = options.seconds_of(wait, 0)  # a store that has never answered may be a wrong name
    journal = options.beside(here.store, "adopt") if resume else None
    run = CopyRun(rate, journal=journal, dry_run=dry_run, wait=options.seconds_of(wait))
    with ExitStack() as stack:
        # An error of either store names the commands for that store.
        naming(ctx, there)
        when_there(lambda: _check_source(there.store), patience)  # before DST is created
        naming(ctx, here)
        opened = partial(_opened_target, here, dry_run=dry_run)
        table = stack.enter_context(when_there(opened, patience))
        with run.handling_interrupts(), ProgressBar("adopt", state=lambda: (0, run.now)):
            run.run_once(partial(read_table, table, dry_run=dry_run, rate=rate))
            if run.ended_by is None and run.lost is None and not dry_run:
                run.conclude(table, table, refresh=refresh, verify="none")
        if isinstance(run.last, Adopted):
            _note_left_out(run.last)
        code = conclude(run, there.name, here.name if dry_run else table.name, here.command)
    raise typer.Exit(code)


def _columns(text: str | None) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in parse_names(text or "")]
    if wrong := [name for name, equals, column in pairs if not (name and equals and column)]:
        raise InvalidArgument(f"columns={text!r}: {wrong[0]!r} must be FIELD=COLUMN, as in body=content:html")
    return {name.strip(): column.strip() for name, _, column in pairs}


def _check_source(url: str) -> None:
    """Raise `TableNotFound` unless there is such a table."""
    store, table = open_store(url)
    with store:
        store.describe(table)


def _opened_target(here: CommandSession, *, dry_run: bool) -> WebTable:
    """Return the table to fill, created if it is missing; in a dry run one in memory in its place."""
    try:
        return here.open()
    except TableNotFound:
        # What is adopted is often old.
        return webtable.open(f"memory:{uuid4().hex}" if dry_run else here.store, create=True, ttl=None)


def _note_left_out(adopted: Adopted) -> None:
    if adopted.empty:
        note(f"{plural(adopted.empty, 'row')} without a capture")
    for name, number in adopted.unreadable.items():
        note(f"not read: {plural(number, 'value')} of {name}")
    if adopted.unreadable and adopted.examples:
        note(f"the first of what was not read: {adopted.examples[0].reason}")
    if not (adopted.looked_at or adopted.damaged or adopted.empty or adopted.resumed):
        note("no row of SRC has one of these columns")
