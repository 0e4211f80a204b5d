"""The commands that report on a site: `stats` counts its pages, `audit` and `compare` find what is wrong or changed."""

from __future__ import annotations

import shlex
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from webtable._importable import needed
from webtable.answers import GroupRow, IgnoredContent
from webtable.cli import output
from webtable.cli.exit_codes import end_if_damaged, note
from webtable.cli.options import NeededSiteArgument, ResumeOption, SiteArgument, WorkersOption, resuming, site_of
from webtable.cli.session import session
from webtable.display.text import plural, size_text
from webtable.errors import InvalidArgument
from webtable.progress import progress_bar
from webtable.questions import TIME_FORMS, column, named_site

if TYPE_CHECKING:
    from webtable.answers import Stats
    from webtable.reports import Audit, Comparison


# --- `stats` ----------------------------------------------------------------------------------------------------------


commands: Final = typer.Typer()

_MOST_GROUPS = 15
_GROUPS = (column("by"), column("group", share=3), column("pages", "count"), column("bytes", "bytes", heading="size"))


@output.documented(commands)
def stats(
    ctx: typer.Context,
    site: SiteArgument = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="What to count by: host, status, type, language (without its region: pt-br as pt), age, region, size, "
            "day, month (age, day and month are those of the last capture of a page, in UTC), directory, or a column: "
            "canonical, charset, description, h1, index_status, redirect_to, registered_domain, robots, scheme, title, "
            "truncated. Default: the first six.",
        ),
    ] = None,
    no_bytes: Annotated[
        bool, typer.Option("--no-bytes", help="Count pages only; faster, but only by host and region.")
    ] = False,
    resume: ResumeOption = False,
    workers: WorkersOption = 1,
    format: output.FormatOption = None,
) -> None:
    """Count pages and their bytes, now: by host, status, type, language, age of the last capture, and more.

    All rows of the site are read, without bodies.

    With --format jsonl each line has the fields "by" (the grouping, or "all" for the sum), "group" (its name, "" for
    pages that have none), "pages" and "bytes" (not with --no-bytes).

    Examples:
        webtable stats example.com
        webtable stats all --by status,type --format csv
        webtable stats all --by host --no-bytes
        webtable stats example.com --by month
        webtable stats example.com --by directory,title --format csv
        webtable stats all --workers 4
    """
    grouping: Any = {} if by is None else {"by": output.parse_names(by)}
    this = session(ctx)
    with this.open() as table, resuming(this, "stats", resume=resume) as file, progress_bar("stats", "page") as counted:
        counts = table.stats(
            site_of(site), bytes=not no_bytes, on_progress=counted, resume=file, workers=workers, **grouping
        )
        if counts.empty_reason:
            note(counts.empty_reason)
    if output.chosen_format(format) == output.TABLE:
        _show_stats(counts)
    else:
        # For programs the sum is a row like the others; people see it as a line above the tables.
        everything = GroupRow("all", "", counts.pages, counts.bytes)
        output.write_records(chain([everything], counts), _GROUPS[:3] if no_bytes else _GROUPS, format)
    end_if_damaged(counts.examples, counts.damaged)


def _show_stats(counts: Stats) -> None:
    size = "" if counts.bytes is None else f", {size_text(counts.bytes)}"
    typer.echo(f"{plural(counts.pages, 'page')}{size}")
    for by, groups in counts.by.items():
        lines = [line._replace(group=line.group or "–") for line in counts.top(by, _MOST_GROUPS)]
        more, is_of_dates = len(groups) - len(lines), by in {"day", "month"}
        if more and not is_of_dates:
            lines.sort(key=lambda line: -line.pages)
        title = f"By {by} of the last capture (UTC)" if is_of_dates else f"By {by}"
        output.write_records(lines, _GROUPS[1:], output.TABLE, asked_for=False, title=title)
        if more:
            typer.echo(f"… and {more:,} {'earlier' if is_of_dates else 'more'}; in a pipe all of them are shown")


# --- `audit` and `compare` --------------------------------------------------------------------------------------------


_FINDINGS = (
    column("finding", of=itemgetter("finding"), width=26),
    column("found", "count", itemgetter("found")),
    column("command", "urls", itemgetter("command")),
)


HTMLOption = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Write the report to this file as one self-contained HTML page; - is standard output.",
    ),
]
ExcelOption = Annotated[
    Path | None,
    typer.Option(
        "--excel",
        metavar="FILE",
        help="Write the report to this Excel file (.xlsx), a sheet for each finding; - is standard output.",
    ),
]
ReportFormatOption = Annotated[
    output.ReportFormat,
    typer.Option("--format", help="Without --html and --excel: the counts to read, or all of it as JSON."),
]


