"""The command `keys advise`: which row key suits these URLs."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated

import typer

from webtable.cli.cells import new_table
from webtable.cli.exits import note
from webtable.cli.ingesting import check_files
from webtable.cli.output import console, on_terminal, write_bytes, write_lines
from webtable.cli.session import session
from webtable.cli.text import examples, file_name, harmless, harmless_json, plural
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.table import Table

    from webtable.rowkey.advice import Advice

commands = typer.Typer()

_MOST_OF_A_TABLE = 20_000
_COLUMN = re.compile(r"[^:\s]+:\S*")


class AdviceFormat(StrEnum):
    """How advice is written."""

    table = "table"
    lines = "lines"
    json = "json"


@commands.command(
    epilog=examples(
        "webtable keys advise urls.txt --compare host,url --plot advise.html",
        "webtable keys advise crawl.warc.gz --ask host,subtree",
        "webtable -s crawl.db keys advise --format json | jq '.designs[0].name'",
        "zcat urls.txt.gz | webtable keys advise -",
    )
)
def advise(
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES",
            help="Lists with a URL a line, WARC or JSON Lines; - reads a list from "
            "standard input. Default: a sample of the table's pages.",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="A,B,C",
            help="The designs to compare: host, domain, url, none, hash, random. Default: all.",
            show_default=False,
        ),
    ] = None,
    regions: Annotated[int, typer.Option("--regions", metavar="N", help="Regions of the table.")] = 16,
    servers: Annotated[int, typer.Option("--servers", metavar="N", help="Servers that have them.")] = 4,
    window: Annotated[
        int | None,
        typer.Option(
            "--window",
            metavar="N",
            help="How many keys are written at a moment. Default: a 64th of all, 100 at least.",
            show_default=False,
        ),
    ] = None,
    ask: Annotated[
        str | None,
        typer.Option(
            "--ask",
            metavar="A,B,C",
            help="The questions that count: point, host, subtree, directory, latest. Default: all.",
            show_default=False,
        ),
    ] = None,
    column: Annotated[
        str, typer.Option("--column", metavar="FAMILY:QUALIFIER", help="The cell that a key is held against.")
    ] = "metadata:page",
    value_bytes: Annotated[int, typer.Option("--value-bytes", metavar="N", help="Bytes of its value.")] = 600,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Write a page with heat maps here: one HTML file.")
    ] = None,
    format: Annotated[  # noqa: A002
        AdviceFormat | None,
        typer.Option(
            "--format",
            help="As a table, tab-separated lines or JSON. Default: a table on a terminal, lines in a pipe.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Measure designs of row keys on URLs, in the order in which they come, and rank them.

    Designs are the four salts (host, domain, url, none), a hash of the whole URL, and a random salt.

    A low score is good: how hot the hottest region is at any moment, times what the questions cost in ranges.

    Of more than 65,536 URLs a sample is measured, evenly through time, and its error is told. In a pipe the first line
    tells it: keys measured, all keys, margin of shares in the end, regions, servers, keys at a moment.
    """
    from webtable.rowkey import advice

    if not _COLUMN.fullmatch(column):
        raise InvalidArgument(f"column={column!r} must be family:qualifier")
    if plot is not None and (plot.is_dir() or not plot.parent.is_dir()):
        raise InvalidArgument(f"{plot}: a page cannot be written there; name a file in a directory that exists")
    designs = advice.WEB_DESIGNS if compare is None else _names(compare)
    questions = None if ask is None else _names(ask)

    def measured(urls: Iterable[str]) -> Advice:
        return advice.advise(
            urls,
            designs,
            regions=regions,
            servers=servers,
            window=window,
            questions=questions,
            column=column,
            value_bytes=value_bytes,
        )

    found = _of_files(files, measured) if files else _of_table(ctx, measured)
    _write(found, format or (AdviceFormat.table if on_terminal() else AdviceFormat.lines))
    if plot is not None:
        _write_page(plot, found.to_html())


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _of_files(files: Sequence[str], measured: Callable[[Iterable[str]], Advice]) -> Advice:
    from webtable.cli.progress import shown_progress, size_of
    from webtable.cli.urlfiles import UrlFiles

    check_files(files)
    urls = UrlFiles(files)
    try:
        with shown_progress("advise", size_of(files), urls.progress):
            found = measured(urls)
    except InvalidArgument as exc:
        if urls.is_read and not urls.count:
            raise InvalidArgument(f"{', '.join(map(file_name, files))}: there is no URL in it") from exc
        raise
    if found.skipped:
        are = "is no URL" if found.skipped == 1 else "are no URLs"
        note(f"{plural(found.skipped, 'line')} {are}; the first: {found.first_skipped}")
    if damaged := urls.report.damaged_count:
        note(f"{plural(damaged, 'damaged record')}; the first: {urls.report.damaged[0]}")
    return found


