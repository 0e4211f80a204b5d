"""The commands about row keys: `keys encode`, `keys decode`, `keys ranges`, `keys splits`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from webtable.cli.exit_codes import note
from webtable.cli.options import DigitsOption, SaltName, SaltOption, make_salt
from webtable.cli.session import DEFAULT_STORE, session
from webtable.cli.terminal.output import console, examples, file_name, new_table, on_terminal, write_lines
from webtable.display.text import plural
from webtable.errors import InvalidArgument, InvalidURL, KeyFormatError
from webtable.ingest.files import check_files
from webtable.rowkey import KeyRange, WebKey, hex_split_points, key_text, parse_key, sample_split_points, split_points
from webtable.schema import splits_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

commands: Final = typer.Typer(help="Turn URLs into row keys and back, and split tables by them.", no_args_is_help=False)


@commands.command(
    epilog=examples(
        "webtable keys encode https://example.com/products",
        "webtable -s crawl.db keys encode https://example.com/products",
        "webtable keys encode --salt none https://example.com/products http://example.com:8080/",
    )
)
def encode(
    ctx: typer.Context,
    urls: Annotated[list[str], typer.Argument(metavar="URL", help="The URLs.")],
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
    keys: Annotated[list[str], typer.Argument(metavar="KEY", help="Row keys, as the HBase shell shows them.")],
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

    A line is the first key and the first key after the range, as STARTROW and STOPROW of the HBase shell take them.

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
        url = directory or ""
        # As for a SITE: the slash at its end makes no difference.
        last = url.rpartition("/")[2]
        found = key.directory_ranges(f"{url}/" if last and "?" not in last else url)
    _write_ranges(found)


def web_key(ctx: typer.Context, salt: SaltName | None, digits: int | None) -> WebKey:
    """Return the form of keys that the options name; without options that of the table, if there is one."""
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
    regions: Annotated[int, typer.Option(metavar="N", help="The number of regions.")],
    digits: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Hex digits that the keys begin with, 1 to 32 (a salt: 1 to 4). "
            "Default: those of the table, if there is one, else 2.",
        ),
    ] = None,
    first: Annotated[
        str | None, typer.Option(metavar="HEX", help="The lowest of the hex digits that keys begin with.")
    ] = None,
    last: Annotated[str | None, typer.Option(metavar="HEX", help="The highest of them.")] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-", help="Row keys, one a line as the HBase shell shows them: equally many for each region."
        ),
    ] = None,
    urls: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="The same for URLs, one a line, with their salts.")
    ] = None,
    salt: SaltOption = None,
    format: Annotated[  # noqa: A002
        SplitsFormat,
        typer.Option(help="A Python list, SPLITS for the HBase shell's create, or a file for its SPLITS_FILE."),
    ] = SplitsFormat.file,
) -> None:
    """Write the split points of a new table: the first keys of all its regions but the first.

    They divide the salts evenly, or the hex digits from --first to --last, or the keys of a sample.

    A sample is held in memory; where it has fewer different keys than regions, there are fewer split points.
    """
    _check_one_way(
        {
            "--first and --last": first is not None or last is not None,
            "--sample": sample is not None,
            "--urls": urls is not None,
        },
        has_salt=digits is not None or salt is not None,
    )
    if sample is not None:
        points = sample_split_points(_listed_keys(sample), regions)
    elif urls is not None:
        points = sample_split_points(_keys_of(urls, web_key(ctx, salt, digits)), regions)
    elif first is not None and last is not None:
        points = hex_split_points(first, last, regions)
    elif first is not None or last is not None:
        raise InvalidArgument("--first and --last belong together: one of them is missing")
    else:
        points = _of_salts(ctx, salt, digits, regions)
    if text := splits_text(points, format.value):
        typer.echo(text)
    if len(points) < regions - 1:
        note(f"{plural(len(points) + 1, 'region')}, not {regions:,}: the sample has too few different keys")


def _check_one_way(given: Mapping[str, bool], *, has_salt: bool) -> None:
    """Raise `InvalidArgument` if several ways are *given*, or a salt with a way that has no use for it."""
    ways = [name for name, is_given in given.items() if is_given]
    if len(ways) > 1:
        raise InvalidArgument(f"{', '.join(ways)}: give one of them, and only one")
    if ways and ways != ["--urls"] and has_salt:
        raise InvalidArgument(f"--digits and --salt have no meaning with {ways[0]}")


def _of_salts(ctx: typer.Context, salt: SaltName | None, digits: int | None, regions: int) -> list[bytes]:
    if digits is None or salt is not None:
        digits = web_key(ctx, salt, digits).salt.digits
        if not digits and regions > 1:
            raise InvalidArgument("keys without a salt begin with the host: give --urls or --sample to split them")
    return split_points(regions, digits)


def _listed_keys(file: str) -> Iterator[bytes]:
    check_files([file])
    with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as lines:
        for number, line in enumerate(lines, 1):
            # A byte that is not UTF-8 becomes a lone surrogate, which no key contains as text.
            text = line.decode("utf-8", "surrogateescape").rstrip("\r\n")
            if not text.strip():
                continue
            try:
                yield parse_key(text)
            except KeyFormatError as exc:
                raise KeyFormatError(f"{file_name(file)}, line {number:,}: {exc}") from exc


def _keys_of(file: str, key: WebKey) -> Iterator[bytes]:
    from webtable.cli.loading.ingestion import UrlFiles

    check_files([file])
    for number, url in enumerate(UrlFiles([file]), 1):
        try:
            yield key.encode(url)
        except InvalidURL as exc:
            raise InvalidURL(f"{file_name(file)}, URL {number:,}: {exc}") from exc
