"""The command `info`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer

from webtable._progress import progress_bar
from webtable._shown import harmless
from webtable._shown.sizes import size_text
from webtable.cli.exit_codes import NOT_DONE, note
from webtable.cli.session import session
from webtable.cli.tables.indexes import IndexLine, index_lines
from webtable.cli.terminal.cells import new_table
from webtable.cli.terminal.damage import tell_damage
from webtable.cli.terminal.output import ToldFormat, console, on_terminal, write_json, write_lines
from webtable.cli.terminal.text import examples, plural
from webtable.errors import LayoutMismatch
from webtable.repository.creation.layout import stored_layout
from webtable.repository.questions.holdings import Holdings, counted, estimated
from webtable.rowkey.ranges import key_text
from webtable.schema import FAMILY_OPTIONS, FamilySchema, KeyLayout, Layout, versions_text
from webtable.store import open_store
from webtable.store.health import Space

if TYPE_CHECKING:
    from webtable.cli.session import CommandSession
    from webtable.repository import WebTable
    from webtable.store import Store

commands = typer.Typer()

_SHOWN_REGIONS = 20
_HELD = ("pages", "captures", "stored", "unpacked", "hosts", "oldest", "newest", "basis", "as_of", "waiting")


@commands.command(
    epilog=examples(
        "webtable info",
        "webtable info --format jsonl | jq 'select(.what == \"index\")'",
        "webtable info --count",
        "webtable -s hbase://localhost:9090/crawl?thrift2=9091 info --schema | grep region",
    )
)
def info(
    ctx: typer.Context,
    count: Annotated[
        bool,
        typer.Option(
            "--count",
            help="Read all of the table and count what it holds. Default: the counts of its hosts, else an estimate.",
        ),
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Show the families with all their options, and the regions.")
    ] = False,
    format: Annotated[  # noqa: A002
        ToldFormat | None,
        typer.Option(
            "--format",
            help="As tables, tab-separated lines, or a JSON object a line. "
            "Default: tables on a terminal, lines in a pipe.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show what the table holds, its layout and its indexes; with --schema its families and regions as well.

    Pages, hosts and the bytes of the newest body of each page are exact as of the last `links refresh`, where the
    table has the host index; it is said how many rows wait for the next one. Else they are an estimate, as are always
    captures and the bytes of all bodies as they are stored: "basis" says what each goes by. With --count all is read
    and counted. How much of a file is free is what `compact` gives back at least; HBase does not report its sizes.

    Each line of JSON tells by its field "what" which fields it has: "table" (name), "holdings" (pages, captures,
    stored and unpacked, the bytes of all bodies as they are stored and of the newest of each page as it was crawled,
    hosts, oldest, newest, basis, which is null where all was counted, as_of, the refresh that pages, hosts and unpacked
    are of, and waiting, how many rows have changed since; both are null where they are of no refresh), "space" (bytes,
    free), "layout" (format, key, salt, digits, suffix_list, names, compression, digest, plain_columns, versions, ttl in
    seconds, family_options), "index" (name, phase, of),
    "family" (name and its options; ttl in seconds) and "region" (start, stop, server; keys as the HBase shell shows
    them). Of a table of rows under a declared key, "layout" has format and key, and there are no holdings and no
    indexes.
    """
    this = session(ctx)
    told = _told_of(this, count=count, schema=schema)
    if format == ToldFormat.jsonl:
        _write_json(told)
    elif format == ToldFormat.table or (format is None and on_terminal()):
        _show_info(told)
    else:
        _write_lines(told)
    _tell_what_is_missing(told.holdings, this)
    if count and told.holdings is not None and told.holdings.damaged:
        raise typer.Exit(NOT_DONE)


class _Told(NamedTuple):
    """What there is to tell of a table."""

    name: str
    layout: Layout | KeyLayout
    indexes: Sequence[IndexLine]
    holdings: Holdings | None
    space: Space | None
    families: Sequence[FamilySchema] = ()
    regions: Sequence[tuple[str, str, str]] = ()

    @property
    def amounts(self) -> list[tuple[str, object]]:
        """What it holds, by the names of the fields."""
        held = [] if self.holdings is None else [(name, getattr(self.holdings, name)) for name in _HELD]
        return [(name, None if value == "" else value) for name, value in held]

    @property
    def layout_fields(self) -> dict[str, object]:
        return {name: getattr(self.layout, name) for name in self.layout.__struct_fields__ if name != "kind"}

    @property
    def layout_lines(self) -> list[tuple[str, str]]:
        return [(name, _option_text(name, value)) for name, value in self.layout_fields.items()]

    @property
    def options(self) -> list[tuple[str, ...]]:
        return [
            (family.name, *(_option_text(option, getattr(family, option)) for option in FAMILY_OPTIONS))
            for family in self.families
        ]


def _told_of(this: CommandSession, *, count: bool, schema: bool) -> _Told:
    try:
        with this.open() as table:
            store, holdings = table.store, _counted(table) if count else estimated(table)
            of_store = _of_store(store, table.table) if schema else ()
            return _Told(table.name, table.layout, index_lines(table), holdings, store.space(), *of_store)
    except LayoutMismatch:
        store, name = open_store(this.store)
        with closing(store):
            layout = KeyLayout.from_json(stored_layout(store, name) or b"")
            if layout is None:
                raise
            of_store = _of_store(store, name) if schema else ()
            return _Told(f"{store.name}/{name}", layout, (), None, store.space(), *of_store)


