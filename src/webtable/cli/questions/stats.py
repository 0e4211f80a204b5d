"""The command `stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from webtable._shown.sizes import size_text
from webtable._shown.text import plural
from webtable.cli.exit_codes import NOT_DONE, note, report_damage
from webtable.cli.options import ResumeOption, SiteArgument, WorkersOption, resuming, site_of
from webtable.cli.session import session
from webtable.cli.terminal.output import TABLE, FormatOption, chosen_format, write_records
from webtable.cli.terminal.text import examples, parse_names
from webtable.progress import progress_bar
from webtable.repository.arguments import GROUPINGS
from webtable.repository.page_counts import DATES, left_out, shown_groups
from webtable.repository.questions.stats import GROUPS, GroupRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.questions.stats import Stats

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
    groupings = GROUPINGS if by is None else tuple(parse_names(by))
    this = session(ctx)
    with this.open() as table, resuming(this, "stats", resume=resume) as file, progress_bar("stats", "page") as counted:
        found = table.stats(
            site_of(site),
            by=groupings,  # type: ignore[arg-type]
            bytes=not no_bytes,
            on_progress=counted,
            resume=file,
            workers=workers,
        )
        if found._empty:
            note(found._empty)
    if chosen_format(format) == TABLE:
        _show_stats(found)
    else:
        names = ["by", "group", "pages"] if no_bytes else None
        write_records(_counts(found), GROUPS.chosen(names), format)
    if found.damaged:
        report_damage(found.examples, found.damaged)
        raise typer.Exit(NOT_DONE)


def _counts(found: Stats) -> Iterator[GroupRow]:
    yield GroupRow("all", "", found.pages, found.bytes)
    for by, groups in found.by.items():
        yield from (GroupRow(by, name, group.pages, group.bytes) for name, group in groups.items())


def _show_stats(found: Stats) -> None:
    size = "" if found.bytes is None else f", {size_text(found.bytes)}"
    typer.echo(f"{plural(found.pages, 'page')}{size}")
    for by, groups in found.by.items():
        names = shown_groups(by, groups, _MOST_GROUPS)
        lines = [GroupRow(by, name or "–", *groups[name]) for name in names]
        more = len(groups) - len(lines)
        if more and by not in DATES:
            lines.sort(key=lambda line: -line.pages)
        columns = GROUPS.chosen(["group", "pages", "bytes"])
        title = f"By {by} of the last capture (UTC)" if by in DATES else f"By {by}"
        write_records(lines, columns, TABLE, asked_for=False, title=title)
        if more:
            typer.echo(f"{left_out(by, more)}; in a pipe all of them are shown")
