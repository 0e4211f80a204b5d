"""The command `info`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from webtable._shown import harmless
from webtable.cli.cells import new_table
from webtable.cli.indexes import index_lines
from webtable.cli.output import console, on_terminal, write_json, write_lines
from webtable.cli.session import session
from webtable.cli.text import examples, plural
from webtable.rowkey.key_text import key_text
from webtable.schema import FAMILY_OPTIONS, Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.repository import WebTable
    from webtable.schema import FamilySchema

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
    digits, suffix_list, names, compression, plain_columns, versions, ttl in seconds, family_options), "index" (name,
    phase, of), "family" (name and its options; ttl in seconds) and "region" (start, stop, server; keys as the HBase
    shell shows them).
    """
    with session(ctx).open() as table:
        families = table.store.describe(table.table).schema.families
        regions = [
            (key_text(region.keys.start), key_text(region.keys.stop), region.server)
            for region in table.store.regions(table.table)
        ]
        layout = _layout_lines(table)
        known = table.layout
        indexes = [(line.name, line.phase, line.of) for line in index_lines(table)]
    options = [
        (family.name, *(_option_text(option, getattr(family, option)) for option in FAMILY_OPTIONS))
        for family in families
    ]
    if format == InfoFormat.jsonl:
        _write_json(table.name, known, indexes, families, regions)
        return
    if format == InfoFormat.table or (format is None and on_terminal()):
        _show_info(table.name, layout, indexes, options, regions)
        return
    write_lines([("table", table.name)])
    write_lines([(f"layout.{name}", value) for name, value in layout])
    write_lines([(f"index.{index}", *(part for part in state if part)) for index, *state in indexes])
    write_lines(
        [
            (f"family.{family}.{option}", value)
            for family, *values in options
            for option, value in zip(FAMILY_OPTIONS, values, strict=True)
        ]
    )
    write_lines([("region", *region) for region in regions])


def _write_json(
    name: str,
    layout: Layout,
    indexes: Sequence[tuple[str, str, str]],
    families: Sequence[FamilySchema],
    regions: Sequence[tuple[str, str, str]],
) -> None:
    write_json({"what": "table", "name": name})
    write_json({"what": "layout", **{field: getattr(layout, field) for field in Layout.__struct_fields__}})
    for index, phase, of in indexes:
        write_json({"what": "index", "name": index, "phase": phase, "of": of or None})
    for family in families:
        options = {option: getattr(family, option) for option in FAMILY_OPTIONS}
        write_json({"what": "family", "name": family.name, **options})
    for start, stop, server in regions:
        write_json({"what": "region", "start": start, "stop": stop, "server": server})


def _layout_lines(table: WebTable) -> list[tuple[str, str]]:
    layout = table.layout
    return [(name, _option_text(name, getattr(layout, name))) for name in Layout.__struct_fields__]


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


def _show_info(
    name: str,
    layout: Sequence[tuple[str, str]],
    indexes: Sequence[tuple[str, str, str]],
    families: Sequence[tuple[str, ...]],
    regions: Sequence[tuple[str, str, str]],
) -> None:
    from rich.text import Text

    target = console()
    target.print(Text(harmless(name), style="bold"))
    shown = new_table("Layout")
    shown.show_header = False
    shown.add_column(style="bold")
    shown.add_column()
    for field, value in layout:
        shown.add_row(field, Text(harmless(value)))
    target.print(shown)
    if indexes:
        shown = new_table("Indexes")
        shown.show_header = False
        shown.add_column(style="bold")
        for _ in ("phase", "of"):
            shown.add_column()
        for index in indexes:
            shown.add_row(*(Text(harmless(part)) for part in index))
        target.print(shown)
    # A family's options stand below each other, since a terminal is too narrow for all of them side by side.
    shown = new_table("Families")
    shown.add_column("", style="bold")
    for family, *_ in families:
        shown.add_column(Text(harmless(family)))
    for at, option in enumerate(FAMILY_OPTIONS, 1):
        shown.add_row(option, *(family[at] for family in families))
    target.print(shown)
    shown = new_table(plural(len(regions), "region"))
    for heading in ("first key", "up to", "server"):
        shown.add_column(heading)
    for region in regions[:_SHOWN_REGIONS]:
        shown.add_row(*(Text(part or "–") for part in region))
    target.print(shown)
    if len(regions) > _SHOWN_REGIONS:
        target.print(f"… and {len(regions) - _SHOWN_REGIONS:,} more; in a pipe all of them are shown")
