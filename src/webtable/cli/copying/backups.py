"""The commands `backup create`, `backup snapshot` and `backup verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from webtable._clock import clock
from webtable._shown import harmless
from webtable._shown.sizes import size_text
from webtable._shown.text import plural
from webtable.cli.exit_codes import NOT_DONE, note
from webtable.cli.session import session
from webtable.cli.terminal.text import examples
from webtable.errors import CapabilityError, InvalidArgument
from webtable.schema import Snapshots
from webtable.store import open_store

if TYPE_CHECKING:
    from webtable.cli.session import CommandSession
    from webtable.repository import WebTable

group = typer.Typer(help="Back up a store, and check what was backed up.", no_args_is_help=False)


@group.command(epilog=examples("webtable backup create backup.db", "webtable -s crawl.db backup create saved.db"))
def create(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that is not there yet.", show_default=False)],
) -> None:
    """Copy a store that is a file, with all its tables, into another file, as it is at one moment.

    Others may read and write meanwhile, and wait for nothing. The copy is there when it is whole and was checked; until
    then there is nothing that could be taken for it. It is a store: `webtable -s FILE` opens it, and to bring it back
    is to put it in the place of the store, when nobody has that open.

    For HBase see `backup snapshot`; for another store, or one that other programs read, see `copy` and `export`.
    """
    from webtable.cli.terminal.interaction import interruptible
    from webtable.cli.terminal.progress import shown_bytes

    store, _ = open_store(session(ctx).store)
    with store:
        space = store.space()
        with interruptible(), shown_bytes("backup", space.bytes if space else None) as told:
            size = store.backup(file, told)
    typer.echo(harmless(f"{size_text(size)}, checked: {file}"))


@group.command(
    epilog=examples(
        "webtable -s hbase://gateway/crawl backup snapshot | hbase shell -n",
        "webtable -s hbase://gateway/crawl backup snapshot before-upgrade --restore | hbase shell -n",
        "webtable -s hbase://gateway/crawl backup snapshot before-upgrade --clone crawl_before",
    )
)
def snapshot(
    ctx: typer.Context,
    label: Annotated[
        str | None,
        typer.Argument(
            metavar="LABEL", help="What tells these snapshots from others. Default: the moment.", show_default=False
        ),
    ] = None,
    restore: Annotated[bool, typer.Option("--restore", help="The lines that bring them back.")] = False,
    clone: Annotated[
        str | None, typer.Option(metavar="TABLE", help="The lines that make another web table of them.")
    ] = None,
) -> None:
    """Write the lines that take snapshots of all tables of a web table, for the HBase shell, and what they mean.

    Nothing is done by that: no gateway has a call for snapshots. The remarks in the text (behind #) have the lines that
    bring the snapshots back or to another cluster; keep it beside them. With --restore or --clone those lines alone are
    written, for the snapshots of LABEL. Which order they have, and what to do behind a restore, is told in
    docs/backup.md.
    """
    if (restore or clone) and label is None:
        raise InvalidArgument("label= must be given, as in webtable backup snapshot LABEL --restore")
    if restore and clone:
        raise InvalidArgument("restore= and clone= exclude each other")
    with session(ctx).open() as table:
        taken = _snapshots(table, label or f"{clock.now():%Y%m%d-%H%M%S}")
    typer.echo(taken.restored() if restore else taken.cloned(clone) if clone else taken.taken(), nl=False)


def _snapshots(table: WebTable, label: str) -> Snapshots:
    if not table.store.capabilities.has_snapshots:
        raise CapabilityError(f"{table.name}: this store has no snapshots; webtable backup create copies one in a file")
    indexes = [one.table for one in table.indexes.read().values() if one.state.phase in ("ready", "building")]
    return Snapshots.of(table.table, indexes, label)


@group.command(
    epilog=examples(
        "webtable backup verify backup", "webtable backup verify backup.db", "webtable backup verify weekly"
    )
)
def verify(
    ctx: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="DIR|STORE",
            help="What `export` has written, or a store: a file, a URL or a profile.",
            show_default=False,
        ),
    ],
) -> None:
    """Compare a backup with what was written: all files, digests and counts of a directory, all digests of a store.

    A directory is compared with its manifest: each file that is missing, cut or changed is named, and what has another
    number of captures. A store is read as `verify --full-scan` reads it; for the file itself see `doctor`. Nothing is
    changed. The exit code is 1 where something is wrong.
    """
    from webtable.cli.terminal.interaction import interruptible

    with interruptible():
        is_sound = _verified_files(Path(what)) if Path(what).is_dir() else _verified_store(session(ctx).of(what))
    if not is_sound:
        raise typer.Exit(NOT_DONE)


def _verified_files(folder: Path) -> bool:
    from webtable.cli.loading.imports import tell_problems
    from webtable.cli.terminal.progress import shown_bytes
    from webtable.formats import verify_backup
    from webtable.formats.backups.manifest import read_manifest

    manifest = read_manifest(folder)
    with shown_bytes("verify", manifest.bytes) as told:
        checked = verify_backup(folder, on_progress=told)
    tell_problems(checked)
    of = f"{checked.files:,} of {plural(len(manifest.files), 'file')}"
    counts = f"{plural(checked.pages, 'page')}, {plural(checked.captures, 'capture')} in {size_text(checked.bytes)}"
    typer.echo(f"{of} as they were written: {counts}")
    if manifest.damaged:
        note(f"{plural(manifest.damaged, 'row')} could not be read, or not all of them, when it was written")
    return checked.is_sound


def _verified_store(this: CommandSession) -> bool:
    from webtable._progress import progress_bar
    from webtable.cli.exit_codes import tell_findings

    with this.open() as table, progress_bar("verify", "page") as counted:
        found = table.verify(full_scan=True, on_progress=counted)
    tell_findings(found)
    typer.echo(f"{plural(found.pages, 'page')}, {plural(found.bodies, 'digest')} compared")
    return found.is_sound
