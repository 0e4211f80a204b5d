"""The commands that change a table or tell of it as a whole: `create`, `info`, `delete`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from webtable.cli.cells import new_table
from webtable.cli.failing import NOT_DONE, STORE, complain
from webtable.cli.indexing import index_lines
from webtable.cli.layouts import (
    Compression,
    DigitsOption,
    IndexesOption,
    NamesOption,
    RegionsOption,
    SaltOption,
    TTLOption,
    layout_options,
)
from webtable.cli.output import console, on_terminal, write_lines
from webtable.cli.session import session
from webtable.cli.text import examples, harmless, plural
from webtable.errors import InvalidArgument, SchemaDrift
from webtable.repository import create as create_table
from webtable.rowkey.shown import key_text
from webtable.schema import FAMILY_OPTIONS, Layout, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.repository import WebTable

commands = typer.Typer()

_SHOWN_REGIONS = 20


@commands.command(
    epilog=examples(
        "webtable create",
        "webtable -s old.db create --ttl none --indexes time,status",
        "webtable -s hbase://localhost:9090/crawl?thrift2=9091 create --regions 16",
        "webtable -s hbase://gateway/crawl create --regions 16 --dry-run",
    )
)
def create(
    ctx: typer.Context,
    regions: RegionsOption = 1,
    salt: SaltOption = None,
    digits: DigitsOption = None,
    ttl: TTLOption = None,
    versions: Annotated[
        int | None, typer.Option(metavar="N", help="How many contents of a page are kept. Default: 3.")
    ] = None,
    names: NamesOption = None,
    compression: Annotated[Compression | None, typer.Option(help="Of bodies. Default: zstd.")] = None,
    plain_columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B|none",
            help="Stored as plain text too, for filters and other programs. Default: title,status_code,last_modified.",
        ),
    ] = None,
    indexes: IndexesOption = None,
    apply: Annotated[bool, typer.Option("--apply", help="Change families that differ from what is wanted.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and the same for the HBase shell; do nothing.")
    ] = False,
) -> None:
    """Create the table, if it is not there.

    Salt, names and compression are part of the layout, which a table keeps; for its indexes see `index`.

    Families that differ from what is wanted are shown, and changed with --apply.
    """
    options = layout_options(
        salt=salt,
        digits=digits,
        ttl=ttl,
        names=names,
        compression=compression,
        versions=versions,
        plain_columns=plain_columns,
        indexes=indexes,
    )
    this = session(ctx)
    if dry_run:
        _show_plan(create_table(this.store, regions=regions, dry_run=True, **options))
        return
    try:
        done = create_table(this.store, regions=regions, apply=apply, **options)
    except SchemaDrift as exc:
        _show_plan(create_table(this.store, regions=regions, dry_run=True, **options))
        complain("the table differs from what is wanted, as shown: nothing was changed, --apply changes it")
        raise typer.Exit(STORE) from exc
    typer.echo(harmless(str(done)) if done.create else str(done) or _as_wanted(done))


@commands.command(
    epilog=examples("webtable info", "webtable -s hbase://localhost:9090/crawl?thrift2=9091 info | grep region")
)
def info(ctx: typer.Context) -> None:
    """Show the layout, the indexes, the families and the regions of the table."""
    with session(ctx).open() as table:
        families = table.store.describe(table.table).schema.families
        regions = [
            (key_text(region.keys.start), key_text(region.keys.stop), region.server)
            for region in table.store.regions(table.table)
        ]
        layout = _layout_lines(table)
        indexes = [(line.name, line.phase, line.of) for line in index_lines(table)]
    options = [
        (family.name, *(_option_text(option, getattr(family, option)) for option in FAMILY_OPTIONS))
        for family in families
    ]
    if on_terminal():
        _show_info(table.name, layout, indexes, options, regions)
        return
    write_lines([("table", table.name)])
    write_lines([(f"layout.{name}", value) for name, value in layout])
    write_lines([(f"index.{index}", *(part for part in state if part)) for index, *state in indexes])
    write_lines(
        [
            (f"family.{family}.{option}", value)
            for family, *values in options
            for option, value in zip(FAMILY_OPTIONS, values, strict=True)
        ]
    )
    write_lines([("region", *region) for region in regions])


@commands.command(
    epilog=examples(
        "webtable delete https://example.com/products",
        "webtable delete --yes https://example.com/a https://example.com/b",
    )
)
def delete(
    ctx: typer.Context,
    urls: Annotated[list[str], typer.Argument(metavar="URL", help="The pages' URLs.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete pages with all that is stored of them: every version, links and metadata."""
    if not yes and not _can_ask():
        raise InvalidArgument("nobody can be asked, standard input is no terminal: give --yes to delete all the same")
    missing = []
    with session(ctx).open() as table:
        for url in urls:
            table.key.encode(url)  # a URL that is none stops it before the first page is gone
        if not yes and not typer.confirm(f"Delete {plural(len(urls), 'page')} from {table.name}?", err=True):
            complain("nothing was deleted")
            raise typer.Exit(NOT_DONE)
        for url in urls:
            if table.delete(url):
                typer.echo(f"deleted\t{harmless(url)}")
            else:
                missing.append(url)
    for url in missing:
        complain(f"{url}: not stored")
    if missing:
        raise typer.Exit(NOT_DONE)


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _show_plan(steps: Plan) -> None:
    if steps.is_empty:
        typer.echo(_as_wanted(steps))
        return
    typer.echo(f"{steps}\n\nIn the HBase shell:\n{steps.shell()}")


