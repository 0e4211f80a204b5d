"""The commands that create and alter a table: `create`, `alter`."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from webtable import create as create_table
from webtable.cli import options
from webtable.cli.exit_codes import STORE, complain
from webtable.cli.output import documented
from webtable.cli.progress import check_confirmable, confirm
from webtable.cli.session import CommandSession, session
from webtable.display import harmless
from webtable.display.text import plural
from webtable.errors import SchemaDrift
from webtable.schema import LayoutPlan, Plan
from webtable.store import adapter_of

commands: Final = typer.Typer()


def _kept(option: str) -> Any:
    """Return a hidden option, which is refused with the reason why a table keeps its value."""
    return typer.Option(option, hidden=True, help="Refused: a table keeps it as it was created.")


@documented(commands)
def create(
    ctx: typer.Context,
    regions: options.RegionsOption = 1,
    salt: options.SaltOption = None,
    digits: options.DigitsOption = None,
    ttl: options.TTLOption = None,
    versions: options.VersionsOption = None,
    names: options.NamesOption = None,
    compression: Annotated[
        options.Compression | None, typer.Option(help="Compression of bodies. Default: zstd.")
    ] = None,
    plain_columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B|none",
            help="Columns stored as plain text too, for filters and other programs. "
            "Default: title,status,last_modified.",
        ),
    ] = None,
    indexes: options.IndexesOption = None,
    alter_families: Annotated[
        bool, typer.Option("--alter-families", help="Alter families that differ from what is wanted.")
    ] = False,
    dry_run: options.DryRunOption = False,
    yes: options.YesOption = False,
) -> None:
    """Create the table if it does not exist.

    A table keeps its salt, names and compression; for its indexes see `index`.

    Families that differ are shown, and altered with --alter-families. If that loses data, it asks in a terminal;
    elsewhere it needs --yes.

    Examples:
        webtable create
        webtable -s old.db create --ttl none --indexes time,status
        webtable -s hbase://localhost:9090/crawl?thrift2=9091 create --regions 16
        webtable -s hbase://gateway/crawl create --regions 16 --dry-run
    """
    layout = options.layout_options(
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
        _show_plan(create_table(this.store, regions=regions, dry_run=True, **layout), this)
        return
    # The plan is made twice, before the question and by the call: the table may have changed while somebody thought.
    if alter_families and not yes:
        steps = create_table(this.store, regions=regions, dry_run=True, **layout)
        _confirm_losses(steps, yes=yes)
    try:
        done = create_table(this.store, regions=regions, alter_families=alter_families, **layout)
    except SchemaDrift as exc:
        _show_plan(create_table(this.store, regions=regions, dry_run=True, **layout), this)
        complain("the table differs from what is wanted, as shown: nothing was changed; --alter-families alters it")
        raise typer.Exit(STORE) from exc
    typer.echo(harmless(str(done)) if done.create else str(done) or _as_wanted(done))


@documented(commands)
def alter(
    ctx: typer.Context,
    ttl: Annotated[
        str | None, typer.Option(metavar="DAYS|none", help="How long content is kept; links are kept twice as long.")
    ] = None,
    versions: options.OtherVersionsOption = None,
    family_options: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FAMILY.OPTION=VALUE",
            help="An option of a family, as in content.block_size=131072 (repeatable).",
        ),
    ] = None,
    dry_run: options.DryRunOption = False,
    yes: options.YesOption = False,
    salt: Annotated[str | None, _kept("--salt")] = None,
    digits: Annotated[str | None, _kept("--digits")] = None,
    names: Annotated[str | None, _kept("--names")] = None,
    compression: Annotated[str | None, _kept("--compression")] = None,
    plain_columns: Annotated[str | None, _kept("--plain-columns")] = None,
    indexes: Annotated[str | None, _kept("--indexes")] = None,
    regions: Annotated[str | None, _kept("--regions")] = None,
) -> None:
    """Change how long and in how many versions the table keeps content, while it is in use.

    Other processes follow after two seconds. If the change loses data, it asks in a terminal; elsewhere it needs
    --yes. After an interruption run it again.

    FAMILY is content, metadata, outlinks, inlinks, indexes (the entries of all of them) or queue. OPTION is
    min_versions, compression, bloom, block_encoding, block_size, in_memory, block_cache or replication_scope; a file
    obeys min_versions and only records the others.

    Examples:
        webtable alter --ttl none --versions all
        webtable alter --ttl 30d --versions 5 --dry-run
        webtable -s hbase://localhost:9090/crawl?thrift2=9091 alter --set content.block_size=131072 --yes
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
    changes = options.altered_options(ttl=ttl, versions=versions, families=family_options or (), fixed=fixed)
    with session(ctx).open() as table:
        steps = table.maintenance.alter(dry_run=True, **changes)
        if dry_run or steps.is_empty:
            _show_plan(steps, session(ctx))
            return
        _confirm_losses(steps, yes=yes)
        typer.echo(str(table.maintenance.alter(**changes)))


def _confirm_losses(steps: Plan | LayoutPlan, *, yes: bool) -> None:
    if not steps.losses or yes:
        return
    purpose = f"alter the table, which {'; '.join(steps.losses)}"
    check_confirmable(purpose, yes=yes)
    typer.echo(str(steps), err=True)
    confirm(purpose, "Alter the table? What it removes cannot be brought back.", yes=yes)


def _show_plan(steps: Plan | LayoutPlan, this: CommandSession) -> None:
    """Show *steps*, for a store with a shell also as its statements."""
    if steps.is_empty:
        typer.echo(_as_wanted(steps))
        return
    # No other store has a shell, and a file is one whatever tables are in it.
    shell = steps.shell() if adapter_of(this.store).capabilities.has_snapshots else ""
    if not shell:
        typer.echo(str(steps))
        return
    others = ""
    if isinstance(steps, Plan) and steps.create:
        others = f"\nand beside it, which webtable create makes: {', '.join(map(repr, steps.beside))}"
        namespace, colon, _ = steps.wanted.name.partition(":")
        shell = f"# first, if there is no such namespace: create_namespace '{namespace}'\n{shell}" if colon else shell
    typer.echo(f"{steps}{others}\n\nIn the HBase shell:\n{shell}")


def _as_wanted(steps: Plan | LayoutPlan) -> str:
    if isinstance(steps, LayoutPlan) or steps.regions is None:
        name = steps.table if isinstance(steps, LayoutPlan) else steps.wanted.name
        return f"table {name!r} already exists as requested"
    has, wanted = plural(steps.regions, "region"), len(steps.wanted.split_keys) + 1
    return f"table {steps.wanted.name!r} already exists, as requested but for its regions: it has {has}, not {wanted:,}"
