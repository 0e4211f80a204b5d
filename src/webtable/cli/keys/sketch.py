"""The command `keys show`: how a table's keys are made, and its regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from webtable._shown import harmless
from webtable._shown.text import plural
from webtable.cli.session import CommandSession, session
from webtable.cli.terminal.output import console, on_terminal, write_lines
from webtable.cli.terminal.tables import new_table
from webtable.cli.terminal.text import examples
from webtable.repository.regions import RegionComparison
from webtable.rowkey.ranges import key_text
from webtable.rowkey.urls import split_url

if TYPE_CHECKING:
    from webtable.repository.table.web_table import WebTable

commands: Final = typer.Typer()

_SHOWN_KEYS = 5
_SHOWN_REGIONS = 20
_KEY_PARTS = ("key", "salt", "host", "path", "scheme", "url")


@commands.command(
    epilog=examples(
        "webtable keys show",
        "webtable keys show hbase://localhost:9090/crawl?thrift2=9091",
        "webtable -s crawl.db keys show | grep missing",
    )
)
def show(
    ctx: typer.Context,
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="The table, as -s takes it. Default: that of -s.")
    ] = None,
) -> None:
    """Show how the keys of a table are made: some of them taken apart, and its regions.

    The regions are compared with those of a new table with the same number of them: a region is wanted if it begins
    where one would there, extra if not (HBase splits regions as they grow), and missing if this table lacks it.

    For a table that is not a web table the declaration of its key, some raw keys and its regions are shown.
    """
    from webtable.errors import LayoutMismatch

    chosen = session(ctx) if table is None else CommandSession.named(table)
    try:
        sketch = _web_sketch(chosen)
    except LayoutMismatch:
        found = _keyed_sketch(chosen)
        if found is None:
            raise
        sketch = found
    if on_terminal():
        _show(sketch)
        return
    write_lines([("table", sketch.name), *((f"keys.{field}", value) for field, value in sketch.layout)])
    write_lines([("key", *parts) for parts in sketch.keys])
    write_lines([("region", *region) for region in sketch.shown_regions()])
    write_lines([("missing", key_text(point)) for point in sketch.regions.missing])


@dataclass(frozen=True)
class _Sketch:
    """The sketch of a table: how its keys are made, some of them with their parts, and its regions."""

    name: str
    layout: Sequence[tuple[str, str]]
    headings: Sequence[str]
    keys: Sequence[tuple[str, ...]]
    regions: RegionComparison
    are_compared: bool

    def shown_regions(self) -> list[tuple[str, ...]]:
        extra = set(self.regions.extra)
        return [
            (
                key_text(region.keys.start),
                key_text(region.keys.stop),
                region.server,
                *(["extra" if region.keys.start in extra else "wanted"] if self.are_compared else []),
            )
            for region in self.regions.regions
        ]


def _web_sketch(chosen: CommandSession) -> _Sketch:
    from webtable.repository.regions import regions_of, sample_urls

    with chosen.open() as table:
        layout = [
            ("format", table.layout.key),
            ("salt", table.layout.salt),
            ("digits", str(table.layout.digits)),
            ("suffix_list", table.layout.suffix_list or "none"),
        ]
        keys = sorted(_taken_apart(table, url) for url in sample_urls(table, most=_SHOWN_KEYS))
        return _Sketch(table.name, layout, _KEY_PARTS, keys, regions_of(table), are_compared=True)


def _keyed_sketch(chosen: CommandSession) -> _Sketch | None:
    """Return the sketch of a table of records, None for another kind of table."""
    from webtable.repository.creation.tables import stored_layout
    from webtable.repository.regions import first_keys
    from webtable.schema import KeyLayout
    from webtable.store import open_store

    store, table = open_store(chosen.store)
    with store:
        stored = stored_layout(store, table)
        layout = KeyLayout.from_json(stored) if stored else None
        if layout is None:
            return None
        keys = [(key_text(key),) for key in first_keys(store, table, _SHOWN_KEYS)]
        regions = RegionComparison(tuple(store.regions(table)), ())
        return _Sketch(f"{store.name}/{table}", [("key", layout.key)], ("key",), keys, regions, are_compared=False)


def _taken_apart(table: WebTable, url: str) -> tuple[str, ...]:
    key, parts = table.key.encode(url), split_url(url)
    scheme = parts.scheme if parts.port is None else f"{parts.scheme}:{parts.port}"
    salt = key_text(key[: table.layout.digits])
    return key_text(key), salt, parts.host, parts.path + parts.query, scheme, url


def _show(sketch: _Sketch) -> None:
    from rich.text import Text

    target = console()
    target.print(Text(harmless(sketch.name), style="bold"))
    shown = new_table("Keys")
    shown.show_header = False
    shown.add_column(style="bold")
    shown.add_column(overflow="fold")
    for field, value in sketch.layout:
        shown.add_row(field, Text(harmless(value)))
    target.print(shown)
    if sketch.keys:
        shown = new_table("Some of them")
        for heading in sketch.headings:
            shown.add_column(heading, overflow="fold")
        for parts in sketch.keys:
            shown.add_row(*(Text(harmless(part) or "–") for part in parts))
        target.print(shown)
    found, regions = sketch.regions, sketch.shown_regions()
    first, *_ = str(found).splitlines() if sketch.are_compared else [plural(len(regions), "region")]
    shown = new_table(first)
    for heading in ("first key", "up to", "server", *([""] if sketch.are_compared else [])):
        shown.add_column(heading)
    for region in regions[:_SHOWN_REGIONS]:
        shown.add_row(*(Text(part or "–") for part in region))
    target.print(shown)
    for point in found.missing[:_SHOWN_REGIONS]:
        target.print(f"missing: no region begins at {key_text(point)}")
    if max(len(regions), len(found.missing)) > _SHOWN_REGIONS:
        target.print("… and more; in a pipe all of them are shown")
