"""The commands about the regions that keys are in: `keys splits`, `keys show`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from webtable.cli.cells import new_table
from webtable.cli.exits import note
from webtable.cli.ingesting import check_files
from webtable.cli.keys import web_key
from webtable.cli.layouts import SaltOption  # noqa: TC001 - typer reads it
from webtable.cli.output import console, on_terminal, write_lines
from webtable.cli.session import Session, session
from webtable.cli.text import examples, file_name, harmless, plural
from webtable.errors import InvalidArgument, InvalidURL, KeyFormatError
from webtable.repository.regions import RegionComparison
from webtable.rowkey.key_text import key_text, parse_key
from webtable.rowkey.splits import hex_split_points, sample_split_points, split_points
from webtable.rowkey.urls import split_url
from webtable.schema.shell import splits_text

if TYPE_CHECKING:
    from webtable.repository import WebTable
    from webtable.rowkey import WebKey

commands = typer.Typer()

_SHOWN_KEYS = 5
_SHOWN_REGIONS = 20
_KEY_PARTS = ("key", "salt", "host", "path", "scheme", "url")


class SplitsFormat(StrEnum):
    """The forms of `webtable.schema.shell.splits_text`."""

    python = "python"
    shell = "shell"
    file = "file"


@commands.command(
    epilog=examples(
        "webtable keys splits --regions 16 --format shell",
        "webtable keys splits --regions 4 --first 00000000 --last ffffffff",
        "webtable keys splits --regions 8 --urls urls.txt --salt domain --format python",
        "zcat keys.txt.gz | webtable keys splits --regions 32 --sample - > splits.txt",
    )
)
def splits(
    ctx: typer.Context,
    regions: Annotated[int, typer.Option("--regions", metavar="N", help="How many regions there shall be.")],
    digits: Annotated[
        int | None,
        typer.Option(
            "--digits",
            metavar="N",
            help="Hex digits that the keys begin with, 1 to 32 (a salt: 1 to 4). "
            "Default: those of the table, if there is one, else 2.",
        ),
    ] = None,
    first: Annotated[
        str | None, typer.Option("--first", metavar="HEX", help="The lowest of the hex digits that keys begin with.")
    ] = None,
    last: Annotated[str | None, typer.Option("--last", metavar="HEX", help="The highest of them.")] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            "--sample",
            metavar="FILE|-",
            help="Row keys, one a line as the HBase shell shows them: equally many for each region.",
        ),
    ] = None,
    urls: Annotated[
        str | None, typer.Option("--urls", metavar="FILE|-", help="The same for URLs, one a line, with their salts.")
    ] = None,
    salt: SaltOption = None,
    format: Annotated[  # noqa: A002
        SplitsFormat,
        typer.Option(
            "--format", help="A Python list, SPLITS for the HBase shell's create, or a file for its SPLITS_FILE."
        ),
    ] = SplitsFormat.file,
) -> None:
    """Write the split points of a new table: the first keys of all its regions but the first.

    They part the salts evenly, or the hex digits from --first to --last, or the keys of a sample.

    A sample is held in memory; where it has fewer different keys than regions, there are fewer split points.
    """
    given = {
        "--first and --last": first is not None or last is not None,
        "--sample": sample is not None,
        "--urls": urls is not None,
    }
    kinds = [name for name, is_given in given.items() if is_given]
    if len(kinds) > 1:
        raise InvalidArgument(f"{', '.join(kinds)}: give one of them, and only one")
    if kinds and kinds != ["--urls"] and (digits is not None or salt is not None):
        raise InvalidArgument(f"--digits and --salt have no meaning with {kinds[0]}")
    if sample is not None:
        points = sample_split_points(_listed_keys(sample), regions)
    elif urls is not None:
        points = sample_split_points(_keys_of(urls, web_key(ctx, salt, digits)), regions)
    elif kinds:
        if first is None or last is None:
            raise InvalidArgument("--first and --last belong together: one of them is missing")
        points = hex_split_points(first, last, regions)
    else:
        if digits is None or salt is not None:
            digits = web_key(ctx, salt, digits).salt.digits
            if not digits and regions > 1:
                raise InvalidArgument("keys without a salt begin with the host: give --urls or --sample to split them")
        points = split_points(regions, digits)
    if text := splits_text(points, format.value):
        typer.echo(text)
    if len(points) < regions - 1:
        note(f"{plural(len(points) + 1, 'region')}, not {regions:,}: the sample has too few different keys")


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

    The regions are compared with those of a new table with as many of them: wanted is a region that begins where it
    would begin there, extra another one (HBase splits regions as they grow), missing one that is not there.

    Of a table that is no web table the declaration of its key is shown, some keys as they are, and its regions.
    """
    from webtable.errors import LayoutMismatch

    chosen = session(ctx) if table is None else Session(table)
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
    """What is shown of a table: how its keys are made, some of them with their parts, and its regions."""

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


def _web_sketch(chosen: Session) -> _Sketch:
    from webtable.repository.regions import regions_of
    from webtable.repository.sampling import sample_urls

    with chosen.open() as table:
        layout = [
            ("format", table.layout.key),
            ("salt", table.layout.salt),
            ("digits", str(table.layout.digits)),
            ("suffix_list", table.layout.suffix_list or "none"),
        ]
        keys = sorted(_taken_apart(table, url) for url in sample_urls(table, most=_SHOWN_KEYS))
        return _Sketch(table.name, layout, _KEY_PARTS, keys, regions_of(table), are_compared=True)


def _keyed_sketch(chosen: Session) -> _Sketch | None:
    """Return what there is to show of a table of records, None for another kind."""
    from webtable.repository.creating import stored_layout
    from webtable.repository.sampling import first_keys
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


def _listed_keys(file: str) -> Iterator[bytes]:
    check_files([file])
    with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as lines:
        for number, line in enumerate(lines, 1):
            # A byte that is no UTF-8 becomes half of a surrogate pair, which no key has as text.
            text = line.decode("utf-8", "surrogateescape").rstrip("\r\n")
            if not text.strip():
                continue
            try:
                yield parse_key(text)
            except KeyFormatError as exc:
                raise KeyFormatError(f"{file_name(file)}, line {number:,}: {exc}") from exc


def _keys_of(file: str, key: WebKey) -> Iterator[bytes]:
    from webtable.cli.urlfiles import UrlFiles

    check_files([file])
    for number, url in enumerate(UrlFiles([file]), 1):
        try:
            yield key.encode(url)
        except InvalidURL as exc:
            raise InvalidURL(f"{file_name(file)}, URL {number:,}: {exc}") from exc


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
