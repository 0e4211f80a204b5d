"""The commands about row keys: `keys encode`, `keys decode`, `keys ranges`, `keys splits`."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from webtable.cli import output
from webtable.cli.exit_codes import note
from webtable.cli.options import DigitsOption, SaltName, SaltOption, make_salt
from webtable.cli.progress import size_of
from webtable.cli.rows import RowFiles, holds_rows, own_keys
from webtable.cli.session import DEFAULT_STORE, session
from webtable.display import harmless
from webtable.display.text import plural
from webtable.display.values import harmless_json
from webtable.errors import InvalidArgument, InvalidURL, KeyFormatError
from webtable.ingest.files import check_files
from webtable.progress import ProgressBar
from webtable.rowkey import KeyRange, WebKey, hex_split_points, key_text, parse_key, sample_split_points, split_points
from webtable.schema import splits_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from webtable.rowkey import RowKey
    from webtable.rowkey.advice import Advice, Design


commands: Final = typer.Typer(help="Turn URLs into row keys and back, and split tables by them.", no_args_is_help=False)


@output.documented(commands)
def encode(
    ctx: typer.Context,
    urls: Annotated[list[str], typer.Argument(metavar="URL", help="The URLs.")],
    salt: SaltOption = None,
    digits: DigitsOption = None,
) -> None:
    """Write the row key of each URL, as the HBase shell shows it.

    It is the key that the page has in the table, if there is one; --salt and --digits make keys without a table.

    Examples:
        webtable keys encode https://example.com/products
        webtable -s crawl.db keys encode https://example.com/products
        webtable keys encode --salt none https://example.com/products http://example.com:8080/
    """
    key = web_key(ctx, salt, digits)
    for made in [key.encode(url) for url in urls]:
        typer.echo(key_text(made))


@output.documented(commands)
def decode(
    ctx: typer.Context,
    keys: Annotated[list[str], typer.Argument(metavar="KEY", help="Row keys, as the HBase shell shows them.")],
    salt: SaltOption = None,
    digits: DigitsOption = None,
) -> None:
    """Write the URL of each row key.

    The keys are those of the table, if there is one; --salt and --digits read keys without a table.

    Examples:
        webtable keys decode 5a:com.example/products
        webtable keys decode --salt none 'com.example/products#http:8080'
    """
    key = web_key(ctx, salt, digits)
    for url in [key.decode(parse_key(text)) for text in keys]:
        typer.echo(url)


@output.documented(commands)
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

    A line has STARTROW and STOPROW for the HBase shell.

    The keys are those of the table, if there is one; --salt and --digits make ranges without a table.

    Examples:
        webtable keys ranges --domain example.com
        webtable keys ranges --salt none --host docs.example.com
        webtable -s crawl.db keys ranges --directory https://docs.example.com/guide/
    """
    if [domain, host, directory].count(None) != 2:
        raise InvalidArgument("give one of --domain, --host and --directory, and only one")
    key = web_key(ctx, salt, digits)
    if domain is not None:
        key_ranges = key.subtree_ranges(domain)
    elif host is not None:
        key_ranges = key.host_ranges(host)
    else:
        url = directory or ""
        # As for a SITE: the slash at its end makes no difference.
        last = url.rpartition("/")[2]
        key_ranges = key.directory_ranges(f"{url}/" if last and "?" not in last else url)
    _write_ranges(key_ranges)


def web_key(ctx: typer.Context, salt: SaltName | None, digits: int | None) -> WebKey:
    """Return the form of keys that the options name; without options that of the table, if there is one."""
    this = session(ctx)
    is_there = this.store != DEFAULT_STORE or Path(DEFAULT_STORE).exists()
    if salt is None and digits is None and is_there:
        with this.open() as table:
            return table.key
    return WebKey(make_salt(salt, digits))


def _write_ranges(key_ranges: list[KeyRange]) -> None:
    lines = [(key_text(keys.start), key_text(keys.stop)) for keys in key_ranges]
    if not output.on_terminal():
        output.write_lines(lines)
        return
    shown = output.new_table()
    for heading in ("first key", "up to"):
        shown.add_column(heading, overflow="fold")
    for line in lines:
        shown.add_row(*line)
    output.console().print(shown)
    note(plural(len(lines), "range"))


class SplitsFormat(StrEnum):
    """The forms of `webtable.schema.shell.splits_text`."""

    python = "python"
    shell = "shell"
    file = "file"


