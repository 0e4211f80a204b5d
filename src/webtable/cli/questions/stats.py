"""The command `stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from webtable.answers import GroupRow
from webtable.cli.exit_codes import NOT_DONE, note, report_damage
from webtable.cli.options import ResumeOption, SiteArgument, WorkersOption, resuming, site_of
from webtable.cli.session import session
from webtable.cli.terminal.output import TABLE, FormatOption, chosen_format, write_records
from webtable.cli.terminal.text import examples, parse_names
from webtable.display.text import plural, size_text
from webtable.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.answers import Stats

commands: Final = typer.Typer()

_MOST_GROUPS = 15


@commands.command(
    epilog=examples(
        "webtable stats example.com",
        "webtable stats all --by status,type --format csv",
        "webtable stats all --by host --no-bytes",
        "webtable stats example.com --by month",
        "webtable stats all --workers 4",
    ),
)
def stats(
    ctx: typer.Context,
    site: SiteArgument = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="A,B",
            help="What to count by: host, status, type, language (without its region: pt-br as pt), age, region, size, "
            "day, month; age, day and month are those of the last capture of a page, in UTC. Default: the first six.",
            show_default=False,
        ),
    ] = None,
    no_bytes: Annotated[
        bool, typer.Option("--no-bytes", help="Count pages only; faster, but only by host and region.")
    ] = False,
    resume: ResumeOption = False,
    workers: WorkersOption = 1,
    format: FormatOption = None,  # noqa: A002
) -> None:
    """Count pages and their bytes, now: by host, status, type, language, age of the last capture, and more.

    All rows of the site are read, without bodies.

    With --format jsonl each line has the fields "by" (the grouping, or "all" for the sum), "group" (its name, "" for
    pages that have none), "pages" and "bytes" (not with --no-bytes).
    """
    asked: Any = {} if by is None else {"by": parse_names(by)}
    this = session(ctx)
    with this.open() as table, resuming(this, "stats", resume=resume) as file, progress_bar("stats", "page") as counted:
        found = table.stats(
            site_of(site),
            bytes=not no_bytes,
            on_progress=counted,
            resume=file,
            workers=workers,
            **asked,
        )
        if found._empty:
            note(found._empty)
    if chosen_format(format) == TABLE:
        _show_stats(found)
    else:
        names = ["by", "group", "pages"] if no_bytes else None
        write_records(_counts(found), found._columns.chosen(names), format)
    if found.damaged:
        report_damage(found.examples, found.damaged)
        raise typer.Exit(NOT_DONE)


def _counts(found: Stats) -> Iterator[GroupRow]:
    yield GroupRow("all", "", found.pages, found.bytes)
    yield from found


def _show_stats(found: Stats) -> None:
    size = "" if found.bytes is None else f", {size_text(found.bytes)}"
    typer.echo(f"{plural(found.pages, 'page')}{size}")
    for by, groups in found.by.items():
        lines = [line._replace(group=line.group or "–") for line in found.top(by, _MOST_GROUPS)]
        more, is_of_dates = len(groups) - len(lines), by in {"day", "month"}
        if more and not is_of_dates:
            lines.sort(key=lambda line: -line.pages)
        columns = found._columns.chosen(["group", "pages", "bytes"])
        title = f"By {by} of the last capture (UTC)" if is_of_dates else f"By {by}"
        write_records(lines, columns, TABLE, asked_for=False, title=title)
        if more:
            typer.echo(f"… and {more:,} {'earlier' if is_of_dates else 'more'}; in a pipe all of them are shown")