@output.documented(commands)
def audit(
    ctx: typer.Context,
    site: NeededSiteArgument,
    html: HTMLOption = None,
    excel: ExcelOption = None,
    limit: Annotated[
        int, typer.Option("--most", metavar="N", help="Name at most this many pages of each finding.")
    ] = 50,
    format: ReportFormatOption = output.ReportFormat.text,
) -> None:
    """Report what is wrong on a site: links to errors, redirects, orphans, duplicates, and what pages do not say.

    A finding whose index the table lacks is left out, and the command that adds the index is shown.

    Examples:
        webtable audit example.com --html audit.html
        webtable audit example.com --excel audit.xlsx --most 10000
        webtable audit example.com
        webtable audit example.com --format json | jq '.sections[] | {name, count}'
    """
    from webtable.reports import audit

    _check_files(html, excel)
    program = session(ctx).command("").strip()
    with session(ctx).open() as table, progress_bar("audit") as counted:
        report = audit(table, named_site(site), most=limit, program=program, on_progress=counted)
    pages = {"finding": "Pages", "found": report.pages, "command": f"{program} pages {shlex.quote(report.site)}"}
    _report(report, html, excel, format, pages, first=True)


@output.documented(commands)
def compare(
    ctx: typer.Context,
    site: NeededSiteArgument,
    since: Annotated[
        str | None,
        typer.Option(
            metavar=output.TIME,
            help=f"The time to compare with: {TIME_FORMS}. Without it, and without --until: the last two crawls.",
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar=output.TIME, help="The time that is compared. Default: now.")
    ] = None,
    ignore: Annotated[
        IgnoredContent | None,
        typer.Option(help="Count a body as unchanged if its main text is: comments, tokens, markup, navigation."),
    ] = None,
    html: HTMLOption = None,
    excel: ExcelOption = None,
    limit: Annotated[int, typer.Option("--most", metavar="N", help="Name at most this many pages of each kind.")] = 200,
    format: ReportFormatOption = output.ReportFormat.text,
) -> None:
    """Show what has changed on a site: which pages are new, gone, moved, missing or changed, and what they were.

    Without times the last two crawls that `crawls` finds are compared: what the later one did not meet is missing.

    Examples:
        webtable compare example.com
        webtable compare example.com --since 7d --html changes.html
        webtable compare example.com --since 2026-11-01 --until 2026-11-08
    """
    from webtable.reports import compare

    _check_files(html, excel)
    times = output.parse_times(since=since, until=until)
    program = session(ctx).command("").strip()
    with session(ctx).open() as table, progress_bar("compare") as counted:
        options: dict[str, Any] = {"ignore": ignore, "most": limit, "program": program, **times}
        report = compare(table, named_site(site), on_progress=counted, **options)
    number, command = report.counts["unchanged"], report.command("unchanged")
    unchanged = {"finding": "Unchanged", "found": number, "command": command}
    _report(report, html, excel, format, unchanged, first=False)


def _check_files(html: Path | None, excel: Path | None) -> None:
    """Raise `InvalidArgument` and `MissingExtra` if the files cannot be written, before the site is read."""
    for path in filter(None, (html, excel)):
        output.check_page_file(path)
    if excel is not None:
        with needed("openpyxl", "excel"):
            import openpyxl  # noqa: F401
        if excel == html:
            raise InvalidArgument(f"--html and --excel name the same file, {excel}")


def _report(
    report: Audit | Comparison,
    html: Path | None,
    excel: Path | None,
    format: output.ReportFormat,
    also: dict[str, Any],
    *,
    first: bool,
) -> None:
    """Write a *report*; in its table *also* is the line about all pages, which stands *first* or last."""
    if html is not None:
        output.write_page(html, report.html().encode())
    if excel is not None:
        output.write_page(excel, report.excel())
    is_written = html is not None or excel is not None
    if not is_written and format is output.ReportFormat.json:
        output.write_json(report.to_dict())
    elif not is_written:
        lines = [
            {"finding": section.title, "found": None if section.left_out else section.count, "command": section.command}
            for section in report.sections
        ]
        output.write_records([also, *lines] if first else [*lines, also], _FINDINGS, None)
        for section in report.sections:
            if section.left_out:
                note(f"{section.title} left out: {section.left_out}")
    if report.empty_reason:
        note(report.empty_reason)
    end_if_damaged((), report.damaged)
