"""The command `delete`."""

from __future__ import annotations

from typing import Annotated

import typer

from webtable._shown import harmless
from webtable.cli.confirmation import check_can_ask, confirm
from webtable.cli.exits import NOT_DONE, complain
from webtable.cli.session import session
from webtable.cli.text import examples, plural

commands = typer.Typer()


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
    if not yes:
        check_can_ask("delete all the same")
    missing = []
    with session(ctx).open() as table:
        for url in urls:
            table.key.encode(url)  # a URL that is none stops it before the first page is gone
        if not yes:
            confirm(f"Delete {plural(len(urls), 'page')} from {table.name}?", otherwise="nothing was deleted")
        for url in urls:
            if table.delete(url):
                typer.echo(f"deleted\t{harmless(url)}")
            else:
                missing.append(url)
    for url in missing:
        complain(f"{url}: not stored")
    if missing:
        raise typer.Exit(NOT_DONE)
