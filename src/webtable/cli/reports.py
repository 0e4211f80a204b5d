"""The commands that report on a site: `audit` and `compare`, as a page, as a few lines, or as JSON."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from webtable.answers import GroupRow
from webtable.cli.exit_codes import NOT_DONE, note, report_damage
from webtable.cli.options import NeededSiteArgument, ResumeOption, SiteArgument, WorkersOption, resuming, site_of
from webtable.cli.output import (
    TABLE,
    TIME,
    FormatOption,
    check_page_file,
    chosen_format,
    examples,
    parse_names,
    parse_times,
    write_bytes,
    write_json,
    write_page,
    write_records,
)
from webtable.cli.session import session
from webtable.display.text import plural, size_text
from webtable.progress import progress_bar
from webtable.questions import TIME_FORMS, column, named_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.answers import Stats
    from webtable.reports import Audit, Comparison


# --- The command `stats` ----------------------------------------------------------------------------------------------


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
    format: FormatOption = None,
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


# ----------------------------------------------------------------------------------------------------------------------


_PANEL = "Reports on a site"
_STANDARD_OUTPUT = Path("-")


class ReportFormat(StrEnum):
    """The formats of a report that is not written as a page."""

    text = "text"
    json = "json"


HTMLOption = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Write the report to this file as one self-contained HTML page; - is standard output.",
    ),
]
ReportFormatOption = Annotated[
    ReportFormat, typer.Option("--format", help="Without --html: the counts to read, or all of it as JSON.")
]


@commands.command(
    rich_help_panel=_PANEL,
    epilog=examples(
        "webtable audit example.com --html audit.html",
        "webtable audit example.com",
        "webtable audit example.com --format json | jq '.sections[] | {name, count}'",
    ),
)
def audit(
    ctx: typer.Context,
    site: NeededSiteArgument,
    html: HTMLOption = None,
    most: Annotated[
        int, typer.Option("--most", metavar="N", help="Name at most this many pages of each finding.")
    ] = 50,
    format: ReportFormatOption = ReportFormat.text,
) -> None:
    """Report what is wrong on a site: links to errors, redirects, orphans, duplicates, and what pages do not say.

    A finding whose index the table lacks is left out, and the command that adds the index is shown.
    """
    from webtable.progress import progress_bar
    from webtable.reports import audit

    _check(html)
    program = session(ctx).command("").strip()
    with session(ctx).open() as table, progress_bar("audit") as counted:
        found = audit(table, named_site(site), most=most, program=program, on_progress=counted)
    _write(
        found, html, format, [_Line("Pages", found.pages, f"{program} pages {shlex.quote(found.site)}"), *_lines(found)]
    )
    if found._empty:
        note(found._empty)
    _report_damage(found)


@commands.command(
    rich_help_panel=_PANEL,
    epilog=examples(
        "webtable compare example.com --since 7d --html changes.html",
        "webtable compare example.com --since 2026-11-01 --until 2026-11-08",
    ),
)
def compare(
    ctx: typer.Context,
    site: NeededSiteArgument,
    since: Annotated[
        str,
        typer.Option("--since", metavar=TIME, help=f"The moment to compare with: {TIME_FORMS}.", show_default=False),
    ],
    until: Annotated[
        str | None, typer.Option("--until", metavar=TIME, help="The moment that is compared. Default: now.")
    ] = None,
    html: HTMLOption = None,
    most: Annotated[int, typer.Option("--most", metavar="N", help="Name at most this many pages of each kind.")] = 200,
    format: ReportFormatOption = ReportFormat.text,
) -> None:
    """Show what has changed on a site between two moments: which pages are new, gone or changed, and what they were."""
    from webtable.progress import progress_bar
    from webtable.reports import compare

    _check(html)
    times = parse_times(since=since, until=until)
    program = session(ctx).command("").strip()
    with session(ctx).open() as table, progress_bar("compare") as counted:
        found = compare(table, named_site(site), most=most, program=program, on_progress=counted, **times)  # type: ignore[arg-type]
    unchanged = found.counts["unchanged"]
    _write(found, html, format, [*_lines(found), _Line("Unchanged", unchanged, found.command("unchanged"))])
    if found._empty:
        note(found._empty)
    _report_damage(found)


class _Line(NamedTuple):
    """A finding, how many there are, and what lists them."""

    finding: str
    found: int | None
    command: str


def _check(html: Path | None) -> None:
    if html is not None and html != _STANDARD_OUTPUT:
        check_page_file(html)


def _write(found: Audit | Comparison, html: Path | None, format: ReportFormat, lines: list[_Line]) -> None:
    if html == _STANDARD_OUTPUT:
        write_bytes(found.html().encode())
    elif html is not None:
        write_page(html, found.html())
    elif format is ReportFormat.json:
        write_json(found.to_dict())
    else:
        write_records(lines, [column("finding", width=26), column("found", "count"), column("command", "urls")], None)
        for section in found.sections:
            if section.left_out:
                note(f"{section.title} left out: {section.left_out}")


def _lines(found: Audit | Comparison) -> list[_Line]:
    return [_Line(one.title, None if one.left_out else one.count, one.command) for one in found.sections]


def _report_damage(found: Audit | Comparison) -> None:
    if found.damaged:
        report_damage((), found.damaged)
        raise typer.Exit(NOT_DONE)