def _counted(table: WebTable) -> Holdings:
    with progress_bar("info", "page") as counting:
        return counted(table, counting)


def _tell_what_is_missing(holdings: Holdings | None, this: CommandSession) -> None:
    """Say what waits to be counted, and how many rows were left out."""
    if holdings is None:
        return
    if holdings.pending:
        note(f"{holdings.pending}; run `{this.command('links refresh')}`")
    tell_damage((), holdings.damaged)


def _of_store(store: Store, table: str) -> tuple[Sequence[FamilySchema], list[tuple[str, str, str]]]:
    regions = [(key_text(one.keys.start), key_text(one.keys.stop), one.server) for one in store.regions(table)]
    return store.describe(table).schema.families, regions


def _write_lines(told: _Told) -> None:
    write_lines([("table", told.name)])
    write_lines([(f"holdings.{name}", _amount_text(value)) for name, value in told.amounts])
    if told.space is not None:
        write_lines([("space.bytes", told.space.bytes), ("space.free", told.space.free)])
    write_lines([(f"layout.{name}", value) for name, value in told.layout_lines])
    write_lines([(f"index.{line.name}", *filter(None, (line.phase, line.of))) for line in told.indexes])
    write_lines(
        [
            (f"family.{family}.{option}", value)
            for family, *values in told.options
            for option, value in zip(FAMILY_OPTIONS, values, strict=True)
        ]
    )
    write_lines([("region", *region) for region in told.regions])


def _write_json(told: _Told) -> None:
    write_json({"what": "table", "name": told.name})
    if told.holdings is not None:
        write_json({"what": "holdings", **dict(told.amounts)})
    if told.space is not None:
        write_json({"what": "space", "bytes": told.space.bytes, "free": told.space.free})
    write_json({"what": "layout", **told.layout_fields})
    for line in told.indexes:
        write_json({"what": "index", "name": line.name, "phase": line.phase, "of": line.of or None})
    for family in told.families:
        options = {option: getattr(family, option) for option in FAMILY_OPTIONS}
        write_json({"what": "family", "name": family.name, **options})
    for start, stop, server in told.regions:
        write_json({"what": "region", "start": start, "stop": stop, "server": server})


def _amount_text(value: object) -> str:
    match value:
        case None:
            return "none"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S} UTC"
        case _:
            return str(value)


def _show_amounts(told: _Told) -> None:
    """Show what the table holds, in units that people read."""
    shown = new_table("Holds")
    shown.show_header = False
    shown.add_column(style="bold")
    shown.add_column()
    for name, value in told.amounts:
        if name in ("stored", "unpacked"):
            shown.add_row(name, size_text(cast("int", value)))
        elif isinstance(value, int):
            shown.add_row(name, f"{value:,}")
        elif value is not None:
            shown.add_row(name.replace("_", " "), _amount_text(value))
    if told.space is not None:
        shown.add_row("file", f"{size_text(told.space.bytes)}, {size_text(told.space.free)} of it free")
    if shown.row_count:
        console().print(shown)


def _option_text(name: str, value: object) -> str:
    match name, value:
        case "ttl", int():
            return f"{value} ({value / 86_400:g} days)"
        case "versions", int():
            return versions_text(value)
        case "ttl", None:
            return "none"
        case _, None | () | {}:
            return "none"
        case _, tuple():
            return ",".join(map(str, value))
        case _:
            return str(value)


def _show_info(told: _Told) -> None:
    from rich.text import Text

    regions = told.regions

    target = console()
    target.print(Text(harmless(told.name), style="bold"))
    _show_amounts(told)
    shown = new_table("Layout")
    shown.show_header = False
    shown.add_column(style="bold")
    shown.add_column()
    for field, value in told.layout_lines:
        shown.add_row(field, Text(harmless(value)))
    target.print(shown)
    if told.indexes:
        shown = new_table("Indexes")
        shown.show_header = False
        shown.add_column(style="bold")
        for _ in ("phase", "of"):
            shown.add_column()
        for line in told.indexes:
            shown.add_row(*(Text(harmless(part)) for part in (line.name, line.phase, line.of)))
        target.print(shown)
    if not told.families:
        return
    # A family's options stand below each other, since a terminal is too narrow for all of them side by side.
    shown = new_table("Families")
    shown.add_column("", style="bold")
    for family, *_ in told.options:
        shown.add_column(Text(harmless(family)))
    for at, option in enumerate(FAMILY_OPTIONS, 1):
        shown.add_row(option, *(family[at] for family in told.options))
    target.print(shown)
    shown = new_table(plural(len(regions), "region"))
    for heading in ("first key", "up to", "server"):
        shown.add_column(heading)
    for region in regions[:_SHOWN_REGIONS]:
        shown.add_row(*(Text(part or "–") for part in region))
    target.print(shown)
    if len(regions) > _SHOWN_REGIONS:
        target.print(f"… and {len(regions) - _SHOWN_REGIONS:,} more; in a pipe all of them are shown")
