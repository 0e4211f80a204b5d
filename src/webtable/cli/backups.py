"""The commands `backup create`, `backup rescue`, `backup snapshot` and `backup verify`."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Final

import typer

from webtable import ALL
from webtable._clock import clock
from webtable.cli.exit_codes import NOT_DONE, not_done, report_findings
from webtable.cli.output import documented
from webtable.cli.progress import confirm, interruptible, shown_bytes
from webtable.cli.session import naming, session, to_be_read
from webtable.display import harmless
from webtable.display.text import plural, size_text
from webtable.errors import CapabilityError, InvalidArgument
from webtable.progress import progress_bar
from webtable.schema import Snapshots, index_table_name
from webtable.store import StoreURL, adapter_of, open_store

if TYPE_CHECKING:
    from webtable import WebTable

group: Final = typer.Typer(help="Back up a store, and check what was backed up.", no_args_is_help=False)


@documented(group)
def create(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
) -> None:
    """Copy a store that is a file, with all its tables, into another file, as it is at one time.

    Others may read and write meanwhile. The copy appears when it is complete and verified. To restore it, replace the
    store with it while nobody has the store open, or use it with `webtable -s FILE`. For HBase see `backup snapshot`.

    Examples:
        webtable backup create backup.db
        webtable -s crawl.db backup create saved.db
    """
    store, _ = open_store(session(ctx).store)
    with store:
        space = store.space()
        with interruptible(), shown_bytes("backup", space.bytes if space else None) as report:
            size = store.backup(file, report)
    typer.echo(harmless(f"{size_text(size)}, checked: {file}"))


@documented(group)
def rescue(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
) -> None:
    """Write all that can be read of a damaged store, which is a file, into a new file.

    It skips damaged parts of the file, each of which may have held many rows. The store is not changed, and nobody
    may write to it meanwhile. The exit code is 1 if something could not be read. Then run `webtable -s FILE verify
    all` and `webtable -s FILE index repair --all`.

    Examples:
        webtable backup rescue rescued.db
        webtable -s crawl.db backup rescue rescued.db
    """
    this = session(ctx)
    with interruptible(), progress_bar("rescue", "record") as counted:
        done = adapter_of(this.store).rescue(StoreURL.parse(this.store), file, counted)
    typer.echo(harmless(f"{plural(done.records, 'record')} read, {size_text(done.bytes)}: {file}"))
    if done.places:
        new = f"webtable -s {quote(str(file))}"
        raise not_done(
            f"{plural(done.places, 'place')} of the file cannot be read; what the new one lacks: {new} verify all; "
            f"then repair its indexes: {new} index repair --all"
        )


@documented(group)
def snapshot(
    ctx: typer.Context,
    label: Annotated[
        str | None,
        typer.Argument(metavar="LABEL", help="The common suffix of the snapshots' names. Default: the time."),
    ] = None,
    restore: Annotated[bool, typer.Option("--restore", help="Write the lines that restore them.")] = False,
    clone: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Write the lines that make another web table of them.")
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Do it now, instead of writing the lines: by hbase+native:// alone.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before --apply --restore.")] = False,
) -> None:
    """Write the lines for the HBase shell that take snapshots of all tables of a web table, with explanations.

    It changes nothing, as no gateway has a call for snapshots; with hbase+native://, --apply does what the lines
    would do. Keep the text: its comments have the lines that restore the snapshots or copy them to another cluster.
    --restore and --clone write only those, for the snapshots of LABEL. docs/backup.md explains what to do after a
    restore.

    Examples:
        webtable -s hbase://gateway/crawl backup snapshot | hbase shell -n
        webtable -s hbase://gateway/crawl backup snapshot before-upgrade --restore | hbase shell -n
        webtable -s hbase://gateway/crawl backup snapshot before-upgrade --clone crawl_before
        webtable -s hbase+native://zk1,zk2,zk3/crawl backup snapshot before-upgrade --apply
    """
    if (restore or clone) and label is None:
        raise InvalidArgument("LABEL must be given, as in webtable backup snapshot LABEL --restore")
    if restore and clone:
        raise InvalidArgument("--restore and --clone exclude each other")

    with session(ctx).open() as table:
        snapshots = _snapshots(table, label or f"{clock.now():%Y%m%d-%H%M%S}")
        if restore:
            lines, commands = snapshots.restore_lines(), snapshots.restoring()
        elif clone:
            lines, commands = snapshots.clone_lines(clone), snapshots.cloning(clone)
        else:
            lines, commands = snapshots.create_lines(), snapshots.creating()
        if not apply:
            typer.echo(lines, nl=False)
            return
        if not table.store.capabilities.runs_shell_commands:
            raise CapabilityError(
                f"{table.store.name}: no gateway has a call for snapshots; run the lines that come without --apply in "
                "the HBase shell, or give the store as hbase+native://"
            )
        if restore:
            question = f"Replace all of {snapshots.table} by its snapshots of {snapshots.label}?"
            confirm("restore the snapshots", question, yes=yes)
        with interruptible():
            for command in commands:
                table.store.run(command)
                typer.echo(harmless(str(command)))


def _snapshots(table: WebTable, label: str) -> Snapshots:
    if not table.store.capabilities.has_snapshots:
        raise CapabilityError(f"{table.name}: this store has no snapshots; webtable backup create copies one in a file")
    states = table.indexes.states()
    indexes = [
        index_table_name(table.table, name) for name, state in states.items() if state.phase in ("ready", "building")
    ]
    return Snapshots.of(table.table, indexes, label)


@documented(group)
def verify(
    ctx: typer.Context,
    store: Annotated[str, typer.Argument(metavar="STORE", help="The backup: a file, a URL or a profile.")],
) -> None:
    """Compare all pages and bodies of a backup with their checksums and digests.

    It is read as by `verify all`, and the exit code is 1 if something is wrong. For an export use `import --dry-run`.

    Examples:
        webtable backup verify backup.db
        webtable backup verify 'sqlite:backup.db?max_cell=10MB'
    """
    if Path(store).is_dir():
        raise InvalidArgument(
            f"{store} is a directory: webtable import DIR --dry-run compares an export with its manifest"
        )
    this = naming(ctx, session(ctx).of(store))
    with to_be_read():
        opened = this.open()
    with interruptible(), opened as table, progress_bar("verify", "page") as counted:
        verification = table.maintenance.verify(ALL, on_progress=counted)
    report_findings(verification)
    typer.echo(f"{plural(verification.pages, 'page')}, {plural(verification.bodies, 'digest')} compared")
    if not verification.is_sound:
        raise typer.Exit(NOT_DONE)
