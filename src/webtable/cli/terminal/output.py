"""Records as a table, as plain lines, or in a format for programs; written as they come, never all in memory."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from webtable._shown import harmless
from webtable.cli import completion
from webtable.cli.terminal import pager
from webtable.cli.terminal.cells import UNLIMITED, field, new_table, print_table
from webtable.formats import FORMATS, write
from webtable.formats.columns import texts
from webtable.formats.export import CountedRecords
from webtable.formats.text import decoded, harmless_json, value_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from webtable._page.page import Page


TABLE = "table"
LINES = "lines"
if TYPE_CHECKING:
    Format = str
else:
    # typer takes choices as an enum only.
    Format = StrEnum("Format", [TABLE, LINES, *FORMATS])
    """How records are written: as one of the two for people, or in a format of `webtable.formats` for programs."""


class ToldFormat(StrEnum):
    """How a command writes that tells of one thing, and lists no records."""

    table = "table"
    lines = "lines"
    jsonl = "jsonl"


FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="As a table, tab-separated lines, or a format for programs. "
        "Default: a table on a terminal, lines in a pipe.",
        show_default=False,
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="A,B,C",
        help="The columns to show, as in url,title,etag.",
        autocompletion=completion.columns,
    ),
]


def on_terminal() -> bool:
    """Whether standard output is a terminal, be it through a pager."""
    return sys.stdout.isatty() or pager.is_open()


def chosen_format(format: Format | None) -> Format:  # noqa: A002
    """Return *format*, or the default of where standard output goes to."""
    return format or (TABLE if on_terminal() else LINES)


def write_records(
    records: Iterable[Any],
    columns: Sequence[str],
    format: Format | None,  # noqa: A002
    *,
    asked_for: bool = True,
    title: str | None = None,
) -> int:
    """Write *records*, whose attributes are *columns*, to standard output and return how many they were.

    In a short table those columns that are empty are left out, unless they were *asked_for*.
    """
    chosen, counted = chosen_format(format), CountedRecords(records)
    if chosen == TABLE:
        print_table(console(), counted, columns, asked_for=asked_for, to_width=on_terminal(), title=title)
    elif chosen == LINES:
        _write_lines(counted, columns)
    else:
        write(counted, sys.stdout.buffer, format=chosen, columns=columns, for_terminal=on_terminal())
    sys.stdout.flush()
    return counted.count


def write_fields(page: Page, columns: Sequence[str], format: Format | None) -> None:  # noqa: A002
    """Write one page to standard output: a line for each of its columns that has a value, or as `write_records`."""
    chosen = chosen_format(format)
    if chosen in FORMATS:
        write_records([page], columns, chosen)
        return
    fields = [(name, getattr(page, name)) for name in columns]
    filled = [(name, value) for name, value in fields if value not in (None, {}, ())]
    if chosen == LINES:
        for name, value in filled:
            write_bytes(f"{name}\t{harmless(value_text(value, page.charset))}\n".encode("utf-8", "replace"))
    else:
        table = new_table()
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        table.show_header = False
        for name, value in filled:
            table.add_row(name, field(name, value, page.charset))
        console().print(table)
    sys.stdout.flush()


def write_body(page: Page) -> None:
    """Write the body of *page*: its bytes as they are, and on a terminal as text that cannot command it."""
    body = page.html or b""
    if on_terminal():
        text = decoded(body, page.charset)
        sys.stdout.write("\n".join(map(harmless, text.expandtabs().splitlines())) + "\n")
    else:
        write_bytes(body)
    sys.stdout.flush()


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output, which is UTF-8 in a pipe whatever the locale."""
    sys.stdout.buffer.write(data)


def write_lines(lines: Iterable[Sequence[object]]) -> None:
    """Write tab-separated lines to standard output."""
    for line in lines:
        write_bytes(("\t".join(harmless(value_text(value)) for value in line) + "\n").encode("utf-8", "replace"))
    sys.stdout.flush()


def write_json(value: object) -> None:
    """Write a line of JSON to standard output."""
    import msgspec

    line = msgspec.json.encode(value)
    write_bytes((harmless_json(line.decode()).encode() if on_terminal() else line) + b"\n")


def console() -> Console:
    """Return a console that prints text as it is: no markup, no highlights, and in a pipe no wrapping."""
    from rich.console import Console

    class PlainConsole(Console):
        # Rich would exit with 1; here all formats take the same way out (`webtable.cli.exit_codes`).
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if on_terminal() else UNLIMITED
    return PlainConsole(
        file=sys.stdout, markup=False, highlight=False, emoji=False, width=width, force_terminal=pager.is_open() or None
    )


def _write_lines(records: Iterable[Any], columns: Sequence[str]) -> None:
    for record in records:
        write_bytes(("\t".join(map(harmless, texts(record, columns))) + "\n").encode("utf-8", "replace"))
