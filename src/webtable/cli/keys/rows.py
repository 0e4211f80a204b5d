"""The commands about rows under declared keys: `rows get`, `rows scan`, `rows put`, with JSON in and out."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from webtable.cli.exit_codes import NOT_DONE, complain, note
from webtable.cli.keys.declared_keys import own_keys
from webtable.cli.keys.row_json import RowJSON
from webtable.cli.session import session
from webtable.cli.terminal.output import write_json
from webtable.cli.terminal.text import examples, parse_names, plural
from webtable.errors import FormatError, InvalidArgument, TableNotFound
from webtable.rowkey.ranges import key_text, parse_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from webtable.repository import KeyedTable

group = typer.Typer(help="Put, get and scan rows under a key that is declared in Python.", no_args_is_help=False)

KeyArgument = Annotated[
    str,
    typer.Argument(metavar="MODULE:KEY", help="The declared key, by its importable name.", show_default=False),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B,C", help="The cells to read, as in d:celsius, or d: for a family."),
]


@group.command(
    epilog=examples(
        """webtable -s readings.db rows get mykeys:READINGS '{"device": 7, "time": "2026-11-20T10:00Z"}'""",
        """webtable -s readings.db rows get mykeys:READINGS '{"device": 7, "time": "2026-11-20T10:00Z"}' | jq .cells""",
    )
)
def get(
    ctx: typer.Context,
    key: KeyArgument,
    values: Annotated[str, typer.Argument(metavar="VALUES", help="All values of the key, as JSON.")],
) -> None:
    """Show the row of these values, as a line of JSON: its values, its cells, its key and its timestamp.

    Times are ISO 8601. A cell that is no UTF-8 is {"base64": "…"}.
    """
    form, table = _opened(ctx, key)
    with table:
        record = table.get(**form.fields(values, "VALUES"))
    if record is None:
        complain(f"{values}: not stored")
        raise typer.Exit(NOT_DONE)
    write_json(form.line(record))


@group.command(
    epilog=examples(
        """webtable -s readings.db rows scan mykeys:READINGS '{"device": 7}' --limit 10""",
        """webtable -s readings.db rows scan mykeys:READINGS '{"device": 7, "time": {"since": "2026-11-20T10:00Z"}}'""",
        "webtable -s readings.db rows scan mykeys:READINGS --full-scan --columns d:celsius",
    )
)
def scan(
    ctx: typer.Context,
    key: KeyArgument,
    conditions: Annotated[
        str, typer.Argument(metavar="[CONDITIONS]", help="Values of the leading fields, as JSON, and a condition.")
    ] = "{}",
    columns: ColumnsOption = None,
    limit: Annotated[int | None, typer.Option("--limit", help="The most rows to list.", show_default=False)] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="KEY", help="Go on behind the row with this key.")
    ] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="Backwards.")] = False,
    full_scan: Annotated[bool, typer.Option("--full-scan", help="Read the whole table without conditions.")] = False,
) -> None:
    """List the rows that have these values of the leading fields, and meet a condition on the next, a JSON line each.

    A condition is {"since": …, "until": …} (the second is not in it), {"starting_with": "…"} or {"below": "DOMAIN"}.
    """
    form, table = _opened(ctx, key)
    place = None if after is None else parse_key(after)
    last = None
    with table:
        found = table.scan(
            columns=None if columns is None else parse_names(columns),
            limit=None if limit is None else limit + 1,
            after=place,
            reverse=reverse,
            full_scan=full_scan,
            **form.fields(conditions, "CONDITIONS"),
        )
        for number, record in enumerate(found):
            if number == limit:
                if last is not None:
                    note(f"more: --after '{key_text(last.key)}'")
                break
            last = record
            write_json(form.line(record))
    if last is None and limit != 0:
        note("no rows")
    if found.damaged:
        complain(f"{plural(len(found.damaged), 'damaged row')} left out; the first: {found.damaged[0]}")
        raise typer.Exit(NOT_DONE)


@group.command(
    epilog=examples(
        "webtable -s readings.db rows put mykeys:READINGS rows.jsonl --create",
        "zcat rows.jsonl.gz | webtable -s readings.db rows put mykeys:READINGS -",
    )
)
def put(
    ctx: typer.Context,
    key: KeyArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Lines of JSON; - reads standard input.")],
    create: Annotated[bool, typer.Option("--create", help="Create the table, if it is not there.")] = False,
    families: Annotated[str, typer.Option("--families", metavar="A,B", help="The families of the new table.")] = "d",
) -> None:
    """Store rows: a line of JSON each, {"values": {…}, "cells": {"d:celsius": "21.5"}}, as `rows scan` writes them.

    A cell that is there is replaced. At a line that cannot be stored it ends; all lines in front of it are stored.
    """
    form, table = _opened(ctx, key, create=create, families=parse_names(families))
    with table:
        count = table.put_many(_rows(form, file))
    typer.echo(f"stored\t{count}")


def _opened(ctx: typer.Context, name: str, **options: Any) -> tuple[RowJSON, KeyedTable]:
    from webtable.repository import KeyedTable

    key, store = own_keys([name], said="MODULE:KEY")[name], session(ctx).store
    try:
        return RowJSON(key), KeyedTable.open(store, key, **options)
    except TableNotFound as exc:
        raise TableNotFound(f"{store}: no such table; `rows put {name} FILE --create` makes it") from exc


def _rows(form: RowJSON, file: str) -> Iterator[tuple[dict[str, Any], dict[str, bytes]]]:
    with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield form.row(line)
                except InvalidArgument as exc:
                    raise FormatError(f"{file}, line {number}: {exc}") from exc
