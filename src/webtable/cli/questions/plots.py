"""The commands that draw pictures: `plot status`, `plot regions`, `plot hosts`, `plot history` …"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from webtable._files import atomic_file
from webtable._importable import needed
from webtable.cli.exit_codes import NOT_DONE, note, report_damage
from webtable.cli.options import SiteArgument, site_of
from webtable.cli.session import session
from webtable.cli.terminal.text import examples
from webtable.errors import InvalidArgument
from webtable.progress import progress_bar

if TYPE_CHECKING:
    from webtable.answers import Grouping

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