def _of_table(ctx: typer.Context, measured: Callable[[Iterable[str]], Advice]) -> Advice:
    from webtable.repository.sampling import sample_urls

    with session(ctx).open() as table:
        name = table.name
        urls = sample_urls(table, most=_MOST_OF_A_TABLE)
    if not urls:
        raise InvalidArgument(f"{name}: there is no page in it")
    # How far this sample may be off is not known: regions count equally in it, however many pages they have.
    note(f"{name}: {plural(len(urls), 'page')} from all of its regions, in the order in which they were fetched")
    return measured(urls)


def _write(found: Advice, format: AdviceFormat) -> None:  # noqa: A002
    match format:
        case AdviceFormat.json:
            text = found.to_json()
            write_bytes((harmless_json(text.decode()).encode() if on_terminal() else text) + b"\n")
        case AdviceFormat.lines:
            write_lines(_lines(found))
        case AdviceFormat.table:
            _write_table(found)


def _lines(found: Advice) -> Iterator[tuple[object, ...]]:
    """Yield what was measured, a line for each design, the best first, then for each question and each reason."""
    yield (
        "measured",
        found.measured,
        found.keys,
        _number(found.margin),
        found.regions,
        found.servers,
        found.window,
        found.measure,
    )
    for place, design in enumerate(found.designs, 1):
        writes, lengths = design.writes, design.lengths
        numbers = (
            design.score,
            design.heat,
            design.reading,
            writes.hottest_at_once,
            writes.fair,
            writes.hottest_server,
            writes.gini,
            writes.max_over_mean,
            lengths.mean,
        )
        yield (
            "design",
            place,
            design.name,
            *map(_number, numbers),
            lengths.p99,
            _number(lengths.share),
            _number(lengths.share_with_names),
            design.declaration,
        )
    for design in found.designs:
        for cost in design.questions:
            costs = map(_number, (cost.ranges, cost.calls, cost.calls_without))
            yield ("question", design.name, cost.question, *costs, cost.reason)
    for design in found.designs:
        yield from (("why", design.name, reason) for reason in design.why)


def _number(number: float | None) -> str:
    return "" if number is None else f"{round(number, 4):g}"


def _write_table(found: Advice) -> None:
    from rich.padding import Padding
    from rich.text import Text

    target = console()
    target.print(_ranking(found))
    for place, design in enumerate(found.designs, 1):
        target.print(Text(harmless(f"{place}. {design.name}"), style="bold"))
        for reason in design.why:
            target.print(Padding(Text(harmless(reason), style=_style(reason)), (0, 0, 0, 3), expand=False))


def _ranking(found: Advice) -> Table:
    from rich.text import Text

    table = new_table(found.measure)
    table.add_column("")
    table.add_column("design")
    for heading in (
        "score",
        "hottest\nregion",
        "by\nchance",
        "hottest\nserver",
        "Gini",
        "max/\nmean",
        "key\nbytes",
        "p99",
        "of a\ncell",
        "with\nnames",
    ):
        table.add_column(heading, justify="right")
    for place, design in enumerate(found.designs, 1):
        writes, lengths = design.writes, design.lengths
        hot = "red" if writes.is_hot else "green"
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
            f"{lengths.share_with_names:.1%}",
        )
    return table


def _style(reason: str) -> str:
    return "red" if reason.startswith(("hot:", "cannot answer")) else ""


def _write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as exc:
        # A full disk is told of without the name of the file.
        raise OSError(exc.errno, exc.strerror, str(path)) from exc
    note(f"written: {path}")
