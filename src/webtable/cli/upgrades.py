"""The command `upgrade`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from webtable._progress import progress_bar
from webtable._shown import harmless
from webtable.cli.exits import NOT_DONE, note, one_line
from webtable.cli.messages import in_commands
from webtable.cli.session import import_indexes, session
from webtable.cli.text import examples
from webtable.repository import upgrade as upgrade_store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webtable.repository import Outdated

commands = typer.Typer()


@commands.command(
    epilog=examples(
        "webtable upgrade",
        "webtable -s crawl.db upgrade --apply",
        "webtable -s hbase://localhost:9090/crawl?thrift2=9091 upgrade --apply",
    )
)
def upgrade(
    ctx: typer.Context,
    apply: Annotated[bool, typer.Option("--apply", help="Do what can be done in place. Default: only say it.")] = False,
) -> None:
    """Say what of the table is older than in a new one, and what becomes of it; with --apply bring it up to date.

    Each line says what it is of, what was found and what is done: file, layout, families, tables, indexes. Below stands
    what stays, with the command for it: what takes another table (keys, digests, pages), and what is yours to decide.

    The table may be in use, by this version of webtable. Where it was interrupted, the same command goes on. The exit
    code is 1 where there was something to do, and no --apply.
    """
    this = session(ctx)
    import_indexes(this.indexes)
    with progress_bar("upgrade", "page") as counted:
        found = upgrade_store(this.store, apply=apply, on_progress=counted)
    command = this.command("")
    _write(found.steps, "done" if apply else "to do", command)
    _write(found.left, "stays", command)
    if found.is_empty:
        note("nothing to do")
    elif not apply:
        note(f"nothing was changed; to do it: {this.command('upgrade --apply')}")
        raise typer.Exit(NOT_DONE)


def _write(found: Iterable[Outdated], state: str, command: str) -> None:
    for one in found:
        typer.echo(f"{state:8}{harmless(one.what)}: {one_line(one.found)}")
        typer.echo(f"{'':8}→ {one_line(in_commands(one.remedy, command))}")
