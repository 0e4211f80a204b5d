"""The command that gives space back: `compact`."""

from __future__ import annotations

import typer

from webtable.cli.session import session
from webtable.cli.text import examples, size_text

commands = typer.Typer()


@commands.command(epilog=examples("webtable compact", "webtable -s old.db compact"))
def compact(ctx: typer.Context) -> None:
    """Give back the space of what nobody sees any more: what was deleted, replaced or has expired.

    The file is written anew, which takes as much space again for as long as it lasts; those who write wait for it.
    Deletes are forgotten with what they have hidden: what is older and is written from then on is visible.

    HBase does this by itself in its own time. To have it done at once takes its shell; the error shows the lines.
    """
    with session(ctx).open() as table:
        freed = table.compact()
    typer.echo(f"{size_text(freed)} given back" if freed > 0 else "there was nothing to give back")
