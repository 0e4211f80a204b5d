"""The commands that report on a site: `audit` and `compare`, as a page, as a few lines, or as JSON."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from webtable.cli.exit_codes import NOT_DONE, note, report_damage
from webtable.cli.options import NeededSiteArgument
from webtable.cli.session import session
from webtable.cli.terminal.output import check_page_file, write_bytes, write_json, write_page, write_records
from webtable.cli.terminal.text import TIME, examples, parse_times
from webtable.questions import TIME_FORMS, column, named_site

if TYPE_CHECKING:
    from webtable.reports import Audit, Comparison

commands: Final = typer.Typer()

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
    format: ReportFormatOption = ReportFormat.text,  # noqa: A002
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
    format: ReportFormatOption = ReportFormat.text,  # noqa: A002
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


def _write(found: Audit | Comparison, html: Path | None, format: ReportFormat, lines: list[_Line]) -> None:  # noqa: A002
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
