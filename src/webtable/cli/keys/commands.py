"""The commands about row keys: `keys encode`, `keys decode`, `keys ranges`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from webtable.cli.exit_codes import note
from webtable.cli.options.layouts import DigitsOption, SaltName, SaltOption, make_salt
from webtable.cli.session import session
from webtable.cli.settings import DEFAULT_STORE
from webtable.cli.terminal.cells import new_table
from webtable.cli.terminal.output import console, on_terminal, write_lines
from webtable.cli.terminal.text import examples, plural
from webtable.errors import InvalidArgument
from webtable.rowkey import KeyRange, WebKey
from webtable.rowkey.ranges import key_text, parse_key

commands = typer.Typer(help="Turn URLs into row keys and back, and split tables by them.", no_args_is_help=False)


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
    key = web_key(ctx, salt, digits)
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
    key = web_key(ctx, salt, digits)
    for url in [key.decode(parse_key(text)) for text in keys]:
        typer.echo(url)


@commands.command(
    epilog=examples(
        "webtable keys ranges --domain example.com",
        "webtable keys ranges --salt none --host docs.example.com",
        "webtable -s crawl.db keys ranges --directory https://docs.example.com/guide/",
    )
)
def ranges(
    ctx: typer.Context,
    domain: Annotated[
        str | None, typer.Option(metavar="NAME", help="The pages of this host and of all hosts below it.")
    ] = None,
    host: Annotated[str | None, typer.Option(metavar="NAME", help="The pages of this host alone.")] = None,
    directory: Annotated[
        str | None, typer.Option(metavar="URL", help="The pages below this directory of its host, on every scheme.")
    ] = None,
    salt: SaltOption = None,
    digits: DigitsOption = None,
) -> None:
    """Write the ranges of row keys that hold the pages of a domain, a host or a directory, and no others.

    A line is the first key and the first key behind the range, as STARTROW and STOPROW of the HBase shell take them.

    The keys are those of the table, if there is one; --salt and --digits make ranges without a table.
    """
    if [domain, host, directory].count(None) != 2:
        raise InvalidArgument("give one of --domain, --host and --directory, and only one")
    key = web_key(ctx, salt, digits)
    if domain is not None:
        found = key.subtree_ranges(domain)
    elif host is not None:
        found = key.host_ranges(host)
    else:
        found = key.directory_ranges(directory or "")
    _write_ranges(found)


def web_key(ctx: typer.Context, salt: SaltName | None, digits: int | None) -> WebKey:
    """Return the keys that the options name; without options those of the table, if there is one."""
    this = session(ctx)
    is_there = this.store != DEFAULT_STORE or Path(DEFAULT_STORE).exists()
    if salt is None and digits is None and is_there:
        with this.open() as table:
            return table.key
    return WebKey(make_salt(salt, digits))


def _write_ranges(found: list[KeyRange]) -> None:
    lines = [(key_text(keys.start), key_text(keys.stop)) for keys in found]
    if not on_terminal():
        write_lines(lines)
        return
    shown = new_table()
    for heading in ("first key", "up to"):
        shown.add_column(heading, overflow="fold")
    for line in lines:
        shown.add_row(*line)
    console().print(shown)
    note(plural(len(lines), "range"))
