"""The command `export`: captures out of a table, as WARC files, with an index, or as one WACZ file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from webtable._progress import progress_bar
from webtable._shown import harmless, size_text
from webtable.cli.damage import tell_damage
from webtable.cli.exits import NOT_DONE, note
from webtable.cli.question_options import DomainArgument, FullScanOption, HostOnlyOption, PathOption, check_scan
from webtable.cli.session import session
from webtable.cli.text import examples, parse_size, plural

if TYPE_CHECKING:
    from webtable.formats import Archived

commands = typer.Typer()


class ArchiveFormat(StrEnum):
    """What archives are written as."""

    warc = "warc"
    cdxj = "cdxj"
    wacz = "wacz"


@commands.command(
    epilog=examples(
        "webtable export archive --full-scan",
        "webtable export archive example.com --format cdxj --max-file 500MB",
        "webtable export docs.wacz docs.example.com --path /guide/",
    )
)
def export(
    ctx: typer.Context,
    out: Annotated[
        Path, typer.Argument(metavar="DIR|FILE", help="A new or empty directory; for wacz a file.", show_default=False)
    ],
    domain: DomainArgument = None,
    host_only: HostOnlyOption = False,
    path: PathOption = None,
    full_scan: FullScanOption = False,
    format: Annotated[  # noqa: A002
        ArchiveFormat | None,
        typer.Option("--format", help="Default: wacz for a name that ends with .wacz, else warc.", show_default=False),
    ] = None,
    max_file: Annotated[
        str, typer.Option("--max-file", metavar="SIZE", help="Begin another WARC file behind so many bytes.")
    ] = "1GB",
) -> None:
    """Write all captures that are kept of the pages of a host, and of all hosts below it, as an archive.

    As warc they are WARC 1.1 files in a directory; cdxj adds index.cdxj, a sorted index of them; wacz is one file with
    all of that, for ReplayWeb.page and pywb. The archive is there when it is whole; what is broken off leaves nothing.

    `webtable ingest DIR --types all` makes the same pages of it, with their versions. What a WARC file cannot keep, is
    told in docs/archives.md; to write listings for other programs, see `pages --format`.
    """
    from webtable.formats import write_wacz, write_warc

    check_scan(domain, full_scan)
    chosen = format or (ArchiveFormat.wacz if out.suffix == ".wacz" else ArchiveFormat.warc)
    most = parse_size("max-file", max_file)
    with session(ctx).open() as table, progress_bar("export", "page") as counted:
        asked: dict[str, Any] = {"host_only": host_only, "path": path, "full_scan": full_scan, "file_bytes": most}
        if chosen is ArchiveFormat.wacz:
            done = write_wacz(table, out, domain, on_progress=counted, **asked)
        else:
            with_index = chosen is ArchiveFormat.cdxj
            done = write_warc(table, out, domain, with_index=with_index, on_progress=counted, **asked)
    _conclude(done, out)


def _conclude(done: Archived, out: Path) -> None:
    what = f"{plural(done.pages, 'page')}, {plural(done.records, 'capture')}"
    where = f"{plural(len(done.files), 'WARC file')} of {size_text(done.bytes)}"
    typer.echo(harmless(f"{what} in {where}: {out}"))
    if done.left_out:
        note(f"left out: {plural(done.left_out, 'capture')} whose status no response can have")
    if done.damaged:
        tell_damage(done.examples, done.damaged)
        raise typer.Exit(NOT_DONE)
