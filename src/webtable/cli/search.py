"""The commands `search` and `stats`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Unpack

import typer

from webtable.cli.cells import highlighted
from webtable.cli.damage import tell_damage
from webtable.cli.exits import NOT_DONE
from webtable.cli.listings import (
    DomainArgument,
    FullScanOption,
    HostOnlyOption,
    OfPagesInDomain,
    PathOption,
    check_scan,
    question,
)
from webtable.cli.output import Format, FormatOption, chosen_format, console, write_records
from webtable.cli.records import HITS
from webtable.cli.session import session
from webtable.cli.text import examples, harmless, plural, size_text
from webtable.repository import Results, WebTable  # noqa: TC001 - typer reads it
from webtable.repository.matching import Hit  # noqa: TC001 - typer reads it
from webtable.repository.questions.stats import GROUPINGS, Stats

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

commands = typer.Typer()

_PANEL = "Words and counts"
_MOST_GROUPS = 15


class SearchedName(StrEnum):
    """What of a page is searched."""

    in_title = "title"
    in_body = "body"
    in_all = "all"


def _write_hits(records: Iterable[Any], columns: Sequence[str], format: Format | None, *, asked_for: bool) -> int:  # noqa: A002, ARG001
    """Write what was found for a reader at a terminal: each URL, its title, and the excerpts below."""
    from rich.padding import Padding
    from rich.text import Text

    target, count = console(), 0
    for hit in records:
        count += 1
        matches = Text(f"  {plural(hit.matches, 'match', 'es')}", style="dim")
        target.print(Text.assemble((harmless(hit.url), "bold"), matches), soft_wrap=True)
        for excerpt in (*([hit.title] if hit.title else []), *hit.excerpts):
            target.print(Padding(highlighted(excerpt), (0, 0, 0, 2), expand=False))
    return count


@question(
    commands,
    HITS,
    orders=("url", "storage"),
    panel=_PANEL,
    table_writer=_write_hits,
    epilog=examples(
        "webtable search salt --domain example.com",
        "webtable search 'salt \"row key\"' --domain docs.example.com --path /guide/",
        "webtable search 'salt*' --domain example.com",
        "webtable search hbase --in title --full-scan --format csv",
    ),
)
def search(
    table: WebTable,
    text: Annotated[
        list[str],
        typer.Argument(
            help="Words that all must occur, in any case; a phrase in double quotes is one word, and "
            "prefix* is every word that begins so.",
            show_default=False,
        ),
    ],
    in_: Annotated[SearchedName, typer.Option("--in", help="Where to look for them.")] = SearchedName.in_all,
    substring: Annotated[bool, typer.Option("--substring", help="Find them inside of other words too.")] = False,
    host_only: HostOnlyOption = False,
    path: PathOption = None,
    full_scan: FullScanOption = False,
    **asking: Unpack[OfPagesInDomain],
) -> Results[Hit]:
    """List the pages with some words in their title or their body, with the text around them.

    The bodies of the domain are read for it, one after another; titles alone are filtered where they are stored.
    """
    check_scan(asking["domain"], full_scan)
    return table.search(
        " ".join(text),
        in_=in_.value,
        substring=substring,
        host_only=host_only,
        path=path,
        full_scan=full_scan,
        **asking,
    )


@commands.command(
    rich_help_panel=_PANEL,
    epilog=examples(
        "webtable stats example.com",
        "webtable stats --full-scan --by status,type --format csv",
        "webtable stats --full-scan --by host --no-bytes",
    ),
)
def stats(
    ctx: typer.Context,
    domain: DomainArgument = None,
    host_only: HostOnlyOption = False,
    path: PathOption = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="A,B",
            help="By which to count: host, status, type, age, region. Default: all.",
            show_default=False,
        ),
    ] = None,
    no_bytes: Annotated[
        bool, typer.Option("--no-bytes", help="Count pages only; faster, by host and region alone.")
    ] = False,
    full_scan: FullScanOption = False,
    format: FormatOption = None,  # noqa: A002
) -> None:
    """Count pages and their bytes, now: by host, status, type, age of the last capture, and region.

    All rows of the domain are read for it, without their bodies.
    """
    from webtable.cli.progress import counting

    check_scan(domain, full_scan)
    groupings = GROUPINGS if by is None else tuple(name.strip() for name in by.split(",") if name.strip())
    with session(ctx).open() as table, counting("stats", "page") as counted:
        found = table.stats(
            domain,
            host_only=host_only,
            path=path,
            by=groupings,  # type: ignore[arg-type]
            bytes=not no_bytes,
            full_scan=full_scan,
            on_progress=counted,
        )
    if chosen_format(format) is Format.table:
        _show_stats(found)
    else:
        columns = ("by", "group", "pages") if no_bytes else ("by", "group", "pages", "bytes")
        write_records(_counts(found), columns, format)
    if found.damaged:
        tell_damage(found.examples, found.damaged)
        raise typer.Exit(NOT_DONE)


class _Count(NamedTuple):
    """A line of what was counted."""

    by: str
    group: str
    pages: int
    bytes: int | None


def _counts(found: Stats) -> Iterator[_Count]:
    yield _Count("all", "", found.pages, found.bytes)
    for by, groups in found.by.items():
        yield from (_Count(by, name, group.pages, group.bytes) for name, group in groups.items())


def _show_stats(found: Stats) -> None:
    size = "" if found.bytes is None else f", {size_text(found.bytes)}"
    typer.echo(f"{plural(found.pages, 'page')}{size}")
    for by, groups in found.by.items():
        lines = [_Count(by, name or "–", group.pages, group.bytes) for name, group in groups.items()]
        if len(lines) > _MOST_GROUPS:
            lines.sort(key=lambda line: -line.pages)
        write_records(
            lines[:_MOST_GROUPS], ("group", "pages", "bytes"), Format.table, asked_for=False, title=f"By {by}"
        )
        if len(lines) > _MOST_GROUPS:
            typer.echo(f"… and {len(lines) - _MOST_GROUPS:,} more; in a pipe all of them are shown")
