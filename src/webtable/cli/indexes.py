"""The commands about the indexes of a table: `index list`, `add`, `drop`, `rebuild`, `verify`, `repair`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from webtable._clock import clock
from webtable._messages import message_of, text_of
from webtable.cli import completion
from webtable.cli.exit_codes import NOT_DONE, complain, end_if_damaged, exit_code, note, report_damage
from webtable.cli.options import DryRunOption, ResumeOption, WorkersOption, YesOption, resuming
from webtable.cli.output import Format, FormatOption, chosen_format, documented, write_records
from webtable.cli.progress import confirm
from webtable.cli.session import CommandSession, session
from webtable.display import harmless
from webtable.display.text import plural, size_text
from webtable.errors import IndexFailed, InvalidArgument, LayoutMismatch, WebTableError
from webtable.progress import progress_bar
from webtable.questions import Column, column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable import WebTable
    from webtable.indexes import Drift
    from webtable.maintenance import TextRefresh


# --- Full text --------------------------------------------------------------------------------------------------------


search_index: Final = typer.Typer(
    help="Create, refresh and drop full text, by which search ranks.", no_args_is_help=False
)


@documented(search_index)
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

    Examples:
        webtable search-index create
        webtable -s crawl.db search-index create --stemming english
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


@documented(search_index)
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

    In a file, writes keep full text up to date, and this removes expired pages. For HBase it adds the pages fetched
    since the last refresh; --every-page also finds deleted pages, and pages stored over an hour after their fetch.

    Examples:
        webtable search-index refresh
        webtable -s hbase://localhost:9090/crawl search-index refresh --follow
        webtable search-index refresh --every-page
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


@documented(search_index)
def state(ctx: typer.Context) -> None:
    """Show what is indexed, how much space that takes, and whether it is complete.

    Examples:
        webtable search-index state
        webtable -s crawl.db search-index state
    """
    this = session(ctx)
    with this.open() as table:
        text_index = table.search_index.state()
    if text_index is None:
        note(f"the table has no full text: {this.command('search-index create')}")
        raise typer.Exit(NOT_DONE)
    settings = text_index.settings
    stems = f", stems of {settings.stemming}" if settings.stemming else ""
    typer.echo(
        f"{settings.text} text, up to {settings.max_text:,} characters of a page{stems}: {size_text(text_index.bytes)}"
    )
    if not text_index.is_complete:
        note(f"it is not complete; to go on: {this.command('search-index refresh')}")
        raise typer.Exit(NOT_DONE)


@documented(search_index, "drop")
def drop_search_index(ctx: typer.Context, yes: YesOption = False) -> None:
    """Drop full text; `search-index create` makes it again, from all pages.

    In a terminal it asks first; elsewhere it needs --yes.

    Examples:
        webtable search-index drop
        webtable -s crawl.db search-index drop --yes
    """
    with session(ctx).open() as table:
        confirm("drop full text", f"Drop the full text of {table.name}?", yes=yes)
        is_dropped = table.search_index.drop()
    typer.echo("full text dropped" if is_dropped else "the table has no full text")


# --- Indexes ----------------------------------------------------------------------------------------------------------


index: Final = typer.Typer(help="Add, drop, rebuild, verify and repair the indexes of a table.", no_args_is_help=False)

_DRIFT = (
    column("index"),
    *(column(name, "count") for name in ("pages", "entries", "missing", "stale", "pending", "inconsistent")),
)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of the index.", autocompletion=completion.indexes)
]
SomeArgument = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="The name of the index, if not --all.", autocompletion=completion.indexes),
]
AllOption = Annotated[bool, typer.Option("--all", help="All indexes that are ready.")]


class IndexLine(NamedTuple):
    """An index as it is listed: its name, its phase, and where it is defined if it is not one of webtable's own."""

    name: str
    phase: str
    of: str


