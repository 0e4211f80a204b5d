"""The commands that change a table or tell of it as a whole: `create`, `alter`, `info`, `delete`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from webtable.cli.cells import new_table
from webtable.cli.exits import NOT_DONE, STORE, complain
from webtable.cli.indexes import index_lines
from webtable.cli.layouts import (
    Compression,
    DigitsOption,
    IndexesOption,
    NamesOption,
    RegionsOption,
    SaltOption,
    TTLOption,
    altered_options,
    layout_options,
)
from webtable.cli.output import console, on_terminal, write_lines
from webtable.cli.session import session
from webtable.cli.text import examples, harmless, plural
from webtable.errors import InvalidArgument, SchemaDrift
from webtable.repository import create as create_table
from webtable.rowkey.key_text import key_text
from webtable.schema import FAMILY_OPTIONS, Layout, LayoutPlan, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.repository import WebTable

commands = typer.Typer()

_SHOWN_REGIONS = 20


def _kept(option: str) -> Any:
    """Return an option that is not shown: who gives it is told why a table keeps what it says."""
    return typer.Option(option, hidden=True, help="Refused: a table keeps it as it was created.")


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
    epilog=examples(
        "webtable alter --ttl none",
        "webtable alter --ttl 30d --versions 5 --dry-run",
        "webtable -s hbase://localhost:9090/crawl?thrift2=9091 alter --set content.block_size=131072 --yes",
    )
)
def alter(
    ctx: typer.Context,
    ttl: Annotated[
        str | None, typer.Option(metavar="DAYS|none", help="How long content is kept; links are kept twice as long.")
    ] = None,
    versions: Annotated[int | None, typer.Option(metavar="N", help="How many contents of a page are kept.")] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FAMILY.OPTION=VALUE",
            help="An option of a family, as in content.block_size=131072; may be repeated.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and the same for the HBase shell; do nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask where something is lost.")] = False,
    salt: Annotated[str | None, _kept("--salt")] = None,
    digits: Annotated[str | None, _kept("--digits")] = None,
    names: Annotated[str | None, _kept("--names")] = None,
    compression: Annotated[str | None, _kept("--compression")] = None,
    plain_columns: Annotated[str | None, _kept("--plain-columns")] = None,
    indexes: Annotated[str | None, _kept("--indexes")] = None,
    regions: Annotated[str | None, _kept("--regions")] = None,
) -> None:
    """Change how long and in how many versions the table keeps content, while it is in use.

    Others that have the table open go by it two seconds later. Where something is lost by it, it asks first.

    FAMILY is content, metadata, outlinks, inlinks, indexes (the entries of all of them) or queue. OPTION is
    min_versions, compression, bloom, block_encoding, block_size, in_memory, block_cache or replication_scope; a file
    goes by min_versions and only records the others. All else, as the salt, stays as the table was created.

    Where it was interrupted, the same command completes it.
    """
    fixed = {
        "salt": salt,
        "digits": digits,
        "names": names,
        "compression": compression,
        "plain_columns": plain_columns,
        "indexes": indexes,
        "regions": regions,
    }
    given = altered_options(ttl=ttl, versions=versions, families=options or (), fixed=fixed)
    with session(ctx).open() as table:
        steps = table.alter(dry_run=True, **given)
        if dry_run or steps.is_empty:
            _show_plan(steps)
            return
        if steps.losses and not yes:
            _ask_to_lose(steps)
        typer.echo(str(table.alter(**given)))


def _ask_to_lose(steps: LayoutPlan) -> None:
    if not _can_ask():
        lost = "; ".join(steps.losses)
        raise InvalidArgument(
            f"nobody can be asked, standard input is no terminal: give --yes to alter it all the same, which {lost}"
        )
    typer.echo(str(steps), err=True)
    if not typer.confirm("What it removes cannot be brought back. Alter the table?", err=True):
        complain("nothing was altered")
        raise typer.Exit(NOT_DONE)


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


def _show_plan(steps: Plan | LayoutPlan) -> None:
    if steps.is_empty:
        typer.echo(_as_wanted(steps))
        return
    shell = steps.shell()
    typer.echo(f"{steps}\n\nIn the HBase shell:\n{shell}" if shell else str(steps))


def _as_wanted(steps: Plan | LayoutPlan) -> str:
    name = steps.table if isinstance(steps, LayoutPlan) else steps.wanted.name
    return f"table {name!r} is there as it is wanted"


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