@output.documented(commands)
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
    format: Annotated[
        SplitsFormat,
        typer.Option(help="A Python list, SPLITS for the HBase shell's create, or a file for its SPLITS_FILE."),
    ] = SplitsFormat.file,
) -> None:
    """Write the split points of a new table: the first keys of all its regions but the first.

    They divide the salts, the hex digits from --first to --last, or a sample.

    A sample is held in memory; with few different keys there are fewer split points.

    Examples:
        webtable keys splits --regions 16 --format shell
        webtable keys splits --regions 4 --first 00000000 --last ffffffff
        webtable keys splits --regions 8 --urls urls.txt --salt domain --format python
        zcat keys.txt.gz | webtable keys splits --regions 32 --sample - > splits.txt
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


def _check_one_way(ways_given: Mapping[str, bool], *, has_salt: bool) -> None:
    """Raise `InvalidArgument` if several ways are *ways_given*, or a salt with a way that has no use for it."""
    # Silently ignoring one of two ways would write split points for another table.
    ways = [name for name, is_given in ways_given.items() if is_given]
    if len(ways) > 1:
        raise InvalidArgument(f"{', '.join(ways)}: give one of them, and only one")
    if ways and ways != ["--urls"] and has_salt:
        raise InvalidArgument(f"--digits and --salt have no meaning with {ways[0]}")


def _of_salts(ctx: typer.Context, salt: SaltName | None, digits: int | None, regions: int) -> list[bytes]:
    # With --digits alone no store is opened: split points may be wanted for hex keys that are no web keys.
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
                raise KeyFormatError(f"{output.file_name(file)}, line {number:,}: {exc}") from exc


def _keys_of(file: str, key: WebKey) -> Iterator[bytes]:
    from webtable.cli.ingest import UrlFiles

    check_files([file])
    for number, url in enumerate(UrlFiles([file]), 1):
        try:
            yield key.encode(url)
        except InvalidURL as exc:
            raise InvalidURL(f"{output.file_name(file)}, URL {number:,}: {exc}") from exc


# --- The forms of advice ----------------------------------------------------------------------------------------------


_INDENT, _HANGING = " " * 3, " " * 5


class ColumnHelp(NamedTuple):
    """The heading of a column, and its meaning."""

    name: str
    says: str


# The columns of the ranking, in order.
RANKING = (
    ColumnHelp(
        "score",
        "heat times reading, plus scans for what has no answer; 1.0 is even writes, one range each",
    ),
    ColumnHelp("hottest region", "the share of a moment's writes that go to the region with most of them, on average"),
    ColumnHelp("by chance", "what that share would be if each key went to a region at random"),
    ColumnHelp("hottest server", "the same share of the server with most of them, all its regions together"),
    ColumnHelp("Gini", "how unevenly the regions are filled in the end: 0 all the same, near 1 one has all rows"),
    ColumnHelp("max/mean", "the rows of the fullest region in the end, over the mean of all regions; 1.0 is even"),
    ColumnHelp("key bytes", "the mean length of a row key, which is stored with every cell of the row"),
    ColumnHelp("p99", "the length in bytes that 99 of 100 keys do not exceed"),
    ColumnHelp("of a cell", "the share of a stored cell that is its row key, next to a value of the given size"),
    ColumnHelp("with names", "the same with the names of family and column; empty if no column is given"),
)


class AdviceFormat(StrEnum):
    """How advice is written."""

    table = "table"
    json = "json"


def write_advice(advice: Advice, format: AdviceFormat | None) -> None:
    """Write advice; without a *format* as a table on a terminal, as JSON elsewhere."""
    if (format or (AdviceFormat.table if output.on_terminal() else AdviceFormat.json)) is AdviceFormat.table:
        _write_table(advice)
    else:
        text = advice.to_json()
        output.write_bytes((harmless_json(text.decode()).encode() if output.on_terminal() else text) + b"\n")


def _write_table(advice: Advice) -> None:
    from rich.text import Text

    target = output.console()
    target.print(_ranking(advice))
    for column in _columns(advice):
        target.print(Text.assemble((column.name, "bold"), f": {column.says}", style="dim"))
    for verdict in advice.said_of_all:
        target.print(Text(harmless(f"{verdict[:1].upper()}{verdict[1:]}.")))
    for place, design in enumerate(advice.designs, 1):
        target.print(Text(harmless(f"{place}. {design.name}, {design.verdict}"), style="bold"))
        for reason in design.why:
            style = "red" if reason.startswith(("hot:", "cannot answer")) else ""
            _write_reason(target, Text(harmless(reason), style=style))


def _write_reason(target: Console, reason: Text) -> None:
    """Write a reason below its design; continuation lines are indented further than the first."""
    from rich.text import Text

    for number, line in enumerate(reason.wrap(target, target.width - len(_HANGING))):
        line.rstrip()
        target.print(Text(_HANGING if number else _INDENT).append_text(line))


def _columns(advice: Advice) -> Sequence[ColumnHelp]:
    """Return the columns of the ranking, including that of names only if a column of the table is given."""
    return RANKING if advice.column else RANKING[:-1]


def _ranking(advice: Advice) -> Table:
    from rich.text import Text

    table = output.new_table(advice.measure)
    table.padding = (0, 1, 0, 0)  # closer than usual, so that all columns fit into 80 characters
    table.add_column("")
    table.add_column("design", overflow="fold", min_width=min(8, max(len(design.name) for design in advice.designs)))
    for column in _columns(advice):
        heading = column.name.replace("/", "/\n") if "/" in column.name else "\n".join(column.name.rsplit(" ", 1))
        table.add_column(heading, justify="right")
    for place, design in enumerate(advice.designs, 1):
        writes, lengths = design.writes, design.lengths
        hot = "red" if writes.is_hot else "green"
        with_names = [] if lengths.share_with_names is None else [f"{lengths.share_with_names:.1%}"]
        table.add_row(
            str(place),
            Text(harmless(design.name), style="bold"),
            f"{design.score:.1f}",
            Text(f"{writes.hottest_at_once:.0%}", style=hot),
            f"{writes.fair:.0%}",
            f"{writes.hottest_server:.0%}",
            f"{writes.gini:.2f}",
            f"{writes.max_over_mean:.1f}",
            f"{lengths.mean:.0f}",
            str(lengths.p99),
            f"{lengths.share:.1%}",
            *with_names,
        )
    return table


# --- Measuring --------------------------------------------------------------------------------------------------------


_MOST_OF_A_TABLE = 20_000
_COLUMN = re.compile(r"[^:\s]+:\S*")


@output.documented(commands)
def advise(
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES",
            help="Lists with a URL a line, WARC, WACZ, ARC, HAR or JSON Lines; - reads a list from "
            "standard input. Default: a sample of the table's pages.",
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C", help="The designs to compare: host, domain, url, none, hash, random. Default: all."
        ),
    ] = None,
    designs: Annotated[
        list[str] | None,
        typer.Option(
            "--design",
            metavar="MODULE:KEY",
            help="A key of yours to compare with them, by its importable name (repeatable).",
        ),
    ] = None,
    regions: Annotated[int, typer.Option(metavar="N", help="Regions of the table.")] = 16,
    servers: Annotated[int, typer.Option(metavar="N", help="Servers that have them.")] = 4,
    window: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many keys are written at a time. Default: a 64th of all, at least 100."),
    ] = None,
    questions: Annotated[
        list[str] | None,
        typer.Option(
            "--ask",
            metavar="QUESTIONS",
            help="What you will ask, with weights, as in 'channel, sent between: 3; latest of channel'; may be "
            "repeated. Only yours count then. Default: what each design is made for.",
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            metavar="FAMILY:QUALIFIER", help="A cell of yours that a key is held against. Default: one without a name."
        ),
    ] = None,
    value_bytes: Annotated[int, typer.Option(metavar="N", help="Bytes of its value.")] = 600,
    format: Annotated[
        AdviceFormat | None,
        typer.Option(help="As a table, or all figures as JSON. Default: a table on a terminal, JSON in a pipe."),
    ] = None,
) -> None:
    """Measure designs of row keys on URLs, in the order in which they come, and rank them.

    Designs are the four salts (host, domain, url, none), a hash of the whole URL, and a random salt. --design adds
    keys that you declare with webtable.rowkey, of the fields url, host, domain, rest, scheme, port, path, query and a
    time. Keys of other values are measured on JSON Lines, an object of values a line.

    All designs are measured on the same questions. --ask names yours: fields separated by commas, `between` after one
    that has a range, or `latest of` some fields; a weight after a colon; the next question after a semicolon.

    A low score is good: the load of the hottest region at any time, times the ranges that the questions read, plus
    full scans. It holds for crawls like the measured one. Above 65,536 URLs a sample is measured, and its error
    reported.

    Examples:
        webtable keys advise urls.txt --compare host,url
        webtable keys advise crawl.warc.gz --ask 'host: 3; subtree'
        webtable keys advise urls.txt --compare host,url --design mykeys:BY_DAY
        webtable keys advise messages.jsonl --design chat:HASHED --ask 'channel, sent between'
        webtable -s crawl.db keys advise --format json | jq '.designs[0].name'
        zcat urls.txt.gz | webtable keys advise -
    """
    from webtable.rowkey import advice

    if column is not None and not _COLUMN.fullmatch(column):
        raise InvalidArgument(f"column={column!r} must be family:qualifier")
    own = own_keys(designs or ())
    of_rows = bool(files) and holds_rows(files or (), own)
    measured = partial(
        advice.advise,
        designs=_designs(compare, own, of_rows=of_rows),
        regions=regions,
        servers=servers,
        window=window,
        questions=_questions(questions) if questions else None,
        column=column,
        value_bytes=value_bytes,
    )
    if of_rows:
        result = _of_rows(RowFiles(files or (), own), measured)
    else:
        result = _of_files(files, measured) if files else _of_table(ctx, measured)
    write_advice(result, format)


def _designs(
    compare: str | None, own: Mapping[str, RowKey], *, of_rows: bool
) -> Sequence[str | Design] | Mapping[str, RowKey]:
    """Return the designs to measure: keys of one's own alone on rows, with the named ones on URLs."""
    from webtable.rowkey.advice import WEB_DESIGNS

    if of_rows:
        if compare is not None:
            raise InvalidArgument(f"compare={compare!r}: designs for URLs are not compared on rows of other values")
        return own
    named = WEB_DESIGNS if compare is None else output.parse_names(compare)
    if wrong := [name for name in named if name not in WEB_DESIGNS]:
        raise InvalidArgument(f"compare={wrong[0]!r} must be one of {', '.join(WEB_DESIGNS)}")
    return [*named, *_url_designs(own)]


