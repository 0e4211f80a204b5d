"""The commands about row keys: `keys encode`, `keys decode`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from webtable.cli.layouts import DigitsOption, SaltName, SaltOption, make_salt
from webtable.cli.session import DEFAULT_STORE, session
from webtable.cli.text import examples, key_text, parse_key
from webtable.rowkey import WebKey

commands = typer.Typer(help="Turn URLs into row keys and back.", no_args_is_help=False)


@commands.command(
    epilog=examples(
        "webtable keys encode https://example.com/products",
        "webtable -s crawl.db keys encode https://example.com/products",
        "webtable keys encode --salt none https://example.com/products http://example.com:8080/",
    )
)
def encode(
    ctx: typer.Context,
    urls: Annotated[list[str], typer.Argument(metavar="URL", help="The URLs.", show_default=False)],
    salt: SaltOption = None,
    digits: DigitsOption = None,
) -> None:
    """Write the row key of each URL, as the HBase shell shows it.

    It is the key that the page has in the table, if there is one; --salt and --digits make keys without a table.
    """
    key = _web_key(ctx, salt, digits)
    for made in [key.encode(url) for url in urls]:
        typer.echo(key_text(made))


@commands.command(
    epilog=examples(
        "webtable keys decode 5a:com.example/products",
        "webtable keys decode --salt none 'com.example/products#http:8080'",
    )
)
def decode(
    ctx: typer.Context,
    keys: Annotated[
        list[str], typer.Argument(metavar="KEY", help="Row keys, as the HBase shell shows them.", show_default=False)
    ],
    salt: SaltOption = None,
    digits: DigitsOption = None,
) -> None:
    """Write the URL of each row key.

    The keys are those of the table, if there is one; --salt and --digits read keys without a table.
    """
    key = _web_key(ctx, salt, digits)
    for url in [key.decode(parse_key(text)) for text in keys]:
        typer.echo(url)


def _web_key(ctx: typer.Context, salt: SaltName | None, digits: int | None) -> WebKey:
    this = session(ctx)
    is_there = this.store != DEFAULT_STORE or Path(DEFAULT_STORE).exists()
    if salt is None and digits is None and is_there:
        with this.open() as table:
            return table.key
    return WebKey(make_salt(salt, digits))