def index_lines(table: WebTable, command: Callable[[str], str]) -> list[IndexLine]:
    """Return the indexes of *table*, by name; *command* returns the line that runs some words."""
    lines = [IndexLine(name, state.phase, state.of) for name, state in table.indexes.states().items()]
    try:
        text = table.search_index.state()
    except WebTableError as exc:  # a directory that is damaged, or tantivy is not installed here
        return [*lines, IndexLine("full text", "unusable", text_of(message_of(exc), command))]
    if text is not None:
        lines.append(IndexLine("full text", "ready" if text.is_complete else "building", f"{text.settings.text} text"))
    return lines


@documented(index, "list")
def list_(ctx: typer.Context, format: FormatOption = None) -> None:
    """List the indexes of the table, and the phase that each is in.

    Questions use an index that is `ready`. One that is `building` is not complete yet, one that is `retired` is about
    to be dropped.

    Examples:
        webtable index list
        webtable index list --format jsonl
    """
    with session(ctx).open() as table:
        lines = index_lines(table, session(ctx).command)
    write_records(lines, [column("name", share=3), column("phase"), column("of")], format, asked_for=False)
    if not lines:
        note("no indexes")


@documented(index)
def add(
    ctx: typer.Context,
    index: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="One of webtable's own (time, size, link, url, status, host, digest, similarity), "
            "or one of yours by its importable name, package.module:index.",
            autocompletion=completion.indexes,
        ),
    ],
    workers: WorkersOption = 1,
    dry_run: DryRunOption = False,
) -> None:
    """Add an index, with entries for all pages; the table may be in use.

    If it is interrupted, `index rebuild` continues. Later commands that write, rebuild or verify need the name of a
    custom index too (`webtable --index`).

    Examples:
        webtable index add size
        webtable -s crawl.db index add crawl_indexes:language
    """
    this = session(ctx)
    # What it writes from now on needs the index as well: its session imports the module before the table is opened.
    if ":" in index:
        this = replace(this, indexes=tuple(dict.fromkeys([*this.indexes, index])))
    with this.open() as table:
        try:
            with progress_bar("index add", "page") as counted:
                pages = table.indexes.add(index, dry_run=dry_run, on_progress=counted, workers=workers)
                damaged = table.metrics.damaged
        except KeyboardInterrupt:
            # An index of one's own is added by its module, and rebuilt by its name.
            name = next((name for name, state in table.indexes.states().items() if state.of == index), index)
            note(f"to go on: {this.command(f'index rebuild {name}')}")
            raise
    done = "would be added" if dry_run else "added"
    typer.echo(f"index {harmless(index)} {done}, with the entries of {plural(pages, 'page')}")
    end_if_damaged((), damaged)


@documented(index, "drop")
def drop_index(ctx: typer.Context, index: NameArgument, dry_run: DryRunOption = False, yes: YesOption = False) -> None:
    """Drop an index, with its entries; the table may be in use.

    In a terminal it asks first; elsewhere it needs --yes. `index add` makes the index again, from all pages.

    Examples:
        webtable index drop size
        webtable -s crawl.db index drop digest
    """
    with session(ctx).open() as table:
        state = table.indexes.drop(index, dry_run=True)
        confirm("drop an index", f"Drop the index {index} ({state.phase}) of {table.name}?", yes=yes or dry_run)
        if not dry_run:
            table.indexes.drop(index)
    typer.echo(f"index {harmless(index)} {'would be dropped' if dry_run else 'dropped'}")


@documented(index)
def rebuild(ctx: typer.Context, index: NameArgument, workers: WorkersOption = 1, dry_run: DryRunOption = False) -> None:
    """Write the entries of all pages again; an index that is not complete continues where it was interrupted.

    The table may be in use. Entries that no longer hold are removed by `index repair`.

    Examples:
        webtable index rebuild time
        webtable -s crawl.db index rebuild status --workers 4
    """
    with session(ctx).open() as table, progress_bar("index rebuild", "page") as counted:
        pages = table.indexes.rebuild(index, dry_run=dry_run, on_progress=counted, workers=workers)
        damaged = table.metrics.damaged
    done = "would be rebuilt" if dry_run else "rebuilt"
    typer.echo(f"index {harmless(index)} {done}, with the entries of {plural(pages, 'page')}")
    end_if_damaged((), damaged)


