"""The commands about the regions that keys are in: `keys splits`, `keys show`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from webtable.cli.failing import note
from webtable.cli.keys import web_key
from webtable.cli.layouts import SaltOption  # noqa: TC001 - typer reads it
from webtable.cli.output import console, new_table, on_terminal, write_lines
from webtable.cli.session import Session, session
from webtable.cli.text import examples, harmless, plural
from webtable.errors import InvalidArgument, InvalidURL, KeyFormatError
from webtable.rowkey.shown import key_text, parse_key
from webtable.rowkey.splits import hex_split_points, sample_split_points, split_points
from webtable.rowkey.urls import split_url
from webtable.schema.shell import splits_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.repository import WebTable
    from webtable.repository.regions import RegionComparison

T = TypeVar("T")

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
        typer.Option("--digits", metavar="N", help="Hex digits that the keys begin with, 1 to 32 (a salt: 1 to 4). "
                                                   "Default: those of the table, if there is one, else 2."),
    ] = None,
    first: Annotated[
        str | None, typer.Option("--first", metavar="HEX", help="The lowest of the hex digits that keys begin with.")
    ] = None,
    last: Annotated[str | None, typer.Option("--last", metavar="HEX", help="The highest of them.")] = None,
    sample: Annotated[
        str | None,
        typer.Option("--sample", metavar="FILE|-", help="Row keys, one a line as the HBase shell shows them: equally "
                                                        "many for each region."),
    ] = None,
    urls: Annotated[
        str | None, typer.Option("--urls", metavar="FILE|-", help="The same for URLs, one a line, with their salts.")
    ] = None,
    salt: SaltOption = None,
    format: Annotated[  # noqa: A002
        SplitsFormat, typer.Option("--format", help="A Python list, SPLITS for the HBase shell's create, or a file "
                                                    "for its SPLITS_FILE.")
    ] = SplitsFormat.file,
) -> None:
    """Write the split points of a new table: the first keys of all its regions but the first.

    They part the salts evenly, or the hex digits from --first to --last, or the keys of a sample.

    A sample is held in memory; where it has fewer different keys than regions, there are fewer split points.
    """
    given = {"--first and --last": first is not None or last is not None, "--sample": sample is not None,
             "--urls": urls is not None}  # fmt: skip
    kinds = [name for name, is_given in given.items() if is_given]
    if len(kinds) > 1:
        raise InvalidArgument(f"{', '.join(kinds)}: give one of them, and only one")
    if kinds and kinds != ["--urls"] and (digits is not None or salt is not None):
        raise InvalidArgument(f"--digits and --salt have no meaning with {kinds[0]}")
    if sample is not None:
        points = sample_split_points(_lines(sample, parse_key), regions)
    elif urls is not None:
        points = sample_split_points(_lines(urls, web_key(ctx, salt, digits).encode), regions)
    elif kinds:
        if first is None or last is None:
            raise InvalidArgument("--first and --last belong together: one of them is missing")
        points = hex_split_points(first, last, regions)
    else:
        if digits is None or salt is not None:
            digits = web_key(ctx, salt, digits).salt.digits
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
    """
    from webtable.repository.regions import regions_of
    from webtable.repository.sampling import sample_urls

    with (session(ctx) if table is None else Session(table)).open() as opened:
        name = opened.name
        layout = [("format", opened.layout.key), ("salt", opened.layout.salt), ("digits", str(opened.layout.digits)),
                  ("suffix_list", opened.layout.suffix_list or "none")]
        keys = sorted(_taken_apart(opened, url) for url in sample_urls(opened, most=_SHOWN_KEYS))
        found = regions_of(opened)
    extra = set(found.extra)
    regions = [(key_text(region.keys.start), key_text(region.keys.stop), region.server,
                "extra" if region.keys.start in extra else "wanted") for region in found.regions]
    if on_terminal():
        _show(name, layout, keys, found, regions)
        return
    write_lines([("table", name), *((f"keys.{field}", value) for field, value in layout)])
    write_lines([("key", *parts) for parts in keys])
    write_lines([("region", *region) for region in regions])
    write_lines([("missing", key_text(point)) for point in found.missing])


def _lines(file: str, made: Callable[[str], T]) -> Iterator[T]:
    """Yield what *made* makes of each line of *file* that is not blank; an error names the line."""
    if file != "-" and (not Path(file).exists() or Path(file).is_dir()):
        raise InvalidArgument(f"{file}: no such file")
    with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as lines:
        for number, line in enumerate(lines, 1):
            # A byte that is no UTF-8 becomes half of a surrogate pair, which neither a key nor a URL may have.
            text = line.decode("utf-8", "surrogateescape").rstrip("\r\n")
            if not text.strip():
                continue
            try:
                yield made(text)
            except (InvalidURL, KeyFormatError) as exc:
                raise type(exc)(f"{'standard input' if file == '-' else file}, line {number:,}: {exc}") from exc


def _taken_apart(table: WebTable, url: str) -> tuple[str, ...]:
    key, parts = table.key.encode(url), split_url(url)
    scheme = parts.scheme if parts.port is None else f"{parts.scheme}:{parts.port}"
    salt = key_text(key[: table.layout.digits])
    return key_text(key), salt, parts.host, parts.path + parts.query, scheme, url


def _show(
    name: str,
    layout: Sequence[tuple[str, str]],
    keys: Sequence[tuple[str, ...]],
    found: RegionComparison,
    regions: Sequence[tuple[str, ...]],
) -> None:
    from rich.text import Text

    target = console()
    target.print(Text(harmless(name), style="bold"))
    shown = new_table("Keys")
    shown.show_header = False
    shown.add_column(style="bold")
    shown.add_column()
    for field, value in layout:
        shown.add_row(field, Text(harmless(value)))
    target.print(shown)
    shown = new_table("Some of them")
    for heading in _KEY_PARTS:
        shown.add_column(heading, overflow="fold")
    for parts in keys:
        shown.add_row(*(Text(harmless(part) or "–") for part in parts))
    if keys:
        target.print(shown)
    first, *_ = str(found).splitlines()
    shown = new_table(first)
    for heading in ("first key", "up to", "server", ""):
        shown.add_column(heading)
    for region in regions[:_SHOWN_REGIONS]:
        shown.add_row(*(Text(part or "–") for part in region))
    target.print(shown)
    for point in found.missing[:_SHOWN_REGIONS]:
        target.print(f"missing: no region begins at {key_text(point)}")
    if max(len(regions), len(found.missing)) > _SHOWN_REGIONS:
        target.print("… and more; in a pipe all of them are shown")
