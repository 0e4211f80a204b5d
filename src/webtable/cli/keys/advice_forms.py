"""The forms in which advice on row keys is written: a table, tab-separated lines, or JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from webtable.cli.terminal.output import console, on_terminal, write_bytes, write_lines
from webtable.cli.terminal.tables import new_table
from webtable.display import harmless
from webtable.display.values import harmless_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from webtable.rowkey.advice import Advice, Judgement

_INDENT, _HANGING = " " * 3, " " * 5


class ColumnHelp(NamedTuple):
    """The heading of a column, and its meaning."""

    name: str
    says: str


RANKING = (
    ColumnHelp(
        "score", "heat times reading, the lower the better; 1.0 is even writes, and one range for each question"
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
"""The columns of the ranking, in order."""


class AdviceFormat(StrEnum):
    """How advice is written."""

    table = "table"
    lines = "lines"
    json = "json"


def write_advice(found: Advice, format: AdviceFormat | None) -> None:  # noqa: A002
    """Write advice; without a *format* as a table on a terminal, as lines elsewhere."""
    match format or (AdviceFormat.table if on_terminal() else AdviceFormat.lines):
        case AdviceFormat.json:
            text = found.to_json()
            write_bytes((harmless_json(text.decode()).encode() if on_terminal() else text) + b"\n")
        case AdviceFormat.lines:
            write_lines(_lines(found))
        case AdviceFormat.table:
            _write_table(found)


def _lines(found: Advice) -> Iterator[tuple[object, ...]]:
    """Yield lines: what was measured, for which crawls it holds, then each design, question and reason."""
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
    yield from (("holds", said) for said in found.said_of_all)
    for place, design in enumerate(found.designs, 1):
        yield ("design", place, *_line(design))
    for design in found.designs:
        for cost in design.questions:
            costs = map(_number, (cost.ranges, cost.calls, cost.calls_without))
            rows = map(_number, (cost.weight, cost.rows_read, cost.rows_wanted))
            yield (
                "question",
                design.name,
                cost.question,
                *costs,
                cost.reason,
                cost.remedy,
                cost.instead,
                *rows,
                cost.order,
            )
    for design in found.designs:
        yield from (("why", design.name, reason) for reason in design.why)


def _line(design: Judgement) -> tuple[object, ...]:
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
    shares = (lengths.share, lengths.share_with_names)
    return (design.name, *map(_number, numbers), lengths.p99, *map(_number, shares), design.declaration)


def _number(number: float | None) -> str:
    return "" if number is None else f"{round(number, 4):g}"


def _write_table(found: Advice) -> None:
    from rich.text import Text

    target = console()
    target.print(_ranking(found))
    for column in _columns(found):
        target.print(Text.assemble((column.name, "bold"), f": {column.says}", style="dim"))
    for said in found.said_of_all:
        target.print(Text(harmless(f"{said[:1].upper()}{said[1:]}.")))
    for place, design in enumerate(found.designs, 1):
        target.print(Text(harmless(f"{place}. {design.name}"), style="bold"))
        for reason in design.why:
            _write_reason(target, Text(harmless(reason), style=_style(reason)))


def _write_reason(target: Console, reason: Text) -> None:
    """Write a reason below its design; continuation lines are indented further than the first."""
    from rich.text import Text

    for number, line in enumerate(reason.wrap(target, target.width - len(_HANGING))):
        line.rstrip()
        target.print(Text(_HANGING if number else _INDENT).append_text(line))


def _columns(found: Advice) -> Sequence[ColumnHelp]:
    """Return the columns of the ranking, including that of names only if a column of the table is given."""
    return RANKING if found.column else RANKING[:-1]


def _ranking(found: Advice) -> Table:
    from rich.text import Text

    table = new_table(found.measure)
    table.padding = (0, 1, 0, 0)  # closer than usual, so that all columns fit into 80 characters
    table.add_column("")
    table.add_column("design", overflow="fold", min_width=min(8, max(len(design.name) for design in found.designs)))
    for column in _columns(found):
        heading = column.name.replace("/", "/\n") if "/" in column.name else "\n".join(column.name.rsplit(" ", 1))
        table.add_column(heading, justify="right")
    for place, design in enumerate(found.designs, 1):
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


def _style(reason: str) -> str:
    return "red" if reason.startswith(("hot:", "cannot answer")) else ""