def _as_wanted(steps: Plan) -> str:
    return f"table {steps.wanted.name!r} is there as it is wanted"


def _layout_lines(table: WebTable) -> list[tuple[str, str]]:
    layout = table.layout
    return [(name, _option_text(name, getattr(layout, name))) for name in Layout.__struct_fields__]


def _option_text(name: str, value: object) -> str:
    match name, value:
        case "ttl", int():
            return f"{value} ({value / 86_400:g} days)"
        case "ttl", None:
            return "none"
        case _, None | () | {}:
            return "none"
        case _, tuple():
            return ",".join(map(str, value))
        case _:
            return str(value)


def _show_info(
    name: str,
    layout: Sequence[tuple[str, str]],
    indexes: Sequence[tuple[str, str, str]],
    families: Sequence[tuple[str, ...]],
    regions: Sequence[tuple[str, str, str]],
) -> None:
    from rich.text import Text

    target = console()
    target.print(Text(harmless(name), style="bold"))
    shown = new_table("Layout")
    shown.show_header = False
    shown.add_column(style="bold")
    shown.add_column()
    for field, value in layout:
        shown.add_row(field, Text(harmless(value)))
    target.print(shown)
    if indexes:
        shown = new_table("Indexes")
        shown.show_header = False
        shown.add_column(style="bold")
        for _ in ("phase", "of"):
            shown.add_column()
        for index in indexes:
            shown.add_row(*(Text(harmless(part)) for part in index))
        target.print(shown)
    # A family's options stand below each other, since a terminal is too narrow for all of them side by side.
    shown = new_table("Families")
    shown.add_column("", style="bold")
    for family, *_ in families:
        shown.add_column(Text(harmless(family)))
    for at, option in enumerate(FAMILY_OPTIONS, 1):
        shown.add_row(option, *(family[at] for family in families))
    target.print(shown)
    shown = new_table(plural(len(regions), "region"))
    for heading in ("first key", "up to", "server"):
        shown.add_column(heading)
    for region in regions[:_SHOWN_REGIONS]:
        shown.add_row(*(Text(part or "–") for part in region))
    target.print(shown)
    if len(regions) > _SHOWN_REGIONS:
        target.print(f"… and {len(regions) - _SHOWN_REGIONS:,} more; in a pipe all of them are shown")