def _questions(ask: Sequence[str]) -> list[str]:
    """Return the questions of an option that is repeated, each with its weight."""
    questions = [question for text in ask for question in text.split(";") if question.strip()]
    if not questions:
        raise InvalidArgument(f"questions={ask[0]!r} must be one or more questions, as in 'channel, sent between'")
    return questions


def _of_files(files: Sequence[str], measured: Callable[[Iterable[str]], Advice]) -> Advice:
    from webtable.cli.ingest import UrlFiles

    check_files(files)
    urls = UrlFiles(files)
    try:
        with ProgressBar("advise", total=size_of(files), state=urls.progress):
            advice = measured(urls)
    except InvalidArgument as exc:
        if urls.is_read and not urls.count:
            raise InvalidArgument(f"{', '.join(map(output.file_name, files))}: there is no URL in it") from exc
        raise
    if advice.skipped:
        are = "is not a URL" if advice.skipped == 1 else "are not URLs"
        note(f"{plural(advice.skipped, 'line')} {are}; the first: {advice.first_skipped}")
    if damaged := urls.report.damaged_count:
        note(f"{plural(damaged, 'damaged record')}; the first: {urls.report.damaged[0]}")
    return advice


def _of_rows(rows: RowFiles, measured: Callable[[Iterable[dict[str, Any]]], Advice]) -> Advice:

    check_files(rows.files)
    with ProgressBar("advise", total=size_of(rows.files), state=rows.progress):
        advice = measured(rows)
    if advice.skipped:
        lines = plural(advice.skipped, "line")
        note(f"{lines} with values that the keys do not take; the first: {advice.first_skipped}")
    return advice


def _of_table(ctx: typer.Context, measured: Callable[[Iterable[str]], Advice]) -> Advice:
    from webtable.maintenance import sample_urls

    with session(ctx).open() as table:
        name = table.name
        urls = sample_urls(table, most=_MOST_OF_A_TABLE)
    if not urls:
        raise InvalidArgument(f"{name}: there is no page in it")
    # The error of this sample is unknown: regions count equally in it, however many pages they have.
    note(f"{name}: {plural(len(urls), 'page')} from all of its regions, in the order in which they were fetched")
    return measured(urls)


def _url_designs(keys: Mapping[str, RowKey]) -> list[Design]:
    """Return the designs of *keys* for URLs; raises `InvalidArgument` for a key of other values."""
    from webtable.rowkey.advice import url_design

    try:
        return [url_design(name, key) for name, key in keys.items()]
    except InvalidArgument as exc:
        raise InvalidArgument(f"{exc}. Rows with such values are read from JSON Lines (.jsonl)") from exc
