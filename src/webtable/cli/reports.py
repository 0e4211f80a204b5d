"""The commands that report on a site: `audit` and `compare`, as a page, as a few lines, or as JSON."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import typer

from webtable._files import atomic_file
from webtable._importable import needed
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
from webtable.errors import InvalidArgument
from webtable.progress import progress_bar
from webtable.questions import TIME_FORMS, column, named_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.answers import Grouping, Stats
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


# --- The commands that draw pictures: `plot status`, `plot regions`, `plot hosts`, `plot history` … -------------------


group: Final = typer.Typer()

ENDINGS = (".png", ".svg", ".pdf")
"""The endings that a picture's name may have."""

DPI = 100
"""The resolution of a PNG, in dots per inch."""

OutOption = Annotated[Path, typer.Option("--out", metavar="FILE", help="The picture to write: .png, .svg or .pdf.")]
URLArgument = Annotated[str, typer.Argument(metavar="URL", help="A page.", show_default=False)]


@group.callback(invoke_without_command=True)
def pictures(ctx: typer.Context) -> None:
    """Draw pictures of pages and hosts, as PNG, SVG or PDF; without a name, list them.

    They need webtable's extra `plot` (matplotlib).
    """
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def _counted(name: str, by: Grouping, said: str) -> None:
    """Add a command that draws what `stats` counts *by*."""

    def command(
        ctx: typer.Context,
        out: OutOption,
        site: SiteArgument = None,
    ) -> None:
        check_out(out)
        with session(ctx).open() as table, progress_bar("plot", "page") as counted:
            found = table.stats(site_of(site), by=by, on_progress=counted)
        write_picture(found.plot(by), out)
        if found.damaged:
            report_damage(found.examples, found.damaged)
            raise typer.Exit(NOT_DONE)

    command.__doc__ = said
    lines = examples(f"webtable plot {name} example.com --out {name}.png", f"webtable plot {name} all --out x.svg")
    group.command(name, epilog=lines)(command)


_counted("status", "status", "Draw the pages by status code.")
_counted("types", "type", "Draw the pages by media type.")
_counted("languages", "language", "Draw the pages by language, without its region: pt-br as pt.")
_counted("ages", "age", "Draw the pages by the age of their last capture.")
_counted("sizes", "size", "Draw the pages by size.")
_counted("captures", "day", "Draw on which days pages were captured last: the latest 31 days that have any.")
_counted("regions", "region", "Draw the share of pages and bytes that each region has, with the hot ones marked.")


@group.command(epilog=examples("webtable plot hosts --out hosts.svg", "webtable plot hosts com --by bytes --out h.png"))
def hosts(
    ctx: typer.Context,
    out: OutOption,
    site: SiteArgument = None,
    by: Annotated[Literal["pages", "bytes"], typer.Option("--by", help="What bars stand for.")] = "pages",
) -> None:
    """Draw the largest hosts, by the counts of `links refresh`."""
    check_out(out)
    with session(ctx).open() as table:
        write_picture(table.hosts(site_of(site)).plot(by), out)


@group.command(
    epilog=examples(
        "webtable plot history https://example.com/ --out history.png",
        "webtable -s crawl.db plot history https://example.com/products --out history.pdf",
    )
)
def history(ctx: typer.Context, url: URLArgument, out: OutOption) -> None:
    """Draw the versions of a page: when they came, how large they were, and with which status."""
    check_out(out)
    with session(ctx).open() as table:
        write_picture(table.history(url).plot(), out)


def check_out(out: Path) -> None:
    """Raise `InvalidArgument` if no picture can be written to *out*, or `MissingExtra`, before anything is read."""
    with needed("matplotlib", "plot"):
        import matplotlib  # noqa: F401
    if out.suffix.lower() not in ENDINGS:
        raise InvalidArgument(f"out={str(out)!r} must end with {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    if out.is_dir() or not out.parent.is_dir():
        raise InvalidArgument(f"out={str(out)!r} must be a file in a directory that exists")


def write_picture(ax: Any, out: Path) -> None:
    """Write the figure of *ax* to the file *out*, which appears when it is complete, and report what it shows."""
    import matplotlib

    ending = out.suffix.lower().removeprefix(".")
    # Without a date and random names, so that the same picture is the same file.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending)
    with atomic_file(out) as part, matplotlib.rc_context({"svg.hashsalt": "webtable"}):
        ax.get_figure(root=True).savefig(part, format=ending, dpi=DPI, metadata=metadata)
    note(f"{out}: {ax.get_title(loc='left') or ', '.join(text.get_text() for text in ax.texts)}")


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
