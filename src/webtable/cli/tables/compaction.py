"""The command that gives space back: `compact`."""

from __future__ import annotations

from typing import Annotated

import typer

from webtable._shown.sizes import size_text
from webtable.cli.session import session
from webtable.cli.terminal.text import examples, plural

commands = typer.Typer()


@commands.command(
    epilog=examples("webtable compact", "webtable -s old.db compact", "webtable compact --forget-deletes")
)
def compact(
    ctx: typer.Context,
    forget: Annotated[
        bool,
        typer.Option(
            "--forget-deletes",
            help="On HBase, when its shell has compacted the tables: take captures again "
            "that are older than the delete of their page. Nothing else is done.",
        ),
    ] = False,
) -> None:
    """Give back the space of what nobody sees any more: what was deleted, replaced or has expired.

    The file is written anew, which takes as much space again for as long as it lasts; those who write wait for it.
    Deletes are forgotten with what they have hidden: captures that are older can be stored again from then on.

    HBase does this by itself in its own time. To have it done at once takes its shell; the error shows the lines.
    """
    with session(ctx).open() as table:
        if forget:
            typer.echo(f"the deletes of {plural(table.forget_deletes(), 'page')} forgotten")
            return
        freed = table.compact()
    typer.echo(f"{size_text(freed)} given back" if freed > 0 else "there was nothing to give back")