@documented(index)
def verify(
    ctx: typer.Context,
    index: SomeArgument = None,
    all_: AllOption = False,
    resume: ResumeOption = False,
    workers: WorkersOption = 1,
    format: FormatOption = None,
) -> None:
    """Compare an index with the pages, both ways, and change nothing; the exit code is 1 if they differ.

    It counts entries that pages lack (missing), entries whose pages have changed (stale), entries of captures that
    are not stored yet (pending, no difference), unreadable rows (damaged), and with the link index pages whose newest
    capture disagrees with their history (inconsistent). The table may be in use.

    With --all, an index that cannot be compared, such as a custom one that --index does not name, is reported at the
    end with exit code 3.

    Examples:
        webtable index verify time
        webtable index verify --all --workers 4
    """
    this = session(ctx)
    with this.open() as table:
        verify = partial(table.indexes.verify, workers=workers)
        drifts, errors = _compared(this, _names(table, index, all_), "verify", verify, resume=resume)
    _conclude(drifts, errors, format, _DRIFT)
    if not all(drift.is_empty for drift in drifts):
        raise typer.Exit(NOT_DONE)


@documented(index)
def repair(
    ctx: typer.Context,
    index: SomeArgument = None,
    all_: AllOption = False,
    dry_run: DryRunOption = False,
    resume: ResumeOption = False,
    format: FormatOption = None,
) -> None:
    """Repair an index where it differs from the pages: write missing entries, remove stale ones, and repair pages.

    With --dry-run it is `index verify`. The exit code is 1 if differences remain or rows cannot be read. The table
    may be in use.

    Examples:
        webtable index repair time
        webtable index repair --all --dry-run
    """
    this = session(ctx)
    with this.open() as table:
        repair = partial(table.indexes.repair, dry_run=dry_run)
        names = _names(table, index, all_)
        drifts, errors = _compared(this, names, "verify" if dry_run else "repair", repair, resume=resume)
    _conclude(drifts, errors, format, (*_DRIFT, column("repaired", "count")))
    if all(drift.differences == drift.repaired and not drift.damaged for drift in drifts):
        return
    if dry_run and not all(drift.differences == drift.repaired for drift in drifts):
        command = this.command(f"index repair {index or '--all'}")
        note(f"nothing was changed; to repair it: {command}")
    raise typer.Exit(NOT_DONE)


def _names(table: WebTable, index: str | None, all_: bool) -> list[str]:
    """Return the names of the indexes to check; raises `InvalidArgument` unless one or all are named."""
    if (index is None) != all_:
        raise InvalidArgument("name an index, or give --all")
    if index is not None:
        return [index]
    states = table.indexes.states()
    for name, state in states.items():
        if state.phase != "ready":
            note(f"left out: the index {name} is {state.phase}")
    return [name for name, state in states.items() if state.phase == "ready"]


def _compared(
    this: CommandSession, names: Sequence[str], walk: str, compare: Callable[..., Drift], *, resume: bool
) -> tuple[list[Drift], list[LayoutMismatch | IndexFailed]]:
    """Return the results, and the errors of indexes that could not be compared; raises the error of a single index."""
    drifts, errors = [], []
    for name in names:
        try:
            with (
                resuming(this, f"{walk}-{name}", resume=resume) as path,
                progress_bar(f"index {name}", "row") as counted,
            ):
                drifts.append(compare(name, on_progress=counted, resume=path))
        except (LayoutMismatch, IndexFailed) as exc:
            if len(names) == 1:
                raise
            errors.append(exc)
    return drifts, errors


def _conclude(
    drifts: Sequence[Drift],
    errors: Sequence[LayoutMismatch | IndexFailed],
    format: Format | None,
    columns: Sequence[Column],
) -> None:
    """Show the results, name all *errors*, and raise the one with the highest exit code."""
    write_records(drifts, columns, chosen_format(format))
    for drift in drifts:
        for example in drift.examples:
            note(f"{drift.index}: {example}")
    report_damage((), max((drift.damaged for drift in drifts), default=0))
    in_order = sorted(errors, key=exit_code)
    for error in in_order[:-1]:
        complain(str(error))
    if in_order:
        raise in_order[-1]
