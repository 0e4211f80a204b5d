"""The command `info`."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from webtable.cli.exit_codes import NOT_DONE, note, report_damage
from webtable.cli.session import session
from webtable.cli.tables.indexes import index_lines
from webtable.cli.terminal.output import FactsFormat, console, examples, new_table, on_terminal, write_json, write_lines
from webtable.display import harmless
from webtable.display.text import size_text
from webtable.errors import LayoutMismatch
from webtable.maintenance import holdings
from webtable.progress import progress_bar
from webtable.records import layout_of
from webtable.rowkey import key_text
from webtable.schema import FAMILY_OPTIONS, KeyLayout, versions_text
from webtable.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.cli.session import CommandSession
    from webtable.cli.tables.indexes import IndexLine
    from webtable.maintenance import Holdings
    from webtable.schema import Layout
    from webtable.store import Store

commands: Final = typer.Typer()

_SHOWN_REGIONS = 20
_SIZES = ("stored", "unpacked", "bytes", "free")
_HELD = ("pages", "captures", "stored", "unpacked", "hosts", "oldest", "newest", "as_of", "waiting")


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
            help="Read the whole table and count what it holds. Default: what the counts of its hosts say.",
        ),
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Show the regions, and the families with all their options.")
    ] = False,
    format: Annotated[  # noqa: A002
        FactsFormat | None,
        typer.Option(
            "--format",
            help="As tables, tab-separated lines, or a JSON object a line. "
            "Default: tables on a terminal, lines in a pipe.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show what the table holds, its layout and its indexes; with --schema its families and regions as well.

    Pages, hosts and the bytes of the newest body of each page are exact as of the last `links refresh`, if the table
    has the host index; the number of rows that wait for the next one is reported. Captures and the bytes of all bodies
    as they are stored, and all of it without that index, are counted with --count, which reads everything, and of a
    table of at most 400 pages. The free space of a file is what `compact` frees at least; HBase does not report its
    sizes.

    The field "what" of each line of JSON says which fields it has: "table" (name), "holdings" (pages, captures, stored
    and unpacked, the bytes of all bodies as they are stored and of the newest of each page as it was crawled, hosts,
    oldest, newest, as_of, the refresh that pages, hosts and unpacked date from, and waiting, how many rows have changed
    since; both are null if they date from no refresh, and all others if they are unknown), "space" (bytes,
    free), "layout" (format, key, salt, digits, suffix_list, names, compression, digest, plain_columns, versions, ttl in
    seconds, family_options), "index" (name, phase, of), "family" (name and its options; ttl in seconds) and "region"
    (start, stop, server; keys as the HBase shell shows them). For a table of rows under a declared key, "layout" has
    format and key, and there are no holdings and no indexes.
    """
    this = session(ctx)
    facts, held = _facts_of(this, count=count, schema=schema)
    if format == FactsFormat.jsonl:
        for fact in facts:
            write_json(fact)
    elif format == FactsFormat.table or (format is None and on_terminal()):
        _show(facts)
    else:
        write_lines(line for fact in facts for line in _lines_of(fact, _text))
    _report_what_is_missing(held, this)
    if count and held is not None and held.damaged:
        raise typer.Exit(NOT_DONE)


def _facts_of(this: CommandSession, *, count: bool, schema: bool) -> tuple[list[dict[str, Any]], Holdings | None]:
    """Return the facts about a table, as they are in JSON, and what the table holds."""
    try:
        with this.open() as table:
            with progress_bar("info", "page") as counting:
                held = holdings(table, count=count, on_progress=counting)
            indexes = index_lines(table)
            facts = _facts(table.store, table.table, table.name, table.layout, held, indexes, schema=schema)
            return list(facts), held
    except LayoutMismatch:
        store, name = open_store(this.store)
        with closing(store):
            layout = layout_of(store, name)
            if layout is None:
                raise
            return list(_facts(store, name, f"{store.name}/{name}", layout, None, (), schema=schema)), None


def _facts(
    store: Store,
    table: str,
    name: str,
    layout: Layout | KeyLayout,
    held: Holdings | None,
    indexes: Sequence[IndexLine],
    *,
    schema: bool,
) -> Iterator[dict[str, Any]]:
    yield {"what": "table", "name": name}
    if held is not None:
        yield {"what": "holdings", **{name: getattr(held, name) for name in _HELD}}
    if (space := store.space()) is not None:
        yield {"what": "space", "bytes": space.bytes, "free": space.free}
    fields = [name for name in layout.__struct_fields__ if name != "kind"]
    yield {"what": "layout", **{name: getattr(layout, name) for name in fields}}
    for line in indexes:
        yield {"what": "index", "name": line.name, "phase": line.phase, "of": line.of or None}
    if not schema:
        return
    for family in store.describe(table).schema.families:
        options = {option: getattr(family, option) for option in FAMILY_OPTIONS}
        yield {"what": "family", "name": family.name, **options}
    for one in store.regions(table):
        keys = key_text(one.keys.start), key_text(one.keys.stop)
        yield {"what": "region", "start": keys[0], "stop": keys[1], "server": one.server}


def _report_what_is_missing(held: Holdings | None, this: CommandSession) -> None:
    """Report what waits to be counted, and how many rows were left out."""
    if held is None:
        return
    if held.pending:
        note(f"{held.pending}; run `{this.command('links refresh')}`")
    if held.pages is None:
        note(f"its pages are not counted: `{this.command('info --count')}` reads and counts all of them")
    report_damage((), held.damaged)


def _lines_of(fact: dict[str, Any], text_of: Callable[[str, object], str]) -> Iterator[Sequence[object]]:
    """Yield the lines of a fact, for programs that do not read JSON, and for people."""
    (_, what), *fields = fact.items()
    match what, [value for _, value in fields]:
        case "table" | "region", values:
            yield what, *values
        case "index", [name, *others]:
            yield f"index.{name}", *filter(None, others)
        case "family", [name, *_]:
            for option, value in fields[1:]:
                yield f"family.{name}.{option}", text_of(option, value)
        case _:
            for name, value in fields:
                yield f"{what}.{name}", text_of(name, value)


def _text(name: str, value: object) -> str:
    match name, value:
        case "ttl", int():
            return f"{value} ({value / 86_400:g} days)"
        case "versions", int():
            return versions_text(value)
        case _, None | () | {}:
            return "none"
        case _, datetime():
            return f"{value:%Y-%m-%d %H:%M:%S} UTC"
        case _, tuple():
            return ",".join(map(str, value))
        case _:
            return str(value)


def _show(facts: Sequence[dict[str, Any]]) -> None:
    """Show a table to people: without what is unknown, and of many regions some."""
    from rich.text import Text

    target, shown = console(), new_table()
    shown.show_header = False
    shown.add_column(style="bold")
    shown.add_column(overflow="fold")
    regions = [fact for fact in facts if fact["what"] == "region"]
    for fact in facts:
        if fact["what"] == "region" and fact in regions[_SHOWN_REGIONS:]:
            continue
        for name, *values in _lines_of({name: value for name, value in fact.items() if value is not None}, _for_people):
            shown.add_row(str(name), Text(harmless("  ".join(str(value) or "–" for value in values))))
    target.print(shown)
    if len(regions) > _SHOWN_REGIONS:
        target.print(f"… and {len(regions) - _SHOWN_REGIONS:,} more regions; in a pipe all of them are shown")


def _for_people(name: str, value: object) -> str:
    """Return an amount in a unit, or with separators."""
    if isinstance(value, int) and name in _SIZES:
        return size_text(value)
    return f"{value:,}" if type(value) is int and name in _HELD else _text(name, value)
