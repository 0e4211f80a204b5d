"""The command `info`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from webtable._shown import harmless
from webtable.cli.cells import new_table
from webtable.cli.indexes import IndexLine, index_lines
from webtable.cli.output import console, on_terminal, write_json, write_lines
from webtable.cli.session import session
from webtable.cli.text import examples, plural
from webtable.errors import LayoutMismatch
from webtable.repository.creation.layout import stored_layout
from webtable.rowkey.key_text import key_text
from webtable.schema import FAMILY_OPTIONS, FamilySchema, KeyLayout, Layout
from webtable.store import open_store

if TYPE_CHECKING:
    from webtable.cli.session import Session
    from webtable.store import Store

commands = typer.Typer()

_SHOWN_REGIONS = 20


class InfoFormat(StrEnum):
    """How it is written."""

    table = "table"
    lines = "lines"
    jsonl = "jsonl"


@commands.command(
    epilog=examples(
        "webtable info",
        "webtable info --format jsonl | jq 'select(.what == \"index\")'",
        "webtable -s hbase://localhost:9090/crawl?thrift2=9091 info | grep region",
    )
)
def info(
    ctx: typer.Context,
    format: Annotated[  # noqa: A002
        InfoFormat | None,
        typer.Option(
            "--format",
            help="As tables, tab-separated lines, or a JSON object a line. "
            "Default: tables on a terminal, lines in a pipe.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show the layout, the indexes, the families and the regions of the table.

    Each line of JSON tells by its field "what" which fields it has: "table" (name), "layout" (format, key, salt,
    digits, suffix_list, names, compression, digest, plain_columns, versions, ttl in seconds, family_options), "index"
    (name, phase, of), "family" (name and its options; ttl in seconds) and "region" (start, stop, server; keys as the
    HBase shell shows them). Of a table of rows under a declared key, "layout" has format and key, and there are no
    indexes.
    """
    told = _told_of(session(ctx))
    if format == InfoFormat.jsonl:
        _write_json(told)
    elif format == InfoFormat.table or (format is None and on_terminal()):
        _show_info(told)
    else:
        _write_lines(told)


class _Told(NamedTuple):
    """What there is to tell of a table."""

    name: str
    layout: Layout | KeyLayout
    indexes: Sequence[IndexLine]
    families: Sequence[FamilySchema]
    regions: Sequence[tuple[str, str, str]]

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


def _told_of(this: Session) -> _Told:
    try:
        with this.open() as table:
            return _Told(table.name, table.layout, index_lines(table), *_of_store(table.store, table.table))
    except LayoutMismatch:
        store, name = open_store(this.store)
        with closing(store):
            layout = KeyLayout.from_json(stored_layout(store, name) or b"")
            if layout is None:
                raise
            return _Told(f"{store.name}/{name}", layout, (), *_of_store(store, name))


def _of_store(store: Store, table: str) -> tuple[Sequence[FamilySchema], list[tuple[str, str, str]]]:
    regions = [(key_text(one.keys.start), key_text(one.keys.stop), one.server) for one in store.regions(table)]
    return store.describe(table).schema.families, regions


def _write_lines(told: _Told) -> None:
    write_lines([("table", told.name)])
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
    write_json({"what": "layout", **told.layout_fields})
    for line in told.indexes:
        write_json({"what": "index", "name": line.name, "phase": line.phase, "of": line.of or None})
    for family in told.families:
        options = {option: getattr(family, option) for option in FAMILY_OPTIONS}
        write_json({"what": "family", "name": family.name, **options})
    for start, stop, server in told.regions:
        write_json({"what": "region", "start": start, "stop": stop, "server": server})


def _option_text(name: str, value: object) -> str:
    match name, value:
        case "ttl", int():
            return f"{value} ({value / 86_400:g} days)"
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
